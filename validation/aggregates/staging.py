#!/usr/bin/env python3
"""How long packets wait in a discipline and after it, by how much is staged for the air.

    python3 validation/aggregates/staging.py

Prints a table in Markdown: fq_codel's and CAKE's delays over 802.11ac and ax at 80 MHz, at the least and the greatest
rate, with one aggregate staged and with 8 ms of packets. Needs evenair built by `cargo build --release`. Means over
three seeds of 30 s; takes a minute.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from program import results

SCENARIO = Path(__file__).parent / "staging.toml"
RATES = {("802.11ac", 0): "29.25", ("802.11ac", 9): "390", ("802.11ax", 0): "36", ("802.11ax", 11): "600.5"}
STAGED = {"one": "one aggregate", "8 ms": "8 ms"}


def runs(discipline: str, kind: str, mcs: int, staged: str) -> list[dict[str, Any]]:
    """The results of three seeds."""
    changes = [f"queue={{ discipline = '{discipline}' }}", f"mac={{ kind = '{kind}', width = '80 MHz', mcs = {mcs} }}"]
    changes += [f"aggregation.staged_airtime='{staged}'"]
    return results(SCENARIO, changes, 3, "--all")


def row(discipline: str, kind: str, mcs: int, staged: str) -> list[str]:
    """A row of the table."""
    seeds = runs(discipline, kind, mcs, staged)
    queues = [next(link for link in result["links"] if link["queue"] == "ap/be") for result in seeds]
    flows = [{flow["flow"]: flow for flow in result["flows"]} for result in seeds]
    goodput = fmean(flow["first"]["goodput_bps"] + flow["second"]["goodput_bps"] for flow in flows) / 1e6
    waits = fmean(queue["waiting"]["mean_s"] for queue in queues) * 1e3
    sojourn = fmean(queue["sojourn_s"] for queue in queues) * 1e3
    calls = [flow["call"]["delay"] for flow in flows]
    p50, p95 = (fmean(delay[key] for delay in calls) * 1e3 for key in ("p50_s", "p95_s"))
    figures = [f"{goodput:.1f}", f"{waits:.2f}", f"{sojourn - waits:.2f}", f"{p50:.2f}", f"{p95:.2f}"]
    return [f"{discipline}, {kind}, {RATES[kind, mcs]} Mb/s", STAGED[staged], *figures]


def main() -> None:
    columns = ["discipline", "staged", "downloads [Mb/s]", "wait in the discipline [ms]", "wait after it [ms]"]
    columns += ["call p50 [ms]", "call p95 [ms]"]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for discipline in ("fq-codel", "cake"):
        for kind, mcs in RATES:
            for staged in STAGED:
                print("| " + " | ".join(row(discipline, kind, mcs, staged)) + " |", flush=True)


if __name__ == "__main__":
    main()
