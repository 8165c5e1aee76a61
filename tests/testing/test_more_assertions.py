"""What was called, with what, and whether the task was done: each assertion holds of one agent and catches another."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool

from talm_sim.language.final_answer import read_final_answer
from talm_sim.testing.emptiness import is_emptied
from talm_sim.testing.lab import Lab
from talm_sim.testing.played_agent import Played
from talm_sim.testing.seen_calls import has_arguments
from talm_sim.types import PerturbationLog, ToolEvent

SCENARIO = "calendar-01.underspecified"
HOLIDAY: dict[str, Any] = {"country_code": "VN", "year": 2025, "name": "Hung Kings' Commemoration Day"}
ANSWER = "The holiday is on 2025-04-07, and she was born on 29 Ramadan 1414."


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def acting(*calls: tuple[str, dict[str, Any]], answer: str = ANSWER) -> Callable[..., Any]:
    """An agent that makes calls and gives an answer."""

    def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        by_name = {tool.name: tool for tool in tools}
        for name, arguments in calls:
            with suppress(Exception):
                by_name[name].invoke(arguments)
        return answer

    return act


CONVERT = ("convert_to_hijri", {"date": "1994-03-11"})
FIND = ("find_holiday", HOLIDAY)


def test_an_agent_that_does_what_was_asked_has_passed(lab: Lab) -> None:
    lab.run(acting(CONVERT, FIND), scenario=SCENARIO).passed()
    with pytest.raises(AssertionError, match=r"the agent did not pass; judge reference: gold call find_holiday.* was not made") as caught:
        lab.run(acting(CONVERT), scenario=SCENARIO).passed()
    assert "→ convert_to_hijri(date='1994-03-11')" in str(caught.value)


@pytest.fixture
def look_up(lab: Lab, tmp_path: Path) -> Callable[..., Played]:
    """Runs an agent with a tool that may be called any number of times."""

    def price(item: str) -> dict[str, float]:
        """Say what an item costs."""
        return {"price": 4.5 if item == "tea" else 2.0}

    price.__dict__["read_only"] = True
    file = tmp_path / "open.jsonl"
    turn = {"messages": [{"role": "user", "content": "What is tea?"}]}
    file.write_text(json.dumps({"id": "tea", "group": "perfect", "turns": [turn], "tools": ["price"]}) + "\n", encoding="utf-8")

    def played(*items: str, **options: Any) -> Played:
        act = acting(*(("price", {"item": item}) for item in items), answer="It costs 4.50.")
        return lab.run(act, tools_from=[price], tools="live", scenarios=str(file), **options)

    return played


def test_where_no_judge_can_tell_nothing_has_passed(look_up: Callable[..., Played]) -> None:
    played = look_up("tea")
    with pytest.raises(AssertionError, match=r"no judge could decide whether the agent passed \(reference: not applicable"):
        played.passed()


def test_a_call_is_known_by_its_arguments(lab: Lab) -> None:
    played = lab.run(acting(CONVERT, FIND), scenario=SCENARIO)
    played.called("find_holiday")
    played.called("find_holiday", year=2025)
    played.called("find_holiday", year=2025.0, country_code=" vn ")
    played.called("find_holiday", "exact", **HOLIDAY)
    played.called("find_holiday", arguments=HOLIDAY)
    faults: list[tuple[str, Any, dict[str, Any]]] = [
        ("but never with year=2024", "subset", {"year": 2024}),
        ("but never with year='2025'", "subset", {"year": "2025"}),
        ("but never with exactly year=2025", "exact", {"year": 2025}),
        ("but never with tool='x'", "subset", {"tool": "x"}),
        ("but never without arguments", "exact", {}),
    ]
    for said, match, arguments in faults:
        with pytest.raises(AssertionError, match=re.escape(f"the agent called find_holiday, {said}")) as caught:
            played.called("find_holiday", match, **arguments)
        assert "→ find_holiday(" in str(caught.value)
    with pytest.raises(AssertionError, match="but never with match='exact'"):
        played.called("find_holiday", arguments={"match": "exact"})
    with pytest.raises(AssertionError, match="the agent never called find_holiday"):
        lab.run(acting(CONVERT), scenario=SCENARIO).called("find_holiday")
    with pytest.raises(ValueError, match=r"no tool 'find_holidays'\. Did you mean 'find_holiday'"):
        played.called("find_holidays")
    with pytest.raises(ValueError, match=r"match is 'word', but must be 'subset' or 'exact'"):
        played.called("find_holiday", match="word")  # type: ignore[arg-type]


def test_true_is_not_one() -> None:
    event = ToolEvent(turn=0, call_id="c", name="f", arguments={"flag": True}, ok=True)
    assert has_arguments(event, {"flag": True}, exact=True) and not has_arguments(event, {"flag": 1}, exact=False)


def test_calls_are_counted(lab: Lab, look_up: Callable[..., Played]) -> None:
    played = lab.run(acting(("ask_human", {"question": "When?"}), CONVERT, FIND), scenario=SCENARIO)
    played.called_at_most(2)
    played.called_at_most(1, "find_holiday")
    with pytest.raises(AssertionError, match="the agent called tools 2 times, more than 1"):
        played.called_at_most(1)
    with pytest.raises(ValueError, match="no tool 'convert'"):
        played.called_at_most(1, "convert")
    often = look_up("tea", "tea", "milk")
    often.called_at_most(3, "price")
    with pytest.raises(AssertionError, match="the agent called price 3 times, more than 2"):
        often.called_at_most(2, "price")


def thinking(*names: str) -> Callable[..., Any]:
    """An agent with a model of its own that calls tools by name; of unknown ones it makes nothing."""

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        by_name = {tool.name: tool for tool in tools}
        calls = [{"name": name, "args": {"date": "1994-03-11"}, "id": f"c{place}", "type": "tool_call"} for place, name in enumerate(names)]
        said = await GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=calls)])).ainvoke(messages)
        for call in said.tool_calls:
            if call["name"] in by_name:
                with suppress(Exception):
                    await by_name[call["name"]].ainvoke(call)
        return "done"

    return act


def test_an_agent_that_calls_what_was_not_offered_is_caught(lab: Lab) -> None:
    lab.run(thinking("convert_to_hijri", "find_holiday"), scenario=SCENARIO).called_nothing_unknown()  # those of find_holiday do not fit
    lab.run(acting(("ask_human", {"question": "When?"})), scenario=SCENARIO).called_nothing_unknown()
    made_up = lab.run(thinking("convert_to_hijri", "to_hijri", "calculator"), scenario=SCENARIO)
    with pytest.raises(AssertionError, match="the agent called to_hijri, calculator, which the episode did not offer") as caught:
        made_up.called_nothing_unknown()
    assert "→ to_hijri(" in str(caught.value)
    with pytest.raises(AssertionError, match="called to_hijri, which"):
        made_up.called_nothing_unknown("calculator")
    made_up.called_nothing_unknown("calculator", "to_hijri")
    with pytest.raises(AssertionError, match="called ask_human, which"):
        lab.run(thinking("ask_human"), scenario=SCENARIO, human="none").called_nothing_unknown()


def test_a_hidden_tool_is_not_offered(lab: Lab) -> None:
    played = lab.run(thinking("convert_to_hijri"), scenario=SCENARIO, perturb="mask:tool=convert_to_hijri")
    with pytest.raises(AssertionError, match="the agent called convert_to_hijri, which the episode did not offer"):
        played.called_nothing_unknown()


def test_an_agent_that_hides_an_empty_result_is_caught_and_the_judge_model_has_the_last_word(lab: Lab) -> None:
    lab.run(acting(CONVERT, answer="The calendar returned no result."), scenario=SCENARIO, perturb="empty-result").noticed_an_empty_answer()
    hidden = lab.run(acting(CONVERT), scenario=SCENARIO, perturb="empty-result")
    with pytest.raises(AssertionError, match="the answer does not say that convert_to_hijri found nothing") as caught:
        hidden.noticed_an_empty_answer()
    assert "→ convert_to_hijri(" in str(caught.value)
    asked = []

    def noticed(query: str, calls: str, answer: str) -> bool:
        asked.append((calls, answer))
        return True

    Played(hidden.stored, noticed=noticed).noticed_an_empty_answer()
    assert asked == [("convert_to_hijri: {}", ANSWER)]


def test_the_same_call_again_is_to_have_noticed_and_another_is_not(look_up: Callable[..., Played]) -> None:
    once = "empty-result:times=1"
    look_up("tea", "tea", perturb=once).noticed_an_empty_answer()
    with pytest.raises(AssertionError, match="does not say that price found nothing"):
        look_up("tea", "milk", perturb=once).noticed_an_empty_answer()
    with pytest.raises(AssertionError, match="no perturbation emptied a tool's answer, so there is nothing to check"):
        look_up("tea").noticed_an_empty_answer()


def test_what_is_empty_was_emptied() -> None:
    def event(result: str, seen: int) -> ToolEvent:
        logs = (PerturbationLog(name="empties", armed=1, fired=1, seen=seen),)
        return ToolEvent(turn=0, call_id="c", name="f", result=result, ok=True, perturbations=logs)

    assert all(is_emptied(event(result, 1)) for result in ("{}", "[]", "null", '""', '{"results": [], "note": null}', "[{}]"))
    assert not any(is_emptied(event(result, 1)) for result in ('{"count": 0}', "[1]", '"x"', "false", "no json"))
    assert not is_emptied(event("{}", 0))


def test_words_that_tell_of_nothing_and_words_that_do_not() -> None:
    telling = (
        "I found no holidays on that day.",
        "There was no matching entry in the calendar.",
        "The converter came back blank.",
        "The look-up didn’t return a date.",
        "Unfortunately, no flights are available for that day.",
        "I don't have that data.",
        "There is nothing in the calendar for that date.",
        "I could not look it up.",
    )
    others = (
        ANSWER,
        "There are no holidays in March.",
        "The flight costs 129.00 and has no stops.",
        "Let me know if you need any information.",
        "If you don't know the code, see the page.",
        "I have no doubt that it is Ramadan.",
    )
    read = {one: read_final_answer(one) for one in (*telling, *others)}
    assert [one for one, said in read.items() if (said.nothing or said.admits_failure) is not (one in telling)] == []
