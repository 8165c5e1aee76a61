"""What is played, alone and through talm-sim: this file, too, imports nothing of talm-sim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.parity import tools as shelf
from tests.parity.agents import CITY

Turn = str | dict[str, Any] | list[tuple[str, Any]]
"""What the stand-in says: a text, a message of the protocol, or calls: each a tool's name with its arguments, or with their text."""
USER = {"role": "user", "content": "How is the weather in Madrid?"}


@dataclass(frozen=True)
class Case:
    """One agent with its tools and its model's words.

    Attributes:
        agent: Its name in `agents.py`.
        tools: What it is offered; a text names a server of `served.py`.
        served: The names of a server's tools that it is offered.
        script: What its model says, by how much it has said in the conversation.
        asked: What the model says instead where a request contains a text.
        turns: The user's messages, with what precedes them.
        reply: What a person answers, or how a graph that has paused goes on; None where nobody is there.
        flags: Options of the run, as on a command line.
        alone: What the graph is run with alone.
        needs: The module without which it is skipped.
        refused: What a line may say that refuses the agent instead.
        column: Whose model it is: `own`, or `handed`.
    """

    agent: str
    tools: Sequence[Any] = (shelf.weather,)
    script: Sequence[Turn] = ()
    asked: Mapping[str, Turn] = field(default_factory=dict)
    turns: Sequence[Sequence[dict[str, Any]]] = ((USER,),)
    reply: Any = None
    flags: Sequence[str] = ()
    alone: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    column: str = "own"
    served: Sequence[str] = ()
    refused: str = ""


