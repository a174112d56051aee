"""Sweeps: some keys of a scenario varied, over all cores or over a cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from . import _evenair
from ._engines import Job, engine, gather
from ._results import Runs
from ._run import Progress, joined, scenario, seconds, whole
from .laws import Law

if TYPE_CHECKING:
    from ._scenario import Scenario, ScenarioLike


class Swept(Runs):
    """Runs at every point of a sweep; each table has a column per varied key.

    Columns of varied keys have the keys' names, such as ``connections.k``.
    """

    points: dict[str, Scenario]
    """The scenarios by name."""
    keys: list[str]
    """The varied keys."""
    axis: str | None
    """The key along which figures are drawn: that with the most values, all of them numbers."""

    def __init__(
        self, points: dict[str, Scenario], values: list[dict[str, object]], records: list[_evenair.Records]
    ) -> None:
        """Put the runs of all points together; ``values`` are the keys and values of each."""
        axis = _axis(values)
        groups = []
        for name, chosen, kept in zip(points, values, records, strict=True):
            x = chosen.get(axis) if axis is not None else None
            groups.append((name, float(x) if isinstance(x, (int, float)) else None, kept))
        keys = {key: None for chosen in values for key in chosen}
        columns = [
            (key, [(name, _cell(chosen[key])) for name, chosen in zip(points, values, strict=True)])
            for key in keys
            if key != "seed"  # the tables have it
        ]
        super().__init__(groups, f"sweep over {' and '.join(keys)}", columns, points)
        self.points, self.axis, self.keys = points, axis, list(keys)

    def _keys(self) -> list[str]:
        """Key rows by the varied keys, not by the names of the points."""
        return list(dict.fromkeys([*self.keys, *(key for key in super()._keys() if key not in ("variant", "x"))]))


def _axis(values: list[dict[str, object]]) -> str | None:
    """Give the key along the axis of figures: that with the most values, all of them numbers."""
    counts = {
        key: len({repr(chosen[key]) for chosen in values})
        for key in values[0]
        if all(isinstance(chosen[key], (int, float)) and not isinstance(chosen[key], bool) for chosen in values)
    }
    return max(counts, key=lambda key: counts[key], default=None)


def _cell(value: object) -> tuple[str, float | None]:
    return _words(value), float(value) if isinstance(value, (int, float)) else None


def _words(value: object) -> str:
    if isinstance(value, Law):
        return f"{type(value).__name__}({value._state()})"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_words(entry)}" for key, entry in value.items())
    return str(value)


def sweep(
    source: ScenarioLike,
    vary: Mapping[str, Iterable[object]],
    *,
    seeds: int = 5,
    precision: float | None = None,
    paired: bool = False,
    series: bool = False,
    every: float | str = 1.0,
    ledger: bool = False,
    executor: object = None,
    keep: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    **changes: object,
) -> Swept:
    """Run a scenario with some keys varied, each value with each, or the first with the first (``paired``).

    Values are those that `Scenario.with_` takes: words, numbers, tables, laws of one's own.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        vary: The values of each key.
        seeds: How many seeds at each point.
        precision: More seeds until goodputs are known this well.
        paired: Pair the keys' values instead of combining each with each.
        series: Keep time series.
        every: How often queues and windows are sampled.
        ledger: Keep where each transmitter's time went.
        executor: Where the runs are done, if not on this process's threads: "dask" or "ray", which is the cluster that
            these are set up for, or else this machine; a client of dask.distributed, the module ``ray``, or an
            executor of `concurrent.futures`. Results are the same, wherever they come from.
        keep: A folder for finished runs: a sweep that was ended early goes on where it was.
        threads: How many, without an executor.
        progress: Called with how many runs are done, and of how many.
        **changes: Changes at every point.

    Raises:
        ScenarioError: The scenario, or a change of it, is not right.
        ImportError: The executor that is named is not installed.
        TypeError, ValueError: An argument is not right.

    >>> found = evenair.sweep("chen10/a", {"connections.k": [5, 20]}, seeds=2, duration="2 s", warmup="0 s")
    >>> found.flows.columns[:4]
    ['variant', 'connections.k', 'x', 'seed']
    >>> list(found.points)
    ['connections.k=5', 'connections.k=20']
    """
    whole(1, seeds=seeds, threads=threads)
    every_s = seconds(every=every)
    base = scenario(source, changes)
    values = _points(vary, paired)
    points = {", ".join(f"{key}={_words(value)}" for key, value in p.items()): base.with_(p) for p in values}
    if len(points) < len(values):
        message = "two points are the same: leave one of them out"
        raise ValueError(message)
    if executor is None:
        with tempfile.TemporaryDirectory() as folder:
            cores = [(name, point._core) for name, point in points.items()]
            options = (seeds, precision, series, every_s, ledger, None, str(keep or folder), threads, progress)
            return Swept(points, values, _evenair.sweep(cores, *options))
    if precision is not None or keep is not None or threads is not None:
        message = "precision, keep and threads are of sweeps without an executor: leave them out, or the executor"
        raise ValueError(message)
    jobs: list[Job] = [
        (point, point.seed + i, series, every_s, ledger) for point in points.values() for i in range(seeds)
    ]
    with engine(executor) as ready:
        done = [_evenair.Records.from_bytes(result) for result in gather(ready, one_run, jobs, progress)]
    return Swept(points, values, [joined(done[first : first + seeds]) for first in range(0, len(done), seeds)])


def _points(vary: Mapping[str, Iterable[object]], paired: bool) -> list[dict[str, object]]:
    example = "give keys and their values, such as {'connections.k': [5, 10, 20]}"
    if not isinstance(vary, Mapping):
        message = f"{vary!r} names no key to vary: {example}"
        raise TypeError(message)
    for key, values in vary.items():
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
            message = f"{key} has one value, {values!r}: {example}"
            raise TypeError(message)
    lists: dict[str, Sequence[object]] = {key: list(values) for key, values in vary.items()}
    if not lists:
        message = f"nothing is varied: {example}"
        raise ValueError(message)
    for key, values in lists.items():
        if not values:
            message = f"{key} has no values, so that nothing is varied: {example}"
            raise ValueError(message)
    if not paired:
        return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    if len({len(values) for values in lists.values()}) > 1:
        counts = ", ".join(f"{key} has {len(values)}" for key, values in lists.items())
        message = f"pairs need as many values of each key: {counts}"
        raise ValueError(message)
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def one_run(point: Scenario, seed: int, series: bool, every_s: float, ledger: bool) -> bytes:
    """Do one run, in any process, and give its stored part."""
    return _evenair.run(point._core, seed, 1, None, series, every_s, ledger, None, 1, None).to_bytes()
