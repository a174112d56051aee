#!/usr/bin/env python3
"""QUIC among a gateway's subscribers, by a user's own programs: aioquic beside sockets of the kernel's TCP.

    validation/gateway/quic.py [LAW...]

Emulates gateway/linux-mixed with the daemon of `evenair gateway` in node E's kernel, under each LAW (none, pfrc). Node
G's download is no TCP: a server of aioquic at `host` sends to a client at G as fast as its NewReno allows, for 160 s of
which the last 60 count. Prints everyone's goodput [kb/s]. Needs `pip install aioquic`, and evenair built with
`--features live`, or the variable EVENAIR; takes three minutes of real time a law, in which the machine should do
nothing else.
"""

import asyncio
import datetime
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
EVENAIR = os.environ.get("EVENAIR", str(ROOT / "target/release/evenair"))
PORT = 4433
WARMUP_S, DURATION_S = 100, 60


def certificate(folder: Path) -> None:
    """A key and a certificate that nobody else trusts."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "host")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    (folder / "cert.pem").write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(text)


async def serve(folder: Path) -> None:
    """Whoever asks is sent more than fits."""
    from aioquic.asyncio import serve as listen
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bulk"])
    configuration.load_cert_chain(folder / "cert.pem", folder / "key.pem")

    def sends(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(32 << 20))

    await listen("::", PORT, configuration=configuration, stream_handler=sends)
    await asyncio.Future()


async def fetch(server: str, after_s: float, until_s: float) -> None:
    """Reads, and says how much came from `after_s` to `until_s`."""
    from aioquic.asyncio import connect
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(is_client=True, alpn_protocols=["bulk"], verify_mode=ssl.CERT_NONE)
    begin, got, before = time.monotonic(), 0, None
    async with connect(server, PORT, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(b"all")
        while (elapsed := time.monotonic() - begin) < until_s:
            if before is None and elapsed >= after_s:
                before = got
            data = asyncio.create_task(reader.read(65536))
            done, _ = await asyncio.wait({data}, timeout=until_s - elapsed)
            if not done:
                break
            got += len(data.result())
        client.close()
    print(f"QUIC {(got - (before or 0)) * 8 / (until_s - after_s) / 1e3:.0f}", file=sys.stderr, flush=True)


def emulate(law: str) -> None:
    """One run; its table."""
    with tempfile.TemporaryDirectory() as name:
        certificate(Path(name))
        me = f"{sys.executable} {Path(__file__).resolve()}"
        until = WARMUP_S + DURATION_S
        sets = [
            f"warmup={WARMUP_S} s",
            f"duration={DURATION_S} s",
            "flows.down-G.traffic='cbr'",
            "flows.down-G.rate='1 kbps'",
        ]
        if law != "none":
            sets.append(f"gateway={{ node = 'E', stack = 'linux', law = {{ law = '{law}', epoch = '5 s' }} }}")
        command = [EVENAIR, "emulate", "gateway/linux-mixed", "--with-flows", "--json"]
        for text in sets:
            command += ["--set", text]
        command += ["--at", f"host={me} serve {name}", "--at", f"G={me} fetch host {WARMUP_S} {until}"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        told = [line for line in ran.stderr.splitlines() if line.startswith("QUIC")]
        if ran.returncode or not told:
            sys.exit(f"{' '.join(command)}: {ran.stderr}")
        rates = {flow["flow"]: flow["goodput_bps"] / 1e3 for flow in json.loads(ran.stdout)["flows"]}
        rates["down-G"] = float(told[0].split()[1])
        text = " ".join(f"{flow}{' (QUIC)' if flow == 'down-G' else ''} {rate:.0f}" for flow, rate in rates.items())
        print(f"{law}: {text}", flush=True)


def main() -> None:
    """Also the programs at the nodes."""
    match sys.argv[1:]:
        case ["serve", folder]:
            asyncio.run(serve(Path(folder)))
        case ["fetch", server, after, until]:
            asyncio.run(fetch(server, float(after), float(until)))
        case laws:
            for law in laws or ["none", "pfrc"]:
                emulate(law)


if __name__ == "__main__":
    main()
