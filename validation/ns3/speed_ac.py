#!/usr/bin/env python3
"""User time of evenair and of ns-3 on a saturated cell of 802.11ac with aggregates, in alternating pairs.

    python3 validation/ns3/speed_ac.py [PAIRS]

Needs the PyPI package ns3 (3.44), and evenair built by `cargo build --release`. Twenty stations send 1500-byte packets
to one receiver at 80 MHz, MCS 9, by ns-3's rules. Each program runs for a short and a long time; the table has the
difference, so that neither the start of a program nor the bindings' compiler counts. Prints a table in Markdown:
medians over the pairs [ms per simulated second], their ratio, and the payload of both [Mb/s].
"""

import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from modulated import Aggregates, megabits

EVENAIR = Path(__file__).parent.parent.parent / "target/release/evenair"
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
STATIONS = 20
# Measured after one second of warm-up [s].
NS3_SECONDS = (1, 6)
EVENAIR_SECONDS = (1, 101)


def of_process(seconds: int) -> tuple[float, float]:
    """ns-3's user time [s] of this process, which is to be new, and payload [Mb/s]."""
    total = megabits(("ac", 80, 9, STATIONS), 1, seconds, 40_000_000, Aggregates(65_535))
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime, total


def ns3(seconds: int) -> tuple[float, float]:
    """User time [s] and payload [Mb/s] of ns-3."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(of_process, (seconds,))


def evenair(seconds: int) -> tuple[float, float]:
    """User time [s] and payload [Mb/s] of evenair."""
    changes = ["preset=ns3", f"duration={seconds} s", "warmup=1 s"]
    settings = [word for change in changes for word in ("--set", change)]
    command = [EVENAIR, "run", f"wifi/cell-{STATIONS}", *settings, "--no-ledger", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    packets = sum(flow["goodput_pps"] for flow in json.loads(done.stdout)["flows"])
    return took, packets * 1_472 * 8 / 1e6


def main() -> None:
    """Prints the table."""
    times: dict[str, list[float]] = {"ns3": [], "evenair": []}
    totals = {}
    for _ in range(PAIRS):
        for name, program, lengths in (("ns3", ns3, NS3_SECONDS), ("evenair", evenair, EVENAIR_SECONDS)):
            (short, _), (long, totals[name]) = (program(seconds) for seconds in lengths)
            times[name].append((long - short) / (lengths[1] - lengths[0]) * 1e3)
    theirs, ours = (statistics.median(times[name]) for name in ("ns3", "evenair"))
    print("| scenario | ns-3 [ms/s] | evenair [ms/s] | ratio | ns-3 [Mb/s] | evenair [Mb/s] |")
    print("|---|---|---|---|---|---|")
    print(
        f"| cell of {STATIONS}, 802.11ac, 80 MHz, aggregates | {theirs:.0f} | {ours:.2f} | {theirs / ours:.0f} "
        f"| {totals['ns3']:.1f} | {totals['evenair']:.1f} |"
    )


if __name__ == "__main__":
    main()
