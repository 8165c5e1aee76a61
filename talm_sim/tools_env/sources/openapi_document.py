"""ToolSpecs out of an OpenAPI 3 document: the service's own, or anybody's."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import jsonschema

from talm_sim.credentials import names_credential
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.types import JsonObject, Route, ToolSpec

__all__ = ["MOST_TOOLS", "REPLACEABLE_KEY", "check_schema", "simple_schema", "tools_from_openapi"]

REPLACEABLE_KEY = "x-human-replaceable"
"""Operation extension that becomes `ToolSpec.human_replaceable`."""

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
"""Schema keywords that are copied as they stand; the structural ones are rebuilt, titles and the rest are dropped."""


MOST_TOOLS = 1_000
"""Operations of one document; a model is never shown as many."""
_MOST_PARTS = 20_000
"""Parts of a schema, its references written out: a short document can hold one without end."""
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that OpenAPI itself says are not to be read."""
_STYLES = {"path": "simple", "query": "form", "header": "simple"}


class Argument(NamedTuple):
    """One argument of a tool, and the part of the request it travels in."""

    name: str
    schema: JsonObject
    required: bool
    place: str


class _Document:
    """A document that is being read, and how many parts of it one more operation may take."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.left = _MOST_PARTS

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PrerequisiteError(f"its schemas hold more than {_MOST_PARTS:,} parts.")


def tools_from_openapi(document: Mapping[str, Any], source: str = "", *, only: str = "") -> HttpTools:
    """Make a tool of every operation of an OpenAPI 3 document.

    Path, query, header and JSON body parameters become one flat object of arguments; cookies, and headers that hold credentials, belong to the
    transport and are left out. A tool's category is its first tag, or the first segment of its path.

    Args:
        document: The parsed document.
        source: Name of the source, which stands before the paths in recordings.
        only: The one tag whose operations are taken; empty for all.

    Returns:
        Tools by name, in the document's order. The name is the operation id, or method and path where there is none.

    Raises:
        PrerequisiteError: The document is no OpenAPI 3 document, or no operation, or too many, can be expressed as a tool.
    """
    operations = list(_operations(document, only))
    if len(operations) > MOST_TOOLS:
        raise PrerequisiteError(f"it has {len(operations):,} operations, more than {MOST_TOOLS:,}; take one tag of them: ,only=TAG.")
    specs, routes, responses, not_taken = dict[str, ToolSpec](), dict[str, Route](), dict[str, JsonObject](), list[NotTaken]()
    reading = _Document(document)
    for method, path, item, operation in operations:
        place = f"{method} {path}"
        reading.left = _MOST_PARTS
        try:
            name = _identifier(str(operation.get("operationId") or "")) or _identifier(f"{method.lower()}{path}")
            if name in specs:
                raise PrerequisiteError(f"another operation is called '{name}' too; tool names must be unique.")
            specs[name], routes[name] = _tool(reading, name, method, path, item, operation, source)
        except PrerequisiteError as err:
            not_taken.append(NotTaken(place, str(err)))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError, IndexError):
            not_taken.append(NotTaken(place, "it is not written as OpenAPI says."))
        else:
            schema = _response(reading, operation)
            if schema:
                responses[name] = schema
    if not specs:
        tags = sorted({str(tag) for *_, operation in _operations(document, "") for tag in operation.get("tags") or ()}) if only else []
        nothing = f"has no operation{f' with the tag {only}' if only else ''}.{did_you_mean(only, tags) if only else ''}"
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


def _tool(
    document: _Document, name: str, method: Method, path: str, item: Mapping[str, Any], operation: Mapping[str, Any], source: str
) -> tuple[ToolSpec, Route]:
    _check_server(document, item, operation)
    arguments = list(_arguments(document, item, operation))
    spec = ToolSpec(
        name=name,
        category=_category(path, operation),
        description=_description(item, operation),
        parameters=_parameters(arguments),
        human_replaceable=operation.get(REPLACEABLE_KEY) is True,
    )
    at = {place: tuple(argument.name for argument in arguments if argument.place == place) for place in ("path", "query", "header")}
    # Up to the last bracket that closes, so that none that stays open is looked for to the end again and again.
    if undeclared := set(re.findall(r"\{([^}]*)\}", path[: path.rfind("}") + 1])) - set(at["path"]):
        raise PrerequisiteError(f"its path has '{min(undeclared)}', which is no path parameter.")
    if source:
        check_schema(spec.parameters)
    return spec, Route(method=method, path=(f"/{source}" if source else "") + path, query=at["query"], header=at["header"])


def _check_server(document: _Document, item: Mapping[str, Any], operation: Mapping[str, Any]) -> None:
    own = [str(one.get("url")) for one in operation.get("servers") or item.get("servers") or ()]
    if own and not {str(one.get("url")) for one in (document.root.get("servers") or ())[:1]} & set(own):
        raise PrerequisiteError(f"it has a server of its own, {own[0][:200]}; all operations of a document are called at one.")


def _response(document: _Document, operation: Mapping[str, Any]) -> JsonObject:
    """Schema of what an operation answers when all is well; its references are read within the document."""
    try:
        named = operation.get("responses", {})
        told: Mapping[str, Any] = next((named[code] for code in named if str(code).startswith("2")), {})
        schema = dict(_of_json(_resolve(document, told).get("content", {})))
    except (AttributeError, KeyError, TypeError, PrerequisiteError):
        return {}
    return schema and {**schema, "components": document.root.get("components", {})}


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:64]


def _category(path: str, operation: Mapping[str, Any]) -> str:
    tags = operation.get("tags") or path.strip("/").split("/")[:1]
    return "" if str(tags[0]).startswith("{") else str(tags[0])


def _description(item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Summary and description on one line each, without saying the same thing twice."""
    summary, details = (
        " ".join(str(part.get(key, "")).split()) for part, key in (({**item, **operation}, "summary"), (operation, "description"))
    )
    return details if not summary or details.startswith(summary) else f"{summary}\n{details}".strip()


