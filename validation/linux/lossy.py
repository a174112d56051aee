"""Goodput of this machine's Linux kernel over a path that loses packets, as a reference for evenair.

    sudo python3 validation/linux/lossy.py > validation/linux/lossy.csv
    sudo python3 validation/linux/lossy.py --only 200 --seeds 1-2
    sudo python3 validation/linux/lossy.py --trace cubic --round-trip 200 --loss 8 --seconds 60
    sudo python3 validation/linux/lossy.py --trace bbr --windows --rate 10000000 --round-trip 40 --loss 0 \
        --queue 100 --seconds 45 > validation/linux/bbr.csv

Each run is two network namespaces with a TUN device each, joined by this program. It does to packets what evenair's
wire does: a queue of so many packets (the one being sent among them) drops what finds it full; the link sends a
packet's bytes at its rate; then the lottery may lose it (data segments only: neither the handshake nor
acknowledgements); then it takes a fixed delay. Both directions are alike, apart from the lottery. The delay is such
that a full segment and its acknowledgement's delay make up the round trip named when nothing queues.

The sender and the receiver are the kernel's. MSS 1460, no timestamps, SACK, no DSACK, no ECN, no metrics cache, HyStart
off, one segment a buffer (no segmentation offload), delayed acknowledgements the kernel's own (it acknowledges each
segment at first and after losses; the column `segments_per_ack` tells), least RTO 1 s by route: Linux then waits
SRTT + max(1 s, 4 RTTVAR), where RFC 6298 has max(1 s, SRTT + 4 RTTVAR). RACK-TLP as the kernel comes (`tcp_recovery` 1,
`tcp_early_retrans` 3) or off (0, 0); since Linux 6.17, which dropped RFC 6675, "off" leaves RACK on, and takes TLP
away only. The initial window is 10. BBR is paced by the kernel's own timers, without the queueing discipline fq. A law
that this kernel does not have is named and skipped: Vegas is one that few kernels have.

Columns, all over the time after the warm-up: goodput at the receiver [kb/s]; what data segments suffered, lottery and
queue together, in per cent of those sent; the mean round trip [ms] as the path sees it (mean stay of a data segment
plus mean stay of an acknowledgement; a delayed acknowledgement's wait is not in it) and the sender's mean SRTT and RTO
(TCP_INFO every 100 ms); counts of the path (sent, lost, dropped, repeated: segments below the highest seen) and of the
sender's namespace (nstat's names). `late_us` is by how much the program was late on average, `late_share` the share of
packets later than a tenth of the round trip; it has real-time priority, what it was late is in the round trip recorded,
and a run that was late by a fiftieth of the round trip on average, or in a hundredth of its packets, is repeated.

Needs root. Leaves nothing behind: namespaces and devices have no name and end with the process that holds them.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import gc
import json
import os
import platform
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

SEGMENT_BYTES = 1500
PAYLOAD_BYTES = 1460
WARM_UP_S = 20.0
ATTEMPTS = 3
# A run is repeated beyond these: mean lateness in round trips, share of packets later than a tenth of one.
LATE, LATE_SHARE = 0.02, 0.01
COUNTERS = (
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPSackRecovery",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPLostRetransmit",
    "TCPSACKReorder",
    "TCPSpuriousRTOs",
)
# From linux/if_tun.h, linux/sched.h, linux/prctl.h and linux/tcp.h.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
TCP_INFO = 11
FIN, SYN = 0x01, 0x02
LIBRARY = ctypes.CDLL(None, use_errno=True)
HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
LAWS = ("reno", "cubic", "vegas", "bbr")


@dataclass(frozen=True)
class Case:
    """One run."""

    law: str
    rack: int
    rate_bps: int
    round_trip_ms: int
    lottery_percent: float
    seed: int
    seconds: float
    queue_packets: int = 50
    trace: bool = False

    def delay_s(self) -> float:
        """Each way, so that segment and acknowledgement need the round trip without a queue."""
        return (self.round_trip_ms / 1e3 - SEGMENT_BYTES * 8 / self.rate_bps) / 2


@dataclass
class Result:
    """What is recorded of a run; the module's text explains the columns."""

    goodput_kbps: float = 0.0
    lost_percent: float = 0.0
    path_round_trip_ms: float = 0.0
    smoothed_round_trip_ms: float = 0.0
    timeout_ms: float = 0.0
    mean_window: float = 0.0
    segments_per_ack: float = 0.0
    sent: int = 0
    lost: int = 0
    dropped: int = 0
    repeated: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    late_us: float = 0.0
    late_share: float = 0.0


