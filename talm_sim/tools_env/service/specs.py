"""ToolSpecs out of an OpenAPI 3 document: the service's own, or anybody's."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from talm_sim.errors import PrerequisiteError
from talm_sim.types import JsonObject, ToolSpec

__all__ = ["REPLACEABLE_KEY", "specs_from_openapi"]

REPLACEABLE_KEY = "x-human-replaceable"
"""Operation extension that becomes `ToolSpec.human_replaceable`."""

METHODS: tuple[Literal["GET", "POST", "PUT", "PATCH", "DELETE"], ...] = ("GET", "POST", "PUT", "PATCH", "DELETE")

KEPT = (
    "type",
    "description",
    "enum",
    "const",
    "default",
    "examples",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "required",
)
"""Schema keywords that are copied as they stand; the structural ones are rebuilt, titles and the rest are dropped."""


class Argument(NamedTuple):
    """One argument of a tool, and the part of the request it travels in."""

    name: str
    schema: JsonObject
    required: bool
    place: str


def specs_from_openapi(document: Mapping[str, Any]) -> dict[str, ToolSpec]:
    """Make one ToolSpec of every operation of an OpenAPI 3 document.

    Path, query and JSON body parameters become one flat object of arguments; header and cookie parameters belong to the transport and are
    left out. A tool's category is its first tag, or the first segment of its path.

    Args:
        document: The parsed document.

    Returns:
        Specs by tool name, in the document's order. The name is the operation id, or method and path where there is none.

    Raises:
        PrerequisiteError: The document is no OpenAPI 3 document, or an operation cannot be expressed as a tool; names the operation.
    """
    paths = document.get("paths")
    if not str(document.get("openapi", "")).startswith("3.") or not isinstance(paths, Mapping):
        raise PrerequisiteError("not an OpenAPI 3 document: it needs 'openapi: 3.x' and 'paths'.")
    specs: dict[str, ToolSpec] = {}
    for path, item in paths.items():
        for method in METHODS:
            if method.lower() not in item:
                continue
            operation = item[method.lower()]
            name = _identifier(operation.get("operationId") or f"{method.lower()}{path}")
            if name in specs:
                raise PrerequisiteError(f"{method} {path}: another operation is called '{name}' too; tool names must be unique.")
            arguments = list(_arguments(document, f"{method} {path}", item, operation))
            specs[name] = ToolSpec(
                name=name,
                category=_category(path, operation),
                description=_description(item, operation),
                parameters=_parameters(f"{method} {path}", arguments),
                method=method,
                path=path,
                query=tuple(argument.name for argument in arguments if argument.place == "query"),
                human_replaceable=operation.get(REPLACEABLE_KEY) is True,
            )
    return specs


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def _category(path: str, operation: Mapping[str, Any]) -> str:
    tags = operation.get("tags") or path.strip("/").split("/")[:1]
    return "" if str(tags[0]).startswith("{") else str(tags[0])


def _description(item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Summary and description on one line each, without saying the same thing twice."""
    summary, details = (
        " ".join(str(part.get(key, "")).split()) for part, key in (({**item, **operation}, "summary"), (operation, "description"))
    )
    return details if not summary or details.startswith(summary) else f"{summary}\n{details}".strip()


