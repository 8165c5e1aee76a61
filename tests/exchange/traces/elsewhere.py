"""An agent that runs without talm-sim: a LangGraph graph with a scripted model, and what its frameworks write of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, TypedDict
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict
from langchain_core.outputs import LLMResult
from langchain_core.runnables import Runnable
from langchain_core.tools import StructuredTool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from talm_sim.types import Facts, Scenario

SYSTEM = "You answer with tools."


class _State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class _Scripted(GenericFakeChatModel):
    """Says what it is given to say, one message after the other, whatever tools it is offered."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self


@dataclass(frozen=True)
class Script:
    """What the model says, and which of the tools raise an error."""

    says: tuple[AIMessage, ...]
    broken: frozenset[str] = frozenset()


@dataclass
class Played:
    """One run of the agent."""

    request: str
    messages: list[Any]
    spans: list[dict[str, Any]] = field(default_factory=list)

    @property
    def langchain(self) -> list[dict[str, Any]]:
        """The messages as LangChain writes them."""
        return messages_to_dict(self.messages)


def right_answer(scenario: Scenario) -> str:
    """Return an answer that states all facts of a scenario."""
    assert isinstance(scenario.target, Facts)
    return " ".join(f"The {fact.name} is {fact.value}{f' {fact.unit}' if fact.unit else ''}." for fact in scenario.target.required)


def _turn(number: int, text: str = "", calls: Sequence[dict[str, Any]] = ()) -> AIMessage:
    usage = {"input_tokens": 100 + number, "output_tokens": 10, "total_tokens": 110 + number}
    return AIMessage(text, tool_calls=list(calls), usage_metadata=usage, response_metadata={"model_name": "scripted-1"})


def right_script(scenario: Scenario) -> Script:
    """Return the script of an agent that makes all gold calls, some of them together, and states the facts."""
    calls = [{"id": f"call_{n}", "name": call.name, "args": call.arguments} for n, call in enumerate(scenario.gold_calls)]
    return Script((*([_turn(1, "Let me look.", calls)] if calls else []), _turn(2, right_answer(scenario))))


def wrong_script(scenario: Scenario, number: int) -> Script:
    """Return the script of an agent that fails in one of three ways: no facts, no call, or a tool that fails."""
    right = right_script(scenario)
    if number % 3 == 0:
        return Script((*right.says[:-1], _turn(2, "I could not find that out, sorry.")))
    if number % 3 == 1:
        return Script(right.says[-1:])
    return Script(right.says, frozenset({scenario.gold_calls[0].name}))


def play(scenario: Scenario, script: Script) -> Played:
    """Run the graph on a scenario's request."""
    names = {call.name for call in scenario.gold_calls} | {call["name"] for said in script.says for call in said.tool_calls}
    node = ToolNode([_tool(name, broken=name in script.broken) for name in sorted(names)], handle_tool_errors=True)
    model = _Scripted(messages=iter(script.says))

    def agent(state: _State) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage(SYSTEM), *state["messages"]])]}

    graph: Any = StateGraph(_State)
    graph.add_node("agent", agent)
    graph.add_node("tools", node)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    watcher = _Watcher()
    done = graph.compile().invoke({"messages": [HumanMessage(scenario.query)]}, {"callbacks": [watcher]})
    return Played(scenario.query, done["messages"], watcher.spans)


def _tool(name: str, *, broken: bool) -> StructuredTool:
    def call(**arguments: Any) -> str:
        if broken:
            raise RuntimeError("the service is down")
        return json.dumps({"asked": arguments, "found": True})

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return StructuredTool(name=name, description=name, func=call, args_schema=schema)


class _Watcher(BaseCallbackHandler):
    """Writes spans in OpenTelemetry's conventions, as an instrumentation does."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self._open: dict[UUID, dict[str, Any]] = {}
        self._numbers = count(1)

    def _start(self, run_id: UUID, name: str, attributes: dict[str, Any]) -> None:
        self._open[run_id] = {"name": name, "start": time.time_ns(), "attributes": attributes}

    def _end(self, run_id: UUID, more: dict[str, Any], error: str = "") -> None:
        span = self._open.pop(run_id)
        span["attributes"] |= more
        self.spans.append(span | {"end": time.time_ns(), "number": next(self._numbers), "error": error})

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any) -> None:
        told = {"gen_ai.input.messages": json.dumps([parts_of(one) for one in messages[0] if not isinstance(one, SystemMessage)])}
        self._start(run_id, "chat scripted-1", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "scripted-1", **told})

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        said: Any = response.generations[0][0].message  # type: ignore[union-attr]
        used = said.usage_metadata
        counted = {"gen_ai.usage.input_tokens": used["input_tokens"], "gen_ai.usage.output_tokens": used["output_tokens"]}
        self._end(run_id, {"gen_ai.output.messages": json.dumps([parts_of(said) | {"finish_reason": "stop"}]), **counted})

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        name, call_id = serialized["name"], kwargs.get("tool_call_id")
        told = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": json.dumps(kwargs.get("inputs") or {})}
        ids = {"gen_ai.tool.call.id": call_id} if call_id else {}
        self._start(run_id, f"execute_tool {name}", {"gen_ai.operation.name": "execute_tool", **told, **ids})

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, {"gen_ai.tool.call.result": output.content if isinstance(output, ToolMessage) else str(output)})

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(run_id, {"error.type": type(error).__name__}, error=str(error))


def parts_of(message: BaseMessage) -> dict[str, Any]:
    """Return a message in the form of OpenTelemetry's conventions."""
    if isinstance(message, ToolMessage):
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": message.text}] if message.text else []
    for call in message.tool_calls if isinstance(message, AIMessage) else ():
        parts.append({"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]})
    return {"role": {"human": "user", "ai": "assistant"}.get(message.type, message.type), "parts": parts}


def otlp(played: Sequence[tuple[Played, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield a document per run, with the attributes given on its agent's span."""
    for number, (one, attributes) in enumerate(played, 1):
        trace, root = f"{number:032x}", f"{number:016x}"
        first, last = min(span["start"] for span in one.spans), max(span["end"] for span in one.spans)
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "elsewhere", **attributes}
        spans = [_span(trace, root, "", "invoke_agent elsewhere", first - 1, last + 1, about)]
        spans += [
            _span(trace, f"{number:08x}{span['number']:08x}", root, span["name"], span["start"], span["end"], span["attributes"], span["error"])
            for span in one.spans
        ]
        yield {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "watcher"}, "spans": spans}]}]}


def _span(trace: str, own: str, parent: str, name: str, begin: int, end: int, attributes: dict[str, Any], error: str = "") -> dict[str, Any]:
    pairs = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]
    found = {
        "traceId": trace,
        "spanId": own,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(end),
        "attributes": pairs,
    }
    status = {"status": {"code": 2, "message": error}} if error else {}
    return found | ({"parentSpanId": parent} if parent else {}) | status
