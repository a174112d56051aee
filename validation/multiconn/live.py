"""The transport itself over emulated paths: plain TCP, and streams through `evenair multiconn`, beside each other
and beside packets.

    python3 validation/multiconn/live.py EVENAIR --seconds 30 > validation/multiconn/live.csv
    python3 validation/multiconn/live.py EVENAIR --paths loss-2 --rtts 50 --rates 20 --contenders cubic,guarded

EVENAIR is the command, built with `--features live`. Paths are those of matrix.py, whose flows rest: nodes are
namespaces, and in them run the relay, a sink beside it, and at the other end the client and who writes to it for so
long. What the sink has read counts. All contenders of a point run at once, each some times, over copies of the path
that share nothing but the machine; means are over copies, and `spread` is half of their 95 % interval. `connections`
is the mean of what `evenair multiconn status` says once a second. `packets_mbps` and `packets_connections` are the
same law's in packets, over as many seconds, means of `--seeds`. `late` is the share of packets that the emulator had
out more than a millisecond after their instant. `ping_p95_ms` is of a ping beside the load, ten a second, those that
came back. With `--beside` one plain CUBIC connection starts with the load and has the same path: `beside_mbps`.

The path `policer` has twice the rate, and at its far end the kernel's token bucket of packets (nftables' limit: the
rate in packets of 1500 bytes, twenty of them at once), which drops what is beyond and queues nothing. MPTCP is the
kernel's: one subflow, as it is without anybody's doing, or four, to ports that the far end announces. The contender
`quic` is one stream of quinn with CUBIC, between local ports as ours is. Plain TCP goes by IPv6, as the transport does,
and MPTCP and `cubic-ipv4` by IPv4.

    cargo build --release --manifest-path validation/quinn/Cargo.toml --bin forward
"""

import argparse
import contextlib
import csv
import json
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

import matrix

PORT, RELAY, QUIC, LOCAL = 9000, 7443, 7444, 8080
FORWARD = Path(__file__).resolve().parent.parent / "quinn/target/release/forward"
GUARDED = matrix.LIVE
# How each is run, and what it is in packets: the window's law, and the connections'.
CONTENDERS = {
    "cubic": ("plain cubic", "cubic", 'law = "fixed", n = 1'),
    "cubic-ipv4": ("plain4 cubic", None, ""),
    "reno": ("plain reno", "newreno", 'law = "fixed", n = 1'),
    "bbr": ("plain bbr", "bbr", 'law = "fixed", n = 1'),
    "mptcp": ("mptcp cubic", None, ""),
    "mptcp-4": ("mptcp cubic 4", None, ""),
    "quic": ("quic cubic", None, ""),
    "fixed-1": ("law fixed cubic n=1", "cubic", 'law = "fixed", n = 1'),
    "fixed-4": ("law fixed cubic n=4", "cubic", 'law = "fixed", n = 4'),
    "fixed-16": ("law fixed cubic n=16", "cubic", 'law = "fixed", n = 16'),
    "fixed-1-bbr": ("law fixed bbr n=1", "bbr", 'law = "fixed", n = 1'),
    "guarded": ("law guarded cubic", "cubic", GUARDED),
    "fair": ("law fair reno k=60", "newreno", 'law = "rtt-proportional", k = 60, samples = "smoothed"'),
}
FIELDS = [
    "path",
    "rtt_ms",
    "rate_mbps",
    "contender",
    "copies",
    "goodput_mbps",
    "spread",
    "connections",
    "over_cubic",
    "worse",
    "packets_mbps",
    "packets_connections",
    "late",
    "ping_p95_ms",
    "beside_mbps",
    "why",
]
# A bucket of so many packets.
BUCKET = 20
matrix.PATHS["policer"] = {"policed": True}


