"""Environments of Gymnasium and PettingZoo: a network stepped in this process, its flows' controls set by an agent.

>>> env = evenair.gym.NetworkEnv("chen10/a", control="contention-window", duration="1 s", warmup="0 s")
>>> observation, _ = env.reset(seed=1)
>>> observation.shape
(4, 6)
>>> observation, reward, terminated, truncated, info = env.step([4, 4, 4, 4])
>>> round(info["time_s"], 3)
0.001

Once this module is imported, Gymnasium finds the environment by name:

>>> env = gymnasium.make("evenair/Network-v0", scenario="chen10/a", duration="1 s", warmup="0 s")

An observation has a row per flow, and in it six numbers between 0 and 1, each a quantity over its scale, and 1 where
that is exceeded. ``env.measured`` has the quantities themselves and ``env.scales`` the scales, with the same columns
(``env.unwrapped`` is meant, where `gymnasium.make` has wrapped it):

=============== ================================================== =====================================================
column          quantity                                           scale
=============== ================================================== =====================================================
``GOODPUT``     mean goodput over the horizon [packets/s]          capacity of the network's fastest link [packets/s]
``DELIVERED``   packets delivered in the step [packets]            as many as that is in a step, one at least [packets]
``BACKLOG``     backlog of the flow's first queue [packets]        size of that queue, and one in service [packets]
``ROUND_TRIP``  mean round-trip time in the step, or 0 [s]         the horizon [s]
``CONNECTIONS`` open connections                                   32
``WINDOW``      their congestion windows together [segments]       64 [segments]
=============== ================================================== =====================================================

The reward is `alpha_fairness` of the mean goodputs, summed up, or the value of ``reward`` of the quantities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _evenair
from ._extras import brought_by
from ._run import scenario as read_scenario
from ._run import seconds

with brought_by("gym", "evenair.gym"):
    import gymnasium
    import numpy as np
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.utils import EzPickle
    from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._agents import Agents
    from ._scenario import ScenarioLike

__all__ = [
    "BACKLOG",
    "CONNECTIONS",
    "DELIVERED",
    "GOODPUT",
    "ROUND_TRIP",
    "SEEN",
    "WINDOW",
    "NetworkEnv",
    "alpha_fairness",
    "parallel_env",
]

GOODPUT, DELIVERED, BACKLOG, ROUND_TRIP, CONNECTIONS, WINDOW = range(6)
"""The columns of an observation."""
SEEN = 6
"""How many there are."""

Seen: TypeAlias = NDArray[np.float32]
Act: TypeAlias = "NDArray[np.int64] | NDArray[np.float64] | Sequence[float]"


def alpha_fairness(goodput_pps: NDArray[Any], alpha: float = 1.0, least_pps: float = 1.0) -> NDArray[Any]:
    """Give each flow's utility: log x for alpha = 1, x^(1 − alpha)/(1 − alpha) else, x in packets/s.

    A flow that gets less counts as having got ``least_pps``, for a reward has to be finite.

    >>> float(alpha_fairness(np.array([1.0, 2.0]), alpha=2.0).sum())
    -1.5
    """
    x = np.maximum(goodput_pps, least_pps)
    return np.log(x) if alpha == 1.0 else x ** (1.0 - alpha) / (1.0 - alpha)


class Stepped:
    """The core of both kinds of environment: a network, its controls and its observations."""

    LEVELS = {"contention-window": 11, "congestion-window": 64, "connections": 32}  # noqa: RUF012 -- it stays as it is
    """How many levels a control has: windows of 0 to 1023 slots, 1 to 64 segments, 1 to 32 connections."""

    def __init__(
        self,
        scenario: ScenarioLike,
        control: str,
        step: float | str,
        horizon: float | str,
        alpha: float,
        rate_max_bps: float,
        render_mode: str | None,
        changes: dict[str, object],
    ) -> None:
        """Read the scenario and look whether it can be controlled so."""
        in_range("alpha", alpha, 0.0, 100.0)
        in_range("rate_max_bps", rate_max_bps, 1.0, 1e15)
        if render_mode not in (None, "ansi"):
            message = f'render_mode = {render_mode!r}: there is "ansi", a table in words, or None'
            raise ValueError(message)
        self.scenario = read_scenario(scenario, changes)
        self.control = control
        self.step_s, self.horizon_s = seconds(step=step), seconds(horizon=horizon)
        self.rate_max_bps = rate_max_bps
        self.most = self.LEVELS.get(control, 2) - 1
        """The greatest action: a level, or a share of the greatest rate."""
        core = self._core(self.scenario.seed)
        self.names: list[str] = core.names
        self.scales: Seen = np.array(core.scales, np.float32)
        self.core: _evenair.Environment | None = None
        """The network; none before it is begun, and once it is over."""
        self.measured: Seen = np.zeros((len(self.names), SEEN), np.float32)
        """The last observation, in its units."""
        self.now_s = 0.0

    def _core(self, seed: int) -> _evenair.Environment:
        return _evenair.Environment(self.scenario._core, self.control, self.step_s, self.horizon_s, seed)

    def begin(self, seed: int) -> Seen:
        """Begin a run and give the first observation: nothing has happened yet."""
        self.core = self._core(seed)
        self.now_s = 0.0
        self.measured = np.zeros_like(self.measured)
        return np.zeros_like(self.measured)

    def go_on(self, actions: Sequence[float]) -> tuple[Seen, bool]:
        """Take a step; levels become contention windows, congestion windows and numbers of connections."""
        core = self.core
        if core is None:
            message = "the environment has not begun, or its episode is over: call reset() before step()"
            raise ResetNeeded(message)
        if not all(0 <= action <= self.most for action in actions):
            message = f"the action {list(actions)}: give each flow something from 0 to {self.most}"
            raise ValueError(message)
        if self.control == "contention-window":
            actions = [2.0**level - 1.0 for level in actions]
        elif self.control == "rate":
            actions = [share * self.rate_max_bps for share in actions]
        else:
            actions = [level + 1.0 for level in actions]
        seen, over = core.step(actions)
        self.now_s = core.now_s
        if over:
            self.core = None
        both: Seen = np.ndarray((2, len(self.names), SEEN), np.float32, seen)
        self.measured = both[0]
        return both[1], over

    def render(self) -> str:
        """Give the last observation in words, a line per flow."""
        lines = [
            f"t = {self.now_s:.6g} s",
            "flow      goodput [packets/s]  delivered  backlog  round trip [ms]  connections  window [segments]",
        ]
        for name, row in zip(self.names, self.measured.tolist(), strict=True):
            goodput, delivered, backlog, trip_s, count, window = row
            traffic = f"{goodput:19.1f} {delivered:10.0f} {backlog:8.0f}"
            lines.append(f"{name:<9} {traffic} {1e3 * trip_s:16.2f} {count:12.0f} {window:18.1f}")
        return "".join(f"{line}\n" for line in lines)


def in_range(name: str, value: float, least: float, most: float) -> None:
    """Refuse any value but a number between two bounds."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        message = f"{name} = {value!r}: give a number from {least:g} to {most:g}"
        raise TypeError(message)
    if not (math.isfinite(value) and least <= value <= most):
        message = f"{name} = {value}: give a number from {least:g} to {most:g}"
        raise ValueError(message)


