from __future__ import annotations

import json
from typing import Any

import pytest

from talm_sim.judges.base import JudgeContext
from talm_sim.judges.registry import judge_class
from talm_sim.tasks.refusal.call_checks.calls_judge import CallsJudge, read_source_calls
from talm_sim.types import AcceptedCall, Calls, Episode, Facts, ModelTurn, Scenario, Termination, ToolCall, Turn, UnparsableCall, Verdict
from tests.tables import labelled

CLOCK = {"name": "clock", "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
RIGHT = Calls(expected="calls", accepted=(AcceptedCall(name="clock", arguments={"city": ("Hanoi",)}),))


def row(target: Any = RIGHT, tool: Any = CLOCK) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "What is the time in Hanoi?"},))
    return Scenario(id="s", task="refusal", group="live_simple", turns=(turn,), shown_tools=(json.dumps(tool),), target=target)


async def judged(turn: ModelTurn, scenario: Scenario, end: Termination = Termination.ANSWERED) -> Verdict:
    episode = Episode(id="e", scenario_id="s", group="g", model="m/m", model_turns=(turn,), termination=end)
    return await CallsJudge(JudgeContext())(episode, scenario)


@pytest.mark.parametrize(
    "turn",
    [
        ModelTurn(raw_text="x", tool_calls=(ToolCall(id="1", name="clock", arguments={"city": "Hanoi"}),)),
        ModelTurn(raw_text='<tool_call>\n{"name": "clock", "arguments": {"city": "hanoi"}}\n</tool_call>'),
        ModelTurn(raw_text="<think>Which tool? [clock(city='Hue')]</think>[clock(city='Hanoi')]"),
    ],
)
async def test_calls_come_from_the_provider_or_out_of_the_text(turn: ModelTurn) -> None:
    verdict = await judged(turn, row())
    assert (verdict.value, verdict.label, verdict.explanation) == (True, "", "")
    assert not (await judged(turn, row(Calls(expected="none")))).value


async def test_the_label_is_the_fault() -> None:
    verdict = await judged(ModelTurn(raw_text="[clock(city='Hue')]"), row())
    assert (verdict.value, verdict.label) == (False, "wrong_value")
    assert verdict.explanation == "argument 'city' is 'Hue'; right is ['Hanoi']"
    assert (await judged(ModelTurn(raw_text="It is noon."), row())).label == "count"


async def test_a_malformed_call_is_none_whoever_reports_it() -> None:
    broken = ModelTurn(raw_text="[clock(city='Hanoi')]", unparsable_calls=(UnparsableCall(id="1", name="clock", raw="{", reason="cut"),))
    for turn in (broken, ModelTurn(raw_text="[clock(city='Hanoi"), ModelTurn()):
        assert (await judged(turn, row(Calls(expected="none")))).value is True
        assert (await judged(turn, row())).label == "count"


async def test_java_calls_are_read_as_source_code() -> None:
    tool = {
        "name": "Grid.fill",
        "parameters": {"properties": {"sizes": {"type": "Array", "items": {"type": "integer"}}, "deep": {"type": "boolean"}}},
    }
    accepted = AcceptedCall(name="Grid.fill", arguments={"sizes": ([1, 2],), "deep": (True,)})
    target = Calls(expected="calls", accepted=(accepted,), syntax="java")
    assert (await judged(ModelTurn(raw_text="[Grid.fill(sizes=new int[]{1, 2}, deep=true)]"), row(target, tool))).value
    as_json = '<tool_call>{"name": "Grid.fill", "arguments": {"sizes": "new int[]{1, 2}", "deep": "true"}}</tool_call>'
    assert (await judged(ModelTurn(raw_text=as_json), row(target, tool))).value


async def test_what_has_no_calls_as_target_or_did_not_end_by_itself_is_not_judged() -> None:
    other = await judged(ModelTurn(raw_text="x"), row(Facts(required=())))
    assert (other.value, other.explanation) == (None, "not applicable: the scenario's target is no calls")
    ended = await judged(ModelTurn(raw_text="x"), row(), Termination.INFRASTRUCTURE_ERROR)
    assert ended.value is None
    assert judge_class("calls") is CallsJudge


@labelled
def test_source_calls_are_read_with_the_source_of_each_value(text: str, read: dict[str, str]) -> None:
    (call,) = read_source_calls(text)
    assert (call.name, call.arguments) == ("A.b", read)


@pytest.mark.parametrize(
    "text", ["", "I cannot do this.", "[A.b(x=1", "[A.b(x=(1])]", "[A.b(x=1, x=2)]", "Call A.b(x=1)", "[A.b(x='1)]", '{"name": "A.b"}']
)
def test_what_is_not_calls_alone_holds_none(text: str) -> None:
    assert read_source_calls(text) == ()