def counts(server: socket.socket, total: list[int], place: int) -> None:
    """Reads whatever comes to a port, and counts it."""

    def read(connection: socket.socket) -> None:
        while data := connection.recv(1 << 16):
            total[place] += len(data)

    def accept() -> None:
        while True:
            threading.Thread(target=read, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def dual(port: int) -> socket.socket:
    """A port of both families."""
    return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)


def several(subflows: int, *, announces: bool) -> None:
    """Has this node's kernel open so many subflows, or be dialled by them, at as many ports."""
    accepted = 0 if announces else subflows
    words = ["ip", "mptcp", "limits", "set", "subflow", str(subflows), "add_addr_accepted", str(accepted)]
    subprocess.run(words, check=True)
    told = subprocess.run(["ip", "-j", "-4", "addr", "show", "dev", "air0"], capture_output=True, text=True, check=True)
    address = json.loads(told.stdout)[0]["addr_info"][0]["local"]
    for port in range(PORT + 10, PORT + 9 + subflows) if announces else ():
        subprocess.run(["ip", "mptcp", "endpoint", "add", address, "port", str(port), "signal"], check=True)


def sink(log: str, subflows: int) -> None:
    """Reads whatever comes, and writes down how much: of the load, and of who is beside it."""
    if subflows > 1:
        several(subflows, announces=True)
    total = [0, 0]
    multipath = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)  # IPPROTO_MPTCP
    multipath.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    multipath.bind(("", PORT + 1))
    multipath.listen()
    for server, place in (dual(PORT), 0), (multipath, 0), (dual(PORT + 2), 1):
        counts(server, total, place)
    write_down(log, total)


def write_down(log: str, total: list[int]) -> None:
    """The counts, ten times a second."""
    with open(log, "w") as file:
        while True:
            print(time.monotonic(), *total, file=file, flush=True)
            time.sleep(0.1)


def client(command: str, folder: Path, relay_at: str, words: list[str]) -> subprocess.Popen[bytes]:
    """The transport's client, with its local port."""
    law, control, *settings = words
    key = (folder / "relay.pub").read_text().strip()
    line = [command, "multiconn", "connect", f"{relay_at}:{RELAY}", "--relay-key", key]
    line += ["--key", str(folder / "me.key"), "-L", f"tcp://{LOCAL}:127.0.0.1:{PORT}"]
    line += ["--law", law, "--status", str(folder / "status"), "--no-remember"]
    line += [] if law == "fair" else ["--subflow-cc", control]
    line += [word for setting in settings for word in ("--set", setting)]
    return begun(line, folder)


