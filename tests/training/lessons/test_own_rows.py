from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.when2call.training.sets import build_set
from talm_sim.training.lessons.outputs import Output, PlayedRun, outputs_to_examples, read_answer
from talm_sim.training.lessons.own_rows import NOT_DRAWN, mix, read_own_row, read_own_rows, read_ratio
from talm_sim.training.lessons.training_examples import Kind, TrainingSet
from talm_sim.types import Episode, ModelTurn, Row, Scenario, Termination, Turn, episode_id
from tests.tables import labelled
from tests.tasks.when2call.choices import CALL, TOOL, mixture

ASKED = {"role": "user", "content": "A table for 4 at Luna, please."}
FUNCTION = {"id": "a", "type": "function", "function": {"name": CALL["name"], "arguments": json.dumps(CALL["arguments"])}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [FUNCTION]}


def _row(*said: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(said or (ASKED, CALLED)), "tools": [{"type": "function", "function": TOOL}], **more}


def _file(directory: Path, *rows: Any) -> Path:
    file = directory / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@labelled
def test_a_call_is_read_in_every_form_that_data_has(row: Any) -> None:
    one = read_own_row(row, "own.jsonl:1", source="own", name="own:1")
    assert not isinstance(one.chosen, str)
    assert [(call.name, call.arguments) for call in one.chosen] == [(CALL["name"], CALL["arguments"])]
    assert (one.id, one.action, one.source, one.scenario.query) == ("own:1", "tool_call", "own", ASKED["content"])
    (tool,) = one.scenario.shown_tools
    assert TOOL in (json.loads(tool), json.loads(tool).get("function"))


def test_a_conversation_ends_with_the_answer() -> None:
    result = {"role": "tool", "tool_call_id": "a", "content": "booked"}
    one = read_own_row(_row(ASKED, CALLED, result, {"role": "assistant", "content": "Done."}, id=7), "x:1", source="x", name="x:1")
    assert (one.id, one.action, one.chosen) == ("7", "answer", "Done.")
    assert [message["role"] for message in one.scenario.turns[0].messages] == ["user", "assistant", "tool"]
    assert one.scenario.turns[0].messages[1]["tool_calls"] == [{"id": "a", **CALL}]
    said = read_own_row(_row(ASKED, CALLED | {"content": "I book it."}, action="tool_call"), "x:1", source="x", name="x:1")
    assert said.thought == "I book it.\n", "words before a call belong to the answer"


@labelled
def test_what_is_no_such_row_is_named(row: Any, told: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        read_own_row(row, "own.jsonl:3", source="own", name="own:3")
    assert str(caught.value).startswith("own.jsonl:3: ") and told in str(caught.value) and "\n" not in str(caught.value)


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=4)


@given(st.dictionaries(st.sampled_from(["messages", "tools", "id", "action"]), VALUES | st.just([ASKED, CALLED])))
def test_any_line_is_read_or_refused_in_one_line(line: Any) -> None:
    try:
        one = read_own_row(line, "x:1", source="x", name="x:1")
    except PrerequisiteError as err:
        assert str(err).startswith("x:1: ")
    else:
        assert one.chosen and one.id


def test_ids_are_unique_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"own\.jsonl:2: id: 'a' is also used in .*own\.jsonl:1; ids must be unique"):
        read_own_rows(_file(tmp_path, _row(id="a"), _row(id="a")), "sft", 0)
    with pytest.raises(PrerequisiteError, match=r"no row can be made from the rows of .*own\.jsonl \(none given\)"):
        read_own_rows(_file(tmp_path), "sft", 0)


def test_a_preference_row_rejects_the_call_damaged_in_one_place(tmp_path: Path) -> None:
    words = _row(ASKED, {"role": "assistant", "content": "For when?"})
    bare = _row(ASKED, {"role": "assistant", "tool_calls": [{"name": "show_map", "arguments": {}}]})
    made = read_own_rows(_file(tmp_path, _row(), words, bare), "preference", 0)
    (one,) = made.examples
    assert one.rejected is not None and one.rejected != one.chosen
    assert made.counts() == {"right": {"tool_call": 1}, "rejected": {one.fault: 1}}
    assert made.left_out == {"an answer in words, of which no wrong one is known": ["own:2"], "its call cannot be damaged": ["own:3"]}


@pytest.mark.parametrize(("ratio", "sizes"), [("2:1", (6, 3)), ("1:2", (6, 12)), ("1:1", (6, 6)), ("7:18", None)])
def test_a_blend_keeps_its_ratio(tmp_path: Path, ratio: str, sizes: tuple[int, int] | None) -> None:
    own = read_own_rows(_file(tmp_path, *(_row(id=f"o{number}") for number in range(6))), "sft", 0)
    made = build_set(mixture(), "sft")
    if sizes is None:
        with pytest.raises(PrerequisiteError, match="--mix 7:18: needs at least 7 own rows and 18 made; there are 6 and 18"):
            mix(made, own, read_ratio(ratio), 0)
        return
    mixed = mix(made, own, read_ratio(ratio), 0)
    assert (sum(one.source == "own" for one in mixed.examples), sum(one.source != "own" for one in mixed.examples)) == sizes
    assert len(mixed.left_out.get(NOT_DRAWN, ())) == 24 - sum(sizes)
    assert mixed.examples == mix(made, own, read_ratio(ratio), 0).examples != mix(made, own, read_ratio(ratio), 1).examples


