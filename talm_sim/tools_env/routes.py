"""Write a tool's call as an HTTP request on the logical host: recordings of every source consist of such requests."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from email.message import Message
from typing import Any
from urllib.parse import quote, unquote

from pydantic_core import to_json

from talm_sim.common.json_values import read_json
from talm_sim.errors import ToolError
from talm_sim.recordings import FAULT_HEADER, STATE_HEADER, HttpRequest, HttpResponse
from talm_sim.tools_env.styles import JSON_STYLE, in_header, in_path, in_query
from talm_sim.types import Route

LOGICAL_HOST = "http://tools.invalid"
"""Replaces the tools' base address, so that recordings fit every port."""
TOO_LARGE = "answer_too_large"
"""Reason code of an answer of which not all was read."""
NOT_EXECUTABLE = "not_executable"
"""Reason code of a call of a tool that is described and that nothing executes."""
FUNCTION_ERROR = "function_error"
"""Reason code of an error that a function raised, whose message is shown as it is."""
_FAULTS = (TOO_LARGE, NOT_EXECUTABLE, FUNCTION_ERROR)
_DECODED = 4
"""How often servers, one after another, may decode a path."""
_JSON = (("content-type", "application/json"),)


def build_request(route: Route, arguments: Mapping[str, Any], *, headers_apart: bool = False) -> HttpRequest:
    """Turn a tool call into its HTTP request on the logical host.

    Arguments fill the `{name}` parts of the path first. Those that `route.query`, `route.header` and `route.cookie` name go to the query
    string; the others to the body where the route has one, else to the query string as well. There, null leaves an argument out.

    Args:
        route: The way to the tool.
        arguments: Its arguments.
        headers_apart: Whether header and cookie arguments are sent as such, as on the wire; in a recording they are in the query string.

    Raises:
        ToolError: An argument would leave its place in the path.
    """
    path, rest = fill_path(route, arguments)
    body_type = route.body or (_JSON[0][1] if route.body is not None and route.method in {"POST", "PUT", "PATCH"} else "")
    aside = (*route.query, *route.header, *route.cookie)
    beside = {name: rest.pop(name) for name in sorted(rest) if not body_type or name in aside}
    beside = {name: value for name, value in beside.items() if value is not None}
    headers = {name: in_header(name, beside.pop(name), route.styles.get(name, "simple")) for name in route.header if name in beside}
    cookies = {name: in_query(name, beside.pop(name), route.styles.get(name, "form*")) for name in route.cookie if name in beside}
    pairs = {name: in_query(name, value, route.styles.get(name, "form*")) for name, value in beside.items()}
    if not headers_apart:
        pairs |= {name: in_query(name, text) for name, text in {**headers, **{name: "; ".join(one) for name, one in cookies.items()}}.items()}
        headers = {}
    elif crumbs := [pair for one in cookies.values() for pair in one]:
        headers["Cookie"] = "; ".join(crumbs).replace("+", "%20")
    url = LOGICAL_HOST + path + (f"?{'&'.join(pair for name in sorted(pairs) for pair in pairs[name])}" if pairs else "")
    body = _body(route, body_type, rest) if body_type else None
    return HttpRequest(route.method, url, headers if body is None else {"Content-Type": body_type, **headers}, body)


def _body(route: Route, body_type: str, arguments: Mapping[str, Any]) -> bytes | None:
    """Return the body that arguments make; None where nothing of it is given and the method does not always have one."""
    if not arguments and (route.bare or route.method in {"GET", "DELETE"}):
        return None
    value = arguments[route.bare] if route.bare else arguments
    if is_form(body_type) and isinstance(value, Mapping):
        styles = {name: route.styles.get(name, JSON_STYLE if isinstance(one, dict) else "form*") for name, one in value.items()}
        return "&".join(pair for name, one in sorted(value.items()) for pair in in_query(name, one, styles[name]) if one is not None).encode()
    return (value if isinstance(value, str) and not is_json(body_type) else json.dumps(value, sort_keys=True)).encode()


def is_json(kind: str) -> bool:
    """Return whether a media type is JSON."""
    bare = kind.partition(";")[0].strip().lower()
    return bare in {"*/*", "application/*"} or bare.endswith(("/json", "+json"))


def is_form(kind: str) -> bool:
    """Return whether a media type is that of a form."""
    return kind.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded"


