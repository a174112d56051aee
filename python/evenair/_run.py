"""Runs, theory and studies of a scenario."""

from __future__ import annotations

import inspect
import operator
import os
import tempfile
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _evenair
from ._results import Comparison, FluidRun, Runs, Solution, Study, of_one
from ._scenario import Scenario, ScenarioLike, entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Progress: TypeAlias = "Callable[[int, int], object] | None"
"""Called with how many runs are done, and of how many."""


COUNT_MAX, SEED_MAX = 2**32 - 1, 2**63 - 1
"""The most of anything; the greatest seed that a scenario can hold."""


def seconds(**times: object) -> float:
    """Read a time by its name: seconds, or words such as "10 ms"."""
    ((name, time),) = times.items()
    try:
        return _evenair.seconds(time)
    except (TypeError, ValueError) as error:
        message = f'{name} = {time!r}: give seconds, 0 or more, or words such as "10 ms"'
        raise type(error)(message) from None


def whole(least: int, most: int = COUNT_MAX, **numbers: object) -> None:
    """Refuse any value but a whole number in range; None is a default."""
    for name, value in numbers.items():
        if value is None:
            continue
        try:
            number = operator.index(value)  # type: ignore[arg-type] # any type may come
        except TypeError:
            number = None
        if number is None or isinstance(value, bool):
            message = f"{name} = {value!r}: give a whole number, {least} at least"
            raise TypeError(message)
        if not least <= number <= most:
            message = f"{name} = {value}: give {least} at least" + (f", {most} at most" if number > most else "")
            raise ValueError(message)


def listed(seeds: int | Iterable[int]) -> list[int] | None:
    """Give the seeds that are named one by one; none, if their number is given."""
    if isinstance(seeds, (str, bytes)) or not (isinstance(seeds, Iterable) or hasattr(seeds, "__index__")):
        message = f"seeds = {seeds!r}: give how many, such as 5, or which, such as [1, 2, 7]"
        raise TypeError(message)
    if not isinstance(seeds, Iterable):
        whole(1, seeds=seeds)
        return None
    named = list(seeds)
    for seed in named:
        whole(0, SEED_MAX, seed=seed)
    if not named:
        message = "seeds = []: give one at least"
        raise ValueError(message)
    if len(set(named)) < len(named):
        message = f"seeds = {named}: the same seed is the same run, give each once"
        raise ValueError(message)
    return named


def scenario(source: ScenarioLike, changes: Mapping[str, Any]) -> Scenario:
    """Read a scenario and change it."""
    read = source if isinstance(source, Scenario) else Scenario(source)
    return read.with_(**changes) if changes else read


def run(
    source: ScenarioLike,
    *,
    seeds: int | Iterable[int] = 1,
    first_seed: int | None = None,
    precision: float | None = None,
    series: bool = False,
    every: float | str = 1.0,
    ledger: bool = True,
    timeline: tuple[float | str, float | str] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    **changes: object,
) -> Runs:
    """Simulate a scenario, frame by frame, with one or more seeds over all cores.

    Ctrl-C ends it; the interpreter's lock is free during the run, unless a law is written in Python.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        seeds: How many seeds, at least, if a precision is given; or which, such as ``[1, 2, 7]``.
        first_seed: The first of them; the scenario's own, if it is not given.
        precision: Go on until each flow's goodput is known this well: half of its 95 % interval over the largest.
        series: Keep time series, in ``.series``.
        every: How often queues and windows are sampled, in seconds or words.
        ledger: Keep where each transmitter's time went, in ``.links``, for the reasons of the verdict.
        timeline: Record every frame between two instants, in ``.frames``.
        threads: How many; as many as there are cores, if it is not given.
        progress: Called with how many runs are done, and of how many.
        **changes: Changes of the scenario, as `Scenario.with_` takes them.

    Raises:
        ScenarioError: The scenario, or a change of it, is not right.
        TypeError, ValueError: An argument is not right.
        KeyboardInterrupt: It was ended by Ctrl-C.
        Exception: Any exception of a law in Python.

    >>> runs = evenair.run("chen10/a", seeds=2, duration="2 s", warmup="1 s")
    >>> runs.seeds
    [1, 2]
    >>> sorted(runs.mean(), key=runs.mean().get)[0]  # the flow that hears all others starves
    '2'
    """
    made = scenario(source, changes)
    which = listed(seeds)
    whole(1, threads=threads)
    whole(0, SEED_MAX, first_seed=first_seed)
    window = None if timeline is None else _stretch(timeline)
    every_s = seconds(every=every)
    if not isinstance(seeds, Iterable):
        records = _evenair.run(
            made._core, first_seed, seeds, precision, series, every_s, ledger, window, threads, progress
        )
        return of_one(made, records)
    if first_seed is not None or precision is not None:
        message = f"seeds = {which}: first_seed and precision are for seeds that are counted, leave them out"
        raise ValueError(message)
    points = [(f"seed={seed}", made.with_(seed=seed)._core) for seed in which or ()]
    with tempfile.TemporaryDirectory() as folder:
        found = _evenair.sweep(points, 1, None, series, every_s, ledger, window, folder, threads, progress)
    return of_one(made, joined(found))


def joined(records: Iterable[_evenair.Records]) -> _evenair.Records:
    """Put the stored parts of some runs together."""
    return reduce(_evenair.Records.with_more, records)


