"""Agents as their users wrote them, and what each notes while it plays: this file imports nothing of talm-sim.

An agent in `BUILDERS` is played with a model of its own, and on the model that it is handed; the others have their own only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolSelectorMiddleware,
    SummarizationMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, convert_to_openai_messages
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.parity import tools as shelf

MODEL = "gpt-4o-mini"
NOTES: list[tuple[str, Any]] = []
"""What the agent that plays has seen: results, errors, and its state at the end."""
Build = Callable[[Sequence[BaseTool], Any], Any]


def note(key: str, value: Any) -> None:
    NOTES.append((key, json.loads(json.dumps(value, default=_plain))))


def _plain(value: Any) -> Any:
    if isinstance(value, ToolMessage):  # its text is seen in requests
        return {"artifact": value.artifact, "status": value.status}
    if isinstance(value, AIMessage):
        calls = [(call["name"], call["args"], call["id"]) for call in value.tool_calls]
        counted = value.usage_metadata and value.usage_metadata["total_tokens"]
        broken = [call["args"] for call in value.invalid_tool_calls]
        return {"text": value.text, "calls": calls, "broken": broken, "finish": value.response_metadata.get("finish_reason"), "tokens": counted}
    return f"{type(value).__name__}: {value}"


def note_state(state: Any) -> None:
    """Note the state at the end: its messages by who says them, and its other channels."""
    for key, value in dict(state).items():
        if key != "messages":
            note(f"state {key}", value)
    for message in state["messages"]:
        if isinstance(message, AIMessage | ToolMessage):
            note(f"state {message.name or message.type}", message)
    note("last", [state["messages"][-1].type, state["messages"][-1].text])


def own_model() -> ChatOpenAI:
    """The agent's own client, of the server that OPENAI_BASE_URL names."""
    return ChatOpenAI(model=MODEL, max_retries=0)


# A plain loop, and functions without a model.


