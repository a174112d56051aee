#!/usr/bin/env python3
"""Instructions of a simulated second of the scenarios of speed.py, which no other load on the machine changes.

    validation/ns2/instructions.py [DIST]

Needs valgrind, and evenair built by `cargo build --release`; DIST is the program of `cargo xtask dist`. Each runs
twice, the second time for twice as long: the difference is without start-up. Prints a table in Markdown.
"""

import re
import subprocess
import sys
import tempfile

import speed

# Of the durations with which time is measured: valgrind is fifty times slower.
SHARE = 20


def instructions(program: str, case: speed.Case, seconds: int) -> int:
    """Those of a whole process that measures for so many seconds."""
    times = case._replace(duration=seconds).times()
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "run"]
    command += [*case.evenair, *times, "--no-ledger", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        sys.exit(f"cannot count: valgrind prints no sum: {done.stderr[-300:]}")
    return int(collected[1])


def per_second(program: str, case: speed.Case) -> float:
    """Thousand instructions of a simulated second."""
    seconds = case.duration // SHARE
    more = instructions(program, case, 2 * seconds) - instructions(program, case, seconds)
    return more / seconds / 1e3


def main() -> None:
    """Prints the table."""
    programs = {"build from a clone": str(speed.EVENAIR)}
    if len(sys.argv) > 1:
        programs["`cargo xtask dist`"] = sys.argv[1]
    print("| scenario |", *(f" {name} [thousand/s] |" for name in programs), sep="")
    print("|---|", *("---|" for _ in programs), sep="")
    with tempfile.TemporaryDirectory() as folder:
        for case in speed.cases(folder):
            counts = [f" {per_second(program, case):,.0f} |".replace(",", " ") for program in programs.values()]
            print(f"| {case.title} |", *counts, sep="", flush=True)


if __name__ == "__main__":
    main()
