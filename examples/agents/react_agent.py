"""A LangGraph agent on the model it is handed: everything it does can be recorded, and replayed offline.

talm-sim run --agent react_agent:build --split underspecified --limit 5 --human simulated --model sim/asker
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def build(tools: Sequence[BaseTool], model: BaseChatModel) -> Any:
    """Return the agent of one episode: it is called again for each, with that episode's tools, `ask_human` among them."""
    bound = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, list[AnyMessage]]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()
