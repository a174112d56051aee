"""Trajectories of the papers' fluid models by SciPy, from the equations and from nothing of evenair.

    python validation/fluid/reference.py > validation/fluid/reference.txt

Each line: case, time [s], state. evenair-fluid's tests integrate the same systems and compare.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

# A right-hand side: time [s] and state give the state's change.
Drift = Callable[[float, Sequence[float]], Sequence[float]]

EDGES = [(0, 1), (1, 2), (1, 3), (2, 3)]  # topology a of [Chen10]
SETS = [
    s for n in range(5) for s in itertools.combinations(range(4), n) if not any(a in s and b in s for a, b in EDGES)
]


def airtime(r: Sequence[float], beta: float) -> list[float]:
    weights = [math.exp(beta * sum(r[link] for link in s)) for s in SETS]
    total = sum(weights)
    return [sum(w for s, w in zip(SETS, weights, strict=True) if link in s) / total for link in range(4)]


def reno_over_csma(k: float | None, alpha: float, beta: float, cost: float, base: float, queueing: bool) -> Drift:
    """[Chen10] (5.1) to (5.4), or (B.1) to (B.4) where k is None."""

    def drift(_: float, state: Sequence[float]) -> Sequence[float]:
        x, r = state[:4], state[4:]
        y = airtime(r, beta)
        out = np.zeros(8)
        for s in range(4):
            round_trip = base + (r[s] / alpha / (cost * x[s]) if queueing else 0.0)
            n = 1.0 if k is None else k * round_trip
            out[s] = x[s] ** 2 / (2 * n) * (2 * n**2 / (round_trip**2 * x[s] ** 2) - r[s])
            out[4 + s] = alpha * (cost * x[s] - y[s])
            if r[s] <= 0 and out[4 + s] < 0:
                out[4 + s] = 0.0
        return out

    return drift


def e_multcp(
    beta: float,
    gain: float,
    capacities: Sequence[float],
    ways: Sequence[tuple[int, ...]],
    round_trips: Sequence[float],
    losses: Sequence[float],
) -> Drift:
    """[CZ06] (14), a packet the unit."""
    flows = len(ways)

    def drift(_: float, state: Sequence[float]) -> Sequence[float]:
        x, n = state[:flows], state[flows:]
        y = [sum(x[s] for s in range(flows) if j in ways[s]) for j in range(len(capacities))]
        g = [math.log1p(math.exp(beta * (yj - c) / yj)) / beta for yj, c in zip(y, capacities, strict=True)]
        out = np.zeros(2 * flows)
        for s in range(flows):
            z = sum(g[j] for j in ways[s])
            out[s] = (2 * n[s] ** 2 / round_trips[s] ** 2 - x[s] ** 2 * (losses[s] + z)) / (2 * n[s])
            out[flows + s] = gain * (1 / n[s] - n[s] * math.tanh(beta * z / 2))
        return out

    return drift


def virtual_queues(b: float, v: float, capacity: float) -> Drift:
    """[Lee12] (2): three links, the middle one hears both."""
    sets = [(), (0,), (1,), (2,), (0, 2)]

    def drift(_: float, q: Sequence[float]) -> Sequence[float]:
        weights = [math.exp(b * sum(q[link] for link in s)) for s in sets]
        total = sum(weights)
        y = [sum(w for s, w in zip(sets, weights, strict=True) if link in s) / total for link in range(3)]
        return [v / q[link] - capacity * y[link] for link in range(3)]

    return drift


def robertson(_: float, y: Sequence[float]) -> Sequence[float]:
    return [
        -0.04 * y[0] + 1e4 * y[1] * y[2],
        0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
        3e7 * y[1] ** 2,
    ]


def main() -> None:
    cases = [
        ("multi", reno_over_csma(10, 0.1, 200, 1 / 532, 0.1, False), [10] * 4 + [1e-4] * 4, [20, 100, 1000]),
        ("one", reno_over_csma(None, 0.05, 800, 1 / 532, 0.01, True), [100] * 4 + [1e-4] * 4, [5, 20, 200]),
        (
            "lossy",
            e_multcp(50, 0.0125, [80, 120], [(0,), (0, 1), (1,)], [0.1, 0.2, 0.15], [0.02, 0.03, 0.01]),
            [10, 5, 8, 1, 1, 1],
            [20, 100, 500],
        ),
        ("virtual", virtual_queues(0.01, 500, 4), [1, 1, 1], [10, 100, 1000]),
        ("robertson", robertson, [1, 0, 0], [40]),
    ]
    for name, drift, start, times in cases:
        found = solve_ivp(drift, (0, times[-1]), start, "Radau", t_eval=times, rtol=1e-10, atol=1e-13)
        for time, state in zip(found.t, found.y.T, strict=True):
            print(name, f"{time:g}", *(f"{x:.12g}" for x in state))


if __name__ == "__main__":
    main()
