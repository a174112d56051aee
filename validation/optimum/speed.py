"""evenair beside CVXPY with its default solver, on the same problems, in one run.

    cargo bench -p evenair-benches --bench simulation -- problem
    python validation/optimum/speed.py target/release/evenair

Network, loads and conflicts come from `evenair solve --json`; CVXPY gets every maximal independent set (with
entropy: every one). Times of CVXPY: a new problem, from its arrays to its solution, as each new network needs it; and
its solve() once more, canonicalisation kept. Import is left out. Times of evenair: the whole process, and, by criterion
(target/criterion), the problem from its arrays to its certified solution. Medians. Both objectives are printed: speed
is not bought with accuracy.

A second table is end to end, as a user meets them: a new process each, for evenair the scenario's file, for CVXPY the
arrays' file; with its interpreter, its import, and its solution. There the processor's time (least of five) stands
beside the clock's (median), because other work on the machine lengthens the second only.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import cvxpy as cp
import numpy as np

Document = dict[str, Any]  # what `evenair solve --json` prints
Weight = Callable[[np.ndarray], np.ndarray]  # of the flows' utilities, from their capacities


def independent_sets(links: int, conflicts: list[tuple[int, int]], maximal: bool) -> list[list[int]]:
    near: dict[int, set[int]] = {link: set() for link in range(links)}
    for a, b in conflicts:
        near[a].add(b)
        near[b].add(a)
    found: list[list[int]] = []

    def extend(chosen: list[int], rest: list[int]) -> None:
        found.append(chosen)
        for i, link in enumerate(rest):
            extend([*chosen, link], [m for m in rest[i + 1 :] if m not in near[link]])

    extend([], list(range(links)))
    if maximal:
        found = [s for s in found if all(link in s or near[link] & set(s) for link in range(links))]
    return found


def ask(evenair: str, arguments: list[str]) -> tuple[Document, float]:
    command = [evenair, "solve", *arguments, "--json"]
    times = []
    for _ in range(21):
        start = time.perf_counter()
        output = subprocess.run(command, capture_output=True, check=True).stdout
        times.append(time.perf_counter() - start)
    return json.loads(output), median(times)


def prepare(document: Document, weight: Weight, beta: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    names = [link["link"] for link in document["links"]]
    conflicts = [(names.index(a), names.index(b)) for a, b in document["conflicts"]]
    sets = independent_sets(len(names), conflicts, beta is None)
    flows = document["flows"]
    scale = np.array([flow["capacity_pps"] for flow in flows])
    load = np.zeros((len(names), len(flows)))
    for s, flow in enumerate(flows):
        for entry in flow["loads"]:
            load[names.index(entry["link"]), s] = entry["airtime_s"] * scale[s]
    member = np.array([[link in s for s in sets] for link in range(len(names))], dtype=float)
    return load, member, weight(scale)


def build(load: np.ndarray, member: np.ndarray, weight: np.ndarray, beta: float | None) -> cp.Problem:
    x, tau = cp.Variable(load.shape[1]), cp.Variable(member.shape[1], nonneg=True)
    objective = -cp.sum(cp.multiply(weight, cp.inv_pos(x)))
    if beta is not None:
        objective += cp.sum(cp.entr(tau)) / beta
    return cp.Problem(cp.Maximize(objective), [load @ x <= member @ tau, cp.sum(tau) == 1])


def timed(document: Document, weight: Weight, beta: float | None) -> tuple[float, float, float, int]:
    """The optimum, the time of a new problem and of its solve() once more [s], and how many sets there are."""
    arrays = prepare(document, weight, beta)
    new, again = [], []
    for _ in range(9):
        start = time.perf_counter()
        problem = build(*arrays, beta)
        problem.solve()
        new.append(time.perf_counter() - start)
        start = time.perf_counter()
        problem.solve()
        again.append(time.perf_counter() - start)
    return problem.value, median(new), median(again), arrays[1].shape[1]


def process(command: list[str]) -> tuple[float, float]:
    """A process's time: of the clock, median; of the processor, least [s]."""
    clock, processor = [], []
    for _ in range(5):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        clock.append(time.perf_counter() - start)
        assert running.returncode == 0, command
        processor.append(used.ru_utime + used.ru_stime)
    return median(clock), min(processor)


def alone(path: str) -> None:
    """What the other process does: arrays in, an objective out."""
    arrays = np.load(path)
    beta = float(arrays["beta"])
    problem = build(arrays["load"], arrays["member"], arrays["weight"], None if np.isnan(beta) else beta)
    problem.solve()
    print(problem.value)


def end_to_end(evenair: str, cases: list[tuple[str, list[str], Weight, float | None]]) -> None:
    headings = "evenair [ms] | of the processor | CVXPY [ms] | of the processor | ratio of processors' times"
    print(f"\n| end to end | {headings} |")
    print("|---" * 6 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments, weight, beta in cases:
            document, _ = ask(evenair, arguments)
            load, member, weights = prepare(document, weight, beta)
            path = str(Path(folder) / "arrays.npz")
            np.savez(path, load=load, member=member, weight=weights, beta=np.nan if beta is None else beta)
            ours = process([evenair, "solve", *arguments, "--json"])
            theirs = process([sys.executable, __file__, "--alone", path])
            cells = [f"{1e3 * seconds:.1f}" for seconds in (*ours, *theirs)]
            print(f"| {name} | {' | '.join(cells)} | {theirs[1] / ours[1]:.0f} |")


def criterion(name: str) -> float | None:
    """Median of the last bench [s], if it was run."""
    for path in Path("target/criterion").rglob("new/estimates.json"):
        if name in str(path):
            return json.loads(path.read_text())["median"]["point_estimate"] * 1e-9
    return None


def main() -> None:
    if sys.argv[1] == "--alone":
        return alone(sys.argv[2])
    evenair = sys.argv[1]
    laws = ["--set", "backoff.law=adaptive", "--set", "connections.k=10"]
    cases = [
        ("topology a, fair", ["chen10/a"], lambda c: 1 / c, None),
        ("topology a, fixed point", ["chen10/a", "--objective", "fixed-point", *laws], lambda c: 200 / c**2, 200),
        ("36-node grid, fair", ["jam10/grid"], lambda c: 1 / c, None),
        ("36-node grid, fixed point", ["jam10/grid", "--objective", "fixed-point", *laws], lambda c: 200 / c**2, 200),
    ]
    print(f"CVXPY {cp.__version__}, solver {cp.installed_solvers()[0]}\n")
    ours = "evenair, process [ms] | evenair, problem [ms]"
    theirs = "CVXPY, new problem [ms] | CVXPY, again [ms]"
    print(f"| problem | links | sets | {ours} | {theirs} | ratio, new problems | evenair's objective | CVXPY's |")
    print("|---" * 10 + "|")
    for name, arguments, weight, beta in cases:
        document, process = ask(evenair, arguments)
        value, new, again, sets = timed(document, weight, beta)
        own = criterion(name.replace("fixed point", "entropy"))
        inside = f"{own * 1e3:.3f}" if own else "–"
        ratio = f"{new / own:.0f}" if own else "–"
        print(
            f"| {name} | {len(document['links'])} | {sets} | {process * 1e3:.2f} | {inside} | {new * 1e3:.1f} "
            f"| {again * 1e3:.1f} | {ratio} | {document['objective']:.9g} | {value:.9g} |"
        )
    return end_to_end(evenair, cases)


if __name__ == "__main__":
    main()
