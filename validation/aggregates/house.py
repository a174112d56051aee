#!/usr/bin/env python3
"""A house of twelve flats: goodput and starving flows under several settings.

    python3 validation/aggregates/house.py

Prints a table in Markdown of the scenarios wifi/flat and wifi/flat-channels. Needs evenair built by
`cargo build --release`. Three seeds of 20 s each; takes half a minute.
"""

from __future__ import annotations

from statistics import fmean

from program import results

SCALED = "backoff={ law = 'virtual-queue', b = 0.0001, v = 50000, vq_min = 100 }"
ROWS = {
    "as it is": ("wifi/flat", []),
    "RTS before frames above 1 ms": ("wifi/flat", ["mac.rts_duration=1 ms"]),
    "ideal rate control": ("wifi/flat", ["mac.rate_control=ideal"]),
    "fq_codel": ("wifi/flat", ["queue.discipline=fq-codel"]),
    "20 MHz, one channel": ("wifi/flat", ["mac.width=20 MHz"]),
    "20 MHz, four channels": ("wifi/flat-channels", []),
    "virtual queues, their paper's numbers": ("wifi/flat", ["backoff=virtual-queue"]),
    "virtual queues, scaled to the aggregate": ("wifi/flat", [SCALED]),
    "A-CSMA, n = kT, k = 930": ("wifi/flat", ["backoff=adaptive", "connections.k=930"]),
}


def row(scenario: str, changes: list[str]) -> list[str]:
    """Total goodput, starving flows and the least flow's goodput: means over the seeds."""
    seeds = results(scenario, changes, 3)
    flows = [[flow["goodput_bps"] / 1e6 for flow in result["flows"]] for result in seeds]
    starving = [sum(flow["standing"] == "starves" for flow in result["verdict"]["flows"]) for result in seeds]
    total, least = fmean(map(sum, flows)), fmean(map(min, flows))
    return [f"{total:.0f}", f"{fmean(starving):.1f}", f"{least:.1f}"]


def main() -> None:
    print("| setting | all flows [Mb/s] | flows that starve, of 12 | least flow [Mb/s] |")
    print("|---|---|---|---|")
    for setting, (scenario, changes) in ROWS.items():
        print("| " + " | ".join([setting, *row(scenario, changes)]) + " |", flush=True)


if __name__ == "__main__":
    main()
