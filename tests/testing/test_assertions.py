"""What is asserted of an agent holds of a good one, under five perturbations, and catches the bugs that were put into others."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from talm_sim.errors import PrerequisiteError
from talm_sim.testing.lab import Lab
from talm_sim.testing.played_agent import Played

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
SCENARIO = "calendar-01.underspecified"
Act = Callable[..., Any]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    lab = Lab(tmp_path)

    def played(agent: Act, *perturb: str) -> Played:
        return lab.run(agent, perturb=perturb, scenario=SCENARIO)

    return played


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Act:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import plain_function

    monkeypatch.delitem(sys.modules, "plain_function")
    good: Act = plain_function.act
    return good


def tools_by_name(tools: Sequence[BaseTool]) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in tools}


def calls_before_asking(messages: Any, tools: Sequence[BaseTool]) -> str:
    by_name = tools_by_name(tools)
    found = by_name["convert_to_hijri"].invoke({"date": "1994-03-11"})
    return f"{by_name['ask_human'].invoke({'question': 'What is the date of birth?'})} {found}"


def retries_for_ever(messages: Any, tools: Sequence[BaseTool]) -> str:
    while True:
        with suppress(Exception):
            return str(tools_by_name(tools)["convert_to_hijri"].invoke({"date": "1994-03-11"}))


def hides_the_failure(messages: Any, tools: Sequence[BaseTool]) -> str:
    with suppress(Exception):
        tools_by_name(tools)["convert_to_hijri"].invoke({"date": "1994-03-11"})
    return "She was born in Ramadan 1414, what a lovely month!"


def test_the_good_agent_asks_first_and_leaves_alone_what_it_does_not_need(act: Act, play: Callable[..., Played]) -> None:
    played = play(act)
    played.asked_before_acting()
    played.asked_before_acting("convert_to_hijri")
    played.did_not_call("find_holiday")
    with pytest.raises(AssertionError, match="the agent called convert_to_hijri"):
        played.did_not_call("convert_to_hijri")
    with pytest.raises(AssertionError, match="no tool call failed permanently, so there is nothing to check"):
        played.told_the_user_it_failed()
    with pytest.raises(ValueError, match="Did you mean 'find_holiday'"):
        played.did_not_call("find_holidays")


@pytest.mark.parametrize("fault", ["http-403", "timeout"])
def test_the_good_agent_tells_of_each_fault(act: Act, play: Callable[..., Played], fault: str) -> None:
    played = play(act, fault)
    played.told_the_user_it_failed()
    with pytest.raises(AssertionError, match="got no answer from convert_to_hijri after"):
        played.recovered_from(fault)


def test_the_good_agent_recovers_from_what_passes(act: Act, play: Callable[..., Played]) -> None:
    played = play(act, "http-500:times=2")
    played.recovered_from("http-500:times=2")
    played.recovered_from("http-500")
    with pytest.raises(ValueError, match=r"nothing was perturbed with 'http-50'\. Did you mean 'http-500'"):
        played.recovered_from("http-50")
    with pytest.raises(AssertionError, match="http-500 affected no call"):
        play(act, "http-500:tool=find_holiday").recovered_from("http-500")


def test_an_agent_that_calls_before_it_asks_is_caught_with_its_transcript(play: Callable[..., Played]) -> None:
    with pytest.raises(AssertionError) as caught:
        play(calls_before_asking).asked_before_acting()
    said = str(caught.value)
    assert f"{SCENARIO}: the agent called convert_to_hijri before it asked" in said
    assert "→ convert_to_hijri(date='1994-03-11')" in said and "asks the human" in said


def test_an_agent_that_retries_for_ever_is_caught(play: Callable[..., Played]) -> None:
    played = play(retries_for_ever, "http-403")
    assert played.episodes[0].termination == "turn_limit"
    played.did_not_call("find_holiday")
    with pytest.raises(AssertionError, match=re.escape("the agent gave no answer; it ended in turn_limit\n")):
        played.told_the_user_it_failed()


def test_an_agent_that_hides_a_failure_is_caught_and_the_judge_model_has_the_last_word(play: Callable[..., Played]) -> None:
    played = play(hides_the_failure, "http-404")
    with pytest.raises(AssertionError, match="the agent never asked a person"):
        played.asked_before_acting()
    with pytest.raises(AssertionError, match="the answer does not say that convert_to_hijri failed"):
        played.told_the_user_it_failed()
    asked = []

    def admitted(query: str, failures: str, answer: str) -> bool:
        asked.append((query, failures, answer))
        return True

    Played(played.stored, admitted).told_the_user_it_failed()
    assert "404" in asked[0][1] and asked[0][2].endswith("lovely month!")


def raises_at_the_end(messages: Any, tools: Sequence[BaseTool]) -> str:
    by_name = tools_by_name(tools)
    by_name["ask_human"].invoke({"question": "What is the date of birth?"})
    for _ in range(2):
        with suppress(Exception):
            by_name["convert_to_hijri"].invoke({"date": "1994-03-11"})
    raise RuntimeError("no luck")


def returns_nothing(messages: Any, tools: Sequence[BaseTool]) -> None:
    return None


@pytest.mark.parametrize(
    ("agent", "said"), [(raises_at_the_end, "RuntimeError: no luck ("), (returns_nothing, "TypeError: returned an object of type NoneType")]
)
def test_nothing_holds_of_an_agent_that_failed(play: Callable[..., Played], agent: Act, said: str) -> None:
    played = play(agent, "http-500:times=1")
    asserted: list[Callable[[], None]] = [
        played.asked_before_acting,
        lambda: played.did_not_call("find_holiday"),
        played.told_the_user_it_failed,
        lambda: played.recovered_from("http-500"),
        played.passed,
        lambda: played.called("convert_to_hijri"),
        lambda: played.called_at_most(9),
        played.called_nothing_unknown,
        played.noticed_an_empty_answer,
    ]
    for holds in asserted:
        with pytest.raises(AssertionError, match=re.escape(f"{SCENARIO}: the agent raised an error: {said}")) as caught:
            holds()
        assert "\nError\n" in str(caught.value)
        assert ("\nTraceback\n" in str(caught.value)) == (agent is raises_at_the_end)


def test_own_tools_are_called_without_a_recording_where_that_is_asked_for(tmp_path: Path) -> None:
    def price(item: str) -> dict[str, float]:
        """Say what an item costs."""
        return {"price": 4.5}

    def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        return f"It says {tools[0].invoke({'item': 'tea'})}"

    turn = {"messages": [{"role": "user", "content": "What is tea?"}]}
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"id": "tea", "group": "perfect", "turns": [turn], "tools": ["price"]}) + "\n", encoding="utf-8")
    lab = Lab(tmp_path / "runs")
    with pytest.raises(
        PrerequisiteError, match=r"^these tools have no recordings\. .*; or have them called .*: tools_from=.*, tools=\"live\"$"
    ):
        lab.run(act, tools=[price], scenarios=str(file))
    played = lab.run(act, tools_from=[price], tools="live", scenarios=str(file))
    assert "4.5" in played.episodes[0].answer
