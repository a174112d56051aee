"""Results of runs, studies and the theory: tables, and their figures."""

from __future__ import annotations

import os
from html import escape
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from . import _evenair
from ._extras import brought_by
from ._table import Table, counted, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from ._scenario import Scenario
    from ._typed import (
        Claims,
        ComparedStages,
        FluidFlows,
        FluidLinks,
        GatewayClasses,
        GatewayLooks,
        Run,
        RunFlows,
        RunFrames,
        RunLinks,
        RunSeeds,
        RunSeries,
        RunVerdict,
        SolvedConflicts,
        SolvedFlows,
        SolvedLinks,
        SolvedSetLinks,
        SolvedSets,
        StudyDocument,
        StudyTable,
    )

_KEYS = ["variant", "x", "seed", "stage", "flow", "link", "links", "queue", "object", "time_s", "metric", "claim"]
"""The key columns, from the whole to its parts; all else is measured."""
_SAID = {"from", "to", "gap"}
"""Columns that only describe the key columns."""


class Result:
    """Some tables, by their names; each is an attribute, too."""

    main: ClassVar[str] = "flows"
    """The table that is meant where none is named."""

    def __init__(self, tables: list[tuple[str, _evenair.Table]]) -> None:
        """Wrap the library's objects."""
        self.tables: dict[str, Table] = {name: Table(core) for name, core in tables}
        """All tables by name."""
        vars(self).update(self.tables)

    def _table(self, name: str) -> Table:
        if name in self.tables:
            return self.tables[name]
        message = f"there is no table {name!r} here; there are {', '.join(self.tables)}"
        raise AttributeError(message)

    if not TYPE_CHECKING:  # where attributes are known, and no others

        def __getattr__(self, name: str) -> Table:
            """Say which tables there are."""
            if name.startswith("_") or name == "tables":
                raise AttributeError(name)
            return self._table(name)

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Give a table as a pandas DataFrame; by default that of the flows, or the main one."""
        return self._table(table or self.main).to_pandas()

    def to_xarray(self, table: str | None = None) -> xr.Dataset:
        """Give a table as an xarray Dataset: key columns are dimensions, measured ones are variables."""
        name = table or ("series" if "series" in self.tables else self.main)
        with brought_by("xarray", "to_xarray"):
            import xarray  # noqa: F401 -- pandas' own message names no extra
        frame = self.to_pandas(name)
        keys = [key for key in self._keys() if key in frame]
        if {"object", "metric", "value"} <= set(frame.columns):  # the long form of series
            keys.remove("metric")
            frame = frame.pivot_table(index=keys, columns="metric", values="value").reset_index()
        index = [key for key in keys if frame[key].nunique() > 1] or keys[:1]
        frame = frame.drop(columns=[key for key in frame.columns if key in {*_KEYS, *_SAID, *keys} - set(index)])
        if frame.duplicated(index).any():
            message = f"rows of {name!r} are not unique by {', '.join(index)}: take to_pandas({name!r})"
            raise ValueError(message)
        return frame.set_index(index).to_xarray()

    def _keys(self) -> list[str]:
        """Give the columns that may tell rows apart."""
        return _KEYS

    def plot(self, metric: str | None = None, *, ax: Axes | None = None, **more: object) -> Axes:
        """Draw it in the papers' style (with matplotlib: ``pip install 'evenair[plot]'``).

        Args:
            metric: The quantity to draw: a column of the table, a metric of the study or of the series.
            ax: Where; in a figure of its own, if it is not given.
            **more: For matplotlib, such as ``alpha=0.5``; of a sweep ``x``, the varied key along the axis.
        """
        from . import _plot

        return _plot.plot(self, metric, ax, **more)

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self._headline())}</b></p>{html_table(self._table(self.main))}"

    def _headline(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """Describe its contents."""
        tables = ", ".join(f"{name} ({len(table)})" for name, table in self.tables.items())
        return f"<evenair.{type(self).__name__} {self._headline()}: {tables}>"


class Runs(Result):
    """Runs of a scenario, one for each seed; of several variants, if a sweep made them.

    Columns say their units last in their names: ``goodput_pps`` [packets/s], ``delay_s`` [s].
    """

    flows: RunFlows
    """A row per run and flow."""
    links: RunLinks
    """A row per run and transmit queue."""
    series: RunSeries
    """A row per instant, object and metric, with ``series=True``."""
    classes: GatewayClasses
    """A row per class of the gateway, where there is one."""
    gateway: GatewayLooks
    """A row per look of the gateway and class, with ``series=True``."""
    frames: RunFrames
    """A row per frame of the window given as ``timeline``."""

    def __init__(
        self,
        groups: list[tuple[str, float | None, _evenair.Records]],
        name: str,
        keys: list[tuple[str, list[tuple[str, tuple[str, float | None]]]]] | None = None,
        scenarios: Mapping[str, Scenario] | None = None,
    ) -> None:
        """Make the tables of some groups of runs; ``keys`` become columns that say something of each variant."""
        super().__init__(_evenair.tables(groups, keys or []))
        self._groups, self._name, self._scenarios = groups, name, scenarios or {}

    def verdict(self, variant: str | None = None) -> RunVerdict:
        """Tell which flows starve, why, and which settings to try; of the first variant, if none is named.

        The reasons are from the airtime ledger, which `evenair.run` keeps, and `evenair.sweep` with ``ledger=True``.

        >>> found = evenair.run("jam10/chain", duration="30 s").verdict()
        >>> found["starving"], [flow["flow"] for flow in found["flows"] if flow["standing"] == "starves"]
        (1, ['3'])
        """
        names = [name for name, _, _ in self._groups]
        name = names[0] if variant is None else variant
        if name not in names:
            message = f"there is no variant {name!r}; there are {', '.join(names)}"
            raise ValueError(message)
        return _evenair.verdict(self._scenarios[name]._core, self._groups[names.index(name)][2])

    @property
    def records(self) -> list[Run]:
        """All that is kept of each run, as `evenair run --json` prints it."""
        return [record for _, _, records in self._groups for record in records.to_dicts()]

    @property
    def seeds(self) -> list[int]:
        """The seeds of the first variant."""
        return self._groups[0][2].seeds

    @property
    def events(self) -> int:
        """How many events were handled in all."""
        return sum(records.events for _, _, records in self._groups)

    def mean(self, metric: str = "goodput_pps") -> dict[str, float]:
        """Give the mean over runs of a column of ``flows``, by flow; of a flow that has none, it is not a number.

        >>> runs = evenair.run("chen10/a", seeds=2, duration="1 s", warmup="0 s")
        >>> list(runs.mean())
        ['1', '2', '3', '4']
        """
        sums: dict[str, list[float]] = {}
        for flow, value in zip(self.flows["flow"], self.flows[metric], strict=True):
            if isinstance(value, str):
                message = f"{metric!r} is a column of words: there is no mean of them"
                raise TypeError(message)
            sums.setdefault(flow, []).extend([] if value is None else [value])
        return {flow: sum(values) / len(values) if values else nan for flow, values in sums.items()}

    def _headline(self) -> str:
        count = sum(len(records) for _, _, records in self._groups)
        return f"{self._name}: {count} {'run' if count == 1 else 'runs'}"


class Solution(Result):
    """The best allocation: rates of flows, prices of links, and which of them transmit together."""

    flows: SolvedFlows
    """A row per flow: its rate, and its rate alone."""
    links: SolvedLinks
    """A row per link: its price, its load, the share of time that it needs."""
    conflicts: SolvedConflicts
    """A row per pair of links that may not transmit at once."""
    sets: SolvedSets
    """A row per set of links that transmit together, with its share of time, where sets are known."""
    set_links: SolvedSetLinks
    """A row per set and link of it."""

    def __init__(self, tables: list[tuple[str, _evenair.Table]], facts: _evenair.SolutionFacts) -> None:
        """Wrap the library's objects."""
        super().__init__(tables)
        self.objective: float | None = facts.objective
        """The objective's value, in the unit of the utilities' sum; None of max-min fairness and of a fixed point."""
        self.bound: float | None = facts.bound
        """An upper bound of any allocation, in the same unit."""
        self.solver: str = facts.solver
        """Which solver found it: "own" or "clarabel"."""
        self.residual: float | None = facts.residual
        """How far the conditions of an optimum are from being met at worst, relative; None, where it has none."""

    def _headline(self) -> str:
        return f"solved by {self.solver}, residual {self.residual or 0.0:.0e}"


