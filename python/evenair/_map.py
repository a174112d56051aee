"""Maps of networks, as notebooks show them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ._table import counted

if TYPE_CHECKING:
    from . import _evenair


def page(scenario: _evenair.Scenario) -> str:
    """Describe a scenario, with its map: where nodes stand and flows go, or its conflict graph."""
    counts = {
        "node": len(scenario.nodes()),
        "link": len(scenario.links()),
        "conflict": len(scenario.conflicts()),
    }
    sizes = ", ".join(counted(count, one) for one, count in counts.items())
    ranges = scenario.ranges_m()
    said = sizes if ranges is None else f"{sizes}; range {ranges[0]:.0f} m, carrier sense {ranges[1]:.0f} m"
    title = escape(scenario.name or "scenario")
    return (
        f"<figure><figcaption><b>{title}</b><br>{escape(scenario.description)}<br>{said}</figcaption>"
        f'<div style="max-width: 520px">{scenario.map_svg()}</div></figure>'
    )
