"""Tables: columns that Arrow's libraries take as they lie."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

from ._extras import brought_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa

    from . import _evenair

Cell: TypeAlias = str | int | float | None
"""A cell of a row: words, a count, a number, or nothing."""
Column: TypeAlias = list[str] | list[int] | list[float] | list[float | None]
"""A column with a name that is not known beforehand; type checkers have the kind of known names, too."""

ROWS_SHOWN = 12


class Table:
    """A table of columns of one length.

    Any library with Arrow's PyCapsule interface takes it without a copy: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.from_arrow(table)``.

    >>> flows = evenair.run("chen10/a", duration="1 s", warmup="0 s").flows
    >>> flows["flow"]
    ['1', '2', '3', '4']
    >>> len(flows)
    4
    """

    def __init__(self, core: _evenair.Table) -> None:
        """Wrap a table of the library's."""
        self._core = core

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._core.column_names

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._core)

    def __getitem__(self, column: str) -> Column:
        """Give a column as a list; a missing value is None.

        Raises:
            KeyError: There is no such column; the message names those that there are.
        """
        return self._core.column(column)

    def __contains__(self, column: object) -> bool:
        """Tell whether there is such a column."""
        return column in self.columns

    def rows(self) -> Iterator[dict[str, Cell]]:
        """Give row after row, each by the names of the columns.

        >>> next(evenair.solve("chen10/a").flows.rows())["flow"]
        '1'
        """
        columns = self.columns
        for values in zip(*(self[name] for name in columns), strict=True):
            yield dict(zip(columns, values, strict=True))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the columns over (Arrow's PyCapsule interface)."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Hand the schema over."""
        return self._core.__arrow_c_schema__()

    def to_pyarrow(self) -> pa.Table:
        """Give it to pyarrow, without a copy."""
        with brought_by("pandas", "to_pyarrow"):
            import pyarrow as pa

        return pa.table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Give a pandas DataFrame (with pyarrow: ``pip install 'evenair[pandas]'``)."""
        with brought_by("pandas", "to_pandas"):
            import pandas  # noqa: F401 -- pyarrow's own message names no extra
        return self.to_pyarrow().to_pandas()

    def __repr__(self) -> str:
        """Describe its contents."""
        return f"<evenair.Table: {counted(len(self), 'row')} of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return html_table(self)


def number(value: object) -> str:
    """Give a cell as people read it: three digits of a number, a dash for a missing value."""
    if value is None:
        return "–"
    if isinstance(value, float):
        text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
        return text.removeprefix("-") if float(text) == 0 else text
    return str(value)


def counted(count: int, one: str) -> str:
    """Give a count with its noun: 1 row, 2 rows."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def html_table(table: Table, rows: int = ROWS_SHOWN) -> str:
    """Draw a table's first rows; columns in which nothing stands are left out."""
    shown = {name: table[name] for name in table.columns}
    shown = {name: values for name, values in shown.items() if any(value is not None for value in values)}
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    lines = [
        "".join(f"<td>{escape(number(values[row]))}</td>" for values in shown.values())
        for row in range(min(rows, len(table)))
    ]
    more = f"<caption>{len(table)} rows, of which {rows} are shown</caption>" if len(table) > rows else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
