"""Multi-turn rows of BFCL: read whole, or refused with file, line and key; and what they add to the table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.refusal import measures
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, SUBSETS, find_package, load_bfcl
from talm_sim.tasks.refusal.bfcl.subsets import rows_of
from talm_sim.tasks.refusal.bfcl.turn_rows import gold_turns
from talm_sim.types import Calls, Episode, GoldCall, ModelTurn, Scenario, Source, Summary, Termination, Turn, Verdict
from tests.simulated_apis import make_package
from tests.tasks.views import View, job


def read(package: Path, subset: str = "multi_turn_miss_func") -> Scenario:
    (found,) = load_bfcl(package, [subset]).scenarios
    return found


def test_a_row_is_a_scenario_whose_tools_are_those_of_its_classes(tmp_path: Path) -> None:
    make_package(tmp_path)
    found = read(tmp_path)
    assert (found.id, found.group, found.tools) == ("multi_turn_miss_func_0", "multi_turn_miss_func", ("ls", "touch", "cd", "wait", "mean"))
    assert found.start == {"classes": {"GorillaFileSystem": {"names": ["old"]}, "MathAPI": {}}, "long_context": False}
    assert [turn.tools_added for turn in found.turns] == [(), (), ("ls",)]
    assert [turn.gold_calls for turn in found.turns] == [
        (GoldCall(name="touch", arguments={"file_name": "a"}),),
        (),
        (GoldCall(name="touch", arguments={"file_name": "b"}), GoldCall(name="ls")),
    ]
    (said,) = found.turns[2].messages
    assert said["role"] == "user" and "more functions" in said["content"]
    assert gold_turns(found) == [["touch('a')"], [], ["touch(file_name='b')", "ls()"]]
    assert Scenario.model_validate_json(found.model_dump_json()) == found
    assert read(tmp_path, "multi_turn_long_context").start["long_context"] is True


def test_data_without_the_package_around_them_are_refused(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    (package / "data").rename(tmp_path / "data")
    with pytest.raises(PrerequisiteError, match=r"data: is not the package bfcl_eval with its simulated APIs"):
        read(tmp_path / "data")


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda row: row.pop("involved_classes"), "involved_classes: is not a list of names"),
        (lambda row: row.update(involved_classes=["MathApi"]), "involved_classes: there is no class 'MathApi'. Did you mean 'MathAPI'?"),
        (lambda row: row.update(initial_config=[]), "initial_config: is not an object"),
        (lambda row: row.update(missed_function={"x": []}), "missed_function: is not an object of lists"),
        (lambda row: row.update(missed_function={"2": ["lss"]}), "missed_function.2: 'lss' is no function of GorillaFileSystem, MathAPI."),
        (lambda row: row.update(missed_function={}), "question.2: a turn has a message of the user, or functions in missed_function;"),
        (lambda row: row.update(question="Make a."), "question: is not a list of turns"),
        (lambda row: row["question"].pop(), "ground_truth: has 3 turns, and the row has 2;"),
        (lambda row: row["question"][0].append({"role": "assistant", "content": "a"}), "question.0: has a message that is not the user's"),
        (lambda row: row.update(id="other"), "id: 'other' has no ground truth"),
    ],
)
def test_a_broken_row_is_refused_with_file_line_and_key(tmp_path: Path, change: Change, fault: str) -> None:
    file = make_package(tmp_path) / "data" / "BFCL_v4_multi_turn_miss_func.json"
    row = json.loads(file.read_text())
    change(row)
    file.write_text(json.dumps(row))
    with pytest.raises(PrerequisiteError, match=rf"BFCL_v4_multi_turn_miss_func\.json:1: {re.escape(fault)}") as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", ["touch(name)", "touch('a', 'b')", "touch('a', file_name='b')", "os.touch('a')", "nope()", "touch('a'", "1"])
def test_right_calls_have_literal_values_of_known_parameters(tmp_path: Path, call: str) -> None:
    file = make_package(tmp_path) / "data" / "possible_answer" / "BFCL_v4_multi_turn_miss_func.json"
    file.write_text(json.dumps({"id": "multi_turn_miss_func_0", "ground_truth": [["touch('a')"], [], [call]]}))
    with pytest.raises(
        PrerequisiteError, match=rf"json:1: ground_truth\.2: '{re.escape(call)}' is not a call of a function with literal values;"
    ):
        read(tmp_path)


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_all_published_rows_are_read(version: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(f"bfcl_{version}")
    found = load_bfcl(folder, MULTI_TURN)
    assert len(found.scenarios) == 800 and not found.notes
    uneven = [one.id for one in found.scenarios if len(gold_turns(one) or ()) != len(one.turns)]
    assert uneven == (["multi_turn_base_154"] if version == "v3" else [])
    assert all(any(turn.tools_added for turn in one.turns) for one in found.scenarios if one.group == "multi_turn_miss_func")
    assert find_package(folder) == folder / "bfcl_eval"


FAILED = {"simple_java": 25, "irrelevance": 40, "live_simple": 58, "live_irrelevance": 100, "multi_turn_base": 50, "multi_turn_miss_func": 120}
"""How many rows of a subset fail; of the others, none."""


def played(left_out: int = 0) -> View:
    """All rows of v3, but the last ones, whose calls and turns were judged."""
    scenarios, verdicts = [], []
    for subset in SUBSETS.values():
        for number in range(rows_of(subset, "v3")):
            name, failed = f"{subset.name}_{number}", number < FAILED.get(subset.name, 0)
            turns = subset.name in MULTI_TURN
            expected: Any = subset.expected
            target: Any = {"type": "bfcl_turns", "gold": [[]]} if turns else Calls.model_construct(expected=expected)
            said = Turn.model_construct(messages=({"role": "user", "content": "Go on."},))
            scenarios.append(
                Scenario.model_construct(
                    id=name, task="refusal", group=subset.name, turns=(said,), target=target, language="en", source=Source(name="BFCL v3")
                )
            )
            label = "instance_state_mismatch" if failed and turns else ""
            verdicts += [
                Verdict(episode_id=name, judge=judge, judge_config_digest="", value=not failed, label=label)
                for judge in (("bfcl-turns",) if turns else ("calls", "intent"))
            ]
    kept = scenarios[: len(scenarios) - left_out]
    turn = ModelTurn(text="Done.", raw_text="Done.")
    made = [
        Episode(id=one.id, scenario_id=one.id, group=one.group, model="m", model_turns=(turn,), termination=Termination.ANSWERED)
        for one in kept
    ]
    return View(job("refusal", bfcl_version="v3"), made, scenarios, verdicts)


def overall(run: View) -> Summary:
    (found,) = (one for one in measures.summarize([*measures.rows(run)], run) if one.group == "all")
    return found


def scores(found: Summary) -> Iterator[tuple[str, float | None, str]]:
    return ((one.name, one.value, one.note) for one in found.measures if one.name.startswith("v3_"))


def test_the_overall_score_of_v3_is_the_mean_of_its_three_parts() -> None:
    found = overall(played())
    values = {name: value for name, value, _ in scores(found)}
    simple = (1 + Fraction(75, 100) + 1) / 3
    non_live = (simple + 1 + 1 + 1 + Fraction(200, 240)) / 5
    live = 1 - Fraction(158, 258 + 1053 + 16 + 24 + 882 + 18)
    turns = (Fraction(150, 200) + Fraction(80, 200) + 1 + 1) / 4
    assert values["v3_overall"] == pytest.approx(float((non_live + live + turns) / 3))
    assert values["v3_multi_turn"] == pytest.approx(float(turns))
    (column,) = (one for one in found.measures if one.name == "turns")
    assert (column.value, column.n) == ((800 - 170) / 800, 800)
    (matrix,) = (one for one in found.matrices if one.name == "turns")
    assert dict(zip(matrix.rows, matrix.counts, strict=True))["multi_turn_miss_func"] == (80, 0, 120, 0, 0)


def test_a_row_without_an_outcome_leaves_the_score_incomplete() -> None:
    notes = {name: (value, note) for name, value, note in scores(overall(played(left_out=1)))}
    assert notes["v3_overall"] == (None, "incomplete: 4,440 of 4,441 rows")
    assert notes["v3_multi_turn"] == (None, "incomplete: 799 of 800 rows")
