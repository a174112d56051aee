"""Figures of the papers' pages, drawn while the site is built by the commands that stand below them.

A caption that names its command cannot lie if the figure is what that command makes, and a figure that is made each
time shows what the program finds today. Pictures in git would do neither, and every change of a colour would be a
change of files. It costs half a minute of the test command: captions ask for quick forms, with a few seeds.

A figure is `![what it is](figures/NAME.svg)`, in the folder of its page; the commands between backticks in its
caption, the paragraph below that ends with `{ .caption }`, make NAME.svg, or, where it has none, those of the page's
`sh` blocks above. They run beside the files that the page shows. MkDocs calls `on_files` while it builds the site;
`EVENAIR` names the program.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PROGRAM = os.environ.get("EVENAIR", "evenair")
FIGURE = re.compile(r"^!\[[^\]]*\]\(figures/([\w-]+\.svg)\)(?:\n\n((?:.+\n)+)\{ \.caption \})?", re.MULTILINE)
COMMAND = re.compile(r"`evenair ([^`]+)`")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the figures of all pages."""
    for page in [file for file in files if file.is_documentation_page() and file.abs_src_path]:
        text = Path(page.abs_src_path).read_text(encoding="utf-8")
        for name, drawing in drawings(text):
            uri = (Path(page.src_uri).parent / "figures" / name).as_posix()
            files.append(File.generated(config, uri, content=drawing))
    return files


def drawings(text: str) -> Iterator[tuple[str, str]]:
    """The figures of a page, by name."""
    with TemporaryDirectory() as folder:
        for name, contents in FILE.findall(text):
            (Path(folder) / name).write_text(contents, encoding="utf-8")
        run: set[str] = set()
        for figure in FIGURE.finditer(text):
            name, caption = figure.groups()
            blocks = "\n".join(BLOCK.findall(text[: figure.start()]))
            for command in COMMAND.findall(caption or "") or re.findall(r"^evenair (.+)$", blocks, re.MULTILINE):
                if command not in run:
                    make(command, folder)
                    run.add(command)
            yield name, (Path(folder) / name).read_text(encoding="utf-8")


def make(command: str, folder: str) -> None:
    """Runs a command of the program in a folder."""
    made = subprocess.run([PROGRAM, *shlex.split(command), "--quiet"], cwd=folder, capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(f"evenair {command}\n{made.stderr}")