def fill_path(route: Route, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Put arguments into a route's path; return it, and the other arguments.

    Raises:
        ToolError: A segment would be empty, `.` or `..`: another operation than the tool's would be called.
    """
    rest = dict(arguments)
    given = {name: rest.pop(name) for name in arguments if "{" + name + "}" in route.path}
    segments = []
    for segment in route.path.split("/"):
        filled, names = segment, [name for name in given if "{" + name + "}" in segment]
        for name in names:
            filled = filled.replace("{" + name + "}", in_path(name, given[name], route.styles.get(name, "simple")))
        if names and (not filled or leads_away(filled) or any(given[name] is None for name in names)):
            raise ToolError(
                f"Invalid arguments at {', '.join(names)}: in the path of this tool, no part may be empty, '.' or '..'.", "invalid_arguments"
            )
        segments.append(filled)
    return "/".join(segments), rest


def leads_away(path: str) -> bool:
    """Return whether a server, or a proxy before it, may read a path as another one: a segment of it is `.` or `..`, in any spelling.

    >>> [leads_away(path) for path in ("/a/../b", "/%2e%2E/b", "/a/..;x/b", "/a%2F..%5Cb", "/v1.2/...", "/a/%252e")]
    [True, True, True, True, False, True]
    """
    return not {".", ".."}.isdisjoint(_parts(path))


def _parts(path: str) -> list[str]:
    """Return the segments of a path as the most lenient reader decodes it."""
    if not path.isascii() or "%" in path:
        for _ in range(_DECODED):
            path = unquote(path)
        path = unicodedata.normalize("NFKC", path)
    return [segment.partition(";")[0].strip() for segment in re.split(r"[/\\]", path)]


def posted(source: str, tools: Iterable[str], *, asks: bool = False) -> dict[str, Route]:
    """Return routes of tools that are not reached over HTTP: each call is recorded as one POST to `/<source>/<tool>`.

    Args:
        source: The source's name.
        tools: Their names.
        asks: Whether they may ask a person while a call of theirs runs.
    """
    return {tool: Route(method="POST", path=f"/{quote(source, safe='')}/{quote(tool, safe='')}", asks=asks) for tool in tools}


def answer(value: Any) -> HttpResponse:
    """Return the result of a tool that is not reached over HTTP, as the answer that is recorded; anything but JSON becomes its text.

    A value that contains itself, or a number that JSON lacks, is the tool's failure.
    """
    try:
        try:
            body = to_json(value, fallback=str)
        except ValueError:  # it holds broken bytes, or half a character
            body = json.dumps(value, default=str).encode()
        if b"NaN" in body or b"Infinity" in body:
            json.loads(body, parse_constant=_refuse)
    except (TypeError, ValueError, RecursionError) as err:
        return function_error(f"{type(err).__name__}: {err}")
    return HttpResponse(200, "OK", _JSON, body)


def as_json(response: HttpResponse) -> HttpResponse:
    """Return an answer that is no JSON, by its header if it has one, as its text, in JSON; a file that is no text says its size and type.

    A success without a body, and a JSON object or list under another name, stay as they are.
    """
    named = Message()
    body = response.body.strip()
    # Without a header, what begins as an object or a list is JSON, which may be damaged.
    unsaid = _JSON[0][1] if body[:1] in (b"{", b"[") or body == b"null" or read_json(body) is not None else "text/plain"
    named["content-type"] = next((value for name, value in response.headers if name.lower() == "content-type"), "") or unsaid
    charset = named.get_content_charset("utf-8")
    if not response.body.strip() or fault_of(response) or (is_json(named["content-type"]) and charset == "utf-8"):
        return response
    try:
        text = response.body.decode(charset, "replace" if named.get_content_maintype() == "text" else "strict")
    except LookupError:
        text = response.body.decode("utf-8", "replace")
    except UnicodeError:
        text = f"[{len(response.body):,} bytes of {named.get_content_type()}]"
    is_value = is_json(named["content-type"]) or isinstance(read_json(text), dict | list)
    kept = [one for one in response.headers if one[0].lower() != "content-type"]
    return replace(
        response, headers=(*kept, *_JSON), body=(text if is_value else json.dumps(text, ensure_ascii=False)).encode("utf-8", "replace")
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"its result holds {constant}, which is no JSON value")


def failure(status: int, message: str) -> HttpResponse:
    """Return the same for a tool that failed; half a character in its message becomes a question mark."""
    return HttpResponse(status, "Error", _JSON, json.dumps({"detail": message}, ensure_ascii=False).encode("utf-8", "replace"))


def function_error(message: str) -> HttpResponse:
    """Return the same for a function that raised an error whose message is shown as it is, without a status of HTTP."""
    made = failure(500, message)
    return replace(made, headers=(*made.headers, (FAULT_HEADER, FUNCTION_ERROR)))


def oversized_response(status: int) -> HttpResponse:
    """Return what is recorded of an answer that is too large to be read: a header says so, in place of the body."""
    return HttpResponse(status, "Answer Too Large", (*_JSON, (FAULT_HEADER, TOO_LARGE)), b"{}")


def unexecuted_response() -> HttpResponse:
    """Return the response recorded for a call that nothing executes."""
    return HttpResponse(501, "Not Implemented", (*_JSON, (FAULT_HEADER, NOT_EXECUTABLE)), b"{}")


def fault_of(response: HttpResponse) -> str:
    """Return the reason code of a failed answer: not taken, a function's own error, or a call that nothing executes; else empty."""
    found = response.header(FAULT_HEADER)
    return found if found in _FAULTS else ""


def with_states(response: HttpResponse, before: str, after: str) -> HttpResponse:
    """Return an answer that also says the digests of the state of the episode's own tools before and after the call."""
    return replace(response, headers=(*response.headers, (STATE_HEADER, f"{before} {after}")))


def states_of(response: HttpResponse) -> tuple[str, str]:
    """Return the digests that `with_states` gave an answer; empty if it has none."""
    before, _, after = response.header(STATE_HEADER).partition(" ")
    return before, after
