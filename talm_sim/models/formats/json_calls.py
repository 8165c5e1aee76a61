"""Calls as JSON: which values are calls, and which only look like them."""

from __future__ import annotations

import re
from typing import Any

from talm_sim.models.formats.base import ParsedCall

__all__ = ["JSON_CALL", "MEANT", "calls_of", "form_of"]

_Q = "[\"']"
JSON_CALL = rf"[\[{{]\s*+(?>(?:\{{\s*+)?){_Q}(?:name|type|function|tool_calls|arguments|parameters|id){_Q}\s*+:"
"""The beginning of a value that may be a call, as the source of a regular expression."""
MEANT = re.compile(
    rf"[\[{{]\s*+(?>(?:\{{\s*+)?){_Q}(?:tool_calls{_Q}\s*+:\s*+\[\s*+\{{"
    rf"|(?>(?:type{_Q}\s*+:\s*+{_Q}function{_Q}\s*+,\s*+{_Q})?)(?>(?:function{_Q}\s*+:\s*+\{{\s*+{_Q})?)name{_Q}\s*+:\s*+{_Q}[^\"'\n]{{1,256}}+"
    rf"(?:{_Q}\s*+,\s*+{_Q}(?:arguments|parameters|args){_Q}|(?>(?:{_Q}\s*+(?>(?:,\s*+(?>(?:{_Q}\w*+)?))?))?)\Z))"
)
"""The beginning of a value that is meant as a call, however it ends; one that ends with the name counts as one."""
_ARGUMENTS = ("arguments", "parameters", "args")


def calls_of(value: Any, *, tagged: bool) -> list[ParsedCall]:
    """Return the calls in a JSON value; none if it is something else.

    Args:
        value: An object with `name` and `arguments` or `parameters`, perhaps inside `function`; a list of such; or a list as `tool_calls`.
        tagged: Whether its surroundings say that it is a call: then arguments may be left out, and a tool's specification is a bad call.
    """
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    calls = [_call_of(one, tagged) for one in (value if isinstance(value, list) else [value])]
    found = [call for call in calls if call is not None]
    return found if len(found) == len(calls) else []


def form_of(value: Any) -> str:
    """Return the name of the format that writes such a value."""
    if isinstance(value, list):
        return "xlam"
    if "tool_calls" in value:
        return "xlam-tool-calls"
    return "llama-json" if "parameters" in value and "arguments" not in value else "json"


def _call_of(value: Any, tagged: bool) -> ParsedCall | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    name = value.get("name", value.get("function"))
    if not isinstance(name, str) or not name or (not tagged and _specifies(value)):
        return None
    for key in _ARGUMENTS:
        if key in value:
            return ParsedCall(name, {} if value[key] is None else value[key])
    return ParsedCall(name, {}) if tagged and len(value) == 1 else None


def _specifies(value: dict[str, Any]) -> bool:
    """Whether the object is a tool's specification, repeated."""
    parameters = value.get("parameters")
    return "description" in value or (
        isinstance(parameters, dict) and parameters.get("type") in ("object", "dict") and "properties" in parameters
    )
