"""Queries with two asks become single-call source questions only where their sentences can be told apart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talm_sim.tasks import find_task
from talm_sim.tasks.when2call.making import SourceQuestion, source_questions
from talm_sim.tasks.when2call.making.splitting import Split, split_query, tidy_request
from talm_sim.types import Behaviour, Choice, GoldCall, Missing, MissingKind, Option, Scenario, Source, ToolSpec, Turn
from tests.growth import check_growth
from tests.in_process import direct_caller
from tests.tasks.when2call.making.toys import spec

WEATHER = ToolSpec(
    name="get_sunrise",
    category="weather",
    description="Get the time of sunrise in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
MONEY = spec()
SPECS = {one.name: one for one in (WEATHER, MONEY, spec("get_rate"))}
SUN = GoldCall(tool="get_sunrise", arguments={"city": "Oslo"})
CASH = GoldCall(tool="convert_money", arguments={"amount": 250, "from_currency": "dollars", "to_currency": "francs"})
QUERY = "When does the sun rise in Oslo? I also need to know how much 250 dollars are in francs."


def scenario(query: str, *calls: GoldCall, name: str = "toy-01", group: str = "perfect", missing: Missing | None = None) -> Scenario:
    base = {} if group == "perfect" else {"base": "toy-01"}
    turn = Turn(messages=({"role": "user", "content": query},), gold_calls=calls)
    return Scenario(id=name, group=group, turns=(turn,), tools=tuple(SPECS), missing=missing, source=Source(licence="Apache-2.0", **base))


def test_each_ask_is_one_source_question_with_its_own_call() -> None:
    found, dropped = source_questions([scenario(QUERY, SUN, CASH)], SPECS)
    assert not dropped
    assert [(one.id, one.question, one.call) for one in found] == [
        ("toy-01.1", "When does the sun rise in Oslo?", SUN),
        ("toy-01.2", "I need to know how much 250 dollars are in francs.", CASH),
    ]
    assert [other.name for other in found[1].others] == ["get_rate"]


def test_a_dialogue_is_no_single_question() -> None:
    one = scenario("When does the sun rise there?", SUN)
    earlier = Turn(messages=({"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice."}))
    found, dropped = source_questions([one.model_copy(update={"turns": (earlier, *one.turns)})], SPECS)
    assert (found, [drop.reason for drop in dropped]) == ([], ["it holds more than a single question"])


def test_the_order_of_the_asks_need_not_be_that_of_the_calls() -> None:
    found, _ = source_questions([scenario(QUERY, CASH, SUN)], SPECS)
    assert {one.id: one.call for one in found} == {"toy-01.1": CASH, "toy-01.2": SUN}
    assert "sun" in next(one.question for one in found if one.call == SUN)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("When does the sun rise in Oslo, with 250 dollars in francs?", "no sentence boundary"),
        ("Two questions: when does the sun rise in Oslo? And how much are 250 dollars in francs?", "announces both"),
        ("The sun in Oslo is nice. How much are 250 dollars in francs?", "asks for nothing"),
        ("When does the sun rise there? How much are 250 dollars in francs for a hotel in Oslo?", "other's sentence"),
        ("When does the sun rise in Oslo? Before that, tell me how much 250 dollars are in francs.", "refers back"),
    ],
)
def test_what_cannot_be_told_apart_is_dropped_with_the_reason(query: str, reason: str) -> None:
    found, dropped = source_questions([scenario(query, SUN, CASH)], SPECS)
    assert not found
    assert reason in dropped[0].reason


def test_a_human_checked_rewriting_belongs_to_the_ask_that_it_changes() -> None:
    missing = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="francs")
    shorter = QUERY.replace("in francs", "at home")
    found, _ = source_questions([scenario(QUERY, SUN, CASH), scenario(shorter, name="u", group="underspecified", missing=missing)], SPECS)
    assert found[0].removal is None
    assert found[1].removal is not None
    assert found[1].removal.question == "I need to know how much 250 dollars are at home."


def test_an_indirect_question_keeps_the_words_that_it_hangs_on() -> None:
    query = "Can you tell me when the sun rises in Oslo and how much 250 dollars are in francs?"
    missing = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="francs")
    shorter = scenario(query.replace("in francs", "at home"), name="u", group="underspecified", missing=missing)
    found, _ = source_questions([scenario(query, SUN, CASH), shorter], SPECS)
    assert found[0].question == "Can you tell me when the sun rises in Oslo."
    assert found[1].question == "Can you tell me how much 250 dollars are in francs?"
    assert found[1].removal is not None and found[1].removal.question == "Can you tell me how much 250 dollars are at home?"


@pytest.mark.parametrize(
    "first", ["Tell me when the sun rises in Oslo.", "When does the sun rise in Oslo, and", "Tell me when the sun rises in Oslo, and"]
)
def test_a_direct_question_gets_no_other_words_before_it(first: str) -> None:
    found, _ = source_questions([scenario(f"{first} how much do 250 dollars make in francs?", SUN, CASH)], SPECS)
    assert found[1].question == "How much do 250 dollars make in francs?"


def test_a_rewriting_that_changes_both_asks_is_not_used() -> None:
    missing = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="francs")
    other = "When does it get light in Oslo? I also need to know how much 250 dollars are at home."
    found, _ = source_questions([scenario(QUERY, SUN, CASH), scenario(other, name="u", group="underspecified", missing=missing)], SPECS)
    assert [one.removal for one in found] == [None, None]


def test_an_unknown_tool_and_a_third_call_are_reasons_to_drop() -> None:
    _, dropped = source_questions([scenario(QUERY, SUN, GoldCall(tool="fly"))], SPECS)
    assert "'fly'" in dropped[0].reason
    _, dropped = source_questions([scenario(QUERY, SUN, CASH, SUN)], SPECS)
    assert "3 gold calls" in dropped[0].reason


def test_a_scenario_of_one_call_is_taken_whole() -> None:
    found, _ = source_questions([scenario(" Sunrise in Oslo please", SUN)], SPECS)
    assert (found[0].id, found[0].question) == ("toy-01", " Sunrise in Oslo please")


def test_a_tool_call_row_is_a_source_question() -> None:
    call = json.dumps({"name": "get_sunrise", "arguments": {"city": "Oslo"}})
    kinds = [Option(behaviour=kind, text=call if kind is Behaviour.TOOL_CALL else kind.value) for kind in Behaviour]
    shown = tuple(json.dumps({"name": one.name, "description": one.description, "parameters": one.parameters}) for one in (MONEY, WEATHER))
    turn = Turn(messages=({"role": "user", "content": "Sunrise in Oslo?"},))
    values = {"id": "u-1", "task": "when2call", "group": "tool_call", "turns": (turn,), "shown_tools": shown}
    row = Scenario(**values, target=Choice(gold=Behaviour.TOOL_CALL, options=tuple(kinds)))
    found, dropped = source_questions([row, row.model_copy(update={"shown_tools": shown[:1]})], {})
    assert [(one.call, one.spec.name, [other.name for other in one.others]) for one in found] == [(SUN, "get_sunrise", ["convert_money"])]
    assert "does not show" in dropped[0].reason


def test_the_packaged_scenarios_give_many_source_questions() -> None:
    found, dropped = source_questions(find_task("talm").read(("perfect", "underspecified")), direct_caller().specs)
    assert len(found) > 500 > len(dropped) > 0
    assert len({one.id for one in found}) == len({one.digest for one in found}) == len(found)
    assert sum(one.removal is not None and len(one.spec.required) > 1 for one in found) > 100
    for one in found:
        assert isinstance(one, SourceQuestion)
        assert one.question[-1] in ".?!"
        assert not {other.name for other in one.others} & {one.spec.name}


@settings(deadline=None)
@given(text=st.text(max_size=120))
def test_no_text_breaks_the_splitting(text: str) -> None:
    assert isinstance(split_query(text, [SUN, CASH], [WEATHER, MONEY]), Split | str)
    tidy_request(text, capital=True)


@pytest.mark.parametrize("piece", ["and what ", "Hanoi? ", "a ", "12 "])
def test_a_long_query_is_split_in_step_with_its_length_or_not_at_all(piece: str) -> None:
    check_growth(lambda text: split_query(text, [SUN, CASH], [WEATHER, MONEY]), lambda size: piece * (size // len(piece)), 2**14)


def test_a_query_of_many_sentences_is_not_split() -> None:
    for query in ("What is it? " * 14, "a" * 2_001):
        assert split_query(query, [SUN, CASH], [WEATHER, MONEY]) == "it has more than 2,000 characters or 12 sentences"


@pytest.mark.parametrize("piece", [" ", "as well ", "and ", "also "])
def test_a_long_part_is_tidied_in_step_with_its_length(piece: str) -> None:
    check_growth(lambda text: tidy_request(text, capital=True), lambda size: f"x{piece * (size // len(piece))}x", 2**15)
