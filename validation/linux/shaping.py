"""What this machine's Linux kernel lets pass of steady datagrams through its shapers, as a reference for evenair.

    sudo python3 validation/linux/shaping.py > validation/linux/shaping.csv
    sudo python3 validation/linux/shaping.py --probe

Each run is one network namespace with a TUN device, whose egress has the queueing discipline named, and this program,
which sends datagrams of one size at steady intervals through it and reads them behind it. Where flows are told apart
it is by their UDP port, by a filter. Nothing but the kernel's tc(8) decides what passes, and when.

Cases: `tbf` (a token bucket over one line), `tbf-burst` (the same, 100 datagrams in 100 ms and then nothing),
`htb-each` (a token bucket and a line for each flow), `htb-shared` (one bucket, a line for each flow, turns in the
proportion 1:2:3, in which HTB lends what is left). Lines are pfifo; tbf's is its own, of so many bytes. The second line
of a record says which other disciplines this kernel has and which it lacks: those are not compared.

Columns: the case, the run, the flow; what was configured (`rate_bps`, `burst_bytes`, `line_packets`, `size_bytes`,
`interval_us`, `seconds`); what was sent and received; the mean time in the discipline [ms]. `late_us` is how late the
program sent on average. A run that was late by more than a fifth of an interval on average is repeated.

Needs root. Leaves nothing behind: namespace and device have no name and end with the process that holds them.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import platform
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

# From linux/if_tun.h and linux/sched.h.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000
CLONE_NEWNET = 0x40000000
LIBRARY = ctypes.CDLL(None, use_errno=True)
# IPv4 and UDP headers [bytes].
HEADERS = 28
SIZE = 1000
FIRST_PORT = 5000
ATTEMPTS = 3
DEVICE = "shaped"
# What evenair has, or might be compared with, as tc knows it.
DISCIPLINES = {
    "pfifo": "limit 10",
    "tbf": "rate 1mbit burst 5kb limit 20kb",
    "htb": "",
    "drr": "",
    "sfq": "",
    "red": "limit 60000 min 15000 max 45000 avpkt 1000 burst 20 bandwidth 10mbit probability 0.1",
    "codel": "",
    "fq_codel": "",
    "pie": "",
    "cake": "",
}


@dataclass(frozen=True)
class Case:
    """One discipline and what is sent through it: each flow alike."""

    name: str
    # By flow [b/s]; one for all where they share.
    rates_bps: tuple[int, ...]
    burst_bytes: int
    line_packets: int
    flows: int
    interval_us: int
    seconds: float
    commands: tuple[str, ...]


def tbf(name: str, burst_packets: int, line_packets: int, interval_us: int, seconds: float) -> Case:
    """A token bucket of 0.8 Mb/s over one line: 10 ms for each datagram."""
    rate, burst, limit = 800_000, burst_packets * SIZE, line_packets * SIZE
    command = f"qdisc add dev {DEVICE} root tbf rate {rate} burst {burst} limit {limit}"
    return Case(name, (rate,), burst, line_packets, 1, interval_us, seconds, (command,))


def htb(name: str, rates: tuple[int, ...], total: int | None) -> Case:
    """Token buckets of a hierarchy: each flow's own, or one for all, from which each borrows by its rate."""
    line, burst, interval_us = 5, 2 * SIZE, 9_700
    ceiling = total or sum(rates)
    bucket = f"burst {burst} cburst {burst}"
    commands = [
        f"qdisc add dev {DEVICE} root handle 1: htb",
        f"class add dev {DEVICE} parent 1: classid 1:1 htb rate {ceiling} ceil {ceiling} {bucket}",
    ]
    for flow, rate in enumerate(rates):
        most = total or rate
        quantum = SIZE * rate // min(rates)
        leaf = f"1:{10 + flow}"
        port = f"match ip dport {FIRST_PORT + flow} 0xffff"
        commands += [
            f"class add dev {DEVICE} parent 1:1 classid {leaf} htb rate {rate} ceil {most} {bucket} quantum {quantum}",
            f"qdisc add dev {DEVICE} parent {leaf} pfifo limit {line}",
            f"filter add dev {DEVICE} parent 1: protocol ip prio 1 u32 {port} flowid {leaf}",
        ]
    shown = (total,) if total else rates
    return Case(name, shown, burst, line, len(rates), interval_us, 20.0, tuple(commands))


CASES = (
    tbf("tbf", 2, 5, 4_700, 20.0),
    tbf("tbf-burst", 10, 20, 1_000, 0.1),
    htb("htb-each", (160_000, 320_000, 480_000), None),
    htb("htb-shared", (100_000, 200_000, 300_000), 960_000),
)


