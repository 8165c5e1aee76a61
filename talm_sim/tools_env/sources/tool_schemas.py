"""Write the JSON Schema of a tool's arguments twice: in few words as it is shown, and whole as arguments are checked against it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from talm_sim.errors import PrerequisiteError
from talm_sim.schemas import NotChecked, fault_of_schema
from talm_sim.tools_env.sources.references import Reading, TooManyPartsError
from talm_sim.types import JsonObject

_CHECKING = {
    *("type", "enum", "const", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"),
    *("maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "required"),
}
_KEPT = _CHECKING | {"description", "default", "examples"}
"""Schema keywords that are shown unchanged; the structural ones are rebuilt, titles and the rest are dropped."""
_TYPES = {"description": str, "examples": list}
_WHOLE = _KEPT | {"title", "minProperties", "maxProperties", "minContains", "maxContains", "dependentRequired"}
_PARTS = {
    *("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems"),
    *("unevaluatedProperties", "allOf", "anyOf", "oneOf", "prefixItems"),
}
_NAMED = {"properties", "patternProperties", "dependentSchemas"}
_DEPTHS = (1_000, 6, 3, 1)
"""How deep a schema is shown: the first of these at which it has not too many parts."""
_Found = TypeVar("_Found")
_MOST_WHOLE = 300_000
"""Most parts of all the schemas of one document that arguments are checked against; what comes after that is not checked inside."""


def read_schema(schema: Mapping[str, Any]) -> tuple[JsonObject, JsonObject]:
    """Return a JSON Schema as a tool's arguments are shown, and the whole one they are checked against; that is empty if it says no more."""
    reading = Reading(schema)
    short = _shown(reading)
    return short, WholeSchemas(reading).of(schema, short)


def write_out(schema: Mapping[str, Any]) -> JsonObject:
    """Return the schema of an answer without references, with null; empty if it cannot be read."""
    try:
        return _shown(Reading(schema), null=True)
    except PrerequisiteError:
        return {}


def _shown(reading: Reading, *, null: bool = False) -> JsonObject:
    try:
        return read_to_fit(reading, lambda deepest: shorten(reading, reading.root, deepest, null=null))
    except (AttributeError, KeyError, TypeError, RecursionError):
        raise PrerequisiteError("its schema is not a JSON Schema.") from None


def read_to_fit(reading: Reading, read: Callable[[int], _Found]) -> _Found:
    """Return what is read of one tool, as deep as its parts allow."""
    for deepest in _DEPTHS:
        with contextlib.suppress(TooManyPartsError):
            reading.begin(again=deepest < _DEPTHS[0])
            return read(deepest)
    reading.begin(again=True)
    return read(0)


def check_schema(schema: JsonObject) -> None:
    """Check that arguments can be checked against a schema."""
    try:
        fault = fault_of_schema(schema)
    except NotChecked as err:
        raise PrerequisiteError(f"its schema is too large to be checked: {err}.") from None
    if fault is not None:
        where = "/".join(str(part) for part in fault.absolute_path)
        raise PrerequisiteError(f"its schema is not a JSON Schema{f' at {where}' if where else ''}: {fault.message[:200]}.")


def shorten(reading: Reading, schema: Any, deepest: int = _DEPTHS[0], seen: tuple[str, ...] = (), *, null: bool = False) -> JsonObject:
    """Rewrite a schema as briefly as possible: references inlined, allOf merged, titles dropped; "or null" and what is only read, too.

    What lies deeper than `deepest`, or within itself, takes any value. With `null` it is of an answer: null and what is only read are kept.
    """
    reading.spend(1)
    if not isinstance(schema, Mapping):
        return {}
    if "$ref" in schema:
        if schema["$ref"] in seen:
            return {}
        seen = (*seen, schema["$ref"])
        schema = reading.resolve(schema)
    inner = partial(shorten, reading, seen=seen, null=null)
    short: JsonObject = {key: value for key, value in schema.items() if key in _KEPT and isinstance(value, _TYPES.get(key, object))}
    if "example" in schema and "examples" not in short:
        short["examples"] = [schema["example"]]
    reading.spend(sum(map(reading.size, short.values())))
    if "allOf" in schema:
        short = _merge([*reversed([inner(part, deepest) for part in schema["allOf"]]), short])
    for key in ("anyOf", "oneOf"):
        options = [inner(option, deepest) for option in schema.get(key, ()) if null or option.get("type") != "null"]
        short |= ({**options[0], **short}) if len(options) == 1 else ({key: options} if options else {})
    if isinstance(short.get("type"), list) and not null:
        kinds = [kind for kind in short["type"] if kind != "null"]
        short["type"] = kinds[0] if len(kinds) == 1 else kinds
    if "default" in short and short["default"] is None:
        del short["default"]
    only_read = set() if null else _only_read(reading, schema)
    if deepest and "properties" in schema:
        own = {name: inner(part, deepest - 1) for name, part in schema["properties"].items() if name not in only_read}
        short["properties"] = short.get("properties", {}) | own
    if only_read & {*short.get("required", ())}:
        short["required"] = [name for name in short["required"] if name not in only_read]
    if deepest and isinstance(schema.get("items"), Mapping):
        short["items"] = inner(schema["items"], deepest - 1)
    return _strict_bounds(short)


