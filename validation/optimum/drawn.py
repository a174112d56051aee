"""Alpha-fair answers on problems drawn by chance, judged from outside: `evenair solve` gives rates, and HiGHS says
whether any better ones are there.

    python validation/optimum/drawn.py EVENAIR [FIRST [COUNT]]

Draws COUNT problems (60) from the seeds FIRST (1) on: 5 to 60 links; conflicts at random, of links in the plane, or odd
rings that share links; flows over one to three links (one, over rings); rates of links over two decades, weights of
flows over two; alpha 0.5, 1, 2, 5, 10 or 50. Rates and nothing else are taken from the answer. They are judged by

1. feasibility: the shares of time that carry them add up to one;
2. optimality: the objective is concave, so that rates x are the best ones if no rates y of the region have a larger
   sum of U'(x) y. Independent sets are generated, the heaviest by integer programming, until that sum is bounded.

Where alpha is steep nearly all of the sum is a few flows', and says nothing of the others. So flows that make less than
1e-4 of it are judged again, with the rates of all others held, and so on down. A relative error d in a flow that makes
the share p of its group's sum costs p alpha d^2 / 2 of it. Where there are few sets CVXPY's rates are compared, too
(alpha up to 2). An answer has 120 s.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from math import hypot
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp

ALPHAS = [0.5, 1.0, 2.0, 5.0, 10.0, 50.0]
GROUP = 1e-4
# Held flows leave so much of their time to those that are judged: without any room rounding decides.
ROOM = 2e-9
LISTED_MAX = 3000


def in_the_plane(links: int, draw: random.Random) -> list[tuple[int, int]]:
    side = 300.0 * links**0.5
    at = [(draw.random() * side, draw.random() * side) for _ in range(links)]
    return [(i, j) for i in range(links) for j in range(i) if hypot(at[i][0] - at[j][0], at[i][1] - at[j][1]) < 550.0]


def at_random(links: int, draw: random.Random) -> list[tuple[int, int]]:
    degree = draw.choice([2, 4, 8])
    return [(i, j) for i in range(links) for j in range(i) if draw.random() < degree / links]


def odd_rings(links: int, draw: random.Random) -> list[tuple[int, int]]:
    edges, first = [], 0
    while first + 4 < links:
        around = min(draw.choice([5, 7, 9]), (links - first - 1) // 2 * 2 + 1)
        ring = range(first, first + around)
        edges += [(i, i + 1) for i in ring[:-1]] + [(first, first + around - 1)]
        first += around - 1
    # What is left hangs on a ring.
    edges += [(i, draw.randrange(i)) for i in range(first + 1, links) if first + 1 < links and i > 0]
    return edges


SHAPES = {"random": at_random, "plane": in_the_plane, "rings": odd_rings}


def drawn(seed: int) -> tuple[str, str, float, set[frozenset[str]]]:
    """A scenario, the shape of its conflicts, alpha, and the conflicts."""
    draw = random.Random(seed)
    shape = list(SHAPES)[seed % 3]
    alpha = ALPHAS[seed // 3 % len(ALPHAS)]
    links = draw.randint(5, 60)
    edges = {(max(i, j), min(i, j)) for i, j in SHAPES[shape](links, draw) if i != j}
    # Flows take turns over the links: one, two or three each. Links that share a node conflict, and a node hears for
    # all its links, which adds conflicts; so that rings stay rings their links stay apart.
    ways, first, node, ends = [], 0, 0, {}
    while first < links:
        hops = 1 if shape == "rings" else draw.choice([1, 1, 1, 2, 3])
        way = range(first, min(links, first + hops))
        for hop in way:
            ends[hop] = (f"n{node}", f"n{node + 1}")
            node += 1
        node += 1
        edges |= {(hop + 1, hop) for hop in way[:-1]}
        ways.append(way)
        first = way[-1] + 1
    names = [">".join(ends[link]) for link in range(links)]
    conflicts = {frozenset((names[a], names[b])) for a, b in edges}
    return written(links, ends, edges, ways, alpha, draw), shape, alpha, conflicts


def written(
    links: int,
    ends: dict[int, tuple[str, str]],
    edges: set[tuple[int, int]],
    ways: list[range],
    alpha: float,
    draw: random.Random,
) -> str:
    """The scenario's text."""
    mbps = [10 ** draw.uniform(-1, 1) * 5 for _ in range(links)]
    ways_ends = [f'from = "{ends[i][0]}", to = "{ends[i][1]}"' for i in range(links)]
    pairs = ", ".join(f'["{a}", "{b}"]' for a, b in sorted(edges))
    lines = ['preset = "ns2"', 'mac = { kind = "ideal", data_rate = "5 Mbps" }', f"utility = {{ alpha = {alpha} }}"]
    lines += ["links = [", *(f'  {{ id = "{i}", {way} }},' for i, way in enumerate(ways_ends)), "]"]
    lines += [f"conflicts = [{pairs}]", "rates = ["]
    lines += [f'  {{ {way}, rate = "{1e6 * mbps[i]:.0f} bps" }},' for i, way in enumerate(ways_ends)]
    lines += ["]", "flows = ["]
    for s, way in enumerate(ways):
        via = ", ".join(f'"{ends[hop][1]}"' for hop in way[:-1])
        weight = 10 ** draw.uniform(-1, 1)
        lines.append(
            f'  {{ id = "f{s}", from = "{ends[way[0]][0]}", to = "{ends[way[-1]][1]}", via = [{via}], '
            f'traffic = "saturated", weight = {weight:.4f} }},'
        )
    return "\n".join([*lines, "]"])


