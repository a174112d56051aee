#!/usr/bin/env python3
"""Frames a second of whole processes on grids of 64, 100, 256, 900 and 10 000 nodes.

    python3 validation/scale.py

Needs evenair built by `cargo build --release`, and an otherwise idle machine. Nodes stand 200 m apart and hear up to
20 others; every second one is saturated towards its neighbour. Time and frames of a run of a fifth are taken off those
of the whole one, and with them reading, routing, the verdict and output; of five runs each the least time, since other
load only adds to it. Networks of at most 500 nodes run with the ledger, too, which is the default there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from pathlib import Path

EVENAIR = Path(__file__).parent.parent / "target/release/evenair"
# Nodes a side, and how long is simulated, so that each has as many frames.
SIDES = [(8, 120.0), (10, 90.0), (16, 35.0), (30, 10.0), (100, 0.9)]
ROUNDS = 5
# Nodes up to which the command keeps the ledger by itself.
LEDGER_MAX = 500

# Time [s] and DATA frames of a whole run, and of a fifth of it.
Pair = tuple[tuple[float, int], tuple[float, int]]


def grid(side: int) -> str:
    """The scenario."""
    lines = [
        "warmup = '0 s'",
        "start_jitter = '100 ms'",
        "radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }",
    ]
    for i in range(side * side):
        lines.append(f"[[nodes]]\nid = '{i}'\nat = [{200 * (i % side)}, {200 * (i // side)}]")
    for i in range(0, side * side, 2):
        to = i + 1 if i % side + 1 < side else i - 1
        lines.append(f"[[flows]]\nid = 'f{i}'\nfrom = '{i}'\nto = '{to}'\ntraffic = 'saturated'")
    return "\n".join(lines) + "\n"


def run(scenario: Path, seconds: float, ledger: str) -> tuple[float, int]:
    """User time [s] and DATA frames."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [EVENAIR, "run", scenario, "--set", f"duration={seconds:.6f} s", ledger, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return took, sum(link["attempts"] for link in json.loads(done.stdout)["links"])


def least(pairs: list[Pair]) -> tuple[int, float]:
    """DATA frames, and the least time for them [s]."""
    (_, whole), (_, fifth) = pairs[0]
    return whole - fifth, min(time for (time, _), _ in pairs) - min(time for _, (time, _) in pairs)


def main() -> None:
    """Prints the table."""
    plain: list[list[Pair]] = [[] for _ in SIDES]
    kept: list[list[Pair]] = [[] for _ in SIDES]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "grid.toml"
        # Runs of a size lie apart: other load on the machine comes and goes in minutes.
        for _ in range(ROUNDS):
            for place, (side, seconds) in enumerate(SIDES):
                scenario.write_text(grid(side))
                for ledger, pairs in (("--no-ledger", plain[place]), ("--ledger", kept[place])):
                    if ledger == "--no-ledger" or side * side <= LEDGER_MAX:
                        pairs.append((run(scenario, seconds, ledger), run(scenario, seconds / 5, ledger)))
    print("| nodes | flows | DATA frames | user time [s] | frames per second | with the ledger |")
    print("|---|---|---|---|---|---|")
    for (side, _), pairs, with_ledger in zip(SIDES, plain, kept, strict=True):
        frames, took = least(pairs)
        rates = [f"{round(frames / took, -3):,.0f}", "not kept"]
        if with_ledger:
            frames, longer = least(with_ledger)
            rates[1] = f"{round(frames / longer, -3):,.0f}"
        line = f"| {side**2:,} | {side**2 // 2:,} | {frames:,} | {took:.2f} | {' | '.join(rates)} |"
        print(line.replace(",", " "))


if __name__ == "__main__":
    main()
