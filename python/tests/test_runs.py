"""Runs and the theory, and their tables in other libraries."""

from __future__ import annotations

import copy
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import evenair
import polars as pl
import pyarrow as pa
import pytest

SHORT = {"duration": "2 s", "warmup": "1 s"}


@pytest.fixture(scope="module")
def runs() -> evenair.Runs:
    return evenair.run("chen10/a", seeds=3, series=True, ledger=True, every="100 ms", **SHORT)


def test_a_run_is_a_function_of_scenario_and_seed(runs: evenair.Runs) -> None:
    again = evenair.run("chen10/a", seeds=3, threads=1, **SHORT)
    assert runs.seeds == [1, 2, 3]
    assert [r["fingerprint"] for r in again.records] == [r["fingerprint"] for r in runs.records]
    third = evenair.run("chen10/a", first_seed=3, **SHORT)
    assert third.records[0]["fingerprint"] == runs.records[2]["fingerprint"]


def test_tables_are_the_same_in_every_library(runs: evenair.Runs) -> None:
    goodput = runs.flows["goodput_pps"]
    assert len(goodput) == 12
    assert pa.table(runs.flows)["goodput_pps"].to_pylist() == goodput
    assert pl.DataFrame(runs.flows)["goodput_pps"].to_list() == goodput
    assert runs.to_pandas()["goodput_pps"].tolist() == goodput
    assert pa.schema(runs.flows).field("seed").type == pa.int64()
    assert runs.flows["offered_pps"] == [None] * 12
    assert all(0 < half <= late for half, late in zip(runs.flows["delay_s_50"], runs.flows["delay_s_99"], strict=True))
    assert runs.to_pandas("links")["airtime_own"].between(0, 1).all()
    with pytest.raises(KeyError, match="goodput_pps"):
        runs.flows["goodputs"]
    with pytest.raises(AttributeError, match="there is no table 'nodes'"):
        runs.nodes  # noqa: B018


def test_numbers_are_handed_over_without_a_copy(runs: evenair.Runs) -> None:
    once, twice = (pa.table(runs.flows)["goodput_pps"].chunk(0).buffers()[1].address for _ in range(2))
    assert once == twice


def test_series_have_an_axis_of_time(runs: evenair.Runs) -> None:
    series = runs.to_xarray("series")
    assert dict(series.sizes) == {"seed": 3, "object": len(set(runs.series["object"])), "time_s": 30}
    one = series["congestion_window"].sel(object="flow 1", seed=1)
    assert float(one.max()) >= 1.0
    by_flow = evenair.run("chen10/a", seeds=2, **SHORT).to_xarray()
    assert dict(by_flow.sizes) == {"seed": 2, "flow": 4}


def test_more_seeds_are_run_until_a_precision_is_reached() -> None:
    assert len(evenair.run("chen10/a", precision=0.9, **SHORT).seeds) >= 3


def test_invalid_argument_is_named() -> None:
    with pytest.raises(ValueError, match="seeds = 0"):
        evenair.run("chen10/a", seeds=0)
    with pytest.raises(ValueError, match="precision = 2"):
        evenair.run("chen10/a", precision=2)
    with pytest.raises(ValueError, match=r"every = -1\.0: give seconds, 0 or more"):
        evenair.run("chen10/a", every=-1.0)
    with pytest.raises(ValueError, match="there are fair"):
        evenair.solve("chen10/a", "best")
    with pytest.raises(evenair.TheoryError):
        evenair.solve("chen10/a", "fixed-point")
    with pytest.raises(evenair.StudyError, match="did you mean chen10/table-6-1"):
        evenair.study("chen10/table-6.1")


def test_progress_is_reported() -> None:
    told: list[tuple[int, int]] = []
    evenair.run("chen10/a", seeds=5, progress=lambda done, of: told.append((done, of)), **SHORT)
    assert told[-1] == (5, 5)


def test_exception_of_progress_ends_the_run() -> None:
    def refuse(done: int, of: int) -> None:
        message = f"{done} of {of} are enough"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="are enough"):
        evenair.run("chen10/a", seeds=50, progress=refuse, **SHORT)


def test_the_interpreter_is_free_while_a_run_goes_on() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    evenair.run("chen10/a", seeds=4, duration="10 s", threads=1)
    done.set()
    thread.join()
    assert counted > 5


