"""The programs of the pages of docs/ run, beside the files of their page, and print the page's output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    str(page.relative_to(DOCS)): dict(FILE.findall(page.read_text(encoding="utf-8"))) for page in DOCS.rglob("*.md")
}
PROGRAMS = [(page, name) for page, files in PAGES.items() for name in files if name.endswith(".py")]


ENGINES = {"on_dask.py": ["distributed", "pandas"], "on_ray.py": ["ray", "pandas"]}
"""Optional needs of programs."""


@pytest.mark.parametrize(("page", "program"), PROGRAMS)
def test_program(page: str, program: str, tmp_path: Path) -> None:
    for needed in ENGINES.get(program, []):
        pytest.importorskip(needed)
    for name, text in PAGES[page].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, after = (DOCS / page).read_text(encoding="utf-8").split(f'title="{program}"')
    printed = PRINTED.search(after)
    assert printed, f"{page} does not show the output of {program}"
    assert done.stdout == printed.group(1)


def test_there_are_programs() -> None:
    assert PROGRAMS
