"""Arguments of LangChain's tools that not the model but the graph gives: its state, its store, the call's id, its runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_origin

from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


def injected_arguments(tool: BaseTool) -> frozenset[str]:
    """Return the names of the arguments that not the model but the graph gives: its state, its store, the call's id, its runtime."""
    whole, shown = map(_fields, (tool.get_input_schema(), tool.tool_call_schema))
    return frozenset((whole - shown) | tool._injected_args_keys)


def _fields(schema: Any) -> set[str]:
    """Return the names of the arguments of a schema, which may be a model of either pydantic."""
    if not isinstance(schema, type):
        return set(schema.get("properties", ()))
    return set(schema.model_fields if hasattr(schema, "model_fields") else schema.__fields__)  # type: ignore[attr-defined]


def value_without_graph(tool: BaseTool, name: str, call_id: str) -> Any:
    """Return an argument that a graph injects where no graph calls: a runtime without state, the id of the call.

    Raises:
        PrerequisiteError: It is the graph's state or store, which nothing else has.
    """
    from langchain_core.tools import InjectedToolCallId
    from langgraph.prebuilt import ToolRuntime

    field = getattr(tool.get_input_schema(), "model_fields", {}).get(name)
    kinds = [get_origin(one) or (one if isinstance(one, type) else type(one)) for one in (field.annotation, *field.metadata)] if field else []
    if ToolRuntime in kinds:
        return ToolRuntime(state={}, context=None, config={}, stream_writer=lambda _: None, tool_call_id=call_id, store=None)
    if InjectedToolCallId in kinds:
        return call_id
    raise PrerequisiteError(f"tool '{tool.name}' needs '{name}' from the graph that calls it; name that compiled graph: --agent MODULE:GRAPH.")
