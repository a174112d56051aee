"""Figures of pages, drawn while the site is built by the commands that stand below them.

A caption that names its command cannot lie if the figure is what that command makes, and a figure that is made each
time shows what the program finds today. Pictures in git would do neither, and every change of a colour would be a
change of files. It costs half a minute of the test command: captions ask for quick forms, with a few seeds.

A figure is `![what it is](figures/NAME.svg)`, in the folder of its page; the commands between backticks in its
caption, the paragraph below that ends with `{ .caption }`, make NAME.svg, or, where it has none, those of the page's
`sh` blocks above. They run beside the files that the page shows. The drawing goes into the page itself, where the
site's colours reach it, light or dark. A drawing that lies in docs/ for the README must be what the commands make;
`EVENAIR_BLESS=1` writes it anew. `docs/pages.py` asks for the figures of each page; `EVENAIR` names the program.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).parent
PROGRAM = os.environ.get("EVENAIR", "evenair")
FIGURE = re.compile(r"^!\[[^\]]*\]\(figures/([\w-]+\.svg)\)(?=(?:\n\n((?:.+\n)+)\{ \.caption \})?)", re.MULTILINE)
COMMAND = re.compile(r"`evenair ([^`]+)`")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)


def drawn(markdown: str) -> str:
    """A page with its figures."""
    with TemporaryDirectory() as folder:
        for name, contents in FILE.findall(markdown):
            (Path(folder) / name).write_text(contents, encoding="utf-8")
        run: set[str] = set()

        def drawing(figure: re.Match[str]) -> str:
            name, caption = figure.groups()
            blocks = "\n".join(BLOCK.findall(markdown[: figure.start()]))
            for command in COMMAND.findall(caption or "") or re.findall(r"^evenair (.+)$", blocks, re.MULTILINE):
                if command not in run:
                    make(command, folder)
                    run.add(command)
            for kept in DOCS.glob("*.svg"):
                check(kept, Path(folder) / kept.name)
            svg = (Path(folder) / name).read_text(encoding="utf-8")
            return f'<div class="drawing" data-search-exclude>\n{svg}</div>'

        return FIGURE.sub(drawing, markdown)


def check(kept: Path, made: Path) -> None:
    """Compares a drawing in git with what was made."""
    if not made.exists() or kept.read_bytes() == made.read_bytes():
        return
    if not os.environ.get("EVENAIR_BLESS"):
        raise SystemExit(f"{kept} is not what the commands of its page draw: EVENAIR_BLESS=1 cargo xtask docs")
    kept.write_bytes(made.read_bytes())


def make(command: str, folder: str) -> None:
    """Runs a command of the program in a folder."""
    made = subprocess.run([PROGRAM, *shlex.split(command), "--quiet"], cwd=folder, capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(f"evenair {command}\n{made.stderr}")
