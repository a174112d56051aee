#!/usr/bin/env python3
"""Laws of `evenair cc` beside those that Linux has, by real sockets over one bottleneck of 10 Mb/s and 40 ms.

    sudo python3 validation/kernel/beside.py > beside.md

Needs evenair built by `cargo build --release -p evenair-cli --features live`, Linux 6.4, root, and an otherwise idle
machine; it loads quic-tcp with p=20 kappa=0.5 and unloads it. Each case is an `evenair emulate` of 12 s after a warm-up
of 8 s:

- *rivals*: one flow of QUIC-TCP and one of another law, in a queue of 300 packets and in one of 20;
- *alone*: four flows, all of one law, in the same queues; their total, Jain's index, and how long packets wait;
- *latecomer*: QUIC-TCP twice, the second flow 4 s after the first, with and without `round_trip_holds`.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EVENAIR = os.environ.get("EVENAIR", str(Path(__file__).parent.parent.parent / "target/release/evenair"))
# "emulate", or "run" for the same in packets, without the kernel.
WORLD = "emulate"
QUIC = '{ law = "quic-tcp", p = 20.0, kappa = 0.5, rho = 0.5 }'
LAWS = {"QUIC-TCP": QUIC, "Reno": '"reno"', "CUBIC": '"cubic"', "BBR": '"bbr"'}


def scenario(windows: list[str], queue: int, starts: list[float], discipline: str) -> str:
    nodes = "".join(f'{{ id = "s{i}" }}, ' for i in range(len(windows)))
    wires = "".join(
        f'    {{ from = "s{i}", to = "left", rate = "100 Mbps", delay = "10 ms", queue = "500 packets" }},\n'
        for i in range(len(windows))
    )
    flows = "".join(
        f'    {{ id = "{i}", from = "s{i}", to = "right", window = {window}, start = "{start} s" }},\n'
        for i, (window, start) in enumerate(zip(windows, starts, strict=True))
    )
    return (
        'name = "One bottleneck"\n'
        f'duration = "12 s"\nwarmup = "8 s"\nnodes = [{nodes}{{ id = "left" }}, {{ id = "right" }}]\n'
        'tcp = { payload = "1448 bytes", receiver_window = "2000 packets", timestamps = true, sack = true }\n'
        f"wires = [\n{wires}"
        '    { from = "left", to = "right", rate = "10 Mbps", delay = "10 ms", '
        f'queue = {{ discipline = "{discipline}", limit = "{queue} packets" }} }},\n]\n'
        f"flows = [\n{flows}]\n"
    )


def run(text: str) -> dict[str, Any]:
    """What this scenario gives, by real sockets or simulated."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([EVENAIR, WORLD, file.name, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def emulate(
    windows: list[str], queue: int, starts: list[float] | None = None, discipline: str = "fifo"
) -> dict[str, Any]:
    return run(scenario(windows, queue, starts or [0.0] * len(windows), discipline))


def change(settings: str) -> None:
    """Gives QUIC-TCP in the kernel other parameters."""
    if WORLD == "run":
        return
    words = [EVENAIR, "cc", "set", "quic-tcp", *settings.split()]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def loaded() -> Iterator[None]:
    """QUIC-TCP is in the kernel for so long, with the parameters of `QUIC`."""
    if WORLD == "run":
        yield
        return
    load = [EVENAIR, "cc", "load", "quic-tcp", "--set", "p=20", "--set", "kappa=0.5"]
    subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run([EVENAIR, "cc", "unload", "quic-tcp"], check=True, stdout=subprocess.DEVNULL)


def rates(result: dict[str, Any]) -> list[float]:
    return [flow["goodput_bps"] / 1e6 for flow in result["flows"]]


def waits(result: dict[str, Any]) -> float:
    """The bottleneck's mean wait [ms]."""
    return next(link for link in result["links"] if link["queue"] == "left-right")["sojourn_s"] * 1e3


def jain(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def main() -> None:
    print(f"Linux {platform.release()}\n")
    with loaded():
        print("| QUIC-TCP beside | queue | QUIC-TCP [Mb/s] | the other [Mb/s] | waits [ms] |\n|---|---|---|---|---|")
        for name, window in LAWS.items():
            for queue in (300, 20):
                result = emulate([QUIC, window], queue)
                own, other = rates(result)
                print(f"| {name} | {queue} | {own:.2f} | {other:.2f} | {waits(result):.0f} |", flush=True)
        print("\n| four flows of | queue | total [Mb/s] | Jain's index | waits [ms] |\n|---|---|---|---|---|")
        for name, window in LAWS.items():
            for queue, word in ((300, "300"), (20, "20")):
                result = emulate([window] * 4, queue)
                values = rates(result)
                print(f"| {name} | {word} | {sum(values):.2f} | {jain(values):.2f} | {waits(result):.0f} |", flush=True)
        print("\n| latecomer | first [Mb/s] | second [Mb/s] | waits [ms] |\n|---|---|---|---|")
        for holds in ("", ", round_trip_holds = '3 s'"):
            change("round_trip_holds=" + ("3s" if holds else "none"))
            result = emulate([QUIC.replace(" }", holds + " }")] * 2, 300, [0.0, 4.0])
            first, second = rates(result)
            how = holds.strip(", ") or "for ever"
            print(f"| {how} | {first:.2f} | {second:.2f} | {waits(result):.0f} |", flush=True)


if __name__ == "__main__":
    main()
