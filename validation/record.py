#!/usr/bin/env python3
"""Runs a measurement and keeps the table that it prints, for the page that shows it.

    validation/record.py NAME COMMAND...

Writes validation/tables/NAME.json: the command, the commit of the clone, the day, the machine, and the first table in
Markdown that the command prints. Of its columns those stay that the file has already; of a new file all.
`EVENAIR_BLESS=1 cargo xtask tidy` then puts the table into its page.
"""

from __future__ import annotations

import datetime
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def cells(line: str) -> list[str]:
    """The cells of a row in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the first table in a text."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        sys.exit("cannot record: the command prints no table in Markdown")
    columns = cells(lines[0])
    rows = [cells(line) for line in lines[2:]]
    return columns, [row for row in rows if len(row) == len(columns)]


def chosen(columns: list[str], rows: list[list[str]], path: Path) -> tuple[list[str], list[list[str]]]:
    """The columns that the file has already."""
    if not path.exists():
        return columns, rows
    kept = json.loads(path.read_text(encoding="utf-8"))["columns"]
    missing = [column for column in kept if column not in columns]
    if missing:
        sys.exit(f"cannot record: the command prints no column {missing[0]!r}; it prints {', '.join(columns)}")
    return kept, [[row[columns.index(column)] for column in kept] for row in rows]


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    name, command = sys.argv[1], sys.argv[2:]
    path = ROOT / "validation/tables" / f"{name}.json"
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, end="")
    columns, rows = chosen(*table(done.stdout), path)
    head = {
        "command": shlex.join(command),
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores",
        "columns": columns,
    }
    keys = "".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in head.items())
    lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f'{{\n{keys}  "rows": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
