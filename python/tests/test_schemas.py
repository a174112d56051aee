"""Built-in files and the command's output follow `evenair schema`.

`EVENAIR` names the command; `cargo xtask module` sets it to the one that the other tests built.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")
tomllib = pytest.importorskip("tomllib", reason="TOML is read by Python from 3.11 on")

# JSON as it is read, and validators of a library that may not be there.
Json = Any

ROOT = Path(__file__).parent.parent.parent
PROGRAM = os.environ.get("EVENAIR") or shutil.which("evenair")
SHORT = ["--set", "duration=2 s", "--set", "warmup=1 s"]

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no command: EVENAIR does not name it, and PATH has none")


def printed(*arguments: str) -> str:
    assert PROGRAM
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


def document(*arguments: str) -> Json:
    return json.loads(printed(*arguments))


def form(schema: Json) -> Json:
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def fits(form: Json, what: str, value: Json) -> None:
    faults = [f"{fault.json_path}: {fault.message[:300]}" for fault in form.iter_errors(value)]
    assert not faults, what + "\n" + "\n".join(faults[:5])


def built_in(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.toml"))


def test_every_study_follows_its_schema() -> None:
    study = form(document("schema", "study"))
    for path in built_in("studies"):
        fits(study, str(path), tomllib.loads(path.read_text(encoding="utf-8")))
    assert len(built_in("studies")) > 80
    wrong = {"title": "A study", "variants": [], "claims": [{"txet": "misspelt"}]}
    assert not study.is_valid(wrong), "the schema rejects the fault"


def test_every_scenario_follows_its_schema() -> None:
    scenario = form(document("schema"))
    for path in built_in("scenarios"):
        fits(scenario, str(path), tomllib.loads(path.read_text(encoding="utf-8")))
    assert len(built_in("scenarios")) > 40
    assert not scenario.is_valid({"nods": []}), "the schema rejects the fault"
    # Scenarios that evenair writes itself, with all defaults, are valid, too.
    resolved = printed("show", "gateway/community", "--resolved")
    fits(scenario, "gateway/community, resolved", tomllib.loads(resolved))


def strict(schema: Json) -> None:
    """Lets a schema take no key of which it does not tell."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in parts:
        strict(part)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        schema.setdefault("additionalProperties", False)


class Told:
    """Holds the output of commands to `evenair schema result`: those keys, of those kinds, and no others."""

    def __init__(self) -> None:
        self.schema = document("schema", "result")
        fits(form(self.schema), "any document", document("list", "--json"))
        strict(self.schema)

    def check(self, value: Json, name: str) -> None:
        schema = copy.copy(self.schema)
        schema["anyOf"] = [{"$ref": f"#/$defs/{name}"}]
        fits(form(schema), name, value)


@pytest.fixture(scope="module")
def told() -> Told:
    return Told()


def read(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


def test_runs_follow_their_schema(told: Told, tmp_path: Path) -> None:
    def run(*arguments: str) -> int:
        lines = printed("run", *arguments, "--json", "--series").splitlines()
        for line in lines:
            told.check(json.loads(line), "run")
        return len(lines)

    kept = ["--ledger", "--timeline", "1s..1.2s", "--seeds", "2", "--out", str(tmp_path)]
    assert run("chen10/a", *kept, *SHORT) == 2
    told.check(read(tmp_path / "result.json"), "run-result")
    told.check(read(tmp_path / "manifest.json"), "manifest")
    # Gateways and web pages; probes and resequencing; datagrams.
    for scenario in ["gateway/community", "cz06/one", "jam10/chain-udp"]:
        assert run(scenario, "--set", "duration=2 s") == 1


def test_theory_and_lists_follow_their_schema(told: Told) -> None:
    for more in [[], ["--objective", "max-min"], ["--objective", "proportional", "--solver", "clarabel"]]:
        told.check(document("solve", "chen10/a", "--json", *more), "solve")
    told.check(document("solve", "chen10/a", "--json", "--exponents", "1,1,1,1"), "solve-product-form")
    told.check(document("fluid", "cz06/one", "--json"), "fluid")
    told.check(document("compare", "chen10/a", "--json", "--seeds", "1", *SHORT), "compare")
    for kind in [[], ["laws"], ["metrics"], ["studies"], ["scenarios"]]:
        told.check(document("list", "--json", *kind), "list")
    told.check(document("glossary", "--json"), "glossary")


def test_sweeps_and_studies_follow_their_schema(told: Told, tmp_path: Path) -> None:
    vary = ["--world", "fair", "--vary", "connections.k=5,10", "--json", "--out", str(tmp_path / "sweep")]
    told.check(document("sweep", "chen10/a", *vary), "sweep")
    told.check(read(tmp_path / "sweep/manifest.json"), "manifest")
    told.check(document("study", "jam10/fig-7-1", "--json", "--out", str(tmp_path / "studies")), "study")
    told.check(read(tmp_path / "studies/jam10/fig-7-1/result.json"), "study")
    told.check(read(tmp_path / "studies/jam10/fig-7-1/manifest.json"), "manifest")
