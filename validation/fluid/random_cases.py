"""Trajectories of [Chen10] (5.30) to (5.34) and (B.1) to (B.4) with random parameters by SciPy, piece by piece.

    python validation/fluid/random_cases.py > validation/fluid/random_cases.txt

Lines: "laws NAME k α β r_max queueing", "wires NAME capacities", "start NAME state", "flow NAME cost round-trip air …
wires …" say what a case is made of, "at NAME TIME STATE" where it goes. evenair-fluid's tests follow the same and
compare.

SciPy knows neither bounds nor corners: given the projected drift as if it were smooth its steps overshoot them, or
crawl along them. So each smooth piece is integrated on its own, from event to event: r reaches 0 or r_max, its drift
turns there, a wire fills or empties.
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

EDGES = [(0, 1), (1, 2), (1, 3), (2, 3)]
LINKS = 4
SETS = [
    s
    for n in range(LINKS + 1)
    for s in itertools.combinations(range(LINKS), n)
    if not any(a in s and b in s for a, b in EDGES)
]


class Case:
    def __init__(self, seed: int) -> None:
        lots = random.Random(seed)
        self.flows = 3
        self.queueing = seed % 3 != 0
        self.air = [sorted(lots.sample(range(LINKS), lots.choice([1, 1, 2]))) for _ in range(self.flows)]
        self.capacities = [round(lots.uniform(20, 90), 3) for _ in range(seed % 3)]
        self.wires = [[w for w in range(len(self.capacities)) if lots.random() < 0.7] for _ in range(self.flows)]
        self.cost = [round(1 / lots.uniform(200, 600), 9) for _ in range(self.flows)]
        self.base = [round(lots.uniform(0.01, 0.2), 4) for _ in range(self.flows)]
        self.k = round(lots.uniform(2, 15), 3)
        self.step = round(lots.uniform(0.02, 0.2), 4)
        self.beta = round(lots.uniform(50, 400), 2)
        self.r_max = math.inf if lots.random() < 0.5 else round(lots.uniform(0.005, 0.05), 5)
        self.start = [round(lots.uniform(2, 150), 3) for _ in range(self.flows)]
        self.start += [lots.choice([0.0, round(lots.uniform(0, 0.004), 6)]) for _ in range(LINKS)]

    def airtime(self, r: np.ndarray) -> list[float]:
        weights = np.array([math.exp(self.beta * sum(r[link] for link in s)) for s in SETS])
        total = weights.sum()
        return [sum(w for s, w in zip(SETS, weights, strict=True) if link in s) / total for link in range(LINKS)]

    def loads(self, x: np.ndarray) -> list[float]:
        out = [0.0] * LINKS
        for s in range(self.flows):
            for link in self.air[s]:
                out[link] += self.cost[s] * x[s]
        return out

    def arrivals(self, x: np.ndarray) -> list[float]:
        return [sum(x[s] for s in range(self.flows) if w in self.wires[s]) for w in range(len(self.capacities))]

    def raw(self, state: np.ndarray, full: Sequence[bool]) -> np.ndarray:
        """The drift before projection; `full` says which wires refuse packets."""
        x, r = state[: self.flows], state[self.flows :]
        y, load, arrival = self.airtime(r), self.loads(x), self.arrivals(x)
        lost = [(a - c) / a if f else 0.0 for a, c, f in zip(arrival, self.capacities, full, strict=True)]
        out = np.zeros(len(state))
        for s in range(self.flows):
            trip = self.base[s]
            if self.queueing:
                trip += sum(r[link] / self.step / load[link] for link in self.air[s])
            price = sum(r[link] for link in self.air[s]) + sum(lost[w] for w in self.wires[s])
            n = self.k * trip
            out[s] = x[s] ** 2 / (2 * n) * (2 * n**2 / (trip**2 * x[s] ** 2) - price)
        for link in range(LINKS):
            out[self.flows + link] = self.step * (load[link] - y[link])
        return out

    def follow(self, times: Sequence[float]) -> list[np.ndarray]:
        """The states at these times."""
        state, now, found, corners = np.array(self.start, float), 0.0, [], 0
        state[self.flows :] = np.minimum(state[self.flows :], self.r_max)
        full = [a > c for a, c in zip(self.arrivals(state), self.capacities, strict=True)]
        rest = self.raw(state, full)
        held = [0] * LINKS
        for link in range(LINKS):
            i = self.flows + link
            if state[i] <= 0 and rest[i] <= 0:
                held[link] = -1
            elif state[i] >= self.r_max and rest[i] >= 0:
                held[link] = 1
        while now < times[-1]:
            mask = np.array([1.0] * self.flows + [0.0 if h else 1.0 for h in held])
            piece_full = list(full)
            events, turns = [], []

            def event(
                function: Callable[[float, np.ndarray], float],
                turn: tuple[str, int, int],
                events: list[Callable[[float, np.ndarray], float]] = events,
                turns: list[tuple[str, int, int]] = turns,
            ) -> None:
                function.terminal, function.direction = True, -1
                events.append(function)
                turns.append(turn)

            for link in range(LINKS):
                i = self.flows + link
                if held[link] == 0:
                    event(lambda _, z, i=i: z[i], ("hold", link, -1))
                    if math.isfinite(self.r_max):
                        event(lambda _, z, i=i: self.r_max - z[i], ("hold", link, 1))
                else:
                    sign = held[link]
                    event(lambda _, z, i=i, g=sign, f=piece_full: g * self.raw(z, f)[i], ("free", link, 0))
            for w, capacity in enumerate(self.capacities):
                sign = 1 if full[w] else -1
                event(lambda _, z, w=w, c=capacity, g=sign: g * (self.arrivals(z)[w] - c), ("flip", w, 0))
            until = times[-1]
            run = solve_ivp(
                lambda _, z, m=mask, f=piece_full: self.raw(z, f) * m,
                (now, until),
                state,
                "DOP853",
                events=events,
                dense_output=True,
                rtol=2e-13,
                atol=1e-15,
                max_step=0.5,
            )
            end = run.t[-1]
            found += [run.sol(t) if t < end else run.y[:, -1] for t in times[len(found) :] if t <= end]
            state, now = run.y[:, -1].copy(), end
            if run.status != 1:
                break
            corners += 1
            if corners > 2000:
                raise RuntimeError("corners without end")
            for (kind, which, to), hits in zip(turns, run.t_events, strict=True):
                if len(hits) == 0:
                    continue
                if kind == "hold":
                    held[which] = to
                    state[self.flows + which] = 0.0 if to < 0 else self.r_max
                elif kind == "free":
                    held[which] = 0
                else:
                    full[which] = not full[which]
        return found


def main() -> None:
    times = [5, 20, 60]
    for seed in range(24):
        case = Case(seed)
        states = case.follow(times)
        name = f"random-{seed}"
        numbers = {
            "laws": [case.k, case.step, case.beta, case.r_max, int(case.queueing)],
            "wires": case.capacities,
            "start": case.start,
        }
        for key, values in numbers.items():
            print(key, name, *values)
        for s in range(case.flows):
            print("flow", name, case.cost[s], case.base[s], "air", *case.air[s], "wires", *case.wires[s])
        for time, state in zip(times, states, strict=True):
            print("at", name, time, *(f"{x:.14g}" for x in state))


if __name__ == "__main__":
    main()