class Region:
    """Rates that shares of time of independent sets can carry; sets are found as they are asked for."""

    def __init__(self, links: int, conflicts: list[tuple[int, int]]) -> None:
        self.links = links
        self.apart = np.zeros((len(conflicts), links))
        for row, (i, j) in enumerate(conflicts):
            self.apart[row, [i, j]] = 1.0
        self.sets: dict[bytes, np.ndarray] = {}
        pairs = {frozenset(edge) for edge in conflicts}
        for link in range(links):
            # Each link, and what fits beside it.
            chosen = [link]
            for other in range(links):
                if other != link and all(frozenset((other, c)) not in pairs for c in chosen):
                    chosen.append(other)
            self.know(np.isin(np.arange(links), chosen).astype(float))

    def know(self, members: np.ndarray) -> bool:
        key = members.astype(np.int8).tobytes()
        is_new = key not in self.sets
        self.sets[key] = members
        return is_new

    def heaviest(self, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """The heaviest independent set, and what none is heavier than."""
        bounds = [LinearConstraint(self.apart, ub=1.0)] if len(self.apart) else []
        options = {"mip_rel_gap": 1e-10}
        done = milp(-weight, constraints=bounds, integrality=np.ones(self.links), bounds=(0, 1), options=options)
        bound = -done.mip_dual_bound if done.mip_dual_bound is not None else -done.fun
        return np.round(done.x), float(max(bound, -done.fun))

    def best(self, load: np.ndarray, worth: np.ndarray, held: np.ndarray) -> tuple[float, float]:
        """The largest sum of worth by rates that fit beside the held loads: what was found, and what none is above."""
        flows = load.shape[1]
        while True:
            members = np.array(list(self.sets.values())).T
            left = np.hstack([load, -members])
            whole = np.concatenate([np.zeros(flows), np.ones(members.shape[1])])
            cost = np.concatenate([-worth, np.zeros(members.shape[1])])
            options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
            limits = np.concatenate([-held, [1.0]])
            done = linprog(cost, A_ub=np.vstack([left, whole]), b_ub=limits, method="highs", options=options)
            if done.status != 0:
                raise ArithmeticError(done.message)
            price = np.maximum(-done.ineqlin.marginals, 0.0)
            found, bound = self.heaviest(price[:-1])
            over = max(bound - price[-1], 0.0)
            if over < 1e-9 * max(1.0, -done.fun) or not self.know(found):
                return -done.fun, -done.fun + over

    def time(self, loads: np.ndarray) -> float:
        """The time that these loads take, at least."""
        times, _ = self.best(loads[:, None], np.ones(1), np.zeros(self.links))
        return 1.0 / times


class Answer:
    """What is taken from evenair's answer: the problem, and rates."""

    def __init__(self, document: dict[str, Any]) -> None:
        names = [link["link"] for link in document["links"]]
        self.links = len(names)
        self.conflicts = [(names.index(a), names.index(b)) for a, b in document["conflicts"]]
        flows = document["flows"]
        self.rate = np.array([flow["rate_pps"] for flow in flows])
        self.weight = np.array([flow["weight"] for flow in flows])
        # The load of each flow at its rate on each link.
        self.load = np.zeros((self.links, len(flows)))
        for s, flow in enumerate(flows):
            for entry in flow["loads"]:
                self.load[names.index(entry["link"]), s] = entry["airtime_s"] * self.rate[s]


def judged(answer: Answer, alpha: float) -> tuple[float, float, int]:
    """Excess of time, the worst group's gap, and the number of groups."""
    region, load = Region(answer.links, answer.conflicts), answer.load
    excess = region.time(load.sum(axis=1)) - 1.0
    worth = np.log(answer.weight) + (1.0 - alpha) * np.log(answer.rate)
    left, worst, groups = np.argsort(-worth), 0.0, 0
    while left.size:
        share = np.exp(worth[left] - worth[left[0]])
        held = load.sum(axis=1) - load[:, left].sum(axis=1)
        _, bound = region.best(load[:, left], share, held * (1.0 - ROOM) / (1.0 + max(excess, 0.0)))
        worst = max(worst, bound / share.sum() - 1.0)
        judged_now = int(np.sum(share > GROUP * share.sum()))
        groups, left = groups + 1, left[max(judged_now, 1) :]
    return excess, worst, groups


def maximal_sets(answer: Answer) -> list[frozenset[int]] | None:
    """All maximal independent sets (Bron and Kerbosch), if they are few."""
    near: dict[int, set[int]] = {link: set() for link in range(answer.links)}
    for a, b in answer.conflicts:
        near[a].add(b)
        near[b].add(a)
    found: list[frozenset[int]] = []

    def extend(chosen: set[int], may: set[int], others: set[int]) -> bool:
        if not may and not others:
            found.append(frozenset(chosen))
            return len(found) <= LISTED_MAX
        pivot = max(may | others, key=lambda link: len(may - near[link] - {link}))
        for link in list(may & (near[pivot] | {pivot})):
            beside = near[link] | {link}
            if not extend(chosen | {link}, may - beside, others - beside):
                return False
            may, others = may - {link}, others | {link}
        return True

    return found if extend(set(), set(near), set()) else None


def by_cvxpy(answer: Answer, alpha: float) -> float | None:
    """The largest relative difference of a rate; none, where there are many sets or it gives up."""
    sets = maximal_sets(answer)
    if sets is None:
        return None
    member = np.array([[link in s for s in sets] for link in range(answer.links)], dtype=float)
    weight = answer.weight * answer.rate ** (1.0 - alpha)
    x, tau = cp.Variable(len(weight)), cp.Variable(len(sets), nonneg=True)
    utility = cp.log(x) if alpha == 1.0 else cp.power(x, 1.0 - alpha) / (1.0 - alpha)
    goal = cp.Maximize((weight / weight.max()) @ utility)
    problem = cp.Problem(goal, [answer.load @ x <= member @ tau, cp.sum(tau) == 1])
    try:
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    except cp.SolverError:
        return None
    return float(np.max(np.abs(x.value - 1.0))) if problem.status == "optimal" else None


def main() -> None:
    evenair = sys.argv[1]
    first, count = (int(word) for word in (sys.argv[2:] + ["1", "60"][len(sys.argv) - 2 :])[:2])
    counts = {"exact": 0, "bound": 0, "failed": 0}
    print("| seed | conflicts | α | links | flows | time [s] | residual | excess | gap | groups | CVXPY differs by |")
    print("|---" * 11 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            text, shape, alpha, conflicts = drawn(seed)
            scenario = Path(folder) / f"drawn-{seed}.toml"
            scenario.write_text(text)
            command = [evenair, "solve", str(scenario), "--objective", "utility", "--json", "--time-limit", "120 s"]
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, check=False, text=True)
            took = time.perf_counter() - start
            if done.returncode != 0:
                counts["failed"] += 1
                print(f"| {seed} | {shape} | {alpha} | {took:.2f} s: {done.stderr.strip()[-160:]} |", flush=True)
                continue
            document = json.loads(done.stdout)
            assert {frozenset(pair) for pair in document["conflicts"]} >= conflicts, seed
            answer = Answer(document)
            residual = max(document["residuals"].values())
            counts["exact" if residual <= 1e-6 else "bound"] += 1
            excess, gap, groups = judged(answer, alpha)
            other = by_cvxpy(answer, alpha) if alpha <= 2.0 else None
            numbers = [f"{number:.0e}" for number in (residual, excess, gap)]
            cells = [seed, shape, alpha, answer.links, len(answer.rate), f"{took:.2f}", *numbers, groups]
            print("|", " | ".join(map(str, cells)), "|", "–" if other is None else f"{other:.0e}", "|", flush=True)
    print(counts)


if __name__ == "__main__":
    main()
