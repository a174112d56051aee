"""The transport itself over emulated paths: one plain TCP, and streams through `evenair multiconn`, beside each
other and beside packets.

    python3 validation/multiconn/live.py EVENAIR --seconds 10 > validation/multiconn/live.csv
    python3 validation/multiconn/live.py EVENAIR --paths loss-2 --rtts 50 --rates 20 --contenders cubic,guarded

EVENAIR is the command, built with `--features live`. Paths are those of matrix.py, whose flows rest: nodes are
namespaces, and in them run the relay, a sink beside it, and
at the other end the client and who writes to it for so long. What the sink has read counts. `connections` is
the mean of what `evenair multiconn status` says twice a second.
"""

import argparse
import contextlib
import csv
import json
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import matrix

PORT, RELAY, LOCAL = 9000, 7443, 8080
CONTENDERS = {
    "cubic": "plain cubic",
    "bbr": "plain bbr",
    "guarded": "law guarded cubic",
    "fixed-4": "law fixed cubic n=4",
    "fixed-1-bbr": "law fixed bbr n=1",
}
FIELDS = ["path", "rtt_ms", "rate_mbps", "contender", "goodput_mbps", "connections", "over_cubic", "worse", "why"]


def sink(log: str) -> None:
    """Reads whatever comes, and writes down how much, ten times a second."""
    total = [0]

    def read(connection: socket.socket) -> None:
        while data := connection.recv(1 << 16):
            total[0] += len(data)

    def accept() -> None:
        server = socket.create_server(("", PORT))
        while True:
            threading.Thread(target=read, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with open(log, "w") as file:
        while True:
            print(time.monotonic(), total[0], file=file, flush=True)
            time.sleep(0.1)


def load(command: str, folder: Path, seconds: float, kind: str, *words: str) -> None:
    """Writes to the sink for so long, by itself or through a client; leaves what came of it in the folder."""
    client = None
    if kind == "law":
        law, control, *settings = words
        line = [
            command,
            "multiconn",
            "connect",
            f"r:{RELAY}",
            "--relay-key",
            (folder / "relay.pub").read_text().strip(),
        ]
        line += [
            "--key",
            str(folder / "me.key"),
            "-L",
            f"tcp://{LOCAL}:127.0.0.1:{PORT}",
            "--law",
            law,
            "--subflow-cc",
            control,
        ]
        line += [word for setting in settings for word in ("--set", setting)]
        line += ["--status", str(folder / "status")]
        client = subprocess.Popen(line, stdout=(folder / "client.log").open("w"), stderr=subprocess.STDOUT)
    to = ("127.0.0.1", LOCAL) if client else ("r", PORT)
    connection = None
    for _ in range(100):
        connection = socket.socket()
        if not client:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, words[0].encode())
        try:
            connection.connect(to)
            break
        except OSError:
            time.sleep(0.1)
    begun, seen, why = time.monotonic(), [], ""
    connection.settimeout(0.2)
    data, look_at = b"\0" * 65536, begun
    while time.monotonic() < begun + seconds:
        with contextlib.suppress(TimeoutError):
            connection.send(data)
        if client and time.monotonic() >= look_at:
            look_at += 0.5
            done = subprocess.run(
                [command, "multiconn", "status", str(folder / "status"), "--json"],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0 and (sessions := json.loads(done.stdout)["sessions"]):
                sending = sessions[0]["sending"]
                seen.append(sum(1 for each in sessions[0]["connections"] if each["active"]))
                why = (sending.get("law") or {}).get("why", "")
    ended = time.monotonic()
    if client:
        client.kill()
    counts = [tuple(map(float, line.split())) for line in (folder / "sink.log").read_text().splitlines()[:-1]]

    def at(when: float) -> float:
        return max((bytes_ for moment, bytes_ in counts if moment <= when), default=0.0)

    result = {
        "goodput_mbps": (at(ended) - at(begun)) * 8 / (ended - begun) / 1e6,
        "connections": sum(seen) / len(seen) if seen else 1.0,
        "why": why,
    }
    (folder / "result.json").write_text(json.dumps(result))


def relay(command: str, folder: Path) -> str:
    """Makes both keys; gives the relay's command."""

    def key(file: str) -> str:
        words = [command, "multiconn", "keygen", str(folder / file)]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    (folder / "relay.pub").write_text(key("relay.key"))
    entry = f'[[key]]\nname = "me"\nkey = "{key("me.key")}"\ndestinations = ["127.0.0.1:{PORT}"]\n'
    (folder / "authorised.toml").write_text(entry)
    files = f"--key {folder}/relay.key --authorised {folder}/authorised.toml --status {folder}/relay-status"
    return f"{command} multiconn relay {files} --listen 0.0.0.0:{RELAY}"


def measure(
    command: str, path: str, rtt_ms: int, rate_mbps: int, contender: str, seconds: float
) -> dict[str, float | str]:
    """One point and contender."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        own = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)}"
        words = [command, "emulate", str(folder / "path.toml"), "--at", f"r={own} --sink {folder}/sink.log"]
        if CONTENDERS[contender].startswith("law"):
            words += ["--at", f"r={relay(command, folder)}"]
        words += ["--at", f"s={own} --load {command} {folder} {seconds} {CONTENDERS[contender]}"]
        (folder / "path.toml").write_text(matrix.scenario(path, rtt_ms, rate_mbps, "cubic", seconds, 1))
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds * 4 + 60)
        file = folder / "result.json"
        if not file.exists():
            log = folder / "client.log"
            told = log.read_text() if log.exists() else ""
            raise SystemExit(f"{path} {rtt_ms} {rate_mbps} {contender}: {done.stderr}{told}")
        return json.loads(file.read_text())


def main() -> None:
    if sys.argv[1:2] == ["--sink"]:
        return sink(sys.argv[2])
    if sys.argv[1:2] == ["--load"]:
        command, folder, seconds, kind, *words = sys.argv[2:]
        return load(command, Path(folder), float(seconds), kind, *words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rates", type=matrix.numbers, default=[2, 20])
    parser.add_argument("--rtts", type=matrix.numbers, default=[50, 200])
    parser.add_argument("--paths", type=lambda text: text.split(","), default=list(matrix.PATHS))
    parser.add_argument("--contenders", type=lambda text: text.split(","), default=["cubic", "bbr", "guarded"])
    options = parser.parse_args()
    command = str(Path(options.command).resolve())
    out = csv.DictWriter(sys.stdout, FIELDS)
    out.writeheader()
    for path in options.paths:
        for rtt_ms in options.rtts:
            for rate_mbps in options.rates:
                baseline = None
                for contender in options.contenders:
                    seen = measure(command, path, rtt_ms, rate_mbps, contender, options.seconds)
                    if contender == matrix.BASELINE:
                        baseline = seen["goodput_mbps"]
                    over = seen["goodput_mbps"] / baseline if baseline else float("nan")
                    row = [
                        path,
                        rtt_ms,
                        rate_mbps,
                        contender,
                        f"{seen['goodput_mbps']:.3f}",
                        f"{seen['connections']:.2f}",
                    ]
                    row += [f"{over:.3f}", "yes" if over < matrix.NOT_WORSE else "no", seen["why"]]
                    out.writerow(dict(zip(FIELDS, row, strict=True)))
                    sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
