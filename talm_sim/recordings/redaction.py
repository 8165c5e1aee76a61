"""Keep secrets out of recordings: those sent in headers, queries and bodies, and those that a server echoes.

In a model's tool calls, credentials are found by name, both in `function.arguments`, which is JSON in a string, and in `input`. A value that a
call takes from the conversation is kept: the recording contains it in plain words anyway, and a replay is measured by it. Request and response
are cleaned alike: what is hidden when the model says it is hidden whenever it is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from talm_sim.common.credentials import REDACTED, Hider, credentials_in_environment, keys_in
from talm_sim.recordings.http_exchange import OWN_HEADERS, HttpRequest, HttpResponse

_SECRET_NAMES = ("apikey", "accesskey", "secretkey", "privatekey", "subscriptionkey", "authorization", "credential", "credentials", "secret")
_SECRET_TOKENS = ("accesstoken", "authtoken", "bearertoken", "refreshtoken", "idtoken", "sessiontoken", "apitoken")
_DOUBTFUL_NAMES = frozenset({"key", "token", "auth", "sig", "signature", "appid", "sessionid"})
"""Names of arguments that may also be a musical key or a page's token: only a value that looks random is hidden, or different requests
would become equal. Passwords are not hidden for the same reason: a tool that rates them is asked about several, and the user's own are
never sent here.
"""
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{16,}")
_KEPT_REQUEST_HEADERS = frozenset({"content-type"})
_KEPT_RESPONSE_HEADERS = OWN_HEADERS | frozenset(
    {
        "content-encoding",
        "content-language",
        "content-type",
        "link",
        "location",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "www-authenticate",
        "x-request-id",
        "x-should-retry",
    }
)
"""Headers that a client acts on, or that a provider is asked about. The others say when, how fast and by which machine the answer was made:
they differ in every recording, bloat the files, and may identify somebody.
"""
_IsSecret = Callable[[str, str], bool]


class Redactor:
    """Removes secrets from requests, responses and messages. Applying it twice changes nothing more."""

    def __init__(self, secrets: Iterable[str] | None = None) -> None:
        self._hide = Hider(credentials_in_environment() if secrets is None else secrets)

    def text(self, text: str) -> str:
        """Hide known secrets and everything that looks like a key; see `Hider.text`."""
        return self._hide.text(text)

    def request(self, request: HttpRequest) -> HttpRequest:
        """Return what may be stored of a request. A body without secrets is unchanged, byte for byte."""
        headers = {name: self.text(value) for name, value in request.headers.items() if name.lower() in _KEPT_REQUEST_HEADERS}
        return HttpRequest(request.method, self.text(_redact_url(request.url)), headers, self._body(request))

    def response(self, response: HttpResponse, request: HttpRequest | None = None) -> HttpResponse:
        """Return what may be stored of a response.

        Args:
            response: The answer.
            request: The request that it answers; with it, a model's tool calls lose what they name a credential, see
                `hide_named_in_answer`.
        """
        headers = tuple(
            (name, self.text(_redact_url(value) if name.lower() == "location" else value))
            for name, value in response.headers
            if name.lower() in _KEPT_RESPONSE_HEADERS
        )
        body = response.body if request is None else hide_named_in_answer(response.body, request.body or b"", _is_secret)
        return HttpResponse(response.status, self.text(response.reason), headers, self._hide.body(body, of_model=True))

    def said_again(self, response: HttpResponse, request: HttpRequest) -> HttpResponse:
        """Return a recorded answer as it was given: what it repeats of the request was hidden in both, and is known again where it is one."""
        if REDACTED.encode() not in response.body or len(said := keys_in((request.body or b"").decode("utf-8", "replace"))) != 1:
            return response
        return replace(response, body=response.body.replace(REDACTED.encode(), next(iter(said)).encode()))

    def _body(self, request: HttpRequest) -> bytes | None:
        if not request.body:
            return request.body
        # A request that is not text is only ever compared, never sent again.
        text = request.body.decode("utf-8", "backslashreplace")
        try:
            value = json.loads(text)
            cleaned = _redact_value(_in_request(value, _is_secret))
            if cleaned != value:
                text = json.dumps(cleaned)
        except (ValueError, RecursionError):
            if _content_type(request.headers).startswith("application/x-www-form-urlencoded"):
                text = _redact_query(text)
        return self.text(text).encode()


def _is_secret(name: str, value: str) -> bool:
    plain = name.lower().replace("-", "").replace("_", "")
    if plain in _DOUBTFUL_NAMES:
        return _RANDOM.fullmatch(value) is not None
    return plain.endswith(_SECRET_NAMES) or plain.endswith(_SECRET_TOKENS)


def _redact_url(url: str) -> str:
    if "?" not in url and "@" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, _redact_query(parts.query), ""))


def _redact_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    cleaned = [(name, REDACTED if value and _is_secret(name, value) else value) for name, value in pairs]
    return query if cleaned == pairs else urlencode(cleaned)


def _redact_value(value: Any) -> Any:
    if isinstance(value, dict):
        if is_call(value):
            return value  # `in_request` has done this
        return {
            key: REDACTED if isinstance(item, str) and item and _is_secret(key, item) else _redact_value(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_redact_value(item) for item in value]
    return value


def _content_type(headers: Mapping[str, str]) -> str:
    return next((value.lower() for name, value in headers.items() if name.lower() == "content-type"), "")


def is_call(value: dict[str, Any]) -> bool:
    """Return whether this part of a body is a tool call, in either protocol."""
    return ("name" in value and isinstance(value.get("arguments"), str)) or _is_tool_use(value)


def _in_request(body: Any, is_secret: _IsSecret) -> Any:
    """Return a request's body in which tool calls have lost every value under a credential's name that was not said before."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return body
    given: list[str] = []
    cleaned = []
    for message in messages:
        given.extend(_texts(message))
        cleaned.append(_hide_arguments(message, given, is_secret))
    return {**body, "messages": cleaned}


