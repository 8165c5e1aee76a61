"""The single-step tasks: one scenario, one look at the model, no tool executed.

START -> score   -> END      how likely each of the given answers is (When2Call, section 3)
START -> respond -> END      what the model answers freely (When2Call, section 4)
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from talm_sim.agent.shown_tools import tool_specs
from talm_sim.digests import derived_seed
from talm_sim.errors import CassetteMissError, ContextOverflowError, ProviderError
from talm_sim.models.base import GenerationSettings, Model, ScenarioModel, TextModel
from talm_sim.recordings import Player, current_player
from talm_sim.types import Choice, Episode, ModelTurn, OptionScore, Scenario, Termination, Usage, episode_id

if TYPE_CHECKING:
    from talm_sim.agent.templates import Template

__all__ = ["SingleStepAgent", "run_single_step"]

Step = Literal["score", "respond"]


@dataclass(frozen=True)
class SingleStepAgent:
    """Everything the episodes of a run share.

    Attributes:
        model: A control model is bound to each scenario.
        step: `score` needs a model that takes raw text.
        template: How the request is written; None hands it to a chat model as messages and native tools.
        settings: Sampling of free answers; each episode derives a seed of its own from the one given.
    """

    model: Model
    step: Step
    template: Template | None
    settings: GenerationSettings = field(default_factory=GenerationSettings)


@dataclass(frozen=True, slots=True)
class _Context:
    scenario: Scenario
    target: Choice
    model: Model
    template: Template | None
    settings: GenerationSettings


class _State(TypedDict, total=False):
    option_scores: tuple[OptionScore, ...]
    model_turns: tuple[ModelTurn, ...]
    answer: str
    termination: Termination
    error: str


async def run_single_step(
    agent: SingleStepAgent, scenario: Scenario, *, epoch: int = 1, attempt: int = 1, player: Player | None = None
) -> Episode:
    """Run one episode.

    Args:
        agent: What the episodes of the run share.
        scenario: A multiple-choice item.
        epoch: Counts from 1.
        attempt: Counts from 1.
        player: The recording of the model's traffic to play or write.

    Returns:
        The episode. A prompt longer than the model's context ends it in `context_overflow`: nothing is cut.
    """
    started = time.time()
    assert isinstance(scenario.target, Choice)
    model = agent.model.for_scenario(scenario) if isinstance(agent.model, ScenarioModel) else agent.model
    seed = None if agent.settings.seed is None else derived_seed(agent.settings.seed, scenario.id, epoch)
    context = _Context(scenario, scenario.target, model, agent.template, replace(agent.settings, seed=seed))
    graph: Any = single_step_graph(agent.step)
    token = current_player.set(player)
    try:
        result: _State = await graph.ainvoke({}, context=context)
    finally:
        current_player.reset(token)
    turns = result.get("model_turns", ())
    return Episode(
        id=episode_id(scenario.id, epoch),
        scenario_id=scenario.id,
        group=scenario.group,
        epoch=epoch,
        attempt=attempt,
        model=agent.model.name,
        model_turns=turns,
        option_scores=result.get("option_scores", ()),
        answer=result.get("answer", ""),
        termination=result["termination"],
        error=result.get("error", ""),
        usage=sum((turn.usage for turn in turns), Usage()),
        started_at=started,
        elapsed_s=time.time() - started,
    )


@lru_cache(maxsize=2)
def single_step_graph(step: Step) -> CompiledStateGraph[_State, _Context, _State, _State]:
    """Compile the graph of one step."""
    graph = StateGraph(_State, _Context)
    graph.add_node(step, _score if step == "score" else _respond)
    graph.add_edge(START, step)
    graph.add_edge(step, END)
    return graph.compile()


async def _score(state: _State, runtime: Runtime[_Context]) -> _State:
    context = runtime.context
    model, template = context.model, context.template
    assert isinstance(model, TextModel) and template is not None
    options = context.target.options
    texts = [template.option(option) for option in options]
    try:
        found = await model.score(_prompt(context, template), texts)
    except (ProviderError, CassetteMissError) as err:
        return _failure(err)
    scores = tuple(
        OptionScore(behaviour=option.behaviour, logprob=one.logprob, tokens=one.tokens, size=len(text.encode()))
        for option, text, one in zip(options, texts, found, strict=True)
    )
    return {"option_scores": scores, "termination": Termination.ANSWERED}


async def _respond(state: _State, runtime: Runtime[_Context]) -> _State:
    context = runtime.context
    try:
        turn = await _answer(context)
    except (ProviderError, CassetteMissError) as err:
        return _failure(err)
    calls = [{"name": call.name, "arguments": call.arguments} for call in turn.tool_calls]
    called = "\n".join(json.dumps(call, ensure_ascii=False) for call in calls)
    answer = "\n".join(filter(None, (turn.text or ("" if called else turn.raw_text), called)))
    return {"model_turns": (turn,), "answer": answer, "termination": Termination.ANSWERED}


async def _answer(context: _Context) -> ModelTurn:
    """Let the model answer: to the very prompt that is scored, or, without a template, to messages and native tools."""
    model, template = context.model, context.template
    question = context.scenario.query
    if template is None:
        turn = await model.generate([HumanMessage(question)], tool_specs(context.scenario.shown_tools), context.settings)
        return turn.model_copy(update={"raw_prompt": turn.raw_prompt or question})
    prompt = _prompt(context, template)
    if isinstance(model, TextModel):
        turn = await model.complete(prompt, context.settings)
    else:
        messages: list[BaseMessage] = [HumanMessage(prompt)]
        turn = await model.generate(messages, (), context.settings)
    return turn.model_copy(update={"raw_prompt": turn.raw_prompt or prompt})


def _prompt(context: _Context, template: Template) -> str:
    return template.prompt(context.scenario.query, context.scenario.shown_tools)


def _failure(err: Exception) -> _State:
    """A foreseen failure as the episode's termination."""
    if isinstance(err, ContextOverflowError):
        ended = Termination.CONTEXT_OVERFLOW
    else:
        ended = Termination.REPLAY_MISS if isinstance(err, CassetteMissError) else Termination.INFRASTRUCTURE_ERROR
    return {"termination": ended, "error": str(err)}
