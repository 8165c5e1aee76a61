"""The study's own files, in the form its dataset card and viewer show."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.tasks.awareness.making.loaded import tool_names
from talm_sim.tasks.awareness.making.study import load_study
from talm_sim.types import MissingKind, YesNo
from tests.tables import labelled

STOCK = {"name": "QueryStock", "description": "A price", "input_parameters": {"code": {"type": "str"}}, "output_parameters": {}}
TODAY = {"name": "GetToday", "description": "A date", "input_parameters": {}, "output_parameters": {}}
MEMO = {"name": "Memo", "description": "A note", "input_parameters": {}, "output_parameters": {}}
ROW = {
    "original_sample_id": 4,
    "source_file_id": {"level": "1", "file_name": "A-level-1-1.jsonl", "id": "0", "dataset": "api-bank"},
    "conversation": "User: Which day is it?\nAI: I'll look.\nAPI-Request: [GetToday()]->2023-01-02\nUser: And the price of SQ?\nIn euros.",
    "api_list": f"{json.dumps(STOCK)}\n{TODAY!r}",
    "answer": "QueryStock(code='SQ')",
    "corruption_type": "API",
    "corruption_thought": None,
    "corruption_api_list": repr(MEMO),
    "is_corrupted": False,
}


def write(path: Path, *rows: Any) -> Path:
    file = path / "study.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return file


def test_an_original_and_what_was_made_of_it(tmp_path: Path) -> None:
    removed = ROW | {"corruption_type": "Utterance", "is_corrupted": True, "conversation": "User: And the price?"}
    loaded = load_study(write(tmp_path, ROW | {"is_corrupted": True}, ROW, removed))
    assert loaded.problems == ()
    replaced, original, removed_one = loaded.scenarios
    assert (original.id, original.group, original.query) == ("study.apibank.4", "complete", "And the price of SQ?\nIn euros.")
    assert original.gold_calls[0].arguments == {"code": "SQ"}
    call, result = original.turns[0].messages[-2:]
    assert (call["tool_calls"][0]["name"], result["content"]) == ("GetToday", "2023-01-02")
    assert tool_names(original) == ("QueryStock", "GetToday")
    assert (replaced.id, replaced.source.base, tool_names(replaced)) == ("study.apibank.4.replaced", "study.apibank.4", ("GetToday", "Memo"))
    assert isinstance(replaced.target, YesNo)
    assert (replaced.target.gold, replaced.target.relevant, replaced.source.name) == ("no", ("QueryStock",), "apibank")
    (gone,) = removed_one.missing
    assert (removed_one.group, gone.kind, removed_one.query) == ("removed", MissingKind.UTTERANCE, "And the price?")


def test_apis_of_toolbench(tmp_path: Path) -> None:
    api = {
        "category_name": "Data",
        "tool_name": "Tool",
        "api_name": "Get it",
        "api_description": "",
        "required_parameters": [],
        "optional_parameters": [],
    }
    row = ROW | {"conversation": "Get it for me.", "api_list": json.dumps([api]), "answer": "[['Tool', 'Get it']]"}
    (scenario,) = load_study(write(tmp_path, row)).scenarios
    assert (tool_names(scenario), scenario.query, scenario.gold_calls) == (("Tool_Get_it",), "Get it for me.", ())


@labelled
def test_what_is_broken_is_named_and_the_rest_goes_on(tmp_path: Path, broken: Any, fault: str) -> None:
    file = write(tmp_path, ROW, broken, ROW | {"original_sample_id": 5})
    loaded = load_study(file)
    assert [scenario.id for scenario in loaded.scenarios] == ["study.apibank.4", "study.apibank.5"]
    (problem,) = loaded.problems
    assert str(problem).startswith(f"{file}:2: {fault}")


def test_an_original_that_several_files_repeat_is_one(tmp_path: Path) -> None:
    changed = ROW | {"is_corrupted": True}
    write(tmp_path, ROW, changed).rename(tmp_path / "a.jsonl")
    write(tmp_path, ROW, changed | {"corruption_type": "Utterance"}, changed).rename(tmp_path / "b.jsonl")
    loaded = load_study(tmp_path)
    assert [one.id for one in loaded.scenarios] == ["study.apibank.4", "study.apibank.4.replaced", "study.apibank.4.removed"]
    assert [str(one) for one in loaded.problems] == [f"{tmp_path / 'b.jsonl'}:3: 'study.apibank.4.replaced' is used twice; ids must be unique."]


def test_different_originals_of_one_id_in_two_files_are_told_apart(tmp_path: Path) -> None:
    changed = {"is_corrupted": True}
    other = ROW | {"conversation": "User: What does SQ cost?", "corruption_type": "Utterance"}
    write(tmp_path, ROW, ROW | changed).rename(tmp_path / "a.jsonl")
    write(tmp_path, other, other | changed | {"conversation": "User: What does it cost?"}).rename(tmp_path / "b.jsonl")
    write(tmp_path, ROW, ROW | changed | {"corruption_type": "Utterance"}, ROW | {"original_sample_id": 5}).rename(tmp_path / "c.jsonl")
    loaded = load_study(tmp_path)
    assert loaded.problems == () and len({one.id for one in loaded.scenarios}) == 6
    queries = {one.id: one.query for one in loaded.scenarios}
    pairs = [(one.group, one.query, queries[one.base]) for one in loaded.scenarios if one.group != "complete"]
    price = "And the price of SQ?\nIn euros."
    assert pairs == [("replaced", price, price), ("removed", "What does it cost?", "What does SQ cost?"), ("removed", price, price)]
    assert queries["study.apibank.5"] == price and all(one.id.startswith(one.base) for one in loaded.scenarios)


@pytest.mark.parametrize("kind", ["Foo", "", None, 3, "APIs", "API Utterance"])
def test_an_unknown_type_is_named_and_not_taken_for_removed(tmp_path: Path, kind: Any) -> None:
    file = write(tmp_path, ROW | {"corruption_type": kind}, ROW | {"is_corrupted": True, "corruption_type": kind})
    loaded = load_study(file)
    assert [one.group for one in loaded.scenarios] == ["complete"]
    bare = ROW | {"is_corrupted": True, "corruption_type": kind, "corruption_api_list": ""}
    assert [one.group for one in load_study(write(tmp_path, bare)).scenarios] == ["removed"], "without other APIs, words were removed"
    file = write(tmp_path, ROW | {"corruption_type": kind}, ROW | {"is_corrupted": True, "corruption_type": kind})
    fault = f'corruption_type: is {json.dumps(kind)}; write "API" (replaced) or "Utterance" (removed).'
    assert [str(one) for one in loaded.problems] == [f"{file}:2: {fault}"]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("aAPI:[](){}'\"\n,= ", max_size=12),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "api_name", "a"]), inner, max_size=2),
    max_leaves=4,
)


@given(st.fixed_dictionaries({key: st.just(value) | ANY for key, value in ROW.items()}) | ANY)
def test_whatever_stands_in_a_line_gives_a_scenario_or_a_named_problem(tmp_path_factory: pytest.TempPathFactory, row: Any) -> None:
    loaded = load_study(write(tmp_path_factory.mktemp("study"), json.dumps(row)))
    assert len(loaded.scenarios) + len(loaded.problems) == 1
    assert all("\n" not in str(problem) for problem in loaded.problems)
