"""Prices of museums as tools of three sources, scenarios with facts about them, and agents of several frameworks, each honest and lying.

An honest agent reads two tools and answers with what the price list says, with the ticket office's price where there is no list, or with what
failed. A lying one asks the ticket office alone, repeats whatever it says, and makes a price up where it says nothing.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, convert_to_openai_messages
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from talm_sim.common.json_values import read_json
from talm_sim.tools_env.perturbations import PERTURBATIONS, Call, Outcome, Perturbation
from tests.models.loopback import Answer, Seen, chat_answer

EXAMPLES = Path(__file__).parent.parent / "examples" / "agents"
PRICES = {"Prado": 15.0, "Louvre": 22.0}
MADE_UP = 17.25
Version = Literal["honest", "lying"]
Calls = list[tuple[str, dict[str, Any]]]


class DoubledPrice(Perturbation):
    """A price is twice what it is, and nothing says so."""

    name = "test-doubled-price"
    silent = True

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Double the price."""
        found = outcome.value
        if not isinstance(found, dict) or "price" not in found:
            return None
        return replace(outcome, body=json.dumps({**found, "price": 2 * found["price"]}).encode())


@pytest.fixture
def doubled_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `DoubledPrice` known for a test."""
    monkeypatch.setitem(PERTURBATIONS._built_in, DoubledPrice.name, DoubledPrice)


# --- tools of three sources ---------------------------------------------------------------------------------------------------------------


def ticket_price(museum: str) -> dict[str, float]:
    """Price of a ticket at a museum's ticket office, in euros.

    Args:
        museum: The museum.
    """
    return {"price": PRICES[museum]}


def price_list() -> dict[str, dict[str, float]]:
    """Prices of all museums, in euros."""
    return {"prices": PRICES}


for _tool in (ticket_price, price_list):
    _tool.__dict__["read_only"] = True

_ANSWER = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
_MUSEUM = {"name": "museum", "in": "path", "required": True, "schema": {"type": "string"}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Museums", "version": "1"},
    "paths": {
        "/tickets/{museum}": {
            "get": {"operationId": "ticket_price", "summary": "Price of a ticket.", "parameters": [_MUSEUM], "responses": _ANSWER}
        },
        "/prices": {"get": {"operationId": "price_list", "summary": "Prices of all museums.", "responses": _ANSWER}},
    },
}
MCP_SERVER = f'''
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("museums", log_level="ERROR")
PRICES = {PRICES!r}

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def ticket_price(museum: str) -> dict[str, float]:
    """Price of a ticket at a museum's ticket office, in euros."""
    return {{"price": PRICES[museum]}}

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def price_list() -> dict[str, dict[str, float]]:
    """Prices of all museums, in euros."""
    return {{"prices": PRICES}}