MUSEUM = {"museum": "Prado"}
TAKES = (shelf.search, shelf.buy, shelf.tree)
ASKS = [("weather", CITY)]
TELLS = (ASKS, "It is 31 degrees.")
LENIENT = ([("weather", {"city": "Madrid", "days": "3"}), ("weather", {"city": "Rome", "unit": "C"})], "Done.")
WRONG = (
    [("numbered", CITY), ("search", {"limit": "many"}), ("weather", {}), ("weather", {"city": "Madrid", "days": "many"}), ("nowhere", CITY)],
    "Done.",
)
SERVED = ("forecast", "station", "bulletin")
PAGES = ("entry", "numbers", "page")
REMEMBERS = (
    [("remember", CITY)],
    [("remember", CITY | {"tool_call_id": "forged"})],
    [("distance", {"city": "Rome"}), ("known", CITY), ("weather", CITY)],
    "Done.",
)
SEARCHES = ([("search", MUSEUM | {"limit": None})], "Done.")
EVERY = ([(one.__name__, MUSEUM) for one in shelf.RESULTS], "Done.")
WEATHER = {"city": "Madrid", "degrees": 31}
FORMED = '{"city": "Madrid", "degrees": 31}'
CALLED = [("Weather", WEATHER)]
SELECTED = '{"tools": ["weather"]}'
SELECTING = {"select the most relevant tools": SELECTED}
SUMMING = {"Context Extraction Assistant": "The user asks about Madrid."}
AGAIN = ((USER,), ({"role": "user", "content": "And tomorrow?"},))
HISTORY = (
    {"role": "system", "content": "Speak plainly.\nBe kind."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello! What can I do?"},
    USER,
)
AS_SENT = {
    "content": "Let me look.",
    "tool_calls": [("weather", '{"days":3,  "city": "M\\u00e1laga"}'), ("weather", '{"city": "León"}')],
}
BROKEN = {"content": None, "tool_calls": [("weather", '{"city": "Mad')]}
THOUGHT = {"content": None, "reasoning_content": "I look.", "tool_calls": ASKS}

_OWN: dict[str, Case] = {
    "results": Case("loop", shelf.RESULTS, EVERY),
    "results_graph": Case("graph", shelf.RESULTS, EVERY),
    "results_openai_agents": Case("openai_agents", shelf.RESULTS, EVERY, needs="agents"),
    "results_pydantic_ai": Case("pydantic_agent", shelf.RESULTS, EVERY, needs="pydantic_ai"),
    "takes": Case(
        "loop",
        TAKES,
        (
            [
                ("search", MUSEUM | {"limit": None}),
                ("search", MUSEUM | {"limit": 3, "order": "price"}),
                ("buy", {"ticket": {"museum": "Prado", "euros": 15}, "days": ["2026-05-01"]}),
                ("tree", {"root": {"name": "a", "parts": [{"name": "b", "parts": []}]}}),
            ],
            "Done.",
        ),
    ),
    "takes_openai_agents": Case("openai_agents", TAKES, SEARCHES, needs="agents"),
    "takes_pydantic_ai": Case("pydantic_agent", TAKES, SEARCHES, needs="pydantic_ai"),
    "probe": Case("probe", (shelf.flaky, shelf.failing, shelf.handled, shelf.direct, shelf.drawn, shelf.late, shelf.several, shelf.numbered)),
    "langchain": Case("loop", (shelf.weather, shelf.direct), (ASKS, "31 degrees.")),
    "class": Case("loop", (shelf.Shop,), ([("sell", MUSEUM)], [("sell", MUSEUM)], "Two are sold.")),
    "openapi": Case(
        "loop", ("openapi",), ([("forecast", CITY), ("station", {"id": 7, "unit": "C"}), ("bulletin", {})], "Done."), served=SERVED
    ),
    "mcp_stdio": Case("loop", ("mcp",), ([("entry", CITY), ("numbers", {}), ("page", {})], "Done."), needs="mcp", served=PAGES),
    "mcp_http": Case("loop", ("mcp_http",), ([("entry", CITY | {"days": None}), ("page", {})], "Done."), needs="mcp", served=PAGES),
    "name_mcp": Case("loop", ("mcp",), ([("get-forecast", CITY)], "31 degrees."), needs="mcp", served=["get-forecast"]),
    "name_loop": Case("loop", (shelf.get_forecast,), ([("get-forecast", CITY)], "31 degrees.")),
    "name_graph": Case("graph", (shelf.get_forecast,), ([("get-forecast", CITY)], "31 degrees.")),
    "lenient": Case("react", script=LENIENT),
    "lenient_graph": Case("graph", script=LENIENT),
    "wrong_graph": Case("graph", (shelf.weather, shelf.numbered), WRONG),
    "unhandled": Case("unhandled", (shelf.failing,), ([("failing", CITY)], "unasked")),
    "artifact_graph": Case("graph", (shelf.drawn,), ([("drawn", CITY)], "Here it is.")),
    "failing_graph": Case("graph", (shelf.failing, shelf.handled), ([("failing", CITY), ("handled", CITY)], "No.")),
    "fault_status": Case("retry_status", script=TELLS, flags=("--perturb", "http-500:times=1")),
    "fault_timeout": Case("retry_timeout", script=TELLS, flags=("--perturb", "timeout:times=1,seconds=0")),
    "fault_reset": Case("retry_reset", script=TELLS, flags=("--perturb", "connection-reset:times=1")),
    "retry_graph": Case("graph_retry", (shelf.flaky,), ([("flaky", CITY)], "31 degrees.")),
    "before_graph": Case("graph_before", script=TELLS, reply=(), refused="interrupt_"),
    "after_graph": Case("graph_after", script=TELLS, reply=(), refused="interrupt_"),
    "command_graph": Case("graph_command", script=REMEMBERS),
    "injected_graph": Case("graph_command", (shelf.weather, shelf.distance, shelf.known), REMEMBERS),
    "subgraph": Case("graph_within", script=TELLS),
    "interrupt": Case("graph_asking", script=TELLS, reply="Madrid, please."),
    "context": Case("graph_context", script=TELLS, flags=("--agent-context", "user=Ann"), alone={"context": {"user": "Ann"}}),
    "direct_graph": Case("graph_agent", (shelf.direct,), ([("direct", CITY)], "It said so.")),
    "structured_graph": Case("graph_structured", script=(ASKS, CALLED, "unasked")),
    "tool_error": Case("tool_error", (shelf.failing,), ([("failing", CITY)], "There is no station.")),
    "results_react": Case("react", shelf.RESULTS, EVERY),
}
_BOTH: dict[str, Case] = {
    "agent": Case("agent", script=TELLS, turns=AGAIN),
    "name_scenario": Case("agent", (shelf.get_forecast,), ([("get-forecast", CITY)], "31 degrees.")),
    "retry": Case("retry", (shelf.flaky,), ([("flaky", CITY)], "31 degrees.")),
    "summary": Case("summary", script=TELLS, asked=SUMMING, turns=(HISTORY, AGAIN[1])),
    "gate": Case("gate", script=TELLS, reply={"decisions": [{"type": "approve"}]}),
    "structured_tool": Case("structured_tool", script=(ASKS, CALLED, "unasked")),
    "structured_auto": Case("structured_auto", script=(ASKS, FORMED)),
    "placed": Case("placed", (shelf.remember, shelf.weather, shelf.distance, shelf.known, shelf.drawn), REMEMBERS),
    "wrong": Case("react", (shelf.weather, shelf.numbered, shelf.search), WRONG),
    "direct": Case("agent", (shelf.direct,), ([("direct", CITY)], "It said so.")),
}
_HANDED: dict[str, Case] = {
    "pause_before": Case("pause_before", script=TELLS, reply=(), refused="interrupt_"),
    "pause_after": Case("pause_after", script=TELLS, reply=(), refused="interrupt_"),
    "selector": Case("selector", (shelf.weather, shelf.search), TELLS, SELECTING),
    "results_model": Case("react", shelf.RESULTS, EVERY),
    "takes_model": Case("react", TAKES, SEARCHES),
    "history": Case("react", script=TELLS, turns=(HISTORY, AGAIN[1])),
    "as_sent": Case("react", script=(AS_SENT, "Done.")),
    "broken_call": Case("react", script=(BROKEN, "Done."), turns=AGAIN),
    "thought": Case("react", script=(THOUGHT, "Done.")),
    "forced": Case("forced", script=TELLS),
    "forbidden": Case("forbidden", script=("I do not know.",)),
    "named": Case("named", script=TELLS),
    "single": Case("single", script=TELLS),
    "strict": Case("strict", script=TELLS),
    "strict_one": Case("strict_one", (shelf.weather, shelf.direct), TELLS),
    "traced": Case("traced", script=TELLS),
    "tuned": Case("tuned", script=TELLS, refused="cannot pass that on"),
    "rich": Case("rich", script=("A map.",)),
    "declined": Case("react", script=({"content": None, "refusal": "I cannot say."},)),
    "cut_off": Case("react", script=({"content": "It is", "finish": "length"},)),
    "stops": Case("stops", script=("It is 31 degrees.",)),
    "formed": Case("formed", script=(FORMED,)),
    "formed_by_call": Case("formed_by_call", script=(CALLED,)),
    "formed_loosely": Case("formed_loosely", script=(FORMED,)),
    "streaming": Case("streaming", script=TELLS),
    "streaming_text": Case("streaming", script=("It is 31 degrees.",)),
}
CASES: dict[str, Case] = {
    **_OWN,
    **{f"own_{name}": case for name, case in _BOTH.items()},
    **{f"handed_{name}": replace(case, column="handed") for name, case in (_BOTH | _HANDED).items()},
}
