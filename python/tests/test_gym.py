"""Environments: the contracts of Gymnasium and PettingZoo, and that actions act."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import evenair
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
from evenair import gym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

EPISODE = {"duration": "2 s", "warmup": "0 s"}


def rated() -> evenair.Scenario:
    build = evenair.Builder(
        duration="2 s", warmup="0 s", radio={"transmission_range": "250 m", "carrier_sense_range": "500 m"}
    )
    build.node("a", (0, 0)).node("b", (0, 100))
    return build.flow("up", "a", "b", traffic="rated", rate_law="utility-based").scenario()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("control", ["contention-window", "congestion-window", "connections"])
def test_gymnasiums_contract_is_kept(control: str) -> None:
    check_env(gymnasium.make("evenair/Network-v0", scenario="chen10/a", control=control, **EPISODE).unwrapped)


@pytest.mark.filterwarnings("error")
def test_gymnasiums_contract_is_kept_with_rates() -> None:
    check_env(gymnasium.make("evenair/Network-v0", scenario=rated(), control="rate").unwrapped)


@pytest.mark.filterwarnings("error")
def test_gymnasium_finds_it_by_name() -> None:
    env = gymnasium.make(
        "evenair/Network-v0", scenario="chen10/b", control="connections", render_mode="ansi", **EPISODE
    )
    env.reset(seed=1)
    env.step(env.action_space.sample())
    assert env.render().startswith("t = 0.001 s\nflow ")
    assert len(env.render().splitlines()) == 2 + len(env.unwrapped.flows)
    with pytest.raises(ValueError, match="render_mode = 'human'"):
        gym.NetworkEnv(render_mode="human")


def goodputs(levels: list[int], control: str = "contention-window", steps: int = 2000) -> list[float]:
    """Give each flow's packets over two seconds of the same action."""
    env = gym.NetworkEnv("chen10/a", control, **EPISODE)
    env.reset(seed=1)
    delivered = np.zeros(4)
    for _ in range(steps):
        _, _, _, over, _ = env.step(np.array(levels))
        delivered += env.measured[:, gym.DELIVERED]
        if over:
            break
    return delivered.tolist()


def test_window_acts_on_its_own_flow() -> None:
    even = goodputs([4, 4, 4, 4])
    shy = goodputs([4, 4, 4, 10])
    assert shy[3] < 0.5 * even[3]
    assert shy[2] > even[2]


def test_an_episode_ends_with_the_run_and_is_a_function_of_its_seed() -> None:
    def episode(seed: int) -> tuple[int, float]:
        env = gym.NetworkEnv("chen10/a", step="10 ms", duration="300 ms", warmup="0 s")
        env.reset(seed=seed)
        steps, total = 0, 0.0
        while True:
            _, reward, terminated, truncated, info = env.step([4, 3, 4, 4])
            steps, total = steps + 1, total + reward
            assert not terminated
            if truncated:
                assert info["time_s"] == pytest.approx(0.3)
                return steps, total

    assert episode(3) == episode(3)
    assert episode(3)[0] == 30
    assert episode(3) != episode(4)


def test_connections_follow_the_action() -> None:
    env = gym.NetworkEnv("chen10/a", "connections", step="100 ms", **EPISODE)
    env.reset(seed=1)
    for _ in range(15):
        seen, *_ = env.step([0, 0, 3, 0])
    assert env.measured[:, gym.CONNECTIONS].tolist()[2:] == [4.0, 1.0]
    assert seen[:, gym.CONNECTIONS].tolist()[2:] == [4 / 32, 1 / 32]


def test_congestion_window_follows_the_action() -> None:
    # A round trip of 40 ms on a fast wire: so many segments are delivered in it as the window has.
    build = evenair.Builder(tcp={"delayed_ack": "0 s"}, **EPISODE)
    build.node("a").node("b").wire("a", "b", "100 Mbps", "20 ms").flow("up", "a", "b")
    env = gym.NetworkEnv(build.scenario(), "congestion-window", step="100 ms")
    seen = {}
    for level in (0, 4):
        env.reset(seed=1)
        for _ in range(20):
            env.step([level])
        assert env.measured[0, gym.WINDOW] == level + 1
        seen[level] = float(env.measured[0, gym.DELIVERED])
    assert seen[4] == pytest.approx(5 * seen[0], rel=0.05)
    assert seen[0] == pytest.approx(0.1 / 0.04, abs=1)
    with pytest.raises(ValueError, match="window: is for TCP"):
        gym.NetworkEnv(rated(), "congestion-window")


def test_rate_follows_the_action() -> None:
    env = gym.NetworkEnv(rated(), "rate", step="10 ms", rate_max_bps=1e6)
    env.reset(seed=1)
    for _ in range(150):
        seen, *_ = env.step(np.array([0.4]))
    assert env.measured[0, gym.GOODPUT] == pytest.approx(50.0 * (1 - np.exp(-1.5)), rel=0.1)
    assert env.scales[0, gym.GOODPUT] == pytest.approx(11e6 / 8000)
    assert (seen * env.scales)[0, gym.GOODPUT] == pytest.approx(env.measured[0, gym.GOODPUT])


def test_observations_lie_between_0_and_1() -> None:
    env = gym.NetworkEnv("chen10/a", step="10 ms", **EPISODE)
    seen, _ = env.reset(seed=1)
    clipped = 0
    for _ in range(100):
        assert env.observation_space.contains(seen)
        exact = env.measured / env.scales
        assert seen == pytest.approx(np.minimum(exact, 1.0), rel=1e-6)
        clipped += int((exact > 1.0).sum())
        seen, *_ = env.step([4, 4, 4, 4])
    assert clipped < 100 * seen.size / 20, "scales are seldom exceeded"
    assert seen.max() > 0.2


