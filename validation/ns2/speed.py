#!/usr/bin/env python3
"""User time of evenair and of ns-2 on the same scenarios, whole processes, in alternating pairs.

    validation/ns2/speed.py [PAIRS]

Needs Debian's ns2, and evenair built by `cargo build --release`. Prints a table in Markdown: medians over the pairs
[ms per simulated second], their ratio, and what both gave in the same runs.
"""

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EVENAIR = ROOT / "target/release/evenair"
UPSTREAM = [2, 4, 5, 7, 9, 10, 12, 14, 15, 20, 21, 23, 24, 25, 28, 30, 31, 35]
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 7


def timed(command: list[str]) -> tuple[float, str]:
    """Runs a command; gives its user time [s] and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def evenair(arguments: list[str]) -> tuple[float, float]:
    """User time [s] and total goodput [packets/s]."""
    seconds, text = timed([str(EVENAIR), "run", *arguments, "--json"])
    flows = json.loads(text)["flows"]
    return seconds, sum(flow["goodput_pps"] for flow in flows)


def ns2(arguments: list[str], name: str) -> tuple[float, float]:
    seconds, text = timed(["ns", *arguments])
    line = next(line for line in text.splitlines() if line.startswith(name + " "))
    numbers = [float(word) for word in line.split()[1:]]
    # mesh.tcl prints kb/s of 1460-byte segments per flow, the others end with a total of packets.
    return seconds, sum(numbers) / 11.68 if arguments[0].endswith("mesh.tcl") else numbers[-1]


def cell(folder: str, stations: int) -> str:
    """Writes the cell of cell.tcl as a scenario."""
    lines = ["[radio]", 'transmission_range = "250 m"', 'carrier_sense_range = "550 m"']
    lines += ["[[nodes]]", 'id = "ap"', "at = [0, 0]"]
    for i in range(stations):
        angle = 2 * math.pi * i / stations
        lines += ["[[nodes]]", f'id = "s{i}"', f"at = [{50 * math.cos(angle)}, {50 * math.sin(angle)}]"]
        lines += ["[[flows]]", f'id = "{i}"', f'from = "s{i}"', 'to = "ap"', 'traffic = "saturated"']
    path = os.path.join(folder, "cell.toml")
    Path(path).write_text("\n".join(lines) + "\n")
    return path


def alone(hops: int, traffic: str) -> list[str]:
    """One flow over so many hops of a chain, in the place of those that the scenario has."""
    flow = f"flows=[{{ id = '1', from = '{hops}', to = '0', {traffic} }}]"
    return ["--set", f"generate.nodes={hops + 1}", "--set", flow]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        common = ["--set", "preset=ns2", "--set", "duration=200 s"]
        mesh = str(HERE / "mesh.tcl")
        # DSDV adds an IP header of 20 bytes to each packet. Its 60 s of routing before the flows cost next to nothing.
        routed = ["--set", "tcp.headers=60 bytes"]
        scenarios = [
            (
                "four links, topology a, TCP",
                220,
                "a",
                [str(HERE / "four_link.tcl"), "a", "1", "200"],
                ["chen10/a", *common, "--set", "warmup=20 s"],
            ),
            (
                "one cell, 20 saturated stations",
                205,
                "20",
                [str(HERE / "cell.tcl"), "20", "1", "200"],
                [cell(folder, 20), *common, "--set", "warmup=5 s"],
            ),
            (
                "three-hop chain, three TCP flows",
                220,
                "1",
                [mesh, "1", "200", " ".join(f"{200 * i},0" for i in range(4)), "tcp:1:0 tcp:2:0 tcp:3:0"],
                ["jam10/chain", *common, *routed],
            ),
            (
                "grid of 36 nodes, 18 TCP flows",
                220,
                "1",
                [
                    mesh,
                    "1",
                    "200",
                    " ".join(f"{200 * (i % 6)},{200 * (i // 6)}" for i in range(36)),
                    " ".join(f"tcp:{node}:0" for node in UPSTREAM),
                ],
                ["jam10/grid", *common, *routed],
            ),
            (
                "ten hops, one TCP flow",
                220,
                "1",
                [mesh, "1", "200", " ".join(f"{200 * i},0" for i in range(11)), "tcp:10:0"],
                ["jam10/chain", *common, *routed, *alone(10, "traffic = 'tcp'")],
            ),
            (
                "three hops, UDP at 1 Mb/s",
                220,
                "1",
                [mesh, "1", "200", " ".join(f"{200 * i},0" for i in range(4)), "udp:3:0:1000:1500"],
                # An IP header of DSDV's more, as above.
                [
                    "jam10/chain",
                    *common,
                    *alone(3, "traffic = 'cbr', rate = '1 Mbps', size = '1520 bytes'"),
                ],
            ),
        ]
        print("| scenario | ns-2 [ms/s] | evenair [ms/s] | ratio | ns-2 [packets/s] | evenair [packets/s] |")
        print("|---|---|---|---|---|---|")
        for title, simulated, name, tcl, arguments in scenarios:
            ours, theirs = [], []
            for _ in range(PAIRS):
                theirs.append(ns2(tcl, name))
                ours.append(evenair(arguments))
            median = [statistics.median(t for t, _ in runs) * 1e3 / simulated for runs in (theirs, ours)]
            print(
                f"| {title} | {median[0]:.2f} | {median[1]:.2f} | {median[0] / median[1]:.1f} "
                f"| {theirs[0][1]:.1f} | {ours[0][1]:.1f} |"
            )


if __name__ == "__main__":
    main()
