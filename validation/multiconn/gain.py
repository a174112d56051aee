#!/usr/bin/env python3
"""What several connections carry over a lossy path, beside one: the table of docs/concepts/connections.md.

    python3 validation/multiconn/gain.py [live.csv]

Reads the points that live.py measured over real sockets, and prints the mean goodput of each contender. A point that
was measured twice counts by its larger number of copies; measurements beside another flow are left out.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

PATHS = {"clean": "0", "loss-1": "1", "loss-2": "2", "loss-4": "4"}
CONTENDERS = {
    "cubic": "one CUBIC",
    "bbr": "one BBR",
    "fixed-1": "`fixed`, n = 1",
    "fixed-4": "`fixed`, n = 4",
    "guarded": "`guarded`",
}


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "live.csv"
    found: dict[tuple[str, str], tuple[int, float]] = {}
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            key, copies = (row["path"], row["contender"]), int(row["copies"])
            if not row["beside_mbps"] and copies > found.get(key, (0, 0.0))[0]:
                found[key] = (copies, float(row["goodput_mbps"]))
    print(f"| loss [%] | {' | '.join(f'{title} [Mb/s]' for title in CONTENDERS.values())} |")
    print("|---" * (len(CONTENDERS) + 1) + "|")
    for path, loss in PATHS.items():
        print(f"| {loss} | {' | '.join(f'{found[path, contender][1]:.1f}' for contender in CONTENDERS)} |")


if __name__ == "__main__":
    main()