def test_scenario_without_a_control_is_an_error() -> None:
    with pytest.raises(ValueError, match="there are contention-window"):
        gym.NetworkEnv("chen10/a", "power")
    with pytest.raises(ValueError, match="ideal CSMA has no slots"):
        gym.NetworkEnv("chen10/a", mac={"kind": "ideal", "data_rate": "11 Mbps"})
    with pytest.raises(ValueError, match="no longer than the horizon"):
        gym.NetworkEnv("chen10/a", step=2.0, horizon=1.0)
    env = gym.NetworkEnv("chen10/a", **EPISODE)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="actions: 1, flows: 4"):
        env.step([4])
    for action in ([11, 0, 0, 0], [-1, 0, 0, 0]):
        with pytest.raises(ValueError, match="from 0 to 10"):
            env.step(action)
    env = gym.NetworkEnv(rated(), "rate")
    env.reset()
    with pytest.raises(ValueError, match="from 0 to 1"):
        env.step([1.5])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"alpha": -1}, ValueError, "alpha = -1: give a number from 0 to 100"),
        ({"alpha": float("nan")}, ValueError, "alpha = nan"),
        ({"alpha": "1"}, TypeError, "alpha = '1'"),
        ({"rate_max_bps": 0}, ValueError, "rate_max_bps = 0: give a number from 1 to 1e[+]15"),
        ({"step": "0 s"}, ValueError, "step = 0 s, horizon = 1 s"),
        ({"step": "soon"}, ValueError, "step = 'soon': give seconds"),
        ({"horizon": None}, TypeError, "horizon = None: give seconds"),
        ({"reward": 3}, TypeError, "reward = 3: give a function"),
    ],
)
def test_arguments_without_sense_are_refused(wrong: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gym.NetworkEnv("chen10/a", **wrong)


def test_a_reward_is_a_number() -> None:
    env = gym.NetworkEnv("chen10/a", reward=lambda measured: "much", **EPISODE)
    env.reset(seed=1)
    with pytest.raises(TypeError, match="reward gave 'much'"):
        env.step([1] * 4)


def test_no_step_is_taken_before_a_reset_or_after_the_end() -> None:
    env = gym.NetworkEnv("chen10/a", step="10 ms", duration="20 ms", warmup="0 s")
    for _ in range(2):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step\(\)"):
            env.step([4] * 4)
        env.reset(seed=1)
        assert [env.step([4] * 4)[3] for _ in range(2)] == [False, True]
    agents = pytest.importorskip("pettingzoo") and gym.parallel_env("chen10/a", **EPISODE)
    with pytest.raises(gymnasium.error.ResetNeeded):
        agents.step({})


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copy_starts_again_with_the_same_arguments(again: Callable[[Any], Any]) -> None:
    def episode(env: gym.NetworkEnv) -> list[float]:
        env.reset(seed=3)
        return [env.step([4] * 4)[1] for _ in range(10)]

    env = gym.NetworkEnv("chen10/a", step="10 ms", alpha=2.0, **EPISODE)
    before = episode(env)
    other = again(env)
    with pytest.raises(gymnasium.error.ResetNeeded):
        other.step([4] * 4)
    assert episode(other) == before == episode(env)
    pytest.importorskip("pettingzoo")
    agents = again(gym.parallel_env("chen10/a", shared_reward=False, **EPISODE))
    seen, _ = agents.reset(seed=1)
    assert list(seen) == agents.possible_agents == ["flow_1", "flow_2", "flow_3", "flow_4"]


@pytest.mark.parametrize("kind", [gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv])
def test_many_environments_are_stepped_together(kind: type[gymnasium.vector.VectorEnv]) -> None:
    envs = kind([lambda: gym.NetworkEnv("chen10/a", step="10 ms", duration="100 ms", warmup="0 s")] * 2)
    seen, _ = envs.reset(seed=1)
    assert seen.shape == (2, 4, gym.SEEN)
    for _ in range(10):
        _, rewards, _, over, _ = envs.step(np.full((2, 4), 4))
    assert over.all()
    assert rewards[0] != rewards[1], "each has a seed of its own"
    envs.close()


# When a run begins nothing has happened yet.
@pytest.mark.filterwarnings("error", "ignore:Observation numpy array is all zeros")
def test_pettingzoos_contract_is_kept() -> None:
    test = pytest.importorskip("pettingzoo.test")
    env = gym.parallel_env("chen10/a", duration="200 ms", warmup="0 s")
    test.parallel_api_test(env, num_cycles=500)
    one_by_one = pytest.importorskip("pettingzoo.utils.conversions").parallel_to_aec(env)
    test.api_test(one_by_one, num_cycles=500)
    test.parallel_seed_test(lambda: gym.parallel_env("chen10/a", duration="20 ms", warmup="0 s"), num_cycles=20)


def test_rewards_are_shared_or_ones_own() -> None:
    shared = gym.parallel_env("chen10/a", **EPISODE)
    own = gym.parallel_env("chen10/a", shared_reward=False, **EPISODE)
    for env in (shared, own):
        env.reset(seed=1)
    actions = dict.fromkeys(shared.possible_agents, 4)
    for _ in range(500):
        (_, common, *_), (_, each, *_) = shared.step(actions), own.step(actions)
    assert len(set(common.values())) == 1
    assert len(set(each.values())) > 1
    assert common["flow_1"] == pytest.approx(np.mean(list(each.values())))
