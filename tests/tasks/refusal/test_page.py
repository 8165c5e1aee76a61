"""What an episode's page shows of task `refusal`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.tasks import find_task
from talm_sim.tasks.refusal.page import sections
from talm_sim.types import AcceptedCall, Calls, Scenario
from tests.tasks.refusal.crafted import CLOCK, answered, case, tool


def page(scenario: Scenario, text: str) -> dict[str, list[str]]:
    return {one.title: ["".join(part.text for part in line) for line in one.lines] for one in sections(answered(scenario, text), scenario)}


def right(calls: Sequence[AcceptedCall]) -> list[str]:
    return page(case("a", "simple_python", Calls(expected="calls", accepted=tuple(calls))), "[]")["Right"]


def test_a_right_call_stands_there_with_every_value_that_counts() -> None:
    accepted = AcceptedCall(name="world.clock", arguments={"city": ("Hue", "Huế"), "format": ("", 24), "zone": ()})
    assert right([accepted]) == ['world.clock(city="Hue" or "Huế", format=(left out) or 24, zone=(nothing is right))']
    assert right([AcceptedCall(name="f", arguments={}), AcceptedCall(name="g", arguments={"a": (1,)})]) == ["f()", "g(a=1)"]


def test_where_no_call_or_any_is_right_that_is_said() -> None:
    assert page(case("a"), "No.")["Right"] == ["no call: no function shown serves"]
    assert page(case("a", "live_relevance", Calls(expected="any")), "No.")["Right"] == ["a call, whichever"]


def test_the_functions_shown_and_the_calls_read_stand_beside_them() -> None:
    target = Calls(expected="calls", accepted=(AcceptedCall(name="world.clock", arguments={"city": ("Hue",)}),))
    scenario = case("a", "simple_python", target, tools=(CLOCK, tool("other", a="string")))
    shown = page(scenario, "[world.clock(city='Hue')]")
    assert shown == {
        "Functions shown": ["world.clock  needed", "other"],
        "Right": ['world.clock(city="Hue")'],
        "Calls read": ['world.clock(city="Hue")'],
    }
    assert page(scenario, "I cannot tell.")["Calls read"] == ["(none)"]


def test_a_line_under_the_table_says_that_translated_rows_are_not_of_native_speakers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for language, said in (("th", True), ("en", False)):
        run = ["run", "--task", "refusal", "--model", "sim/cautious", "--language", language, "--split", "removed", "--limit", "1"]
        assert main([*run, "--run-dir", str(tmp_path), "--run-id", language]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert ("translated rows (1 in th): not written or read by native speakers" in printed) == said


def test_rows_that_a_model_translated_are_named_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(one for one in find_task("refusal").read(["removed"]) if one.language == "th")
    source = row.source.model_copy(update={"name": "talm-sim, translated by openai/m"})
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row.model_copy(update={"source": source}).model_dump(mode="json")))
    run = ["run", "--task", "refusal", "--model", "sim/cautious", "--scenarios", str(file)]
    assert main([*run, "--run-dir", str(tmp_path), "--run-id", "r"]) == 0
    assert "translated rows (1 in th): talm-sim, translated by openai/m" in " ".join(capsys.readouterr().out.split())
    assert main(["show", f"{tmp_path / 'r'}:{row.id}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"says the same as {row.original}, in language th (talm-sim, translated by openai/m)" in said