class NetworkEnv(gymnasium.Env[Seen, Act], EzPickle):
    """One agent controls all flows of a scenario.

    A copy, or one from pickle, is made of the same arguments and starts again: call ``reset``. An episode ends with the
    run, ``duration`` and ``warmup`` together: the last step is truncated, none terminates.

    Args:
        scenario: A scenario, a file, a built-in id, TOML, or a dictionary.
        control: The quantity that is set. "contention-window": of the queue at each flow's source, 2^level − 1 slots,
            without doubling. "connections": level + 1 of each flow. "congestion-window": of each of a flow's
            connections, level + 1 segments, regardless of losses. "rate": the rate of each source, as a share of
            ``rate_max_bps``, of flows with ``traffic = "rated"``.
        step: The control interval, in seconds or words.
        horizon: Over how long goodputs are averaged, in seconds or words.
        alpha: Of the reward: from 0, the sum of goodputs, over 1, proportional fairness, to 100.
        reward: Instead: a function of the quantities, a row per flow and in it the columns of an observation.
        rate_max_bps: The greatest rate that is set [bit/s].
        render_mode: "ansi", for a table in words, or None.
        **changes: Changes of the scenario.

    Raises:
        ScenarioError: The scenario, or a change of it, is not right.
        TypeError, ValueError: An argument is not right, or the scenario cannot be controlled so.
        gymnasium.error.ResetNeeded: ``step`` is called before ``reset``, or after the last step.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 -- as Gymnasium declares it
    """Gymnasium's description of an environment: how it can be shown."""

    def __init__(
        self,
        scenario: ScenarioLike = "chen10/a",
        control: str = "contention-window",
        *,
        step: float | str = "1 ms",
        horizon: float | str = "1 s",
        alpha: float = 1.0,
        reward: Callable[[Seen], float] | None = None,
        rate_max_bps: float = 11e6,
        render_mode: str | None = None,
        **changes: object,
    ) -> None:
        """Read the scenario."""
        arguments = {"step": step, "horizon": horizon, "alpha": alpha, "reward": reward, "rate_max_bps": rate_max_bps}
        EzPickle.__init__(self, scenario, control, **arguments, render_mode=render_mode, **changes)
        if reward is not None and not callable(reward):
            message = f"reward = {reward!r}: give a function of the quantities, a row per flow"
            raise TypeError(message)
        self._stepped = Stepped(scenario, control, step, horizon, alpha, rate_max_bps, render_mode, changes)
        self._reward = reward or (lambda measured: float(alpha_fairness(measured[:, GOODPUT], alpha).sum()))
        self.render_mode = render_mode
        self.flows: list[str] = self._stepped.names
        """The flows, in the order of rows and actions."""
        self.scales: Seen = self._stepped.scales
        """The divisors of the quantities in observations."""
        self.observation_space = spaces.Box(0.0, 1.0, self.scales.shape, np.float32)
        self.action_space = (
            spaces.Box(0.0, 1.0, (len(self.flows),), np.float64)
            if control == "rate"
            else spaces.MultiDiscrete([self._stepped.most + 1] * len(self.flows))
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begin again, with this seed or with a new one."""
        super().reset(seed=seed)
        drawn = seed if seed is not None else int(self.np_random.integers(2**32))
        return self._stepped.begin(drawn), {"time_s": 0.0}

    def step(self, action: Act) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Set the controls and go on for one interval.

        Returns:
            Observation, reward, False, whether the run is over, and ``time_s``, how far it is [s].
        """
        levels = action.tolist() if isinstance(action, np.ndarray) else [float(level) for level in action]
        seen, over = self._stepped.go_on(levels)
        reward = self._reward(self._stepped.measured)
        if not isinstance(reward, (float, int, np.floating, np.integer)):
            message = f"reward gave {reward!r}: it has to give a number"
            raise TypeError(message)
        return seen, float(reward), False, over, {"time_s": self._stepped.now_s}

    @property
    def measured(self) -> Seen:
        """The last observation of each flow, in its units."""
        return self._stepped.measured

    def render(self) -> str | None:  # type: ignore[override] # Gymnasium leaves the type of a frame open
        """Give the last observation, a line per flow, with ``render_mode="ansi"``."""
        return self._stepped.render() if self.render_mode == "ansi" else None


def parallel_env(
    scenario: ScenarioLike = "chen10/a",
    control: str = "contention-window",
    *,
    step: float | str = "1 ms",
    horizon: float | str = "1 s",
    alpha: float = 1.0,
    shared_reward: bool = True,
    rate_max_bps: float = 11e6,
    render_mode: str | None = None,
    **changes: object,
) -> Agents:
    """Give a PettingZoo environment in which each flow is an agent, which sees and sets its own quantities.

    Agents are called ``flow_ID``.

    Arguments, observations and errors are those of `NetworkEnv`. Each agent's reward is the same, the mean of all
    utilities, or with ``shared_reward=False`` its own utility.

    >>> env = evenair.gym.parallel_env("chen10/a", duration="10 ms", warmup="0 s")
    >>> env.possible_agents
    ['flow_1', 'flow_2', 'flow_3', 'flow_4']
    """
    with brought_by("agents", "evenair.gym.parallel_env"):
        from ._agents import Agents

    return Agents(
        scenario,
        control,
        step=step,
        horizon=horizon,
        alpha=alpha,
        shared_reward=shared_reward,
        rate_max_bps=rate_max_bps,
        render_mode=render_mode,
        **changes,
    )


if "evenair/Network-v0" not in gymnasium.registry:
    gymnasium.register("evenair/Network-v0", entry_point="evenair.gym:NetworkEnv")
