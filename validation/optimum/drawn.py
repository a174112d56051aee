"""Alpha-fair answers on problems drawn by chance, judged from outside: `evenair solve` gives rates, and HiGHS says whether any better are there.

    validation/optimum/drawn.py EVENAIR [FIRST [COUNT]]

Draws COUNT problems (60) from the seeds FIRST (1) on: 5 to 60 links; conflicts at random, of links in the plane, or odd rings that share links; flows
over one to three links (one, over rings); rates of links over two decades, weights of flows over two; alpha 0.5, 1, 2, 5, 10 or 50. Rates and nothing else
are taken from the answer. They are judged by

1. feasibility: the shares of time that carry them add up to one (and to no less, where something is left over);
2. optimality: the objective is concave, so that rates x are the best ones if no rates y of the region have a larger sum of U'(x) y. Independent sets
   are generated, the heaviest by integer programming, until that sum's bound is closed.

Where alpha is steep nearly all of the sum is a few flows', and says nothing of the others. So flows that make less than 1e-4 of it are judged again,
with the rates of all others held, and so on down. The gap of a flow's group bounds its error: relative error d in a flow that makes the share p of
the group's sum costs p alpha d^2 / 2. Where there are few sets CVXPY's rates are compared, too (alpha up to 2).
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
LISTED_MAX = 3000


def in_the_plane(links: int, draw: random.Random) -> list[tuple[int, int]]:
    side = 300.0 * links**0.5
    at = [(draw.random() * side, draw.random() * side) for _ in range(links)]
    near = lambda i, j: hypot(at[i][0] - at[j][0], at[i][1] - at[j][1]) < 550.0
    return [(i, j) for i in range(links) for j in range(i) if near(i, j)]


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
    # Flows take turns over the links: one, two or three each. Links that share a node conflict, and a node hears for all its links, which adds
    # conflicts; so that rings stay rings their links stay apart.
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
    mbps = [10 ** draw.uniform(-1, 1) * 5 for _ in range(links)]
    quoted = lambda names: ", ".join(f'"{name}"' for name in names)
    lines = ['preset = "ns2"', 'mac = { kind = "ideal", data_rate = "5 Mbps" }', f"utility = {{ alpha = {alpha} }}", "links = ["]
    lines += [f'  {{ id = "{i}", from = "{ends[i][0]}", to = "{ends[i][1]}" }},' for i in range(links)]
    lines += ["]", f"conflicts = [{', '.join(f'[{quoted(map(str, edge))}]' for edge in sorted(edges))}]", "rates = ["]
    lines += [f'  {{ from = "{ends[i][0]}", to = "{ends[i][1]}", rate = "{1e6 * mbps[i]:.0f} bps" }},' for i in range(links)]
    lines += ["]", "flows = ["]
    for s, way in enumerate(ways):
        via = [ends[hop][1] for hop in way[:-1]]
        lines.append(
            f'  {{ id = "f{s}", from = "{ends[way[0]][0]}", to = "{ends[way[-1]][1]}", via = [{quoted(via)}], traffic = "saturated",'
            f" weight = {10 ** draw.uniform(-1, 1):.4f} }},"
        )
    lines.append("]")
    name = lambda link: ">".join(ends[link])
    return "\n".join(lines), shape, alpha, {frozenset((name(a), name(b))) for a, b in edges}


class Region:
    """Rates that shares of time of independent sets can carry; sets are found as they are asked for."""

    def __init__(self, links: int, conflicts: list[tuple[int, int]]) -> None:
        self.links = links
        self.apart = np.zeros((len(conflicts), links))
        for row, (i, j) in enumerate(conflicts):
            self.apart[row, [i, j]] = 1.0
        self.sets: dict[bytes, np.ndarray] = {}
        for link in range(links):
            # Each link alone, and with what fits beside it.
            chosen = [link]
            for other in range(links):
                if other != link and all((min(other, c), max(other, c)) not in self.pairs(conflicts) for c in chosen):
                    chosen.append(other)
            self.know(np.isin(np.arange(links), chosen).astype(float))

    @staticmethod
    def pairs(conflicts: list[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(min(edge), max(edge)) for edge in conflicts}

    def know(self, members: np.ndarray) -> bool:
        key = members.astype(np.int8).tobytes()
        is_new = key not in self.sets
        self.sets[key] = members
        return is_new

    def heaviest(self, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """The heaviest independent set, and what none is heavier than."""
        bounds = [LinearConstraint(self.apart, ub=1.0)] if len(self.apart) else []
        done = milp(-weight, constraints=bounds, integrality=np.ones(self.links), bounds=(0, 1), options={"mip_rel_gap": 1e-10})
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
            done = linprog(
                cost, A_ub=np.vstack([left, whole]), b_ub=np.concatenate([-held, [1.0]]), method="highs",
                options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
            )  # fmt: skip
            if done.status != 0:
                raise ArithmeticError(done.message)
            price = np.maximum(-done.ineqlin.marginals, 0.0)
            found, bound = self.heaviest(price[:-1])
            over = max(bound - price[-1], 0.0)
            if over < 1e-9 * max(1.0, -done.fun) or not self.know(found):
                return -done.fun, -done.fun + over

    def time(self, loads: np.ndarray) -> float:
        """The time that these loads take, at least."""
        alone = Region.__new__(Region)
        alone.__dict__ = self.__dict__
        times, _ = alone.best(loads[:, None], np.ones(1), np.zeros(self.links))
        return 1.0 / times


def judged(document: dict[str, Any], alpha: float) -> tuple[float, float, int]:
    """Excess of time, the worst group's gap, and the number of groups."""
    names = [link["link"] for link in document["links"]]
    region = Region(len(names), [(names.index(a), names.index(b)) for a, b in document["conflicts"]])
    flows = document["flows"]
    rate = np.array([flow["rate_pps"] for flow in flows])
    load = np.zeros((len(names), len(flows)))
    for s, flow in enumerate(flows):
        for entry in flow["loads"]:
            load[names.index(entry["link"]), s] = entry["airtime_s"] * rate[s]
    excess = region.time(load.sum(axis=1)) - 1.0
    weight = np.array([flow["weight"] for flow in flows])
    worth = np.log(weight) + (1.0 - alpha) * np.log(rate)
    left, worst, groups = np.argsort(-worth), 0.0, 0
    while left.size:
        of = worth[left] - worth[left[0]]
        split = int(np.sum(np.cumsum(np.exp(of))[-1] * GROUP < np.exp(of)))
        judge = left
        held = load.sum(axis=1) - load[:, judge].sum(axis=1)
        shrunk = held * (1.0 - 2e-9) / (1.0 + max(excess, 0.0))
        share = np.exp(of)
        _, bound = region.best(load[:, judge], share, shrunk)
        worst = max(worst, bound / share.sum() - 1.0)
        groups, left = groups + 1, left[max(split, 1) :]
    return excess, worst, groups


