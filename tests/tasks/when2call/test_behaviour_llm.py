from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.tasks.when2call.behaviour_llm import BehaviourLlmJudge, FirstCallJudge, answer_for_judge, first_call, read_classification
from talm_sim.types import Behaviour, Choice, Episode, ModelTurn, Option, Scenario, Termination, ToolCall, Turn, UnparsableCall
from tests.judges.scripted import grading, scripted
from tests.tables import labelled

DIRECT, CALL, ASK, CANNOT = Behaviour
TARGET = Choice(gold=ASK, options=tuple(Option(behaviour=one, text="x") for one in Behaviour))
TURN = Turn(messages=({"role": "user", "content": "What is the time there?"},))
SCENARIO = Scenario(id="s", task="when2call", group="g", turns=(TURN,), shown_tools=('{"name": "clock"}', '{"name": "map"}'), target=TARGET)


def reply(name: str) -> str:
    return f'{{"classification": "{name}"}}'


def episode(answer: str = "Where?", end: Termination = Termination.ANSWERED, **more: tuple[ModelTurn, ...]) -> Episode:
    return Episode(id="s", scenario_id="s", group="g", model="m/m", answer=answer, termination=end, **more)


async def test_the_judge_sees_tools_request_and_answer_and_the_class_named_is_the_label() -> None:
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", scripted(reply("request_for_info")), "Sort."))(episode(), SCENARIO)
    assert (verdict.value, verdict.label, verdict.judge) == (True, "request_for_info", "behaviour-llm")
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", scripted(reply("direct_answer")), "Sort."))(episode(), SCENARIO)
    assert (verdict.value, verdict.label) == (False, "direct")
    model = scripted(reply("tool_call"))
    await BehaviourLlmJudge(grading("behaviour-llm", model, "Sort."))(episode(), SCENARIO)
    assert model.asked[0][0].content == "Sort."
    places = [model.questions[0].index(part) for part in ('{"name": "clock"}\n{"name": "map"}', "What is the time there?", "Where?")]
    assert places == sorted(places)
    assert model.settings[0].temperature == 0
    assert all(read_classification(choice) is not None for choice in model.settings[0].choices) and len(model.settings[0].choices) == 4


async def test_one_repair_in_the_same_conversation_then_undecided() -> None:
    model = scripted("It asks.", reply("request_for_info"))
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", model, "Sort."))(episode(), SCENARIO)
    assert verdict.value is True and "asked again" in verdict.explanation
    assert [message.type for message in model.asked[1]] == ["system", "human", "ai", "human"]
    assert model.asked[1][2].content == "It asks."
    model = scripted("It asks.", "Really.", reply("request_for_info"))
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", model, "Sort."))(episode(), SCENARIO)
    assert (verdict.undecided, verdict.label) == (True, "") and "Really." in verdict.explanation
    assert len(model.asked) == 2


async def test_nothing_is_asked_of_an_answer_that_is_none() -> None:
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", scripted(), "Sort."))(episode(" "), SCENARIO)
    assert (verdict.value, verdict.label) == (False, "unparsed")
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", scripted(), "Sort."))(episode(end=Termination.CONTEXT_OVERFLOW), SCENARIO)
    assert (verdict.value, verdict.label) == (None, "")


async def test_an_overflow_leaves_no_label_and_another_failure_raises() -> None:
    verdict = await BehaviourLlmJudge(grading("behaviour-llm", scripted(ContextOverflowError("too long")), "Sort."))(episode(), SCENARIO)
    assert (verdict.value, verdict.label) == (None, "")
    with pytest.raises(ProviderError, match="down"):
        await BehaviourLlmJudge(grading("behaviour-llm", scripted(ProviderError("down")), "Sort."))(episode(), SCENARIO)


def test_native_calls_are_shown_as_json_once() -> None:
    call = ModelTurn(tool_calls=(ToolCall(id="1", name="clock", arguments={"city": "Huế"}),))
    shown = '{"name": "clock", "arguments": {"city": "Huế"}}'
    assert answer_for_judge(episode("", model_turns=(call,))) == shown
    assert answer_for_judge(episode(f"Look:\n{shown}", model_turns=(call,))) == f"Look:\n{shown}"
    broken = ModelTurn(unparsable_calls=(UnparsableCall(id="1", name="clock", raw="{city", reason="not JSON"),))
    assert answer_for_judge(episode("", model_turns=(broken,))) == '{"name": "clock", "arguments": {city}'


@labelled
def test_replies_are_read(written: str, behaviour: str | None) -> None:
    assert read_classification(written) == behaviour


@given(st.text(alphabet='{}":classification,_tool', max_size=100) | st.text())
def test_no_reply_breaks_the_reader(written: str) -> None:
    assert read_classification(written) in {None, *Behaviour}


async def test_the_published_choice_is_the_first_call_alone() -> None:
    calls = (ToolCall(id="1", name="clock", arguments={"city": "Hanoi"}), ToolCall(id="2", name="map", arguments={}))
    turn = ModelTurn(raw_text="One moment.", text="One moment.", tool_calls=calls)
    judged = episode("One moment.", model_turns=(turn,))
    for kind, seen, unseen in (
        (FirstCallJudge, ['Hanoi"}}'], ["One moment.", '"map", "arguments"']),
        (BehaviourLlmJudge, ['Hanoi"}}', "One moment.", '"map", "arguments"'], []),
    ):
        model = scripted(reply("tool_call"))
        verdict = await kind(grading(kind.name, model, "Sort."))(judged, SCENARIO)
        assert (verdict.label, verdict.judge) == ("tool_call", kind.name)
        assert all(part in model.questions[0] for part in seen) and not any(part in model.questions[0] for part in unseen)


async def test_without_a_call_the_published_choice_is_the_answer() -> None:
    model = scripted(reply("request_for_info"))
    await FirstCallJudge(grading(FirstCallJudge.name, model, "Sort."))(episode(), SCENARIO)
    assert "Where?" in model.questions[0]
    broken = ModelTurn(raw_text="", unparsable_calls=(UnparsableCall(id="1", name="clock", raw="{", reason="cut off"),))
    assert first_call(episode("", model_turns=(broken,))) == '{"name": "clock", "arguments": {}'
