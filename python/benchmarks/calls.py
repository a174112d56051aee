"""The cost of a call of a law in Python: processor time of a run with it, less that of its built-in twin."""

from __future__ import annotations

import time

import evenair
from evenair.laws import Acked, ConnectionLaw, FlowView, Loss, MarkingLaw, QueueView, WindowLaw, WindowStart


class Reno(WindowLaw):
    """RFC 5681, with byte counting."""

    def begin(self, start: WindowStart) -> None:
        super().begin(start)
        self.byte_counting = start.byte_counting

    def on_ack(self, acked: Acked) -> None:
        if not acked.grows:
            return
        segments = acked.segments if self.byte_counting else 1
        self.window += min(segments, 2) if self.window < self.threshold else segments / self.window

    def on_loss(self, loss: Loss) -> None:
        self.window = self.threshold = max(loss.flight // 2, 2.0)

    def on_timeout(self, loss: Loss) -> None:
        if not loss.repeated:
            self.threshold = max(loss.flight // 2, 2.0)
        self.window = 1.0

    def deflate(self, segments: float) -> None:
        self.window = max(self.window - segments, 1.0)


class Refusing(MarkingLaw):
    """The more wait, the likelier it is refused."""

    def on_arrival(self, now_s: float, queue: QueueView) -> float:
        return min(1.0, 0.001 * queue.waiting_packets)


class One(ConnectionLaw):
    """Always one: nothing but the call."""

    interval = "100 us"

    def on_interval(self, flow: FlowView) -> int:
        return 1


class Proportional(One):
    """[Chen10] eq. (5.1)."""

    def on_interval(self, flow: FlowView) -> int:
        return max(1, int(flow.round_trip_s or 0.0))


def cost(**changes: object) -> tuple[float, evenair.Runs]:
    """Give the least processor time of five runs [s]."""
    least = float("inf")
    for _ in range(5):
        start = time.process_time()
        runs = evenair.run("chen10/a", duration="60 s", warmup="0 s", threads=1, **changes)
        least = min(least, time.process_time() - start)
    return least, runs


def main() -> None:
    """Print a line per law."""
    looks = 4 * 60 / 100e-6
    twin = cost(connections={"law": "rtt-proportional", "interval": "100 us", "k": 1})[0]
    print(f"nothing but the call: {(cost(connections=One())[0] - twin) / looks * 1e9:.0f} ns")
    print(f"a connection law that reads one fact: {(cost(connections=Proportional())[0] - twin) / looks * 1e9:.0f} ns")
    twin = cost(tcp__window="newreno")[0]
    ours, runs = cost(tcp__window=Reno())
    print(f"a window law: {(ours - twin) / sum(runs.flows['acks']) * 1e9:.0f} ns per acknowledgement")
    twin = cost(drop={"law": "proportional", "per_packet": 0.001})[0]
    ours, runs = cost(drop=Refusing())
    arrivals = sum(runs.flows["sent"]) + sum(runs.flows["acks"])
    print(f"a marking law: {(ours - twin) / arrivals * 1e9:.0f} ns per arrival")


if __name__ == "__main__":
    main()
