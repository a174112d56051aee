#!/usr/bin/env python3
"""The twin table: flows of one scenario by real Linux sockets and simulated ones, side by side.

    python3 validation/emulation/twin.py > twin.md
    python3 validation/emulation/twin.py --seconds 8 --warmup 2 --runs 2 --seeds 3 --only hidden

Needs evenair built by `cargo build --release -p evenair-cli --features live`, Linux, and an otherwise idle machine.
Each case runs `evenair emulate` some times, 40 s each after a warm-up, and `evenair run` with the same window law for
some seeds. A line is a flow, or all of a case together: both means with 95 % intervals (Student's), their quotient, and
the verdict: `agrees` where the real mean is within a tenth of the simulated one, or each mean lies within the other's
interval and neither interval is wider than its mean; `undecided` where the intervals meet, else `differs`. Means are
goodput [packets/s]; of transfers and the web the mean time to complete [s]. Beside each case stands how many of its
packets were later than a millisecond: not to be trusted above a thousandth. All cases take an hour and a half. Reno is
simulated as NewReno: Linux' recovery is that of RFC 6582 where there is no SACK, it has no older one. Root has
real-time scheduling, and others whose `ulimit -r` is 10 or more.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

HERE = Path(__file__).parent
EVENAIR = HERE.parent.parent / "target/release/evenair"
# Student's t at 97.5 % for 1, 2, … degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]
LAWS = ["newreno", "cubic", "bbr"]
PLAIN = ["newreno", "cubic"]
A_CSMA = ["backoff.law=adaptive", "connections.k=10", "connections.samples=smoothed"]
ENDS = [("ap", station) for station in "abcde"]


def cell(downwards: bool) -> str:
    """The flows of a cell of five, all up or all down."""
    flows = [(ap, station) if downwards else (station, ap) for ap, station in ENDS]
    written = (f"{{ id = '{a}-{b}', from = '{a}', to = '{b}' }}" for a, b in flows)
    return f"flows=[{', '.join(written)}]"


def hops(count: int) -> list[str]:
    """A chain with so many hops."""
    flow = f"flows=[{{ id = '1', from = '{count}', to = '0' }}]"
    return [f"generate.nodes={count + 1}", flow]


def of_flow(more: str) -> str:
    """The one link's flow with more keys."""
    return f"flows=[{{ id = '1', from = 'a', to = 'b', {more} }}]"


# Three access points in a row of 802.11ac at 39 Mb/s, and what lifts the one in the middle (study wifi/cure).
AC_ROW = ["mac={ kind = '802.11ac', width = '20 MHz', mcs = 4, queue = '300 packets' }", "tcp.sack=true", "tcp.timestamps=true"]
AC_CURE = ["backoff={ law = 'virtual-queue', b = 0.0014, v = 24500, vq_min = 7, execution = 'hardware' }"]
PAGES = "{ interval = '100 ms', reply = '20 kB', arrivals = 'poisson', connection = 'per-request' }"
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "one link": (str(HERE / "link.toml"), [], LAWS),
    "wire, 1 % lost": (str(HERE / "wire.toml"), [], LAWS),
    "wire, 4 % lost": (str(HERE / "wire.toml"), ["losses.0.loss=0.04"], LAWS),
    "3 hops": ("jam10/hops", hops(3), PLAIN),
    "6 hops": ("jam10/hops", hops(6), PLAIN),
    "hidden": (str(HERE / "hidden.toml"), [], PLAIN),
    "hidden, RTS": (str(HERE / "hidden.toml"), ["mac.rts_threshold=0 bytes"], PLAIN),
    "chen10/a": ("chen10/a", [], PLAIN),
    "chen10/a, A-CSMA, n = kT": ("chen10/a", A_CSMA, PLAIN),
    "cell up": ("cell", [cell(downwards=False)], PLAIN),
    "cell down": ("cell", [cell(downwards=True)], PLAIN),
    "transfer of 1 MB": (str(HERE / "link.toml"), [of_flow("transfer = '1 MB'")], PLAIN),
    "802.11ac, one link": (str(HERE / "link-ac.toml"), [], ["cubic", "bbr"]),
    "802.11ac, three in a row": ("wifi/row", AC_ROW, ["cubic"]),
    "802.11ac, three in a row, VQ-oCSMA": ("wifi/row", [*AC_ROW, *AC_CURE], ["cubic"]),
    "web": (str(HERE / "link.toml"), [of_flow(f"traffic = 'web', web = {PAGES}")], PLAIN),
}


