"""Scenarios: reading, changes, and messages of mistakes."""

from __future__ import annotations

import pickle
from pathlib import Path

import evenair
import pytest

TWO = """
duration = "2 s"
radio = { transmission_range = "250 m", carrier_sense_range = "800 m" }
nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [0, 100] }]
flows = [{ id = "up", from = "a", to = "b" }]
"""


def test_a_scenario_is_the_same_from_text_file_and_dictionary(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    of_text = evenair.Scenario(TWO)
    of_dict = evenair.Scenario(
        {
            "duration": "2 s",
            "radio": {"transmission_range": "250 m", "carrier_sense_range": "800 m"},
            "nodes": [{"id": "a", "at": (0, 0)}, {"id": "b", "at": [0, 100.0]}],
            "flows": [{"id": "up", "from": "a", "to": "b", "via": None}],
        }
    )
    radio = {"transmission_range": "250 m", "carrier_sense_range": "800 m"}
    built = evenair.Builder(duration="2 s", radio=radio).node("a", (0, 0)).node("b", (0, 100)).flow("up", "a", "b")
    assert of_text == evenair.Scenario(file) == of_dict == built.scenario()
    assert of_text.to_toml() == of_dict.to_toml()


def test_error_names_file_line_key_and_allowed_values(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(TWO.replace('to = "b"', 'to = "c"'))
    with pytest.raises(evenair.ScenarioError) as raised:
        evenair.Scenario(file)
    error = raised.value
    assert (error.file, error.line, error.key) == (str(file), 5, "flows[0].to")
    assert '"c"' in error.message
    assert str(error).startswith(f"{file}:5:")
    again = pickle.loads(pickle.dumps(error))
    assert (again.line, again.key, str(again)) == (5, "flows[0].to", str(error))


def test_a_misspelt_id_is_asked_about() -> None:
    with pytest.raises(evenair.ScenarioError, match="did you mean chen10/a"):
        evenair.Scenario("chen10/aa")


def test_changes_are_those_of_the_command_line() -> None:
    a = evenair.Scenario("chen10/a")
    changed = a.with_({"connections.k": 7, "mac.rts_threshold": "500 bytes"}, backoff={"law": "adaptive", "r_max": 8.0})
    settings = changed.resolved
    assert settings["connections"]["k"] == 7
    assert settings["backoff"] == changed.resolved["backoff"]
    assert (settings["backoff"]["law"], settings["backoff"]["r_max"]) == ("adaptive", 8.0)
    assert a.resolved["backoff"]["law"] == "dcf"
    assert evenair.Scenario(changed.to_toml()) == changed


def test_a_key_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(evenair.ScenarioError, match="unknown field"):
        evenair.Scenario("chen10/a").with_(durration="5 s")


def test_unknown_part_of_a_scenario_is_an_error() -> None:
    with pytest.raises(TypeError, match="has no place in a scenario"):
        evenair.Scenario("chen10/a").with_(duration=object())


def test_a_scenario_crosses_to_another_process() -> None:
    scenario = evenair.Scenario("chen10/a").with_(duration="5 s")
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_a_scenario_is_drawn() -> None:
    drawn = evenair.Scenario("chen10/a")._repr_html_()
    assert drawn.count("<circle") == 8
    assert "carrier sense" in drawn
    without_places = evenair.Scenario("lee12/star") if "lee12/star" in evenair.scenario_ids() else None
    if without_places is not None:
        assert "<circle" in without_places._repr_html_()


def test_every_scenario_that_comes_along_is_read_and_drawn() -> None:
    for name in evenair.scenario_ids():
        assert "<svg" in evenair.Scenario(name)._repr_html_(), name
