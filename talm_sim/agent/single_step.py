"""The single-step graphs: one scenario, a look at the model, no tool executed.

START -> score   -> END      how likely each of the given answers is (When2Call, section 3)
START -> respond -> END      what the model answers freely, in one request or a few
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from talm_sim.agent.context import FORESEEN, EpisodeContext, failed
from talm_sim.agent.templates.jinja import Template
from talm_sim.models.base import TextModel
from talm_sim.types import Choice, ModelTurn, OptionScore, Precision, Termination

__all__ = ["Ask", "respond_graph", "score_graph"]

Ask = Callable[[EpisodeContext, Sequence[ModelTurn]], Awaitable[ModelTurn | None]]
"""Puts a scenario's next request to the model, given the turns so far; None where there is none, never before the first."""


class _State(TypedDict, total=False):
    option_scores: tuple[OptionScore, ...]
    precision: Precision | None
    model_turns: tuple[ModelTurn, ...]
    answer: str
    termination: Termination
    error: str


_Graph = CompiledStateGraph[_State, EpisodeContext, Any, Any]


def score_graph(template: Template) -> _Graph:
    """Compile the graph that scores the options of a multiple-choice item; it needs a model that takes raw text."""

    async def score(context: EpisodeContext) -> _State:
        model, target = context.model, context.scenario.target
        assert isinstance(model, TextModel) and isinstance(target, Choice)
        texts = [template.option(option) for option in target.options]
        found = await model.score(template.prompt(context.scenario.query, context.scenario.shown_tools), texts)
        scores = tuple(
            OptionScore(behaviour=option.behaviour, logprob=one.logprob, tokens=one.tokens, size=len(text.encode()))
            for option, text, one in zip(target.options, texts, found, strict=True)
        )
        return {"option_scores": scores, "precision": getattr(model, "precision", None), "termination": Termination.ANSWERED}

    return _graph("score", score)


def respond_graph(ask: Ask) -> _Graph:
    """Compile the graph that lets the model answer, as `ask` puts the requests to it; its last turn is the answer."""

    async def respond(context: EpisodeContext) -> _State:
        turns: tuple[ModelTurn, ...] = ()
        try:
            while (turn := await ask(context, turns)) is not None:
                turns += (turn,)
        except FORESEEN as err:
            return {"model_turns": turns, **failed(err)}  # type: ignore[typeddict-item]
        return {"model_turns": turns, "answer": _answer(turns[-1]), "termination": Termination.ANSWERED}

    return _graph("respond", respond)


def _answer(turn: ModelTurn) -> str:
    """What a turn says, then its calls, one a line."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in turn.tool_calls]
    called = "\n".join(json.dumps(call, ensure_ascii=False) for call in calls)
    return "\n".join(filter(None, (turn.text or ("" if called else turn.raw_text), called)))


def _graph(name: str, step: Callable[[EpisodeContext], Awaitable[_State]]) -> _Graph:
    async def node(state: _State, runtime: Runtime[EpisodeContext]) -> Any:
        try:
            return await step(runtime.context)
        except FORESEEN as err:
            return failed(err)

    graph = StateGraph(_State, EpisodeContext)
    graph.add_node(name, node)
    graph.add_edge(START, name)
    graph.add_edge(name, END)
    return graph.compile()
