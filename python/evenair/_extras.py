"""Packages that an extra of evenair brings, and what is said where one is missing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def brought_by(extra: str, user: str) -> Iterator[None]:
    """Name the extra that brings a package, where an import within fails for lack of it; ``user`` is what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "evenair":
            raise
        message = f"{user}: {package} is not installed; pip install 'evenair[{extra}]' brings it"
        raise ImportError(message, name=package) from None