class FluidRun(Result):
    """A fluid model's way, its end, and where it rests."""

    flows: FluidFlows
    """A row per flow, at the end and at rest."""
    links: FluidLinks
    """A row per link, at the end."""
    trajectory: Table
    """A row per instant: ``time_s``, each component of the state, and each flow's rate as ``rate_pps[flow]``."""

    def __init__(self, tables: list[tuple[str, _evenair.Table]], facts: _evenair.FluidFacts) -> None:
        """Wrap the library's objects."""
        super().__init__(tables)
        self.has_settled: bool = facts.has_settled
        """Whether its end is its rest, within a thousandth, and no link is overloaded there."""
        self.warning: str | None = facts.warning
        """The reason why its rates cannot be carried, if there is one."""
        self.lacks: str | None = facts.lacks
        """The part of the scenario's MAC that the model lacks, such as hidden terminals; None, if it has all."""
        self.steps: int = facts.steps
        """How many steps the integrator took."""
        self.corners: int = facts.corners
        """At how many corners of the drift it stopped."""
        self.is_stable: bool | None = facts.is_stable
        """Whether it returns to its rest from near by; None, if it rests nowhere close to its end."""
        self.eigenvalues: list[tuple[float, float]] | None = facts.eigenvalues
        """Real and imaginary parts of its eigenvalues there [1/s], the greatest real part first."""

    def _headline(self) -> str:
        settled = "has settled" if self.has_settled else "has not settled"
        return f"{settled}, {counted(self.steps, 'step')}"


