"""Figures in the papers' style: serif, thin frames, ticks inside, colours and dashes that print in grey."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from ._evenair import half_width
from ._extras import brought_by
from ._results import Comparison, FluidRun, Result, Study
from ._sweep import Swept

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.axes import Axes

STYLE: dict[str, Any] = {
    "font.family": "serif",
    "font.size": 9,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.3,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.figsize": (3.6, 2.6),
    "figure.constrained_layout.use": True,
}
"""A column of a paper. ``with matplotlib.rc_context(evenair.STYLE):`` draws other figures like these."""

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a51a3", "#666666"]
"""Colours that people with the usual colour blindnesses tell apart (Okabe and Ito), and two more."""

LABELS = {
    "goodput_pps": "goodput [packets/s]",
    "goodput_bps": "goodput [bit/s]",
    "congestion_window": "congestion window [segments]",
    "round_trip_s": "round-trip time [s]",
    "connections": "connections",
    "backlog": "backlog [packets]",
    "aggressiveness": "aggressiveness",
    "rate_pps": "rate [packets/s]",
    "share": "share of the rate alone",
}


def plot(result: Result, metric: str | None, ax: Axes | None, **more: Any) -> Axes:  # noqa: ANN401
    """Draw the main quantity of a result: bars by flow, lines over a sweep or over time."""
    with brought_by("plot", "plot"):
        import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        axes = ax if ax is not None else plt.subplots()[1]
        if isinstance(result, Study):
            _bars(axes, *_of_study(result, metric or "goodput"), **more)
        elif isinstance(result, Comparison):
            _bars(axes, _grouped(result.to_pandas(), "stage", "flow", metric or "share"), metric or "share", **more)
        elif isinstance(result, FluidRun):
            _over_time(axes, result.to_pandas("trajectory"), metric or "rate_pps", **more)
        elif isinstance(result, Swept):
            _swept(axes, result, metric or "goodput_pps", **more)
        elif "series" in result.tables:
            _series(axes, result.to_pandas("series"), metric or "goodput_pps", **more)
        else:
            _flows(axes, result.to_pandas(), metric, **more)
    return axes


def _label(metric: str) -> str:
    return LABELS.get(metric, metric)


def _legend(axes: Axes) -> None:
    """Put the legend above the axes, where no curve lies."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.3)


def _styles() -> Iterator[dict[str, Any]]:
    """Give a style for each line: dashes change when colours have been used up."""
    for dashes in cycle(["-", "--", ":", "-."]):
        for color in COLORS:
            yield {"color": color, "linestyle": dashes}


def _grouped(frame: pd.DataFrame, group: str, flow: str, metric: str) -> pd.DataFrame:
    """Give the mean of a metric, a row per flow and a column per group."""
    means = frame.groupby([group, flow], sort=False)[metric].mean().unstack(group)
    return means.reindex(index=frame[flow].drop_duplicates(), columns=frame[group].drop_duplicates())


def _of_study(result: Study, metric: str) -> tuple[pd.DataFrame, str]:
    table = result.to_pandas("table")
    known = sorted(set(table["metric"]))
    if metric not in known:
        message = f"the study does not tell of {metric!r}; it tells of {', '.join(known)}"
        raise ValueError(message)
    rows = table[table["metric"] == metric]
    return _grouped(rows, "variant", "flow", "mean").rename(columns=result.labels), metric


def _flows(axes: Axes, frame: pd.DataFrame, metric: str | None, **more: Any) -> None:  # noqa: ANN401
    metric = metric or ("goodput_pps" if "goodput_pps" in frame else "rate_pps")
    _measured(frame, metric)
    if "variant" in frame:
        _bars(axes, _grouped(frame, "variant", "flow", metric), metric, **more)
    else:
        _bars(axes, _grouped(frame.assign(all=""), "all", "flow", metric), metric, **more)


