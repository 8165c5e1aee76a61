"""What is known to differ: `OPEN` is to be mended, a row each; `REMAINS` is for a reason, which is given.

A line names a difference as `compared.differences` does: `result *` is about all results. One that no longer differs fails, and goes.
"""

from __future__ import annotations

from tests.parity.cases import CASES
from tests.parity.compared import RUN_SETS

_SCHEMA = {"parameters *": "`additionalProperties: false` is added, 'or null' and `maxLength` are dropped"}
_MCP = {
    "result *": "not the server's text: an object of a text alone, a list or an object written anew, [resource] for a page",
    "value *": "the structured value, not the server's text",
    "description *": "lines are joined",
}
_LENIENT = {
    "result *": "`'3'` for a number and an unknown argument are refused, and without a reason",
    "state *": "LangChain takes both",
}
_PAUSE = {
    "requests": "interrupt_after ends the episode",
    "answer": "it is the tool's result",
    "state *": "the graph does not reach its end",
    "last": "the graph does not reach its end",
}
_FORM = {"response_format": "`strict: false` and the description of the schema are missing"}

_OPEN: dict[str, dict[str, str]] = {
    "probe": {"value handled": "a failure that the tool words itself (`handle_tool_error`) is a success"},
    "failing_graph": {"state handled": "the same"},
    "mcp_stdio": _MCP,
    "mcp_http": _MCP,
    "name_mcp": _MCP,
    "lenient": _LENIENT,
    "lenient_graph": _LENIENT,
    "wrong": {"result *": "the model is not told what is wrong with its arguments"},
    "after_graph": _PAUSE,
    "own_pause_after": _PAUSE,
    "handed_pause_after": _PAUSE,
    "command_graph": {"end": "agent_error: a tool of the graph's own fails, StructuredTool._run() missing 'config'"},
    "injected_graph": {"end": "refused: a tool that a graph hands its state is no source"},
    "context": {"end": "refused: there is no option for the context of a graph (agent_context)"},
    "handed_selector": _FORM,
    "handed_structured_auto": _FORM | {"tool weather": "`strict` is dropped"},
    "handed_rich": {"message developer": "the developer is the system", "roles": "the same"},
}


def _hands_tools(row: str) -> bool:
    """Whether the schemas of tools that the agent was handed are in a row's requests, and differ there."""
    agent = CASES[row].agent
    other = agent.startswith(("graph", "formed", "rich", "probe", "unhandled", "tuned"))
    return not other and row not in {"results_pydantic_ai", "own_structured_auto", "name_mcp"}  # frameworks that make them strict; no null


OPEN = {row: _OPEN.get(row, {}) | (_SCHEMA if _hands_tools(row) else {}) for row in CASES}
"""Row, to what differs and how."""
OPEN_LINES = dict(RUN_SETS)
"""Of `RUN_SETS`, what no line below the table says yet."""
REMAINS: dict[tuple[str, str], str] = {
    ("probe", "attributes *"): "each handed tool may have an artifact; only its `response_format` says so",
    ("handed_*", "stream"): "a turn is always asked for whole, as it is recorded; a stream gives the finished turn in pieces",
    ("handed_thought", "message assistant"): "what a provider sent with a thought goes back to it; LangChain's client drops it",
    ("handed_broken_call", "message assistant"): "arguments that are no JSON go back quoted in an object: servers load those of earlier calls",
    ("handed_declined", "answer"): "a refusal is the text that the user is told",
    ("handed_declined", "state ai"): "the same",
    ("handed_declined", "last"): "the same",
    ("own_gate", "tool ask_human"): "where there is somebody to ask, an agent that takes its tools is offered to",
    ("handed_gate", "tool ask_human"): "the same",
    ("*_pause_*", "tool ask_human"): "the same",
}
"""Row, in which `*` stands for anything, and difference, to the reason."""
