"""Every example in a docstring does what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

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
