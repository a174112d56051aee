#!/usr/bin/env python3
"""How much the choices that [Chen10] does not state change its topology a: prints tables in Markdown.

    validation/sensitivity.py

Needs evenair built by `cargo build --release`.
"""

import json
import subprocess
from pathlib import Path

EVENAIR = Path(__file__).parent.parent / "target/release/evenair"
COMMON = ["backoff.law=adaptive", "connections.k=10", 'mac.queue="1000 packets"', "warmup=100 s", "duration=200 s"]


def row(title: str, changes: list[str]) -> None:
    """Runs three seeds and prints rates, total, connections and aggressiveness."""
    command = [str(EVENAIR), "run", "chen10/a", "--seeds", "3", "--json"]
    for change in COMMON + changes:
        command += ["--set", change]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    runs = [json.loads(line) for line in lines]

    def mean(of) -> list[float]:
        return [sum(of(run, i) for run in runs) / len(runs) for i in range(4)]

    def source(run, i):
        queue = run["flows"][i]["queue"]
        return next(link for link in run["links"] if link["queue"] == queue)

    rates = mean(lambda run, i: run["flows"][i]["goodput_pps"])
    connections = mean(lambda run, i: run["flows"][i]["connections"])
    aggressiveness = mean(lambda run, i: source(run, i)["aggressiveness"] * 1e3)
    cells = [", ".join(f"{x:.0f}" for x in rates), f"{sum(rates):.0f}"]
    cells += [", ".join(f"{x:.1f}" for x in values) for values in (connections, aggressiveness)]
    print(f"| {title} | " + " | ".join(cells) + " |")


def main() -> None:
    print("| choice | packets/s by link | total | connections | r [10^-3] |")
    print("|---|---|---|---|---|")
    for acks, name in (("normal", "n-ACK"), ("high", "h-ACK")):
        for window in (20, 64, 1000):
            for unit in ("data-packet", "own-packet"):
                changes = [f"backoff.acks={acks}", f"backoff.unit={unit}", f'tcp.receiver_window="{window} packets"']
                row(f"ns2, {name}, window {window}, {unit}", ["preset=ns2", *changes])
    window = 'tcp.receiver_window="64 packets"'
    base = ["preset=ns2", "backoff.acks=high", window]
    row("ns2, h-ACK, window 64, slotted back-off", [*base, "backoff.slotted=true"])
    row("ns2, h-ACK, window 64, dummy packets", [*base, "backoff.dummies=true"])
    row("ns2, h-ACK, window 64, hysteresis 1", [*base, "connections.hysteresis=1"])
    row("ns2, n-ACK, window 64, queues in bytes", ["preset=ns2", "backoff.measure=bytes", window])
    for threshold in (20, 64, 1000):
        changes = ["backoff.acks=high", window, f'tcp.initial_ssthresh="{threshold} packets"']
        row(f"standard, h-ACK, window 64, first threshold {threshold}", changes)
    for threshold in (20, 1_000_000):
        changes = ['tcp.receiver_window="1000 packets"', f'tcp.initial_ssthresh="{threshold} packets"']
        row(f"standard, n-ACK, window 1000, first threshold {threshold}", changes)


if __name__ == "__main__":
    main()
