#!/usr/bin/env python3
"""QUIC-TCP in the kernel over a path that becomes longer, and shorter again, while a transfer goes on.

    sudo python3 validation/kernel/route.py > route.md

Needs what `beside.py` needs, and takes four minutes; it loads quic-tcp with p=20 kappa=0.5 and unloads it. One flow
over the path program of validation/linux/lossy.py: 10 Mb/s, a queue of 300 packets, a round trip of 40 ms; from second
15 to second 40 of 60 it is 120 ms, by 80 ms more on the way there. Packets stay in order, so that when the path becomes
shorter some come at once. A line for each law: goodput [Mb/s], mean window [packets] and mean smoothed round trip [ms]
before (from 8 s on), while the path is long (from 28 s on), and after (from 48 s on).
"""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import beside

sys.path.append(str(Path(__file__).resolve().parent.parent / "linux"))

import lossy

BEGINS_S, LONGER_S, SHORTER_S, ENDS_S = 8.0, 15.0, 40.0, 60.0
SETTLING_S = 13.0
MORE_S = 0.08
PERIODS = ((BEGINS_S, LONGER_S), (LONGER_S + SETTLING_S, SHORTER_S), (SHORTER_S + 8.0, ENDS_S))

# Time [s], bytes received, window [packets], smoothed round trip [ms].
Sample = tuple[float, int, int, float]


class Path40To120(lossy.Between):
    """The path, whose way there is longer for a while."""

    def on_data(self, now: float, packet: bytes) -> None:
        longer = LONGER_S <= now - self.start < SHORTER_S
        self.data.delay = self.case.delay_s() + (MORE_S if longer else 0.0)
        super().on_data(now, packet)


class Watched(lossy.Hosts):
    """The endpoints, which keep what they see each tenth of a second."""

    def __init__(self, case: lossy.Case, ends: tuple[int, int], start: float) -> None:
        super().__init__(case, ends, start)
        self.seen: list[Sample] = []

    def look(self, now: float) -> None:
        before = self.sums.copy()
        super().look(now)
        round_trip, _, window = (after - was for after, was in zip(self.sums, before, strict=True))
        self.seen.append((now - self.start, self.received, int(window), round_trip / 1e3))


def transfer(law: str) -> list[Sample]:
    """What the sender sees from `BEGINS_S` on."""
    lossy.WARM_UP_S = BEGINS_S
    case = lossy.Case(law, 1, 10_000_000, 40, 0.0, 1, ENDS_S - BEGINS_S, queue_packets=300)
    sender, sender_namespace = lossy.new_namespace("10.9.0.1", case.rack)
    receiver, receiver_namespace = lossy.new_namespace("10.9.0.2", case.rack)
    start = time.monotonic() + 0.3
    read, write = os.pipe()
    if os.fork() == 0:
        lossy.hurry(10)
        hosts = Watched(case, (sender_namespace, receiver_namespace), start)
        hosts.run()
        with os.fdopen(write, "w") as pipe:
            json.dump(hosts.seen, pipe)
        os._exit(0)
    os.close(write)
    lossy.hurry(20)
    gc.disable()
    path = Path40To120(case, (sender, receiver), start)
    result = path.run()
    print(f"{law}: {result.dropped} dropped, late by {result.late_us:.0f} us", file=sys.stderr)
    with os.fdopen(read) as pipe:
        return [tuple(sample) for sample in json.load(pipe)]


def cells(samples: list[Sample]) -> str:
    told = []
    for begins, ends in PERIODS:
        within = [sample for sample in samples if begins <= sample[0] < ends]
        bits = (within[-1][1] - within[0][1]) * 8
        rate = bits / (within[-1][0] - within[0][0]) / 1e6
        window, round_trip = (sum(sample[i] for sample in within) / len(within) for i in (2, 3))
        told.append(f"{rate:.2f}, {window:.0f}, {round_trip:.0f}")
    return " | ".join(told)


def apart(law: str) -> str:
    """A transfer in a process of its own, whose namespaces end with it."""
    words = (sys.executable, __file__, "--one", law)
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(cells(transfer(sys.argv[2])))
        return
    print(f"Linux {platform.release()}\n\n| | 40 ms | then 120 ms | 40 ms again |\n|---|---|---|---|")
    with beside.loaded():
        for holds in ("none", "10s"):
            beside.change(f"round_trip_holds={holds}")
            how = "for ever" if holds == "none" else f"for {holds}"
            print(f"| QUIC-TCP, the round trip holds {how} | {apart('evenair_quic')} |", flush=True)
    print(f"| CUBIC | {apart('cubic')} |", flush=True)


if __name__ == "__main__":
    main()
