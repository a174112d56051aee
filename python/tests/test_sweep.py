"""Sweeps, here and with executors: the same runs, wherever they are done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import stdev
from typing import Any

import evenair
import pytest
from evenair.laws import ConnectionLaw

SHORT = {"duration": "2 s", "warmup": "1 s"}
VARY = {"connections.k": [5, 40], "backoff": ["dcf", {"law": "adaptive", "r_max": 8.0}]}


class Constant(ConnectionLaw):
    """Always the same."""

    def __init__(self, count: int) -> None:
        self.count = count

    def on_interval(self, flow: evenair.laws.FlowView) -> int:
        return self.count


@pytest.fixture(scope="module")
def swept() -> evenair.Swept:
    return evenair.sweep("chen10/a", VARY, seeds=2, **SHORT)


def prints(found: evenair.Swept) -> list[str]:
    return [record["fingerprint"] for record in found.records]


def test_every_value_is_combined_with_every_other(swept: evenair.Swept) -> None:
    assert list(swept.points) == [
        "connections.k=5, backoff=dcf",
        "connections.k=5, backoff=law=adaptive r_max=8.0",
        "connections.k=40, backoff=dcf",
        "connections.k=40, backoff=law=adaptive r_max=8.0",
    ]
    assert len(swept.flows) == 4 * 2 * 4
    frame = swept.to_pandas()
    assert frame["connections.k"].unique().tolist() == [5.0, 40.0]
    assert (frame["x"] == frame["connections.k"]).all()
    alone = evenair.run("chen10/a", seeds=2, connections={"k": 40}, **SHORT)
    assert prints(swept)[4:6] == [record["fingerprint"] for record in alone.records]


def test_figures_and_datasets_have_each_key(swept: evenair.Swept) -> None:
    axes = swept.plot()
    assert axes.get_xlabel() == "connections.k"
    labels = axes.get_legend_handles_labels()[1]
    assert len(labels) == 8, "a line per flow and back-off"
    assert labels[0] == "flow 1, dcf"
    by_hand = [r for r in swept.to_pandas().itertuples() if (r.flow, r.backoff, r.x) == ("1", "dcf", 40.0)]
    assert axes.lines[0].get_ydata()[1] == pytest.approx(sum(r.goodput_pps for r in by_hand) / len(by_hand))
    # Student's t of one degree of freedom, 12.706, over the root of two seeds.
    bars = axes.containers[0].lines[2][0].get_segments()[1]
    assert bars[1][1] - bars[0][1] == pytest.approx(2 * 12.706 * stdev(r.goodput_pps for r in by_hand) / 2**0.5)
    with pytest.raises(ValueError, match="no numbers of that key"):
        swept.plot(x="backoff")
    with pytest.raises(ValueError, match="the flows do not tell of 'goodput'"):
        swept.plot("goodput")
    assert dict(swept.to_xarray().sizes) == {"connections.k": 2, "backoff": 2, "seed": 2, "flow": 4}
    words = evenair.sweep("chen10/a", {"backoff": ["dcf", "adaptive"]}, seeds=1, **SHORT)
    assert len(words.plot().patches) == 8


def test_values_are_paired() -> None:
    found = evenair.sweep("chen10/a", {"connections.k": [5, 40], "seed": [7, 8]}, seeds=1, paired=True, **SHORT)
    assert list(found.points) == ["connections.k=5, seed=7", "connections.k=40, seed=8"]
    with pytest.raises(ValueError, match=r"connections.k has 1, seed has 2"):
        evenair.sweep("chen10/a", {"connections.k": [5], "seed": [7, 8]}, paired=True)


def test_invalid_sweep_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing is varied"):
        evenair.sweep("chen10/a", {})
    for one in ("reno", 5, {"law": "reno"}):
        with pytest.raises(TypeError, match=r"tcp\.window has one value"):
            evenair.sweep("chen10/a", {"tcp.window": one})
    with pytest.raises(TypeError, match="names no key to vary"):
        evenair.sweep("chen10/a", ["tcp.window"])
    with pytest.raises(ValueError, match="two points are the same"):
        evenair.sweep("chen10/a", {"seed": [1, 1]})
    with pytest.raises(ValueError, match=r"connections\.k has no values"):
        evenair.sweep("chen10/a", {"connections.k": []})
    with pytest.raises(TypeError, match='is no executor: give "dask", "ray"'):
        evenair.sweep("chen10/a", {"seed": [1]}, executor=3)
    with pytest.raises(TypeError, match=r"ThreadPoolExecutor.*: give"):
        evenair.sweep("chen10/a", {"seed": [1]}, executor=ThreadPoolExecutor)
    with pytest.raises(ValueError, match=r'executor = .spark.: give "dask", "ray"'):
        evenair.sweep("chen10/a", {"seed": [1]}, executor="spark")
    with pytest.raises(ValueError, match="leave them out"):
        evenair.sweep("chen10/a", {"seed": [1]}, executor=ThreadPoolExecutor(), precision=0.1)


def test_finished_runs_are_kept(tmp_path: Path) -> None:
    found = evenair.sweep("chen10/a", {"connections.k": [5, 40]}, seeds=2, keep=tmp_path, **SHORT)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 4
    told: list[tuple[int, int]] = []
    again = evenair.sweep(
        "chen10/a",
        {"connections.k": [5, 40]},
        seeds=2,
        keep=tmp_path,
        progress=lambda done, of: told.append((done, of)),
        **SHORT,
    )
    assert prints(again) == prints(found)
    assert sorted(tmp_path.iterdir()) == kept


def test_laws_of_ones_own_are_varied() -> None:
    found = evenair.sweep("chen10/a", {"connections": [Constant(1), Constant(3)]}, seeds=1, **SHORT)
    assert list(found.points) == ["connections=Constant(count=1)", "connections=Constant(count=3)"]
    assert found.flows["connections"] == found.flows["connections"]
    assert prints(found)[0] != prints(found)[1]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_do_the_same_runs(swept: evenair.Swept, method: str) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as executor:
        found = evenair.sweep("chen10/a", VARY, seeds=2, executor=executor, **SHORT)
    assert prints(found) == prints(swept)
    assert found.flows["goodput_pps"] == swept.flows["goodput_pps"]


def test_threads_do_the_same_runs(swept: evenair.Swept) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert prints(evenair.sweep("chen10/a", VARY, seeds=2, executor=executor, **SHORT)) == prints(swept)


def test_an_exception_crosses_from_a_process() -> None:
    with ProcessPoolExecutor(1) as executor, pytest.raises(ValueError, match="1 at least"):
        evenair.sweep("chen10/a", {"connections": [Constant(0)]}, seeds=1, executor=executor, **SHORT)


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_there_is_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"executor = '{name}': .*pip install 'evenair\[{name}\]'"):
        evenair.sweep("chen10/a", {"seed": [1]}, executor=name, **SHORT)


@pytest.fixture
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_dask_does_the_same_runs(swept: evenair.Swept, dask_client: object) -> None:
    assert prints(evenair.sweep("chen10/a", VARY, seeds=2, executor=dask_client, **SHORT)) == prints(swept)


def test_the_client_of_dask_that_is_current_is_taken(swept: evenair.Swept, dask_client: object) -> None:
    assert prints(evenair.sweep("chen10/a", VARY, seeds=2, executor="dask", **SHORT)) == prints(swept)


def test_ray_does_the_same_runs(swept: evenair.Swept) -> None:
    ray = pytest.importorskip("ray")
    # Workers find evenair and this module where this process has them from.
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": ":".join(sys.path)}})
    try:
        assert prints(evenair.sweep("chen10/a", VARY, seeds=2, executor=ray, **SHORT)) == prints(swept)
        assert prints(evenair.sweep("chen10/a", VARY, seeds=2, executor="ray", **SHORT)) == prints(swept)
        assert ray.is_initialized(), "a running ray goes on"
    finally:
        ray.shutdown()
