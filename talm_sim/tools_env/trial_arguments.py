"""Choose arguments to try a tool with: the user's, otherwise the examples in its description, otherwise the simplest that fit."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.schemas import NotChecked, Schema, current_work, limit_work
from talm_sim.types import JsonObject, ToolSpec

_TEXTS = ("example", "sample", "specimen", "instance")
"""Texts that differ, so that an argument left out of a request is not given away by another one."""
_FORMATS = {
    "date": "2025-01-15",
    "date-time": "2025-01-15T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "person@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
_WRITTEN = (("YYYY-MM-DD", "2025-01-15"), ("HH:MM:SS", "12:00:00"), ("HH:MM", "12:00"), ("YYYY", "2025"))
"""Phrases by which descriptions give an example."""
_TRIED = ("A", "AB", "ABC", "ABCD", "a", "ab", "abc", "1", "12", "123", "1234", "12345", "A1", "a-1", "1.0", "+1", "#000000")
"""Short texts that are tried for patterns."""
_QUOTED = re.compile(
    r"(?:\be\.?g\.?|\bfor example|\bsuch as|\blike|\bexamples?:)[\s,:(]*(?:'([^'\n]{1,80})'|\"([^\"\n]{1,80})\"|`([^`\n]{1,80})`)", re.I
)
_BARE = re.compile(r"(?:\be\.?g\.|\bexamples?:)[\s,:(]*([\w./:+#@-]*[A-Z0-9][\w./:+#@-]*)")


@dataclass(frozen=True, slots=True)
class Example:
    """Arguments for one call.

    Attributes:
        arguments: All that the tool requires, and whatever else the user gave.
        made_up: Names of those that neither the user nor the tool's description gave.
    """

    arguments: JsonObject
    made_up: tuple[str, ...] = ()


def example_arguments(spec: ToolSpec, given: Mapping[str, Any] | None = None) -> Example:
    """Return arguments for a tool.

    >>> example_arguments(ToolSpec(name="t", parameters={"properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}))
    Example(arguments={'n': 3}, made_up=('n',))
    """
    whole = next((one for one in spec.parameters.get("examples") or () if isinstance(one, dict)), {})
    arguments = {**whole, **(given or {})}
    try:
        with limit_work():
            return Example(arguments, _complete(arguments, spec))
    except NotChecked:
        return Example({name: value for name, value in arguments.items() if value is not None})


def _complete(arguments: JsonObject, spec: ToolSpec) -> tuple[str, ...]:
    """Add what the tool requires; return what is made up."""
    open_ones: dict[str, Mapping[str, Any]] = {}
    for name in spec.required:
        schema = _keywords_of(spec.parameters.get("properties", {}).get(name))
        if name not in arguments:
            arguments[name] = next((value for value in _stated_values(schema) if _fits_schema(schema, value)), None)
            if arguments[name] is None:
                open_ones[name] = schema
    return _fill(arguments, open_ones, [*_in_words(spec.description)])


def _fill(arguments: JsonObject, open_ones: Mapping[str, Mapping[str, Any]], said: list[Any]) -> tuple[str, ...]:
    """Fill the arguments that nobody gave with fitting examples from the tool's own description; return what is made up.

    An example may be of any argument; if it fits only one, it is taken as that one's.
    """
    fitting = [name for name, schema in open_ones.items() if any(_fits_schema(schema, value) for value in said)]
    made_up = []
    for name, schema in open_ones.items():
        if fitting != [name]:
            made_up.append(name)
        if (value := next((value for value in said if _fits_schema(schema, value)), None)) is not None:
            said.remove(value)
        arguments[name] = _simplest_value(schema, len(made_up) - 1) if value is None else value
    return tuple(made_up)


def read_arguments(file: Path, tools: Mapping[str, ToolSpec]) -> dict[str, JsonObject]:
    """Read the user's own arguments: a JSON object of tools' names to their arguments."""
    fix = '; write {"TOOL": {"ARGUMENT": VALUE}}'
    try:
        read = json.loads(read_text(file, LARGEST_SETTINGS))
        json.dumps(read, ensure_ascii=False).encode()
    except OSError as err:
        raise PrerequisiteError(f"--arguments {file}: cannot be read: {err.strerror}{fix}.") from None
    except UnicodeEncodeError:
        raise PrerequisiteError(f"--arguments {file}: contains half a surrogate pair, which a request cannot contain; correct it.") from None
    except (ValueError, RecursionError) as err:
        raise PrerequisiteError(f"--arguments {file}: is not JSON ({err}){fix}.") from None
    if not isinstance(read, dict):
        raise PrerequisiteError(f"--arguments {file}: is not a JSON object{fix}.")
    for tool, arguments in read.items():
        if tool not in tools:
            raise PrerequisiteError(f"--arguments {file}: there is no tool '{tool}'.{did_you_mean(tool, tools)}")
        if not isinstance(arguments, dict):
            raise PrerequisiteError(f"--arguments {file}: {tool}: is not a JSON object{fix}.")
        known = tools[tool].parameters.get("properties", {})
        unknown = next((name for name in arguments if name not in known), None)
        if unknown is not None and tools[tool].parameters.get("additionalProperties", False) is False:
            raise PrerequisiteError(f"--arguments {file}: {tool} has no argument '{unknown}'.{did_you_mean(unknown, known)}")
        shown, whole = ({**schema, "required": []} for schema in (tools[tool].parameters, tools[tool].whole or tools[tool].parameters))
        with contextlib.suppress(NotChecked):
            if wrong := Schema(whole).fault(arguments, Schema(shown)):
                raise PrerequisiteError(f"--arguments {file}: {tool}: {wrong.message[:300]}; correct it.")
    return read


def _stated_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Return the values that a schema gives, in its keywords or in its description."""
    current_work().spend(5)
    yield from (schema[key] for key in ("const", "default") if key in schema)
    for key in ("examples", "enum"):
        yield from (schema.get(key) or ())[:1]
    for part in (one for key in ("anyOf", "oneOf") for one in schema.get(key) or ()):
        yield from _stated_values(_keywords_of(part))
    described = str(schema.get("description", ""))
    yield from _in_words(described)
    yield from (value for form, value in _WRITTEN if form in described)


def _keywords_of(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, Mapping) else {}


def _in_words(described: str) -> Iterator[Any]:
    """Return the examples in a description, as text, and as JSON if they can be read as that."""
    for found in (*_QUOTED.finditer(described), *_BARE.finditer(described)):
        text = next(filter(None, found.groups())).rstrip(".,;:")
        yield text
        with contextlib.suppress(ValueError):
            yield json.loads(text)


def _fits_schema(schema: Mapping[str, Any], value: Any) -> bool:
    return value is not None and Schema(schema).fits(value) is not False


def _simplest_value(schema: Mapping[str, Any], place: int = 0) -> Any:
    candidates = [*_candidates(schema, place)]
    return next((value for value in candidates if _fits_schema(schema, value)), candidates[0])


def _candidates(schema: Mapping[str, Any], place: int) -> Iterator[Any]:
    yield from (value for value in _stated_values(schema) if value is not None)
    for key in ("anyOf", "oneOf"):
        yield from (_simplest_value(_keywords_of(part), place) for part in schema.get(key) or ())
    current_work().spend(10)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind in {"integer", "number"}:
        yield from _numbers(schema, place)
    elif kind == "array":
        yield [_simplest_value(_keywords_of(schema.get("items")), number) for number in range(max(1, int(schema.get("minItems", 1))))]
    elif kind == "object":
        properties = schema.get("properties", {})
        yield {name: _simplest_value(_keywords_of(properties.get(name)), number) for number, name in enumerate(schema.get("required", ()))}
    elif kind == "boolean":
        yield False
    else:
        yield from _texts(schema, place)


def _numbers(schema: Mapping[str, Any], place: int) -> Iterator[Any]:
    step = schema.get("multipleOf", 1)
    bounds = [schema[key] for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if key in schema]
    yield 1 + place
    with contextlib.suppress(OverflowError):
        for bound in bounds:
            nearest = round(bound / step) * step
            yield from (bound, nearest, nearest + step, nearest - step)
        yield sum(bounds) / max(1, len(bounds))
    yield from (step, 0)


def _texts(schema: Mapping[str, Any], place: int) -> Iterator[str]:
    if schema.get("format") in _FORMATS:
        yield _FORMATS[schema["format"]]
    text = _TEXTS[place % len(_TEXTS)]
    shortest = int(schema.get("minLength", 0))
    current_work().spend(shortest / 50)
    yield text[: int(schema.get("maxLength", len(text)))].ljust(shortest, "e")
    yield from (*_TEXTS, *_FORMATS.values(), *_TRIED)
