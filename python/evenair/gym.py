"""Environments of Gymnasium and PettingZoo: a network stepped in this process, its flows' controls set by an agent.

>>> env = evenair.gym.NetworkEnv("chen10/a", control="contention-window", duration="1 s", warmup="0 s")
>>> observation, _ = env.reset(seed=1)
>>> observation.shape
(4, 6)
>>> observation, reward, terminated, truncated, info = env.step([4, 4, 4, 4])
>>> round(info["time_s"], 3)
0.001

An observation has a row per flow, and in it: mean goodput over the horizon and packets delivered in the step
[packets/s; packets], backlog at the source [packets], mean round-trip time of the step [s], open connections, their
congestion windows [segments]. The reward is `alpha_fairness` of the mean goodputs, or what ``reward`` makes of the
observation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from . import _evenair
from ._run import _seconds, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ._scenario import ScenarioLike

GOODPUT, DELIVERED, BACKLOG, ROUND_TRIP, CONNECTIONS, WINDOW = range(6)
"""The columns of an observation."""
SEEN = 6


def alpha_fairness(goodput_pps: NDArray[Any], alpha: float = 1.0, least_pps: float = 1.0) -> NDArray[Any]:
    """Give each flow's utility: log x for alpha = 1, x^(1 − alpha)/(1 − alpha) else.

    A flow that gets less counts as having got ``least_pps``, for a reward has to be finite.

    >>> float(alpha_fairness(np.array([1.0, 2.0]), alpha=2.0).sum())
    -1.5
    """
    x = np.maximum(goodput_pps, least_pps)
    return np.log(x) if alpha == 1.0 else x ** (1.0 - alpha) / (1.0 - alpha)


class _Network:
    """What both kinds of environment are made of."""

    def __init__(
        self,
        source: ScenarioLike,
        control: str,
        step: float | str,
        horizon: float | str,
        alpha: float,
        rate_max_bps: float,
        changes: dict[str, object],
    ) -> None:
        self.scenario = scenario(source, changes)
        self.control = control
        self.step_s, self.horizon_s = _seconds(step), _seconds(horizon)
        self.alpha, self.rate_max_bps = alpha, rate_max_bps
        self.begin(self.scenario.seed)
        self.names: list[str] = self.core.names

    def begin(self, seed: int) -> NDArray[np.float32]:
        core = self.scenario._core
        self.core = _evenair.Environment(core, self.control, self.step_s, self.horizon_s, seed)
        return np.zeros((len(self.core.names), SEEN), np.float32)

    def go_on(self, actions: list[float]) -> tuple[NDArray[np.float32], bool]:
        """Take a step; levels become contention windows, congestion windows and numbers of connections."""
        most = self.rate_max_bps if self.control == "rate" else self.levels() - 1
        if not all(0 <= action <= most for action in actions):
            message = f"the action {actions}: give each flow something from 0 to {most:g}"
            raise ValueError(message)
        if self.control == "contention-window":
            actions = [2.0**level - 1.0 for level in actions]
        elif self.control in ("connections", "congestion-window"):
            actions = [level + 1.0 for level in actions]
        seen, over = self.core.step(actions)
        return np.array(seen, np.float32).reshape(-1, SEEN), over

    def levels(self) -> int:
        """Give how many levels there are: windows of 0 to 1023 slots, 1 to 64 segments, or 1 to 32 connections."""
        return {"contention-window": 11, "congestion-window": 64}.get(self.control, 32)


class NetworkEnv(gymnasium.Env):  # type: ignore[type-arg]
    """One agent controls all flows of a scenario.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        control: What is set. "contention-window": of the queue at each flow's source, 2^level − 1 slots, without
            doubling; "connections": level + 1 of each flow; "congestion-window": of each of a flow's connections,
            level + 1 segments, whatever is lost; "rate": the rate of each source [bit/s], of flows with
            ``traffic = "rated"``.
        step: The control interval.
        horizon: Over how long goodputs are averaged.
        alpha: Of the reward.
        reward: Instead: a function of the observation.
        rate_max_bps: The greatest rate.
        **changes: Changes of the scenario; ``duration`` and ``warmup`` together are an episode.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 -- as Gymnasium declares it

    def __init__(
        self,
        source: ScenarioLike,
        control: str = "contention-window",
        *,
        step: float | str = "1 ms",
        horizon: float | str = "1 s",
        alpha: float = 1.0,
        reward: Callable[[NDArray[Any]], float] | None = None,
        rate_max_bps: float = 11e6,
        **changes: object,
    ) -> None:
        """Read the scenario."""
        self._network = _Network(source, control, step, horizon, alpha, rate_max_bps, changes)
        self._reward = reward or (lambda seen: float(alpha_fairness(seen[:, GOODPUT], alpha).sum()))
        flows = len(self._network.names)
        self.flows = self._network.names
        self.observation_space = spaces.Box(0.0, np.inf, (flows, SEEN), np.float32)
        if control == "rate":
            self.action_space = spaces.Box(0.0, rate_max_bps, (flows,), np.float64)
        else:
            self.action_space = spaces.MultiDiscrete([self._network.levels()] * flows)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin again, with this seed or with a new one."""
        super().reset(seed=seed)
        drawn = seed if seed is not None else int(self.np_random.integers(2**32))
        return self._network.begin(drawn), {"time_s": 0.0}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Set the controls and go on for one interval."""
        levels = action.tolist() if hasattr(action, "tolist") else [float(level) for level in action]
        seen, over = self._network.go_on(levels)
        return seen, self._reward(seen), False, over, {"time_s": self._network.core.now_s}


