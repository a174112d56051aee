"""The cost of a step of an environment: processor time, the simulated time in it included."""

from __future__ import annotations

import time

import numpy as np
from evenair import gym

STEPS = 2000


def main() -> None:
    """Print a line per network and control interval."""
    for name, step in (("chen10/a", "1 ms"), ("chen10/a", "10 ms"), ("jam10/chain", "1 ms")):
        env = gym.NetworkEnv(name, step=step, duration="1000 s", warmup="0 s")
        env.reset(seed=1)
        action = np.full(len(env.flows), 4)
        least = float("inf")
        for _ in range(6):
            start = time.process_time()
            for _ in range(STEPS):
                env.step(action)
            least = min(least, (time.process_time() - start) / STEPS)
        print(f"{name}, {step}: {least * 1e6:.1f} us per step, {1 / least:.0f} steps/s")


if __name__ == "__main__":
    main()
