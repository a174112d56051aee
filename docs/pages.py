"""Lays out the pages of the site: those of docs/ with their figures, and those that are made from the program.

`python docs/pages.py FOLDER` fills a folder with plain Markdown: no page hangs on the builder of the site.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import figures
import reference

DOCS = Path(__file__).parent
# What stands beside the pages and is not of the site: recipes are of CONTRIBUTING.md, drawings of the README.
OTHERS = {".py", ".rs", ".svg"}


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for source in sorted(path for path in DOCS.rglob("*") if path.is_file() and path.suffix not in OTHERS):
        target = folder / source.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(figures.drawn(source.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copy(source, target)
    for name, text in reference.pages().items():
        target = folder / "reference" / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    verdicts = folder / "papers" / "verdicts.md"
    verdicts.write_text(reference.told("verdicts", "--markdown", "--stale"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
