"""The page of the Python module: what each public module exports, with its docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "python/evenair"
MODULES = {
    "evenair": "__init__.py",
    "evenair.laws": "laws.py",
    "evenair.testing": "testing.py",
    "evenair.gym": "gym.py",
}
FIRST = ["run", "solve", "sweep", "study", "compare", "fluid", "Scenario", "Builder"]
"""What a reader looks for first."""


@dataclass
class Entry:
    """A name with what is said of it."""

    name: str
    text: str
    signature: str = ""
    members: tuple[Entry, ...] = ()
    bases: tuple[str, ...] = ()

    @property
    def is_called(self) -> bool:
        return "(" in self.signature and not self.signature.startswith("(")


def page() -> str:
    text = ""
    for module, entries in exported().items():
        if module != "evenair":
            text += f"\n## {module}\n\n{shown(ast.get_docstring(parsed(MODULES[module])) or '')}"
        level = "##" if module == "evenair" else "###"
        for entry in entries:
            text += section(f"{level} {module}.{entry.name}", entry) + attributes(entry)
            for member in entry.members:
                if member.is_called:
                    text += section(f"{level}# {entry.name}.{member.name}", member)
    return text


def attributes(entry: Entry) -> str:
    """The members of a class that are not called, a row each."""
    text = ""
    for member in entry.members:
        if not member.is_called:
            kind = f"`{member.signature}`".replace("|", "\\|") if member.signature else ""
            text += f"| `{member.name}` | {kind} | {' '.join(member.text.split())} |\n"
    return "\n| attribute | type | meaning |\n|---|---|---|\n" + text if text else ""


def undocumented() -> list[str]:
    """Names of which nothing is said, those of members among them."""
    found = [(f"{module}.{entry.name}", entry) for module, entries in exported().items() for entry in entries]
    found += [(f"{name}.{member.name}", member) for name, entry in found for member in entry.members]
    return [name for name, entry in found if not entry.text]


def exported() -> dict[str, list[Entry]]:
    """What each module's `__all__` names, in the order in which it is looked for; modules stand for themselves."""
    sources = [*sorted(PACKAGE.glob("*.py")), PACKAGE / "_evenair.pyi"]
    known: dict[str, Entry] = {}
    for path in sources:
        for entry in defined(parsed(path.name)):
            known.setdefault(entry.name, entry)
    exported = {}
    for module, file in MODULES.items():
        own = {entry.name: entry for entry in defined(parsed(file))}
        names = [name for name in named(parsed(file)) if f"evenair.{name}" not in MODULES]
        names.sort(key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name[0].isupper()))
        exported[module] = [inheriting(own.get(name) or known.get(name) or Entry(name, ""), known) for name in names]
    return exported


def inheriting(entry: Entry, known: dict[str, Entry]) -> Entry:
    """An entry without members of which nothing is said but what a base of its class says."""
    said = {member.name for base in entry.bases if base in known for member in known[base].members}
    members = tuple(member for member in entry.members if member.text or member.name not in said)
    return replace(entry, members=members)


def parsed(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def named(module: ast.Module) -> list[str]:
    """The names in a module's `__all__`."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def defined(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterator[Entry]:
    """What a module defines, or a class: functions, classes, and names with a text below them."""
    for child, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(child, ast.FunctionDef):
            yield Entry(child.name, ast.get_docstring(child) or "", signature(child))
            if child.name == "__init__":
                yield from (entry for entry in defined(child) if entry.text)
        elif isinstance(child, ast.ClassDef):
            members = {entry.name: entry for entry in defined(child) if not entry.name.startswith("_")}
            bases = tuple(ast.unparse(base) for base in child.bases)
            yield Entry(child.name, ast.get_docstring(child) or "", "", tuple(members.values()), bases)
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = [child.target] if isinstance(child, ast.AnnAssign) else child.targets
            for target in [part for whole in targets for part in getattr(whole, "elts", [whole])]:
                yield Entry(ast.unparse(target).removeprefix("self."), said(below), kind(child))


def said(node: ast.stmt | None) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return node.value.value if is_text else ""


def kind(node: ast.Assign | ast.AnnAssign) -> str:
    return ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""


def signature(node: ast.FunctionDef) -> str:
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list):
        return result.removeprefix(" -> ")
    return f"{node.name}({ast.unparse(node.args)}){result}"


def section(heading: str, entry: Entry) -> str:
    signature = f"```text\n{entry.signature}\n```\n\n" if entry.signature else ""
    return f"\n{heading}\n\n{signature}{shown(entry.text)}"


HEADS = {"Args:": "Arguments", "Returns:": "Returns", "Raises:": "Raises"}
ITEM = re.compile(r"^    (\*{0,2}\w[\w., ]*): ")


def shown(docstring: str) -> str:
    """A docstring's text; examples and tables become blocks of code, arguments and errors lists."""
    text, block = "", ""
    for line in docstring.splitlines():
        if line in HEADS:
            text += f"{HEADS[line]}:\n\n"
            continue
        if not block:
            line = ITEM.sub(r"- `\1`: ", line)
        begins = "pycon" if line.lstrip().startswith(">>>") else "text" if line.startswith("====") else ""
        if begins and not block:
            text, block = text + f"\n```{begins}\n", begins
        elif block and not line.strip():
            text, block = text + "```\n", ""
        text += line + "\n"
    return text + ("```\n" if block else "")
