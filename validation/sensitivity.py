#!/usr/bin/env python3
"""What [Chen10] chapter 6 does not say, and how much each reading matters.

Prints tables of docs/notes: readings-chen10, clocks-chen10, variants-chen10 and limit-cycle.

    validation/sensitivity.py [clocks | readings | interval | round-trip | silence | parameters]...

Needs evenair built by `cargo build --release`. All tables take some ten minutes on one core.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import fmean, pstdev, stdev

ROOT = Path(__file__).parent.parent
EVENAIR = ROOT / "target/release/evenair"
SEEDS = 3
LINKS = range(4)

# The reading that the studies take: where the text says nothing, what ns-2 does.
COMMON = [
    "preset=ns2",
    "backoff.law=adaptive",
    "mac.clocks=own",
    "connections.k=10",
    "connections.samples=segments",
    'mac.queue="1000 packets"',
    'tcp.receiver_window="400 packets"',
    "warmup=100 s",
    "duration=200 s",
]

READINGS = {
    "**as the studies**": [],
    "one clock for all nodes": ["mac.clocks=common"],
    "unit: a data packet's airtime for all": ["backoff.unit=data-packet"],
    "unit: own bits, no preamble": ["backoff.unit=own-bits"],
    "unit: a data packet's bits for all": ["backoff.unit=data-bits"],
    "update every 0.1 s": ['backoff.interval="0.1 s"'],
    "0.1 s, a data packet's airtime": ['backoff.interval="0.1 s"', "backoff.unit=data-packet"],
    "slotted back-off": ["backoff.slotted=true"],
    "the same back-off after a collision": ["backoff.redraw=false"],
    "dummy packets": ["backoff.dummies=true"],
    "RTO at least 1 s": ['tcp.min_rto="1 s"'],
    "receiver's window 20": ['tcp.receiver_window="20 packets"'],
    "receiver's window and first threshold 64": [
        'tcp.receiver_window="64 packets"',
        'tcp.initial_ssthresh="64 packets"',
    ],
    "first threshold 400": ['tcp.initial_ssthresh="400 packets"'],
    "first threshold 2": ['tcp.initial_ssthresh="2 packets"'],
    "T from one segment a window": ["connections.samples=windows"],
    "n smoothed": ["connections.smoothed=true"],
}


def play(changes: list[str], scenario: str = "chen10/a", seeds: int = SEEDS) -> list[dict]:
    """Runs some seeds, with time series."""
    command = [str(EVENAIR), "run", scenario, "--seeds", str(seeds), "--json", "--series", "--every", "200 ms"]
    for change in COMMON + changes:
        command += ["--set", change]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


class Link:
    """What one run measured of one link and its flow."""

    def __init__(self, run: dict, index: int) -> None:
        series = run["series"]
        times = series["time_s"]
        warm = [i for i, time in enumerate(times) if time > times[-1] - run["measured_s"]]
        flow = run["flows"][index]
        names = [link["queue"] for link in run["links"]]
        data = names.index(flow["queue"])
        acks = names.index(f"{flow['to']}>{flow['from']}")

        def of(values: list[float]) -> list[float]:
            return [values[i] for i in warm]

        self.rate = flow["goodput_pps"]
        self.round_trip_s = flow["round_trip_s"]
        self.timeouts = flow["timeouts"]
        self.connections = of(series["flows"][index]["connections"])
        self.r = [1e3 * r for r in of(series["links"][data]["aggressiveness"])]
        self.backlog = fmean(of(series["links"][data]["backlog"]))
        self.acks = fmean(of(series["links"][acks]["backlog"]))
        # By Little's law, from what was sent and not dropped on the way.
        dropped = sum(run["links"][data][key] for key in ("dropped_by_law", "dropped_queue_full", "dropped_retries"))
        self.served = (flow["sent"] - dropped) / times[-1]


def mean(runs: list[dict], index: int, of: Callable[[Link], float]) -> float:
    """The mean over seeds of something of one link."""
    return fmean(of(Link(run, index)) for run in runs)


def each(runs: list[dict], of: Callable[[Link], float], digits: int) -> str:
    """The four links' means, in one cell."""
    return ", ".join(f"{mean(runs, index, of):.{digits}f}" for index in LINKS)


def spread(runs: list[dict], of: Callable[[Link], list[float]], digits: int) -> str:
    """The four links' means and deviations over time."""
    values = (
        f"{mean(runs, i, lambda link: fmean(of(link))):.{digits}f} ± "
        f"{mean(runs, i, lambda link: pstdev(of(link))):.{digits}f}"
        for i in LINKS
    )
    return ", ".join(values)


