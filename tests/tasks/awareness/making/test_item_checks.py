"""Mistakes put into manipulated scenarios on purpose: each check catches its own."""

from collections.abc import Sequence
from typing import Any

import pytest

from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.loaded import turns_of
from talm_sim.tasks.awareness.making.pool import pool_of
from talm_sim.tasks.awareness.making.remove import make_removed_scenario
from talm_sim.tasks.awareness.making.replace import replace_tools
from talm_sim.types import GoldCall, Missing, MissingKind, Scenario, YesNo
from tests.tasks.awareness.making.made import BALANCE, REMINDER, STOCK, TOKEN, Words, asked, tool

ORIGINAL = asked("Hello!", "What can I do?", "What was the price of SQ on March 14th, 2022?", stock_code="SQ", date="2022-03-14")
POOL = pool_of([asked("Hi", tools=(STOCK, BALANCE, TOKEN, REMINDER))], Words())


def found(original: Scenario, changed: Scenario) -> set[str]:
    return {failure.check for failure in check_manipulated(original, changed, POOL)}


def removed(*said: str, original: Scenario = ORIGINAL, value: Any = "SQ", last: str = "user") -> Scenario:
    messages = [{"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(said)]
    messages[-1]["role"] = last
    turns = (*turns_of(messages),)
    turns = (*turns[:-1], turns[-1].model_copy(update={"gold_calls": original.gold_calls}))
    return make_removed_scenario(original, turns, [Missing(kind=MissingKind.UTTERANCE, name="stock_code", value=value)], "a model")


def replaced(**change: Any) -> Scenario:
    made = replace_tools(ORIGINAL, POOL)
    assert isinstance(made, Scenario)
    return made.model_copy(update=change)


HELLO = ("Hello!", "What can I do?")


def test_what_is_right_passes() -> None:
    assert found(ORIGINAL, removed(*HELLO, "What was the price on March 14th, 2022?")) == set()
    assert found(ORIGINAL, replaced()) == set()


@pytest.mark.parametrize(
    ("said", "checks"),
    [
        ((*HELLO, "What was the price of sq on March 14th, 2022?"), {"value still said", "still complete"}),
        (("Hello SQ!", "What can I do?", "What was the price on March 14th, 2022?"), {"value still said", "still complete", "words added"}),
        (("Hello!", "Is it SQ?", "What was the price on March 14th, 2022?"), {"value still said", "still complete", "rest changed"}),
        ((*HELLO, "What was the price of SQ on March 14th, 2022?"), {"value still said", "still complete", "identical"}),
        ((*HELLO, "What was the price of on March 14th, 2022?"), {"unnatural"}),
        ((*HELLO, "   "), {"ends otherwise", "unnatural", "request gone"}),
        ((*HELLO, "What was its price on March 14th, 2022? Could my cat Felix know, or dogs, birds, horses?"), {"words added"}),
        ((*HELLO, "It was March 14th, 2022."), {"request gone"}),
        (("Hello!",), {"rest changed", "unnatural"} - {"unnatural"}),
    ],
)
def test_a_mistake_of_a_rewriting_is_caught(said: Sequence[str], checks: set[str]) -> None:
    assert found(ORIGINAL, removed(*said)) == checks


def test_only_what_no_call_needs_is_gone() -> None:
    original = asked("Price of SQ in euros?", stock_code="SQ", currency="euros")
    changed = removed("Price of SQ?", original=original, value="euros")
    (failure,) = check_manipulated(original, changed)
    assert (failure.check, failure.words, failure.review) == ("still complete", "no API requires 'currency'", False)


def test_one_of_two_requests_is_gone() -> None:
    call = GoldCall(name="AddReminder", arguments={"content": "milk", "time": "2022-03-14"})
    base = asked("Price of SQ? Please remind me of milk.", tools=(STOCK, REMINDER), stock_code="SQ")
    turn = base.turns[0].model_copy(update={"gold_calls": (*base.gold_calls, call)})
    original = base.model_copy(update={"turns": (turn,), "target": YesNo(gold="yes", relevant=("QueryStock", "AddReminder"))})
    changed = removed("Price of SQ?", original=original, value="milk")
    failures = check_manipulated(original, changed)
    assert [(one.check, one.review) for one in failures] == [("served in part", False), ("request gone", False)]
    assert failures[0].words == "'QueryStock' can still be called, so that part of the request is served"


def test_without_gold_arguments_a_person_must_look() -> None:
    original = ORIGINAL.model_copy(update={"turns": (*ORIGINAL.turns[:-1], ORIGINAL.turns[-1].model_copy(update={"gold_calls": ()}))})
    (failure,) = check_manipulated(original, removed(*HELLO, "What was the price on March 14th, 2022?", original=original, value=None))
    assert (failure.check, failure.review) == ("still complete", True)


def shown(*tools: dict[str, Any]) -> tuple[str, ...]:
    return asked("Hi", tools=tools).shown_tools


LIKE = tool("CompanyPrice", "Stock price of a company on a date", ["code"])
NEAR = tool("PriceHistory", "Price of a company by date and place since its foundation", ["code"])
CURRENCY = tool("Convert", "Money of one country in that of another", ["amount"])


@pytest.mark.parametrize(
    ("change", "checks"),
    [
        ({"shown_tools": ORIGINAL.shown_tools}, {"needed API shown"}),
        ({"shown_tools": shown(TOKEN)}, {"list changed"}),
        ({"shown_tools": shown(TOKEN, REMINDER)}, {"list changed"}),
        ({"shown_tools": shown(BALANCE) * 2}, {"list changed"}),
        ({"shown_tools": shown(LIKE, BALANCE)}, {"substitute serves"}),
        ({"shown_tools": shown(tool("queryStock", "Something else"), BALANCE)}, {"substitute serves"}),
        ({"turns": ORIGINAL.turns[:1]}, {"conversation changed"}),
    ],
)
def test_a_mistake_of_a_replacement_is_caught(change: dict[str, Any], checks: set[str]) -> None:
    assert found(ORIGINAL, replaced(**change)) == checks


@pytest.mark.parametrize(
    ("tools", "relevant", "review"),
    [
        ((STOCK, LIKE), ("QueryStock",), False),
        ((STOCK, NEAR), ("QueryStock",), True),
        ((STOCK, CURRENCY, LIKE), ("QueryStock", "Convert"), True),
        ((STOCK, tool("Look", "A search engine")), ("QueryStock",), True),
    ],
    ids=["serves", "is a little like it", "serves a part", "finds anything"],
)
def test_an_api_that_was_not_replaced_may_serve(tools: Sequence[dict[str, Any]], relevant: tuple[str, ...], review: bool) -> None:
    base = asked("Price of SQ, in yen?", tools=tools, stock_code="SQ")
    original = base.model_copy(update={"target": YesNo(gold="yes", relevant=relevant)})
    changed = replace_tools(original, POOL)
    assert isinstance(changed, Scenario)
    (failure,) = check_manipulated(original, changed, POOL)
    assert (failure.check, failure.review) == ("another API serves", review)
    if not review:
        assert check_manipulated(original, changed) == []
