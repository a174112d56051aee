#!/usr/bin/env python3
"""TGax's calibration box 5 over places of our own: the spread of its totals beside the published ones.

    python3 validation/aggregates/box5.py [DRAWS]

Prints a table in Markdown. Three access points at (0, 0), (40, 20) and (-40, -20) m have 28 stations. The document
with the stations' places (IEEE 802.11-09/0451, scenario 6) could not be read; an open simulator has five of the
second access point, up to 12 m from it. So each draw places 9, 10 and 9 stations evenly in a square of 24 m around
their access point, and draws another field of shadowing. 80 MHz, MCS 7, one stream; access points 20 dBm, stations 15
dBm, antennas -2 dBi; TGac's model D, shadowing of 5 dB; a preamble is detected from -70 dBm on. Flows are saturated
with packets of 1500 bytes. Published: IEEE 802.11-15/0623r1 (Ericsson, equal to four others'), of each access point
and in total. Needs evenair built by `cargo build --release`.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from statistics import fmean, quantiles

from program import results

APS = {"A": (0, 0, 9), "B": (40, 20, 10), "C": (-40, -20, 9)}
SIDE_M = 24.0
CASES = {
    "down": (True, False, (84.3, 122.7, 104.6)),
    "up": (False, True, (80.9, 120.4, 137.8)),
    "both ways": (True, True, (51.9, 146.1, 151.5)),
}
GAIN_DB = -4
"""Two antennas of -2 dBi."""


def scenario(seed: int, *, down: bool, up: bool) -> str:
    """A placement, and flows down, up or both ways."""
    draw = random.Random(seed)
    nodes, flows = [], []
    saturated = 'traffic = "saturated", size = "1500 bytes"'
    for ap, (x, y, stations) in APS.items():
        nodes.append(f'{{ id = "{ap}", at = [{x}, {y}], transmit_power = "{20 + GAIN_DB} dBm" }}')
        for number in range(stations):
            station = f"{ap}{number}"
            at = [x + (draw.random() - 0.5) * SIDE_M, y + (draw.random() - 0.5) * SIDE_M]
            nodes.append(f'{{ id = "{station}", at = [{at[0]:.2f}, {at[1]:.2f}] }}')
            ways = [(ap, station)] * down + [(station, ap)] * up
            flows += [f'{{ id = "{a}-{b}", from = "{a}", to = "{b}", {saturated} }}' for a, b in ways]
    return f"""duration = "4 s"
warmup = "1 s"
mac = {{ kind = "802.11ac", width = "80 MHz", mcs = 7, queue = "2000 packets" }}
nodes = [{", ".join(nodes)}]
flows = [{", ".join(flows)}]
[radio]
transmit_power = "{15 + GAIN_DB} dBm"
propagation = "tgn-d"
errors = {{ model = "by-snr" }}
receive_threshold = "-70 dBm"
shadowing = {{ deviation = "5 dB", seed = {seed} }}
"""


def totals(seed: int, *, down: bool, up: bool) -> list[float]:
    """Goodput of each access point's cell [Mb/s]."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "box5.toml"
        path.write_text(scenario(seed, down=down, up=up), encoding="utf-8")
        flows = results(path, [], 1, "--no-ledger")[0]["flows"]
    of = dict.fromkeys(APS, 0.0)
    for flow in flows:
        of[flow["flow"][0]] += flow["goodput_bps"] / 1e6
    return list(of.values())


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    heads = ["published [Mb/s]", "mean [Mb/s]", "10 % below [Mb/s]", "90 % below [Mb/s]", "draws within 10 % of it"]
    print("| direction | cell | " + " | ".join(heads) + " |")
    print("|" + "---|" * (len(heads) + 2))
    for direction, (down, up, published) in CASES.items():
        found = [totals(seed, down=down, up=up) for seed in range(1, draws + 1)]
        columns = {"all": (sum(published), [sum(cells) for cells in found])}
        columns |= {ap: (published[i], [cells[i] for cells in found]) for i, ap in enumerate(APS)}
        for cell, (theirs, ours) in columns.items():
            tenths = quantiles(ours, n=10)
            within = sum(abs(value / theirs - 1) < 0.1 for value in ours)
            numbers = [f"{x:.1f}" for x in (theirs, fmean(ours), tenths[0], tenths[-1])]
            print(f"| {direction} | {cell} | {' | '.join(numbers)} | {within} of {draws} |")


if __name__ == "__main__":
    main()
