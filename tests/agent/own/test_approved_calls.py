"""Calls of an own agent that a person approves first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from talm_sim.agent.approvals import REJECTED
from talm_sim.agent.episode import Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.judges.refused import judge_refusals
from talm_sim.types import Decision, Episode, HumanEvent, ModelTurn, ToolCall, ToolEvent
from tests.agent.own.playing import LOOK, SCENARIO, Script, agent_of, looking, react
from tests.agent.own.test_contracts import decide, gated


async def _play(thing: Any, *decisions: Decision, model: Script | None = None) -> Episode:
    """Play an agent whose calls wait, one stretch after the other."""
    agent = agent_of(thing, model, human="terminal")
    assert agent.environment is not None
    agent.environment.approve = frozenset({"airport_info"})
    result = await run_episode(agent, SCENARIO)
    for decision in decisions:
        assert isinstance(result, Waiting)
        replies = {one.interrupt_id: HumanReply(decision.text, "terminal", decision=decision) for one in result.questions}
        result = await run_episode(agent, SCENARIO, resume=replies, state=result.state)
    assert isinstance(result, Episode)
    return result


async def test_calls_of_a_function_wait_for_the_person() -> None:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        info = next(one for one in tools if one.name == "airport_info")
        return " | ".join([str(await info.ainvoke({"code": code})) for code in ("HAN", "SGN", "DAD", "HUI")])

    episode = await _play(
        act,
        Decision(action="approve"),
        Decision(action="edit", name="airport_info", arguments={"code": "PQC"}),
        Decision(action="reject", message="Not that one."),
        Decision(action="respond", message="It is 12 m high."),
    )
    first, second, third, fourth = episode.answer.split(" | ")
    assert (first, second) == ('{"path":"http://tools.invalid/t/HAN"}', '{"path":"http://tools.invalid/t/PQC"}')
    assert third == f"{REJECTED} The reason given: Not that one."
    assert fourth.endswith(": It is 12 m high.")
    kinds = ["ask", "call", "ask", "call", "ask", "ask"]
    assert ["ask" if isinstance(event, HumanEvent) else "call" for event in episode.events] == kinds
    assert [event.arguments for event in episode.tool_events] == [{"code": "HAN"}, {"code": "PQC"}]
    assert {event.by for event in episode.human_events} == {"policy"}
    for asked, done in zip(episode.human_events, episode.tool_events, strict=False):
        assert (asked.turn, asked.call_id) == (done.turn, done.call_id)


async def test_a_graph_reads_a_rejected_call_as_a_failed_one() -> None:
    read: list[ToolMessage] = []

    def agent(tools: Sequence[BaseTool], model: Any) -> Any:
        return react(tools, model)

    class Reading(Script):
        async def generate(self, messages: Any, tools: Any, settings: Any) -> ModelTurn:
            read.extend(message for message in messages if isinstance(message, ToolMessage))
            return await super().generate(messages, tools, settings)

    model = Reading(looking(LOOK), ModelTurn(raw_text="Then not.", text="Then not."))
    episode = await _play(agent, Decision(action="reject"), model=model)
    assert [(message.text, message.tool_call_id) for message in read] == [(REJECTED, "c1")]
    assert not any(isinstance(event, ToolEvent) for event in episode.events)
    assert episode.answer == "Then not."


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(
    ("second", "labels"),
    [
        (LOOK.model_copy(update={"id": "c9"}), ["same_call", "went_on_without"]),
        (LOOK.model_copy(update={"id": "c9", "arguments": {"code": "SGN"}}), ["went_on_without", "went_on_without"]),
    ],
)
async def test_refusals_of_langchain_s_middleware_are_judged_as_ours(mode: Any, second: ToolCall, labels: list[str]) -> None:
    rejected = Decision(action="reject", message="No.")
    turns = Script(looking(LOOK), looking(second), ModelTurn(raw_text="Then not.", text="Then not."))
    episode = await decide(gated(mode), turns, rejected, rejected)
    found = judge_refusals(episode, SCENARIO, {})
    assert [*found] == ["airport_info", "airport_info #2"]
    assert [str(one.label) for one in found.values()] == labels
