"""Scenarios: the contents of a network."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _evenair
from ._map import page
from ._table import counted
from .laws import ConnectionLaw, Law

if TYPE_CHECKING:
    from collections.abc import Sequence

ScenarioLike: TypeAlias = "Scenario | Mapping[str, Any] | str | os.PathLike[str]"
"""Accepted as a scenario: one, a file, a built-in id, TOML, or a dictionary."""


def toml(value: object) -> str:
    """Write a value as TOML, in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        entries = (f"{toml_key(key)} = {toml(entry)}" for key, entry in value.items() if entry is not None)
        return "{ " + ", ".join(entries) + " }"
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return toml(value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(entry) for entry in value) + "]"
    if isinstance(value, type) and issubclass(value, Law):
        message = f"{value.__name__} is a class: give a law of it, {value.__name__}(…)"
        raise TypeError(message)
    message = f"{value!r} has no place in a scenario: give words, numbers, truths, lists, dictionaries or laws"
    raise TypeError(message)


def toml_key(key: str) -> str:
    """Write a key, in quotation marks where it needs them."""
    return key if key.replace("_", "a").replace("-", "a").isalnum() and key.isascii() else json.dumps(key)


def entry(key: str, value: object, sign: str = " = ") -> str:
    """Write an entry of a table; a value without a place there is named by its key."""
    try:
        return f"{key}{sign}{toml(value)}"
    except TypeError as error:
        message = f"{key}: {error}"
        raise TypeError(message) from None


_STAND_INS = {
    "backoff": ("backoff", "dcf"),
    "window": ("window", "reno"),
    "rate_law": ("rate", "utility-based"),
    "drop": ("marking", "drop-tail"),
    "law": ("gateway", "pfrc"),
    "connections": ("connections", "rtt-proportional"),
}


def _stand_in(key: str, law: Law) -> object:
    """Give the built-in law that stands in a law's place until it is put there: the rest is resolved around it."""
    family, name = _STAND_INS.get(key.rpartition(".")[2], ("", ""))
    if family != law.family:
        return None  # the message lists the places of laws
    if family == "gateway" and _evenair.gives_one_rate(law):
        name = "arc"  # it has the same default shaper
    probed = isinstance(law, ConnectionLaw) and "round_trip_of_probes" in law.needs
    return {"law": name, "samples": "probes"} if probed else {"law": name}


def _without_laws(value: object, key: str, laws: dict[str, Law]) -> object:
    """Take the laws out of a value and keep them by their keys."""
    if isinstance(value, Law):
        laws[key] = value
        return _stand_in(key, value)
    if isinstance(value, Mapping):
        return {name: _without_laws(entry, f"{key}.{name}", laws) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_laws(entry, f"{key}[{index}]", laws) for index, entry in enumerate(value)]
    return value


