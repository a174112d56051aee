"""The environment of PettingZoo: each flow is an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from pettingzoo import ParallelEnv

from .gym import GOODPUT, SEEN, Seen, Stepped, alpha_fairness

if TYPE_CHECKING:
    from ._scenario import ScenarioLike

Infos: TypeAlias = "dict[str, dict[str, Any]]"


class Agents(ParallelEnv, EzPickle):  # type: ignore[type-arg, misc] # PettingZoo states no types
    """The environment of `evenair.gym.parallel_env`."""

    metadata: ClassVar[dict[str, Any]] = {"name": "evenair", "render_modes": ["ansi"], "render_fps": 4}
    possible_agents: list[str]
    agents: list[str]

    def __init__(
        self,
        scenario: ScenarioLike,
        control: str,
        *,
        step: float | str,
        horizon: float | str,
        alpha: float,
        shared_reward: bool,
        rate_max_bps: float,
        render_mode: str | None,
        **changes: object,
    ) -> None:
        """Read the scenario."""
        arguments = {"step": step, "horizon": horizon, "alpha": alpha, "rate_max_bps": rate_max_bps}
        others = {"shared_reward": shared_reward, "render_mode": render_mode}
        EzPickle.__init__(self, scenario, control, **arguments, **others, **changes)
        self._stepped = Stepped(scenario, control, step, horizon, alpha, rate_max_bps, render_mode, changes)
        self._alpha, self._shared = alpha, shared_reward
        self.render_mode = render_mode
        self.possible_agents = [f"flow_{name}" for name in self._stepped.names]
        self.agents = []
        self._random = np.random.default_rng()
        acts: spaces.Space[Any] = (
            spaces.Box(0.0, 1.0, (1,), np.float64) if control == "rate" else spaces.Discrete(self._stepped.most + 1)
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, spaces.Box(0.0, 1.0, (SEEN,), np.float32))
        self.action_spaces = dict.fromkeys(self.possible_agents, acts)

    def observation_space(self, agent: str) -> spaces.Box:
        """Give the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Give the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Seen], Infos]:
        """Begin again, with this seed or with a new one."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        seen = self._stepped.begin(seed if seed is not None else int(self._random.integers(2**32)))
        return dict(zip(self.agents, seen, strict=True)), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Set all controls and go on for one interval; once the run is over there are no agents any more."""
        if not self.agents and self._stepped.now_s > 0.0:
            return {}, {}, {}, {}, {}
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            message = f"no action of {', '.join(missing)}: give each agent one"
            raise ValueError(message)
        agents = self.agents
        seen, over = self._stepped.go_on([float(np.asarray(actions[agent]).item()) for agent in agents])
        utilities = alpha_fairness(self._stepped.measured[:, GOODPUT], self._alpha)
        rewards = np.full(len(agents), utilities.mean()) if self._shared else utilities
        self.agents = [] if over else agents
        return (
            dict(zip(agents, seen, strict=True)),
            dict(zip(agents, rewards.tolist(), strict=True)),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            {agent: {} for agent in agents},
        )

    @property
    def measured(self) -> Seen:
        """The last observation, in its units: a row per agent, in their order."""
        return self._stepped.measured

    def render(self) -> str | None:
        """Give the last observation, a line per flow, with ``render_mode="ansi"``."""
        return self._stepped.render() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Let the network go."""
        self._stepped.core = None
