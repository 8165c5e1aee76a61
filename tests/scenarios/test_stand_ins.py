from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.scenarios.stand_ins import ReplaceableTool, StandIn, find_stand_in, is_structured
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario, ToolSpec, Turn

RESPONSE: dict[str, Any] = {
    "type": "object",
    "properties": {"feet": {"type": "integer"}, "runways": {"type": "array", "items": {"type": "string"}}},
    "required": ["feet"],
}
HEIGHT = ToolSpec(name="get_height", description="Get how high an airport lies.", human_replaceable=True)
WEATHER = ToolSpec(name="get_weather", description="Get the weather at an airport.", human_replaceable=True)
NOISE = ToolSpec(name="get_noise", description="Get the noise at an airport.")
SPECS = {one.name: one for one in (HEIGHT, WEATHER, NOISE)}
KNOWN = {"get_height": ReplaceableTool(response=RESPONSE), "get_weather": ReplaceableTool(response={})}
TURN = Turn(messages=({"role": "user", "content": "How high is Hanoi?"},), gold_calls=(GoldCall(name="get_height", arguments={"code": "HAN"}),))
PLAIN = Scenario(id="s", group="perfect", turns=(TURN,), tools=tuple(SPECS), target=Facts(required=(Fact(name="feet", value=39, call=0),)))
MASKED = PLAIN.model_copy(update={"missing": (Missing(kind=MissingKind.TOOL, name="get_height", human_answer="39 feet."),)})
TOOL = StandIn("get_height", "Get how high.", {"type": "object", "properties": {"code": {"type": "string"}}}, RESPONSE)
HIGH = "How high does the airport lie?"


def test_a_question_about_a_tool_that_is_gone_or_broken_asks_to_stand_in_for_it() -> None:
    masked = find_stand_in(HIGH, MASKED, SPECS, KNOWN)
    assert masked is not None and (masked.tool, masked.response) == ("get_height", RESPONSE)
    broken = find_stand_in(HIGH, PLAIN, SPECS, KNOWN, ["get_height"])
    assert broken == masked
    hidden = KNOWN | {"get_height": ReplaceableTool(response=RESPONSE, masked=True)}
    assert find_stand_in(HIGH, PLAIN, SPECS, hidden) == masked
    old = find_stand_in(HIGH, MASKED, SPECS, {})
    assert old is not None and (old.tool, old.response, old.answer) == ("get_height", {}, ""), "a run from before keeps no responses"


def test_no_other_question_does() -> None:
    assert find_stand_in(HIGH, PLAIN, SPECS, KNOWN) is None, "the tool works"
    assert find_stand_in("What is your name?", MASKED, SPECS, KNOWN, ["get_weather"]) is None
    assert find_stand_in("How noisy is it, what is the noise?", PLAIN, SPECS, KNOWN, ["get_noise"]) is None, "no person can say that"
    assert find_stand_in(HIGH, MASKED, {}, KNOWN) is None


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ('{"feet": 39}', ""),
        (' {"feet": 39, "runways": ["11L"]} ', ""),
        ("It lies at 39 feet.", ""),
        ("39", ""),
        ('"39 feet"', ""),
        ('{"feet": "39"}', "not an answer of get_height: feet: '39' is not of type 'integer'"),
        ('{"runways": []}', "not an answer of get_height: 'feet' is a required property"),
        ('{"feet": 39, "runways": ["11L", 3]}', "not an answer of get_height: runways.1: 3 is not of type 'string'"),
        ("[39]", "not an answer of get_height: [39] is not of type 'object'"),
        ('{"feet": ', "not JSON (Expecting value at column 10)"),
        ('{"feet": NaN}', "not JSON (NaN is not a JSON number)"),
        ("{39 feet}", "not JSON (Expecting property name enclosed in double quotes at column 2)"),
        ("[" * 500 + "]" * 500, "not JSON (nested too deeply)"),
    ],
)
def test_an_answer_in_json_is_one_of_the_tool(answer: str, fault: str) -> None:
    assert TOOL.explain_misfit(answer) == fault
    assert is_structured(answer) == (answer.strip()[0] in "{[" and "not JSON" not in fault)


def test_what_cannot_be_checked_is_taken() -> None:
    assert StandIn("t", "", {}, {}).explain_misfit('{"any": 1}') == ""
    hard = StandIn("t", "", {}, {"type": "object", "patternProperties": {"(a+)+$": {"type": "string"}}})
    assert hard.explain_misfit('{"b": 1}') == ""


def test_a_tool_says_what_it_takes_and_answers() -> None:
    assert (TOOL.arguments, TOOL.answer) == ('{"code": text}', '{"feet": whole number, "runways": [text, ...]}')


@given(st.text() | st.text().map(lambda text: f"{{{text}") | st.recursive(st.none() | st.floats(), st.lists).map(str))
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(TOOL.explain_misfit(text), str) and isinstance(is_structured(text), bool)
