"""The LangGraph state machine of task `talm`.

    START -> assess -> (No: END) | think -> Send(tool)* and Send(human)* -> think ... -> END

Every node is async: a sync one costs a thread hop. Nodes say where to go (`Command`): conditional edges cost nearly half of the speed. The
human stands in a node that holds nothing but `interrupt`, because a node runs again from its start on resume.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, TypedDict, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt

from talm_sim.agent.prompts import Prompts
from talm_sim.errors import CassetteMissError, ContextOverflowError, ProviderError
from talm_sim.models.base import ASK_HUMAN, GenerationSettings, Model
from talm_sim.models.yes_no import YES_NO_IDK, read_yes_no
from talm_sim.tools_env.environment import EpisodeTools
from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Event,
    HumanEvent,
    ModelTurn,
    Termination,
    ToolCall,
    ToolSpec,
    UnparsableCall,
    Usage,
)

__all__ = ["EpisodeContext", "State", "awareness_kinds", "talm_graph"]

AWARENESS_KINDS: dict[str, tuple[AwarenessKind, ...]] = {
    "perfect": (AwarenessKind.INFORMATION, AwarenessKind.TOOL),
    "underspecified": (AwarenessKind.INFORMATION,),
    "replaceable": (AwarenessKind.TOOL,),
    "non-replaceable": (AwarenessKind.TOOL,),
}
"""Which questions each group is asked (Fail-TaLMs, section 4.2); `no-tools` is asked none."""


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """What the nodes need and no checkpoint keeps: it is passed anew on every resume."""

    group: str
    query: str
    model: Model
    tools: EpisodeTools
    offered: tuple[ToolSpec, ...]
    """The tools shown to the model: the environment's and, where there is a human, `ask_human`."""
    prompts: Prompts
    settings: GenerationSettings
    turn_limit: int
    token_limit: int | None


T = TypeVar("T")


def _first(old: T | None, new: T | None) -> T | None:
    return new if old is None else old


class State(TypedDict, total=False):
    """What a checkpoint keeps."""

    messages: Annotated[list[AnyMessage], operator.add]
    awareness: list[AwarenessAnswer]
    model_turns: Annotated[list[ModelTurn], operator.add]
    events: Annotated[list[Event], operator.add]
    answer: str
    termination: Annotated[Termination | None, _first]
    error: Annotated[str | None, _first]


class _Call(TypedDict):
    """What a tool or human node is sent."""

    call: ToolCall | UnparsableCall
    turn: int


_FAILURES: tuple[tuple[type[Exception], Termination], ...] = (
    (CassetteMissError, Termination.REPLAY_MISS),
    (ContextOverflowError, Termination.CONTEXT_OVERFLOW),
    (ProviderError, Termination.INFRASTRUCTURE_ERROR),
)


async def _or_failure(work: Awaitable[State]) -> State:
    """Turn a foreseen failure into the episode's termination, so that what happened before it is kept."""
    try:
        return await work
    except (CassetteMissError, ProviderError) as err:
        return {"termination": next(end for kind, end in _FAILURES if isinstance(err, kind)), "error": str(err)}


def awareness_kinds(group: str) -> tuple[AwarenessKind, ...]:
    """Which awareness questions scenarios of `group` are asked."""
    return AWARENESS_KINDS.get(group, ())


async def _assess(state: State, runtime: Runtime[EpisodeContext]) -> Command[str]:
    """Ask each awareness question in a conversation of its own; a No to any skips the request."""
    update = await _or_failure(_ask_awareness(runtime.context))
    return Command(update=update, goto=END if update.get("termination") else "think")


async def _ask_awareness(context: EpisodeContext) -> State:
    settings = replace(context.settings, choices=YES_NO_IDK)

    async def ask(kind: AwarenessKind) -> AwarenessAnswer:
        question = context.prompts.awareness_question(kind, context.query, context.offered)
        turn = await context.model.generate([SystemMessage(context.prompts.awareness_system), HumanMessage(question)], (), settings)
        return AwarenessAnswer(kind=kind, value=read_yes_no(turn.text), raw=turn.raw_text, usage=turn.usage)

    answers = list(await asyncio.gather(*map(ask, awareness_kinds(context.group))))
    skipped = any(answer.value is AwarenessValue.NO for answer in answers)
    return {"awareness": answers, "termination": Termination.SKIPPED if skipped else None}


