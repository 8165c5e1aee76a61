from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import find_task
from talm_sim.tasks.when2call.published import (
    LICENCE,
    URL,
    LineKind,
    kind_of,
    read_rows,
    row_of,
    scenario_of,
)
from talm_sim.types import Behaviour, Choice, Fact, Facts, MissingKind, Turn
from tests.tasks.when2call.choices import CALL, OTHER, TOOL, row, scenario

ALL = find_task("when2call").splits["all"]


load = find_task("when2call").read


def _file(directory: Path, *lines: Any, name: str = "rows.jsonl") -> Path:
    file = directory / name
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return file


def _sft(**fields: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Book."}, {"role": "assistant", "content": f"<TOOLCALL>[{json.dumps(CALL)}]</TOOLCALL>"}]
    return {"tools": [TOOL], "messages": said, **fields}


def _preference(**fields: Any) -> dict[str, Any]:
    return {
        "tools": [json.dumps(TOOL)],
        "messages": [{"role": "user", "content": "Book."}],
        "chosen_response": {"role": "assistant", "content": "For how many?"},
        "rejected_response": {"role": "assistant", "content": f"<TOOLCALL>[{json.dumps(CALL)}]</TOOLCALL>"},
        **fields,
    }


def test_a_row_becomes_a_scenario() -> None:
    made = scenario_of(row(tool_use="database"))
    assert (made.id, made.task, made.group, made.query) == ("u-1", "when2call", "tool_call", "A table for 4 at Luna, please.")
    assert isinstance(made.target, Choice)
    assert [option.behaviour.value for option in made.target.options] == ["direct", "tool_call", "request_for_info", "cannot_answer"]
    assert made.shown_tools == (json.dumps(TOOL), json.dumps(OTHER | {"name": "show_route"}))
    assert (made.target.gold, made.target.tool_use, made.target.target_tool) == (Behaviour.TOOL_CALL, "database", json.dumps(TOOL))
    assert (made.source.name, made.base, made.source.licence, made.source.url) == ("made up", "src-u-1", LICENCE, URL)
    assert made.missing == ()


def test_what_is_missing_is_the_held_out_parameter_or_the_tool_taken_away() -> None:
    asked = scenario_of(row(gold="request_for_info", held_out_param="guests", orig_question="For 4?"))
    assert [(one.kind, one.name) for one in asked.missing] == [(MissingKind.ARGUMENT, "guests")]
    unable = row(gold="cannot_answer")
    gone = scenario_of(unable | {"orig_tools": [json.dumps(TOOL), *unable["tools"]]})
    assert [(one.kind, one.name) for one in gone.missing] == [(MissingKind.TOOL, "book_table")]
    assert scenario_of(unable).missing == ()


def test_objects_stand_for_their_json_text() -> None:
    tool = TOOL | {"description": "Réserve une table"}
    made = scenario_of(row(tools=[tool], target_tool=tool, orig_tools=[tool, OTHER], answers=row()["answers"] | {"tool_call": CALL}))
    assert made.shown_tools == (json.dumps(tool, ensure_ascii=False),)
    assert isinstance(made.target, Choice)
    assert made.target.text_of(Behaviour.TOOL_CALL) == json.dumps(CALL)
    assert made.target.original_tools == (json.dumps(tool, ensure_ascii=False), json.dumps(OTHER))


@pytest.mark.bench_data
def test_every_published_row_comes_back_to_the_letter(bench_data: Path) -> None:
    file = bench_data / "when2call" / "when2call_sample.jsonl"
    lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line]
    scenarios = read_rows(file)
    assert len(scenarios) == 151
    assert [json.dumps(row_of(one), ensure_ascii=False) for one in scenarios] == lines
    assert sum(len(one.missing) for one in scenarios) == sum(one.group != "tool_call" for one in scenarios) == 101
    assert sorted(one.id for one in load(ALL, file)) == sorted(one.id for one in scenarios)


_WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)
_SPEC = st.fixed_dictionaries(
    {"name": _WORDS}, optional={"description": _WORDS, "parameters": st.dictionaries(_WORDS, st.integers(), max_size=2)}
)
_TOOL = st.builds(lambda spec, escaped: json.dumps(spec, ensure_ascii=escaped), _SPEC, st.booleans())
_ROWS = st.fixed_dictionaries(
    {
        "uuid": _WORDS,
        "source": _WORDS,
        "source_id": _WORDS,
        "question": _WORDS,
        "correct_answer": st.sampled_from([kind.value for kind in Behaviour]),
        "answers": st.fixed_dictionaries({kind.value: _WORDS for kind in Behaviour}).flatmap(
            lambda answers: st.permutations(list(answers.items())).map(dict)
        ),
        "target_tool": st.none() | _TOOL,
        "tools": st.lists(_TOOL, max_size=3),
    },
    optional={
        "orig_question": _WORDS,
        "orig_tools": st.lists(_TOOL, max_size=3),
        "held_out_param": _WORDS,
        "tool_use": st.sampled_from(["real_time", "database", "other"]),
        "language": st.sampled_from(["de", "vi"]),
        "licence": st.sampled_from(["Apache-2.0", "MIT"]),
        "url": _WORDS,
    },
)


@given(_ROWS)
def test_no_row_loses_anything(made: dict[str, Any]) -> None:
    again = row_of(scenario_of(made))
    assert again == made
    assert list(again["answers"]) == list(made["answers"])


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner)
)


@given(st.dictionaries(st.sampled_from(sorted(row(orig_tools=[], held_out_param="x"))), _JSON, max_size=3) | _JSON)
def test_whatever_stands_in_a_row_is_read_or_refused_in_one_line(found: Any) -> None:
    broken = row() | found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else found
    try:
        assert row_of(scenario_of(broken, "rows.jsonl:7"))["uuid"] == broken["uuid"]
    except PrerequisiteError as err:
        assert str(err).startswith("rows.jsonl:7: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"uuid": ', r"rows\.jsonl:2: not JSON \(.+\); write"),
        ("[" * 100_000, r"rows\.jsonl:2: not JSON \(nested too deeply\)"),
        ('{"uuid": ' + "1" * 5000 + "}", r"rows\.jsonl:2: not JSON \(a number is too long\)"),
        (row("b", answers=None), r"rows\.jsonl:2: answers: missing or no object; write an answer for each of direct, tool_call"),
        (row("b", answers=row()["answers"] | {"direct": " "}), r"rows\.jsonl:2: answers\.direct: is empty"),
        (row("b", answers=row()["answers"] | {"direct": 5}), r"rows\.jsonl:2: answers\.direct: is not text"),
        (row("b", answers={"direct": "x", "tool_call": "y"}), r"rows\.jsonl:2: answers\.request_for_info: missing"),
        (row("b", answers=row()["answers"] | {"refuse": "x"}), r"rows\.jsonl:2: answers\.refuse: unknown behaviour"),
        (row("b", correct_answer="tool_cal"), r"rows\.jsonl:2: correct_answer: unknown behaviour 'tool_cal'\. Did you mean 'tool_call'\?"),
        (row("b", question=""), r"rows\.jsonl:2: question: is empty"),
        (row("b", question="\ud800"), r"rows\.jsonl:2: not JSON \(half a surrogate pair, which text cannot contain\)"),
        (row("b", tools=None), r"rows\.jsonl:2: tools: is not a list; give a list of JSON texts"),
        (row("b", tools=["{}", "{'name': 1}"]), r"rows\.jsonl:2: tools\.1: is not JSON text \(.+\); write a tool as"),
        (row("b", tools=["[]"]), r"rows\.jsonl:2: tools\.0: is JSON, but no object"),
        (row("b", held_out_parm="x"), r"rows\.jsonl:2: held_out_parm: unknown key\. Did you mean 'held_out_param'\?"),
        (row("a"), r"rows\.jsonl:2: uuid:? 'a' is also used (on line 1; uuids|in .*:1; ids) must be unique"),
        (row(""), r"rows\.jsonl:2: uuid: is empty"),
        (row("b") | {"uuid": 5}, r"rows\.jsonl:2: uuid: is not text"),
        (_sft(), r"rows\.jsonl:2: contains a training row \(SFT\), "),
        (_preference(), r"rows\.jsonl:2: contains a training row \(preference\), "),
    ],
)
def test_a_broken_line_is_named_with_its_fix(tmp_path: Path, line: Any, message: str) -> None:
    file = _file(tmp_path, row("a"), line)
    with pytest.raises(PrerequisiteError, match=message) as caught:
        load(ALL, file)
    assert "\n" not in str(caught.value)
    with pytest.raises(PrerequisiteError, match=message):
        read_rows(file)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (row(), LineKind.ROW),
        ({"uuid": "?"}, LineKind.ROW),
        ({"question": "Who?", "tools": []}, LineKind.ROW),
        (_sft(), LineKind.SFT),
        (_preference(), LineKind.PREFERENCE),
        ({"prompt": [], "chosen": [], "rejected": [], "tools": None}, LineKind.PREFERENCE),
        (scenario().model_dump(), LineKind.SCENARIO),
        ({"question": "Who?", "answer": "I"}, LineKind.UNKNOWN),
        ({"question": [], "language": "vi", "function": []}, LineKind.UNKNOWN),
        ([], LineKind.UNKNOWN),
    ],
)
def test_the_kind_of_a_line_is_found_from_the_keys_that_its_format_alone_has(line: object, kind: LineKind) -> None:
    assert kind_of(line) is kind


