"""Congestion-window traces of this machine's Linux kernel over a bottleneck, as a reference for evenair.

    sudo python3 validation/linux/window.py reno  > validation/linux/reno.csv
    sudo python3 validation/linux/window.py cubic > validation/linux/cubic.csv

Three network namespaces in a row; the one in the middle forwards, through a token bucket of 10 Mb/s with room for 100
full packets (at the sender itself, TCP small queues would keep the bucket empty). What evenair does not model is off:
RACK and TLP, segmentation and receive offloads, the metrics cache, and HyStart of CUBIC. SACK is on, timestamps are
off, so that a segment carries 1460 bytes; delayed acknowledgements are the kernel's own. Prints time [s], congestion
window [segments] and smoothed round-trip time [s], looked at every 2 ms, a line whenever the window has changed.

Needs root. Leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import fcntl
import platform
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

SECONDS = 100.0
SAMPLE_EVERY_S = 0.002
MTU_BYTES = 1514
BUFFER_PACKETS = 100
SENDER, ROUTER, RECEIVER = "evenair-sender", "evenair-router", "evenair-receiver"
# From linux/tcp.h and linux/ethtool.h.
TCP_INFO = 11
CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
SETTINGS = {
    "tcp_timestamps": "0",
    "tcp_sack": "1",
    "tcp_dsack": "0",
    "tcp_recovery": "0",
    "tcp_early_retrans": "0",
    "tcp_no_metrics_save": "1",
    "tcp_rmem": "4096 8000000 16000000",
    "tcp_wmem": "4096 8000000 16000000",
}
OFFLOADS = {"sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C, "tx checksum": 0x17}


def run(*words: str) -> None:
    """Runs a command and stops at its first failure."""
    subprocess.run(words, check=True)


def inside(namespace: str, *words: str) -> None:
    """Runs a command in a network namespace."""
    run("ip", "netns", "exec", namespace, *words)


def enter(namespace: str) -> None:
    """Moves this thread into a network namespace."""
    with Path(f"/var/run/netns/{namespace}").open() as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


def switch_off_offloads(interface: str) -> None:
    """What `ethtool -K` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, command in OFFLOADS.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(control, SIOCETHTOOL, request)
            except OSError as error:
                print(f"{interface}: {name} stays as it is: {error}", file=sys.stderr)


def set_up() -> None:
    """Makes the namespaces and the bottleneck."""
    for name in (SENDER, ROUTER, RECEIVER):
        run("ip", "netns", "add", name)
    run("ip", "link", "add", "ev0", "netns", SENDER, "type", "veth", "peer", "name", "ev1", "netns", ROUTER)
    run("ip", "link", "add", "ev2", "netns", ROUTER, "type", "veth", "peer", "name", "ev3", "netns", RECEIVER)
    places = (
        (SENDER, "ev0", "10.9.0.1/24"),
        (ROUTER, "ev1", "10.9.0.2/24"),
        (ROUTER, "ev2", "10.9.1.1/24"),
        (RECEIVER, "ev3", "10.9.1.2/24"),
    )
    for name, interface, address in places:
        inside(name, "ip", "address", "add", address, "dev", interface)
        inside(name, "ip", "link", "set", interface, "up")
        inside(name, sys.executable, __file__, "--switch-off-offloads", interface)
    inside(SENDER, "ip", "route", "add", "default", "via", "10.9.0.2")
    inside(RECEIVER, "ip", "route", "add", "default", "via", "10.9.1.1")
    inside(ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    for name in (SENDER, RECEIVER):
        for key, value in SETTINGS.items():
            inside(name, "sysctl", "-qw", f"net.ipv4.{key}={value}")
    limit = str(BUFFER_PACKETS * MTU_BYTES)
    bucket = ("tbf", "rate", "10mbit", "burst", "1600", "limit", limit)
    inside(ROUTER, "tc", "qdisc", "add", "dev", "ev2", "root", *bucket)


def tear_down() -> None:
    """Removes the namespaces, and with them all that is in them."""
    for name in (SENDER, ROUTER, RECEIVER):
        subprocess.run(("ip", "netns", "delete", name), check=False, stderr=subprocess.DEVNULL)


def receive() -> None:
    """Reads all that comes, in the receiver's namespace."""
    enter(RECEIVER)
    with socket.create_server(("10.9.1.2", 5001)) as server:
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 20):
                pass


def feed(connection: socket.socket) -> None:
    """Keeps the socket's buffer full until it is closed."""
    block = bytes(1 << 16)
    try:
        while True:
            connection.sendall(block)
    except OSError:
        return


def trace(law: str) -> None:
    """Sends, and prints the kernel's own account of the connection."""
    enter(SENDER)
    time.sleep(0.5)
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, law.encode())
    connection.connect(("10.9.1.2", 5001))
    threading.Thread(target=feed, args=(connection,), daemon=True).start()
    print(f"# Linux {platform.release()}, {law}")
    print("time_s,window,round_trip_s")
    last = 0
    start = time.monotonic()
    while (now := time.monotonic() - start) < SECONDS:
        info = struct.unpack_from("8B24I", connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104))
        round_trip_us, window = info[8 + 15], info[8 + 18]
        if window != last:
            print(f"{now:.4f},{window},{round_trip_us / 1e6:.4f}")
            last = window
        time.sleep(SAMPLE_EVERY_S)
    connection.close()


def main() -> None:
    """One trace of the law that the command line names."""
    if sys.argv[1:2] == ["--switch-off-offloads"]:
        switch_off_offloads(sys.argv[2])
        return
    law = sys.argv[1] if len(sys.argv) > 1 else "reno"
    hystart = Path("/sys/module/tcp_cubic/parameters/hystart")
    before = hystart.read_text() if hystart.exists() else ""
    tear_down()
    try:
        set_up()
        if before:
            hystart.write_text("0")
        thread = threading.Thread(target=receive, daemon=True)
        thread.start()
        trace(law)
    finally:
        if before:
            hystart.write_text(before)
        tear_down()


if __name__ == "__main__":
    main()
