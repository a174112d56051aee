#!/usr/bin/env python3
"""User time of evenair and of ns-3 on the same scenarios, whole processes, in alternating pairs.

    NS3=FOLDER validation/ns3/speed.py [PAIRS]

FOLDER is the folder ns3/ of the PyPI package ns3 (3.44), against which mesh.cc is built first. Needs g++, and evenair
built by `cargo build --release`. Prints a table in Markdown: medians over the pairs [ms per simulated second], their
ratio, and the total goodput of both [kb/s]. Both run with the standard's timing; their TCPs differ (ns-3's is its own
NewReno).
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
EVENAIR = HERE.parent.parent / "target/release/evenair"
MODULES = ["core", "network", "internet", "mobility", "propagation", "wifi", "applications", "traffic-control"]
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
WARMUP = 20


class Case(NamedTuple):
    """A scenario in both programs, and how long each simulates after the warm-up [s]."""

    title: str
    ns3: list[str]
    ns3_duration: int
    evenair: list[str]
    evenair_duration: int


def timed(command: list[str]) -> tuple[float, str]:
    """Runs a command; gives its user time [s] and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def built(folder: str, ns3: str) -> str:
    """Compiles mesh.cc."""
    program = os.path.join(folder, "mesh")
    library = f"{ns3}/lib64"
    options = ["-O2", "-std=c++20", "-I", f"{ns3}/include", "-L", library, f"-Wl,-rpath,{library}"]
    libraries = [f"-l:libns3.44-{module}.so" for module in MODULES]
    compiler = ["g++", *options, "-Wl,--allow-shlib-undefined", str(HERE / "mesh.cc"), "-o", program, *libraries]
    subprocess.run(compiler, check=True)
    return program


def around(stations: int) -> list[tuple[float, float]]:
    """Places of stations on a circle of 50 m."""
    angles = [2 * math.pi * i / stations for i in range(stations)]
    return [(50 * math.cos(a), 50 * math.sin(a)) for a in angles]


def cell(folder: str, stations: int) -> str:
    """Writes a cell of saturated stations as a scenario."""
    lines = ["[radio]", 'transmission_range = "250 m"', 'carrier_sense_range = "550 m"']
    lines += ["[[nodes]]", 'id = "ap"', "at = [0, 0]"]
    for i, (x, y) in enumerate(around(stations)):
        lines += ["[[nodes]]", f'id = "s{i}"', f"at = [{x}, {y}]"]
        lines += ["[[flows]]", f'id = "{i}"', f'from = "s{i}"', 'to = "ap"', 'traffic = "saturated"']
    path = os.path.join(folder, "cell.toml")
    Path(path).write_text("\n".join(lines) + "\n")
    return path


def cases(folder: str) -> list[Case]:
    """The scenarios."""
    places = ";".join(["0,0", *(f"{x:.4f},{y:.4f}" for x, y in around(20))])
    saturated = ";".join(f"udp:{i}:0" for i in range(1, 21))
    cell_of_20 = [f"--places={places}", f"--flows={saturated}", "--rate=11", "--basic=1", "--bytes=1000"]
    links = "-600,0;-600,100;0,0;0,100;600,100;600,200;600,-100;600,-200"
    flows = "tcp:0:1;tcp:2:3;tcp:4:5;tcp:6:7"
    four = [f"--places={links}", f"--flows={flows}", "--rate=11", "--bytes=1000", "--sense=-84.5"]
    chain = ["--places=0,0;200,0;400,0;600,0", "--flows=tcp:1:0;tcp:2:0;tcp:3:0"]
    return [
        Case("four links, TCP", four, 20, ["chen10/a"], 200),
        Case("cell, 20 saturated stations", cell_of_20, 5, [cell(folder, 20)], 200),
        Case("three-hop chain, three TCP flows", chain, 60, ["jam10/chain"], 2000),
    ]


def main() -> None:
    if "NS3" not in os.environ:
        sys.exit("cannot build mesh.cc: NS3 is not set; set it to the folder ns3/ of the PyPI package ns3 (3.44)")
    with tempfile.TemporaryDirectory() as folder:
        program = built(folder, os.environ["NS3"])
        print("| scenario | ns-3 [ms/s] | evenair [ms/s] | ratio | ns-3 [kb/s] | evenair [kb/s] |")
        print("|---|---|---|---|---|---|")
        for case in cases(folder):
            times = ([], [])
            totals = [0.0, 0.0]
            settings = [f"duration={case.evenair_duration} s", f"warmup={WARMUP} s"]
            ours = [
                str(EVENAIR),
                "run",
                *case.evenair,
                *(w for s in settings for w in ("--set", s)),
                "--no-ledger",
                "--json",
            ]
            theirs = [program, *case.ns3, f"--duration={case.ns3_duration}", f"--warmup={WARMUP}", "--seed=1"]
            for _ in range(PAIRS):
                seconds, text = timed(theirs)
                times[0].append(seconds)
                totals[0] = sum(float(word) for word in text.split())
                seconds, text = timed(ours)
                times[1].append(seconds)
                totals[1] = sum(flow["goodput_bps"] / 1e3 for flow in json.loads(text)["flows"])
            lengths = (case.ns3_duration + WARMUP, case.evenair_duration + WARMUP)
            pairs = zip(times, lengths, strict=True)
            median = [statistics.median(seconds) * 1e3 / simulated for seconds, simulated in pairs]
            print(
                f"| {case.title} | {median[0]:.1f} | {median[1]:.3f} | {median[0] / median[1]:.0f} "
                f"| {totals[0]:.0f} | {totals[1]:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
