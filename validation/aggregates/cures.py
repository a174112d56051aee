#!/usr/bin/env python3
"""Tables of the study wifi/cure, from the folder of its result.

    target/release/evenair study wifi/cure
    python3 validation/aggregates/cures.py evenair-results/wifi/cure
    python3 validation/aggregates/cures.py --shares evenair-results/wifi/cure

Prints, in Markdown, the goodput and delay of three access points in a row under each law over 802.11ac at 80 MHz; with
--shares the share of the flow in the middle over every physical layer, in both topologies.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

LAWS = {
    "edca": "EDCA",
    "fq": "EDCA, fq_codel",
    "constant": "constant intensity",
    "acsma": "A-CSMA, n = kT",
    "acsma-scaled": "A-CSMA, k scaled",
    "ocsma": "oCSMA",
    "ocsma-scaled": "oCSMA, scaled",
    "vq": "VQ-oCSMA",
    "vq-scaled": "VQ-oCSMA, scaled",
    "vq-hardware": "VQ-oCSMA, scaled, hardware",
    "qd": "queueing-delay CSMA",
    "qd-scaled": "queueing-delay CSMA, scaled",
}
KINDS = {"a": "802.11a", "ac20": "ac, 20 MHz", "ac80": "ac, 80 MHz", "ax80": "ax, 80 MHz"}
# Among four links those that lift the middle of the row, and EDCA.
OF_FOUR = ["edca", "acsma", "vq", "vq-scaled", "vq-hardware", "qd-scaled"]
MIDDLE = {"row": "middle", "four": "2"}
# Variant, flow and quantity, to its values, one of each seed.
Values = dict[tuple[str, str, str], list[float]]


def values(folder: Path) -> Values:
    """Goodputs [Mb/s] and 95th percentiles of the delay [ms] of all flows."""
    found: Values = defaultdict(list)
    with (folder / "flows.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = (row["variant"], row["flow"])
            found[*place, "goodput"].append(float(row["goodput_bps"]) / 1e6)
            if row["delay_s_95"]:
                found[*place, "delay"].append(float(row["delay_s_95"]) * 1e3)
    return found


def printed(columns: list[str], rows: Iterable[list[str]]) -> None:
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def total(of: Values, variant: str) -> float:
    """The goodput of all flows [Mb/s]."""
    return sum(fmean(all_) for (name, _, what), all_ in of.items() if (name, what) == (variant, "goodput"))


def laws(of: Values) -> Iterable[list[str]]:
    """A row for each law over the row of access points."""
    for law, label in LAWS.items():
        variant = f"row-ac80-{law}"
        middle, left, right = (fmean(of[variant, flow, "goodput"]) for flow in ("middle", "left", "right"))
        price = 100 * total(of, variant) / total(of, "row-ac80-edca")
        delays = [fmean(of[variant, flow, "delay"] or [0.0]) for flow in ("middle", "left")]
        cells = [f"{middle:.1f}", f"{(left + right) / 2:.1f}", f"{price:.0f}"]
        yield [label, *cells, *(f"{delay:.0f}" if delay else "–" for delay in delays)]


def shares(of: Values) -> Iterable[list[str]]:
    """A row for each law and topology."""
    for topology, middle in MIDDLE.items():
        for law in LAWS if topology == "row" else OF_FOUR:
            cells = []
            for kind in KINDS:
                variant = f"{topology}-{kind}-{law}"
                got = of.get((variant, middle, "goodput"))
                cells.append(f"{100 * fmean(got) / total(of, variant):.1f}" if got else "–")
            yield [{"row": "three in a row", "four": "four links"}[topology], LAWS[law], *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="of the study's result")
    parser.add_argument("--shares", action="store_true", help="the middle's share over every physical layer")
    asked = parser.parse_args()
    of = values(asked.folder)
    if asked.shares:
        columns = [f"{kind} [%]" for kind in KINDS.values()]
        printed(["topology", "law", *columns], shares(of))
    else:
        columns = ["middle [Mb/s]", "outer one [Mb/s]", "all, of EDCA's [%]", "middle's delay, p95 [ms]"]
        printed(["law", *columns, "outer one's delay, p95 [ms]"], laws(of))


if __name__ == "__main__":
    main()
