#!/usr/bin/env python3
"""The kernel's own tcp_vegas (Debian's Linux 6.1) alone over a wire of 2 Mb/s: where its window rests.

    python3 validation/kernel/vegas.py > validation/kernel/vegas.txt

The machine's kernel has no tcp_vegas, so Debian's runs in qemu (lab/foreign.sh, which names what it needs, and fetches
the kernel), beside a C compiler. Time there is counted in instructions (-icount): no load of this machine disturbs it,
and what waits takes no time, so that nine cases of thirty seconds are over in one minute. vegas.c says what the numbers
of a line are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CASES = 9


def main() -> None:
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