def begun(line: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """A program in the background, and what it says in a file."""
    with (folder / "client.log").open("w") as log:
        return subprocess.Popen(line, stdout=log, stderr=subprocess.STDOUT)


def connected(kind: str, control: str, to: tuple[str, int]) -> socket.socket:
    """A socket to who reads, once he listens."""
    # The transport and most programs go by IPv6 where there is one; its header is 20 bytes longer, 1.4 % of a segment.
    family = socket.AF_INET if kind in ("plain4", "mptcp") or to[0] == "127.0.0.1" else socket.AF_INET6
    for _ in range(100):
        connection = socket.socket(family, socket.SOCK_STREAM, 262 if kind == "mptcp" else 0)
        if kind not in ("law", "quic"):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        with contextlib.suppress(OSError):
            connection.connect(to)
            return connection
        time.sleep(0.1)
    raise SystemExit(f"nobody listens at {to}")


def status(command: str, folder: Path) -> tuple[int, str] | None:
    """How many connections send, and why so many."""
    words = [command, "multiconn", "status", str(folder / "status"), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or not (sessions := json.loads(done.stdout)["sessions"]):
        return None
    active = sum(1 for each in sessions[0]["connections"] if each["active"])
    return active, (sessions[0]["sending"].get("law") or {}).get("why", "")


def load(command: str, folder: Path, copy: str, seconds: float, beside: bool, kind: str, *words: str) -> None:
    """Writes to the sink for so long, by itself or through a client; leaves what came of it in the folder."""
    # A stream that finds nobody at its destination is broken off, and is not tried again.
    for _ in range(200):
        if (log := folder / "sink.log").exists() and log.stat().st_size:
            break
        time.sleep(0.1)
    subflows = int(words[1]) if kind == "mptcp" and len(words) > 1 else 1
    if subflows > 1:
        several(subflows, announces=False)
    through = None
    if kind == "law":
        through = client(command, folder, f"r{copy}", list(words))
    elif kind == "quic":
        through = begun([str(FORWARD), "connect", f"r{copy}:{QUIC}", str(folder / "certificate"), str(LOCAL)], folder)
    words_of_ping = ["ping", "-n", "-i", "0.1", "-w", str(int(seconds) + 1), f"r{copy}"]
    ping = subprocess.Popen(words_of_ping, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if beside:
        neighbour = threading.Thread(target=write, args=(connected("plain", "cubic", (f"r{copy}", PORT + 2)), seconds))
        neighbour.start()
    seen: list[tuple[int, str]] = []
    # A session that stands, as the plain contender's connection does: what is measured begins with the first byte.
    while kind == "law" and status(command, folder) is None:
        if through.poll() is not None:
            raise SystemExit("the client has ended")
        time.sleep(0.05)
    connection = connected(kind, words[0], ("127.0.0.1", LOCAL) if through else (f"r{copy}", PORT + (kind == "mptcp")))
    over = threading.Event()
    if kind == "law":
        threading.Thread(target=look, args=(command, folder, seen, over), daemon=True).start()
    begins, ended = write(connection, seconds)
    over.set()
    if through:
        through.kill()
    lines = [tuple(map(float, line.split())) for line in (folder / "sink.log").read_text().splitlines()[:-1]]

    def mbps(place: int) -> float:
        at = [max((line[place] for line in lines if line[0] <= when), default=0.0) for when in (begins, ended)]
        return (at[1] - at[0]) * 8 / (ended - begins) / 1e6

    told = ping.communicate()[0].split("time=")[1:]
    delays = sorted(float(text.split()[0]) for text in told)
    result = {
        "goodput_mbps": mbps(1),
        "connections": statistics.mean(n for n, _ in seen) if seen else subflows,
        "why": seen[-1][1] if seen else "",
        "ping_p95_ms": delays[int(0.95 * len(delays))] if delays else float("nan"),
        "beside_mbps": mbps(2),
    }
    (folder / "result.json").write_text(json.dumps(result))


def look(command: str, folder: Path, seen: list[tuple[int, str]], over: threading.Event) -> None:
    """Looks each second, beside who writes: he would wait for it."""
    while not over.wait(1.0):
        seen.extend(filter(None, [status(command, folder)]))


def write(connection: socket.socket, seconds: float) -> tuple[float, float]:
    """As much as it takes, for so long; when it began, and ended."""
    begun = time.monotonic()
    connection.settimeout(0.2)
    data = b"\0" * 65536
    while time.monotonic() < begun + seconds:
        with contextlib.suppress(TimeoutError):
            connection.send(data)
    return begun, time.monotonic()


def relay(command: str, folder: Path) -> str:
    """Makes both keys; gives the relay's command."""

    def key(file: str) -> str:
        words = [command, "multiconn", "keygen", str(folder / file)]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    (folder / "relay.pub").write_text(key("relay.key"))
    entry = f'[[key]]\nname = "me"\nkey = "{key("me.key")}"\ndestinations = ["127.0.0.1:{PORT}"]\n'
    (folder / "authorised.toml").write_text(entry)
    files = f"--key {folder}/relay.key --authorised {folder}/authorised.toml --status {folder}/relay-status"
    return f"{command} multiconn relay {files} --listen [::]:{RELAY}"


def wait(folder: Path, seconds: float) -> None:
    """Ends when everybody has a result, or nobody will."""
    folders = [each for each in folder.iterdir() if each.is_dir()]
    until = time.monotonic() + seconds
    while time.monotonic() < until and not all((each / "result.json").exists() for each in folders):
        time.sleep(0.2)


def network(path: str, rtt_ms: int, rate_mbps: int, copies: int, seconds: float) -> str:
    """A scenario of so many copies of a path, with nodes s1, base1, r1 and so on."""
    wires, losses = matrix.path(path, rtt_ms, rate_mbps * (1 + (path == "policer")))

    def copied(lines: list[str]) -> str:
        every = [line.format(s=f"s{k}", base=f"base{k}", r=f"r{k}") for k in range(copies) for line in lines]
        return "[\n" + "".join(f"    {line},\n" for line in every) + "]"

    nodes = ", ".join(f'{{ id = "{node}{k}" }}' for k in range(copies) for node in ("s", "base", "r"))
    return f"""
name = "{path}, {rtt_ms} ms, {rate_mbps} Mb/s, {copies} times"
description = "A point of validation/multiconn/live.py."
duration = "{seconds} s"
nodes = [{nodes}]
wires = {copied(wires)}
losses = {copied(losses)}
flows = [{{ id = "rests", from = "s0", to = "r0" }}]
"""


def policer(rate_mbps: int) -> str:
    """What makes a node drop what comes beyond a rate."""
    bucket = f"limit rate over {int(rate_mbps * 1e6 / 8 / 1500)}/second burst {BUCKET} packets"
    chain = "add table inet policer; add chain inet policer in { type filter hook input priority 0; }"
    rule = f"add rule inet policer in iifname != lo {bucket} drop"
    return f"nft {shlex.quote(f'{chain}; {rule}')}"


def measure(
    command: str, at: tuple[str, int, int], contenders: list[str], seconds: float, beside: bool
) -> tuple[list[dict[str, float | str]], float]:
    """One point, with everybody who is named; and the share of packets that were late."""
    path, rtt_ms, rate_mbps = at
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        own = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).resolve()))}"
        # Losses are drawn anew at each point: else whoever has an unlucky copy would have it at all of them.
        seed = zlib.crc32(f"{at} {contenders}".encode())
        words = [command, "emulate", str(folder / "path.toml"), "--json", "--set", f"seed={seed}"]
        for k, contender in enumerate(contenders):
            place = folder / str(k)
            place.mkdir()
            place.chmod(0o777)
            how = CONTENDERS[contender][0]
            sinks = f"--sink {place}/sink.log"
            if how.startswith("mptcp"):
                sinks += " " + " ".join(how.split()[2:])
            sinks = (
                f"sh -c {shlex.quote(f'{policer(rate_mbps)} && exec {own} {sinks}')}"
                if path == "policer"
                else f"{own} {sinks}"
            )
            words += ["--at", f"r{k}={sinks}"]
            if how.startswith("law"):
                words += ["--at", f"r{k}={relay(command, place)}"]
            if how.startswith("quic"):
                words += ["--at", f"r{k}={FORWARD} serve {QUIC} {place}/certificate {PORT}"]
            words += ["--at", f"s{k}={own} --load {command} {place} {k} {seconds} {int(beside)} {how}"]
        words += ["--at", f"base0={own} --wait {folder} {seconds + 20}"]
        (folder / "path.toml").write_text(network(path, rtt_ms, rate_mbps, len(contenders), seconds + 30))
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds * 2 + 90)
        results = []
        for k, contender in enumerate(contenders):
            file = folder / str(k) / "result.json"
            if not file.exists():
                log = folder / str(k) / "client.log"
                told = log.read_text() if log.exists() else ""
                raise SystemExit(f"{path} {rtt_ms} {rate_mbps} {contender}: {done.stderr}{told}")
            results.append(json.loads(file.read_text()))
        late = json.loads(done.stdout.splitlines()[-1])["live"]["lateness"]["beyond_1ms"]
        return results, late