def test_ratios_and_ids_of_a_blend_are_checked(tmp_path: Path) -> None:
    for text in ("2", "0:1", "a:b", "2:1:1", "-1:2"):
        with pytest.raises(PrerequisiteError, match=f"--mix {text}: is no ratio; write OWN:MADE"):
            read_ratio(text)
    made = build_set(mixture(), "sft")
    own = read_own_rows(_file(tmp_path, *(_row(id=one.id) for one in made.examples)), "sft", 0)
    with pytest.raises(PrerequisiteError, match="--with: 18 of its rows have the id of a row that is made here"):
        mix(made, own, (1, 1), 0)


CLOCK = '{"name": "clock", "parameters": {"properties": {"city": {"type": "string"}}}}'


def _scenario(name: str) -> Scenario:
    return Scenario(id=name, group="g", turns=(Turn(messages=({"role": "user", "content": f"{name}?"},)),), shown_tools=(CLOCK,))


def _episode(name: str, epoch: int, turn: ModelTurn) -> Episode:
    return Episode(
        id=episode_id(name, epoch), scenario_id=name, group="g", epoch=epoch, model="m", model_turns=(turn,), termination=Termination.ANSWERED
    )


def _made(answers: Iterable[tuple[str, str, bool | None]], kind: Kind, known: str = "") -> TrainingSet:
    """Examples of a run in which each of `answers` (scenario, words, right) is an episode."""
    epochs: dict[str, int] = {}
    episodes, rows = [], []
    for name, text, right in answers:
        epochs[name] = epochs.get(name, 0) + 1
        episodes.append(_episode(name, epochs[name], ModelTurn(raw_text=text, stop="length" if text.endswith("…") else "stop")))
        row = Row.of(episodes[-1], None, values={"ok": right})
        rows.append(row if right is not None else row.model_copy(update={"not_scored": "not judged"}))
    run = PlayedRun("run r", map(_scenario, epochs), episodes, rows, lambda row: bool(row.values["ok"]) if row.scored else None)
    return outputs_to_examples(
        run,
        kind,
        0,
        read=lambda episode, scenario, row: read_answer(episode, scenario.shown_tools, "answer"),
        is_right=run.succeeded,
        known=lambda scenario: Output(known, "cannot_answer") if known else None,
    )


ANSWERS = [("a", "right", True), ("a", "right", True), ("a", "wrong", False), ("b", "cut…", True), ("b", "", True), ("b", "x", None)]


def test_right_answers_are_learned_and_the_rest_is_counted() -> None:
    made = _made(ANSWERS, "sft")
    assert [(one.id, one.chosen, one.source, one.rejected) for one in made.examples] == [("a", "right", "run r", None)]
    assert made.left_out == {
        "the same answer as in another epoch": ["a@2"],
        "the answer is wrong": ["a@3"],
        "cut off at the token limit": ["b"],
        "without an answer that can be read": ["b@2"],
        "not scored: not judged": ["b@3"],
    }
    with pytest.raises(PrerequisiteError, match=r"no row can be made from 1 episodes \(1: the answer is wrong\)"):
        _made([("a", "wrong", False)], "sft")


def test_a_wrong_answer_is_paired_with_a_right_one_to_the_same_scenario() -> None:
    made = _made([*ANSWERS, ("c", "good", True), ("d", "bad", False)], "preference")
    (one,) = made.examples
    assert (one.id, one.chosen, one.rejected, one.rejected_action) == ("a@3", "right", "wrong", "answer")
    assert made.left_out["no wrong answer to its scenario"] == ["c"]
    assert made.left_out["no right answer to its scenario is known"] == ["d"]
    told = _made([("d", "bad", False)], "preference", known="I cannot.").examples
    assert [(one.chosen, one.action, one.rejected) for one in told] == [("I cannot.", "cannot_answer", "bad")]


def test_a_thought_stands_before_the_answer() -> None:
    found = read_answer(_episode("a", 1, ModelTurn(raw_text="<think>No tool.</think>\nI cannot.")), [CLOCK], "cannot_answer")
    assert found is not None and (found.thought, found.answer) == ("<think>\nNo tool.\n</think>\n\n", "I cannot.")
    assert read_answer(_episode("a", 1, ModelTurn(raw_text="<think>No tool.")), [CLOCK], "x") is None
