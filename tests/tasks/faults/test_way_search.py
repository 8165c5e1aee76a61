"""The search for lost facts, without tools: which result gives a fact, what is tried next, and how a call is written for a changed tool."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from talm_sim.agent.humans import DONT_KNOW, SimulatedResponder
from talm_sim.language.about_missing import replaceable_tools
from talm_sim.tasks.acting.recovery_search import Search, Way, error_in, gives_fact, is_said, question_for
from talm_sim.types import Fact, Facts, GoldCall, Scenario, ToolSpec, Turn
from tests.growth import check_growth
from tests.tables import labelled

DAYS = Fact(name="working_days", value=59, call=0, pointer="/result/working_days")
NAME = Fact(name="holiday", value="Zumbi", call=0, pointer="/holidays/2/name")


@labelled
def test_a_result_gives_a_fact_at_its_place_or_in_a_field_that_can_be_told(result: Any, fact: str, own: bool, gives: bool) -> None:
    assert gives_fact(json.dumps(result), DAYS if fact == DAYS.name else NAME, own=own) is gives


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=12))
def test_any_result_and_pointer_can_be_read(result: str, pointer: str, value: str) -> None:
    fact = Fact(name="x", value=value, call=0, pointer=pointer)
    for text in (result, json.dumps(result), json.dumps({pointer: [result]})):
        assert gives_fact(text, fact) in (True, False)
        error_in(text)


NAMES = st.text(max_size=5)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | NAMES, lambda one: st.lists(one) | st.dictionaries(NAMES, one))


@given(JSON, st.text(min_size=3, max_size=8))
def test_a_telling_value_is_found_wherever_it_is(around: Any, value: str) -> None:
    fact = Fact(name="x", value=value, call=0, pointer="/not/there")
    assert gives_fact(json.dumps({"a": around, "b": [{"c": value}]}), fact)


def test_a_deep_result_is_read_in_step_with_its_size() -> None:
    check_growth(lambda text: gives_fact(text, NAME), lambda size: json.dumps([{"a": "b"}] * (size // 12)), 2**14)


def spec(name: str, *arguments: str, required: tuple[str, ...] | None = None, replaceable: bool = False) -> ToolSpec:
    names = arguments if required is None else required
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in arguments}, "required": list(names)}
    return ToolSpec(name=name, parameters=schema, human_replaceable=replaceable)


DAY = Fact(name="day", value="2025-04-07", call=0, pointer="/day")
MOON_NAME = Fact(name="moon", value="first moon", call=1, pointer="/moon")
SCENARIO = Scenario(
    id="s",
    group="perfect",
    turns=(
        Turn(
            messages=({"role": "user", "content": "When is it?"},),
            gold_calls=(
                GoldCall(name="find", arguments={"country": "VN", "name": "Hung"}),
                GoldCall(name="convert", arguments={"country": "VN", "name": "Tet"}),
            ),
        ),
    ),
    tools=("find", "convert", "list"),
    target=Facts(required=(DAY, MOON_NAME)),
    alternatives={"find": (GoldCall(name="list", arguments={"country": "VN"}),)},
)
FIND, CONVERT, LIST = spec("find", "country", "name", replaceable=True), spec("convert", "country", "name"), spec("list", "country")
FAILED = '{"error":"HTTP 500: no."}'
MOON = '{"moon":"first moon"}'


def keys(results: dict[str, str], *tools: ToolSpec) -> list[str]:
    return [one.key for one in Search(SCENARIO, tools, [[0, 1]]).next(results)]


def test_ways_are_tried_in_order_until_nothing_is_left() -> None:
    results: dict[str, str] = {}
    tried: list[list[str]] = []
    while attempts := keys(results, FIND, CONVERT, LIST):
        tried.append(attempts)
        results |= {key: MOON if key == "1" else FAILED for key in attempts}
    assert tried == [["0", "1"], ["0.again0"], ["0.again1"], ["0.again2"], ["0.instead0"], ["0.read0"]]
    search = Search(SCENARIO, (FIND, CONVERT, LIST), [[0, 1]])
    assert [search.way_to(fact, results) for fact in search.facts] == [None, Way.RESULT]
    for key, way in (("0.again1", Way.AGAIN), ("0.instead0", Way.ALTERNATIVE), ("0.read0", Way.READ), ("1", Way.READ)):
        assert search.way_to(search.facts[0], results | {key: '{"day":"2025-04-07"}'}) is way


def test_a_renamed_tool_is_found_by_its_arguments() -> None:
    other = spec("get_population", "city")
    search = Search(SCENARIO, (other, spec("find_v2", "country", "name", "year", required=("country",)), CONVERT), [[0, 1]])
    assert [one.key for one in search.next({})] == ["1"]
    (attempt,) = search.next({"1": MOON})
    assert (attempt.key, attempt.name, attempt.way) == ("0.named0", "find_v2", Way.RESULT)


def test_a_renamed_argument_is_found_in_the_schema_or_in_the_error() -> None:
    (first, _) = Search(SCENARIO, (spec("find", "nation", "name"), CONVERT), [[0, 1]]).next({})
    assert first.arguments == {"nation": "VN", "name": "Hung"}
    error = "{\"error\":\"HTTP 422: 'country' is not a field; did you mean 'country_code'.\"}"
    (second,) = Search(SCENARIO, (FIND, CONVERT), [[0, 1]]).next({"0": error, "1": MOON})
    assert (second.key, second.way) == ("0.corrected0", Way.AGAIN)
    assert second.arguments == {"country_code": "VN", "name": "Hung"}


@given(st.text(max_size=200))
def test_no_error_asks_for_more_than_a_few_corrected_calls(error: str) -> None:
    results = {"0": json.dumps({"error": f"name {error} country"}), "1": MOON}
    tried = 0
    while (attempts := Search(SCENARIO, (FIND, CONVERT), [[0, 1]]).next(results)) and tried < 20:
        tried += 1
        results |= {one.key: FAILED for one in attempts}
    assert tried <= 3 + 3 + 1


async def test_a_person_stands_in_for_replaceable_tools_only_if_told_to() -> None:
    specs = {one.name: one for one in (FIND, CONVERT, LIST)}
    assert [(one.name, one.human_answer) for one in replaceable_tools(SCENARIO, specs)] == [("find", "The day is 2025-04-07.")]
    assert replaceable_tools(SCENARIO, {}) == []
    for stands_in, tool, fact, knows in ((["find"], "find", DAY, True), ([], "find", DAY, False), (["convert"], "convert", MOON_NAME, False)):
        person = SimulatedResponder(SCENARIO, specs, stands_in=stands_in)
        reply = await person(question_for(tool, [fact]), 1)
        assert (reply.answer != DONT_KNOW, is_said(reply.answer, fact), reply.declined != "idk") == (knows, knows, knows)