def check(outcome: int, what: str) -> None:
    """Raises what the C library reports."""
    if outcome != 0:
        raise OSError(ctypes.get_errno(), f"cannot {what}")


def new_namespace(address: str, rack: int) -> tuple[int, int]:
    """Moves this process into a new network namespace; gives its TUN device and the namespace."""
    check(LIBRARY.unshare(CLONE_NEWNET), "make a network namespace")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    settings = {
        "ipv6/conf/all/disable_ipv6": "1",
        "ipv4/tcp_timestamps": "0",
        "ipv4/tcp_sack": "1",
        "ipv4/tcp_dsack": "0",
        "ipv4/tcp_ecn": "0",
        "ipv4/tcp_no_metrics_save": "1",
        "ipv4/tcp_recovery": str(rack),
        "ipv4/tcp_early_retrans": str(3 * rack),
        "ipv4/tcp_rmem": "4096 8000000 16000000",
        "ipv4/tcp_wmem": "4096 8000000 16000000",
    }
    for key, value in settings.items():
        Path(f"/proc/sys/net/{key}").write_text(value)
    commands = (
        "link set lo up",
        "link set tun0 txqueuelen 10000 gso_max_segs 1 up",
        f"address add {address}/24 dev tun0 noprefixroute",
        f"route add 10.9.0.0/24 dev tun0 src {address} rto_min 1s",
    )
    for command in commands:
        subprocess.run(("ip", *command.split()), check=True)
    return tun, os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(namespace: int) -> None:
    """Moves this process into a network namespace."""
    check(LIBRARY.setns(namespace, CLONE_NEWNET), "enter a network namespace")


def hurry(priority: int) -> None:
    """Real-time priority, and an end with the parent."""
    LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def counters() -> dict[str, int]:
    """The counters of this namespace's TCP."""
    lines = Path("/proc/self/net/netstat").read_text().splitlines()
    names, values = (line.split()[1:] for line in lines if line.startswith("TcpExt:"))
    known = dict(zip(names, map(int, values), strict=True))
    return {name: known[name] for name in COUNTERS}


