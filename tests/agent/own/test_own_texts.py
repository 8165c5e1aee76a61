"""Whatever text comes from an agent can be stored: halves of surrogate pairs are replaced where it comes in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from talm_sim.agent.own.own_session import CURRENT
from talm_sim.types import Episode, ModelTurn, Termination
from tests.agent.own.playing import ANSWER, Script, play

HALF = "\ud800 x"
TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud800\udfff"), max_size=8)


def stored(episode: Episode) -> Episode:
    """As it comes back from the file it is kept in."""
    return Episode.model_validate_json(episode.model_dump_json())


class Listening(Script):
    """Keeps what it was asked."""

    async def generate(self, messages: Any, tools: Any, settings: Any) -> ModelTurn:
        self.heard = [message.text for message in messages]
        json.dumps([message.model_dump() for message in messages], ensure_ascii=False).encode("utf-8")
        json.dumps([spec.model_dump() for spec in tools], ensure_ascii=False).encode("utf-8")
        return await super().generate(messages, tools, settings)


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_no_text_of_an_agents_keeps_its_episode_from_being_stored(one: str, other: str) -> None:
    async def act(messages: Any, tools: Sequence[BaseTool], model: Any) -> str:
        session = CURRENT.get()
        assert session is not None
        by_name = {tool.name: tool for tool in tools}
        await by_name["ask_human"].ainvoke({"question": f"? {one}"})
        await session.play("airport_info", {one: [{other: one}], "code": other}, other)
        await session.play("airport_info", [one], one)
        await session.play(f"no_tool {one}", {}, None)
        turn = {"name": f"do {one}", "args": {other: one}, "id": other, "type": "tool_call"}
        await GenericFakeChatModel(messages=iter([AIMessage(one, tool_calls=[turn])])).ainvoke([SystemMessage(other), *messages])
        offered = {"name": f"do{one}", "description": other, "parameters": {"type": "object", "properties": {one: {"type": "string"}}}}
        await model.bind_tools([offered]).ainvoke([AIMessage(one, tool_calls=[turn]), HumanMessage(other)])
        raise ValueError(one + other)

    episode = stored(asyncio.run(play(act, Listening(ANSWER), human="simulated", turns=20)))
    assert episode.termination is Termination.AGENT_ERROR and episode.error.startswith("ValueError")
    assert len(episode.events) == 4 and len(episode.model_turns) == 6


async def test_a_model_that_is_handed_over_is_asked_what_can_be_sent() -> None:
    async def act(messages: Any, tools: Any, model: Any) -> Any:
        return [await model.ainvoke([SystemMessage(HALF), *messages])]

    model = Listening(ANSWER)
    assert stored(await play(act, model)).answer == "12 m"
    assert model.heard == ["? x", "How high is the airport?"]


@pytest.mark.parametrize(
    ("arguments", "reason"), [([[[1]]], "array"), (10**5000, "ValueError"), ({"a": {1j: 2}}, "TypeError")], ids=["array", "long", "key"]
)
async def test_arguments_that_are_no_object_are_told_of(arguments: Any, reason: str) -> None:
    deep: Any = {}
    for _ in range(100):
        deep = {"a": deep}

    async def act(messages: Any, tools: Any) -> str:
        session = CURRENT.get()
        assert session is not None
        await session.play("airport_info", arguments, 7)  # type: ignore[arg-type]
        await session.play("airport_info", deep, "x" * 300)
        return "done"

    episode = stored(await play(act))
    wrong, too_deep = (turn.unparsable_calls[0] for turn in episode.model_turns[:2])
    assert reason in wrong.reason and wrong.id == "call-1"
    assert "nested deeper" in too_deep.reason and too_deep.id == "call-2"
