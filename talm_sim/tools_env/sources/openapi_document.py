"""Make ToolSpecs of an OpenAPI 3 document, the service's own or any other."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.tools_env.extension_keys import REASON_KEY, RECORD_KEY, REPLACEABLE_KEY
from talm_sim.tools_env.routes import is_form, is_json
from talm_sim.tools_env.sources.base import NotTaken, tool_name, tool_spec
from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.tools_env.sources.openapi_limits import check_path, is_transport
from talm_sim.tools_env.sources.references import Reading, TooManyPartsError
from talm_sim.tools_env.sources.tool_schemas import WholeSchemas, read_to_fit, shorten
from talm_sim.tools_env.styles import JSON_STYLE, STYLES
from talm_sim.types import JsonObject, Route, ToolSpec

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
METHODS: tuple[Method, ...] = ("GET", "POST", "PUT", "PATCH", "DELETE")

MOST_TOOLS = 1_000
"""Most operations of one document; a model is never shown as many."""
_MOST_TAGS, _LONGEST_TAG = 2_000, 100
"""Number and length of tags offered in place of an unknown one."""
_LONGEST_REASON = 500
_LONGEST_STYLE = 100
_DEEPEST = 50
"""Deepest that schemas of one body may be merged."""


class _Argument(NamedTuple):
    """One argument of a tool, the part of the request it travels in, and how it is written there."""

    name: str
    schema: JsonObject
    required: bool
    place: str
    whole: Any
    style: str = ""


class _Operation(NamedTuple):
    """An operation, where it is, and the path item around it."""

    method: Method
    path: str
    item: Mapping[str, Any]
    own: Mapping[str, Any]


def tools_from_openapi(document: Mapping[str, Any], source: str = "", *, only: str = "", load: Callable[[str], Any] | None = None) -> HttpTools:
    """Make a tool of every operation of an OpenAPI 3 document.

    Path, query, header and cookie parameters and the properties of the body become one flat object of arguments; a body that is no object with
    named properties is one argument, `body`. Headers and cookies that hold credentials belong to the transport and are left out. A tool's
    category is its first tag, or the first segment of its path.

    Returns:
        Tools by name, in the document's order. The name is the operation id, or method and path where there is none.
    """
    reading, not_taken = Reading(document, load), list[NotTaken]()
    operations = list(_operations(reading, only, not_taken))
    if len(operations) > MOST_TOOLS:
        raise PrerequisiteError(f"it has {len(operations):,} operations, more than {MOST_TOOLS:,}; choose one tag: ,only=TAG.")
    specs, routes, responses, security = dict[str, ToolSpec](), dict[str, Route](), dict[str, JsonObject](), dict[str, Any]()
    whole = WholeSchemas(reading, check=bool(source))
    for operation in operations:
        place, identity = f"{operation.method} {operation.path[:_LONGEST_REASON]}", str(operation.own.get("operationId") or "")
        try:
            name = tool_name(identity).strip("_") or re.sub(r"\W+", "_", f"{operation.method.lower()}{operation.path}").strip("_")[:64]
            if name in specs:
                raise PrerequisiteError(f"another operation is also called '{name}'; tool names must be unique.")
            specs[name], routes[name], left = _tool(reading, whole, name, operation, source)
        except PrerequisiteError as err:
            not_taken.append(NotTaken(place, str(err)[:_LONGEST_REASON]))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError, IndexError):
            not_taken.append(NotTaken(place, "it does not follow the OpenAPI format."))
        else:
            not_taken += [NotTaken(f"parameter '{parameter}' of {place}", why[:_LONGEST_REASON]) for parameter, why in left.items()]
            security[name] = operation.own.get("security", document.get("security"))
            if schema := _response(reading, operation.own):
                responses[name] = schema
    if not specs:
        nothing = f"has no operation{f' with the tag {only}' if only else ''}.{did_you_mean(only, _tags(reading)) if only else ''}"
        raise PrerequisiteError(f"{not_taken[0].tool}: {not_taken[0].reason}" if not_taken else nothing)
    return HttpTools(specs, routes, responses, not_taken, security)


def _operations(reading: Reading, only: str, not_taken: list[NotTaken]) -> Iterator[_Operation]:
    paths = reading.root.get("paths")
    if not str(reading.root.get("openapi", "")).startswith("3.") or not isinstance(paths, Mapping):
        raise PrerequisiteError("not an OpenAPI 3 document: it needs 'openapi: 3.x' and 'paths'.")
    for path, written in paths.items():
        item = _referred(reading, written, str(path), not_taken) or {}
        for method in METHODS:
            own = _referred(reading, item.get(method.lower()), f"{method} {path}", not_taken)
            if own is not None and (not only or only in (own.get("tags") or ())):
                yield _Operation(method, str(path), item, own)


def _referred(reading: Reading, part: Any, place: str, not_taken: list[NotTaken]) -> Mapping[str, Any] | None:
    """Return a path item or an operation, or what a reference in its place names; None if there is none."""
    if not isinstance(part, Mapping) or "$ref" not in part:
        return part if isinstance(part, Mapping) else None
    try:
        reading.begin()
        return reading.resolve(part)
    except (PrerequisiteError, AttributeError, TypeError) as err:
        why = str(err) if isinstance(err, PrerequisiteError) else "it does not follow the OpenAPI format."
        not_taken.append(NotTaken(place[:_LONGEST_REASON], why[:_LONGEST_REASON]))
    return None


def _tags(reading: Reading) -> list[str]:
    """Return some tags of the document, to be compared with an unknown one."""
    every = (str(tag) for one in _operations(reading, "", []) for tag in list(one.own.get("tags") or ())[:_MOST_TAGS])
    return sorted({tag for tag in islice(every, _MOST_TAGS) if len(tag) <= _LONGEST_TAG})


def _tool(reading: Reading, whole: WholeSchemas, name: str, operation: _Operation, source: str) -> tuple[ToolSpec, Route, dict[str, str]]:
    """Return a tool, the way to it, and the arguments that it is taken without, each with the reason."""
    path, own = operation.path, operation.own
    if (bare := path.partition("#")[0]) in reading.root["paths"]:
        path = bare  # no client sends what is behind it: some documents tell operations of one path apart so
    check_path(path)
    _check_server(reading, operation)
    arguments, kind, whole_body, left = read_to_fit(reading, lambda deepest: _arguments(reading, operation, deepest))
    parameters = _parameters(arguments, {one.name: one.schema for one in arguments})
    spec = tool_spec(
        {
            "name": name,
            "category": _category(path, own),
            "description": _description(operation.item, own),
            "parameters": parameters,
            "whole": whole.of(_parameters(arguments, {one.name: one.whole for one in arguments}), parameters),
            "human_replaceable": own.get(REPLACEABLE_KEY) is True,
            "human_replaceable_reason": str(own.get(REASON_KEY) or ""),
            "is_record": own.get(RECORD_KEY) is True,
        }
    )
    at = {place: tuple(one.name for one in arguments if one.place == place) for place in STYLES}
    # Up to the last closing bracket, so that one that stays open is not searched for again and again.
    if undeclared := set(re.findall(r"\{([^}]*)\}", path[: path.rfind("}") + 1])) - set(at.pop("path")):
        raise PrerequisiteError(f"its path has '{min(undeclared)}', which is not a path parameter.")
    styles = {one.name: one.style for one in arguments if one.style}
    body = "" if kind == ("application/json" if operation.method in ("POST", "PUT", "PATCH") else None) else kind
    place = (f"/{source}" if source else "") + path
    return (
        spec,
        Route.model_validate({"method": operation.method, "path": place, **at, "styles": styles, "body": body, "bare": whole_body}),
        left,
    )


def _check_server(reading: Reading, operation: _Operation) -> None:
    own = [str(one.get("url")) for one in operation.own.get("servers") or operation.item.get("servers") or ()]
    if own and not {str(one.get("url")) for one in (reading.root.get("servers") or ())[:1]} & set(own):
        raise PrerequisiteError(f"it has a server of its own, {own[0][:200]}; all operations of a document must use the same server.")


def _response(reading: Reading, operation: Mapping[str, Any]) -> JsonObject:
    """Return the schema of an operation's successful answer; its references are resolved within the document."""
    try:
        reading.begin(again=True)
        named = operation.get("responses", {})
        told: Mapping[str, Any] = next((named[code] for code in named if str(code).startswith("2")), {})
        content = reading.resolve(told).get("content", {})
        schema: JsonObject = dict(next((media.get("schema", {}) for kind, media in content.items() if is_json(kind)), {}))
    except (AttributeError, KeyError, TypeError, PrerequisiteError):
        return {}
    return schema and {**schema, "components": reading.root.get("components", {})}