class Hosts:
    """The two endpoints: keeps one socket's buffer full, reads all that comes from the other, looks at TCP_INFO."""

    def __init__(self, case: Case, ends: tuple[int, int], start: float) -> None:
        self.case, self.start = case, start
        self.begins = start + WARM_UP_S * (not case.trace)
        self.ends = self.begins + case.seconds
        enter(ends[1])
        self.listener = socket.create_server(("10.9.0.2", 5001))
        enter(ends[0])
        self.source = socket.socket()
        self.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, case.law.encode())
        self.received = 0
        self.samples = 0
        self.sums = [0.0, 0.0, 0.0]
        self.log: list[tuple[float, str]] = []

    def run(self) -> Result:
        """Sends from the start to the end."""
        time.sleep(max(0.0, self.start - time.monotonic()))
        self.source.connect(("10.9.0.2", 5001))
        sink, _ = self.listener.accept()
        self.source.setblocking(False)
        sink.setblocking(False)
        block = bytes(1 << 18)
        every = 0.002 if self.case.trace else 0.1
        due = time.monotonic()
        before: dict[str, int] = {}
        while (now := time.monotonic()) < self.ends:
            if now >= due:
                due = now + every
                if now >= self.begins:
                    before = before or counters()
                    self.look(now)
                try:
                    while self.source.send(block):
                        pass
                except BlockingIOError:
                    pass
            if select.select((sink,), (), (), max(0.0, due - time.monotonic()))[0]:
                size = len(sink.recv(1 << 20))
                self.received += size if time.monotonic() >= self.begins else 0
        after = counters()
        count = max(self.samples, 1)
        return Result(
            goodput_kbps=self.received * 8 / self.case.seconds / 1e3,
            smoothed_round_trip_ms=self.sums[0] / count / 1e3,
            timeout_ms=self.sums[1] / count / 1e3,
            mean_window=self.sums[2] / count,
            counters={name: after[name] - before[name] for name in COUNTERS},
        )

    def look(self, now: float) -> None:
        """A sample of the sender's own account."""
        info = struct.unpack_from("8B24I", self.source.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104))
        state, backoff, rest = info[1], info[4], info[8:]
        timeout, round_trip, deviation, threshold, window = rest[0], rest[15], rest[16], rest[17], rest[18]
        self.samples += 1
        for index, value in enumerate((round_trip, timeout, window)):
            self.sums[index] += value
        if self.case.trace:
            names = ("open", "disorder", "cwr", "recovery", "loss")
            text = (
                f"{names[state]} cwnd {window} ssthresh {min(threshold, 1 << 20)} unacked {rest[4]} sacked {rest[5]} "
                f"lost {rest[6]} retrans {rest[7]} backoff {backoff} rto {timeout / 1e3:.0f} "
                f"srtt {round_trip / 1e3:.1f} rttvar {deviation / 1e3:.1f}"
            )
            if not self.log or self.log[-1][1] != text:
                self.log.append((now, text))


class Direction:
    """A queue, a link and a delay towards one host."""

    def __init__(self, case: Case, towards: int) -> None:
        self.seconds_per_byte = 8 / case.rate_bps
        self.room = case.queue_packets
        self.delay, self.towards = case.delay_s(), towards
        self.free_at = 0.0
        self.queue: deque[float] = deque()
        self.flying: deque[tuple[float, float, bytes]] = deque()

    def accept(self, now: float, packet: bytes) -> bool:
        """Takes a packet into the queue, if there is room; `free_at` is then when its last bit is sent."""
        while self.queue and self.queue[0] <= now:
            self.queue.popleft()
        if len(self.queue) >= self.room:
            return False
        self.free_at = max(self.free_at, now) + len(packet) * self.seconds_per_byte
        self.queue.append(self.free_at)
        return True

    def fly(self, now: float, packet: bytes) -> None:
        """Lets the packet that was accepted last arrive after the delay."""
        self.flying.append((self.free_at + self.delay, now, packet))

    def due(self) -> float:
        """When the next packet arrives."""
        return self.flying[0][0] if self.flying else float("inf")


