"""What an agent asks of one turn of the model that it is handed, and how each protocol says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from talm_sim.errors import PrerequisiteError, format_names

ASKED = ("tool_choice", "stop", "response_format", "parallel_tool_calls", "strict")
"""Fields of a turn in the words of chat completions; `strict` is that of the tools. Content that is no text counts as `content blocks`."""
BLOCKS = "content blocks"
_ANTHROPIC = {"auto": "auto", "required": "any", "none": "none"}


def check_asked(name: str, passes: Iterable[str], asked: Iterable[str]) -> None:
    """Check that a model passes on what an agent asks of it."""
    if lost := sorted(set(asked) - set(passes)):
        raise PrerequisiteError(f"your agent asks its model for {format_names(lost, 5)}, and {name} cannot pass that on; use another model.")


def of_anthropic(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the Anthropic protocol."""
    fields: dict[str, Any] = {}
    if isinstance(choice := asked.get("tool_choice"), dict):
        fields["tool_choice"] = {"type": "tool", "name": choice["function"]["name"]}
    elif choice is not None:
        fields["tool_choice"] = {"type": _ANTHROPIC[choice]}
    if asked.get("parallel_tool_calls") is False:
        fields["tool_choice"] = {**fields.get("tool_choice", {"type": "auto"}), "disable_parallel_tool_use": True}
    if "stop" in asked:
        stop = asked["stop"]
        fields["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    return fields


def of_responses(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the Responses protocol."""
    fields = {key: asked[key] for key in ("parallel_tool_calls",) if key in asked}
    choice, form = asked.get("tool_choice"), asked.get("response_format")
    if choice is not None:
        fields["tool_choice"] = {"type": "function", "name": choice["function"]["name"]} if isinstance(choice, dict) else choice
    if isinstance(form, dict):
        fields["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
    return fields
