"""What runs, studies and the theory give: tables, and what draws them."""

from __future__ import annotations

import os
from html import escape
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _evenair
from ._table import Table, html_table

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from ._scenario import Scenario

_KEYS = ["variant", "x", "seed", "stage", "flow", "link", "links", "queue", "object", "time_s", "metric", "claim"]
"""What tells rows apart, from the whole to its parts; all else is measured."""
_SAID = {"from", "to", "gap"}
"""What only says more of what tells rows apart."""


class Result:
    """Some tables, by their names; each is an attribute, too."""

    main = "flows"

    def __init__(self, tables: dict[str, _evenair.Table], facts: dict[str, Any]) -> None:
        """Wrap what the library gives."""
        self.tables = {name: Table(core) for name, core in tables.items()}
        """All tables by name."""
        self._facts = facts

    def _table(self, name: str) -> Table:
        if name in self.tables:
            return self.tables[name]
        message = f"there is no table {name!r} here; there are {', '.join(self.tables)}"
        raise AttributeError(message)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- a table, or a number
        """Give a table, or a fact, by its name."""
        if name.startswith("_") or name == "tables":
            raise AttributeError(name)
        return self._facts[name] if name in self._facts else self._table(name)

    def __dir__(self) -> list[str]:
        """List tables and facts beside all else, for completion."""
        return [*super().__dir__(), *self.tables, *self._facts]

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Give a table as a pandas DataFrame; that of the flows, or of what matters most, if none is named."""
        return self._table(table or self.main).to_pandas()

    def to_xarray(self, table: str | None = None) -> xr.Dataset:
        """Give a table as an xarray Dataset: what tells rows apart are dimensions, what was measured are variables."""
        name = table or ("series" if "series" in self.tables else self.main)
        frame = self.to_pandas(name)
        keys = [key for key in self._keys() if key in frame]
        if {"object", "metric", "value"} <= set(frame.columns):  # the long form of series
            keys.remove("metric")
            frame = frame.pivot_table(index=keys, columns="metric", values="value").reset_index()
        index = [key for key in keys if frame[key].nunique() > 1] or keys[:1]
        frame = frame.drop(columns=[key for key in frame.columns if key in {*_KEYS, *_SAID, *keys} - set(index)])
        if frame.duplicated(index).any():
            message = f"rows of {name!r} are not told apart by {', '.join(index)}: take to_pandas({name!r})"
            raise ValueError(message)
        return frame.set_index(index).to_xarray()

    def _keys(self) -> list[str]:
        """Give the columns that may tell rows apart."""
        return _KEYS

    def plot(self, metric: str | None = None, *, ax: Axes | None = None, **more: object) -> Axes:
        """Draw it in the papers' style (with matplotlib: ``pip install 'evenair[plot]'``).

        Args:
            metric: What is drawn: a column of the table, a metric of the study or of the series.
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
        """Tell what is in it."""
        tables = ", ".join(f"{name} ({len(table)})" for name, table in self.tables.items())
        return f"<evenair.{type(self).__name__} {self._headline()}: {tables}>"


class Runs(Result):
    """Runs of a scenario, one for each seed; of several variants, if a sweep made them.

    ``flows`` has a row per run and flow, ``links`` one per transmit queue, ``series`` (with ``series=True``) one per
    instant, object and metric.
    """

    def __init__(
        self,
        groups: list[tuple[str, float | None, _evenair.Records]],
        name: str,
        keys: list[tuple[str, dict[str, tuple[str, float | None]]]] | None = None,
    ) -> None:
        """Make the tables of some groups of runs; ``keys`` become columns that say something of each variant."""
        super().__init__(_evenair.tables(groups, keys or []), {})
        self._groups, self._name = groups, name

    @property
    def records(self) -> list[dict[str, Any]]:
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
    """The best allocation: ``flows``, ``links`` with their prices, ``sets`` of links that transmit together.

    ``objective`` and ``bound`` are what it reaches and what none exceeds, ``residual`` how well its conditions hold.
    """

    def _headline(self) -> str:
        return f"solved by {self._facts['solver']}, residual {self._facts['residual'] or 0.0:.0e}"


class FluidRun(Result):
    """A fluid model's ``trajectory``, and where ``flows`` and ``links`` are at its end and at rest.

    ``is_stable`` and ``eigenvalues`` [1/s] are of its rest, if it has one.
    """

    def _headline(self) -> str:
        settled = "has settled" if self._facts["has_settled"] else "has not settled"
        return f"{settled}, {self._facts['steps']} steps"


class Comparison(Result):
    """What each flow gets in one world after the other: ``stages``; ``notes`` say which are missing and why."""

    main = "stages"

    def _headline(self) -> str:
        return " → ".join(dict.fromkeys(self.stages["stage"]))


class Study(Result):
    """What a study found: ``table``, ``claims``, and the runs' ``flows`` and ``links``.

    ``title`` and ``source`` say what it is; ``labels`` what its variants are called in figures.
    """

    main = "claims"

    def __init__(self, tables: dict[str, _evenair.Table], facts: dict[str, Any]) -> None:
        """Wrap what the library gives."""
        facts = dict(facts)
        self._report: str = facts.pop("report")
        facts["labels"] = dict(facts["labels"])
        super().__init__(tables, facts)

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
        return f"{self._facts['title']} ({verdicts.count('holds')} of {len(verdicts)} claims hold)"


def of_one(scenario: Scenario, records: _evenair.Records) -> Runs:
    """Give the runs of one scenario."""
    return Runs([("run", None, records)], scenario.name or "scenario")
