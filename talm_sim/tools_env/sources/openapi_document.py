"""Make ToolSpecs of an OpenAPI 3 document, the service's own or any other."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.schemas import NotChecked, fault_of_schema
from talm_sim.tools_env.extension_keys import REASON_KEY, RECORD_KEY, REPLACEABLE_KEY
from talm_sim.tools_env.sources.base import NotTaken, tool_name, tool_spec
from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.tools_env.sources.openapi_limits import Reading, check_path, is_transport
from talm_sim.types import JsonObject, Route, ToolSpec

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
METHODS: tuple[Method, ...] = ("GET", "POST", "PUT", "PATCH", "DELETE")

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
"""Schema keywords that are copied unchanged; the structural ones are rebuilt, titles and the rest are dropped."""


MOST_TOOLS = 1_000
"""Most operations of one document; a model is never shown as many."""
_MOST_TAGS, _LONGEST_TAG = 2_000, 100
"""Number and length of tags offered in place of an unknown one."""
_LONGEST_REASON = 500
_KEYS = 16
"""Keys in the target of a reference that count as one part."""
_STYLES = {"path": "simple", "query": "form", "header": "simple"}


class Argument(NamedTuple):
    """One argument of a tool, and the part of the request it travels in."""

    name: str
    schema: JsonObject
    required: bool
    place: str


def tools_from_openapi(document: Mapping[str, Any], source: str = "", *, only: str = "") -> HttpTools:
    """Make a tool of every operation of an OpenAPI 3 document.

    Path, query, header and JSON body parameters become one flat object of arguments; cookies, and headers that hold credentials, belong to the
    transport and are left out. A tool's category is its first tag, or the first segment of its path.

    Args:
        document: The parsed document.
        source: Name of the source, which precedes the paths in recordings.
        only: The one tag whose operations are taken; empty for all.

    Returns:
        Tools by name, in the document's order. The name is the operation id, or method and path where there is none.
    """
    operations = list(_operations(document, only))
    if len(operations) > MOST_TOOLS:
        raise PrerequisiteError(f"it has {len(operations):,} operations, more than {MOST_TOOLS:,}; choose one tag: ,only=TAG.")
    specs, routes, responses, not_taken = dict[str, ToolSpec](), dict[str, Route](), dict[str, JsonObject](), list[NotTaken]()
    reading = Reading(document)
    for method, path, item, operation in operations:
        place = f"{method} {path[:_LONGEST_REASON]}"
        try:
            reading.begin()
            name = _identifier(str(operation.get("operationId") or "")) or _identifier(f"{method.lower()}{path}")
            if name in specs:
                raise PrerequisiteError(f"another operation is also called '{name}'; tool names must be unique.")
            specs[name], routes[name] = _tool(reading, name, method, path, item, operation, source)
        except PrerequisiteError as err:
            not_taken.append(NotTaken(place, str(err)[:_LONGEST_REASON]))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError, IndexError):
            not_taken.append(NotTaken(place, "it does not follow the OpenAPI format."))
        else:
            schema = _response(reading, operation)
            if schema:
                responses[name] = schema
    if not specs:
        nothing = f"has no operation{f' with the tag {only}' if only else ''}.{did_you_mean(only, _tags(document)) if only else ''}"
        raise PrerequisiteError(f"{not_taken[0].tool}: {not_taken[0].reason}" if not_taken else nothing)
    return HttpTools(specs, routes, responses, not_taken)


def _operations(document: Mapping[str, Any], only: str) -> Iterator[tuple[Method, str, Mapping[str, Any], Mapping[str, Any]]]:
    paths = document.get("paths")
    if not str(document.get("openapi", "")).startswith("3.") or not isinstance(paths, Mapping):
        raise PrerequisiteError("not an OpenAPI 3 document: it needs 'openapi: 3.x' and 'paths'.")
    for path, item in paths.items():
        for method in METHODS:
            operation = item.get(method.lower()) if isinstance(item, Mapping) else None
            if isinstance(operation, Mapping) and (not only or only in (operation.get("tags") or ())):
                yield method, str(path), item, operation


def _tags(document: Mapping[str, Any]) -> list[str]:
    """Return some tags of the document, to be compared with an unknown one."""
    every = (str(tag) for *_, operation in _operations(document, "") for tag in list(operation.get("tags") or ())[:_MOST_TAGS])
    return sorted({tag for tag in islice(every, _MOST_TAGS) if len(tag) <= _LONGEST_TAG})


def _tool(
    document: Reading, name: str, method: Method, path: str, item: Mapping[str, Any], operation: Mapping[str, Any], source: str
) -> tuple[ToolSpec, Route]:
    check_path(path)
    _check_server(document, item, operation)
    arguments = list(_arguments(document, item, operation))
    spec = tool_spec(
        {
            "name": name,
            "category": _category(path, operation),
            "description": _description(item, operation),
            "parameters": _parameters(arguments),
            "human_replaceable": operation.get(REPLACEABLE_KEY) is True,
            "human_replaceable_reason": str(operation.get(REASON_KEY) or ""),
            "is_record": operation.get(RECORD_KEY) is True,
        }
    )
    at = {place: tuple(argument.name for argument in arguments if argument.place == place) for place in ("path", "query", "header")}
    # Up to the last closing bracket, so that one that stays open is not searched for again and again.
    if undeclared := set(re.findall(r"\{([^}]*)\}", path[: path.rfind("}") + 1])) - set(at["path"]):
        raise PrerequisiteError(f"its path has '{min(undeclared)}', which is not a path parameter.")
    if source:
        check_schema(spec.parameters)
    return spec, Route(method=method, path=(f"/{source}" if source else "") + path, query=at["query"], header=at["header"])


def _check_server(document: Reading, item: Mapping[str, Any], operation: Mapping[str, Any]) -> None:
    own = [str(one.get("url")) for one in operation.get("servers") or item.get("servers") or ()]
    if own and not {str(one.get("url")) for one in (document.root.get("servers") or ())[:1]} & set(own):
        raise PrerequisiteError(f"it has a server of its own, {own[0][:200]}; all operations of a document must use the same server.")


def _response(document: Reading, operation: Mapping[str, Any]) -> JsonObject:
    """Return the schema of an operation's successful answer; its references are resolved within the document."""
    try:
        named = operation.get("responses", {})
        told: Mapping[str, Any] = next((named[code] for code in named if str(code).startswith("2")), {})
        schema = dict(_of_json(_resolve(document, told).get("content", {})))
    except (AttributeError, KeyError, TypeError, PrerequisiteError):
        return {}
    return schema and {**schema, "components": document.root.get("components", {})}