def _category(path: str, operation: Mapping[str, Any]) -> str:
    tags = operation.get("tags") or path.strip("/").split("/")[:1]
    return "" if str(tags[0]).startswith("{") else str(tags[0])


def _description(item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Return summary and description on one line each, without saying the same thing twice."""
    summary, details = (
        " ".join(str(part.get(key, "")).split()) for part, key in (({**item, **operation}, "summary"), (operation, "description"))
    )
    return details if not summary or details.startswith(summary) else f"{summary}\n{details}".strip()


def _parameters(arguments: Iterable[_Argument], properties: Mapping[str, Any]) -> JsonObject:
    required = [one.name for one in arguments if one.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {}), "additionalProperties": False}


def _arguments(reading: Reading, operation: _Operation, deepest: int) -> tuple[Collection[_Argument], str | None, str, dict[str, str]]:
    """Return the arguments of one operation: those of the path item, overridden by its own, then those of its body.

    Also the body's media type, the argument that is the whole body if one is, and what is left out.
    """
    entries = [reading.resolve(one) for part in (operation.item, operation.own) for one in part.get("parameters", ())]
    declared = {(parameter["in"], parameter["name"]): parameter for parameter in entries}
    found, left = dict[str, _Argument](), dict[str, str]()

    def add(one: _Argument) -> None:
        if (same := found.get(one.name)) is not None and same.required and one.required:
            raise PrerequisiteError(f"two parameters are called '{one.name}'; a tool's arguments need distinct names.")
        if same is not None:
            left[one.name] = f"the {(one if one.required else same).place} has one of this name, too."
        if same is None or one.required:
            found[one.name] = one

    for (where, name), parameter in declared.items():
        if (where, str(name).lower()) in reading.proofs or is_transport(where, name):
            continue
        try:
            add(_argument(reading, where, name, parameter, deepest))
        except TooManyPartsError:
            raise
        except PrerequisiteError as err:
            if where == "path" or parameter.get("required"):
                raise
            left[name] = str(err)
    kind, whole_body, of_body = _body(reading, operation.own, deepest, found)
    for one in of_body:
        add(one)
    return found.values(), kind, whole_body, left


def _argument(reading: Reading, where: str, name: str, parameter: Mapping[str, Any], deepest: int) -> _Argument:
    schema = parameter.get("schema")
    style = _style(where, name, parameter) if where in STYLES else ""
    if "content" in parameter:
        kind, media = next(iter(parameter["content"].items()))
        schema, style = media.get("schema", {}), JSON_STYLE if is_json(kind) else style
    if where not in STYLES:
        raise PrerequisiteError(f"parameter '{name}' is in the '{str(where)[:_LONGEST_STYLE]}', where none can be sent.")
    short = shorten(reading, schema or {}, deepest)
    if isinstance(said := parameter.get("description"), str) and said:
        short["description"] = said
    if "examples" not in short and (examples := _examples(reading, parameter)):
        short["examples"] = examples
    reading.spend(sum(reading.size(short.get(key)) for key in ("description", "examples")))
    return _Argument(name, short, where == "path" or bool(parameter.get("required")), where, schema or {}, style)


def _style(where: str, name: str, parameter: Mapping[str, Any]) -> str:
    """Return how a parameter, or a property of a form, is written; empty for the default of its place."""
    usual = STYLES[where][0]
    style = parameter.get("style", usual)
    if style not in STYLES[where]:
        raise PrerequisiteError(f"parameter '{name}' has the style '{str(style)[:_LONGEST_STYLE]}', which no {where} has.")
    written = style + "*" * bool(parameter.get("explode", style == "form")) + "+" * bool(parameter.get("allowReserved") and where == "query")
    return "" if written == usual + ("*" if usual == "form" else "") else written


def _body(reading: Reading, operation: Mapping[str, Any], deepest: int, taken: Collection[str]) -> tuple[str | None, str, list[_Argument]]:
    """Return the media type of the first body that is JSON, else a form, else a text; the argument that it is, if one; and its arguments."""
    body = reading.resolve(operation.get("requestBody", {}))
    content: Mapping[str, Any] = body.get("content", {})
    if not content and not body.get("required"):
        return None, "", []
    texts = (kind for kind in content if _is_text(reading, content[kind], kind))
    if (kind := (*filter(is_json, content), *filter(is_form, content), *texts, None)[0]) is None:
        raise PrerequisiteError(f"it takes a body that is not JSON, a form or text ({', '.join(content) or 'no content type given'}).")
    schema = content[kind].get("schema", {})
    short, required = shorten(reading, schema, deepest + 1), bool(body.get("required"))
    written = "application/json" if "*" in kind else kind
    raw = dict[str, list[Any]]()
    _collect(reading, schema, raw)
    choices = [name for key in ("anyOf", "oneOf") for option in short.get(key, ()) for name in option.get("properties", ())]
    if "properties" not in short or not {*choices} <= raw.keys() or not (is_json(kind) or is_form(kind)):
        name = next(name for name in ("body", "request_body", "whole_request_body") if name not in taken)
        return written, name, [_Argument(name, short, required, "body", schema)]
    forms = content[kind].get("encoding", {}) if is_form(kind) else {}
    arguments = [
        _Argument(
            name,
            part,
            required and name in short.get("required", ()),
            "body",
            raw[name][0] if len(raw[name]) == 1 else {"allOf": raw[name]},
            _style("query", name, forms[name]) if {"style", "explode"} & {*forms.get(name, ())} else "",
        )
        for name, part in short.get("properties", {}).items()
    ]
    return written, "", arguments


def _is_text(reading: Reading, media: Mapping[str, Any], kind: str) -> bool:
    """Return whether a model can write a body: text, or what is declared as one and is no file."""
    schema = reading.resolve(media.get("schema", {}))
    main = kind.partition("/")[0].lower()
    file = main in ("multipart", "image", "audio", "video") or "octet-stream" in kind or schema.get("format") in ("binary", "byte")
    return main == "text" or (schema.get("type") == "string" and not file)


def _collect(reading: Reading, schema: Mapping[str, Any], found: dict[str, list[Any]], depth: int = 0) -> None:
    """Collect the properties of a schema as they are declared, with those that `shorten` merges with them."""
    schema = reading.resolve(schema)
    options = [[one for one in schema.get(key, ()) if one.get("type") != "null"] for key in ("anyOf", "oneOf")]
    for part in (*schema.get("allOf", ()), *(one[0] for one in options if len(one) == 1)) if depth < _DEEPEST else ():
        _collect(reading, part, found, depth + 1)
    for name, part in schema.get("properties", {}).items():
        found.setdefault(name, []).append(part)


def _examples(reading: Reading, parameter: Mapping[str, Any]) -> list[Any]:
    if "example" in parameter:
        return [parameter["example"]]
    named = (reading.resolve(example) for example in parameter.get("examples", {}).values())
    return [example["value"] for example in named if "value" in example]
