"""What evenair does with a scenario."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _evenair
from ._results import Comparison, FluidRun, Runs, Solution, Study, of_one
from ._scenario import Scenario, ScenarioLike, toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Progress: TypeAlias = "Callable[[int, int], object] | None"
"""Called with how many runs are done, and of how many."""


def _seconds(time: float | str) -> float:
    """Read a time: seconds, or words such as "10 ms"."""
    return _evenair.seconds(time) if isinstance(time, str) else float(time)


def scenario(source: ScenarioLike, changes: Mapping[str, Any]) -> Scenario:
    """Read a scenario and change it."""
    read = source if isinstance(source, Scenario) else Scenario(source)
    return read.with_(**changes) if changes else read


def run(
    source: ScenarioLike,
    *,
    seeds: int = 1,
    first_seed: int | None = None,
    precision: float | None = None,
    series: bool = False,
    every: float | str = 1.0,
    ledger: bool = False,
    timeline: tuple[float | str, float | str] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    **changes: object,
) -> Runs:
    """Simulate a scenario, frame by frame, with one or more seeds over all cores.

    Ctrl-C ends it; the interpreter's lock is free meanwhile, unless a law is written in Python.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        seeds: How many seeds; the fewest, if a precision is asked for.
        first_seed: The first of them; the scenario's own, if it is not given.
        precision: Go on until each flow's goodput is known this well: half of its 95 % interval over the largest.
        series: Keep time series, in ``.series``.
        every: How often queues and windows are sampled, in seconds or words.
        ledger: Keep where each transmitter's time went, in ``.links``.
        timeline: Record every frame between two instants, in ``.records``.
        threads: How many; as many as there are cores, if it is not given.
        progress: Called with how many runs are done, and of how many.
        **changes: Changes of the scenario, as `Scenario.with_` takes them.

    >>> runs = evenair.run("chen10/a", seeds=2, duration="2 s", warmup="1 s")
    >>> runs.seeds
    [1, 2]
    >>> sorted(runs.mean(), key=runs.mean().get)[0]  # who hears all others starves
    '2'
    """
    made = scenario(source, changes)
    window = None if timeline is None else (_seconds(timeline[0]), _seconds(timeline[1]))
    records = _evenair.run(
        made._core, first_seed, seeds, precision, series, _seconds(every), ledger, window, threads, progress
    )
    return of_one(made, records)


def solve(
    source: ScenarioLike,
    objective: str = "fair",
    *,
    alpha: float = 2.0,
    region: str = "exact",
    solver: str = "own",
    beta: float | None = None,
    **changes: object,
) -> Solution:
    """Find the best allocation.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        objective: "fair", "fixed-point", "proportional", "alpha-fair" or "max-min".
        alpha: How much fairness counts, for "alpha-fair".
        region: Which rates are possible together: "exact", "cliques" or "collision-domains".
        solver: "own", or "clarabel" for a second opinion.
        beta: Add CSMA's entropy with the weight 1/beta.
        **changes: Changes of the scenario.

    >>> solution = evenair.solve("chen10/a")
    >>> [round(rate) for rate in solution.flows["rate_pps"]]
    [354, 158, 177, 177]
    """
    return Solution(*_evenair.solve(scenario(source, changes)._core, objective, alpha, region, solver, beta))


def fluid(source: ScenarioLike, **changes: object) -> FluidRun:
    """Follow the fluid model of a scenario's laws until it should have settled, and look for its rest.

    >>> run = evenair.fluid("chen10/a", backoff__law="adaptive", connections__k=10)
    >>> run.is_stable
    True
    """
    return FluidRun(*_evenair.fluid(scenario(source, changes)._core))


def compare(source: ScenarioLike, *, seeds: int = 5, progress: Progress = None, **changes: object) -> Comparison:
    """Take one idealisation after the other away, from the optimum to 802.11, and see what each flow gets.

    >>> stages = evenair.compare("chen10/a", seeds=1, duration="2 s", warmup="0 s").stages
    >>> list(dict.fromkeys(stages["stage"]))
    ['fair optimum', 'ideal CSMA', '802.11']
    """
    return Comparison(*_evenair.compare(scenario(source, changes)._core, seeds, progress))


def study(
    name: str | os.PathLike[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    variants: Iterable[str] = (),
    precision: float | None = None,
    keep: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    **changes: object,
) -> Study:
    """Conduct a study: a built-in one by its id, or your own file.

    Args:
        name: Its id or its file.
        quick: A short version, for a look.
        seeds: How many seeds.
        variants: Only these.
        precision: More seeds until goodputs are known this well.
        keep: A folder for finished runs: they are found there the next time, by the same build of evenair.
        threads: How many.
        progress: Called with how many runs are done, and of how many.
        **changes: Changes of every variant's scenario.

    >>> found = evenair.study("chen10/table-6-1", quick=True, duration="5 s")
    >>> "verdict" in found.claims
    True
    """
    overrides = [f"{key.replace('__', '.')}={toml(value)}" for key, value in changes.items()]
    with tempfile.TemporaryDirectory() as folder:
        return Study(
            *_evenair.study(
                os.fspath(name),
                str(keep or folder),
                quick,
                overrides,
                seeds,
                list(variants),
                precision,
                threads,
                progress,
            )
        )
