#!/usr/bin/env python3
"""Scenarios that nobody chose: drawn meshes, radios and flows, by real Linux sockets and simulated, side by side.

    python3 validation/emulation/unseen.py             # the twelve of docs/notes/emulator.md, a quarter of an hour
    python3 validation/emulation/unseen.py 101 3       # three more

Needs what twin.py needs. Each seed draws 802.11a, b or g and a rate, 6 to 14 nodes within reach of each other, Reno or
CUBIC with selective acknowledgements or without, and two to five flows between any two nodes: TCP without end, most of
them, else a transfer of 2 MB, pages, or 300 kb/s of datagrams. Three emulations and six simulated runs of 15 s after
5 s. A flow agrees if the means differ by no more than a tenth of the simulated one or a packet/s; it is open if they
differ by less than 2.5 standard errors; else it differs.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev

from twin import EVENAIR, evenair, late

FIRST = int(sys.argv[1]) if len(sys.argv) > 1 else 1
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 12
EMULATIONS, SEEDS = range(1, 4), range(1, 7)
TIMES = ["duration=15 s", "warmup=5 s"]
RATES = {"802.11b": ["2", "11"], "802.11g": ["12", "54"], "802.11a": ["6", "24"]}
REACH_M, APART_M = 230, 60


def nodes(draw: random.Random) -> list[tuple[int, int]]:
    """Places [m], each within reach of one before it and not too near to any."""
    count, places = draw.randint(6, 14), [(0, 0)]
    while len(places) < count:
        x, y = draw.choice(places)
        place = (x + round(draw.uniform(-REACH_M, REACH_M)), y + round(draw.uniform(-REACH_M, REACH_M)))
        gaps = [((place[0] - a) ** 2 + (place[1] - b) ** 2) ** 0.5 for a, b in places]
        if APART_M < min(gaps) < REACH_M:
            places.append(place)
    return places


def traffic(draw: random.Random) -> str:
    """What a flow sends."""
    kind = draw.random()
    if kind < 0.15:
        return "traffic = 'cbr'\nrate = '300 kbps'"
    if kind < 0.3:
        return "transfer = '2 MB'"
    if kind < 0.4:
        return "traffic = 'web'\nweb = { interval = '500 ms', reply = '30 kB' }"
    return ""


def scenario(seed: int) -> str:
    """The scenario that a seed draws."""
    draw = random.Random(seed)
    kind = draw.choice(list(RATES))
    lines = [f"mac = {{ kind = '{kind}', data_rate = '{draw.choice(RATES[kind])} Mbps' }}", "start_jitter = '1 s'"]
    lines += ["radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }", "[tcp]"]
    lines += [f"window = '{draw.choice(['newreno', 'cubic'])}'", f"sack = {draw.choice(['true', 'false'])}"]
    places = nodes(draw)
    lines += [f"[[nodes]]\nid = '{i}'\nat = [{x}, {y}]" for i, (x, y) in enumerate(places)]
    for flow in range(draw.randint(2, 5)):
        a, b = draw.sample(range(len(places)), 2)
        lines += [f"[[flows]]\nid = 'f{flow}'\nfrom = '{a}'\nto = '{b}'", traffic(draw)]
    return "\n".join(lines) + "\n"


def verdict(real: list[float], simulated: list[float]) -> str:
    """As the head of this file says."""
    apart = abs(fmean(real) - fmean(simulated))
    error = (stdev(real) ** 2 / len(real) + stdev(simulated) ** 2 / len(simulated)) ** 0.5
    if apart <= max(0.1 * fmean(simulated), 1.0):
        return "agrees"
    return "open" if apart < 2.5 * error else "**differs**"


def main() -> None:
    """Prints the table."""
    print("| seed | flow | real sockets [packets/s] | simulated | verdict | later than 1 ms |")
    print("|---|---|---|---|---|---|")
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "unseen.toml"
        for seed in range(FIRST, FIRST + COUNT):
            path.write_text(scenario(seed))
            real = [evenair(EVENAIR, "emulate", str(path), [*TIMES, f"seed={run}"]) for run in EMULATIONS]
            simulated = [evenair(EVENAIR, "run", str(path), [*TIMES, f"seed={run}"]) for run in SEEDS]
            lateness = max(late(document) for document in real)
            for i, flow in enumerate(simulated[0]["flows"]):
                a, b = ([document["flows"][i]["goodput_pps"] for document in each] for each in (real, simulated))
                said = verdict(a, b)
                counts[said] = counts.get(said, 0) + 1
                of = f"{fmean(a):.1f} (sd {stdev(a):.1f}) | {fmean(b):.1f} (sd {stdev(b):.1f})"
                print(f"| {seed} | {flow['flow']} | {of} | {said} | {lateness:.2%} |", flush=True)
    print(f"\n{counts}")


if __name__ == "__main__":
    main()
