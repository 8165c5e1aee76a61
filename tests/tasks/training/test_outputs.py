from __future__ import annotations

from collections.abc import Iterable

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.training.examples import Kind, TrainingSet
from talm_sim.tasks.training.outputs import Output, PlayedRun, outputs_to_examples, read_answer
from talm_sim.types import Episode, ModelTurn, Row, Scenario, Termination, ToolCall, Turn, episode_id

TOOL = '{"name": "clock", "parameters": {"properties": {"city": {"type": "string"}}}}'


def _scenario(name: str) -> Scenario:
    return Scenario(id=name, group="g", turns=(Turn(messages=({"role": "user", "content": f"{name}?"},)),), shown_tools=(TOOL,))


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


@pytest.mark.parametrize(
    "turn",
    [
        ModelTurn(tool_calls=(ToolCall(id="1", name="clock", arguments={"city": "Hue"}),)),
        ModelTurn(raw_text='<tool_call>{"name": "clock", "arguments": {"city": "Hue"}}</tool_call>'),
        ModelTurn(raw_text="[clock(city='Hue')]"),
    ],
)
def test_calls_are_read_whatever_their_form(turn: ModelTurn) -> None:
    found = read_answer(_episode("a", 1, turn), [TOOL], "tool_call")
    assert found is not None and not isinstance(found.answer, str)
    assert [(call.name, call.arguments) for call in found.answer] == [("clock", {"city": "Hue"})]


def test_a_thought_stands_before_the_answer() -> None:
    found = read_answer(_episode("a", 1, ModelTurn(raw_text="<think>No tool.</think>\nI cannot.")), [TOOL], "cannot_answer")
    assert found is not None and (found.thought, found.answer) == ("<think>\nNo tool.\n</think>\n\n", "I cannot.")
    assert read_answer(_episode("a", 1, ModelTurn(raw_text="<think>No tool.")), [TOOL], "x") is None