def tc(command: str) -> None:
    """Has tc do something in this process's namespace."""
    subprocess.run(["tc", *command.split()], check=True, capture_output=True, text=True)


def device() -> int:
    """Moves this process into a namespace of its own with a TUN device; gives the end at which packets come out."""
    if LIBRARY.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    for command in (f"address add 10.0.0.1/24 dev {DEVICE}", f"link set {DEVICE} up txqueuelen 10000"):
        subprocess.run(["ip", *command.split()], check=True)
    return tun


@dataclass
class Passed:
    """What came through of one flow."""

    sent: int = 0
    received: int = 0
    stay_ns: int = 0


def send(case: Case, flows: list[Passed]) -> float:
    """Sends all flows' datagrams; gives how late on average [µs]."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    begin, late, count = time.monotonic_ns(), 0, 0
    for number in range(int(case.seconds * 1e6) // case.interval_us):
        for flow, passed in enumerate(flows):
            # The flows take turns within an interval.
            due = begin + 1000 * (number * case.interval_us + flow * case.interval_us // case.flows)
            while (now := time.monotonic_ns()) < due:
                time.sleep(max(0.0, (due - now - 50_000) / 1e9))
            late += now - due
            count += 1
            passed.sent += 1
            data = struct.pack("<Q", now).ljust(SIZE - HEADERS, b"\0")
            # The discipline may refuse it.
            with contextlib.suppress(OSError):
                out.sendto(data, ("10.0.0.2", FIRST_PORT + flow))
    return late / count / 1e3


def receive(tun: int, flows: list[Passed], stop: threading.Event) -> None:
    """Reads what comes out until nothing has come for a while after the end."""
    os.set_blocking(tun, False)
    quiet = time.monotonic_ns()
    while not stop.is_set() or time.monotonic_ns() - quiet < 1_000_000_000:
        try:
            packet = os.read(tun, 2048)
        except BlockingIOError:
            time.sleep(0.00005)
            continue
        now = time.monotonic_ns()
        is_ours = packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_UDP
        if not is_ours:
            continue
        quiet = now
        (port,) = struct.unpack_from(">H", packet, 22)
        (sent,) = struct.unpack_from("<Q", packet, HEADERS)
        passed = flows[port - FIRST_PORT]
        passed.received += 1
        passed.stay_ns += now - sent


def run(case: Case, tun: int) -> tuple[list[Passed], float]:
    """One run of a case."""
    for command in case.commands:
        tc(command)
    flows = [Passed() for _ in range(case.flows)]
    stop = threading.Event()
    reader = threading.Thread(target=receive, args=(tun, flows, stop))
    reader.start()
    late_us = send(case, flows)
    stop.set()
    reader.join()
    tc(f"qdisc del dev {DEVICE} root")
    return flows, late_us


def probe() -> tuple[list[str], list[str]]:
    """The disciplines that this kernel has, and those that it lacks."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for name, options in DISCIPLINES.items():
        command = ["tc", "qdisc", "replace", "dev", DEVICE, "root", name, *options.split()]
        found[subprocess.run(command, capture_output=True, check=False).returncode == 0].append(name)
        subprocess.run(["tc", "qdisc", "del", "dev", DEVICE, "root"], capture_output=True, check=False)
    return found[True], found[False]


def record(case: Case, number: int, tun: int) -> None:
    """Prints the rows of one run, which was not late."""
    for attempt in range(ATTEMPTS):
        flows, late_us = run(case, tun)
        if late_us < case.interval_us / 5 or attempt + 1 == ATTEMPTS:
            break
    for flow, passed in enumerate(flows):
        rate = case.rates_bps[flow] if len(case.rates_bps) > 1 else case.rates_bps[0]
        stay_ms = passed.stay_ns / max(passed.received, 1) / 1e6
        configured = f"{rate},{case.burst_bytes},{case.line_packets},{SIZE},{case.interval_us},{case.seconds}"
        counted = f"{passed.sent},{passed.received},{stay_ms:.3f},{late_us:.1f}"
        print(f"{case.name},{number},{flow},{configured},{counted}", flush=True)


def main() -> None:
    """Runs all cases, or says what this kernel has."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", action="store_true", help="only say what this kernel has")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("validation/linux/shaping.py needs root")
    tun = device()
    there, missing = probe()
    print(f"# Linux {platform.release()}; made by validation/linux/shaping.py, whose text explains the columns")
    print(f"# has {' '.join(there)}; lacks, and so skips, {' '.join(missing)}")
    if options.probe:
        return
    print(
        "case,run,flow,rate_bps,burst_bytes,line_packets,size_bytes,interval_us,seconds,sent,received,stay_ms,late_us"
    )
    for case in CASES:
        for number in range(1, options.runs + 1):
            record(case, number, tun)


if __name__ == "__main__":
    main()
