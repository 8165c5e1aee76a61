"""Agents as their users wrote them, and what each notes while it plays: this file imports nothing of talm-sim.

An agent in `BUILDERS` is played with a model of its own, and on the model that it is handed; the others have their own only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
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
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_openai_messages
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
CITY = {"city": "Madrid"}
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
            calls: Any = said.tool_calls
            for call in calls:
                found = await by_name[call.function.name].ainvoke(json.loads(call.function.arguments))
                note(f"value {call.function.name}", [type(found).__name__, found])
                talk.append({"role": "tool", "tool_call_id": call.id, "content": shelf.written(found)})


def probe(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """A plain function that looks at its tools, and calls each as a function does, with an `except` and a retry, and as a graph does."""
    for tool in tools:
        more = {"direct": tool.return_direct, "format": tool.response_format, "metadata": tool.metadata, "tags": tool.tags}
        note(f"attributes {tool.name}", {"description": tool.description, "args": [*tool.args], **more})
        for given in (CITY, CITY, {"type": "tool_call", "id": f"call-{tool.name}", "name": tool.name, "args": CITY}):
            try:
                found = tool.invoke(given)
                shown = [found.type, found.name, found.tool_call_id, found.content, found] if isinstance(found, ToolMessage) else found
                note(f"value {tool.name}", shown)
            except Exception as err:
                note(f"error {tool.name}", [type(err).__name__, str(err), getattr(err, "status_code", None)])
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


def _asking_of(tools: Sequence[BaseTool], model: Any, **binding: Any) -> Any:
    bound = model.bind_tools(tools, **binding)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    return think


def _around(think: Any, node: Any, state: Any = MessagesState, compiled: Any = None, **options: Any) -> Any:
    graph = StateGraph(state, **options).add_node("think", think).add_node("tools", node).add_node("last", note_state)
    graph.add_edge(START, "think").add_edge("tools", "think").add_edge("last", END)
    graph.add_conditional_edges("think", tools_condition, {"tools": "tools", END: "last"})
    return graph.compile(**compiled or {})


def _bound(**binding: Any) -> Build:
    return lambda tools, model: _around(_asking_of(tools, model, **binding), ToolNode(tools, handle_tool_errors=True))


def _strict_one(tools: Sequence[BaseTool], model: Any) -> Any:
    mixed: Any = [convert_to_openai_tool(tools[0], strict=True), *tools[1:]]
    return _around(_asking_of(mixed, model), ToolNode(tools, handle_tool_errors=True))


DATA = "iVBORw0KGgo="
BLOCKS: list[Any] = [
    {"type": "image", "base64": DATA, "mime_type": "image/png"},
    {"type": "image", "url": "https://example.com/a.png"},
    {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
    {"type": "image", "source_type": "url", "url": "https://example.com/a.png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    {"type": "file", "base64": DATA, "mime_type": "application/pdf", "filename": "a.pdf"},
    {"type": "file", "file_id": "file-1"},
    {"type": "audio", "base64": DATA, "mime_type": "audio/wav"},
]
"""Content in the forms of LangChain and of Anthropic."""


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


def _rich(tools: Sequence[BaseTool], model: Any) -> Any:
    """An agent that writes messages with more than a text."""

    async def play(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        system = SystemMessage([{"type": "text", "text": "Be short."}, {"type": "text", "text": "Be kind."}])
        asked = HumanMessage([{"type": "text", "text": "What is this?"}, picture], name="ann")
        said = [AIMessage("A map.", name="guide"), SystemMessage("Be quick.", additional_kwargs={"__openai_role__": "developer"})]
        broken = {"type": "invalid_tool_call", "id": "c1", "name": "weather", "args": "{bad", "error": "no JSON"}
        said += [HumanMessage(BLOCKS), ChatMessage(role="critic", content="Go on."), AIMessage("", invalid_tool_calls=[broken])]
        said += [ToolMessage([{"type": "text", "text": "a map", "id": "b1"}, *BLOCKS], tool_call_id="c1")]
        return str((await model.ainvoke([system, asked, *said, *messages])).text)

    return play


class Events(BaseCallbackHandler):
    """What tracers see."""

    def on_tool_start(self, serialized: Any, input_str: str, *, inputs: Any = None, **more: Any) -> None:
        note("event start", [serialized["name"], inputs])

    def on_tool_end(self, output: Any, **more: Any) -> None:
        note("event end", [getattr(output, "content", None), output])

    def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        note("event model", [message.type for message in messages[0]])

    def on_llm_end(self, response: Any, **more: Any) -> None:
        note("event turn", response.generations[0][0].message)


def _traced(tools: Sequence[BaseTool], model: Any) -> Any:
    async def play(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
        state = await create_agent(model, list(tools)).ainvoke({"messages": [*messages]}, {"callbacks": [Events()]})
        return str(state["messages"][-1].text)

    return play


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
    "gate": _agent(HumanInTheLoopMiddleware({"weather": True})),
    "structured_tool": _agent(response_format=ToolStrategy(Weather)),
    "structured_auto": _agent(response_format=Weather),
    "pause_before": _agent(interrupt_before=["tools"]),
    "pause_after": _agent(interrupt_after=["tools"]),
    "forced": _bound(tool_choice="any"),
    "forbidden": _bound(tool_choice="none"),
    "named": _bound(tool_choice="weather"),
    "single": _bound(parallel_tool_calls=False),
    "strict": _bound(strict=True),
    "strict_one": _strict_one,
    "tuned": _bound(top_p=0.5, reasoning_effort="low", user="ann"),
    "rich": _rich,
    "traced": _traced,
    "placed": lambda tools, model: _around(_asking_of(tools, model), ToolNode(tools, handle_tool_errors=True), Placed),
    "unhandled": lambda tools, model: _around(_asking_of(tools, model), ToolNode(tools)),
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
    inner = StateGraph(MessagesState).add_node("tools", ToolNode([shelf.weather])).add_edge(START, "tools").compile()
    return _around(_thinking([shelf.weather]), inner)


def _asking() -> Any:
    """A graph that asks by `interrupt`, and goes where a `Command` says."""

    async def ask(state: MessagesState) -> Command[Any]:
        said = interrupt({"question": "Which city?"})
        return Command(goto="think", update={"messages": [{"role": "user", "content": said}]})

    graph = StateGraph(MessagesState).add_node("ask", ask, destinations=("think",)).add_edge(START, "ask")
    graph.add_node("think", _thinking([shelf.weather])).add_node("tools", ToolNode([shelf.weather])).add_node("last", note_state)
    graph.add_conditional_edges("think", tools_condition, {"tools": "tools", END: "last"}).add_edge("tools", "think")
    return graph.compile()


class Context(TypedDict):
    user: str


def _in_context() -> Any:
    think = _thinking([shelf.weather], lambda runtime: [("system", f"You serve {runtime.context['user']}.")])
    return _around(think, ToolNode([shelf.weather]), context_schema=Context)


def _agent_of(*objects: Any, middleware: Sequence[Any] = (), **options: Any) -> Any:
    return create_agent(own_model(), shelf.native(objects), middleware=[*middleware, Last()], **options)


GRAPHS: dict[str, Callable[..., Any]] = {
    "graph": _compiled,
    "graph_before": partial(_compiled, interrupt_before=["tools"]),
    "graph_after": partial(_compiled, interrupt_after=["tools"]),
    "graph_command": lambda *_: _compiled(shelf.remember, shelf.weather, shelf.distance, shelf.known, state=Placed),
    "graph_within": lambda *_: _within(),
    "graph_asking": lambda *_: _asking(),
    "graph_context": lambda *_: _in_context(),
    "graph_agent": _agent_of,
    "graph_structured": partial(_agent_of, response_format=ToolStrategy(Weather)),
    "graph_retry": lambda *objects: _agent_of(*objects, middleware=[_retry()]),
}
"""Graphs of the given tools."""


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


AGENTS: dict[str, Any] = {one.__name__: one for one in (loop, probe, openai_agents, pydantic_agent)}


def find(name: str, column: str, objects: Sequence[Any]) -> Any:
    """The agent of a name, as it is in a column, `own` or `handed`; a graph has the tools of its own built in."""
    if name in GRAPHS:
        return GRAPHS[name](*objects)
    if name in AGENTS:
        return AGENTS[name]
    build = BUILDERS[name]
    return build if column == "handed" else lambda tools: build(tools, own_model())