def cells(runs: list[dict]) -> list[str]:
    """Total, rates, connections, aggressiveness, acknowledgements over data."""
    total = sum(mean(runs, index, lambda link: link.rate) for index in LINKS)
    waiting = [sum(mean(runs, i, of) for i in LINKS) for of in (lambda k: k.acks, lambda k: k.backlog)]
    return [
        f"{total:.0f}",
        each(runs, lambda link: link.rate, 0),
        spread(runs, lambda link: link.connections, 1),
        spread(runs, lambda link: link.r, 1),
        f"{waiting[0] / waiting[1]:.2f}",
    ]


def row(*texts: str) -> None:
    """One row of a table."""
    print("| " + " | ".join(texts) + " |", flush=True)


def header(*texts: str) -> None:
    """The head of a table."""
    row(*texts)
    row(*("---" for _ in texts))


# Student's t at 97.5 %, by the number of values.
STUDENT = {5: 2.776, 10: 2.262}
CELLS = list(product(("common", "own"), ("own-packet", "data-packet")))


def within(values: list[float], digits: int) -> str:
    """A mean over seeds and half of its 95 % interval."""
    half = STUDENT[len(values)] * stdev(values) / sqrt(len(values))
    return f"{fmean(values):.{digits}f} ± {half:.{digits}f}"


def by_flow(runs: list[dict], key: str, digits: int) -> str:
    """Each flow's mean over seeds and its half interval, in one cell."""
    return ", ".join(within([run["flows"][i][key] for run in runs], digits) for i in range(len(runs[0]["flows"])))


def over_flows(runs: list[dict], of: Callable[[list[float]], float], key: str, digits: int) -> str:
    """The flows' sum or mean."""
    return within([of([flow[key] for flow in run["flows"]]) for run in runs], digits)


def clocks() -> None:
    """One clock for all nodes or each its own, and the unit of back-offs: five seeds, 95 %."""
    header("topology a, n-ACK", "clocks", "unit", "packets/s by link", "total", "n by user", "mean n", "r [10⁻³]")
    sweeps = {f"k = {k}": [f"connections.k={k}"] for k in (10, 15, 20)}
    sweeps |= {f"β = {beta}": [f"backoff.beta={beta}"] for beta in (1000, 1800)}
    sweeps |= {"queues in bytes": ["backoff.measure=bytes"], "dummies": ["backoff.dummies=true"]}
    for (title, changes), (kind, unit) in product(sweeps.items(), CELLS):
        runs = play([*changes, f"mac.clocks={kind}", f"backoff.unit={unit}"], seeds=5)
        r = ", ".join(within([fmean(Link(run, i).r) for run in runs], 1) for i in LINKS)
        rates, n = by_flow(runs, "goodput_pps", 0), by_flow(runs, "connections", 1)
        total = over_flows(runs, sum, "goodput_pps", 0)
        row(title, kind, unit, rates, total, n, over_flows(runs, fmean, "connections", 1), r)
    print()
    header("topology", "ACKs", "clocks", "unit", "packets/s by flow", "total", "n by user", "mean n")
    networks = [("a", "high"), ("b", "high"), ("b", "normal"), ("c", "high"), ("c", "normal"), ("d", "normal")]
    for (topology, acks), (kind, unit) in product(networks, CELLS):
        changes = [f"backoff.acks={acks}", f"mac.clocks={kind}", f"backoff.unit={unit}"]
        runs = play(changes, f"chen10/{topology}", seeds=5)
        rates, n = by_flow(runs, "goodput_pps", 0), by_flow(runs, "connections", 1)
        total = over_flows(runs, sum, "goodput_pps", 0)
        row(topology, acks[0], kind, unit, rates, total, n, over_flows(runs, fmean, "connections", 1))
    print()
    header("longest silence in the first 20 s, topology a, n-ACK: β", "clocks", "unit", "s by user")
    for beta, (kind, unit) in product((200, 1000, 1800), CELLS):
        changes = ["warmup=0 s", "duration=20 s", f"backoff.beta={beta}", f"mac.clocks={kind}", f"backoff.unit={unit}"]
        row(str(beta), kind, unit, by_flow(play(changes, seeds=10), "silence_s", 1))
    print()


COLUMNS = ["total", "packets/s by link", "n", "r [10⁻³]", "ACKs/data that wait"]


def readings() -> None:
    """Every reading on every topology, with both treatments of acknowledgements."""
    for topology in "abc":
        header(f"topology {topology}", "ACKs", *COLUMNS)
        for title, changes in READINGS.items():
            for acks, name in (("high", "h"), ("normal", "n")):
                row(title, name, *cells(play([f"backoff.acks={acks}", *changes], f"chen10/{topology}")))
        print()


