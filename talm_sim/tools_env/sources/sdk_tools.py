"""Tools of the OpenAI Agents SDK as LangChain has them; they are told by their attributes, so that nothing is imported for others."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool


def is_sdk_tool(one: Any) -> bool:
    """Return whether this is a `FunctionTool` of the OpenAI Agents SDK."""
    return callable(getattr(one, "on_invoke_tool", None)) and isinstance(getattr(one, "params_json_schema", None), dict)


def from_sdk(one: Any) -> StructuredTool:
    """Return a tool that calls it with its attribute `context`, or None; its errors are raised, unless it has words of its own for them."""
    from langchain_core.tools import StructuredTool

    quiet = copy.copy(one)  # bound to its own way with errors
    if getattr(quiet, "_use_default_failure_error_function", False):
        quiet._use_default_failure_error_function = False

    async def call(**arguments: Any) -> Any:
        from agents.tool_context import ToolContext  # type: ignore[import-not-found, unused-ignore]

        written = json.dumps(arguments)
        mine = getattr(one, "context", None)
        context = ToolContext(mine, tool_name=one.name, tool_call_id="call", tool_arguments=written)
        try:
            return await quiet.on_invoke_tool(context, written)
        except AttributeError as err:
            if mine is None and "'NoneType'" in str(err):
                err.args = (f"{err} (its context is None: give it one, as in tool.context = Desk())",)
            raise

    return StructuredTool(name=one.name, description=one.description, args_schema=one.params_json_schema, coroutine=call)
