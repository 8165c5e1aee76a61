"""A graph that was compiled once, with a tool and a question to its user of its own.

Within a run its tools are ours, by their names; what its `interrupt` asks is put to the run's person, and the answer goes back into the graph.

talm-sim run --agent asking_graph:graph --scenario calendar-01.underspecified --human simulated
"""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt


@tool
def convert_to_hijri(date: str) -> str:
    """Convert a date into the Islamic calendar."""
    raise NotImplementedError("a service of yours, which a run does not call")


async def ask(state: MessagesState) -> dict[str, Any]:
    """Ask the user for the date; a better agent would look into the request first."""
    said = interrupt({"question": "What is the date of birth?"})
    dates = re.findall(r"\d{4}-\d\d-\d\d", said) or ["unknown"]
    call = {"name": convert_to_hijri.name, "args": {"date": dates[0]}, "id": "convert-1", "type": "tool_call"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


async def answer(state: MessagesState) -> dict[str, Any]:
    """Say what the tool said."""
    return {"messages": [AIMessage(f"The calendar says: {state['messages'][-1].text}")]}


_graph = StateGraph(MessagesState)
_graph.add_node("ask", ask)
_graph.add_node("tools", ToolNode([convert_to_hijri]))
_graph.add_node("answer", answer)
_graph.add_edge(START, "ask")
_graph.add_edge("ask", "tools")
_graph.add_edge("tools", "answer")
_graph.add_edge("answer", END)
graph = _graph.compile()
