"""The JSON Schema of a scenario line beside the reader: both accept what is packaged, and refuse what is broken."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.schema import scenario_schema
from talm_sim.scenarios.turns import fault_in_messages
from talm_sim.tasks import find_task
from talm_sim.types import Scenario

TASKS = ("talm", "when2call", "awareness", "refusal")
FILES = [file for task in TASKS for file in sorted(Path(str(find_task(task).data)).glob("*.jsonl"))]


@cache
def validator(task: str) -> Draft202012Validator:
    schema = find_task(task).line_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line.strip() and not line.startswith("//"):
            yield json.loads(line)


def task_of(file: Path) -> str:
    return file.parent.parent.name


@cache
def first(task: str) -> dict[str, Any]:
    """A packaged scenario that has many keys, as a line."""
    every = [find_task(task).read_line(line, file.name, task) for file in FILES if task_of(file) == task for line in lines(file)]
    fullest = max(every, key=lambda one: (len(one.missing), len(one.gold_calls), one.id))
    return fullest.model_dump(mode="json") | {"missing": [one.model_dump(mode="json") for one in fullest.missing]}


def accepts(task: str, line: Any) -> bool:
    try:
        find_task(task).read_line(line, "file:1", task)
    except PrerequisiteError:
        return False
    return True


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{task_of(file)}-{file.stem}")
def test_every_packaged_line_is_valid(file: Path) -> None:
    check = validator(task_of(file))
    found = list(lines(file))
    assert found
    for line in found:
        errors = [error.message for error in check.iter_errors(line)]
        assert not errors, errors


Change = Callable[[dict[str, Any]], object]
BROKEN: dict[str, Change] = {
    "no id": lambda line: line.pop("id"),
    "blank id": lambda line: line.update(id=" "),
    "no group": lambda line: line.pop("group"),
    "no turns": lambda line: line.update(turns=[]),
    "a key that no scenario has": lambda line: line.update(querry="x"),
    "turns as text": lambda line: line.update(turns="What is it?"),
    "a message without content": lambda line: line["turns"][0]["messages"][0].pop("content"),
    "a message of nobody": lambda line: line["turns"][0]["messages"][0].update(role="robot"),
    "a message with a key that nobody reads": lambda line: line["turns"][0]["messages"][0].update(mood="calm"),
    "content that is a list": lambda line: line["turns"][0]["messages"][0].update(content=[{"type": "text", "text": "x"}]),
    "tools as text": lambda line: line.update(tools="find_holiday"),
    "another task": lambda line: line.update(task="capitals"),
    "a target without type": lambda line: line.update(target={"required": []}),
    "a target with a strange key": lambda line: line["target"].update(extra=1),
    "missing of no kind": lambda line: line.update(missing={"name": "year"}),
    "missing of an unknown kind": lambda line: line.update(missing=[{"kind": "luck", "name": "year"}]),
    "a source with a strange key": lambda line: line.update(source={"author": "x"}),
    "a gold call without a tool": lambda line: line["turns"][0].update(gold_calls=[{"arguments": {}}]),
}


def read_by_one(task: str, line: dict[str, Any], changes: dict[str, Change]) -> list[str]:
    """Changes of a line after which the reader or the schema still accepts it."""
    assert validator(task).is_valid(line) and accepts(task, line)
    found = []
    for name, change in changes.items():
        broken = copy.deepcopy(line)
        change(broken)
        if accepts(task, broken) or validator(task).is_valid(broken):
            found.append(name)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_a_broken_line_is_refused_by_both(task: str) -> None:
    assert not read_by_one(task, first(task), BROKEN)


@pytest.mark.parametrize("task", ["when2call", "awareness", "refusal"])
def test_a_task_that_needs_its_own_target_refuses_another(task: str) -> None:
    for target in (None, {"type": "facts", "required": []}, {"type": "colour"}):
        line = first(task) | {"target": target}
        assert not accepts(task, line)
        assert not validator(task).is_valid(line)
    line = {key: value for key, value in first(task).items() if key != "target"}
    assert not validator(task).is_valid(line)


def test_task_talm_may_leave_out_its_name_and_target_and_others_not_their_name() -> None:
    line = {key: value for key, value in first("talm").items() if key not in ("task", "target")}
    assert validator("talm").is_valid(line) and accepts("talm", line)
    line = {key: value for key, value in first("refusal").items() if key != "task"}
    assert not validator("refusal").is_valid(line) and not accepts("refusal", line)


def test_one_blocker_is_an_object_and_none_is_null() -> None:
    blocker = {"kind": "argument", "name": "year"}
    for missing in (None, [], blocker, [blocker], [blocker, blocker | {"name": "month"}]):
        line = first("talm") | {"missing": missing}
        assert validator("talm").is_valid(line) and accepts("talm", line), missing


def test_a_task_of_other_targets_is_asked_for_their_type() -> None:
    check = Draft202012Validator(scenario_schema("capitals", ["europe"], "yes_no", needs_target=True))
    line = {"id": "a", "task": "capitals", "group": "europe", "turns": [{"messages": []}], "target": {"type": "yes_no", "gold": "yes"}}
    assert check.is_valid(line)
    assert not check.is_valid(line | {"target": {"type": "facts", "required": []}})
    anything = Draft202012Validator(scenario_schema("capitals", ["europe"]))
    assert anything.is_valid(line) and anything.is_valid(line | {"target": {"type": "facts", "required": []}})
    assert not anything.is_valid(line | {"target": {"type": "facts"}})


def test_fields_are_described_in_the_words_of_the_models() -> None:
    schema = scenario_schema("talm", ["perfect"], "facts")
    assert schema["properties"]["perturbations"]["description"].startswith("Perturbations that belong to the scenario")
    assert schema["$defs"]["Fact"]["properties"]["pointer"]["description"] == "JSON pointer (RFC 6901) to the value in that call's result."
    assert "Choice" not in schema["$defs"]


SIMPLE = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
VALUES: st.SearchStrategy[Any] = SIMPLE | st.just([]) | st.just({}) | st.lists(st.just({"a": 1}), max_size=2)


ROWS: dict[str, Change] = {
    "no uuid": lambda row: row.pop("uuid"),
    "an empty question": lambda row: row.update(question=" "),
    "an unknown key": lambda row: row.update(querry="x"),
    "an unknown behaviour": lambda row: row.update(correct_answer="guess"),
    "no answer of one kind": lambda row: row["answers"].pop("direct"),
    "an empty answer": lambda row: row["answers"].update(tool_call={}),
    "tools as text": lambda row: row.update(tools="[]"),
    "a language that is a number": lambda row: row.update(language=1),
}


def test_a_broken_row_of_when2call_is_refused_by_both() -> None:
    row = next(lines(next(file for file in FILES if task_of(file) == "when2call")))
    assert not read_by_one("when2call", row, ROWS)


@given(st.sampled_from(TASKS), st.data())
def test_what_the_schema_accepts_the_models_read(task: str, data: st.DataObject) -> None:
    """One value anywhere in a line is replaced or removed; the models then refuse only what depends on several fields."""
    line = copy.deepcopy(first(task))
    place: Any = line
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(VALUES)
    if not validator(task).is_valid(line):
        return
    try:
        scenario = Scenario.model_validate(line)
    except ValidationError as err:
        assert {error["type"] for error in err.errors()} == {"value_error"}, err
    else:
        assert not fault_in_messages(scenario.turns)
