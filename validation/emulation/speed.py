#!/usr/bin/env python3
"""How much air the emulator keeps up with: a cell and two meshes, three runs of each, every flow by real sockets.

    python3 validation/emulation/speed.py

Needs evenair built by `cargo build --release -p evenair-cli --features live`, Linux, and an otherwise idle machine.
Prints a table in Markdown: what all flows together got [Mb/s], and of each run the share of packets that were later
than a millisecond, the latest, and the processor time [s], that of the kernel and of the flows' programs included.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EVENAIR = Path(__file__).parent.parent.parent / "target/release/evenair"
RUNS = 3
TIMES = ["--set", "duration=10 s", "--set", "warmup=2 s", "--set", "tcp.window=cubic"]
OFDM = "kind = '802.11g', data_rate = '54 Mbps'"
CCK = "kind = '802.11b', data_rate = '11 Mbps'"
Place = tuple[float, float]


def written(mac: str, ranges: tuple[int, int], nodes: list[Place], senders: list[int]) -> str:
    """A scenario: decoding and carrier sense ranges [m], nodes [m], and flows from these nodes to the first."""
    lines = [f"mac = {{ {mac} }}"]
    lines += [f"radio = {{ transmission_range = '{ranges[0]} m', carrier_sense_range = '{ranges[1]} m' }}"]
    for i, (x, y) in enumerate(nodes):
        lines += ["[[nodes]]", f"id = '{i}'", f"at = [{x:.1f}, {y:.1f}]"]
    for sender in senders:
        lines += ["[[flows]]", f"id = 'f{sender}'", f"from = '{sender}'", "to = '0'"]
    return "\n".join(lines) + "\n"


def circle(stations: int) -> list[Place]:
    """Stations 50 m around a node in the middle, which comes first."""
    angles = (2 * math.pi * i / stations for i in range(stations))
    return [(0.0, 0.0), *((50 * math.cos(angle), 50 * math.sin(angle)) for angle in angles)]


def grid(side: int) -> list[Place]:
    """A square grid, 200 m between neighbours."""
    return [(200.0 * (i % side), 200.0 * (i // side)) for i in range(side * side)]


CASES = {
    "cell of 20 stations, 54 Mb/s": written(OFDM, (250, 550), circle(20), list(range(1, 21))),
    "mesh of 9, 8 flows, 54 Mb/s": written(OFDM, (250, 550), grid(3), list(range(1, 9))),
    "mesh of 100, 30 flows, 11 Mb/s": written(CCK, (250, 550), grid(10), list(range(9, 100, 3))[:30]),
}


def emulate(scenario: Path) -> tuple[dict[str, Any], os.times_result]:
    """A run's document, and what it and its children took."""
    before = os.times()
    words = [str(EVENAIR), "emulate", str(scenario), *TIMES, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    after = os.times()
    return json.loads(done.stdout), os.times_result(b - a for a, b in zip(before, after, strict=True))


def main() -> None:
    """Prints the table."""
    print("| scenario | Mb/s | later than 1 ms | most late | processor, of which kernel |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for title, text in CASES.items():
            scenario = Path(folder) / "scenario.toml"
            scenario.write_text(text)
            runs = [emulate(scenario) for _ in range(RUNS)]
            late = [document["live"]["lateness"] for document, _ in runs]
            rate = sum(sum(flow["goodput_bps"] for flow in document["flows"]) for document, _ in runs) / RUNS
            took = ", ".join(f"{t.children_user + t.children_system:.1f}" for _, t in runs)
            kernel = ", ".join(f"{t.children_system:.1f}" for _, t in runs)
            beyond = ", ".join(f"{each['beyond_1ms']:.2%}" for each in late)
            most = ", ".join(f"{1e3 * each['most_s']:.1f}" for each in late)
            print(f"| {title} | {rate / 1e6:.1f} | {beyond} | {most} ms | {took} s; {kernel} s |", flush=True)


if __name__ == "__main__":
    main()