def test_control_c_ends_a_run() -> None:
    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell starts background programs with Ctrl-C ignored, and Python keeps that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            evenair.run("chen10/a", seeds=10_000, duration="10 s")
        assert time.monotonic() - start < 10.0
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("left", [False, True])
def test_an_interpreter_ends_in_peace(left: bool) -> None:
    work = 'evenair.run("chen10/a", seeds=4, duration="5 s")'
    if left:  # a thread that is still at it
        work = f"threading.Thread(target=lambda: {work.replace('5 s', '500 s')}, daemon=True).start(); time.sleep(0.5)"
    path = os.pathsep.join(filter(None, sys.path))
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", f"import evenair, threading, time; {work}"],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_theory_answers() -> None:
    fair = evenair.solve("chen10/a")
    assert fair.residual < 1e-6
    assert fair.solver == "own"
    assert abs(sum(fair.sets["share"]) - 1.0) < 1e-6
    own, other = fair.flows["rate_pps"], evenair.solve("chen10/a", solver="clarabel").flows["rate_pps"]
    assert own == pytest.approx(other, rel=1e-4)
    run = evenair.fluid("chen10/a", backoff__law="adaptive", connections__k=10)
    assert run.has_settled
    assert len(run.eigenvalues) > 0
    assert run.flows["rate_pps"] == pytest.approx(run.flows["rest_pps"], rel=0.02)


def test_worlds_are_compared() -> None:
    result = evenair.compare("chen10/a", seeds=1, backoff="adaptive", connections={"k": 10}, duration="2 s")
    assert list(dict.fromkeys(result.stages["stage"]))[:2] == ["fair optimum", "fixed point of the laws"]
    assert [len(pair) for pair in result.senders_time] == [2] * 5


def test_a_study_is_conducted_and_keeps_its_runs(tmp_path: Path) -> None:
    found = evenair.study("chen10/table-6-1", quick=True, keep=tmp_path, duration="5 s")
    kept = sorted(tmp_path.iterdir())
    assert kept
    again = evenair.study("chen10/table-6-1", quick=True, keep=tmp_path, duration="5 s")
    assert sorted(tmp_path.iterdir()) == kept
    assert again.table["mean"] == found.table["mean"]
    assert set(found.claims["verdict"]) <= {"holds", "fails", "undecided"}
    assert "<svg" in found.report(tmp_path / "report.html").read_text()


def test_results_are_drawn() -> None:
    pytest.importorskip("matplotlib").use("agg")
    runs = evenair.run("chen10/a", series=True, **SHORT)
    assert len(runs.plot("goodput_pps").get_lines()) == 4
    assert runs.plot("backlog").get_xlabel() == "time [s]"
    assert len(evenair.run("chen10/a", **SHORT).plot().patches) == 4
    assert evenair.solve("chen10/a").plot().get_ylabel() == "rate [packets/s]"
    fluid = evenair.fluid("chen10/a", backoff__law="adaptive", connections__k=10)
    assert len(fluid.plot().get_lines()) == 4
    with pytest.raises(ValueError, match="they tell of"):
        runs.plot("delay")
    for result in (runs, fluid, evenair.solve("chen10/a")):
        assert "<table>" in result._repr_html_()


@pytest.mark.parametrize(
    "make",
    [
        lambda: evenair.run("chen10/a", seeds=2, series=True, **SHORT),
        lambda: evenair.solve("chen10/a"),
        lambda: evenair.compare("chen10/a", seeds=1, **SHORT),
        lambda: evenair.study("chen10/table-6-1", quick=True, variants=["l-csma-a"], **SHORT),
        lambda: evenair.sweep("chen10/a", {"connections.k": [5, 10]}, seeds=1, **SHORT),
        lambda: evenair.run("chen10/a", **SHORT).flows,
    ],
)
def test_results_cross_to_another_process(make: Callable[[], object]) -> None:
    result = make()
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result)
    tables = getattr(result, "tables", {"": result})
    for name, table in tables.items():
        other = getattr(again, "tables", {"": again})[name]
        assert pa.table(other).equals(pa.table(table)), name
    assert repr(copy.deepcopy(result)) == repr(result)


