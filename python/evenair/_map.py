"""Maps of networks, drawn as SVG."""

from __future__ import annotations

from html import escape
from math import atan2, cos, pi, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import _evenair

WIDTH, MARGIN = 420.0, 40.0


def svg(scenario: _evenair.Scenario) -> str:
    """Draw nodes where they stand (on a circle, if they stand nowhere), flows along their ways, and the ranges."""
    nodes = scenario.nodes()
    places = {name: place for name, place in nodes if place is not None}
    if len(places) < len(nodes):
        turn = 2 * pi / max(1, len(nodes))
        places = {name: (cos(i * turn), sin(i * turn)) for i, (name, _) in enumerate(nodes)}
    if not places:
        return f"<p>{escape(repr(scenario))}</p>"
    left, right = min(x for x, _ in places.values()), max(x for x, _ in places.values())
    low, high = min(y for _, y in places.values()), max(y for _, y in places.values())
    scale = (WIDTH - 2 * MARGIN) / max(right - left, high - low, 1e-9)
    height = (high - low) * scale + 2 * MARGIN

    def at(name: str) -> tuple[float, float]:
        x, y = places[name]
        return MARGIN + (x - left) * scale, height - MARGIN - (y - low) * scale

    parts = [_flow(i, name, [at(node) for node in way]) for i, (name, way) in enumerate(scenario.flows())]
    for name in places:
        x, y = at(name)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="currentColor"/>')
        parts.append(f'<text x="{x + 8:.1f}" y="{y - 8:.1f}" font-size="12" fill="currentColor">{escape(name)}</text>')
    ranges = scenario.ranges_m()
    sizes = f"{len(nodes)} nodes, {len(scenario.links())} links, {len(scenario.conflicts())} conflicts"
    said = sizes if ranges is None else f"{sizes}; range {ranges[0]:.0f} m, carrier sense {ranges[1]:.0f} m"
    title = escape(scenario.name or "scenario")
    return (
        f"<figure><figcaption><b>{title}</b><br>{escape(scenario.description)}<br>{said}</figcaption>"
        f'<svg width="{WIDTH:.0f}" height="{height:.0f}" role="img" aria-label="map of {title}">'
        f"{''.join(parts)}</svg></figure>"
    )


COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a51a3", "#666666"]
"""Colours that people with the usual colour blindnesses tell apart (Okabe and Ito), and two more."""


def _flow(index: int, name: str, way: list[tuple[float, float]]) -> str:
    """Draw a flow: a line along its way, an arrow's head at its end."""
    color = COLORS[index % len(COLORS)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in way)
    (x0, y0), (x1, y1) = way[-2], way[-1]
    angle = atan2(y1 - y0, x1 - x0)
    head = " ".join(f"{x1 - 12 * cos(angle + a):.1f},{y1 - 12 * sin(angle + a):.1f}" for a in (-0.4, 0.4))
    return (
        f'<g stroke="{color}" fill="none" stroke-width="2"><title>flow {escape(name)}</title>'
        f'<polyline points="{points}"/><polygon points="{x1:.1f},{y1:.1f} {head}" fill="{color}"/></g>'
    )