def _measured(frame: pd.DataFrame, metric: str) -> None:
    """Refuse any name but that of a column of numbers."""
    numbers = [name for name in frame.select_dtypes("number") if frame[name].notna().any()]
    if metric not in numbers:
        message = f"the flows do not tell of {metric!r}; they tell of {', '.join(numbers)}"
        raise ValueError(message)


def _swept(axes: Axes, result: Swept, metric: str, *, x: str | None = None, **more: Any) -> None:  # noqa: ANN401
    """Draw lines over a varied key, one per flow and per value of the others; bars, where no key has numbers."""
    frame = result.to_pandas()
    _measured(frame, metric)
    axis = x or result.axis
    if axis is None:
        _bars(axes, _grouped(frame, "variant", "flow", metric), metric, **more)
        return
    if axis not in result.keys or frame[axis].dtype.kind not in "if":
        message = f"x = {axis!r}: no numbers of that key were swept; there are {', '.join(result.keys)}"
        raise ValueError(message)
    others = [key for key in result.keys if key != axis and frame[key].nunique() > 1]
    _lines(axes, frame, axis, others, metric, **more)


def _bars(axes: Axes, means: pd.DataFrame, metric: str, **more: Any) -> None:  # noqa: ANN401 -- matplotlib's own
    """Draw a group of bars per flow, a bar per variant."""
    width = 0.8 / max(1, len(means.columns))
    for i, (name, style) in enumerate(zip(means.columns, cycle(COLORS), strict=False)):
        places = [j + (i - (len(means.columns) - 1) / 2) * width for j in range(len(means))]
        axes.bar(places, means[name].to_numpy(dtype=float), width, color=style, label=str(name), **more)
    axes.set_xticks(range(len(means)), [str(flow) for flow in means.index])
    axes.set_xlabel("flow")
    axes.set_ylabel(_label(metric))
    if len(means.columns) > 1:
        _legend(axes)


def _lines(axes: Axes, frame: pd.DataFrame, axis: str, others: list[str], metric: str, **more: Any) -> None:  # noqa: ANN401
    """Draw a line per flow, and per value of the other keys, with the 95 % intervals of reports (Student's t)."""
    for (names, rows), style in zip(frame.groupby(["flow", *others], sort=False), _styles(), strict=False):
        by = rows.groupby(axis)[metric]
        mean = by.mean()
        half = [half_width(values.dropna().tolist()) or 0.0 for _, values in by]
        label = ", ".join([f"flow {names[0]}", *(str(name) for name in names[1:])])
        axes.errorbar(mean.index, mean, yerr=half, capsize=2, label=label, **style, **more)
    axes.set_xlabel(axis)
    axes.set_ylabel(_label(metric))
    _legend(axes)


def _series(axes: Axes, frame: pd.DataFrame, metric: str, **more: Any) -> None:  # noqa: ANN401 -- matplotlib's own
    """Draw a line per flow or queue over time, of the first run."""
    known = sorted(set(frame["metric"]))
    if metric not in known:
        message = f"the series do not tell of {metric!r}; they tell of {', '.join(known)}"
        raise ValueError(message)
    first = frame[(frame["seed"] == frame["seed"].iloc[0]) & (frame["metric"] == metric)]
    for (name, rows), style in zip(first.groupby("object", sort=False), _styles(), strict=False):
        axes.plot(rows["time_s"], rows["value"], label=str(name), **style, **more)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(_label(metric))
    _legend(axes)


def _over_time(axes: Axes, frame: pd.DataFrame, metric: str, **more: Any) -> None:  # noqa: ANN401 -- matplotlib's own
    """Draw the columns of a trajectory that begin with the metric's name."""
    columns = [name for name in frame.columns if name.startswith(metric)]
    if not columns:
        message = f"the trajectory has no {metric!r}; it has {', '.join(frame.columns[1:])}"
        raise ValueError(message)
    for name, style in zip(columns, _styles(), strict=False):
        axes.plot(frame["time_s"], frame[name], label=name, **style, **more)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(_label(metric))
    _legend(axes)
