"""Every example in a docstring runs and prints its output."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import evenair
import pytest

MODULES = sorted(
    f"evenair.{module.name}" for module in pkgutil.iter_modules(evenair.__path__) if module.name != "_evenair"
)


@pytest.mark.parametrize("name", ["evenair", *MODULES])
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, extraglobs={"evenair": evenair}, optionflags=flags).failed == 0


def test_all_modules_are_seen() -> None:
    assert {"evenair.laws", "evenair.testing", "evenair._scenario"} <= set(MODULES)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """Load the program that makes the site's page of the module."""
    file = Path(__file__).parent.parent.parent / "docs/module.py"
    spec = importlib.util.spec_from_file_location("reference", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_all_that_is_exported_is_documented(reference: ModuleType) -> None:
    assert reference.undocumented() == []
    documented = {module: {entry.name for entry in entries} for module, entries in reference.exported().items()}
    for name, names in documented.items():
        module = importlib.import_module(name)
        own = {f"evenair.{other}" for other in module.__all__} & set(documented)
        assert names == set(module.__all__) - {other.removeprefix("evenair.") for other in own}
        for other in names:
            assert hasattr(module, other)


def test_the_reference_begins_with_run_and_names_nothing_that_is_not_there(reference: ModuleType) -> None:
    headings = [line.removeprefix("## ") for line in reference.page().splitlines() if line.startswith("## ")]
    assert headings[0] == "evenair.run"
    for heading in headings:
        assert heading in reference.MODULES or hasattr(evenair, heading.removeprefix("evenair."))
