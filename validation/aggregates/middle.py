#!/usr/bin/env python3
"""The access point in the middle, with and without aggregates: evenair beside ns-3 3.44 and Komondor.

    python3 validation/aggregates/middle.py

Prints a table in Markdown. Komondor's figures are those of its validation case 2b (June 2026); ns-3's are of three
access points of 802.11ax 20 m apart, MCS 5 at 20 MHz, three seeds of 3 s. Needs evenair built by `cargo build
--release`; each of our rows is the mean of four seeds of 20 s of wifi/middle, which has their conflicts and not their
preambles.
"""

from __future__ import annotations

from statistics import fmean

from program import results

OURS = {
    "single packets, MCS 11": ["aggregation.packets=1"],
    "aggregates, MCS 11": [],
    "aggregates, MCS 5": ["mac.mcs=5"],
}
THEIRS = [
    ("single packets", "Komondor", 3.50, 21.69),
    ("aggregates", "Komondor", 1.19, 131.05),
    ("aggregates, MCS 5", "ns-3 3.44", 0.8, 62.2),
]


def ours(changes: list[str]) -> tuple[float, float]:
    """Goodput of the middle one and the mean of the outer ones [Mb/s]."""
    flows = [result["flows"] for result in results("wifi/middle", ["duration=20 s", *changes], 4)]
    left, middle, right = (fmean(flow[place]["goodput_bps"] for flow in flows) / 1e6 for place in range(3))
    return middle, (left + right) / 2


def main() -> None:
    print("| case | program | middle [Mb/s] | outer one [Mb/s] | middle's share [%] |")
    print("|---|---|---|---|---|")
    rows = THEIRS + [(case, "evenair", *ours(changes)) for case, changes in OURS.items()]
    for case, program, middle, outer in sorted(rows, key=lambda row: (row[0].startswith("agg"), row[0])):
        share = 100 * middle / (middle + 2 * outer)
        print(f"| {case} | {program} | {middle:.2f} | {outer:.1f} | {share:.1f} |")


if __name__ == "__main__":
    main()
