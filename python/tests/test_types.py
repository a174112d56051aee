"""The types for type checkers are the program's, and leave nothing open.

`python/evenair/_typed.pyi` is made here of the program's tables and of its JSON Schema: EVENAIR_BLESS=1 writes it.
"""

from __future__ import annotations

import keyword
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import evenair
import pytest

FILE = Path(__file__).parent.parent / "evenair/_typed.pyi"
HEAD = '''"""Tables and documents: their types for type checkers. Made by python/tests/test_types.py."""

from typing import Any, Literal, TypedDict, overload

from typing_extensions import NotRequired

from ._table import Column, Table
'''
SHORT = {"duration": "2 s", "warmup": "1 s"}
KINDS = {"text": "list[str]", "count": "list[int]", "number": "list[float]", "optional": "list[float | None]"}
WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def samples() -> Iterator[tuple[str, evenair.Table]]:
    """Give a table of every kind, with the name of its type."""
    mesh = {"seeds": 1, "series": True, "ledger": True, "timeline": ("1 s", "1.1 s"), **SHORT}
    runs = evenair.run("jam10/chain", gateway={"node": "0", "law": "pfrc"}, **mesh).tables
    solved = evenair.solve("chen10/a").tables
    fluid = evenair.fluid("chen10/a", backoff__law="adaptive", connections__k=10).tables
    study = evenair.study("chen10/table-6-1", quick=True, **SHORT).tables
    for name in ("flows", "links", "seeds", "series", "frames"):
        yield f"Run{name.capitalize()}", runs[name]
    yield "GatewayClasses", runs["classes"]
    yield "GatewayLooks", runs["gateway"]
    for name in ("Flows", "Links", "Conflicts", "Sets"):
        yield f"Solved{name}", solved[name.lower()]
    yield "SolvedSetLinks", solved["set_links"]
    yield "FluidFlows", fluid["flows"]
    yield "FluidLinks", fluid["links"]
    yield "ComparedStages", evenair.compare("chen10/a", seeds=1, **SHORT).stages
    yield "Claims", study["claims"]
    yield "StudyTable", study["table"]


def table(name: str, of: evenair.Table) -> str:
    """Write the type of a table: of each column its kind."""
    parts = of._core.__reduce__()[1][0]
    text = f"\nclass {name}(Table):\n"
    for kind, given in KINDS.items():
        columns = [column for column, its, _ in parts if its == kind]
        if columns:
            words = ", ".join(f'"{column}"' for column in columns)
            text += f"    @overload\n    def __getitem__(self, column: Literal[{words}]) -> {given}: ...\n"
    return text + "    @overload\n    def __getitem__(self, column: str) -> Column: ...\n"


def kind(schema: Any) -> str:  # noqa: ANN401 -- JSON
    """Write the type that a schema allows."""
    if "$ref" in schema:
        return typed(schema["$ref"].rsplit("/", 1)[1])
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(repr(word) for word in schema['enum'])}]"
    forms = schema.get("anyOf") or schema.get("oneOf")
    if forms:
        return " | ".join(dict.fromkeys(kind(form) for form in forms))
    names = schema.get("type", [])
    return " | ".join(one(name, schema) for name in ([names] if isinstance(names, str) else names)) or "Any"


def one(name: str, schema: Any) -> str:  # noqa: ANN401 -- JSON
    if name == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {kind(values) if isinstance(values, dict) else 'Any'}]"
    if name != "array":
        return WORDS[name]
    several = [kind(part) for part in schema.get("prefixItems", [])] or [kind(schema.get("items", {}))]
    return f"list[{' | '.join(dict.fromkeys(several))}]"


def typed(name: str) -> str:
    """Give the name of a definition's type."""
    return {"run": "Run", "study": "StudyDocument"}.get(name, name)


def document(name: str, schema: Any) -> str:  # noqa: ANN401 -- JSON
    """Write the type of a definition; by a call, where a key is a word of Python's."""
    keys, needed = schema.get("properties"), schema.get("required", [])
    if keys is None:
        return f"\n{typed(name)} = {kind(schema)}\n"
    if name in ("run", "study"):
        del keys["schema_version"], keys["command"]  # of printed documents alone
    missing = {key for key in keys if key not in needed}
    if any(keyword.iskeyword(key) for key in keys):
        entries = "".join(f'    "{key}": {optional(kind(of), key in missing)},\n' for key, of in keys.items())
        return f'\n{typed(name)} = TypedDict("{typed(name)}", {{\n{entries}}})\n'
    text = f"\nclass {typed(name)}(TypedDict):\n"
    for key, of in keys.items():
        text += f'    {key}: {optional(kind(of), key in missing)}\n    """{of.get("description", "")}"""\n'
    return text


