"""What several connections by a law carry beside one, over paths of many kinds: one row for each point and contender.

    python3 matrix.py EVENAIR --world packets --seconds 30 --seeds 5 > packets.csv
    python3 matrix.py EVENAIR --world linux --seconds 10 --rates 2,20 --rtts 50,200 > linux.csv
    python3 validation/multiconn/matrix.py --summary validation/multiconn/packets.csv

EVENAIR is the command. In packets its endpoints are simulated; `linux` has real sockets of this kernel over the
same paths, emulated, in real time. A point is a path, a round
trip and a rate. The bottleneck's queue holds a round trip's worth, ten packets at least. `worse` says whether
the contender carries less than 95 % of what one CUBIC carries at that
point.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PATHS = {
    "clean": {},
    "loss-1": {"loss": 0.01},
    "loss-2": {"loss": 0.02},
    "loss-4": {"loss": 0.04},
    "loss-8": {"loss": 0.08},
    # A second without, twenty milliseconds in which every second packet is lost, on average.
    "bursts": {"bursts": True},
    # Four packets: what is too much is dropped at once, as a policer does.
    "short": {"queue": 4},
    # Half a second, and five round trips at least.
    "deep": {"deep": True},
    # Two packets of a hundred are lost there, fourteen of a hundred acknowledgements back.
    "asymmetric": {"loss": 0.02, "back": 0.14},
}
LIVE = 'law = "guarded", samples = "smoothed", doubling = true'
CONTENDERS = {
    "cubic": ("cubic", 'law = "fixed", n = 1'),
    "reno": ("newreno", 'law = "fixed", n = 1'),
    "bbr": ("bbr", 'law = "fixed", n = 1'),
    "fixed-4": ("cubic", 'law = "fixed", n = 4'),
    "fixed-16": ("cubic", 'law = "fixed", n = 16'),
    "guarded": ("cubic", LIVE),
}
TCP = (
    'payload = "1448 bytes", headers = "52 bytes", receiver_window = "4000 packets", initial_window = "10 packets", '
    "sack = true, rack = true, tail_loss_probe = true, timestamps = true, handshake = true, "
    'min_rto = "200 ms", delayed_ack = "40 ms", quick_acks = "16 packets"'
)
BASELINE = "cubic"
NOT_WORSE = 0.95
FIELDS = [
    "path",
    "rtt_ms",
    "rate_mbps",
    "contender",
    "goodput_mbps",
    "connections",
    "again",
    "ping_p95_ms",
    "over_cubic",
    "worse",
]


def path(name: str, rtt_ms: int, rate_mbps: int) -> tuple[list[str], list[str]]:
    """A path's wires and losses, with {s}, {base} and {r} for its nodes."""
    what = PATHS[name]
    round_trip = rate_mbps * 1e6 * rtt_ms / 1e3 / 8 / 1500
    queue = max(10, int(round_trip))
    if "queue" in what:
        queue = what["queue"]
    if "deep" in what:
        queue = max(int(5 * round_trip), int(rate_mbps * 1e6 * 0.5 / 8 / 1500))
    first = f'rate = "1 Gbps", delay = "{rtt_ms * 0.4} ms", queue = "20000 packets"'
    second = f'rate = "{rate_mbps} Mbps", delay = "{rtt_ms * 0.1} ms", queue = "{queue} packets"'
    wires = [
        f'{{{{ from = "{{s}}", to = "{{base}}", {first} }}}}',
        f'{{{{ from = "{{base}}", to = "{{r}}", {second} }}}}',
    ]
    there, back = 'from = "{base}", to = "{r}"', 'from = "{r}", to = "{base}"'
    losses = []
    if "loss" in what:
        losses.append(f"{{{{ {there}, loss = {what['loss']}, one_way = true }}}}")
    if "back" in what:
        losses.append(f"{{{{ {back}, loss = {what['back']}, one_way = true }}}}")
    if "bursts" in what:
        bursts = 'loss = 0.0, loss_bad = 0.5, good = "1 s", bad = "20 ms"'
        losses.append(f"{{{{ {there}, {bursts}, one_way = true }}}}")
    return wires, losses


