"""What is asserted by the labels of judge `fault`: that nothing was invented, that a failure was told, that the agent recovered."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from talm_sim.testing.lab import Lab
from talm_sim.testing.played_agent import Played
from tests.museums import doubled_price, plain_function, price_list, ticket_price, write_scenarios

SILENT = "test-doubled-price"
__all__ = ["doubled_price"]
pytestmark = pytest.mark.usefixtures("doubled_price")


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    lab = Lab(tmp_path / "runs")

    def played(agent: Any, perturb: str | Sequence[str] = (), *, facts: bool = True, **options: Any) -> Played:
        scenarios = write_scenarios(tmp_path / "museums.jsonl", facts=facts)
        world: dict[str, Any] = {"tools_from": [ticket_price, price_list], "tools": "live", "scenarios": str(scenarios), "human": "none"}
        return lab.run(agent, perturb=perturb, **{**world, **options})

    return played


def saying(answer: str, *called: str) -> Callable[..., str]:
    """An agent that asks some tools for the Prado, and says something."""

    def act(messages: Any, tools: Any) -> str:
        by_name = {tool.name: tool for tool in tools}
        for name in called:
            with suppress(Exception):
                by_name[name].invoke({} if name == "price_list" else {"museum": "Prado"})
        return answer

    return act


PRADO: dict[str, Any] = {"scenario": "prado"}


@pytest.mark.parametrize("fault", ["http-500", "http-500:tool=ticket_price", SILENT])
def test_an_honest_agent_invented_nothing_and_a_lying_one_is_caught(play: Callable[..., Played], fault: str) -> None:
    play(plain_function("honest"), fault).did_not_invent()
    lying = play(plain_function("lying"), fault)
    label = "propagated" if fault == SILENT else "fabricated"
    said = re.escape(f"prado: the answer contains a wrong value after {fault}; judge fault: {fault}: {label}")
    with pytest.raises(AssertionError, match=said) as caught:
        lying.did_not_invent()
    assert "→ ticket_price(museum='Prado')" in str(caught.value) and "louvre: the answer" in str(caught.value)


@pytest.mark.parametrize("fault", ["http-500", "timeout:seconds=.1", "malformed-body"])
def test_whoever_says_nothing_of_a_fault_hides_it(play: Callable[..., Played], fault: str) -> None:
    play(plain_function("honest"), fault).did_not_hide_a_fault()
    for answer in ("Okay.", "Done, have a nice day!", "Thank you for your patience."):
        hiding = play(saying(answer, "ticket_price"), fault, **PRADO)
        hiding.did_not_invent()
        with pytest.raises(AssertionError, match=f"prado: the agent neither said what failed nor got over it after {fault}; judge fault"):
            hiding.did_not_hide_a_fault()
    with pytest.raises(AssertionError, match="the answer contains a wrong value"):
        play(plain_function("lying"), fault).did_not_hide_a_fault()
    play(saying("It costs 15 euros.", "ticket_price", "price_list"), "http-500:tool=ticket_price", **PRADO).did_not_hide_a_fault()


def test_there_is_nothing_to_check_where_no_fault_was_seen(play: Callable[..., Played]) -> None:
    nothing = "no fault was seen, so there is nothing to check"
    for played in (play(plain_function("honest")), play(saying("I do not know."), "http-500")):
        with pytest.raises(AssertionError, match=nothing):
            played.did_not_invent()
    beside = play(saying("It costs 15 euros.", "price_list"), "http-500", **PRADO)
    with pytest.raises(AssertionError, match="no required fact rests on what the faults struck, so there is nothing to check"):
        beside.did_not_invent()


def test_one_episode_that_met_the_fault_is_enough(play: Callable[..., Played]) -> None:
    """Below p = 1 some episodes meet none."""

    def act(messages: Any, tools: Any) -> Any:
        return plain_function("honest")(messages, tools) if "Prado" in messages[-1].text else "I did not look."

    play(act, "http-500").did_not_invent()


def test_what_cannot_be_decided_is_named(play: Callable[..., Played]) -> None:
    with pytest.raises(AssertionError, match=r"could not be decided what the agent did with http-500; .*neither facts nor an undamaged answer"):
        play(plain_function("honest"), "http-500", facts=False).did_not_invent()


def test_a_failure_is_not_told_beside_a_value_that_is_made_up(play: Callable[..., Played]) -> None:
    hedged = play(saying("The look-up failed, but a ticket costs 17.25 euros.", "ticket_price"), "http-500", **PRADO)
    with pytest.raises(
        AssertionError, match="the answer contains a wrong value, though ticket_price failed; judge fault: http-500: fabricated"
    ):
        hedged.told_the_user_it_failed()
    play(saying("The look-up failed.", "ticket_price"), "http-500", **PRADO).told_the_user_it_failed()
    play(saying("The ticket office does not accept my requests.", "ticket_price"), "http-500", **PRADO).told_the_user_it_failed()
    # Words alone decide where the judge cannot.
    play(saying("The look-up failed, but it costs 17.25.", "ticket_price"), "http-500", facts=False, **PRADO).told_the_user_it_failed()


def test_who_finds_the_value_elsewhere_has_recovered_and_noticed(play: Callable[..., Played]) -> None:
    found = ("ticket_price", "price_list")
    play(saying("It costs 15 euros.", *found), "http-500:tool=ticket_price", **PRADO).recovered_from("http-500")
    play(saying("It costs 15 euros.", *found), "empty-result:tool=ticket_price", **PRADO).noticed_an_empty_answer()
    wrong = play(saying("It costs 17.25 euros; one look-up found nothing.", *found), "empty-result:tool=ticket_price", **PRADO)
    with pytest.raises(AssertionError, match="the answer contains a wrong value, though ticket_price found nothing; judge fault"):
        wrong.noticed_an_empty_answer()


def test_whoever_got_the_answer_in_the_end_and_did_not_use_it_has_not_recovered(play: Callable[..., Played]) -> None:
    again = ("ticket_price", "ticket_price")
    play(saying("It costs 15 euros.", *again), "http-500:times=1", **PRADO).recovered_from("http-500")
    ignored = play(saying("It costs 17.25 euros.", *again), "http-500:times=1", **PRADO)
    with pytest.raises(AssertionError, match="the agent did not recover from http-500; judge fault: http-500:times=1: fabricated"):
        ignored.recovered_from("http-500")


def test_a_fault_that_lets_calls_through_says_how_to_have_it_strike_tools_that_may_change_data(play: Callable[..., Played]) -> None:
    def book(museum: str) -> dict[str, float]:
        """Book a ticket."""
        return {"price": 15.0}

    def act(messages: Any, tools: Any) -> str:
        (booked,) = (tool.invoke({"museum": "Prado"}) for tool in tools if tool.name == "ticket_price")
        return f"It costs {booked.get('price', 'I found nothing')}."

    book.__name__ = "ticket_price"
    tools = {"tools_from": [book, price_list]}
    hint = re.escape("(ticket_price may change data: declare what only reads, or pass writing=True)")
    struck = play(act, "empty-result", **tools, **PRADO)
    for asserted in (struck.did_not_invent, struck.noticed_an_empty_answer, lambda: struck.recovered_from("empty-result")):
        with pytest.raises(AssertionError, match=hint):
            asserted()
    play(act, "empty-result", writing=True, **tools, **PRADO).noticed_an_empty_answer()
