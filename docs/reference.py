"""Pages whose lists are made from the program: commands, languages, laws, metrics, glossary and the Python module.

`docs/reference/` has their beginnings, so that links lead somewhere in the repository, too. `docs/pages.py` puts the
whole pages into the site; `EVENAIR` names the program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import module

PROGRAM = os.environ.get("EVENAIR", "evenair")
BEGINNINGS = Path(__file__).parent / "reference"
END = "\nThe manual has the list itself: `cargo xtask docs` builds it.\n"
"""The last line of a beginning, which the whole page lacks."""


def pages() -> dict[str, str]:
    """The whole pages, by name."""
    lists = {
        "commands": commands(),
        "scenario": sections(json.loads(told("schema"))),
        "study": sections(json.loads(told("schema", "study"))),
        "laws": laws(),
        "metrics": metrics(),
        "results": results(),
        "glossary": glossary(),
        "python": module.page(),
    }
    return {name: beginning(name) + text for name, text in lists.items()}


def beginning(name: str) -> str:
    """What a page says before its list."""
    text = (BEGINNINGS / f"{name}.md").read_text(encoding="utf-8")
    if not text.endswith(END):
        message = f"reference/{name}.md does not end in {END!r}"
        raise ValueError(message)
    return text.removesuffix(END)


def told(*arguments: str) -> str:
    """What the program says."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    command = [PROGRAM, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def listed(*arguments: str) -> list[dict[str, Any]]:
    """The list in what the program says as JSON."""
    document = json.loads(told(*arguments, "--json"))
    if isinstance(document, list):
        return document
    return next(value for value in document.values() if isinstance(value, list))


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"


def header(*cells: str) -> str:
    return "\n" + row(*cells) + "|" + "---|" * len(cells) + "\n"


def commands() -> str:
    """A section for each command, with its help."""
    names = re.findall(r"^  ([a-z-]+)  ", told("--help"), re.MULTILINE)
    text = ""
    for name in dict.fromkeys(name for name in names if name != "help"):
        text += f"\n## evenair {name}\n\n```text\n{told(name, '--help').rstrip()}\n```\n"
    return text


