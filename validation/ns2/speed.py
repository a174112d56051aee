#!/usr/bin/env python3
"""User time of evenair and of ns-2 on the same scenarios, whole processes, in alternating pairs.

    validation/ns2/speed.py [PAIRS]

Needs Debian's ns2, and evenair built by `cargo build --release`. Prints a table in Markdown: the least time of the
pairs [ms per simulated second], since both do the same work each time and other load only adds to it; their ratio, and
that of medians; and what both gave in the same runs.
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
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EVENAIR = ROOT / "target/release/evenair"
UPSTREAM = [2, 4, 5, 7, 9, 10, 12, 14, 15, 20, 21, 23, 24, 25, 28, 30, 31, 35]


class Case(NamedTuple):
    """A scenario in both programs, how long [s] it is measured, and how ns-2's line of results begins."""

    title: str
    duration: int
    warmup: int
    line: str
    ns2: list[object]
    evenair: list[str]

    def times(self) -> list[str]:
        """The preset, and how long evenair simulates."""
        settings = ["preset=ns2", f"duration={self.duration} s", f"warmup={self.warmup} s"]
        return [word for setting in settings for word in ("--set", setting)]


def timed(command: list[str]) -> tuple[float, str]:
    """Runs a command; gives its user time [s] and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def evenair(arguments: list[str]) -> tuple[float, float]:
    """User time [s] and total goodput [packets/s]."""
    seconds, text = timed([str(EVENAIR), "run", *arguments, "--no-ledger", "--json"])
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


def cases(folder: str) -> list[Case]:
    """The six scenarios; that of the cell is written into the folder."""
    mesh = [HERE / "mesh.tcl", 1]
    chain, long_chain = (" ".join(f"{200 * i},0" for i in range(nodes)) for nodes in (4, 11))
    grid = " ".join(f"{200 * (i % 6)},{200 * (i // 6)}" for i in range(36))
    upstream = " ".join(f"tcp:{node}:0" for node in UPSTREAM)
    # DSDV adds an IP header of 20 bytes to each packet. Its 60 s of routing before the flows cost next to nothing.
    routed = ["--set", "tcp.headers=60 bytes"]
    ten_hops = alone(10, "traffic = 'tcp'")
    udp = alone(3, "traffic = 'cbr', rate = '1 Mbps', size = '1520 bytes'")
    # Each is measured for so long [s] that evenair takes a fifth of a second, which is many ticks of the clock that
    # counts user time; before that comes the warm-up [s].
    return [
        Case("four links, topology a, TCP", 500, 20, "a", [HERE / "four_link.tcl", "a", 1, 500], ["chen10/a"]),
        Case("one cell, 20 saturated stations", 700, 5, "20", [HERE / "cell.tcl", 20, 1, 700], [cell(folder, 20)]),
        Case(
            "three-hop chain, three TCP flows",
            7000,
            20,
            "1",
            [*mesh, 7000, chain, "tcp:1:0 tcp:2:0 tcp:3:0"],
            ["jam10/chain", *routed],
        ),
        Case("grid of 36 nodes, 18 TCP flows", 2000, 20, "1", [*mesh, 2000, grid, upstream], ["jam10/grid", *routed]),
        Case(
            "ten hops, one TCP flow",
            2500,
            20,
            "1",
            [*mesh, 2500, long_chain, "tcp:10:0"],
            ["jam10/chain", *routed, *ten_hops],
        ),
        # An IP header of DSDV's more, as above.
        Case(
            "three hops, UDP at 1 Mb/s",
            12000,
            20,
            "1",
            [*mesh, 12000, chain, "udp:3:0:1000:1500"],
            ["jam10/chain", *udp],
        ),
    ]


def main() -> None:
    """Prints the table."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        all_cases = cases(folder)
        ours: list[list[tuple[float, float]]] = [[] for _ in all_cases]
        theirs: list[list[tuple[float, float]]] = [[] for _ in all_cases]
        # Pairs of a case lie apart: other load on the machine comes and goes in minutes.
        for _ in range(pairs):
            for case, our, their in zip(all_cases, ours, theirs, strict=True):
                their.append(ns2(list(map(str, case.ns2)), case.line))
                our.append(evenair([*case.evenair, *case.times()]))
    print("| scenario | measured [s] | ns-2 [ms/s] | evenair [ms/s] | ratio | of medians ", end="")
    print("| ns-2 [packets/s] | evenair [packets/s] |")
    print("|---|---|---|---|---|---|---|---|")
    for case, our, their in zip(all_cases, ours, theirs, strict=True):
        simulated = case.duration + case.warmup
        least = [min(t for t, _ in runs) * 1e3 / simulated for runs in (their, our)]
        median = [statistics.median(t for t, _ in runs) for runs in (their, our)]
        print(
            f"| {case.title} | {case.duration} | {least[0]:.2f} | {least[1]:.3f} | {least[0] / least[1]:.1f} "
            f"| {median[0] / median[1]:.1f} | {their[0][1]:.1f} | {our[0][1]:.1f} |"
        )


if __name__ == "__main__":
    main()
