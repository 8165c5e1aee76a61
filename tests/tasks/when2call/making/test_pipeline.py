"""One source question: three items where all goes well, and every fault with its reason where it does not."""

from __future__ import annotations

import json
from typing import Any

from talm_sim.tasks.when2call.making.pipeline import ItemOutcome, make_items
from talm_sim.types import Behaviour, GoldCall
from tests.tables import labelled
from tests.tasks.when2call.making.toys import GOOD, QUESTION, REWRITTEN, Teller, source


async def made(
    says: dict[str, Any] | None = None, *, attempts: int = 1, every: bool = True, unable: str = "written", **changes: Any
) -> ItemOutcome:
    return await make_items(source(**changes), Teller(says), seed=0, attempts=attempts, every=every, unable=unable)


def rejected(outcome: ItemOutcome) -> set[tuple[str, str, str]]:
    return {(one["item"], one["text_of"], one["check"]) for one in outcome.rejected}


async def test_three_items_with_no_one_and_many_tools() -> None:
    outcome = await made()
    assert not outcome.rejected and not outcome.given_up
    shown = {(row["correct_answer"], min(2, len(row["tools"]))) for row in outcome.rows}
    once = {("tool_call", 1), ("tool_call", 2), ("request_for_info", 1), ("request_for_info", 2)}
    assert shown == once | {("cannot_answer", 0), ("cannot_answer", 1), ("cannot_answer", 2)}
    questions = {row["correct_answer"]: row["question"] for row in outcome.rows}
    assert questions == {"tool_call": QUESTION, "request_for_info": REWRITTEN, "cannot_answer": GOOD["unanswerable"]}
    assert {row["tool_use"] for row in outcome.rows} == {"database"}
    assert len({row["uuid"] for row in outcome.rows}) == len(outcome.rows)
    for row in (await made()).rows:
        names = [json.loads(tool)["name"] for tool in row["tools"]]
        if row["correct_answer"] == "cannot_answer":
            assert row["target_tool"] is None
            assert ("convert_money" in names) == (len(names) == 1)
        else:
            assert "convert_money" in names
            assert json.loads(row["target_tool"])["name"] == "convert_money"


async def test_another_tool_takes_the_place_of_a_removed_one() -> None:
    rows = (await made(unable="removed")).rows
    beyond = {len(row["tools"]): row for row in rows if row["correct_answer"] == "cannot_answer"}
    assert {row["question"] for row in beyond.values()} == {QUESTION}
    teller = Teller()
    await make_items(source(), teller, seed=0, unable="removed")
    assert "unanswerable" not in teller.asked
    by_call = [len(row["tools"]) for row in rows if row["correct_answer"] == "tool_call"]
    assert [*beyond] == [0, *by_call] == [0, 1, 4]
    for number in by_call:
        tools = beyond[number]["orig_tools"]
        ((removed, instead),) = [pair for pair in zip(tools, beyond[number]["tools"], strict=True) if pair[0] != pair[1]]
        assert json.loads(removed)["name"] == "convert_money" and instead not in tools


async def test_without_a_further_tool_the_place_stays_empty() -> None:
    outcome = await made(unable="removed", others=source().others[:1])
    shown = [len(row["tools"]) for row in outcome.rows if row["correct_answer"] == "cannot_answer"]
    assert shown == [0, 1] and "convert_money" not in str([row["tools"] for row in outcome.rows if row["correct_answer"] == "cannot_answer"])


async def test_a_request_that_needs_no_tool_is_dropped() -> None:
    outcome = await made({"tool_use": "none"})
    assert (outcome.dropped, outcome.rows, outcome.given_up) == ("it needs no tool", [], [])


async def test_without_a_checked_rewriting_the_writer_rewrites() -> None:
    told = {"rewrite": "How much is the money in my purse worth?", "request_for_info/lacking": "Which currency do you have?"}
    outcome = await made(told, removal=None, question="How much are the dollars in my purse worth?")
    row = next(row for row in outcome.rows if row["correct_answer"] == "request_for_info")
    assert (row["question"], row["held_out_param"]) == (told["rewrite"], "from_currency")
    assert row["orig_question"] == "How much are the dollars in my purse worth?"


async def test_a_rewriting_that_leaks_is_rejected() -> None:
    told = {"rewrite": "How much is the money, in Dollars, in my purse worth?"}
    outcome = await made(told, removal=None, question="How much are the dollars in my purse worth?")
    assert rejected(outcome) == {("request_for_info", "question", "leaks_nothing")}


async def test_a_question_without_any_required_value_cannot_lose_one() -> None:
    outcome = await made(removal=None, question="How much is my money worth at home?")
    assert "none can be left out" in outcome.not_tried["request_for_info"]


@labelled
async def test_a_fault_costs_the_item_and_is_told(says: dict[str, Any], fault: list[str]) -> None:
    outcome = await made(says)
    assert tuple(fault) in rejected(outcome)
    assert fault[0] in outcome.given_up
    assert fault[0] not in {row["correct_answer"] for row in outcome.rows}
    one = next(one for one in outcome.rejected if one["check"] == fault[2])
    assert one["reason"] and one["source"] == "money-01"


async def test_two_equal_options_make_no_item() -> None:
    same = "You can't get less than 250 francs."
    outcome = await made({"direct": same, "cannot_answer": same})
    assert ("tool_call", "cannot_answer", "differs") in rejected(outcome)
    assert not outcome.rows


async def test_a_gold_call_that_does_not_fit_its_tool_makes_no_item() -> None:
    outcome = await made(call=GoldCall(name="convert_money", arguments={"amount": "many"}))
    assert not outcome.rows
    assert {check for _, text_of, check in rejected(outcome) if text_of == "tool_call"} == {"call_is_complete"}


async def test_a_second_attempt_can_save_an_item_and_the_first_is_kept_on_record() -> None:
    outcome = await made({"direct": ["How many?", "You get 230 francs."]}, attempts=2)
    assert not outcome.given_up
    assert {(one["check"], one["attempt"]) for one in outcome.rejected} == {("direct_asks_nothing", 1)}
    assert Behaviour.TOOL_CALL.value in {row["correct_answer"] for row in outcome.rows}
