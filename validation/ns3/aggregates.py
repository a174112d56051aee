"""Saturated cells of 802.11ac with aggregates by ns-3 3.44: payload that arrives [Mb/s], seed by seed.

With the PyPI package ns3 (3.44):
    python3 validation/ns3/aggregates.py > validation/ns3/aggregates-20.txt

Each line has the rule after a missing block acknowledgement ("bar" or "data", as in aggregates.txt), the seed, and what
20 stations bring to one receiver together in 10 s after one second. The cell is that of aggregates.txt at 80 MHz,
MCS 9; each station is offered 40 Mb/s, so that it always has an aggregate's packets.
"""

import multiprocessing

from modulated import Aggregates, megabits

RULES = ("bar", "data")
STATIONS = 20
SEEDS = range(1, 6)
SECONDS = 10
OFFERED = 40_000_000


def line(rule: str, seed: int) -> str:
    """A line of the file."""
    aggregates = Aggregates(65_535, asks=rule == "bar")
    total = megabits(("ac", 80, 9, STATIONS), seed, SECONDS, OFFERED, aggregates)
    return f"{rule} {seed} {total:.2f}"


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply_async(line, (rule, seed)) for seed in SEEDS for rule in RULES]
        for run in runs:
            print(run.get(), flush=True)
