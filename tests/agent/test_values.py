"""Values in place of words: what the model is offered, what an own agent may return, what an episode keeps, and what the judges make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

from talm_sim.agent.checkpoints import memory_saver
from talm_sim.agent.episode import Agent, Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.judges.base import JudgeContext
from talm_sim.judges.fault_verdicts import FaultJudge
from talm_sim.judges.llm import LlmJudge
from talm_sim.judges.reference import ReferenceJudge
from talm_sim.types import Episode, Fact, Facts, Scenario, Termination, Verdict
from tests.agent.own.playing import PROMPTS, SCENARIO, Script, agent_of, talm_agent
from tests.agent.test_finish import LOOK, called, said
from tests.judges.scripted import grading, scripted

FACTS = Facts(required=(Fact(name="elevation", value=12, unit="m", call=0), Fact(name="city", value="Hà Nội")))
VALUED = SCENARIO.model_copy(update={"target": FACTS})
RIGHT = {"elevation": 12, "city": "HA NOI"}


def built_in(*turns: Any, **more: Any) -> Agent:
    saver = more.pop("saver", memory_saver())
    return talm_agent(Script(*turns), saver=saver, finish_tool=PROMPTS.finish_tool(), values=PROMPTS.finish_tool, **more)


async def play(agent: Agent, scenario: Scenario = VALUED) -> Episode:
    return cast("Episode", await run_episode(agent, scenario))


def finish(values: Any = None, answer: str = "See the values.") -> Any:
    return called("Finish", final_answer=answer, **({} if values is None else {"values": values}))


async def judged(episode: Episode) -> Verdict:
    return await ReferenceJudge(JudgeContext())(episode, VALUED)


async def test_finish_takes_a_nullable_value_for_each_fact() -> None:
    agent = built_in(LOOK, finish(RIGHT))
    episode = await play(agent)
    offered = next(tool for tool in cast("Script", agent.model).specs[0] if tool.name == "Finish").parameters
    assert offered["required"] == ["final_answer", "values"]
    assert offered["properties"]["values"]["properties"] == {
        "elevation": {"type": ["number", "null"], "description": "In m."},
        "city": {"type": ["string", "null"]},
    }
    assert (episode.answer, episode.values, (await judged(episode)).value) == ("See the values.", RIGHT, True)


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        ({"elevation": 13, "city": "Hà Nội"}, False),
        ({"elevation": 12, "city": None}, False),
        ({}, False),
        (None, False),
        ({"elevation": 12, "city": "Hanoy"}, None),
    ],
)
async def test_values_alone_are_graded_and_not_the_words(values: Any, passed: bool | None) -> None:
    episode = await play(built_in(LOOK, finish(values, "It is 12 m, in Hà Nội.")))
    assert episode.values == (values or {})
    assert (await judged(episode)).value is passed


async def test_values_that_are_no_object_are_the_models_mistake() -> None:
    agent = built_in(LOOK, finish("12 m"), finish(RIGHT))
    episode = await play(agent)
    assert [event.error for event in episode.tool_events] == ["", "invalid_arguments"]
    assert "`values` is no object" in episode.tool_events[1].result
    assert episode.values == RIGHT


async def test_a_text_at_the_last_turn_is_read_as_words() -> None:
    episode = await play(built_in(*[LOOK] * 4, said("It is 12 m, in Hà Nội.")))
    assert (episode.termination, episode.values, (await judged(episode)).value) == (Termination.TURN_LIMIT, None, True)


async def test_without_facts_or_values_finish_is_what_it_was() -> None:
    without_facts = built_in(finish(RIGHT))
    words = talm_agent(Script(finish(RIGHT)), saver=memory_saver(), finish_tool=PROMPTS.finish_tool())
    for agent, scenario in ((without_facts, SCENARIO), (words, VALUED)):
        assert (await play(agent, scenario)).values is None
        assert cast("Script", agent.model).specs[0][-1] == PROMPTS.finish_tool()


async def test_an_episode_that_paused_keeps_its_values_in_another_process() -> None:
    saver = memory_saver()
    waiting = await run_episode(built_in(called("ask_human", question="Which airport?"), saver=saver, human="terminal"), VALUED)
    assert isinstance(waiting, Waiting)
    replies = {one.interrupt_id: HumanReply("It is HAN.", "terminal") for one in waiting.questions}
    later = built_in(LOOK, finish(RIGHT), saver=saver, human="terminal")
    episode = await run_episode(later, VALUED, resume=replies, state=waiting.state)
    assert isinstance(episode, Episode) and episode.values == RIGHT
    assert Episode.model_validate_json(episode.model_dump_json()) == episode


class Airport(BaseModel):
    elevation: float | None = None
    city: str | None = None


def graph(answer: Any, text: str = "") -> Any:
    class State(MessagesState):
        structured_response: Any

    def respond(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(text)], "structured_response": answer}

    made = StateGraph(State)
    made.add_node("respond", respond)
    made.add_edge(START, "respond")
    made.add_edge("respond", END)
    compiled = made.compile()
    return lambda tools: compiled


def returning(answer: Any) -> Callable[..., Any]:
    return lambda messages, tools: answer


@pytest.mark.parametrize(
    ("thing", "text", "values"),
    [
        (returning({**RIGHT, "answer": "12 m"}), "12 m", {**RIGHT, "answer": "12 m"}),
        (returning({"elevation": None}), '{"elevation":null}', {"elevation": None}),
        (returning({"answer": "12 m", "values": {"elevation": 12}}), "12 m", {"answer": "12 m", "elevation": 12, "values": {"elevation": 12}}),
        (returning(Airport(elevation=12)), '{"elevation":12.0,"city":null}', {"elevation": 12.0, "city": None}),
        (returning({}), "", {}),
        (returning("12 m, in Hà Nội"), "12 m, in Hà Nội", None),
        (returning({"role": "assistant", "content": "12 m"}), "12 m", None),
        (graph(Airport(elevation=12), "So it is."), "So it is.", {"elevation": 12.0, "city": None}),
        (graph({"elevation": 12}), '{"elevation":12}', {"elevation": 12}),
        (graph(None, "12 m"), "12 m", None),
    ],
)
async def test_an_own_agent_returns_a_mapping_or_a_model(thing: Any, text: str, values: Any) -> None:
    episode = await play(replace(agent_of(thing), values=PROMPTS.finish_tool))
    assert (episode.termination, episode.answer, episode.values) == (Termination.ANSWERED, text, values)
    assert (await play(agent_of(thing))).values is None, "in words, nothing has changed"


async def test_what_an_own_agent_gives_is_kept_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    episode = await play(replace(agent_of(returning({"city": "sk-very-secret-0123456789"})), values=PROMPTS.finish_tool))
    assert "very-secret" not in episode.model_dump_json()


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ({}, "told"),
        ({"elevation": None, "city": None}, "told"),
        ({"elevation": 17, "city": None}, "fabricated"),
        ({"elevation": 12, "city": None}, "unsupported"),
        ({"elevation": "12 zorks", "city": None}, "undecided"),
    ],
)
async def test_what_is_given_after_a_fault_is_in_the_values(values: Any, label: str) -> None:
    episode = await play(built_in(LOOK, finish(values, "It is 21 m, surely."), perturb=("http-500",)))
    verdict = await FaultJudge(JudgeContext())(episode, VALUED)
    assert verdict.labels == {"http-500": label}


async def test_a_judge_that_is_a_model_reads_the_values_too() -> None:
    grader = scripted("Pass", "Pass", "Pass")
    assert (await LlmJudge(grading("llm", grader))(await play(built_in(LOOK, finish(RIGHT))), VALUED)).value is True
    assert '{"city":"HA NOI","elevation":12}' in grader.questions[0]