def test_seeds_are_counted_or_named(runs: evenair.Runs) -> None:
    def prints(found: evenair.Runs) -> list[str]:
        return [record["fingerprint"] for record in found.records]

    named = evenair.run("chen10/a", seeds=[3, 1], **SHORT)
    assert named.seeds == [3, 1]
    assert prints(named) == [prints(runs)[2], prints(runs)[0]]
    assert prints(evenair.run("chen10/a", seeds=range(1, 4), threads=2, **SHORT)) == prints(runs)
    assert len(evenair.run("chen10/a", seeds=[7], timeline=("1 s", "1.1 s"), series=True, **SHORT).frames) > 0
    for seeds, error, message in [
        ("12", TypeError, "seeds = '12': give how many, such as 5, or which"),
        (1.5, TypeError, "seeds = 1.5: give how many"),
        (True, TypeError, "seeds = True: give a whole number"),
        ([1, 2.5], TypeError, "seed = 2.5: give a whole number"),
        ([1, -2], ValueError, "seed = -2: give 0 at least"),
        ([], ValueError, "give one at least"),
        ([1, 1], ValueError, "the same seed is the same run"),
        (10**30, ValueError, "4294967295 at most"),
    ]:
        with pytest.raises(error, match=message):
            evenair.run("chen10/a", seeds=seeds, **SHORT)
    for more in ({"first_seed": 3}, {"precision": 0.1}):
        with pytest.raises(ValueError, match="for seeds that are counted"):
            evenair.run("chen10/a", seeds=[1, 2], **more)
    for elsewhere in (
        lambda: evenair.compare("chen10/a", seeds=[1, 2]),
        lambda: evenair.study("chen10/table-6-1", seeds=[1, 2]),
        lambda: evenair.sweep("chen10/a", {"seed": [1]}, seeds=[1, 2]),
    ):
        with pytest.raises(TypeError, match=r"seeds = \[1, 2\]: give a whole number"):
            elsewhere()


def test_printed_text_is_the_same_each_time(runs: evenair.Runs) -> None:
    assert (
        repr(runs) == "<evenair.Runs Four links, topology a: 3 runs: flows (12), links (24), seeds (3), series (3355)>"
    )
    assert list(evenair.solve("chen10/a").tables) == ["flows", "links", "conflicts", "sets", "set_links"]
    assert list(evenair.study("chen10/table-6-1", quick=True, **SHORT).tables)[-2:] == ["claims", "table"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": -1}, "seeds = -1: give 1 at least"),
        ({"threads": 0}, "threads = 0: give 1 at least"),
        ({"threads": 10**30}, "at most"),
        ({"every": "soon"}, 'every = .soon.: give seconds, 0 or more, or words such as "10 ms"'),
        ({"first_seed": -1}, "first_seed = -1: give 0 at least"),
        ({"timeline": (1,)}, "give two instants"),
        ({"timeline": ("2 s", "1 s")}, "give two instants"),
        ({"timeline": 3}, "give two instants"),
        ({"every": 0, "series": True}, "sample at most once a microsecond"),
    ],
)
def test_numbers_without_sense_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evenair.run("chen10/a", **SHORT, **wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evenair.run("chen10/a", threads=1.5), "threads = 1.5: give a whole number"),
        (lambda: evenair.run("chen10/a", every=None), "every = None: give seconds"),
        (lambda: evenair.run("chen10/a", duration=None), "duration = None: give a value, or leave duration out"),
        (lambda: evenair.run({"nodes": object()}), "nodes: <object .* has no place in a scenario"),
        (lambda: evenair.run("chen10/a", backoff=evenair.laws.BackoffLaw), "backoff: BackoffLaw is a class"),
        (lambda: evenair.study(3), "3 is no study: give a built-in id"),
        (lambda: evenair.study("chen10/table-6-1", variants="l-csma-a"), "variants = 'l-csma-a': give a list"),
        (lambda: evenair.solve("chen10/a", utility=3), "utility = 3: give a function of a flow's name and a rate"),
        (lambda: evenair.solve("chen10/a", utility=lambda rate: rate), "give a function of a flow's name and a rate"),
        (lambda: evenair.solve("chen10/a", utility=lambda f, x: "much"), "gave 'much': give a number"),
    ],
)
def test_argument_of_the_wrong_kind_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_unknown_name_is_no_scenario(name: str) -> None:
    with pytest.raises(ValueError, match="is no scenario: give one, a file"):
        evenair.run(name)


def test_no_seed_is_no_study() -> None:
    with pytest.raises(ValueError, match="seeds = 0"):
        evenair.study("chen10/table-6-1", seeds=0, quick=True)
    with pytest.raises(ValueError, match="seeds = 0"):
        evenair.compare("chen10/a", seeds=0)


def test_a_mean_is_of_numbers(runs: evenair.Runs) -> None:
    assert all(math.isnan(mean) for mean in runs.mean("completion_s").values()), "no flow completes anything"
    with pytest.raises(TypeError, match="a column of words"):
        runs.mean("from")


def test_rows_that_nothing_tells_apart_are_no_dataset() -> None:
    stages = evenair.compare("chen10/a", seeds=1, **SHORT).to_xarray()
    assert dict(stages.sizes) == {"stage": 3, "flow": 4}
    found = evenair.study("chen10/table-6-1", quick=True, **SHORT)
    assert list(found.to_xarray().sizes) == ["claim"]
