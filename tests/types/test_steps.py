"""Episodes as steps, and the first one that differs."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from talm_sim.types import Episode, HumanEvent, ModelTurn, Termination, ToolCall, ToolEvent
from talm_sim.types.steps import first_difference, steps_of


def call(city: str = "Oslo", id: str = "c1") -> ToolCall:
    return ToolCall(id=id, name="find_forecast", arguments={"city": city, "days": 2})


def result(text: str, turn: int = 0, id: str = "c1") -> ToolEvent:
    return ToolEvent(turn=turn, call_id=id, name="find_forecast", arguments={"city": "Oslo"}, result=text, ok=True)


def episode(**more: Any) -> Episode:
    known: dict[str, Any] = {
        "model_turns": (ModelTurn(text="Let me look.", tool_calls=(call(),)), ModelTurn(text="Rain.")),
        "events": (result("rain"),),
        "answer": "Rain.",
        "termination": Termination.ANSWERED,
    }
    return Episode(id="a", scenario_id="a", group="g", model="m/m", **{**known, **more})


def test_an_episode_is_its_texts_calls_results_answer_and_end() -> None:
    asked = HumanEvent(turn=1, call_id="c2", question="Which day?", answer="Today.", responder="x")
    assert [(step.what, step.text) for step in steps_of(episode(events=(result("rain"), asked, result("late", turn=7))))] == [
        ("turn 1: text", "Let me look."),
        ("turn 1: call of find_forecast", '{"city": "Oslo", "days": 2}'),
        ("turn 1: result of find_forecast", "rain"),
        ("turn 2: text", "Rain."),
        ("turn 2: question", "Which day?"),
        ("turn 2: reply", "Today."),
        ("turn 8: result of find_forecast", "late"),
        ("answer", "Rain."),
        ("end", "answered"),
    ]


def test_the_same_episode_does_not_differ_whatever_its_names_and_times() -> None:
    other = episode(
        model_turns=(
            ModelTurn(text="Let me look.", tool_calls=(call(id="other"),)),
            ModelTurn(text="Rain."),
        ),
        events=(result("rain", id="other"),),
    )
    assert first_difference(episode(), episode()) is None
    assert first_difference(episode(), other) is None


def test_the_first_difference_has_its_place() -> None:
    found = first_difference(episode(), episode(events=(result("rainbow"),), answer="Rainbow."))
    assert found is not None and found.first is not None and found.second is not None
    assert (found.number, found.first.text, found.second.text, found.at) == (3, "rain", "rainbow", 4)
    other = first_difference(episode(), episode(model_turns=(ModelTurn(text="Let me look.", tool_calls=(call("Rome"),)),)))
    assert other is not None and other.first is not None
    assert (other.number, other.first.text[: other.at]) == (2, '{"city": "')


def test_steps_of_other_kinds_have_no_text_in_common() -> None:
    found = first_difference(episode(), episode(model_turns=(ModelTurn(text="", tool_calls=(call(),)), ModelTurn(text="Rain."))))
    assert found is not None and found.first is not None and found.second is not None
    assert (found.number, found.first.what, found.second.what, found.at) == (1, "turn 1: text", "turn 1: call of find_forecast", 0)


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_texts_have_in_common_ends_where_they_differ(first: str, second: str) -> None:
    found = first_difference(episode(answer=first), episode(answer=second))
    if first == second:
        assert found is None
        return
    assert found is not None and found.first is not None and found.second is not None
    assert first[: found.at] == second[: found.at] and first[found.at : found.at + 1] != second[found.at : found.at + 1]
