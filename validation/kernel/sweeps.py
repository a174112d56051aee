#!/usr/bin/env python3
"""QUIC-TCP in the kernel over round trips of 0.2 ms to 2 s, losses of 0 to 5 %, by a hundred, in fair queues.

    sudo python3 validation/kernel/sweeps.py > sweeps.md
    sudo python3 validation/kernel/sweeps.py fair hundred
    python3 validation/kernel/sweeps.py --simulated fair hundred

Needs what `beside.py` needs, and takes ten minutes; it loads quic-tcp with p=20 kappa=0.5 and unloads it. By real
sockets, the first two of QUIC-TCP, Reno and CUBIC at once, each over its own bottleneck of 10 Mb/s and 300 packets:

- *round-trips*: without loss, 8 s after a warm-up of 3 s, at 2 s 20 s after 30 s;
- *loss*: at 40 ms, of packets and not of acknowledgements, 8 s after 3 s;
- *fair*: `beside.py`'s bottleneck, whose queue of 300 packets is the emulator's DRR or fq_codel: QUIC-TCP beside CUBIC,
  four flows of one law, and two of QUIC-TCP, one of which comes 4 s later;
- *hundred*: a hundred connections of one law over one bottleneck, the second half of a minute, one law after the other.
"""

from __future__ import annotations

import platform
import sys

import beside

LAWS = {name: beside.LAWS[name] for name in ("QUIC-TCP", "Reno", "CUBIC")}
ROUND_TRIPS_MS = [0.2, 2, 20, 200, 2000]
LOSSES = [0.0, 0.001, 0.01, 0.02, 0.05]


def scenario(nodes: list[str], wires: list[str], losses: list[str], flows: list[str], seconds: tuple[int, int]) -> str:
    lists = {"nodes": [f'{{ id = "{n}" }}' for n in nodes], "wires": wires, "losses": losses, "flows": flows}
    texts = [f"{name} = [\n    {', '.join(items)},\n]\n" for name, items in lists.items() if items]
    return (
        f'name = "Sweep"\nwarmup = "{seconds[0]} s"\nduration = "{seconds[1]} s"\n'
        'tcp = { payload = "1448 bytes", receiver_window = "4000 packets", timestamps = true, sack = true }\n'
        + "".join(texts)
    )


def wire(tail: str, head: str, delay_ms: float) -> str:
    return f'{{ from = "{tail}", to = "{head}", rate = "10 Mbps", delay = "{delay_ms} ms", queue = "300 packets" }}'


def alone(round_trip_ms: float, loss: float, seconds: tuple[int, int]) -> str:
    """Each law's rate [Mb/s] and mean wait [ms], each over its own bottleneck."""
    nodes, wires, losses, flows = [], [], [], []
    for number, window in enumerate(LAWS.values()):
        nodes += [f"s{number}", f"r{number}"]
        wires.append(wire(f"s{number}", f"r{number}", round_trip_ms / 2))
        if loss:
            losses.append(f'{{ from = "s{number}", to = "r{number}", loss = {loss}, one_way = true }}')
        flows.append(f'{{ id = "{number}", from = "s{number}", to = "r{number}", window = {window} }}')
    result = beside.run(scenario(nodes, wires, losses, flows, seconds))
    waits = {link["queue"]: link.get("sojourn_s", 0.0) * 1e3 for link in result["links"]}
    names = [f"s{flow['flow']}-r{flow['flow']}" for flow in result["flows"]]
    cells = [f"{f['goodput_bps'] / 1e6:.2f}, {waits[n]:.1f}" for f, n in zip(result["flows"], names, strict=True)]
    return " | ".join(cells)


def fair(discipline: str) -> str:
    """A row of rates [Mb/s], Jain's index, and mean waits [ms]."""
    cells = []
    for windows, starts in (
        ([beside.QUIC, '"cubic"'], [0.0, 0.0]),
        ([beside.QUIC] * 4, [0.0] * 4),
        (['"cubic"'] * 4, [0.0] * 4),
        ([beside.QUIC] * 2, [0.0, 4.0]),
    ):
        result = beside.emulate(windows, 300, starts, discipline)
        rates = beside.rates(result)
        told = ", ".join(f"{rate:.2f}" for rate in rates)
        told = told if len(rates) == 2 else f"{sum(rates):.2f}, {beside.jain(rates):.2f}"
        cells.append(f"{told}, {beside.waits(result):.0f}")
    return " | ".join(cells)


def hundred(window: str) -> str:
    """The total [Mb/s], Jain's index and the mean wait [ms] of a hundred connections from ten hosts."""
    nodes = [f"s{i}" for i in range(10)] + ["left", "right"]
    wires = [wire(f"s{i}", "left", 10).replace("10 Mbps", "100 Mbps") for i in range(10)]
    wires.append(wire("left", "right", 10).replace("300 packets", "3000 packets"))
    flows = [f'{{ id = "{i}", from = "s{i % 10}", to = "right", window = {window} }}' for i in range(100)]
    result = beside.run(scenario(nodes, wires, [], flows, (30, 30)))
    rates = beside.rates(result)
    return f"{sum(rates):.2f} | {beside.jain(rates):.2f} | {beside.waits(result):.0f}"


def main() -> None:
    if "--simulated" in sys.argv:
        sys.argv.remove("--simulated")
        beside.WORLD = "run"
    parts = sys.argv[1:] or ["round-trips", "loss", "fair", "hundred"]
    print("simulated" if beside.WORLD == "run" else f"Linux {platform.release()}")
    heads = " | ".join(LAWS)
    with beside.loaded():
        if "round-trips" in parts:
            print(f"\n| round trip [ms] | {heads} |\n|---|---|---|---|")
            for ms in ROUND_TRIPS_MS:
                print(f"| {ms} | {alone(ms, 0.0, (30, 20) if ms > 1000 else (3, 8))} |", flush=True)
        if "loss" in parts:
            print(f"\n| loss [%] | {heads} |\n|---|---|---|---|")
            for loss in LOSSES:
                print(f"| {loss * 100:g} | {alone(40, loss, (3, 8))} |", flush=True)
        if "fair" in parts:
            print("\n| queue | with CUBIC | four QUIC-TCP | four CUBIC | with a latecomer |\n|---|---|---|---|---|")
            for discipline in ("drr", "fq-codel"):
                print(f"| {discipline} | {fair(discipline)} |", flush=True)
        if "hundred" in parts:
            print("\n| a hundred of | total [Mb/s] | Jain's index | waits [ms] |\n|---|---|---|---|")
            for name in ("QUIC-TCP", "CUBIC"):
                print(f"| {name} | {hundred(LAWS[name])} |", flush=True)
            beside.change("p=2")
            print(f"| QUIC-TCP, p = 2 | {hundred(beside.QUIC.replace('20.0', '2.0'))} |", flush=True)


if __name__ == "__main__":
    main()
