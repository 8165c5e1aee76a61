"""Faults of the handed model, met by the user's own agents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from talm_sim.agent.episode import Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.types import Episode, ModelTurn, Termination
from tests.agent.own.playing import ANSWER, SCENARIO, Script, agent_of, looking, play, react

FAULT = "model-500:call=1"
SAID = "the model answered HTTP 500: internal server error"


def total(episode: Episode) -> tuple[int, ...]:
    (log,) = episode.perturbations
    return (log.armed, log.fired, log.seen, log.not_applicable)


def naive(messages: Any, tools: Any, model: Any) -> str:
    return str(model.invoke(messages).text)


def careful(messages: Any, tools: Any, model: Any) -> str:
    try:
        return str(model.invoke(messages).text)
    except Exception as err:
        return f"{model.invoke(messages).text} ({err.status_code})"  # type: ignore[attr-defined]


def honest(messages: Any, tools: Any, model: Any) -> str:
    try:
        return str(model.invoke(messages).text)
    except Exception:
        return "The model cannot be reached."


def stubborn(messages: Any, tools: Any, model: Any) -> str:
    while True:
        try:
            return str(model.invoke(messages).text)
        except Exception:
            continue


def wrapping(messages: Any, tools: Any, model: Any) -> str:
    try:
        return naive(messages, tools, model)
    except Exception as err:
        raise RuntimeError("no model") from err


def broken(messages: Any, tools: Any, model: Any) -> str:
    try:
        return naive(messages, tools, model)
    except Exception:
        raise KeyError("answer")  # noqa: B904


async def grouping(messages: Any, tools: Any, model: Any) -> str:
    async with asyncio.TaskGroup() as group:
        done = group.create_task(model.ainvoke(messages))
    return str(done.result().text)


async def test_an_agent_that_catches_the_error_recovers() -> None:
    episode = await play(careful, Script(ANSWER), perturb=(FAULT,))
    assert (episode.termination, episode.answer, episode.injected) == (Termination.ANSWERED, "12 m (500)", "")
    assert total(episode) == (2, 1, 1, 0)
    assert episode.perturbations[0].injected == SAID


@pytest.mark.parametrize("agent", [naive, wrapping, grouping, react])
async def test_an_error_that_is_not_caught_ends_as_data_with_the_fault_named(agent: Any) -> None:
    episode = await play(agent, Script(ANSWER), perturb=(FAULT,))
    assert (episode.termination, episode.injected, episode.crashed) == (Termination.AGENT_ERROR, FAULT, False)
    assert episode.error.startswith(f"injected fault {FAULT}: ")
    if agent in (naive, react):
        assert SAID in episode.error
    assert total(episode) == (1, 1, 1, 0)


async def test_an_error_in_the_agents_own_handler_is_a_crash() -> None:
    episode = await play(broken, Script(ANSWER), perturb=(FAULT,))
    assert (episode.termination, episode.injected, episode.crashed) == (Termination.AGENT_ERROR, "", True)
    assert episode.error.startswith("KeyError: ")
    assert total(episode) == (1, 1, 1, 0)


async def test_an_agent_that_retries_forever_is_stopped_by_its_turns() -> None:
    episode = await play(stubborn, Script(), perturb=("model-500",))
    assert episode.termination is Termination.TURN_LIMIT
    assert total(episode) == (5, 5, 5, 0)


async def test_a_graph_gets_the_previous_call_again() -> None:
    episode = await play(react, Script(looking(), ANSWER), perturb=("model-repeat:call=2",))
    assert [event.arguments for event in episode.tool_events] == [{"code": "HAN"}] * 2
    assert episode.answer == "12 m"


async def test_a_pause_keeps_the_counts_of_a_session() -> None:
    def asking(messages: Any, tools: Any, model: Any) -> str:
        honest(messages, tools, model)
        by_name = {tool.name: tool for tool in tools}
        by_name["ask_human"].invoke({"question": "Which code?"})
        return str(model.invoke(messages).text)

    agent = agent_of(
        asking, Script(ModelTurn(raw_text="12 m", text="12 m")), human="queue", perturb=("model-500:times=1", "model-empty:call=2")
    )
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting)
    (question,) = waiting.questions
    done = await run_episode(agent, SCENARIO, resume={question.interrupt_id: HumanReply("HAN", "queue")}, state=waiting.state)
    assert isinstance(done, Episode)
    assert [(log.armed, log.fired, log.seen, log.injected) for log in done.perturbations] == [(2, 1, 1, SAID), (1, 1, 1, None)]
    assert done.answer == ""