def _identifier(text: str) -> str:
    return tool_name(text.strip("/")).strip("_")


def _category(path: str, operation: Mapping[str, Any]) -> str:
    tags = operation.get("tags") or path.strip("/").split("/")[:1]
    return "" if str(tags[0]).startswith("{") else str(tags[0])


def _description(item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Return summary and description on one line each, without saying the same thing twice."""
    summary, details = (
        " ".join(str(part.get(key, "")).split()) for part, key in (({**item, **operation}, "summary"), (operation, "description"))
    )
    return details if not summary or details.startswith(summary) else f"{summary}\n{details}".strip()


def _parameters(arguments: list[Argument]) -> JsonObject:
    twice = [name for name, times in Counter(argument.name for argument in arguments).items() if times > 1]
    if twice:
        raise PrerequisiteError(f"two parameters are called '{min(twice)}'; a tool's arguments need distinct names.")
    schema: JsonObject = {"type": "object", "properties": {argument.name: argument.schema for argument in arguments}}
    required = [argument.name for argument in arguments if argument.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def _arguments(document: Reading, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[Argument]:
    """Yield the arguments of one operation: those of the path item, overridden by its own, then the JSON body's properties."""
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in [*item.get("parameters", ()), *operation.get("parameters", ())]:
        parameter = _resolve(document, entry)
        declared[parameter["in"], parameter["name"]] = parameter
    for (where, name), parameter in declared.items():
        proves = (where, str(name).lower()) in document.proofs
        if where == "cookie" and parameter.get("required") and not proves:
            raise PrerequisiteError(f"it requires the cookie '{name}', and cookies are not sent.")
        if where in _STYLES and not proves and not is_transport(where, name):
            yield _argument(document, where, name, parameter)
    body = _resolve(document, operation.get("requestBody", {}))
    if _of_json(body.get("content", {})):
        whole = _simplify(document, _of_json(body["content"]))
        if "properties" not in whole:
            raise PrerequisiteError("its JSON body has no named properties, so it cannot be offered as a tool.")
        for name, schema in whole["properties"].items():
            yield Argument(name, schema, bool(body.get("required")) and name in whole.get("required", ()), "body")
    elif body.get("required") or not all(map(_is_json, body.get("content", {}))):
        raise PrerequisiteError(f"it takes a body that is not JSON ({', '.join(body.get('content', {})) or 'no content type given'}).")


def _argument(document: Reading, where: str, name: str, parameter: Mapping[str, Any]) -> Argument:
    if parameter.get("style", _STYLES[where]) != _STYLES[where] or (where == "query" and parameter.get("explode") is False):
        raise PrerequisiteError(f"parameter '{name}' uses a style that is not supported ({parameter.get('style', 'not exploded')}).")
    schema = _simplify(document, parameter.get("schema") or _of_json(parameter.get("content", {})))
    if parameter.get("description"):
        schema["description"] = parameter["description"]
    if "examples" not in schema and (examples := _examples(document, parameter)):
        schema["examples"] = examples
    document.spend(sum(document.size(schema.get(key)) for key in ("description", "examples")))
    return Argument(name, schema, where == "path" or bool(parameter.get("required")), where)


def _is_json(kind: str) -> bool:
    return kind.split(";", maxsplit=1)[0].strip().endswith("json")


def _of_json(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a parameter's or body's JSON form; empty if it has none."""
    forms = [media for kind, media in content.items() if _is_json(kind)]
    schema: Mapping[str, Any] = forms[0].get("schema", {}) if forms else {}
    return schema


def _examples(document: Reading, parameter: Mapping[str, Any]) -> list[Any]:
    if "example" in parameter:
        return [parameter["example"]]
    named = (_resolve(document, example) for example in parameter.get("examples", {}).values())
    return [example["value"] for example in named if "value" in example]


def _resolve(document: Reading, node: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Follow `$ref`s within the document; keywords beside a `$ref` stay and win."""
    document.spend(1)
    pointer = node.get("$ref")
    if pointer is None:
        return node
    document.spend(len(node))
    if not pointer.startswith("#/") or pointer in seen:
        raise PrerequisiteError(f"cannot resolve $ref '{pointer}': only references within the document, without cycles, are supported.")
    target: Any = document.root
    for part in pointer[2:].split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    if not isinstance(target, Mapping):
        raise PrerequisiteError(f"cannot resolve $ref '{pointer}': the document has no such part.")
    document.spend(len(target) // _KEYS)
    return {**_resolve(document, target, (*seen, pointer)), **{key: value for key, value in node.items() if key != "$ref"}}


def simplify_schema(schema: Mapping[str, Any]) -> JsonObject:
    """Return a JSON Schema as a tool's arguments are shown: references written out, titles dropped."""
    try:
        short = _simplify(Reading(schema), schema)
    except (AttributeError, KeyError, TypeError, RecursionError):
        raise PrerequisiteError("its schema is not a JSON Schema.") from None
    check_schema(short)
    return short


def check_schema(schema: JsonObject) -> None:
    """Check that arguments can be checked against a schema."""
    try:
        fault = fault_of_schema(schema)
    except NotChecked as err:
        raise PrerequisiteError(f"its schema is too large to be checked: {err}.") from None
    if fault is not None:
        where = "/".join(str(part) for part in fault.absolute_path)
        raise PrerequisiteError(f"its schema is not a JSON Schema{f' at {where}' if where else ''}: {fault.message[:200]}.")


def _simplify(document: Reading, schema: Mapping[str, Any], seen: tuple[str, ...] = ()) -> JsonObject:
    """Rewrite a schema as briefly as possible: references inlined, allOf merged, "or null" and titles dropped."""
    document.spend(1)
    if "$ref" in schema:
        seen = (*seen, schema["$ref"])
        if seen.count(schema["$ref"]) > 1:
            return {"type": "object"}
        schema = _resolve(document, schema)
    short: JsonObject = {key: value for key, value in schema.items() if key in KEPT}
    if "example" in schema and "examples" not in short:
        short["examples"] = [schema["example"]]
    document.spend(sum(map(document.size, short.values())))
    if "allOf" in schema:
        short = _merge_schemas([*reversed([_simplify(document, part, seen) for part in schema["allOf"]]), short])
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


def _merge_schemas(parts: list[JsonObject]) -> JsonObject:
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
