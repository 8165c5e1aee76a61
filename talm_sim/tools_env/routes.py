"""How a tool's call is written as an HTTP request on the logical host: recordings of every source are made of such requests."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from pydantic_core import to_json

from talm_sim.errors import ToolError
from talm_sim.recordings import FAULT_HEADER, HttpRequest, HttpResponse
from talm_sim.types import Route

__all__ = [
    "LOGICAL_HOST",
    "NOT_EXECUTABLE",
    "TOO_LARGE",
    "answer",
    "build_request",
    "failure",
    "fault_of",
    "fill_path",
    "leads_away",
    "oversized_response",
    "posted",
    "unexecuted_response",
]

LOGICAL_HOST = "http://tools.invalid"
"""Stands for whatever base address the tools have, so recordings fit every port."""
TOO_LARGE = "answer_too_large"
"""Reason code of an answer of which not all was read."""
NOT_EXECUTABLE = "not_executable"
"""Reason code of a call of a tool that is described and that nothing executes."""
_DECODED = 4
"""Times that one server after another may decode a path."""
_JSON = (("content-type", "application/json"),)


def build_request(route: Route, arguments: Mapping[str, Any], *, headers_apart: bool = False) -> HttpRequest:
    """Turn a tool call into its HTTP request on the logical host.

    Arguments fill the `{name}` parts of the path first. Those that `route.query` and `route.header` name go to the query string; the others
    to a JSON body where the method takes one, else to the query string as well.

    Args:
        route: How the tool is reached.
        arguments: What it is called with.
        headers_apart: Whether arguments that travel as headers do so, as on the wire; in a recording they stand in the query string.

    Raises:
        ToolError: An argument would lead out of its place in the path.
    """
    path, rest = fill_path(route, arguments)
    headers = {name: _header(rest.pop(name)) for name in route.header if headers_apart and name in rest}
    has_body = route.method in {"POST", "PUT", "PATCH"}
    query = {name: rest.pop(name) for name in sorted(rest) if not has_body or name in (*route.query, *route.header)}
    pairs = [(name, _text(item)) for name, value in query.items() for item in (value if isinstance(value, list) else [value])]
    url = LOGICAL_HOST + path + ("?" + urlencode(pairs) if query else "")
    if not has_body:
        return HttpRequest(route.method, url, headers, None)
    return HttpRequest(route.method, url, {"Content-Type": "application/json", **headers}, json.dumps(rest, sort_keys=True).encode())


def fill_path(route: Route, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Put arguments into a route's path; return it, and the other arguments.

    Raises:
        ToolError: A segment would be empty, `.` or `..`: another operation than the tool's would be called.
    """
    rest = dict(arguments)
    given = {name: quote(_text(rest.pop(name)), safe="") for name in arguments if "{" + name + "}" in route.path}
    segments = []
    for segment in route.path.split("/"):
        filled, names = segment, [name for name in given if "{" + name + "}" in segment]
        for name in names:
            filled = filled.replace("{" + name + "}", given[name])
        parts = _parts(filled)
        if names and (not filled or ".." in parts or {"."} <= {*parts} <= {"", "."}):
            raise ToolError(
                f"Invalid arguments at {', '.join(names)}: in the path of this tool, no part may be empty, '.' or '..'.", "invalid_arguments"
            )
        segments.append(filled)
    return "/".join(segments), rest


def leads_away(path: str) -> bool:
    """Whether a server, or a proxy before it, may read a path as another one: a segment of it is `.` or `..`, in any spelling.

    >>> [leads_away(path) for path in ("/a/../b", "/%2e%2E/b", "/a/..;x/b", "/a%2F..%5Cb", "/v1.2/...", "/a/%252e")]
    [True, True, True, True, False, True]
    """
    return not {".", ".."}.isdisjoint(_parts(path))


def _parts(path: str) -> list[str]:
    """The segments of a path as the most generous reader decodes it."""
    if not path.isascii() or "%" in path:
        for _ in range(_DECODED):
            path = unquote(path)
        path = unicodedata.normalize("NFKC", path)
    return [segment.partition(";")[0].strip() for segment in re.split(r"[/\\]", path)]


def posted(source: str, tools: Iterable[str]) -> dict[str, Route]:
    """Routes of tools that are not reached over HTTP: each call is written down as one POST to `/<source>/<tool>`."""
    return {tool: Route(method="POST", path=f"/{quote(source, safe='')}/{quote(tool, safe='')}") for tool in tools}


def answer(value: Any) -> HttpResponse:
    """What a tool that is not reached over HTTP gave back, as the answer it is written down as; what is no JSON is given as its text.

    What holds itself, a number that JSON does not have, or half a character, is the tool's failure.
    """
    try:
        body = to_json(value, fallback=str)
        if b"NaN" in body or b"Infinity" in body:
            json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as err:
        return failure(500, f"{type(err).__name__}: {err}")
    return HttpResponse(200, "OK", _JSON, body)


def _refuse(constant: str) -> None:
    raise ValueError(f"its result holds {constant}, which is no JSON value")


def failure(status: int, message: str) -> HttpResponse:
    """The same for a tool that failed; of half a character in its message, a question mark is left."""
    return HttpResponse(status, "Error", _JSON, json.dumps({"detail": message}, ensure_ascii=False).encode("utf-8", "replace"))


def oversized_response(status: int) -> HttpResponse:
    """What is written down of an answer that is larger than is read: a header says so, in place of the body."""
    return HttpResponse(status, "Answer Too Large", (*_JSON, (FAULT_HEADER, TOO_LARGE)), b"{}")


def unexecuted_response() -> HttpResponse:
    """What is written down of a call that nothing executes."""
    return HttpResponse(501, "Not Implemented", (*_JSON, (FAULT_HEADER, NOT_EXECUTABLE)), b"{}")


def fault_of(response: HttpResponse) -> str:
    """Reason code of an answer that could not be taken, or of a call that nothing executes; empty for any other."""
    return next((value for name, value in response.headers if name.lower() == FAULT_HEADER and value in (TOO_LARGE, NOT_EXECUTABLE)), "")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _header(value: Any) -> str:
    # A line break would end the header, and what follows it be another one; and no header holds other control characters.
    return " ".join("".join(one if one >= " " and one != "\x7f" else " " for one in _text(value)).split())
