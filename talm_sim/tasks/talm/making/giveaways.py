"""Find what the tools' descriptions give away: whether a model can read or guess a removed value from what it is shown of the tools."""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonpointer import JsonPointerException, resolve_pointer

from talm_sim.language.leaks import mentions
from talm_sim.types import Missing, MissingKind, Scenario, ToolSpec

_FEWEST_CHOICES = 3
"""An argument with fewer possible values is given away by them."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAP = re.compile(r"[\s_-]+")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![.,]?\w)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NAMED_PARTS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_RULES = frozenset(
    {"type", "format", "pattern", "required", "dependentRequired", "contentEncoding", "contentMediaType", "$ref", "$id", "$schema", "$anchor"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "uniqueItems"}
    | {"minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"}
)
"""Keywords that say what fits, without giving a value."""
_MOST_REFERENCES = 8


def find_giveaway(value: Any, argument: str, users: Iterable[ToolSpec], offered: Iterable[ToolSpec], *, anywhere: bool = False) -> str:
    """Find where a model can read the value of a removed argument.

    It is given away if it appears, as a whole word and in any case, in a name, description, example, default or constant of any tool that is
    offered, or if it is one of fewer than three possible values.

    Returns:
        The place, in words; empty if the value is not given away.

    >>> tool = ToolSpec(name="cancel", description="Cancel a booking, e.g. QX7K2P.")
    >>> find_giveaway("qx7k2p", "reference", [tool], [tool]), find_giveaway("ZW81LM", "reference", [tool], [tool])
    ('the description of cancel', '')
    """
    listed = False
    for spec in users:
        choices = choices_of(spec, argument)
        listed = listed or choices is not None
        if choices is not None and choices < _FEWEST_CHOICES:
            return f"the only {'value' if choices == 1 else f'{choices} values'} of {argument} of {spec.name}"
    for spec in offered:
        for place, said in _tool_texts(spec, anywhere=anywhere and not listed):
            if _value_appears(value, said):
                return f"{place} of {spec.name}"
    return ""


def choices_of(spec: ToolSpec, argument: str) -> int | None:
    """Return how many values an argument may have, by its enum or because it is a boolean; None if nothing lists them."""
    properties = spec.parameters.get("properties")
    return _choices(properties.get(argument), spec.parameters, _MOST_REFERENCES) if isinstance(properties, Mapping) else None


def guessing_odds(scenario: Scenario, specs: Mapping[str, ToolSpec]) -> dict[str, int]:
    """Return how many values each missing argument of a scenario may have, by name; without those whose values nothing lists."""
    found: dict[str, int] = {}
    for missing in (one for one in scenario.missing if one.kind is MissingKind.ARGUMENT):
        numbers = (choices_of(spec, missing.name) for spec in users_of(missing, scenario, specs))
        known = [number for number in (*numbers, found.get(missing.name)) if number is not None]
        found |= {missing.name: min(known)} if known else {}
    return found


def users_of(missing: Missing, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """Return the tools whose gold calls give a missing argument its value."""
    calls = (one for one in scenario.gold_calls if one.arguments.get(missing.name, ...) == missing.value)
    return [specs[one.name] for one in calls if one.name in specs]


def _choices(schema: Any, root: Mapping[str, Any], references: int) -> int | None:
    if not isinstance(schema, Mapping):
        return None
    kinds = schema.get("type")
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return len({json.dumps(one) for one in values if one is not None})
    if [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"] == ["boolean"]:
        return 2
    if "$ref" in schema and references:
        with contextlib.suppress(JsonPointerException):
            return _choices(resolve_pointer(root, str(schema["$ref"]).removeprefix("#")), root, references - 1)
    lists = [part for key in ("anyOf", "oneOf") if isinstance(part := schema.get(key), list)]
    parts = [part for one in lists for part in one if part != {"type": "null"}]
    numbers = [number for part in parts if (number := _choices(part, root, references)) is not None]
    return sum(numbers) if parts and len(numbers) == len(parts) else None


def _tool_texts(spec: ToolSpec, *, anywhere: bool) -> Iterator[tuple[str, Any]]:
    """Yield every text about a tool, each with its place."""
    yield "the name", _name(spec.name)
    yield "the description", spec.description
    yield from _in_schema(spec.parameters, "", anywhere=anywhere)


def _in_schema(schema: Any, path: str, *, anywhere: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, list):
        for part in schema:
            yield from _in_schema(part, path, anywhere=anywhere)
    if not isinstance(schema, Mapping):
        return
    of = f"of {path}" if path else ""
    for key, part in schema.items():
        if key in _NAMED_PARTS and isinstance(part, Mapping):
            for name, inner in part.items():
                yield "the name of an argument", _name(name)
                yield from _in_schema(inner, name, anywhere=anywhere)
        elif key == "enum":
            if anywhere or (isinstance(part, list) and len(part) < _FEWEST_CHOICES):
                yield f"the values {of}".strip(), part
        elif key in _RULES:
            if anywhere:
                yield f"the {key} {of}".strip(), part
        elif key in {"default", "const", "example", "examples"} or not isinstance(part, Mapping | list):
            yield f"the {key} {of}".strip(), part
        else:
            yield from _in_schema(part, path, anywhere=anywhere)


def _name(name: str) -> str:
    return f"{name} {_GAP.sub(' ', _HUMP.sub(' ', name))}"


def _value_appears(value: Any, said: Any) -> bool:
    if value is None or isinstance(value, bool):
        return False
    if isinstance(said, Mapping):
        said = [part for pair in said.items() for part in pair]
    if isinstance(said, list):
        return any(_value_appears(value, part) for part in said) or (
            not isinstance(value, str | int | float) and _in_text(value, json.dumps(said))
        )
    if said is None or isinstance(said, bool):
        return False
    return _in_text(value, said if isinstance(said, str) else json.dumps(said))


def _in_text(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return _has_whole_word(value, text) or (_DATE.match(value) is not None and mentions(text, value))
    if isinstance(value, int | float):
        return any(float(number.replace(",", "")) == abs(value) for number in _NUMBER.findall(_DATE.sub(" ", text)))
    return mentions(text, value)


def _has_whole_word(word: str, text: str) -> bool:
    word, text = _fold_text(word), _fold_text(text)
    return bool(word) and re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(word)}(?!\w|[.,]\d)", text) is not None


@lru_cache(4096)  # the same descriptions are searched for many values
def _fold_text(text: str) -> str:
    """Return the text without case, accents, and differences between spaces, hyphens and underscores."""
    marked = unicodedata.normalize("NFKD", text)
    return _GAP.sub(" ", "".join(char for char in marked if not unicodedata.combining(char)).casefold()).strip()
