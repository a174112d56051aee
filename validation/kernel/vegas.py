#!/usr/bin/env python3
"""The kernel's own tcp_vegas (Debian's Linux 6.1) alone over a wire of 2 Mb/s: where its window rests.

    python3 validation/kernel/vegas.py > validation/kernel/vegas.txt
    sudo python3 validation/kernel/vegas.py --ours

The machine's kernel has no tcp_vegas, so Debian's runs in qemu (lab/foreign.sh, which names what it needs, and fetches
the kernel), beside a C compiler. Time there is counted in instructions (-icount): no load of this machine disturbs it,
and what waits takes no time, so that nine cases of thirty seconds are over in one minute. vegas.c says what the numbers
of a line are.

With `--ours` it is this machine's kernel and evenair's law in it, over the emulator's wires, the three round trips at
once: thresholds, round trip [ms], mean window [packets] and packets/s of the last ten of thirty seconds. It needs what
`beside.py` needs, loads vegas and unloads it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import beside

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
THRESHOLDS, ROUND_TRIPS_MS = ((2, 4), (8, 8), (19, 21)), (20, 40, 100)
CASES = len(THRESHOLDS) * len(ROUND_TRIPS_MS)
# 2 Mb/s for frames of 1514 bytes are so much for packets of 1500.
RATE_MBPS = 2 * 1500 / 1514


def ours() -> None:
    """evenair's law in the kernel, over the same paths."""
    try:
        for number, (alpha, beta) in enumerate(THRESHOLDS):
            settings = [f"alpha={alpha}", f"beta={beta}", "gamma=1", "measure=linux"]
            verb = ["load", "vegas", *(f"--set={setting}" for setting in settings)]
            words = [beside.EVENAIR, "cc", *(["set", "vegas", *settings] if number else verb)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            for flow in beside.run(paths(alpha, beta))["flows"]:
                told = f"{flow['congestion_window']:.2f} {flow['goodput_pps']:.1f}"
                print(alpha, beta, flow["flow"], told, flush=True)
    finally:
        subprocess.run([beside.EVENAIR, "cc", "unload", "vegas"], stdout=subprocess.DEVNULL)


def paths(alpha: int, beta: int) -> str:
    """A scenario of three wires with a flow each."""
    nodes, wires, flows = [], [], []
    for ms in ROUND_TRIPS_MS:
        ends = f'from = "s{ms}", to = "r{ms}"'
        nodes += [f'{{ id = "s{ms}" }}', f'{{ id = "r{ms}" }}']
        wires.append(f'{{ {ends}, rate = "{RATE_MBPS} Mbps", delay = "{ms / 2} ms", queue = "500 packets" }}')
        flows.append(f'{{ id = "{ms}", {ends} }}')
    lists = {"nodes": nodes, "wires": wires, "flows": flows}
    return (
        'name = "Vegas"\nwarmup = "20 s"\nduration = "10 s"\n'
        + "".join(f"{name} = [{', '.join(items)}]\n" for name, items in lists.items())
        + '[tcp]\npayload = "1448 bytes"\nreceiver_window = "2000 packets"\ntimestamps = true\nsack = true\n'
        f'window = {{ law = "vegas", alpha = {alpha}.0, beta = {beta}.0, gamma = 1.0, measure = "linux" }}\n'
    )


def main() -> None:
    if sys.argv[1:] == ["--ours"]:
        ours()
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "vegas"
        subprocess.run(["cc", "-O2", "-Wall", "-o", program, HERE / "vegas.c"], check=True)
        lab = ["sh", ROOT / "lab/foreign.sh", ROOT / "target/foreign", program]
        clock = {"FOREIGN_QEMU": "-icount shift=3,sleep=off", "FOREIGN_SECONDS": "900"}
        done = subprocess.run(lab, env={**os.environ, **clock}, capture_output=True, text=True, errors="replace")
    lines = [line.partition("vegas: ")[2] for line in done.stdout.splitlines() if line.startswith("vegas: ")]
    if done.returncode != 0 or len(lines) != CASES:
        sys.exit(done.stdout + done.stderr)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
