"""Arguments of LangChain's tools that not the model but the graph gives: its state, its store, the call's id, its runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_origin

from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


def injected_arguments(tool: BaseTool) -> frozenset[str]:
    """Return the names of the arguments that not the model but the graph gives: its state, its store, the call's id, its runtime."""
    if isinstance(tool.args_schema, dict):
        return tool._injected_args_keys
    whole, shown = map(_fields, (tool.get_input_schema(), tool.tool_call_schema))
    return frozenset((whole - shown) | tool._injected_args_keys)


def _fields(schema: Any) -> set[str]:
    """Return the names of the arguments of a schema, which may be a model of either pydantic."""
    if not isinstance(schema, type):
        return set(schema.get("properties", ()))
    return set(schema.model_fields if hasattr(schema, "model_fields") else schema.__fields__)  # type: ignore[attr-defined]


def filled(tool: BaseTool, names: frozenset[str], given: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """Return the arguments that a graph injects: what it `given`, and where no graph calls a runtime without state and the id of the call."""
    from langchain_core.tools import InjectedToolCallId
    from langgraph.prebuilt import ToolRuntime

    found = {name: given[name] for name in names if name in given}
    for name in sorted(names - found.keys()):
        field = getattr(tool.get_input_schema(), "model_fields", {}).get(name)
        kinds = (
            [get_origin(one) or (one if isinstance(one, type) else type(one)) for one in (field.annotation, *field.metadata)] if field else []
        )
        if ToolRuntime in kinds:
            found[name] = ToolRuntime(state={}, context=None, config={}, stream_writer=lambda _: None, tool_call_id=call_id, store=None)
        elif InjectedToolCallId in kinds:
            found[name] = call_id
        elif field is None or field.is_required():
            needed = f"tool '{tool.name}' needs '{name}' from the graph that calls it"
            raise PrerequisiteError(f"{needed}; name that compiled graph: --agent MODULE:GRAPH.")
    return found
