"""Results of `evenair run` for the tables of this folder. Needs evenair built by `cargo build --release`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parent.parent.parent / "target/release/evenair"


def results(scenario: str | Path, changes: list[str], seeds: int, *options: str) -> list[dict[str, Any]]:
    """A document for each seed, by `--set` with each change."""
    command = [str(PROGRAM), "run", str(scenario), "--json", "--quiet", "--seeds", str(seeds), *options]
    for change in changes:
        command += ["--set", change]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]