def hide_named_in_answer(answer: bytes, asked: bytes, is_secret: _IsSecret) -> bytes:
    """Do the same for the answer to a request; an answer without such values is unchanged, byte for byte."""
    if b'"arguments"' not in answer and b'"tool_use"' not in answer:
        return answer
    try:
        value = json.loads(answer)
        cleaned = _hide_arguments(value, [*_texts(json.loads(asked)), *_texts(value)], is_secret)
    except (ValueError, RecursionError):
        return answer
    return answer if cleaned == value else json.dumps(cleaned).encode()


def _is_tool_use(value: dict[str, Any]) -> bool:
    return value.get("type") == "tool_use" and isinstance(value.get("input"), dict)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a body that are in plain words: all but those within tool calls."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict) and not is_call(value):
        for item in value.values():
            yield from _texts(item)


def _hide_arguments(value: Any, given: list[str], is_secret: _IsSecret) -> Any:
    if isinstance(value, list):
        return [_hide_arguments(item, given, is_secret) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_tool_use(value):
        return {**value, "input": _drop_arguments(value["input"], given, is_secret)}
    if is_call(value):
        return {**value, "arguments": _arguments(value["arguments"], given, is_secret)}
    return {key: _hide_arguments(item, given, is_secret) for key, item in value.items()}


def _arguments(text: str, given: list[str], is_secret: _IsSecret) -> str:
    try:
        cleaned = _drop_arguments(json.loads(text), given, is_secret)
    except (ValueError, RecursionError):
        return text
    # Written anew even if it was already hidden: a replayed call is spelt like the recorded one.
    return json.dumps(cleaned, sort_keys=True) if _has_redacted(cleaned) else text


def _drop_arguments(value: Any, given: list[str], is_secret: _IsSecret) -> Any:
    if isinstance(value, list):
        return [_drop_arguments(item, given, is_secret) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: REDACTED
        if isinstance(item, str) and item and is_secret(key, item) and not any(item in text for text in given)
        else _drop_arguments(item, given, is_secret)
        for key, item in value.items()
    }


def _has_redacted(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_redacted, value.values() if isinstance(value, dict) else value))
    return bool(value == REDACTED)