def scenario(
    name: str, rtt_ms: int, rate_mbps: int, contender: tuple[str, str], seconds: float, interval_s: float
) -> str:
    """A scenario file: a fast first link, then the bottleneck; a ping beside the flow."""
    window, law = contender
    wires, losses = (
        ", ".join(line.format(s="s", base="base", r="r") for line in lines) for lines in path(name, rtt_ms, rate_mbps)
    )
    if "guarded" in law:
        law += f', interval = "{interval_s} s"'
    return f"""
name = "{name}, {rtt_ms} ms, {rate_mbps} Mb/s"
description = "A point of validation/multiconn/matrix.py."
duration = "{seconds} s"
warmup = "0 s"
nodes = [{{ id = "s" }}, {{ id = "base" }}, {{ id = "r" }}]
wires = [{wires}]
losses = [{losses}]
tcp = {{ window = "{window}", {TCP} }}
connections = {{ {law} }}
flows = [
    {{ id = "1", from = "s", to = "r" }},
    {{ id = "ping", from = "s", to = "r", traffic = "cbr", size = "92 bytes", rate = "7360 bps" }},
]
"""


def measure(
    command: str, world: str, path: str, rtt_ms: int, rate_mbps: int, contender: str, options: argparse.Namespace
) -> list[float]:
    """Goodput, connections, repetitions and the ping of one point and contender, means over seeds."""
    return measure_law(command, world, (path, rtt_ms, rate_mbps), CONTENDERS[contender], options)


def measure_law(
    command: str, world: str, at: tuple[str, int, int], contender: tuple[str, str], options: argparse.Namespace
) -> list[float]:
    """The same of any window's and connections' law."""
    path, rtt_ms, rate_mbps = at
    # Ten round trips settle a connection; half a second at least.
    interval_s = max(0.5, rtt_ms * 10 / 1e3)
    rows = []
    for seed in range(1, options.seeds + 1):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
            file.write(scenario(path, rtt_ms, rate_mbps, contender, options.seconds, interval_s))
        verb = "run" if world == "packets" else "emulate"
        words = [command, verb, file.name, "--set", f"seed={seed}", "--json", "--quiet"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=options.seconds * 20 + 60)
        Path(file.name).unlink()
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        flows = json.loads(done.stdout.splitlines()[0])["flows"]
        flow, ping = flows[0], flows[1]
        rows.append(
            (
                flow["goodput_bps"] / 1e6,
                flow.get("connections") or 1.0,
                flow["retransmitted"] / max(1, flow["sent"]),
                1e3 * ((ping.get("delay") or {}).get("p95_s") or 0.0),
            )
        )
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def summary(file: str) -> None:
    """How often each contender is worse than one CUBIC, and what it carries beside it."""
    with open(file, newline="") as lines:
        rows = list(csv.DictReader(lines))
    for contender in dict.fromkeys(row["contender"] for row in rows):
        own = [row for row in rows if row["contender"] == contender]
        over = sorted(float(row["over_cubic"]) for row in own)
        said = "{path} {rtt_ms} ms {rate_mbps} Mb/s ({over_cubic})"
        worse = [said.format(**row) for row in own if row["worse"] == "yes"]
        spread = f"least {over[0]:.2f}, median {over[len(over) // 2]:.2f}, most {over[-1]:.2f}"
        print(f"{contender:9} {len(own)} points, over one CUBIC: {spread}; worse at {len(worse)}: {'; '.join(worse)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?")
    parser.add_argument("--world", choices=["packets", "linux"], default="packets")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rates", type=numbers, default=[2, 20, 100])
    parser.add_argument("--rtts", type=numbers, default=[10, 50, 200])
    parser.add_argument("--paths", type=lambda text: text.split(","), default=list(PATHS))
    parser.add_argument(
        "--contenders", type=lambda text: text.split(","), default=["cubic", "bbr", "fixed-4", "fixed-16", "guarded"]
    )
    parser.add_argument("--summary", metavar="FILE")
    options = parser.parse_args()
    if options.summary:
        return summary(options.summary)
    out = csv.DictWriter(sys.stdout, FIELDS)
    out.writeheader()
    for path in options.paths:
        for rtt_ms in options.rtts:
            for rate_mbps in options.rates:
                baseline = None
                for contender in options.contenders:
                    goodput, connections, again, ping = measure(
                        options.command, options.world, path, rtt_ms, rate_mbps, contender, options
                    )
                    if contender == BASELINE:
                        baseline = goodput
                    over = goodput / baseline if baseline else float("nan")
                    out.writerow(
                        dict(
                            zip(
                                FIELDS,
                                [
                                    path,
                                    rtt_ms,
                                    rate_mbps,
                                    contender,
                                    f"{goodput:.3f}",
                                    f"{connections:.2f}",
                                    f"{again:.4f}",
                                    f"{ping:.1f}",
                                    f"{over:.3f}",
                                    "yes" if over < NOT_WORSE else "no",
                                ],
                                strict=True,
                            )
                        )
                    )
                    sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