def in_packets(command: str, at: tuple[str, int, int], contender: str, seconds: float, seeds: int) -> list[float]:
    """Goodput and connections of the same law in packets; none, where there is no such thing."""
    _, window, law = CONTENDERS[contender]
    if window is None or not seeds or at[0] == "policer":
        return []
    options = argparse.Namespace(seeds=seeds, seconds=seconds)
    return matrix.measure_law(command, "packets", at, (window, law), options)[:2]


def mean(values: list[float]) -> tuple[float, float]:
    """The mean, and half of its 95 % interval."""
    if len(values) < 2:
        return values[0], float("nan")
    student = {2: 12.7, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}.get(len(values), 2.0)
    return statistics.mean(values), student * statistics.stdev(values) / len(values) ** 0.5


def main() -> None:
    """Points of paths, round trips and rates, one after the other."""
    match sys.argv[1:]:
        case ["--sink", log]:
            return sink(log, 1)
        case ["--sink", log, subflows]:
            return sink(log, int(subflows))
        case ["--wait", folder, seconds]:
            return wait(Path(folder), float(seconds))
        case ["--load", command, folder, copy, seconds, beside, kind, *words]:
            return load(command, Path(folder), copy, float(seconds), beside == "1", kind, *words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--at-once", type=int, default=0, help="contenders that run at once; 0: all")
    parser.add_argument("--seeds", type=int, default=8, help="of the same in packets; 0: not run")
    parser.add_argument("--rates", type=matrix.numbers, default=[20])
    parser.add_argument("--rtts", type=matrix.numbers, default=[50])
    parser.add_argument("--paths", type=lambda text: text.split(","), default=list(matrix.PATHS))
    parser.add_argument("--contenders", type=lambda text: text.split(","), default=["cubic", "fixed-1", "guarded"])
    parser.add_argument("--beside", action="store_true", help="with one CUBIC connection on the same path")
    options = parser.parse_args()
    command = str(Path(options.command).resolve())
    if missing := [tool for tool in ("ip", "nft", "ping") if shutil.which(tool) is None]:
        parser.error(f"not installed: {', '.join(missing)} (Debian: iproute2, nftables, iputils-ping)")
    if "quic" in options.contenders and not FORWARD.exists():
        parser.error(
            f"{FORWARD} is not there: cargo build --release --manifest-path validation/quinn/Cargo.toml --bin forward"
        )
    out = csv.DictWriter(sys.stdout, FIELDS)
    out.writeheader()
    several = options.at_once or len(options.contenders)
    points = [(path, rtt, rate) for path in options.paths for rtt in options.rtts for rate in options.rates]
    for at in points:
        results, lates, baseline = [], [], None
        for first in range(0, len(options.contenders), several):
            now = [each for each in options.contenders[first : first + several] for _ in range(options.copies)]
            came, late = measure(command, at, now, options.seconds, options.beside)
            results += came
            lates += [late] * len(now)
        for place, contender in enumerate(options.contenders):
            own = results[place * options.copies : (place + 1) * options.copies]
            goodput, spread = mean([each["goodput_mbps"] for each in own])
            if contender == matrix.BASELINE:
                baseline = goodput
            over = goodput / baseline if baseline else float("nan")
            packets = in_packets(command, at, contender, options.seconds, options.seeds)
            row = [*at, contender, options.copies, f"{goodput:.3f}", f"{spread:.3f}"]
            row += [f"{statistics.mean(each['connections'] for each in own):.2f}"]
            row += [f"{over:.3f}", "yes" if over < matrix.NOT_WORSE else "no"]
            row += [f"{packets[0]:.3f}", f"{packets[1]:.2f}"] if packets else ["", ""]
            row += [
                f"{lates[place * options.copies]:.5f}",
                f"{statistics.mean(each['ping_p95_ms'] for each in own):.1f}",
            ]
            row += [f"{statistics.mean(each['beside_mbps'] for each in own):.3f}" if options.beside else ""]
            row += [own[0]["why"]]
            out.writerow(dict(zip(FIELDS, row, strict=True)))
            sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
