"""Extras: what they bring, and what is said where a package is missing; and the first page, which names them."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import evenair
import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "python/README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def packages(extra: str) -> set[str]:
    """Give the packages that an extra brings, those of other extras in it among them."""
    tomllib = pytest.importorskip("tomllib", reason="TOML is read by Python from 3.11 on")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    found = set()
    for needed in extras[extra]:
        others = re.fullmatch(r"evenair\[(.*)\]", needed)
        names = others.group(1).split(",") if others else []
        found |= set().union(*(packages(name) for name in names)) if names else {re.split(r"[<>=!\[; ]", needed)[0]}
    return found


def test_all_is_all() -> None:
    for extra in ("pandas", "xarray", "plot", "gym", "agents", "dask", "ray", "notebooks"):
        assert packages(extra) <= packages("all"), extra
    assert packages("all") >= {"pandas", "xarray", "matplotlib", "gymnasium", "pettingzoo", "distributed", "ray"}


def test_notebooks_bring_jupyter() -> None:
    assert {"jupyterlab", "pandas", "matplotlib"} <= packages("notebooks")


def test_the_first_page_names_extras_that_there_are() -> None:
    named = set(re.findall(r"'\.\[(\w+)\]'", README))
    assert {"all", "notebooks", "gym", "agents", "dask", "ray"} <= named
    assert all(packages(extra) for extra in named)


def test_the_first_page_imports_what_it_uses() -> None:
    known = set(dir(builtins))
    blocks = BLOCK.findall(README)
    assert len(blocks) > 3
    for block in blocks:
        # Dots stand for what the reader has.
        nodes = list(ast.walk(ast.parse(block.replace("…", "..."))))
        for node in nodes:
            if isinstance(node, ast.Import):
                known |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                known.add(node.id)
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                known.add(node.name)
            elif isinstance(node, ast.arg):
                known.add(node.arg)
        unknown = {node.id for node in nodes if isinstance(node, ast.Name)} - known
        assert not unknown, block


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("pandas", "pandas", lambda: evenair.run("chen10/a", duration="2 ms", warmup="1 ms").to_pandas()),
        ("pyarrow", "pandas", lambda: evenair.run("chen10/a", duration="2 ms", warmup="1 ms").to_pandas()),
        ("xarray", "xarray", lambda: evenair.run("chen10/a", duration="2 ms", warmup="1 ms").to_xarray()),
        ("matplotlib", "plot", lambda: evenair.run("chen10/a", duration="2 ms", warmup="1 ms").plot()),
        ("gymnasium", "gym", lambda: importlib.import_module("evenair.gym")),
        ("pettingzoo", "agents", lambda: importlib.import_module("evenair.gym").parallel_env("chen10/a")),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_extra(
    package: str, extra: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if extra == "agents":
        pytest.importorskip("gymnasium")
        importlib.import_module("evenair.gym")
        monkeypatch.delitem(sys.modules, "evenair._agents", raising=False)
    elif extra == "gym":
        monkeypatch.delitem(sys.modules, "evenair.gym", raising=False)
    elif extra == "xarray":
        pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package} is not installed; pip install 'evenair\[{extra}\]' brings it"):
        use()