def interval() -> None:
    """How long the interval may be: user 2 of topology a, n-ACK."""
    header("interval [s]", "clocks", "unit", "r₂ [10⁻³]", "n₂", "T₂ [s]", "data that wait", "ACKs that wait")
    for (kind, unit), seconds in product(CELLS, (0.1, 0.3, 0.5, 0.7, 1, 2)):
        # Windows that are bounded keep the number of packets in the loop steady.
        window = 'tcp.receiver_window="20 packets"'
        runs = play([f"mac.clocks={kind}", f"backoff.unit={unit}", f'backoff.interval="{seconds} s"', window])
        r = f"{mean(runs, 1, lambda k: fmean(k.r)):.1f} ± {mean(runs, 1, lambda k: pstdev(k.r)):.1f}"
        numbers = (
            (lambda k: fmean(k.connections), 1),
            (lambda k: k.round_trip_s, 2),
            (lambda k: k.backlog, 0),
            (lambda k: k.acks, 0),
        )
        row(str(seconds), kind, unit, r, *(f"{mean(runs, 1, of):.{digits}f}" for of, digits in numbers))
    print()


def with_probes() -> str:
    """Topology a with a probe each way beside every flow."""
    text = (ROOT / "scenarios/chen10/a.toml").read_text()
    for link in range(1, 5):
        for way, (start, end) in {"there": ("s", "r"), "back": ("r", "s")}.items():
            text += f'\n[[flows]]\nid = "{way}{link}"\nfrom = "{start}{link}"\nto = "{end}{link}"\n'
            text += 'traffic = "cbr"\nsize = "32 bytes"\ninterval = "500 ms"\njitter = 0.5\n'
    with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
        file.write(text)
    return file.name


def round_trip() -> None:
    """T as three ways of measuring find it, beside Little's law."""
    header("topology a, n-ACK: T [s] of user", "1", "2", "3", "4")
    ways = {"every segment": [], "one segment a window": ["connections.samples=windows"]}
    for title, changes in ways.items():
        runs = play(["warmup=0 s", "duration=300 s", *changes])
        row(title, *each(runs, lambda link: link.round_trip_s, 3).split(", "))
        row("its run by Little's law", *each(runs, lambda k: (k.backlog + k.acks) / k.served, 3).split(", "))
    scenario = with_probes()
    runs = play(["warmup=0 s", "duration=300 s"], scenario)
    Path(scenario).unlink()
    probes = [fmean(run["flows"][4 + 2 * i + j]["delay"]["mean_s"] for run in runs for j in (0, 1)) * 2 for i in LINKS]
    row("probes of 32 bytes, two a second", *(f"{probe:.3f}" for probe in probes))
    row("its run by Little's law", *each(runs, lambda k: (k.backlog + k.acks) / k.served, 3).split(", "))
    print()


def silence() -> None:
    """What an interval without a sample does."""
    header("topology a, n-ACK", "rule", "total", "packets/s by link", "n", "time-outs of user 2")
    wide = ["preset=standard", "tcp.window=reno", 'tcp.receiver_window="1000 packets"']
    settings = {"k = 10": [], "k = 20": ["connections.k=20"], "the standard's TCP, window 1000": wide}
    for title, changes in settings.items():
        for rule in ("hold", "halve", "grow"):
            runs = play([*changes, f"connections.unsampled={rule}"])
            total, rates, connections, *_ = cells(runs)
            row(title, rule, total, rates, connections, f"{mean(runs, 1, lambda k: k.timeouts):.0f}")
    print()


def parameters() -> None:
    """The sweeps of sections 6.1.2 and 6.1.4 to 6.1.6, n-ACK."""
    header("topology a, n-ACK", *COLUMNS)
    sweeps = {f"k = {k}": [f"connections.k={k}"] for k in (10, 15, 20)}
    sweeps |= {f"β = {beta}": [f"backoff.beta={beta}"] for beta in (1000, 1800)}
    products = ((44.7, 10), (28.3, 25), (20, 50), (14, 100), (10, 200), (5, 800))
    sweeps |= {f"k²β: {k}, {b}": [f"connections.k={k}", f"backoff.beta={b}"] for k, b in products}
    sweeps["queues in bytes"] = ["backoff.measure=bytes"]
    sweeps["queues in bytes, unit of a data packet"] = ["backoff.measure=bytes", "backoff.unit=data-packet"]
    for title, changes in sweeps.items():
        row(title, *cells(play(changes)))
    print()


TABLES = {
    "clocks": clocks,
    "readings": readings,
    "interval": interval,
    "round-trip": round_trip,
    "silence": silence,
    "parameters": parameters,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
