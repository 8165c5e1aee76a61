"""Single-step episodes: free answers and their calls kept, foreseen failures as terminations, controls by the task's policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from talm_sim.agent.context import EpisodeContext
from talm_sim.agent.episode import Agent, run_episode
from talm_sim.agent.shown_tools import tool_specs
from talm_sim.agent.single_step import respond_graph
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.sim import SimModel
from talm_sim.types import Episode, ModelTurn, Scenario, Termination, ToolCall, ToolSpec, Turn

TOOL = json.dumps(
    {
        "name": "weather.now",
        "description": "Current weather",
        "parameters": {"type": "dict", "required": ["city"], "properties": {"city": {"type": "string"}, "days": {"type": "float"}}},
    }
)


def item() -> Scenario:
    return Scenario(id="w-1", group="g", turns=(Turn(messages=({"role": "user", "content": "Weather?"},)),), shown_tools=(TOOL,))


class Chat:
    """A chat model that answers every request alike."""

    name = "test/chat"

    def __init__(self, turn: ModelTurn | Exception) -> None:
        self.turn = turn

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        if isinstance(self.turn, Exception):
            raise self.turn
        return self.turn

    async def aclose(self) -> None: ...


async def ask_once(context: EpisodeContext, turns: Sequence[ModelTurn]) -> ModelTurn | None:
    return None if turns else await context.model.generate([HumanMessage(context.scenario.query)], (), context.settings)


async def test_an_answer_is_its_text_and_then_its_calls() -> None:
    call = ToolCall(id="1", name="weather_now", arguments={"city": "Rome"})
    turn = ModelTurn(text="I look.", tool_calls=(call, call), stop="tool_calls")
    episode = await run_episode(Agent(model=Chat(turn), graph=respond_graph(ask_once)), item())
    assert isinstance(episode, Episode)
    text, *calls = episode.answer.split("\n")
    assert (text, episode.model_turns, episode.termination) == ("I look.", (turn,), Termination.ANSWERED)
    assert [json.loads(one) for one in calls] == [{"name": "weather_now", "arguments": {"city": "Rome"}}] * 2


def test_shown_tools_become_specifications_a_provider_takes() -> None:
    (spec,) = tool_specs([TOOL])
    assert (spec.name, spec.required, spec.parameters["type"]) == ("weather_now", ("city",), "object")
    wrapped, beside = '{"type": "function", "function": {"name": "f"}}', '{"name": "g", "required": true, "parameters": {"required": 3}}'
    assert [(spec.name, spec.required, spec.description) for spec in tool_specs([wrapped, beside])] == [("f", (), ""), ("g", (), "")]


@pytest.mark.parametrize("text", ["no json", "[]", '{"description": "no name"}', '"text"', '{"name": 3}'])
def test_a_tool_without_a_name_is_one_line(text: str) -> None:
    with pytest.raises(PrerequisiteError, match="is not a JSON object with a name"):
        tool_specs([text])


async def test_a_control_plays_by_the_policy_of_the_task() -> None:
    named: list[tuple[str, str]] = []

    def control(name: str, scenario: Scenario) -> Chat:
        named.append((name, scenario.id))
        return Chat(ModelTurn(text="by the task"))

    agent = Agent(model=SimModel("asker"), graph=respond_graph(ask_once), control=control)
    episode = await run_episode(agent, item())
    assert isinstance(episode, Episode)
    assert (episode.answer, episode.model, named) == ("by the task", "sim/asker", [("sim/asker", "w-1")])
    await run_episode(replace(agent, model=Chat(ModelTurn(text="a"))), item())
    assert len(named) == 1, "a real model acts for itself"
    with pytest.raises(ProviderError, match="the task brings no policy"):
        await run_episode(replace(agent, control=None), item())