def parallel_env(
    source: ScenarioLike,
    control: str = "contention-window",
    *,
    step: float | str = "1 ms",
    horizon: float | str = "1 s",
    alpha: float = 1.0,
    shared_reward: bool = True,
    rate_max_bps: float = 11e6,
    **changes: object,
) -> Any:  # noqa: ANN401 -- PettingZoo is asked for where it is used
    """Give a PettingZoo environment in which each flow is an agent, which sees and sets what is its own.

    Its reward is everybody's, the mean of all utilities, or with ``shared_reward=False`` its own utility.

    >>> env = evenair.gym.parallel_env("chen10/a", duration="10 ms", warmup="0 s")
    >>> env.possible_agents
    ['1', '2', '3', '4']
    """
    from pettingzoo import ParallelEnv

    network = _Network(source, control, step, horizon, alpha, rate_max_bps, changes)

    class Agents(ParallelEnv):  # type: ignore[type-arg, misc]
        metadata: ClassVar[dict[str, Any]] = {"name": "evenair", "render_modes": []}

        def __init__(self) -> None:
            self.possible_agents = list(network.names)
            self.agents: list[str] = []
            self._random = np.random.default_rng()
            self._seen = spaces.Box(0.0, np.inf, (SEEN,), np.float32)
            self._acts: spaces.Space[Any] = (
                spaces.Box(0.0, rate_max_bps, (1,), np.float64)
                if control == "rate"
                else spaces.Discrete(network.levels())
            )
            self.observation_spaces = dict.fromkeys(self.possible_agents, self._seen)
            self.action_spaces = dict.fromkeys(self.possible_agents, self._acts)

        def observation_space(self, agent: str) -> spaces.Space[Any]:
            return self.observation_spaces[agent]

        def action_space(self, agent: str) -> spaces.Space[Any]:
            return self.action_spaces[agent]

        def reset(
            self, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[dict[str, NDArray[np.float32]], dict[str, dict[str, Any]]]:
            if seed is not None:
                self._random = np.random.default_rng(seed)
            self.agents = list(self.possible_agents)
            seen = network.begin(seed if seed is not None else int(self._random.integers(2**32)))
            return dict(zip(self.agents, seen, strict=True)), {agent: {} for agent in self.agents}

        def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
            if not self.agents:
                return {}, {}, {}, {}, {}
            agents = self.agents
            seen, over = network.go_on([float(np.asarray(actions[agent]).item()) for agent in agents])
            utilities = alpha_fairness(seen[:, GOODPUT], alpha)
            rewards = np.full(len(agents), utilities.mean()) if shared_reward else utilities
            self.agents = [] if over else agents
            return (
                dict(zip(agents, seen, strict=True)),
                dict(zip(agents, rewards.tolist(), strict=True)),
                dict.fromkeys(agents, False),
                dict.fromkeys(agents, over),
                {agent: {} for agent in agents},
            )

    return Agents()