def _parameters(arguments: list[Argument]) -> JsonObject:
    names = [argument.name for argument in arguments]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PrerequisiteError(f"two parameters are called '{twice[0]}'; a tool's arguments need distinct names.")
    schema: JsonObject = {"type": "object", "properties": {argument.name: argument.schema for argument in arguments}}
    required = [argument.name for argument in arguments if argument.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def _arguments(document: _Document, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[Argument]:
    """Yield the arguments of one operation: those of the path item, overridden by its own, then the JSON body's properties."""
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in [*item.get("parameters", ()), *operation.get("parameters", ())]:
        parameter = _resolve(document, entry)
        declared[parameter["in"], parameter["name"]] = parameter
    for (where, name), parameter in declared.items():
        if where == "cookie" and parameter.get("required") and not _proves_sender(document, name):
            raise PrerequisiteError(f"it requires the cookie '{name}', and cookies are not sent.")
        if where in _STYLES and not _is_transport(where, name):
            yield _argument(document, where, name, parameter)
    body = _resolve(document, operation.get("requestBody", {}))
    if _of_json(body.get("content", {})):
        whole = _simplify(document, _of_json(body["content"]))
        if "properties" not in whole:
            raise PrerequisiteError("its JSON body has no named properties, so it cannot be offered as a tool.")
        for name, schema in whole["properties"].items():
            yield Argument(name, schema, bool(body.get("required")) and name in whole.get("required", ()), "body")
    elif body.get("required") or not all(map(_is_json, body.get("content", {}))):
        raise PrerequisiteError(f"it takes a body that is no JSON ({', '.join(body.get('content', {})) or 'of no kind'}).")


def _argument(document: _Document, where: str, name: str, parameter: Mapping[str, Any]) -> Argument:
    if parameter.get("style", _STYLES[where]) != _STYLES[where] or (where == "query" and parameter.get("explode") is False):
        raise PrerequisiteError(f"parameter '{name}' is written in a style that is not known here ({parameter.get('style', 'not exploded')}).")
    schema = _simplify(document, parameter.get("schema") or _of_json(parameter.get("content", {})))
    if parameter.get("description"):
        schema["description"] = parameter["description"]
    if "examples" not in schema and (examples := _examples(document, parameter)):
        schema["examples"] = examples
    return Argument(name, schema, where == "path" or bool(parameter.get("required")), where)


def _is_transport(where: str, name: str) -> bool:
    """Whether a header is the transport's affair: it proves the sender, or says how a body is written."""
    return where == "header" and (name.lower() in _IGNORED_HEADERS or names_credential(name))


def _proves_sender(document: _Document, cookie: str) -> bool:
    """Whether a cookie is the document's credential, which is sent as such."""
    schemes = document.root.get("components", {}).get("securitySchemes", {}).values()
    return any(one.get("in") == "cookie" and one.get("name") == cookie for one in schemes)


def _is_json(kind: str) -> bool:
    return kind.split(";", maxsplit=1)[0].strip().endswith("json")


def _of_json(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Schema of the JSON form of a parameter or body; empty where it has none."""
    forms = [media for kind, media in content.items() if _is_json(kind)]
    schema: Mapping[str, Any] = forms[0].get("schema", {}) if forms else {}
    return schema


def _examples(document: _Document, parameter: Mapping[str, Any]) -> list[Any]:
    if "example" in parameter:
        return [parameter["example"]]
    named = (_resolve(document, example) for example in parameter.get("examples", {}).values())
    return [example["value"] for example in named if "value" in example]


def _resolve(document: _Document, node: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Follow `$ref`s within the document; keywords beside a `$ref` stay and win."""
    pointer = node.get("$ref")
    if pointer is None:
        return node
    if not pointer.startswith("#/") or pointer in seen:
        raise PrerequisiteError(f"cannot resolve $ref '{pointer}': only references within the document, without circles, are read.")
    target: Any = document.root
    for part in pointer[2:].split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    if not isinstance(target, Mapping):
        raise PrerequisiteError(f"cannot resolve $ref '{pointer}': the document has no such part.")
    return {**_resolve(document, target, (*seen, pointer)), **{key: value for key, value in node.items() if key != "$ref"}}


def simple_schema(schema: Mapping[str, Any]) -> JsonObject:
    """A JSON Schema as a tool's arguments are shown: references within it written out, titles dropped.

    Raises:
        PrerequisiteError: A reference leads nowhere or out of it, or it is too large.
    """
    try:
        short = _simplify(_Document(schema), schema)
    except (AttributeError, KeyError, TypeError, RecursionError):
        raise PrerequisiteError("its schema is no JSON Schema.") from None
    check_schema(short)
    return short


def check_schema(schema: JsonObject) -> None:
    """See that arguments can be checked against a schema.

    Raises:
        PrerequisiteError: It is no JSON Schema; the message says where and why.
    """
    kind = jsonschema.Draft202012Validator
    try:
        kind.check_schema(schema, format_checker=kind.FORMAT_CHECKER)
    except jsonschema.SchemaError as err:
        where = "/".join(str(part) for part in err.absolute_path)
        raise PrerequisiteError(f"its schema is no JSON Schema{f' at {where}' if where else ''}: {err.message[:200]}.") from None


def _simplify(document: _Document, schema: Mapping[str, Any], seen: tuple[str, ...] = ()) -> JsonObject:
    """Rewrite a schema as short as it can be: references inlined, allOf merged, "or null" and titles dropped."""
    document.spend()
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