class Between:
    """What lies between the two namespaces."""

    def __init__(self, case: Case, tuns: tuple[int, int], start: float) -> None:
        self.case, self.tuns, self.start = case, tuns, start
        self.begins = start + WARM_UP_S * (not case.trace)
        self.ends = self.begins + case.seconds
        self.data, self.acks = Direction(case, tuns[1]), Direction(case, tuns[0])
        self.lottery = random.Random(case.seed)
        self.loss = case.lottery_percent / 100
        self.first = -1
        self.highest = 0
        self.result = Result()
        self.stays: dict[int, list[float]] = {tun: [0.0, 0.0] for tun in tuns}
        self.late = [0.0, 0.0, 0.0]
        self.log: list[tuple[float, str]] = []

    def run(self) -> Result:
        """Carries packets from the start to the end."""
        tuns = self.tuns
        while (now := time.monotonic()) < self.ends:
            for direction in (self.data, self.acks):
                while direction.due() <= now:
                    self.deliver(direction)
            wait = min(self.data.due(), self.acks.due(), self.ends) - time.monotonic()
            for tun in select.select(tuns, (), (), max(0.0, wait))[0]:
                packet = os.read(tun, 2048)
                if packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_TCP:
                    (self.on_data if tun == tuns[0] else self.on_ack)(time.monotonic(), packet)
        return self.summary()

    def deliver(self, direction: Direction) -> None:
        """Gives the packet that is due to the host it is for."""
        due, came, packet = direction.flying.popleft()
        now = time.monotonic()
        os.write(direction.towards, packet)
        if now >= self.begins:
            stay = self.stays[direction.towards]
            stay[0] += 1
            stay[1] += now - came
            self.late[0] += 1
            self.late[1] += now - due
            self.late[2] += now - due > self.case.round_trip_ms / 1e4

    def on_data(self, now: float, packet: bytes) -> None:
        """A packet of the sender's."""
        sequence, _, offset, flags = struct.unpack_from(">IIBB", packet, 24)
        payload = len(packet) - 20 - (offset >> 4) * 4
        if flags & SYN:
            self.first = sequence + 1
        place = (sequence - self.first) & 0xFFFFFFFF
        repeated = payload > 0 and place < self.highest
        if payload > 0:
            self.highest = max(self.highest, place + payload)
        taken = self.data.accept(now, packet)
        lost = taken and payload > 0 and self.lottery.random() < self.loss
        if taken and not lost:
            self.data.fly(now, packet)
        if payload > 0 and now >= self.begins:
            self.result.sent += 1
            self.result.repeated += repeated
            self.result.dropped += not taken
            self.result.lost += lost
        if self.case.trace and payload > 0:
            fate = "" if taken and not lost else " LOST" if taken else " DROPPED"
            kind = "again" if repeated else "send "
            self.log.append((now, f"{kind} {place / PAYLOAD_BYTES:g}{fate}"))

    def on_ack(self, now: float, packet: bytes) -> None:
        """A packet of the receiver's."""
        if self.acks.accept(now, packet):
            self.acks.fly(now, packet)
        if self.case.trace:
            self.log.append((now, f"ack at receiver  {self.describe(packet)}"))

    def describe(self, packet: bytes) -> str:
        """An acknowledgement's number and blocks, in segments."""

        def number(value: int) -> str:
            return f"{((value - self.first) & 0xFFFFFFFF) / PAYLOAD_BYTES:g}"

        text = number(struct.unpack_from(">I", packet, 28)[0])
        at, end = 40, 20 + (packet[32] >> 4) * 4
        while at < end and packet[at] != 0:
            if packet[at] == 1:
                at += 1
                continue
            if packet[at] == 5:
                edges = struct.unpack_from(f">{(packet[at + 1] - 2) // 4}I", packet, at + 2)
                blocks = (f"{number(a)}-{number(b)}" for a, b in zip(edges[::2], edges[1::2], strict=True))
                text += " sack " + " ".join(blocks)
            at += packet[at + 1]
        return text

    def summary(self) -> Result:
        """The path's part of the result."""
        result = self.result
        result.lost_percent = 100 * (result.lost + result.dropped) / max(result.sent, 1)
        means = [total / max(count, 1) for count, total in self.stays.values()]
        result.path_round_trip_ms = 1e3 * sum(means)
        result.segments_per_ack = self.stays[self.tuns[1]][0] / max(self.stays[self.tuns[0]][0], 1)
        result.late_us = 1e6 * self.late[1] / max(self.late[0], 1)
        result.late_share = self.late[2] / max(self.late[0], 1)
        return result