def _parameters(place: str, arguments: list[Argument]) -> JsonObject:
    names = [argument.name for argument in arguments]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PrerequisiteError(f"{place}: two parameters are called '{twice[0]}'; a tool's arguments need distinct names.")
    schema: JsonObject = {"type": "object", "properties": {argument.name: argument.schema for argument in arguments}}
    required = [argument.name for argument in arguments if argument.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def _arguments(document: Mapping[str, Any], place: str, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[Argument]:
    """Yield the arguments of one operation: those of the path item, overridden by its own, then the JSON body's properties."""
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in [*item.get("parameters", ()), *operation.get("parameters", ())]:
        parameter = _resolve(document, entry)
        declared[parameter["in"], parameter["name"]] = parameter
    for (where, name), parameter in declared.items():
        if where in {"path", "query"}:
            schema = _simplify(document, parameter.get("schema") or _of_json(parameter.get("content", {})))
            if parameter.get("description"):
                schema["description"] = parameter["description"]
            if "examples" not in schema and (examples := _examples(document, parameter)):
                schema["examples"] = examples
            yield Argument(name, schema, where == "path" or bool(parameter.get("required")), where)
    body = _resolve(document, operation.get("requestBody", {}))
    if _of_json(body.get("content", {})):
        whole = _simplify(document, _of_json(body["content"]))
        if "properties" not in whole:
            raise PrerequisiteError(f"{place}: its JSON body has no named properties, so it cannot be offered as a tool.")
        for name, schema in whole["properties"].items():
            yield Argument(name, schema, bool(body.get("required")) and name in whole.get("required", ()), "body")


def _of_json(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Schema of the JSON form of a parameter or body; empty where it has none."""
    forms = [media for kind, media in content.items() if kind.split(";")[0].strip().endswith("json")]
    schema: Mapping[str, Any] = forms[0].get("schema", {}) if forms else {}
    return schema


def _examples(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> list[Any]:
    if "example" in parameter:
        return [parameter["example"]]
    named = (_resolve(document, example) for example in parameter.get("examples", {}).values())
    return [example["value"] for example in named if "value" in example]


def _resolve(document: Mapping[str, Any], node: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Follow `$ref`s within the document; keywords beside a `$ref` stay and win."""
    pointer = node.get("$ref")
    if pointer is None:
        return node
    if not pointer.startswith("#/") or pointer in seen:
        raise PrerequisiteError(f"cannot resolve $ref '{pointer}': only references within the document, without circles, are read.")
    target: Any = document
    for part in pointer[2:].split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    if not isinstance(target, Mapping):
        raise PrerequisiteError(f"cannot resolve $ref '{pointer}': the document has no such part.")
    return {**_resolve(document, target, (*seen, pointer)), **{key: value for key, value in node.items() if key != "$ref"}}


def _simplify(document: Mapping[str, Any], schema: Mapping[str, Any], seen: tuple[str, ...] = ()) -> JsonObject:
    """Rewrite a schema as short as it can be: references inlined, allOf merged, "or null" and titles dropped."""
    if "$ref" in schema:
        seen = (*seen, schema["$ref"])
        if seen.count(schema["$ref"]) > 1:
            return {"type": "object"}
        schema = _resolve(document, schema)
    short: JsonObject = {key: value for key, value in schema.items() if key in KEPT}
    if "example" in schema and "examples" not in short:
        short["examples"] = [schema["example"]]
    for part in schema.get("allOf", ()):
        merged = _simplify(document, part, seen)
        short = {**merged, **short, **_joined(merged, short)}
    for key in ("anyOf", "oneOf"):
        options = [_simplify(document, option, seen) for option in schema.get(key, ()) if option.get("type") != "null"]
        short |= ({**options[0], **short}) if len(options) == 1 else ({key: options} if options else {})
    if isinstance(short.get("type"), list):
        kinds = [kind for kind in short["type"] if kind != "null"]
        short["type"] = kinds[0] if len(kinds) == 1 else kinds
    if "default" in short and short["default"] is None:
        del short["default"]
    if "properties" in schema:
        own = {name: _simplify(document, part, seen) for name, part in schema["properties"].items()}
        short["properties"] = short.get("properties", {}) | own
    if isinstance(schema.get("items"), Mapping):
        short["items"] = _simplify(document, schema["items"], seen)
    return _strict_bounds(short)


def _joined(left: JsonObject, right: JsonObject) -> JsonObject:
    """What two schemas of an allOf both contribute to."""
    both: JsonObject = {}
    if "properties" in left or "properties" in right:
        both["properties"] = left.get("properties", {}) | right.get("properties", {})
    if "required" in left or "required" in right:
        both["required"] = [*left.get("required", ()), *(name for name in right.get("required", ()) if name not in left.get("required", ()))]
    return both


def _strict_bounds(schema: JsonObject) -> JsonObject:
    """Write OpenAPI 3.0's boolean exclusive bounds as JSON Schema's numeric ones."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    return schema
