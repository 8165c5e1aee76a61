"""Check one call against the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from talm_sim.tasks.refusal.call_checks.java import JAVA_TYPES, java_value
from talm_sim.tasks.refusal.call_checks.javascript import JAVASCRIPT_TYPES, javascript_value
from talm_sim.types import AcceptedCall, JsonObject, ToolCall

_MOST_SHOWN = 80
"""Characters of a value in a message: a model may write a megabyte."""


class CallFault(StrEnum):
    """A fault of an answer's calls.

    Of several faults the first counts, in the order in which BFCL looks: count, function, missing required arguments, then argument by
    argument in the order written, then missing optional ones.
    """

    COUNT = "count"
    """Wrong number of calls."""
    FUNCTION = "wrong_function"
    MISSING = "missing"
    """An argument is not given, and may not be left out."""
    UNEXPECTED = "unexpected"
    """An argument is given that the function does not take, or that is right with no value."""
    TYPE = "wrong_type"
    VALUE = "wrong_value"


class CheckResult(NamedTuple):
    """The result of a check: whether the calls are right, what is wrong with them, and the same in words."""

    outcome: bool
    error: CallFault | None
    words: str


RIGHT = CheckResult(True, None, "")


def format_value(value: Any) -> str:
    """Return a value as a message shows it, cut short."""
    try:
        text = repr(value[: _MOST_SHOWN + 1] if isinstance(value, str | list) else value)
    except ValueError:  # Python writes no integer of so many digits
        return "(a value that is too long to print)"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


_SPELLING = str.maketrans({character: None for character in " ,./-_*^"} | {"'": '"'})


class Kind(NamedTuple):
    """The type of an argument in Python and, for a list, the type of its items."""

    declared: str
    python: type
    item: type | None = None


def _is_typed(value: Any, kind: Kind, accepted: Sequence[Any]) -> bool:
    """Return whether `value` is of its argument's type, or of the type of its accepted values."""
    if type(value) is not kind.python:
        return type(value) is _type_of(accepted)
    return kind.item is None or any(_items_typed(value, kind.item, one) for one in accepted)


def _is_accepted(value: Any, kind: Kind, accepted: Sequence[Any]) -> bool:
    """Return whether `value`, whose type is right, is one of the accepted values."""
    if _type_of(accepted) not in {kind.python, None}:
        return value in accepted
    if kind.python is str:
        return _normalize(value) in [_normalize(one) for one in accepted if isinstance(one, str)]
    if kind.python is dict:
        return any(_is_object(value, one) for one in accepted)
    if kind.python is not list:
        return value in accepted
    if kind.item is dict:
        return any(len(value) == len(one) and all(map(_is_object, value, one)) for one in accepted if isinstance(one, list | str))
    items = [*map(_normalize, value)]
    return any(items == [*map(_normalize, one)] for one in accepted if isinstance(one, list | str))


def _type_of(accepted: Sequence[Any]) -> type | None:
    """Return the type of the first accepted value; None if an argument may only be left out."""
    return next((type(one) for one in accepted if one != ""), None)


def _items_typed(items: Any, declared: type, accepted: Any) -> bool:
    """Return whether all items are of the declared type, or of that of an accepted list's items; if that is not a list, anything is."""
    if not isinstance(accepted, list):
        return True
    right = {declared, _type_of(accepted)}
    return all(type(item) in right for item in items)


def _is_object(value: Any, accepted: Any) -> bool:
    """Return whether each key has one of its accepted values, and those that are absent may be left out."""
    if not (isinstance(value, dict) and isinstance(accepted, dict)):
        return False
    choices = {key: one if isinstance(one, list | str) else () for key, one in accepted.items()}
    return all(key in choices and _normalize(one) in [*map(_normalize, choices[key])] for key, one in value.items()) and all(
        key in value or "" in choice for key, choice in choices.items()
    )


def _normalize(value: Any) -> Any:
    """Return a text without what its spelling may differ in; any other value unchanged."""
    return value.translate(_SPELLING).lower() if isinstance(value, str) else value


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
    """Check the arguments of a call of the right function."""
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
    if not _is_typed(value, kind, accepted):
        return _type_fault(name, value, kind.declared)
    if not _is_accepted(value, kind, accepted):
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
