"""Episodes of task `when2call`: options scored, free answers kept, foreseen failures as terminations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from langchain_core.messages import BaseMessage

from talm_sim.agent.context import EpisodeContext
from talm_sim.agent.episode import Agent, run_episode
from talm_sim.agent.single_step import respond_graph
from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.sim import SimModel
from talm_sim.tasks import find_task
from talm_sim.tasks.templates import Template, load_template
from talm_sim.tasks.when2call.scored import Scored, score_graph
from talm_sim.tasks.when2call.task import _ask
from talm_sim.types import Behaviour, Choice, Episode, ModelTurn, Option, Scenario, Termination, ToolCall, ToolSpec, Turn, Usage

TOOL = json.dumps(
    {
        "name": "weather.now",
        "description": "Current weather",
        "parameters": {"type": "dict", "required": ["city"], "properties": {"city": {"type": "string"}, "days": {"type": "float"}}},
    }
)
CALL = json.dumps({"name": "weather.now", "arguments": {"city": "Rome"}})


def item(gold: Behaviour = Behaviour.TOOL_CALL, tools: tuple[str, ...] = (TOOL,)) -> Scenario:
    texts = {"direct": "It is 20 degrees.", "tool_call": CALL, "request_for_info": "In which city?", "cannot_answer": "Sorry, I can’t."}
    return Scenario(
        id="w-1",
        task="when2call",
        group=gold.value,
        turns=(Turn(messages=({"role": "user", "content": "Weather?"},)),),
        shown_tools=tools,
        target=Choice(gold=gold, options=tuple(Option(behaviour=Behaviour(name), text=text) for name, text in texts.items())),
    )


class Chat:
    """A chat model that notes what it was given."""

    name = "test/chat"

    def __init__(self, turn: ModelTurn | Exception) -> None:
        self.turn = turn
        self.seen: list[Any] = []

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.seen.append((list(messages), list(tools), settings))
        if isinstance(self.turn, Exception):
            raise self.turn
        return self.turn

    async def aclose(self) -> None: ...


class Raw(Chat):
    """A model that takes raw text."""

    chat_template = ""

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        self.seen.append((prompt, list(options)))
        if isinstance(self.turn, Exception):
            raise self.turn
        return [Continuation(-float(number), 2) for number, _ in enumerate(options, 1)]

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        self.seen.append((prompt, settings))
        if isinstance(self.turn, Exception):
            raise self.turn
        return self.turn

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[dict[str, Any]]) -> str:
        raise AssertionError


def asking(template: Template | None) -> Any:
    """What the task asks, as the graph takes it."""
    put = _ask(template)

    async def ask(context: EpisodeContext, turns: Sequence[ModelTurn]) -> ModelTurn | None:
        turn: ModelTurn | None = await put(context.model, context.scenario, context.settings, turns)
        return turn

    return ask


async def run(model: Any, step: Literal["score", "respond"], scenario: Scenario, template: str | None = "default") -> Episode:
    """Run an episode as task `when2call` does."""
    loaded = load_template(template, None) if template else None
    if step == "score":
        assert loaded is not None
        graph = score_graph(loaded)
    else:
        graph = respond_graph(asking(loaded))
    episode = await run_episode(
        Agent(model=model, graph=graph, settings=GenerationSettings(0.0, 64, 7), control=find_task("when2call").control), scenario
    )
    assert isinstance(episode, Episode)
    return episode


async def test_options_are_scored_as_the_template_writes_them_and_sized_in_bytes() -> None:
    model = Raw(ModelTurn())
    episode = await run(model, "score", item())
    ((prompt, options),) = model.seen
    assert "Weather?" in prompt
    assert TOOL in prompt
    scores = Scored.of(episode).option_scores
    assert [score.behaviour.value for score in scores] == ["direct", "tool_call", "request_for_info", "cannot_answer"]
    assert [score.logprob for score in scores] == [-1, -2, -3, -4]
    assert [score.size for score in scores] == [len(text.encode()) for text in options]
    assert scores[3].size == len(options[3]) + 2, "an apostrophe of three bytes"
    assert episode.termination is Termination.ANSWERED


async def test_judge_mode_gives_a_text_model_the_very_prompt_that_is_scored() -> None:
    model = Raw(ModelTurn(raw_text="In which city?", text="In which city?", usage=Usage(input_tokens=9, output_tokens=4)))
    await run(model, "score", item())
    episode = await run(model, "respond", item())
    assert model.seen[0][0] == model.seen[1][0]
    assert episode.model_turns[0].raw_prompt == model.seen[1][0]
    assert (episode.answer, episode.usage.output_tokens) == ("In which city?", 4)


async def test_a_chat_model_is_given_native_tools_and_its_calls_are_kept() -> None:
    model = Chat(ModelTurn(tool_calls=(ToolCall(id="1", name="weather_now", arguments={"city": "Rome"}),), stop="tool_calls"))
    episode = await run(model, "respond", item(), None)
    messages, tools, settings = model.seen[0]
    assert [message.text for message in messages] == ["Weather?"]
    assert tools[0].name == "weather_now"
    assert tools[0].parameters["properties"]["days"] == {"type": "number"}
    assert settings.seed not in (None, 7), "each episode has a seed of its own"
    assert json.loads(episode.answer) == {"name": "weather_now", "arguments": {"city": "Rome"}}


@pytest.mark.parametrize("step", ["score", "respond"])
@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (ContextOverflowError("5,000 tokens, 4,096 fit"), Termination.CONTEXT_OVERFLOW),
        (ProviderError("out of memory"), Termination.INFRASTRUCTURE_ERROR),
    ],
)
async def test_a_foreseen_failure_is_a_termination(step: Literal["score", "respond"], error: Exception, ended: Termination) -> None:
    episode = await run(Raw(error), step, item())
    assert (episode.termination, episode.error, episode.details) == (ended, str(error), {})


@pytest.mark.parametrize(
    ("control", "chosen"),
    [("oracle", "cannot_answer"), ("eager", "tool_call"), ("cautious", "cannot_answer"), ("asker", "request_for_info")],
)
async def test_a_control_shows_its_behaviour_in_both_modes(control: str, chosen: str) -> None:
    scenario = item(Behaviour.CANNOT_ANSWER)
    assert isinstance(scenario.target, Choice)
    scored = Scored.of(await run(SimModel(control), "score", scenario))
    assert max(scored.option_scores, key=lambda score: score.logprob).behaviour == chosen
    assert max(scored.option_scores, key=lambda score: score.per_byte).behaviour == chosen
    answered = await run(SimModel(control), "respond", scenario, None)
    assert answered.answer == scenario.target.text_of(Behaviour(chosen))
