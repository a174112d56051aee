"""The cost of seeds on threads and in processes: wall-clock time, the least of several tries, of eight seeds.

The variants take turns, so that other load of the machine is beside all of them; the last row is of two programs that
share nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import evenair
from calls import Reno
from evenair.laws import ConnectionLaw, FlowView

SEEDS, TRIES = 8, 5
LONG = {"duration": "60 s", "warmup": "0 s"}


class Proportional(ConnectionLaw):
    """[Chen10] eq. (5.1), every 10 ms."""

    interval = "10 ms"

    def on_interval(self, flow: FlowView) -> int:
        return max(1, int(10 * (flow.round_trip_s or 0.0)))


def of_two_threads(law: dict[str, object]) -> None:
    """Call `evenair.run` from two of Python's threads, with half of the seeds each."""
    calls = [threading.Thread(target=half, args=(first, law)) for first in (1, 1 + SEEDS // 2)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()


def half(first: int, law: dict[str, object]) -> None:
    """Do half of the seeds."""
    evenair.run("chen10/a", seeds=SEEDS // 2, first_seed=first, threads=1, **LONG, **law)


def of_two_programs(executor: Executor, law: dict[str, object]) -> None:
    """Call `evenair.run` in two processes, with half of the seeds each."""
    list(executor.map(half, (1, 1 + SEEDS // 2), (law, law)))


def busy(law: dict[str, object]) -> float:
    """Give the least share of its time in which a worker of two runs or waits for a processor, not for a lock."""
    began: dict[str, tuple[float, int]] = {}
    shares: dict[str, float] = {}
    calls = [threading.Thread(target=half, args=(first, law)) for first in (1, 1 + SEEDS // 2)]
    for call in calls:
        call.start()
    while any(call.is_alive() for call in calls):
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # it may be gone by now
                if (task / "comm").read_text().strip() == "evenair":
                    running, ready, _ = map(int, (task / "schedstat").read_text().split())
                    now = time.perf_counter()
                    start, before = began.setdefault(task.name, (now, running + ready))
                    if now > start:
                        shares[task.name] = (running + ready - before) / 1e9 / (now - start)
        time.sleep(0.02)
    return min(shares.values())


def swept(law: dict[str, object], **where: object) -> evenair.Swept:
    """Do the runs as a sweep over one point."""
    return evenair.sweep("chen10/a", {"mac.queue": ["50 packets"]}, seeds=SEEDS, **where, **LONG, **law)


def main() -> None:
    """Print a table: a row per way, a column per kind of law."""
    laws: dict[str, dict[str, object]] = {
        "built in": {"connections": {"k": 10, "interval": "10 ms"}},
        "every 10 ms in Python": {"connections": Proportional()},
        "every acknowledgement in Python": {"connections": {"k": 10, "interval": "10 ms"}, "tcp__window": Reno()},
    }
    with ProcessPoolExecutor(1) as one, ProcessPoolExecutor(2) as two, ThreadPoolExecutor(2) as threads:
        ways: dict[str, Callable[[dict[str, object]], object]] = {
            "`run`, `threads=1`": lambda law: evenair.run("chen10/a", seeds=SEEDS, threads=1, **LONG, **law),
            "`run`, `threads=2`": lambda law: evenair.run("chen10/a", seeds=SEEDS, threads=2, **LONG, **law),
            "`run` in two of Python's threads": of_two_threads,
            "`sweep`, `threads=2`": partial(swept, threads=2),
            "`sweep`, an executor of two threads": partial(swept, executor=threads),
            "`sweep`, one process": partial(swept, executor=one),
            "`sweep`, two processes": partial(swept, executor=two),
            "two programs": partial(of_two_programs, two),
        }
        least = {(way, name): float("inf") for way in ways for name in laws}
        for _ in range(TRIES):
            for way, work in ways.items():
                for name, law in laws.items():
                    start = time.perf_counter()
                    work(law)
                    least[way, name] = min(least[way, name], time.perf_counter() - start)
    for name, law in laws.items():
        print(
            f"workers run, or wait for a processor alone (law {name}): {100 * max(busy(law) for _ in range(3)):.0f} %"
        )
    print(f"| {SEEDS} seeds of {LONG['duration']} | {' | '.join(f'law {name} [s]' for name in laws)} |")
    for way in ways:
        print(f"| {way} | {' | '.join(f'{least[way, name]:.2f}' for name in laws)} |")


if __name__ == "__main__":
    main()