def run_here(case: Case) -> None:
    """One run in this process; prints its result, or its trace."""
    sender, sender_namespace = new_namespace("10.9.0.1", case.rack)
    receiver, receiver_namespace = new_namespace("10.9.0.2", case.rack)
    start = time.monotonic() + 0.3
    read, write = os.pipe()
    if os.fork() == 0:
        hurry(10)
        hosts = Hosts(case, (sender_namespace, receiver_namespace), start)
        outcome = asdict(hosts.run())
        with os.fdopen(write, "w") as pipe:
            json.dump([outcome, hosts.log], pipe)
        os._exit(0)
    os.close(write)
    hurry(20)
    gc.disable()
    path = Between(case, (sender, receiver), start)
    seen = path.run()
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with os.fdopen(read) as pipe:
        told, log = json.load(pipe)
    for name in ("goodput_kbps", "smoothed_round_trip_ms", "timeout_ms", "mean_window", "counters"):
        setattr(seen, name, told[name])
    if not case.trace:
        print(json.dumps(asdict(seen)))
        return
    print(f"# Linux {platform.release()}, {case}; time [s] from the start; segments are numbered from 0")
    print("# send, again, ack: as the path sees them; other lines: TCP_INFO, looked at every 2 ms, when it has changed")
    for at, text in sorted([(a, b) for a, b in log] + path.log):
        print(f"{at - start:10.4f} {text}")
    print(f"# {asdict(seen)}")


@dataclass
class Job:
    """A run under way."""

    case: Case
    process: subprocess.Popen[str]
    attempt: int


def begin(case: Case, attempt: int) -> Job:
    """Starts a run in a process of its own."""
    words = (sys.executable, __file__, "--one", json.dumps(asdict(case)))
    return Job(case, subprocess.Popen(words, stdout=subprocess.PIPE, text=True), attempt)


def run_all(cases: list[Case], at_once: int) -> Iterator[tuple[Case, Result]]:
    """All runs, so many at once; those that were late are repeated."""
    waiting = deque((case, 1) for case in cases)
    jobs: list[Job] = []
    try:
        while waiting or jobs:
            while waiting and len(jobs) < at_once:
                jobs.append(begin(*waiting.popleft()))
                time.sleep(0.1)
            time.sleep(0.2)
            for job in [job for job in jobs if job.process.poll() is not None]:
                jobs.remove(job)
                output, _ = job.process.communicate()
                if job.process.returncode != 0:
                    raise RuntimeError(f"a run ended with {job.process.returncode}: {job.case}")
                result = Result(**json.loads(output))
                if result.late_us / 1e3 > LATE * job.case.round_trip_ms or result.late_share > LATE_SHARE:
                    note = f"{job.case}: late by {result.late_us:.0f} us, {result.late_share:.4f}, try {job.attempt}"
                    print(note, file=sys.stderr)
                    if job.attempt < ATTEMPTS:
                        waiting.append((job.case, job.attempt + 1))
                    continue
                yield job.case, result
    finally:
        for job in jobs:
            job.process.kill()


def row(case: Case, result: Result) -> dict[str, object]:
    """A line of the record."""
    line: dict[str, object] = {key: value for key, value in asdict(case).items() if key != "trace"}
    for key, value in asdict(result).items():
        if isinstance(value, dict):
            line |= value
        elif isinstance(value, float):
            line[key] = round(value, 4 if "share" in key else 3)
        else:
            line[key] = value
    return line


def grid(seeds: range, only: str) -> list[Case]:
    """The cases recorded; 10 Mb/s makes loss, not the link, the limit at 20 ms, and needs less time at low loss."""
    paths = {"200": (1_000_000, 200), "20": (1_000_000, 20), "20-fast": (10_000_000, 20)}
    by_loss = [
        Case(law, rack, rate, round_trip, loss, seed, 60.0 if name == "20-fast" and loss < 4 else 300.0)
        for name, (rate, round_trip) in paths.items()
        if only in ("", name)
        for seed in seeds
        for rack in (0, 1)
        for law in ("reno", "cubic")
        for loss in (0.3, 1.0, 2.0, 4.0, 6.0, 8.0)
    ]
    # Between the two: a link that loss leaves idle, over a round trip that timers do not make.
    between = [
        Case(law, 1, 5_000_000, 50, 3.0, seed, 120.0)
        for seed in seeds
        if only in ("", "50")
        for law in ("reno", "cubic")
    ]
    # Laws that watch delays and rates: what the queue holds matters to them as much as loss.
    by_queue = [
        Case(law, 1, rate, round_trip, loss, seed, 60.0, queue)
        for name, (rate, round_trip) in (paths | {"100-fast": (10_000_000, 100)}).items()
        if only in ("", "queues", name)
        for seed in seeds
        for law in ("vegas", "bbr")
        for loss, queue in ((0.0, 50), (1.0, 50), (4.0, 50), (8.0, 50), (0.0, 5), (0.0, 200))
    ]
    return by_loss + between + by_queue


