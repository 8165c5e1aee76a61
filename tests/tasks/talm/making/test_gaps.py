"""Several gaps at once, and one that only a tool's answer shows: built from seeds, and proved by execution; and seeds that are broken."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scripts.build_scenarios import build_scenarios, load_seeds
from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.types import Scenario, ToolSpec
from tests.tables import labelled
from tests.tasks.talm.making.toy import SEED, write_seed

TOWNS = {"Ohio": 58_662, "Illinois": 114_394, "Missouri": 169_176}
SPECS = {
    "get_town": ToolSpec(
        name="get_town",
        category="towns",
        description="Get how many people live in a town.",
        parameters={
            "type": "object",
            "properties": {
                "town": {"type": "string", "description": "Name of the town."},
                "state": {"type": "string", "description": "Its state."},
                "year": {"type": "integer", "description": "Year of the census."},
            },
            "required": ["town", "year"],
            "additionalProperties": False,
        },
        is_record=True,
    )
}
TOWNS_SEED = """
[[scenario]]
query = "I'm writing about Springfield in Ohio: how many people lived there at the census of 2020?"
calls = [{ name = "get_town", arguments = { town = "Springfield", state = "Ohio", year = 2020 } }]
facts = [{ name = "people", call = 0, pointer = "/people" }]
[[scenario.underspecified]]
query = "I'm writing about Springfield in Ohio: how many people lived there at that census?"
call = 0
argument = "year"
removed_text = "of 2020"
human_answer = "The one of 2020."
[[scenario.underspecified]]
query = "I'm writing about a town in Ohio: how many people lived there at the census of 2020?"
call = 0
argument = "town"
removed_text = "Springfield"
human_answer = "It's Springfield."
[scenario.several_gaps]
query = "I'm writing about a town in Ohio: how many people lived there at that census?"
gaps = [
  { call = 0, argument = "year", removed_text = "of 2020", human_answer = "The one of 2020." },
  { call = 0, argument = "town", removed_text = "Springfield", human_answer = "It's Springfield." },
]
[scenario.late_gap]
query = "I'm writing about Springfield: how many people lived there at the census of 2020?"
call = 0
argument = "state"
removed_text = "in Ohio"
human_answer = "The one in Ohio."
other = "Illinois"
[scenario.unavailable]
tool = "get_town"
"""


def call_town(tool: str, arguments: Mapping[str, Any]) -> Any:
    assert tool == "get_town" and arguments["year"] == 2020
    state = arguments.get("state")
    if state is None:
        return {"several": [*TOWNS][:2]}
    if state not in TOWNS:
        raise ToolError(f"No state '{state}'.", "http_404")
    return {"people": TOWNS[state] if state != "Missouri" else TOWNS["Ohio"]}


def build(folder: Path, text: str = TOWNS_SEED) -> dict[str, list[Scenario]]:
    (folder / "towns.toml").write_text(text, encoding="utf-8")
    return build_scenarios(folder, SPECS, call_town)


def problems(groups: dict[str, list[Scenario]]) -> list[str]:
    return [str(one) for one in check_scenarios([one for found in groups.values() for one in found], SPECS, call_town, packaged=True)]


def test_a_query_is_masked_in_two_ways_in_two_places_at_once_and_where_nobody_sees_it(tmp_path: Path) -> None:
    groups = build(tmp_path)
    assert [one.id for one in groups["underspecified"]] == ["towns-01.underspecified", "towns-01.underspecified-2"]
    (several,), (late,) = groups["several-gaps"], groups["late-gap"]
    assert [(one.name, one.value) for one in several.missing] == [("year", 2020), ("town", "Springfield")]
    assert [(one.name, one.value, one.other) for one in late.missing] == [("state", "Ohio", "Illinois")]
    assert problems(groups) == []


@labelled
def test_a_late_gap_that_is_none_is_named(tmp_path: Path, old: str, new: str, what: str) -> None:
    assert old in TOWNS_SEED
    found = problems(build(tmp_path, TOWNS_SEED.replace(old, new)))
    assert [one for one in found if one.startswith(f"towns-01.late-gap: {what}")], found


def test_other_values_must_lead_to_other_values_of_what_is_asked(tmp_path: Path) -> None:
    (late,) = build(tmp_path)["late-gap"]

    def alike(_: str, arguments: Mapping[str, Any]) -> Any:
        return {"people": 58_662, "state": arguments["state"]} if "state" in arguments else {"several": [*TOWNS]}

    assert "gives the same with 'Illinois'" in str(check_scenarios([late], SPECS, alike))


def test_a_packaged_masked_tool_that_nobody_replaces_gives_a_record(tmp_path: Path) -> None:
    groups, spec = build(tmp_path), SPECS["get_town"]
    specs = {"get_town": spec.model_copy(update={"is_record": False})}
    (found,) = check_scenarios(groups["non-replaceable"], specs, call_town, packaged=True)
    assert found.what == "what 'get_town' gives can be computed or is generally known"
    assert check_scenarios(groups["non-replaceable"], specs, call_town) == []


def test_a_seed_with_one_of_several_gaps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "towns.toml").write_text(
        TOWNS_SEED.replace('  { call = 0, argument = "year", removed_text = "of 2020", human_answer = "The one of 2020." },\n', "")
    )
    with pytest.raises(PrerequisiteError, match="scenario 1: several_gaps"):
        load_seeds(tmp_path / "towns.toml")


@labelled
def test_a_broken_seed_is_named_with_file_scenario_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SEED
    with pytest.raises(PrerequisiteError, match=rf"toys\.toml: {message}") as caught:
        load_seeds(write_seed(tmp_path, SEED.replace(old, new)) / "toys.toml")
    assert "\n" not in str(caught.value)