def _stretch(timeline: tuple[float | str, float | str]) -> tuple[float, float]:
    """Read two instants, the one before the other."""
    if isinstance(timeline, (tuple, list)) and len(timeline) == 2:
        begin, end = seconds(timeline=timeline[0]), seconds(timeline=timeline[1])
        if 0 <= begin < end:
            return begin, end
    message = f'timeline = {timeline!r}: give two instants, such as ("1 s", "1.1 s")'
    raise ValueError(message)


def solve(
    source: ScenarioLike,
    objective: str | None = None,
    *,
    alpha: float | None = None,
    region: str = "exact",
    solver: str = "own",
    beta: float | None = None,
    utility: Callable[[str, float], float] | None = None,
    marginal: Callable[[str, float], float] | None = None,
    **changes: object,
) -> Solution:
    """Find the best allocation.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        objective: "fair", "fixed-point", "proportional", "alpha-fair", "utility" (the flows' own, as the scenario has
            them) or "max-min"; "utility", where the scenario has any, else "fair", if it is not given.
        alpha: How much fairness counts, for "alpha-fair"; 2, if it is not given.
        region: Which rates are possible together: "exact", "cliques" or "collision-domains".
        solver: "own", or "clarabel" for a second opinion.
        beta: Add CSMA's entropy with the weight 1/beta.
        utility: Instead of an objective: the worth of a flow's rate, by the flow's name and the rate, in packets per
            second or in ``utility.unit``. It rises and is strictly concave from a millionth of the flow's rate alone
            up to all of that, and is hardly called beyond; straight lines are for
            ``utility.points`` of the scenario.
        marginal: Its derivative; taken from five values of the utility, if it is not given.
        **changes: Changes of the scenario.

    Raises:
        ScenarioError: The scenario, or a change of it, is not right.
        TheoryError: The theory has no answer for it, or the utility is none.
        TypeError, ValueError: An argument is not right.

    >>> solution = evenair.solve("chen10/a")
    >>> [round(rate) for rate in solution.flows["rate_pps"]]
    [354, 158, 177, 177]
    >>> delay = evenair.solve("chen10/a", utility=lambda flow, rate: -1 / rate)  # the same: 1/rate is a packet's time
    >>> [round(rate) for rate in delay.flows["rate_pps"]]
    [354, 158, 177, 177]
    """
    if utility is not None and (objective is not None or alpha is not None):
        message = "a utility takes the place of an objective: leave objective and alpha out"
        raise ValueError(message)
    if utility is None and marginal is not None:
        message = "marginal is the derivative of utility: give that, too"
        raise ValueError(message)
    for name, function in (("utility", utility), ("marginal", marginal)):
        _takes_a_flow_and_a_rate(name, function)
    asked = {"objective": objective, "alpha": alpha, "region": region, "solver": solver, "beta": beta}
    return Solution(*_evenair.solve(scenario(source, changes)._core, asked, utility, marginal))


def _takes_a_flow_and_a_rate(name: str, function: object) -> None:
    """Refuse an object that cannot be called so."""
    if function is None:
        return
    why = f"{name} = {function!r}: give a function of a flow's name and a rate, such as lambda flow, rate: -1 / rate"
    if not callable(function):
        raise TypeError(why)
    try:
        inspect.signature(function).bind("1", 1.0)
    except TypeError as error:
        message = f"{why} ({error})"
        raise TypeError(message) from None
    except ValueError:
        pass  # its signature is unknown


def fluid(source: ScenarioLike, **changes: object) -> FluidRun:
    """Follow the fluid model of a scenario's laws until it should have settled, and look for its rest.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        **changes: Changes of the scenario.

    Raises:
        ScenarioError: The scenario, or a change of it, is not right.
        TheoryError: Its laws have no fluid model.

    >>> run = evenair.fluid("chen10/a", backoff__law="adaptive", connections__k=10)
    >>> run.is_stable
    True
    """
    return FluidRun(*_evenair.fluid(scenario(source, changes)._core))


def compare(source: ScenarioLike, *, seeds: int = 5, progress: Progress = None, **changes: object) -> Comparison:
    """Take one idealisation after the other away, from the optimum to 802.11, and see each flow's rate.

    Args:
        source: A scenario, a file, a built-in id, TOML, or a dictionary.
        seeds: How many seeds of the simulated worlds.
        progress: Called with how many runs are done, and of how many.
        **changes: Changes of the scenario.

    Raises:
        ScenarioError: The scenario, or a change of it, is not right.
        TheoryError: The theory has no answer for it.

    >>> stages = evenair.compare("chen10/a", seeds=1, duration="2 s", warmup="0 s").stages
    >>> list(dict.fromkeys(stages["stage"]))
    ['fair optimum', 'ideal CSMA', '802.11']
    """
    whole(1, seeds=seeds)
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

    Raises:
        StudyError: The study is not right, or there is none of that name.
        TypeError, ValueError: An argument is not right.

    >>> found = evenair.study("chen10/table-6-1", quick=True, duration="5 s")
    >>> "verdict" in found.claims
    True
    """
    whole(1, seeds=seeds, threads=threads)
    if not isinstance(name, (str, os.PathLike)):
        message = f"{name!r} is no study: give a built-in id, such as 'chen10/table-6-1', or a file"
        raise TypeError(message)
    if isinstance(variants, str):
        message = f"variants = {variants!r}: give a list of ids, such as [{variants!r}]"
        raise TypeError(message)
    overrides = [entry(key.replace("__", "."), value, "=") for key, value in changes.items()]
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