def _only_read(reading: Reading, schema: Mapping[str, Any]) -> set[str]:
    """Return the properties that are only in answers, and no arguments."""
    named = {name: part for name, part in schema.get("properties", {}).items() if isinstance(part, Mapping)}
    within = [reading.resolve(part) for part in schema.get("allOf", ())]
    return {name for name, part in named.items() if reading.resolve(part).get("readOnly") is True}.union(
        *(_only_read(reading, part) for part in within)
    )


def _merge(parts: list[JsonObject]) -> JsonObject:
    """Merge the schemas of an allOf: for each keyword the last schema counts, but all properties and all required ones are kept."""
    whole: JsonObject = {}
    for part in parts:
        whole |= part
    if any("properties" in part for part in parts):
        whole["properties"] = {name: schema for part in parts for name, schema in part.get("properties", {}).items()}
    if any("required" in part for part in parts):
        whole["required"] = list(dict.fromkeys(name for part in parts for name in part.get("required", ())))
    return whole


def _strict_bounds(schema: JsonObject) -> JsonObject:
    """Write OpenAPI 3.0's boolean exclusive bounds as JSON Schema's numeric ones."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    return schema


class WholeSchemas:
    """The schemas that arguments are checked against, each with what it refers to beside it, which the tools of one document share.

    They are JSON Schema of 2020-12, as OpenAPI 3.1 and MCP have it: what OpenAPI 3.0 calls `nullable` may be null, also where an `enum` or a
    reference stands beside it, and a list of `items` is `prefixItems`. What cannot be followed, or is no JSON Schema, takes any value.
    """

    def __init__(self, reading: Reading, *, check: bool = True) -> None:
        self._reading = reading.with_parts(_MOST_WHOLE)
        self._check = check
        self._names: dict[str, str] = {}
        self._parts: dict[str, tuple[JsonObject, dict[str, None]]] = {}
        self._unsound: set[str] = set()

    def of(self, schema: Mapping[str, Any], shown: JsonObject) -> JsonObject:
        """Return the whole of a schema of type object; empty if what is shown says the same."""
        needs: dict[str, None] = {}
        try:
            whole = self._read(schema, needs)
            every = [*needs]
            for name in every:  # it grows meanwhile
                every += [other for other in self._part(name)[1] if other not in needs]
                needs |= self._part(name)[1]
            self._reading.spend(sum(self._reading.size(part) for part in (whole, *(self._part(name)[0] for name in every))))
            # What is shown is made of these parts: it is one if they are, and they are checked once for all tools.
            if self._check and (not self._unsound.isdisjoint(every) or fault_of_schema(whole) is not None):
                check_schema(shown)
        except (TooManyPartsError, NotChecked, AttributeError, KeyError, TypeError, ValueError, RecursionError):
            check_schema(shown)
            return {**shown, "properties": {name: {} for name in shown.get("properties", ())}}
        whole |= {"$defs": {self._names[name]: self._part(name)[0] for name in every}} if every else {}
        return {} if whole == self._read(shown, {}) else whole

    def _part(self, pointer: str) -> tuple[JsonObject, dict[str, None]]:
        """Return the schema that a reference names, and the references in it."""
        if pointer not in self._parts:
            needs: dict[str, None] = {}
            try:
                part = self._read(self._reading.follow(pointer), needs)
                if self._check:
                    check_schema(part)
            except TooManyPartsError:
                raise
            except PrerequisiteError:
                part, needs = {}, {}
                self._unsound.add(pointer)
            self._parts[pointer] = part, needs
        return self._parts[pointer]

    def _refer(self, pointer: str, needs: dict[str, None]) -> str:
        needs[pointer] = None
        if pointer not in self._names:
            name = re.sub(r"[^\w.-]+", ".", pointer, flags=re.ASCII).strip(".") or "root"
            while name in self._names.values():
                name += "_"
            self._names[pointer] = name
        return f"#/$defs/{self._names[pointer]}"

    def _read(self, node: Any, needs: dict[str, None]) -> Any:
        self._reading.spend(1)
        if not isinstance(node, Mapping):
            return node if isinstance(node, bool) else {}
        found: JsonObject = {}
        for key, value in node.items():
            if key in _WHOLE:
                found[key] = value
            elif key in _PARTS and isinstance(value, list):
                found["prefixItems" if key == "items" else key] = [self._read(one, needs) for one in value]
            elif key in _PARTS:
                found[key] = self._read(value, needs)
            elif key in _NAMED:
                found[key] = {name: self._read(one, needs) for name, one in value.items()}
            elif key == "$ref":
                found[key] = self._refer(value, needs)
        if "required" in found and isinstance(found["required"], list) and (only_read := _only_read(self._reading, node)):
            found["required"] = [name for name in found["required"] if name not in only_read]
        found = _strict_bounds(found)
        return {"anyOf": [found, {"type": "null"}]} if node.get("nullable") is True else found
