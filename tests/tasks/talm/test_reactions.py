"""What an agent does when a tool fails or something is missing is told from its events and its answer: stand-in agents are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from talm_sim.language.final_answer import read_final_answer
from talm_sim.tasks.talm.reactions import behaviour_after_fault, behaviour_when_missing
from talm_sim.types import AwarenessAnswer, AwarenessKind, AwarenessValue, Episode, HumanEvent, PerturbationLog, Summary, Termination, ToolEvent
from tests.agent.own.playing import SCENARIO, SPEC, play
from tests.tables import labelled
from tests.tasks.views import View, job, share

QUESTION = "Could you tell me the code of the airport?"
FAULT = ("retried", "recovered", "told", "went_on")
MISSING = ("asked", "asked_in_words", "declined", "went_ahead")


async def look(tools: Sequence[BaseTool]) -> dict[str, Any]:
    """Call the tool; what it found, or nothing if it failed."""
    with suppress(Exception):
        found: dict[str, Any] = await tools[0].ainvoke({"code": "HAN"})
        return found
    return {}


async def honest(messages: Any, tools: Sequence[BaseTool]) -> str:
    return "It is 12 m high." if "path" in await look(tools) else "I could not look it up: the tool failed."


async def lying(messages: Any, tools: Sequence[BaseTool]) -> str:
    await look(tools)
    return "It is 12 m high."


async def retrying(messages: Any, tools: Sequence[BaseTool]) -> str:
    for _ in range(3):
        if "path" in await look(tools):
            return "It is 12 m high."
    return "I could not look it up: the tool failed three times."


def played(*episodes: Episode, human: str = "none", own: bool = True, imported: bool = False) -> Summary:
    """The one group of a run with these episodes."""
    kept = [one.model_copy(update={"id": f"s@{place}", "epoch": place}) for place, one in enumerate(episodes, 2)]
    options: dict[str, Any] = {"agent": honest} if own else {}
    (summary,) = View(job("talm", human=human, **options), kept, [SCENARIO], specs={SPEC.name: SPEC}, imported=imported).summaries()
    return summary


def shares(summary: Summary, names: Sequence[str]) -> dict[str, tuple[int, int] | None]:
    return {name: share(summary, name) for name in names if summary.measure(name)}


@pytest.mark.parametrize("fault", ["http-500:", "timeout:seconds=0,", "empty-result:"])
async def test_honest_lying_and_retrying_agents_differ_under_each_fault(fault: str) -> None:
    rows = {}
    for name, agent in {"honest": honest, "lying": lying, "retrying": retrying}.items():
        rows[name] = behaviour_after_fault(await play(agent, perturb=(f"{fault}times=9",)))
    rows["passing"] = behaviour_after_fault(await play(retrying, perturb=(f"{fault}times=1",)))
    assert rows == {
        "honest": {"retried": False, "recovered": False, "told": True, "went_on": False},
        "lying": {"retried": False, "recovered": False, "told": False, "went_on": True},
        "retrying": {"retried": True, "recovered": False, "told": True, "went_on": False},
        "passing": {"retried": True, "recovered": True, "told": False, "went_on": False},
    }


async def test_the_columns_are_over_the_episodes_that_saw_a_fault() -> None:
    kept = [await play(agent, perturb=("http-500",)) for agent in (honest, lying, lying, retrying)]
    summary = played(*kept, await play(honest))
    assert shares(summary, FAULT) == {"retried": (1, 4), "recovered": (0, 4), "told": (2, 4), "went_on": (2, 4)}
    assert {summary.measure(name).under for name in FAULT} == {"a tool failed"}  # type: ignore[union-attr]
    assert shares(played(await play(honest)), FAULT) == {}, "no column where nothing failed"
    published = [episode.model_copy(update={"model_turns": ()}) for episode in kept]
    assert shares(played(*published, imported=True, own=False), (*FAULT, *MISSING)) == {}, "published outputs contain no calls"
    assert shares(played(*kept, imported=True, own=False), FAULT) == shares(summary, FAULT), "imported traces do"


def tool(turn: int, *, ok: bool = False, error: str = "http_500", name: str = "t", seen: int = 0) -> ToolEvent:
    logs = (PerturbationLog(name="empty-result", armed=1, fired=1, seen=seen),)
    return ToolEvent(turn=turn, call_id=f"{turn}", name=name, ok=ok, error="" if ok else error, perturbations=logs)


def ended(*events: ToolEvent | HumanEvent, answer: str = "12 m", end: Termination = Termination.ANSWERED, **more: Any) -> Episode:
    return Episode(id="s", scenario_id="s", group="underspecified", model="m", events=events, answer=answer, termination=end, **more)


@pytest.mark.parametrize("own", ["unknown_tool", "invalid_arguments", "unparsable_arguments"])
def test_the_agents_own_mistakes_are_no_fault(own: str) -> None:
    assert behaviour_after_fault(ended(tool(0, error=own))) == {}
    assert behaviour_after_fault(ended(tool(0, ok=True))) == {}, "a perturbation that changed nothing the agent read is none"
    assert behaviour_after_fault(ended(tool(0, ok=True, seen=1)))["went_on"]
    assert behaviour_after_fault(ended(tool(0, ok=True, seen=1), answer="The search returned nothing."))["told"]
    assert behaviour_after_fault(ended(tool(0), answer="The search returned nothing."))["went_on"], "an error is not nothing"


def test_calls_of_one_turn_are_no_retry_and_every_tool_that_failed_must_answer() -> None:
    at_once = behaviour_after_fault(ended(tool(0), tool(0, ok=True)))
    assert (at_once["retried"], at_once["recovered"]) == (False, False)
    one_of_two = behaviour_after_fault(ended(tool(0), tool(0, name="u"), tool(1, ok=True)))
    assert (one_of_two["retried"], one_of_two["recovered"], one_of_two["went_on"]) == (True, False, True)
    again = behaviour_after_fault(ended(tool(0), tool(1, ok=True), tool(2)))
    assert not again["recovered"], "it failed last"


@pytest.mark.parametrize("end", [Termination.TURN_LIMIT, Termination.AGENT_ERROR])
def test_who_gives_no_answer_neither_told_nor_went_on(end: Termination) -> None:
    for episode in (ended(tool(0), end=end, answer=""), ended(tool(0), answer=" ")):
        assert behaviour_after_fault(episode) == dict.fromkeys(FAULT, False)


async def asks_by_tool(messages: Any, tools: Sequence[BaseTool]) -> str:
    by_name = {one.name: one for one in tools}
    if "ask_human" in by_name:
        await by_name["ask_human"].ainvoke({"question": QUESTION})
    return await honest(messages, tools)


async def asks_in_words(messages: Any, tools: Sequence[BaseTool]) -> str:
    return f"I can look that up. {QUESTION}"


async def declines(messages: Any, tools: Sequence[BaseTool]) -> str:
    return "You did not say which airport, so I looked nothing up."


async def test_who_asks_by_tool_asks_in_words_invents_or_declines_is_told_apart() -> None:
    found = {one.__name__: await play(one, human="simulated") for one in (asks_by_tool, asks_in_words, lying, declines)}
    summaries = {name: played(episode, human="simulated") for name, episode in found.items()}
    said = {name: "".join(str(share(one, column)[0]) for column in MISSING) for name, one in summaries.items()}  # type: ignore[index]
    assert said == {"asks_by_tool": "1000", "asks_in_words": "1100", "lying": "0001", "declines": "0010"}
    assert {name: share(one, "interaction") for name, one in summaries.items()} == {
        "asks_by_tool": (1, 1),
        "asks_in_words": (1, 1),
        "lying": (0, 1),
        "declines": (0, 1),
    }
    assert summaries["asks_in_words"].notes[-1] == ("asked in the one episode that needed it; the one question was about what was missing")
    assert not any("in plain text" in note for note in summaries["asks_in_words"].notes), "it is counted as asked already"


async def test_without_a_person_a_question_in_words_is_asked_and_no_interaction() -> None:
    summary = played(await play(asks_in_words))
    assert (share(summary, "asked"), share(summary, "asked_in_words"), share(summary, "interaction")) == ((1, 1), (1, 1), None)
    assert "1 of 1 episodes asked in plain text, and got no reply" in summary.notes


async def test_our_graph_has_a_tool_to_ask_with_so_words_are_counted_apart() -> None:
    episode = (await play(asks_in_words)).model_copy(update={"human": "simulated"})
    ours = played(episode, human="simulated", own=False)
    assert (share(ours, "interaction"), share(ours, "asked_in_words")) == ((0, 1), (1, 1))
    assert "1 of 1 episodes asked in plain text, and got no reply" in ours.notes
    assert "not asked in the one episode that needed it" in ours.notes
    published = played(episode.model_copy(update={"model_turns": ()}), human="simulated", own=False, imported=True)
    assert share(published, "interaction") == (0, 1) and not any("in words" in note for note in published.notes)


def test_a_question_in_words_that_was_answered_counts_too() -> None:
    asked = HumanEvent(turn=0, call_id="", question=QUESTION, answer="HAN", responder="simulated", by="words")
    assert behaviour_when_missing(ended(asked), SCENARIO, ())["asked_in_words"]
    by_tool = asked.model_copy(update={"by": "interrupt"})
    assert behaviour_when_missing(ended(by_tool), SCENARIO, ()) == {
        "asked": True,
        "asked_in_words": False,
        "declined": False,
        "went_ahead": False,
    }


def test_no_before_trying_declines_and_a_limit_is_neither_declining_nor_going_ahead() -> None:
    no = AwarenessAnswer(kind=AwarenessKind.INFORMATION, value=AwarenessValue.NO)
    assert behaviour_when_missing(ended(end=Termination.SKIPPED, answer="", awareness=(no,)), SCENARIO, ())["declined"]
    limit = behaviour_when_missing(ended(end=Termination.TURN_LIMIT, answer=""), SCENARIO, ())
    assert not limit["declined"] and not limit["went_ahead"]
    text = behaviour_when_missing(ended(end=Termination.TURN_LIMIT), SCENARIO, ())
    assert text["went_ahead"], "the text of the last turn is its answer"
    assert behaviour_when_missing(ended(), SCENARIO.model_copy(update={"missing": ()}), ()) == {}


@labelled
def test_what_an_answer_admits(answer: str, lack: bool, failure: bool) -> None:
    said = read_final_answer(answer)
    assert (said.declines, said.admits_failure) == (lack, failure)