async def loop(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> Any:
    """A loop around the OpenAI SDK."""
    by_name = {tool.name: tool for tool in tools}
    offered: Any = [convert_to_openai_tool(tool) for tool in tools]
    talk: Any = convert_to_openai_messages(messages)
    async with AsyncOpenAI(max_retries=0) as client:
        while True:
            answer = await client.chat.completions.create(model=MODEL, messages=talk, tools=offered)
            said = answer.choices[0].message
            talk.append(said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                found = await by_name[call.function.name].ainvoke(json.loads(call.function.arguments))
                note(f"value {call.function.name}", [type(found).__name__, found])
                talk.append({"role": "tool", "tool_call_id": call.id, "content": shelf.written(found)})


def by_value(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """A plain function that looks at values: it compares a text, searches a list, and passes null."""
    by_name = {tool.name: tool for tool in tools}
    lost = [one["order"] for one in by_name["long"].invoke({"museum": "Prado"}) if one["state"] == "lost"]
    found = by_name["search"].invoke({"museum": "Prado", "limit": None})
    return f"{by_name['bare'].invoke({'museum': 'Prado'}) == 'shipped'} {lost} {found}"


def catching(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """A plain function with an `except` of its own, and a retry."""
    for tool in tools:
        for _ in range(2):
            try:
                note(f"value {tool.name}", tool.invoke({"city": "Madrid"}))
            except Exception as err:
                note(f"error {tool.name}", [type(err).__name__, str(err), getattr(err, "status_code", None)])
    return "done"


async def by_call(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """A function that calls tools with tool calls, as nodes do, and gets messages."""
    for tool in tools:
        made = {"type": "tool_call", "id": f"call-{tool.name}", "name": tool.name, "args": {"city": "Madrid"}}
        message = await tool.ainvoke(made)
        note(f"message {tool.name}", [message.type, message.name, message.tool_call_id, message.content, message])
    return "done"


# Graphs that are built on tools and a model.


class Last(AgentMiddleware[Any, Any]):
    """Notes the state at the end."""

    def after_agent(self, state: Any, runtime: Any) -> None:
        note_state(state)


def _agent(*middleware: Any, system_prompt: str | None = "Be short.", **options: Any) -> Build:
    """`create_agent` with stock middleware; a function in its place makes one with the model."""

    def build(tools: Sequence[BaseTool], model: Any) -> Any:
        made = [one(model) if callable(one) else one for one in middleware]
        return create_agent(model, list(tools), system_prompt=system_prompt, middleware=[*made, Last()], **options)

    return build


def _retry(**options: Any) -> Any:
    return ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False, **options)


def _react(tools: Sequence[BaseTool], model: Any, **binding: Any) -> Any:
    bound = model.bind_tools(tools, **binding)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    return _around(think, ToolNode(tools, handle_tool_errors=True))


def _around(think: Any, node: Any, state: Any = MessagesState, compiled: Any = None, **options: Any) -> Any:
    graph = StateGraph(state, **options).add_node("think", think).add_node("tools", node).add_node("last", note_state)
    graph.add_edge(START, "think").add_edge("tools", "think").add_edge("last", END)
    graph.add_conditional_edges("think", tools_condition, {"tools": "tools", END: "last"})
    return graph.compile(**compiled or {})


def _bound(**binding: Any) -> Build:
    return lambda tools, model: _react(tools, model, **binding)


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


def _structured(**options: Any) -> Build:
    def build(tools: Sequence[BaseTool], model: Any) -> Any:
        async def play(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
            found = await model.with_structured_output(Weather, **options).ainvoke(messages)
            note("structured", found)
            return str((found["parsed"] if isinstance(found, dict) else found).model_dump_json())

        return play

    return build


def _streaming(tools: Sequence[BaseTool], model: Any) -> Any:
    async def play(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
        whole: Any = None
        async for piece in model.bind_tools(tools).astream(messages):
            whole = piece if whole is None else whole + piece
        note("streamed", {"text": whole.text, "calls": [(call["name"], call["args"], call["id"]) for call in whole.tool_calls]})
        return "done"

    return play


BUILDERS: dict[str, Build] = {
    "react": _bound(),
    "agent": _agent(),
    "retry": _agent(_retry()),
    "retry_status": _agent(_retry(retry_on=lambda err: getattr(err, "status_code", None) == 500)),
    "retry_timeout": _agent(_retry(retry_on=(TimeoutError,))),
    "retry_reset": _agent(_retry(retry_on=(ConnectionResetError,))),
    "tool_error": _agent(ToolErrorMiddleware(lambda err, request: f"{type(err).__name__} of {request.tool_call['name']}: {err}")),
    "selector": _agent(LLMToolSelectorMiddleware(max_tools=1)),
    "summary": _agent(lambda model: SummarizationMiddleware(model, trigger=("messages", 4), keep=("messages", 2))),
    "gate": _agent(HumanInTheLoopMiddleware({"as_langchain": True})),
    "structured_tool": _agent(response_format=ToolStrategy(Weather)),
    "structured_auto": _agent(response_format=Weather),
    "pause_before": _agent(interrupt_before=["tools"]),
    "pause_after": _agent(interrupt_after=["tools"]),
    "forced": _bound(tool_choice="any"),
    "forbidden": _bound(tool_choice="none"),
    "named": _bound(tool_choice="as_langchain"),
    "single": _bound(parallel_tool_calls=False),
    "strict": _bound(strict=True),
    "stops": _bound(stop=["\n\n", "END"]),
    "formed": _structured(),
    "formed_by_call": _structured(method="function_calling"),
    "formed_loosely": _structured(method="json_mode", include_raw=True),
    "streaming": _streaming,
}


# Graphs that were compiled once, with tools and models of their own.


def _thinking(bound: Sequence[Any], system: Callable[[Any], Sequence[Any]] = lambda runtime: ()) -> Any:
    async def think(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"messages": [await own_model().bind_tools(bound).ainvoke([*system(runtime), *state["messages"]])]}

    return think


def _compiled(*objects: Any, state: Any = MessagesState, **compiled: Any) -> Any:
    mine = shelf.native(objects)
    return _around(_thinking(mine), ToolNode(mine, handle_tool_errors=True), state, compiled)


class Placed(MessagesState):
    place: str


def _within() -> Any:
    """A graph whose tools are in a subgraph."""
    inner = StateGraph(MessagesState).add_node("tools", ToolNode([shelf.as_langchain])).add_edge(START, "tools").compile()
    return _around(_thinking([shelf.as_langchain]), inner)


def _asking() -> Any:
    """A graph that asks by `interrupt`, and goes where a `Command` says."""

    async def ask(state: MessagesState) -> Command[Any]:
        said = interrupt({"question": "Which city?"})
        return Command(goto="think", update={"messages": [{"role": "user", "content": said}]})

    graph = StateGraph(MessagesState).add_node("ask", ask, destinations=("think",)).add_edge(START, "ask")
    graph.add_node("think", _thinking([shelf.as_langchain])).add_node("tools", ToolNode([shelf.as_langchain])).add_node("last", note_state)
    graph.add_conditional_edges("think", tools_condition, {"tools": "tools", END: "last"}).add_edge("tools", "think")
    return graph.compile()


class Context(TypedDict):
    user: str


def _in_context() -> Any:
    think = _thinking([shelf.as_langchain], lambda runtime: [("system", f"You serve {runtime.context['user']}.")])
    return _around(think, ToolNode([shelf.as_langchain]), context_schema=Context)


def _agent_of(*objects: Any, middleware: Sequence[Any] = (), **options: Any) -> Callable[[], Any]:
    return lambda: create_agent(own_model(), shelf.native(objects), middleware=[*middleware, Last()], **options)


GRAPHS: dict[str, Callable[[], Any]] = {
    "graph": lambda: _compiled(*shelf.RESULTS),
    "graph_named": lambda: _compiled(shelf.get_forecast),
    "graph_artifact": lambda: _compiled(shelf.drawn),
    "graph_failing": lambda: _compiled(shelf.failing, shelf.handled),
    "graph_before": lambda: _compiled(shelf.as_langchain, interrupt_before=["tools"]),
    "graph_after": lambda: _compiled(shelf.as_langchain, interrupt_after=["tools"]),
    "graph_command": lambda: _compiled(shelf.remember, shelf.as_langchain, shelf.injected, shelf.at_runtime, state=Placed),
    "graph_within": _within,
    "graph_asking": _asking,
    "graph_context": _in_context,
    "graph_direct": _agent_of(shelf.direct),
    "graph_structured": _agent_of(shelf.as_langchain, response_format=ToolStrategy(Weather)),
    "graph_retry": _agent_of(shelf.flaky, middleware=[_retry()]),
}

# Other frameworks.


async def openai_agents(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """The OpenAI Agents SDK."""
    from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)

    def taken(tool: BaseTool) -> Any:
        async def call(context: Any, arguments: str) -> Any:
            return await tool.ainvoke(json.loads(arguments))

        return FunctionTool(tool.name, tool.description, convert_to_openai_tool(tool)["function"]["parameters"], call, strict_json_schema=False)

    async with AsyncOpenAI(max_retries=0) as client:
        model = OpenAIChatCompletionsModel(MODEL, client)
        agent = Agent(name="agent", instructions="Be short.", model=model, tools=[taken(tool) for tool in tools])
        return str((await Runner.run(agent, messages[-1].text)).final_output)


async def pydantic_agent(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """Pydantic AI."""
    from pydantic_ai import Agent, Tool
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    def taken(tool: BaseTool) -> Any:
        async def call(**arguments: Any) -> Any:
            return await tool.ainvoke(arguments)

        return Tool.from_schema(call, tool.name, tool.description, convert_to_openai_tool(tool)["function"]["parameters"])

    async with AsyncOpenAI(max_retries=0) as client:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        return str((await Agent(model, tools=[taken(tool) for tool in tools]).run(messages[-1].text)).output)


AGENTS: dict[str, Any] = {one.__name__: one for one in (loop, by_value, catching, by_call, openai_agents, pydantic_agent)}


def find(name: str, column: str) -> Any:
    """The agent of a name, as it is in a column: `own` or `handed`."""
    if name in GRAPHS:
        return GRAPHS[name]()
    if name in AGENTS:
        return AGENTS[name]
    build = BUILDERS[name]
    return build if column == "handed" else lambda tools: build(tools, own_model())