def optional(of: str, is_missing: bool) -> str:
    return f"NotRequired[{of}]" if is_missing else of


def reached(definitions: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Give these definitions and those that they refer to, each once."""
    found: list[str] = []
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting += re.findall(r"'#/\$defs/([\w-]+)'", str(definitions[name]))
    return found


def made() -> str:
    definitions = evenair.schema("result")["$defs"]
    tables = [table(name, of) for name, of in samples()]
    documents = [document(name, definitions[name]) for name in reached(definitions, ["run", "study"])]
    return "".join([HEAD, *tables, *documents])


def test_types_are_those_of_the_program() -> None:
    if os.environ.get("EVENAIR_BLESS"):
        FILE.write_text(made(), encoding="utf-8")
    assert made() == FILE.read_text(encoding="utf-8"), "EVENAIR_BLESS=1 writes it"


USED = """
import evenair
from typing import reveal_type
runs = evenair.run("chen10/a", seeds=[1, 2])
reveal_type(runs)
reveal_type(runs.mean())
reveal_type(runs.flows)
reveal_type(runs.flows["flow"])
reveal_type(runs.flows["sent"])
reveal_type(runs.flows["goodput_pps"])
reveal_type(runs.flows["delay_s"])
reveal_type(runs.flows["of my sweep"])
reveal_type(runs.records[0]["flows"][0]["goodput_pps"])
reveal_type(runs.seeds)
reveal_type(evenair.solve("chen10/a").objective)
reveal_type(evenair.solve("chen10/a").sets["share"])
reveal_type(evenair.fluid("chen10/a").eigenvalues)
reveal_type(evenair.compare("chen10/a").senders_time)
reveal_type(evenair.study("chen10/table-6-1").claims["verdict"])
reveal_type(evenair.study("chen10/table-6-1").result["claims"][0]["measured"])
reveal_type(evenair.sweep("chen10/a", {"seed": [1]}).points)
reveal_type(evenair.gym.NetworkEnv("chen10/a").step([1])[1])
reveal_type(evenair.gym.parallel_env("chen10/a").step({})[1])
"""
TOLD = """
evenair._results.Runs
dict[str, float]
evenair._typed.RunFlows
list[str]
list[int]
list[float]
list[float | None]
list[str] | list[int] | list[float] | list[float | None]
float
list[int]
float | None
list[float]
list[tuple[float, float]] | None
list[tuple[str, float]]
list[str]
float | None
dict[str, evenair._scenario.Scenario]
float
dict[str, float]
"""
REFUSED = """
x: int = evenair.solve("chen10/a").objective
evenair.solve("chen10/a").objetive
evenair.run("chen10/a", seeds="x")
evenair.run("chen10/a", seeds=2).table
evenair.fluid("chen10/a").is_stable.real
evenair.Access.exponential("1")
evenair.gym.NetworkEnv("chen10/a", alpha="1")
evenair.svg
"""


def checked(text: str, folder: Path) -> list[str]:
    """Give mypy's messages of a program, in order; the package is found where it is imported from here."""
    pytest.importorskip("mypy")
    file = folder / "used.py"
    file.write_text(text, encoding="utf-8")
    package = Path(evenair.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", str(file)],
        env={**os.environ, "MYPYPATH": str(package)},
        cwd=FILE.parent.parent.parent,  # strictly, as pyproject.toml has it, with the package's own cache
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return [line.partition("used.py:")[2] for line in done.stdout.splitlines()]


def test_type_checker_infers_results_and_finds_faults(tmp_path: Path) -> None:
    lines = checked(USED + REFUSED, tmp_path)
    told = [line.partition("Revealed type is ")[2].strip('"') for line in lines if "Revealed" in line]
    assert told == TOLD.strip().splitlines()
    refused = {int(line.partition(":")[0]) for line in lines if " error: " in line}
    first, last = len(USED.splitlines()) + 2, len((USED + REFUSED).splitlines())
    assert refused == set(range(first, last + 1)), "these lines and no others"
