"""TCP over CSMA, from the optimum to the packet: scenarios, laws and studies from Python.

>>> import evenair
>>> fair = evenair.solve("chen10/a").flows["rate_pps"]
>>> got = evenair.run("chen10/a", duration="10 s").flows["goodput_pps"]
>>> [x < 0.25 * best for x, best in zip(got, fair)]  # plain 802.11 starves the flow that hears all others
[False, True, False, False]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import _evenair, laws, testing
from ._errors import ScenarioError, StudyError, TheoryError
from ._evenair import Access, scenario_ids, schema, study_ids
from ._plot import STYLE
from ._results import Comparison, FluidRun, Result, Runs, Solution, Study
from ._run import compare, fluid, run, solve, study
from ._scenario import Builder, Scenario, ScenarioLike
from ._sweep import Swept, sweep
from ._table import Table

if TYPE_CHECKING:
    from types import ModuleType

    from . import gym as gym

_evenair.program_is(str(_evenair.__file__))

__version__: str = _evenair.version()
"""The version of evenair."""


if not TYPE_CHECKING:  # where attributes are known, and no others

    def __getattr__(name: str) -> ModuleType:
        """Load ``evenair.gym`` where it is used: it needs gymnasium and NumPy."""
        if name == "gym":
            return import_module("evenair.gym")
        message = f"module 'evenair' has no attribute {name!r}"
        raise AttributeError(message)


__all__ = [
    "STYLE",
    "Access",
    "Builder",
    "Comparison",
    "FluidRun",
    "Result",
    "Runs",
    "Scenario",
    "ScenarioError",
    "ScenarioLike",
    "Solution",
    "Study",
    "StudyError",
    "Swept",
    "Table",
    "TheoryError",
    "__version__",
    "compare",
    "fluid",
    "laws",
    "run",
    "scenario_ids",
    "schema",
    "solve",
    "study",
    "study_ids",
    "sweep",
    "testing",
]
