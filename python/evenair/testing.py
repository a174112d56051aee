"""Tests for laws of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _evenair

if TYPE_CHECKING:
    from .laws import Law

__all__ = ["check_law"]


def check_law(law: Law, seeds: int = 10) -> None:
    """Drive a law through the suite that every built-in law of its family passes.

    Measurements are arbitrary, extremes included: no time between two updates, nothing served, counters
    beyond all that a run has. Each seed is one sequence of them.

    Raises:
        AssertionError: An answer leaves its bounds, or the same measurements make another answer or another state:
            a law must not draw random numbers, and not read the state of other laws.
        Exception: Any exception of the law.

    >>> class Wild(evenair.laws.RateLaw):
    ...     def on_interval(self, flow):
    ...         return -1.0
    >>> evenair.testing.check_law(Wild())
    Traceback (most recent call last):
    ...
    ValueError: a rate of -1.0: give bit/s, from 0 to 1e15
    """
    _evenair.check_law(law, seeds)