async def _think(state: State, runtime: Runtime[EpisodeContext]) -> Command[str]:
    """Generate one turn: calls, or the answer."""
    if state.get("termination"):
        return Command(goto=END)
    update = await _or_failure(_generate(state, runtime.context))
    return Command(update=update, goto=END if update.get("termination") else _calls(state, update, runtime.context))


async def _generate(state: State, context: EpisodeContext) -> State:
    turn = await context.model.generate(state["messages"], context.offered, context.settings)
    turn = turn.model_copy(update={"raw_prompt": turn.raw_prompt or _added(state["messages"])})
    turns = [*state.get("model_turns", []), turn]
    update: State = {"model_turns": [turn], "messages": [_as_message(turn)]}
    if not (turn.tool_calls or turn.unparsable_calls):
        return update | {"answer": turn.text, "termination": Termination.ANSWERED}
    if len(turns) >= context.turn_limit:
        return update | {"termination": Termination.TURN_LIMIT}
    if context.token_limit is not None and _tokens([*turns, *state.get("awareness", [])]) >= context.token_limit:
        return update | {"termination": Termination.TOKEN_LIMIT}
    return update


def _calls(state: State, update: State, context: EpisodeContext) -> list[Send]:
    """One task for each call, the human's apart from the tools'."""
    number = len(state.get("model_turns", []))
    turn = update["model_turns"][0]
    human = any(tool.name == ASK_HUMAN for tool in context.offered)
    sends = [Send("tool", _Call(call=call, turn=number)) for call in turn.unparsable_calls]
    for call in turn.tool_calls:
        asks = human and call.name == ASK_HUMAN and str(call.arguments.get("question", "")).strip()
        sends.append(Send("human" if asks else "tool", _Call(call=call, turn=number)))
    return sends


async def _tool(state: _Call, runtime: Runtime[EpisodeContext]) -> State:
    return await _or_failure(_execute(state, runtime.context.tools))


async def _execute(state: _Call, tools: EpisodeTools) -> State:
    event = await tools.call(state["call"], state["turn"])
    return {"events": [event], "messages": [ToolMessage(event.result, tool_call_id=event.call_id, name=event.name)]}


async def _human(state: _Call) -> State:
    call = state["call"]
    assert isinstance(call, ToolCall)
    question = str(call.arguments["question"])
    reply: dict[str, Any] = interrupt(question)
    event = HumanEvent(turn=state["turn"], call_id=call.id, question=question, **reply)
    return {"events": [event], "messages": [ToolMessage(event.answer, tool_call_id=event.call_id, name=call.name)]}


@lru_cache(maxsize=2)
def talm_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> CompiledStateGraph[State, EpisodeContext, State, State]:
    """Compile the graph; with a `checkpointer` it can pause for a human."""
    graph = StateGraph(State, EpisodeContext)
    graph.add_node("assess", _assess, destinations=("think", END))
    graph.add_node("think", _think, destinations=("tool", "human", END))
    graph.add_node("tool", _tool)
    graph.add_node("human", _human)
    graph.add_edge(START, "assess")
    graph.add_edge("tool", "think")
    graph.add_edge("human", "think")
    return graph.compile(checkpointer=checkpointer)


def _as_message(turn: ModelTurn) -> AIMessage:
    return AIMessage(
        turn.text,
        tool_calls=[{"id": call.id, "name": call.name, "args": call.arguments, "type": "tool_call"} for call in turn.tool_calls],
        invalid_tool_calls=[
            {"id": call.id, "name": call.name, "args": call.raw, "error": call.reason, "type": "invalid_tool_call"}
            for call in turn.unparsable_calls
        ],
    )


def _added(messages: Sequence[AnyMessage]) -> str:
    """The messages after the model's last one, as text: what this turn added to the prompt."""
    added: list[str] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        added.append(f"[{message.type}] {message.text}")
    return "\n\n".join(reversed(added))


def _tokens(generations: Sequence[ModelTurn | AwarenessAnswer]) -> int:
    total = sum((item.usage for item in generations), Usage())
    return total.input_tokens + total.output_tokens
