"""Check one call against the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from talm_sim.tasks.refusal.call_checks.java import JAVA_TYPES, java_value
from talm_sim.tasks.refusal.call_checks.javascript import JAVASCRIPT_TYPES, javascript_value
from talm_sim.tasks.refusal.call_checks.outcome import RIGHT, CallFault, CheckResult, format_value
from talm_sim.tasks.refusal.call_checks.values import Kind, is_accepted, is_typed
from talm_sim.types import AcceptedCall, JsonObject, ToolCall

__all__ = ["check_call"]

_TYPES: Mapping[str, Mapping[str, type]] = {
    "python": {
        "string": str,
        "integer": int,
        "float": float,
        "number": float,
        "boolean": bool,
        "array": list,
        "tuple": list,
        "dict": dict,
        "object": dict,
    },
    "java": JAVA_TYPES,
    "javascript": JAVASCRIPT_TYPES,
}
_FROM_SOURCE = {"java": java_value, "javascript": javascript_value}
_ANY = str
"""Type in place of `any` or an unknown one: a text, or that of the accepted values."""


def check_call(call: ToolCall, right: AcceptedCall, tool: JsonObject, syntax: str) -> CheckResult:
    """Check the arguments of a call of the right function.

    Args:
        call: What the model wrote.
        right: The accepted values.
        tool: The function's specification; in BFCL's form or in JSON Schema.
        syntax: The language of its types. Unless that is Python, every value is a text with the value's source.
    """
    parameters = _object(tool.get("parameters"))
    declared = _object(parameters.get("properties"))
    required = parameters.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in call.arguments:
            return CheckResult(False, CallFault.MISSING, f"required argument {format_value(name)} is missing")
    for name, value in call.arguments.items():
        if name not in declared or name not in right.arguments:
            return CheckResult(False, CallFault.UNEXPECTED, f"argument {format_value(name)} is not expected")
        checked = _check_value(name, value, _object(declared[name]), right.arguments[name], syntax)
        if not checked.outcome:
            return checked
    for name, accepted in right.arguments.items():
        if name not in call.arguments and "" not in accepted:
            return CheckResult(False, CallFault.MISSING, f"argument {format_value(name)} is missing")
    return RIGHT


def _check_value(name: str, value: Any, schema: JsonObject, accepted: Sequence[Any], syntax: str) -> CheckResult:
    item = _declared_type(schema.get("items"))
    kind = _kind(syntax, _declared_type(schema), item)
    if syntax in _FROM_SOURCE:
        if not isinstance(value, str):
            return _type_fault(name, value, f"a text that holds its {syntax} source")
        value = _FROM_SOURCE[syntax](value, kind.declared, item or "any")
    elif kind.python is float and type(value) is int:
        value = _as_float(value)
    elif kind.declared == "tuple" and type(value) is tuple:  # only BFCL's reading makes one; JSON has lists
        value = [*value]
    if not is_typed(value, kind, accepted):
        return _type_fault(name, value, kind.declared)
    if not is_accepted(value, kind, accepted):
        return CheckResult(
            False, CallFault.VALUE, f"argument {format_value(name)} is {format_value(value)}; right is {format_value([*accepted])}"
        )
    return RIGHT


def _type_fault(name: str, value: Any, wanted: str) -> CheckResult:
    return CheckResult(
        False, CallFault.TYPE, f"argument {format_value(name)} is {format_value(value)}, of type {type(value).__name__}; it takes {wanted}"
    )


@lru_cache(maxsize=256)
def _kind(syntax: str, declared: str, item: str) -> Kind:
    types = _TYPES[syntax]
    python = types.get(declared, _ANY)
    return Kind(declared or "any", python, types.get(item, _ANY) if item and python is list else None)


def _declared_type(schema: Any) -> str:
    """Return the type a schema names; empty if it names none."""
    declared = schema.get("type", "any") if isinstance(schema, dict) else ""
    return declared if isinstance(declared, str) else "any"


def _as_float(value: int) -> float | int:
    try:
        return float(value)
    except OverflowError:
        return value


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