def those_here(cases: list[Case]) -> list[Case]:
    """Those of laws that this kernel has; the others are named."""
    here = AVAILABLE.read_text().split()
    for law in sorted({case.law for case in cases} - set(here)):
        print(f"skipped: this kernel has no {law}, only {', '.join(here)}", file=sys.stderr)
    return [case for case in cases if case.law in here]


def windows(text: str) -> Iterator[str]:
    """Of a trace the sender's window [segments] and smoothed round trip [s] over time, where the window has changed."""
    for line in text.splitlines():
        if line.startswith("# Linux"):
            yield line.split(";")[0]
    yield "time_s,window,round_trip_s"
    last = ""
    for line in text.splitlines():
        words = line.split()
        if "cwnd" in words and (window := words[words.index("cwnd") + 1]) != last:
            last = window
            yield f"{words[0]},{window},{float(words[words.index('srtt') + 1]) / 1e3:.4f}"


def main() -> None:
    """The record, or one trace."""
    parser = argparse.ArgumentParser(description="Linux senders over a path that loses packets")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    paths = ("200", "50", "20", "20-fast", "100-fast", "queues")
    parser.add_argument("--only", default="", choices=paths, help="one path")
    parser.add_argument("--seeds", default="1-4", help="first and last")
    parser.add_argument("--at-once", type=int, default=48, help="runs at the same time")
    parser.add_argument("--trace", choices=LAWS, help="print what one run did instead")
    parser.add_argument("--windows", action="store_true", help="of the trace only time, window and round trip")
    parser.add_argument("--rack", type=int, default=1, choices=(0, 1))
    parser.add_argument("--rate", type=int, default=1_000_000, help="[b/s]")
    parser.add_argument("--round-trip", type=int, default=200, help="[ms]")
    parser.add_argument("--loss", type=float, default=4.0, help="[%%]")
    parser.add_argument("--queue", type=int, default=50, help="[packets]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    if given.one:
        LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        run_here(Case(**json.loads(given.one)))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # One at a time: HyStart is switched for the whole machine. Held until the program ends.
    lock = Path(__file__).open()  # noqa: SIM115
    fcntl.flock(lock, fcntl.LOCK_EX)
    before = HYSTART.read_text()
    try:
        HYSTART.write_text("0")
        if given.trace:
            path = (given.rate, given.round_trip, given.loss, given.seed, given.seconds, given.queue)
            cases = those_here([Case(given.trace, given.rack, *path, trace=True)])
            text = begin(cases[0], 1).process.communicate()[0] if cases else ""
            print("\n".join(windows(text)) if given.windows else text, end="" if not given.windows else "\n")
            return
        print(f"# Linux {platform.release()}; made by validation/linux/lossy.py, whose text explains the columns")
        header = False
        first, last = map(int, given.seeds.split("-"))
        cases = those_here(grid(range(first, last + 1), given.only))
        for case, result in run_all(cases, given.at_once):
            line = row(case, result)
            if not header:
                print(",".join(line))
                header = True
            print(",".join(map(str, line.values())), flush=True)
    finally:
        HYSTART.write_text(before)


if __name__ == "__main__":
    main()