@dataclass(frozen=True)
class Mean:
    """A mean and the half width of its 95 % interval."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: list[float]) -> Mean:
        """Of these values."""
        if len(values) < 2:
            return cls(fmean(values), 0.0)
        return cls(fmean(values), STUDENT[min(len(values) - 2, 8)] * stdev(values) / len(values) ** 0.5)

    def __str__(self) -> str:
        digits = 1 if self.mean >= 10 else 3
        return f"{self.mean:.{digits}f} ± {self.half:.{digits}f}"


def verdict(real: Mean, simulated: Mean) -> str:
    """As the head of this file says."""
    apart = abs(real.mean - simulated.mean)
    narrow = all(each.half <= each.mean / 2 for each in (real, simulated))
    if apart <= 0.1 * simulated.mean or (narrow and apart <= min(real.half, simulated.half)):
        return "agrees"
    return "undecided" if apart <= real.half + simulated.half else "**differs**"


def evenair(program: Path, command: str, scenario: str, settings: list[str]) -> dict[str, Any]:
    """A command's document."""
    words = [str(program), command, scenario]
    for setting in settings:
        words += ["--set", setting]
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def figures(document: dict[str, Any]) -> dict[str, float]:
    """Of each flow what is compared."""
    found = {}
    for flow in document["flows"]:
        took = (flow.get("transfers") or {}).get("took")
        found[flow["flow"]] = took["mean_s"] if took else flow["goodput_pps"]
    if len(found) > 1:
        found["all"] = sum(found.values())
    return found


def late(document: dict[str, Any]) -> float:
    """The share of packets that were later than a millisecond."""
    return document["live"]["lateness"]["beyond_1ms"]


def compare(case: str, law: str, asked: argparse.Namespace) -> int:
    """Runs a case and prints its lines; gives how many flows do not agree."""
    scenario, settings, _ = CASES[case]
    measured = [f"warmup={asked.warmup} s", f"duration={asked.seconds} s", f"tcp.window={law}"]
    settings = [*settings, *measured]
    seeds = range(1, asked.seeds + 1)
    simulated = [evenair(asked.program, "run", scenario, [*settings, f"seed={seed}"]) for seed in seeds]
    runs = range(1, asked.runs + 1)
    real = [evenair(asked.program, "emulate", scenario, [*settings, f"seed={run}"]) for run in runs]
    lateness = max(late(document) for document in real)
    wrong = 0
    real_figures, simulated_figures = [[figures(d) for d in all_] for all_ in (real, simulated)]
    for flow in simulated_figures[0]:
        a, b = (Mean.of([of[flow] for of in each]) for each in (real_figures, simulated_figures))
        said = verdict(a, b)
        wrong += said.startswith("**")
        quotient = f"{a.mean / b.mean:.2f}" if b.mean else "–"
        print(f"| {case} | {law} | {flow} | {a} | {b} | {quotient} | {said} | {lateness:.2%} |", flush=True)
    return wrong


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=40.0, help="measured by each run")
    parser.add_argument("--warmup", type=float, default=10.0, help="before that [s]")
    parser.add_argument("--runs", type=int, default=3, help="emulations of each case")
    parser.add_argument("--seeds", type=int, default=5, help="simulated runs of each case")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--program", type=Path, default=EVENAIR, help="evenair itself")
    parser.add_argument("--law", help="this window law alone")
    asked = parser.parse_args()
    print(f"Linux {platform.release()}; {asked.runs} emulations and {asked.seeds} seeds of {asked.seconds:g} s\n")
    print("| scenario | law | flow | real sockets | simulated | quotient | verdict | later than 1 ms |")
    print("|---|---|---|---|---|---|---|---|")
    wrong = 0
    for case, (_, _, laws) in CASES.items():
        for law in laws:
            if asked.only in case and asked.law in (None, law):
                wrong += compare(case, law, asked)
    print(f"\n{wrong} flows differ")


if __name__ == "__main__":
    main()
