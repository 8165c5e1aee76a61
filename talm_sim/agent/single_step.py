"""The single-step graphs: one scenario, one answer of the model, and no tool is executed.

START -> respond -> END      what the model answers freely, in one request or a few

A task may have a step of its own (`step_graph`).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from talm_sim.agent.context import FORESEEN, EpisodeContext, failure_state
from talm_sim.types import JsonObject, ModelTurn, Termination

Ask = Callable[[EpisodeContext, Sequence[ModelTurn]], Awaitable[ModelTurn | None]]
"""Asks the model the scenario's next request, given the turns so far; returns None if there is none, never before the first."""

_Detail = Callable[[EpisodeContext, Sequence[ModelTurn]], Awaitable[JsonObject]]
"""Asks the model about a scenario once it has answered; returns what the episode's details keep of it."""


class _State(TypedDict, total=False):
    details: JsonObject
    model_turns: tuple[ModelTurn, ...]
    answer: str
    termination: Termination
    error: str


StepGraph = CompiledStateGraph[_State, EpisodeContext, Any, Any]


def respond_graph(ask: Ask, detail: _Detail | None = None) -> StepGraph:
    """Compile the graph that lets the model answer the requests of `ask`; its last turn is the answer. `detail`, if given, follows."""

    async def respond(context: EpisodeContext) -> dict[str, Any]:
        turns: tuple[ModelTurn, ...] = ()
        details: JsonObject = {}
        try:
            while (turn := await ask(context, turns)) is not None:
                turns += (turn,)
            details = await detail(context, turns) if detail is not None else details
        except FORESEEN as err:
            return {"model_turns": turns, **failure_state(err)}
        return {"model_turns": turns, "answer": _answer(turns[-1]), "details": details, "termination": Termination.ANSWERED}

    return step_graph("respond", respond)


def _answer(turn: ModelTurn) -> str:
    """Return what a turn says, then its calls, one per line."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in turn.tool_calls]
    called = "\n".join(json.dumps(call, ensure_ascii=False) for call in calls)
    return "\n".join(filter(None, (turn.text or ("" if called else turn.written), called)))


def step_graph(name: str, step: Callable[[EpisodeContext], Awaitable[Mapping[str, Any]]]) -> StepGraph:
    """Compile a graph of one step, whose state is what an episode keeps; a foreseen failure of the model ends it."""

    async def node(state: _State, runtime: Runtime[EpisodeContext]) -> Any:
        try:
            return await step(runtime.context)
        except FORESEEN as err:
            return failure_state(err)

    graph = StateGraph(_State, EpisodeContext)
    graph.add_node(name, node)
    graph.add_edge(START, name)
    graph.add_edge(name, END)
    return graph.compile()