class Scenario:
    """A network: nodes, radio, links, flows, laws. It is not changed; `with_` gives another.

    It is made from a file, a built-in id, TOML, or a dictionary with the same keys, in the units you think in:

    >>> two = evenair.Scenario({
    ...     "duration": "10 s",
    ...     "radio": {"transmission_range": "250 m", "carrier_sense_range": "800 m"},
    ...     "nodes": [{"id": "a", "at": [0, 0]}, {"id": "b", "at": [0, 100]}],
    ...     "flows": [{"id": "up", "from": "a", "to": "b"}],
    ... })
    >>> two.with_(backoff="adaptive", connections={"k": 10}).resolved["backoff"]["law"]
    'adaptive'

    An error names the key, its line in a file, and the allowed values:

    >>> evenair.Scenario("chen10/a").with_(duration="10 parsecs")
    Traceback (most recent call last):
    ...
    evenair.ScenarioError: ...
    """

    _file: str
    _text: str
    _written: bool
    _changes: list[str]
    _laws: dict[str, Law]
    _core: _evenair.Scenario

    def __init__(self, source: ScenarioLike) -> None:
        """Read a scenario and check all of it.

        Raises:
            ScenarioError: The scenario is not right; file, line and key are named.
            TypeError: There is something in it that a scenario does not have.
        """
        if isinstance(source, Scenario):
            self._file, self._text = source._file, source._text
            self._changes, self._laws = list(source._changes), dict(source._laws)
            self._written = source._written
            self._core = source._core
            return
        self._changes, self._laws = [], {}
        self._written = not isinstance(source, Mapping)
        if isinstance(source, Mapping):
            self._file = str(source.get("name", "scenario"))
            entries = {key: _without_laws(value, key, self._laws) for key, value in source.items()}
            lines = (entry(toml_key(key), value) for key, value in entries.items() if value is not None)
            self._text = "".join(f"{line}\n" for line in lines)
        elif isinstance(source, str) and ("\n" in source or "=" in source):
            self._file, self._text = "scenario", source
        elif isinstance(source, (str, os.PathLike)) and os.fspath(source) and "\0" not in os.fspath(source):
            self._file, self._text = _evenair.scenario_text(os.fspath(source))
        else:
            message = f"{source!r} is no scenario: give one, a file, a built-in id, TOML, or a dictionary"
            raise (ValueError if isinstance(source, str) else TypeError)(message)
        self._core = self._resolve()

    def _resolve(self) -> _evenair.Scenario:
        laws = list(self._laws.items())
        return _evenair.Scenario(self._file, self._text, self._written, self._changes, laws)

    def with_(self, changes: Mapping[str, Any] | None = None, /, **more: object) -> Scenario:
        """Give the same scenario with other settings.

        Keys with dots stand in a mapping; as keywords, two underscores stand for a dot. A value is one of TOML's, a
        dictionary for a whole table, or a law of one's own.

        Raises:
            ScenarioError: There is no such key, or the value is not allowed there.
            TypeError: The value is nothing that a scenario has.

        >>> a = evenair.Scenario("chen10/a")
        >>> a.with_({"mac.rts_threshold": "500 bytes"}).with_(duration="5 s", seed=7).seed
        7
        >>> a.with_(backoff__law="adaptive") == a.with_({"backoff.law": "adaptive"})
        True
        """
        other = object.__new__(Scenario)
        other._file, other._text, other._written = self._file, self._text, self._written
        other._changes, other._laws = list(self._changes), dict(self._laws)
        entries = dict(changes or {}) | {key.replace("__", "."): value for key, value in more.items()}
        for key, given in entries.items():
            if given is None:
                message = f"{key} = None: give a value, or leave {key} out, which keeps it as it is"
                raise TypeError(message)
            place = self._place(str(key))
            parts, whole = (f"{place}.", f"{place}["), place.rpartition(".")[0]
            for known in [law for law in other._laws if law in (place, whole) or law.startswith(parts)]:
                del other._laws[known]
            value = _without_laws(given, place, other._laws)
            if value is not None:
                other._changes.append(entry(str(key), value, "="))
        other._core = other._resolve()
        return other

    set = with_
    """The same as `with_`."""

    def _place(self, key: str) -> str:
        """Give a key with its entry of a list by number, as laws are kept: flows are called by their ids or numbers."""
        table, _, rest = key.partition(".")
        entry, dot, rest = rest.partition(".")
        ids = [flow for flow, _ in self._core.flows()]
        if table == "flows" and entry in ids:
            return f"flows[{ids.index(entry)}]{dot}{rest}"
        return f"{table}[{entry}]{dot}{rest}" if table in ("flows", "queues", "wires") and entry.isdigit() else key

    @property
    def name(self) -> str:
        """Its title."""
        return self._core.name

    @property
    def seed(self) -> int:
        """The seed with which runs begin."""
        return self._core.seed

    @property
    def resolved(self) -> dict[str, Any]:
        """Every setting, all defaults written out, by its key in files."""
        return self._core.settings()

    @property
    def flows(self) -> dict[str, list[str]]:
        """The flows by id, each with the nodes on its way.

        >>> evenair.Scenario("jam10/chain").flows["1"][:2]
        ['1', '0']
        """
        return dict(self._core.flows())

    @property
    def links(self) -> dict[str, tuple[str, str]]:
        """The links of the air that carry data, by name: sender and receiver."""
        return {name: (sender, receiver) for name, sender, receiver in self._core.links()}

    @property
    def conflicts(self) -> list[tuple[str, str]]:
        """Pairs of links that may not transmit at once."""
        return self._core.conflicts()

    @property
    def warnings(self) -> list[str]:
        """Allowed settings that are probably mistakes."""
        return self._core.warnings()

    @property
    def calls_python(self) -> bool:
        """Whether a law of it is written in Python: then one run follows the other, see `evenair.laws`."""
        return self._core.calls_python

    def to_toml(self) -> str:
        """Write it as TOML, all defaults spelt out. Laws of one's own are named, and no file can have them."""
        return self._core.to_toml()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write it to a file that `evenair run` takes."""
        if self._laws:
            message = f"a file cannot hold the laws under {', '.join(self._laws)}: they are Python's"
            raise ValueError(message)
        Path(file).write_text(self.to_toml(), encoding="utf-8")

    def __eq__(self, other: object) -> bool:
        """Tell whether all settings are the same."""
        return isinstance(other, Scenario) and self.resolved == other.resolved

    def __hash__(self) -> int:
        """Hash its contents."""
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, tuple[str, str, bool, list[str], dict[str, Law]]]:
        """Let it cross to another process, its laws with it."""
        return _restored, (self._file, self._text, self._written, self._changes, self._laws)

    def __repr__(self) -> str:
        """Describe it."""
        name = self.name or self._file
        nodes, flows = counted(len(self._core.nodes()), "node"), counted(len(self._core.flows()), "flow")
        return f"<evenair.Scenario {name!r}: {nodes}, {flows}>"

    def _repr_html_(self) -> str:
        return page(self._core)


def _restored(file: str, text: str, written: bool, changes: list[str], laws: dict[str, Law]) -> Scenario:
    scenario = object.__new__(Scenario)
    scenario._file, scenario._text, scenario._written = file, text, written
    scenario._changes, scenario._laws = changes, laws
    scenario._core = scenario._resolve()
    return scenario


class Builder:
    """A scenario put together step by step.

    >>> build = evenair.Builder(duration="10 s", radio={"transmission_range": "250 m", "carrier_sense_range": "800 m"})
    >>> for i in range(3):
    ...     _ = build.node(f"n{i}", at=(200 * i, 0))
    >>> build.flow("along", "n0", "n2").scenario().flows
    {'along': ['n0', 'n1', 'n2']}
    """

    def __init__(self, **settings: object) -> None:
        """Begin with settings of the whole: ``duration``, ``radio``, ``mac``, ``backoff``, …"""
        self._settings = settings
        self._lists: dict[str, list[object]] = {}

    def _add(self, table: str, entry: object) -> Builder:
        self._lists.setdefault(table, []).append(entry)
        return self

    def node(self, id: str, at: Sequence[float] | None = None) -> Builder:
        """Add a node, at a position [m]."""
        return self._add("nodes", {"id": id, "at": at})

    def flow(self, id: str, source: str, destination: str, **settings: object) -> Builder:
        """Add a flow; TCP, unless ``traffic`` names another kind."""
        return self._add("flows", {"id": id, "from": source, "to": destination, **settings})

    def link(self, id: str, source: str, destination: str) -> Builder:
        """Add a link of the air, where links are given outright."""
        return self._add("links", {"id": id, "from": source, "to": destination})

    def conflict(self, one: str, other: str) -> Builder:
        """Say that two links may not transmit at once."""
        return self._add("conflicts", [one, other])

    def wire(self, source: str, destination: str, rate: str, delay: str, **settings: object) -> Builder:
        """Add a wire, such as ``build.wire("server", "gateway", "100 Mbps", "10 ms")``."""
        return self._add("wires", {"from": source, "to": destination, "rate": rate, "delay": delay, **settings})

    def queue(self, *nodes: str, **settings: object) -> Builder:
        """Give some nodes queues of their own: ``queue``, ``drop``, or ``backoff``, how these nodes back off.

        >>> build = evenair.Builder().link("l", "a", "b").link("m", "c", "d").conflict("l", "m")
        >>> _ = build.flow("one", "a", "b").flow("other", "c", "d")
        >>> hasty = build.queue("c", backoff={"law": "dcf", "window_min": 7}).scenario()
        >>> hasty.resolved["queues"][0]["backoff"]["window_min"]
        7
        """
        return self._add("queues", {"nodes": list(nodes), **settings})

    def loss(self, source: str, destination: str, loss: object) -> Builder:
        """Let a link lose a share of its frames that nothing else spoils."""
        return self._add("losses", {"from": source, "to": destination, "loss": loss})

    def scenario(self) -> Scenario:
        """Check all of it and give the scenario."""
        return Scenario({**self._settings, **self._lists})
