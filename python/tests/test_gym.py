"""Environments: the contracts of Gymnasium and PettingZoo, and that actions act."""

from __future__ import annotations

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


@pytest.mark.parametrize("control", ["contention-window", "congestion-window", "connections"])
def test_gymnasiums_contract_is_kept(control: str) -> None:
    check_env(gym.NetworkEnv("chen10/a", control, **EPISODE), skip_render_check=True)


def test_gymnasiums_contract_is_kept_with_rates() -> None:
    check_env(gym.NetworkEnv(rated(), "rate"), skip_render_check=True)


def goodputs(levels: list[int], control: str = "contention-window", steps: int = 2000) -> list[float]:
    """Give each flow's packets over two seconds of the same action."""
    env = gym.NetworkEnv("chen10/a", control, **EPISODE)
    env.reset(seed=1)
    delivered = np.zeros(4)
    for _ in range(steps):
        seen, _, _, over, _ = env.step(np.array(levels))
        delivered += seen[:, gym.DELIVERED]
        if over:
            break
    return delivered.tolist()


def test_a_window_acts_on_the_flow_whose_it_is() -> None:
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


def test_connections_are_opened_as_told() -> None:
    env = gym.NetworkEnv("chen10/a", "connections", step="100 ms", **EPISODE)
    env.reset(seed=1)
    for _ in range(15):
        seen, *_ = env.step([0, 0, 3, 0])
    assert seen[:, gym.CONNECTIONS].tolist()[2:] == [4.0, 1.0]


def test_a_congestion_window_is_what_it_was_told() -> None:
    # A round trip of 40 ms on a fast wire: so many segments are delivered in it as the window has.
    build = evenair.Builder(tcp={"delayed_ack": "0 s"}, **EPISODE)
    build.node("a").node("b").wire("a", "b", "100 Mbps", "20 ms").flow("up", "a", "b")
    env = gym.NetworkEnv(build.scenario(), "congestion-window", step="100 ms")
    seen = {}
    for level in (0, 4):
        env.reset(seed=1)
        for _ in range(20):
            observation, *_ = env.step([level])
        assert observation[0, gym.WINDOW] == level + 1
        seen[level] = float(observation[0, gym.DELIVERED])
    assert seen[4] == pytest.approx(5 * seen[0], rel=0.05)
    assert seen[0] == pytest.approx(0.1 / 0.04, abs=1)
    with pytest.raises(ValueError, match="window: is for TCP"):
        gym.NetworkEnv(rated(), "congestion-window")


def test_a_rate_is_sent_as_told() -> None:
    env = gym.NetworkEnv(rated(), "rate", step="10 ms")
    env.reset(seed=1)
    for _ in range(150):
        seen, *_ = env.step(np.array([400_000.0]))
    assert seen[0, gym.GOODPUT] == pytest.approx(50.0 * (1 - np.exp(-1.5)), rel=0.1)


def test_what_cannot_be_controlled_is_said() -> None:
    with pytest.raises(ValueError, match="there are contention-window"):
        gym.NetworkEnv("chen10/a", "power")
    with pytest.raises(ValueError, match="ideal CSMA has no slots"):
        gym.NetworkEnv("chen10/a", mac={"kind": "ideal", "data_rate": "11 Mbps"})
    with pytest.raises(ValueError, match="no longer than the horizon"):
        gym.NetworkEnv("chen10/a", step=2.0, horizon=1.0)
    env = gym.NetworkEnv("chen10/a", **EPISODE)
    with pytest.raises(ValueError, match="1 actions for 4 flows"):
        env.step([4])
    for action in ([11, 0, 0, 0], [-1, 0, 0, 0]):
        with pytest.raises(ValueError, match="from 0 to 10"):
            env.step(action)
    with pytest.raises(ValueError, match=r"from 0 to 1.1e\+07"):
        gym.NetworkEnv(rated(), "rate").step([2e7])


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
    assert common["1"] == pytest.approx(np.mean(list(each.values())))