def test_our_own_scenarios_are_read_too_and_both_may_stand_in_one_file(tmp_path: Path) -> None:
    own = scenario("own", "cannot_answer")
    file = _file(tmp_path, own.model_dump_json(), row("theirs"))
    assert load(ALL, file) == [scenario("theirs"), own]
    assert load(["cannot_answer"], file, "1") == [own]


@pytest.mark.parametrize(
    ("changes", "task", "message"),
    [
        ({"task": "talm"}, "when2call", r":1: task: is 'talm', not 'when2call'; run it with --task talm"),
        ({}, "talm", r":1: task: is 'when2call', not 'talm'; run it with --task when2call"),
        ({"group": "direct"}, "when2call", r":1: group: is 'direct'; write the gold behaviour 'tool_call'"),
        ({"target": None}, "when2call", r":1: target: is not a choice"),
        ({"target": Facts(required=(Fact(name="a", value=1),))}, "when2call", r":1: target: is not a choice"),
    ],
)
def test_a_scenario_that_cannot_be_of_this_task_is_named(tmp_path: Path, changes: dict[str, Any], task: str, message: str) -> None:
    own = scenario().model_copy(update=changes)
    with pytest.raises(PrerequisiteError, match=message):
        find_task(task).read([*ALL, "perfect"], _file(tmp_path, own.model_dump_json()))


def test_rows_in_the_other_task_are_explained(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r":1: contains a When2Call row; add --task when2call"):
        find_task("talm").read(["perfect"], _file(tmp_path, row()))


def test_only_one_question_with_all_four_options_becomes_a_row() -> None:
    own = scenario()
    assert isinstance(own.target, Choice)
    three = own.target.model_copy(update={"options": own.target.options[1:]})
    with pytest.raises(PrerequisiteError, match="scenario 'u-1': has no direct option"):
        row_of(own.model_copy(update={"target": three}))
    with pytest.raises(PrerequisiteError, match="scenario 'u-1': has no options"):
        row_of(own.model_copy(update={"target": None}))
    with pytest.raises(PrerequisiteError, match="more than one question"):
        row_of(own.model_copy(update={"turns": own.turns * 2}))
    with pytest.raises(PrerequisiteError, match="more than one question"):
        row_of(own.model_copy(update={"turns": (Turn(messages=({"role": "system", "content": "Hi"}, *own.turns[0].messages)),)}))


@pytest.mark.parametrize("name", ["hub:when2call", "hub:a/b:c:d", "hub:", "hub:a/b c"])
def test_a_name_that_is_none_on_the_hub_is_refused_before_anything_else(name: str) -> None:
    with pytest.raises(PrerequisiteError, match="write hub:OWNER/DATASET or hub:OWNER/DATASET:FILE"):
        load(ALL, Path(name))


def test_the_hub_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(PrerequisiteError, match=r"^hub:nvidia/When2Call: needs huggingface_hub: pip install huggingface_hub, or"):
        load(ALL, Path("hub:nvidia/When2Call"))