def kind(key: dict[str, Any], tables: dict[str, Any]) -> str:
    """What is written for a key, with a link to a table of its own."""
    if "$ref" in key:
        name = key["$ref"].rsplit("/", 1)[1]
        table = tables[name]
        if name == "Metric":
            return "[a metric](metrics.md)"
        if is_table(table):
            return f"[{table.get('heading', name)}](#{table.get('anchor', name.lower())})"
        if "anyOf" in table or "$ref" in table:
            return kind(table, tables)
        return f"`{json.dumps(table['examples'][0])}`" if "examples" in table else words(table)
    if "anyOf" in key:
        kinds = [kind(one, tables) for one in key["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "oneOf" in key:
        return words(key)
    if "enum" in key:
        return ", ".join(f"`{word}`" for word in key["enum"])
    if "const" in key:
        return f"`{key['const']}`"
    types = key.get("type", "")
    types = [one for one in ([types] if isinstance(types, str) else types) if one != "null"]
    if types == ["array"]:
        items = key.get("items", {})
        return f"list of {kind(items, tables) if isinstance(items, dict) else 'values'}"
    return {"integer": "whole number", "boolean": "true or false"}.get(types[0], types[0]) if types else "value"


def words(table: dict[str, Any]) -> str:
    """The words that an enumeration allows, or what its forms are."""
    found = [f"`{one['const']}`" for one in table.get("oneOf", []) if "const" in one]
    found += [f"`{word}`" for one in table.get("oneOf", []) for word in one.get("enum", [])]
    found += [f"`{word}`" for word in table.get("enum", [])]
    return ", ".join(found) or str(table.get("type", "value"))


def is_table(table: dict[str, Any]) -> bool:
    return "properties" in table or any("properties" in one for one in table.get("oneOf", []))


def keys(table: dict[str, Any], tables: dict[str, Any]) -> str:
    text = header("key", "what is written", "meaning", "if it is not given")
    required = table.get("required", [])
    for name, key in table.get("properties", {}).items():
        default = key.get("default")
        given = "must be given" if name in required else "" if default in (None, "", []) else f"`{json.dumps(default)}`"
        text += row(f"`{name}`", kind(key, tables), key.get("description", ""), given)
    return text


def sections(schema: dict[str, Any]) -> str:
    """The keys at the top of a file, and a section for each of its tables, under the head that it has in a file."""
    tables = schema.get("$defs", {})
    found: dict[str, list[str]] = {}
    place(schema, "", tables, found, frozenset())
    anchors: set[str] = set()
    for name, heads in found.items():
        shortest = min(head.count(".") for head in heads)
        first = [head for head in heads if head.count(".") == shortest]
        anchor = first[0].strip("[]").replace(".", "-")
        others = [f"`{head}`" for head in heads if head not in first]
        tables[name]["heading"] = ", ".join(f"`{head}`" for head in first)
        tables[name]["anchor"] = anchor if anchor not in anchors else f"{anchor}-{name.lower()}"
        tables[name]["also"] = f" The same is written in {', '.join(others)}." if others else ""
        anchors.add(anchor)
    text = "\n## The file\n" + keys(schema, tables)
    for table in [tables[name] for name in found]:
        heading = table["heading"]
        text += f"\n## {heading} {{ #{table['anchor']} }}\n\n{table.get('description', '')}{table['also']}\n"
        text += keys(table, tables) if "properties" in table else ""
        for form in table.get("oneOf", []):
            if "properties" in form:
                properties = form["properties"].items()
                fixed = ", ".join(f'`{key} = "{value["const"]}"`' for key, value in properties if "const" in value)
                text += f"\n### {heading}: {fixed}\n\n{form.get('description', '')}\n" + keys(form, tables)
    return text


def place(
    key: dict[str, Any], head: str, tables: dict[str, Any], found: dict[str, list[str]], above: frozenset[str]
) -> None:
    """Collects under which heads each table stands in a file: `[radio]`, `[[flows]]`, `[flows.web]`."""
    if "$ref" in key:
        name = key["$ref"].rsplit("/", 1)[1]
        if is_table(tables[name]) and head not in found.setdefault(name, []):
            found[name].append(head)
        if name not in above:
            place(tables[name], head, tables, found, above | {name})
    for one in [*key.get("anyOf", []), *key.get("oneOf", [])]:
        place(one, head, tables, found, above)
    if isinstance(key.get("items"), dict):
        place(key["items"], f"[{head}]", tables, found, above)
    for name, of in key.get("properties", {}).items():
        within = head.strip("[]")
        place(of, f"[{within}.{name}]" if within else f"[{name}]", tables, found, above)


def laws() -> str:
    """Every control law with its source and parameters."""
    text = ""
    for family in listed("list", "laws"):
        text += f"\n## {family['family'].capitalize()}: {family['decides']}\n\nIn scenarios under `{family['key']}`.\n"
        for law in family["laws"]:
            text += f"\n### {law['name']} {{ #{family['family']}-{law['name']} }}\n\n"
            text += f"{law['does']} Source: {law['source']}. "
            where = f"Over {' and '.join(law['media'])}; traffic: {', '.join(law['traffic'])}."
            text += (where if law.get("media") else "") + "\n"
            if law["parameters"]:
                text += header("parameter", "what is written", "default", "meaning")
            for key in law["parameters"]:
                default = "" if key["default"] is None else f"`{json.dumps(key['default'])}`"
                text += row(f"`{key['key']}`", key["kind"], default, key["means"])
    return text


def metrics() -> str:
    """Every metric that studies and sweeps know."""
    text = header("metric", "unit", "what it is", "of all flows", "over time")
    for one in listed("list", "metrics"):
        over_time = "yes" if one.get("over_time") else ""
        text += row(f"`{one['metric']}`", one.get("unit") or "", one["about"], one.get("of_all") or "", over_time)
    return text


def results() -> str:
    """Every key of what commands print as JSON."""
    schema = json.loads(told("schema", "result"))
    tables = schema["$defs"]
    forms = [form["$ref"].rsplit("/", 1)[1] for form in schema["anyOf"]]
    text = f"\n{schema['description']}\n"
    for name in [*forms, *(name for name in tables if name not in forms)]:
        table = tables[name]
        if not is_table(table):
            continue
        text += f"\n## {name}\n\n{table.get('description', '')}\n" + header("key", "what it is", "meaning")
        required = table.get("required", [])
        for key, of in table.get("properties", {}).items():
            missing = "" if key in required else " (may be missing)"
            text += row(f"`{key}`", kind(of, tables), of.get("description", "") + missing)
    return text


def glossary() -> str:
    """Words of the field and of the papers."""
    text = ""
    topic = ""
    for entry in listed("glossary") if "  glossary " in told("--help") else []:
        if entry["topic"] != topic:
            topic = entry["topic"]
            text += f"\n## {topic}\n" + header("word", "meaning")
        others = [form for form in entry["forms"] if not form.startswith(entry["word"][:2])] + entry.get("heads", [])
        text += row(f"**{entry['word']}**" + (f" ({', '.join(others)})" if others else ""), entry["means"])
    return text