def by_cvxpy(document: dict[str, Any], alpha: float) -> float | None:
    """The largest relative difference of a rate; none, where there are many sets or it gives up."""
    names = [link["link"] for link in document["links"]]
    near: dict[int, set[int]] = {link: set() for link in range(len(names))}
    for a, b in document["conflicts"]:
        near[names.index(a)].add(names.index(b))
        near[names.index(b)].add(names.index(a))
    found: list[frozenset[int]] = []

    def extend(chosen: set[int], may: set[int], not_: set[int]) -> bool:
        if not may and not not_:
            found.append(frozenset(chosen))
            return len(found) <= LISTED_MAX
        pivot = max(may | not_, key=lambda link: len(may - near[link] - {link}))
        for link in list(may & (near[pivot] | {pivot})):
            apart = lambda those, link=link: {m for m in those if m not in near[link] and m != link}
            if not extend(chosen | {link}, apart(may), apart(not_)):
                return False
            may = may - {link}
            not_ = not_ | {link}
        return True

    if not extend(set(), set(near), set()):
        return None
    flows = document["flows"]
    rate = np.array([flow["rate_pps"] for flow in flows])
    load = np.zeros((len(names), len(flows)))
    for s, flow in enumerate(flows):
        for entry in flow["loads"]:
            load[names.index(entry["link"]), s] = entry["airtime_s"] * rate[s]
    member = np.array([[link in s for s in found] for link in range(len(names))], dtype=float)
    weight = np.array([flow["weight"] for flow in flows]) * rate ** (1.0 - alpha)
    weight /= weight.max()
    x, tau = cp.Variable(len(flows)), cp.Variable(len(found), nonneg=True)
    utility = cp.log(x) if alpha == 1.0 else cp.power(x, 1.0 - alpha) / (1.0 - alpha)
    problem = cp.Problem(cp.Maximize(weight @ utility), [load @ x <= member @ tau, cp.sum(tau) == 1])
    try:
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    except cp.SolverError:
        return None
    return float(np.max(np.abs(x.value - 1.0))) if problem.status == "optimal" else None


def main() -> None:
    evenair = sys.argv[1]
    first, count = (int(word) for word in (sys.argv[2:] + ["1", "60"][len(sys.argv) - 2 :])[:2])
    counts = {"exact": 0, "bound": 0, "failed": 0}
    print("| seed | conflicts | alpha | links | flows | evenair [s] | its residual | excess of time | gap, worst group | groups | CVXPY's rates differ by |")
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
                print(f"| {seed} | {shape} | {alpha} | | | {took:.2f} | {done.stderr.strip()[:160]} |", flush=True)
                continue
            document = json.loads(done.stdout)
            assert {frozenset(pair) for pair in document["conflicts"]} >= conflicts, seed
            residual = max(document["residuals"].values())
            counts["exact" if residual <= 1e-6 else "bound"] += 1
            excess, gap, groups = judged(document, alpha)
            other = by_cvxpy(document, alpha) if alpha <= 2.0 else None
            differ = "–" if other is None else f"{other:.0e}"
            print(
                f"| {seed} | {shape} | {alpha} | {len(document['links'])} | {len(document['flows'])} | {took:.2f} | {residual:.0e} | {excess:.0e} | {gap:.0e} "
                f"| {groups} | {differ} |",
                flush=True,
            )
    print(counts)


if __name__ == "__main__":
    main()