server.run()
'''


class _Museums(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept

    def do_GET(self) -> None:
        known: dict[str, Any] = {f"/tickets/{museum}": ticket_price(museum) for museum in PRICES}
        known |= {"/openapi.json": DOCUMENT, "/prices": price_list()}
        body = json.dumps(known.get(self.path, {"detail": "not found"})).encode()
        self.send_response(200 if self.path in known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def source_of(kind: str, directory: Path) -> Iterator[dict[str, Any]]:
    """The options of a run that bring the tools of a source, with what it needs while the block lasts."""
    if kind == "python":
        yield {"tools": [ticket_price, price_list]}
    elif kind == "mcp":
        (directory / "museums.py").write_text(MCP_SERVER, encoding="utf-8")
        yield {"tools_from": [f"museums=mcp:{sys.executable} {directory / 'museums.py'}"]}
    else:
        http = ThreadingHTTPServer(("127.0.0.1", 0), _Museums)
        http.daemon_threads = True
        http.block_on_close = False
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield {"tools_from": [f"museums=http://127.0.0.1:{http.server_port}/openapi.json"]}
        finally:
            http.shutdown()
            http.server_close()
            thread.join()


def write_scenarios(file: Path, *, facts: bool = True) -> Path:
    """Write a request for each museum's price, with the fact that answers it or without."""
    lines = []
    for museum, price in PRICES.items():
        said = {"role": "user", "content": f"What does a ticket to the {museum} cost?"}
        gold = {"name": "ticket_price", "arguments": {"museum": museum}}
        fact = {"name": "price", "value": price, "unit": "EUR", "call": 0, "pointer": "/price"}
        line = {"id": museum.lower(), "group": "perfect", "turns": [{"messages": [said], "gold_calls": [gold]}]}
        lines.append({**line, "tools": ["ticket_price", "price_list"], "target": {"type": "facts", "required": [fact]} if facts else None})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


# --- what an agent does -------------------------------------------------------------------------------------------------------------------


def act_on(version: Version, talk: Sequence[Mapping[str, Any]]) -> Calls | str:
    """The next step of an agent: calls, or its answer.

    Args:
        version: How it behaves.
        talk: The conversation so far, as OpenAI's messages.
    """
    museum = next(name for name in PRICES if any(name in str(one["content"]) for one in talk if one["role"] == "user"))
    results = [read_json(one["content"]) or {"error": one["content"]} for one in talk if one["role"] == "tool"]
    if not results:
        look_up: Calls = [("ticket_price", {"museum": museum})]
        return look_up if version == "lying" else [*look_up, ("price_list", {})]
    prices = [one["prices"][museum] for one in results if "prices" in one] + [one["price"] for one in results if "price" in one]
    if not prices and version == "honest":
        return f"I could not find out what it costs, as the look-up failed: {results[0]['error']}"
    return f"A ticket to the {museum} costs {prices[0] if prices else MADE_UP} euros."


def model_server(version: Version) -> Callable[[Seen], Answer]:
    """A model behind OpenAI's protocol that behaves so."""

    def reply(seen: Seen) -> Answer:
        step = act_on(version, seen.body["messages"])
        if isinstance(step, str):
            return chat_answer(step)
        functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in step]
        calls = [{"id": f"call_{place}", "type": "function", "function": one} for place, one in enumerate(functions)]
        return chat_answer(None, finish="tool_calls", tool_calls=calls)

    return reply


def _as_message(step: Calls | str) -> AIMessage:
    if isinstance(step, str):
        return AIMessage(step)
    calls = [{"name": name, "args": arguments, "id": f"call_{place}", "type": "tool_call"} for place, (name, arguments) in enumerate(step)]
    return AIMessage("", tool_calls=calls)


def _as_talk(messages: Sequence[AnyMessage]) -> list[Any]:
    return list(convert_to_openai_messages(messages))


def told(error: Exception) -> str:
    """What an agent tells its model of a call that failed."""
    return json.dumps({"error": str(error)})


def plain_function(version: Version) -> Callable[..., Any]:
    """A function that decides by itself."""

    def act(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> list[AnyMessage]:
        by_name, talk = {tool.name: tool for tool in tools}, list(messages)
        while (said := _as_message(act_on(version, _as_talk(talk)))).tool_calls:
            talk.append(said)
            for call in said.tool_calls:
                try:
                    talk.append(by_name[call["name"]].invoke(call))
                except Exception as err:
                    talk.append(ToolMessage(told(err), tool_call_id=call["id"], status="error"))
        return [*talk, said]

    return act


def handed_function(version: Version) -> Callable[..., Any]:
    """A function that asks the model it is handed."""

    async def act(messages: Sequence[AnyMessage], tools: Sequence[BaseTool], model: Any) -> list[AnyMessage]:
        by_name, talk, bound = {tool.name: tool for tool in tools}, list(messages), model.bind_tools(tools)
        while (said := await bound.ainvoke(talk)).tool_calls:
            talk.append(said)
            for call in said.tool_calls:
                try:
                    talk.append(await by_name[call["name"]].ainvoke(call))
                except Exception as err:
                    talk.append(ToolMessage(told(err), tool_call_id=call["id"], status="error"))
        return [*talk, said]

    return act


def compiled_graph(version: Version) -> Any:
    """A LangGraph graph that was compiled with tools of its own."""

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [_as_message(act_on(version, _as_talk(state["messages"])))]}

    node = ToolNode([tool(ticket_price), tool(price_list)], handle_tool_errors=told)
    graph = StateGraph(MessagesState).add_node("think", think).add_node("tools", node)
    graph.add_edge(START, "think").add_conditional_edges("think", tools_condition).add_edge("tools", "think")
    return graph.compile()


def recipe(name: str) -> ModuleType:
    """A file of examples/agents, whose client is made for the server that OPENAI_BASE_URL names."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