class Comparison(Result):
    """Each flow's rate in one world after the other."""

    main = "stages"
    stages: ComparedStages
    """A row per world and flow."""

    def __init__(self, tables: list[tuple[str, _evenair.Table]], facts: _evenair.ComparisonFacts) -> None:
        """Wrap the library's objects."""
        super().__init__(tables)
        self.notes: list[str] = facts.notes
        """Which worlds are missing, and why."""
        self.senders_time: list[tuple[str, float]] = facts.senders_time
        """Where the senders' time goes in the last world: its use, and its share."""

    def _headline(self) -> str:
        return " → ".join(dict.fromkeys(self.stages["stage"]))


class Study(Result):
    """A study's findings."""

    main = "claims"
    claims: Claims
    """A row per claim: the measured value, the requirement, and the verdict."""
    table: StudyTable
    """A row per variant, flow and metric: means over seeds beside the paper's numbers."""
    flows: RunFlows
    """A row per run and flow."""
    links: RunLinks
    """A row per run and transmit queue."""
    seeds: RunSeeds
    """A row per run."""
    series: RunSeries
    """A row per instant, object and metric, where the study takes series."""
    classes: GatewayClasses
    """A row per class of a gateway, where there is one."""
    gateway: GatewayLooks
    """A row per look of a gateway and class, where series are taken."""
    frames: RunFrames
    """A row per frame of the study's window of the air, where it has one."""

    def __init__(self, tables: list[tuple[str, _evenair.Table]], facts: _evenair.StudyFacts) -> None:
        """Wrap the library's objects."""
        super().__init__(tables)
        self.id: str = facts.id
        """Its id, such as "chen10/table-6-1"."""
        self.title: str = facts.title
        """Its title."""
        self.source: str = facts.source
        """Where in which paper it comes from."""
        self.about: str = facts.about
        """Its description."""
        self.labels: dict[str, str] = dict(facts.labels)
        """The names of its variants in figures, by id."""
        self.result: StudyDocument = facts.result
        """All that it found, as ``evenair study --json`` prints it."""
        self._report = facts.report

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return "fails" not in self.claims["verdict"]

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Write its report, a page that works offline."""
        Path(file).write_text(self._report, encoding="utf-8")
        return Path(file)

    def _headline(self) -> str:
        verdicts = self.claims["verdict"]
        return f"{self.title} ({verdicts.count('holds')} of {counted(len(verdicts), 'claim')} hold)"


def of_one(scenario: Scenario, records: _evenair.Records) -> Runs:
    """Give the runs of one scenario."""
    return Runs([("run", None, records)], scenario.name or "scenario", scenarios={"run": scenario})
