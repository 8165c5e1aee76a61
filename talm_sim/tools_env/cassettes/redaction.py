"""Secrets stay out of recordings: what is sent in headers, in the query, in JSON bodies, and what a server echoes back.

A request is redacted before it is stored and before it is looked up, so a redacted value still matches at replay.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from talm_sim.tools_env.cassettes.http import HttpRequest, HttpResponse

__all__ = ["REDACTED", "Redactor", "secrets_in_environment"]

REDACTED = "REDACTED"
_SECRET_NAME = re.compile(r"(?:^|[_-])(?:api[_-]?key|key|token|secret|password|passwd|authorization|credential)s?$", re.IGNORECASE)
_COUNTED_TOKENS = re.compile(r"tokens?$", re.IGNORECASE)
"""`max_tokens` and `next_token` are no secrets by name alone; only these exact names ending in token are taken for one."""
_TOKEN_NAMES = re.compile(r"^(?:access|auth|refresh|id|session|api|bearer)?[_-]?token$", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,})"
)
_KEPT_REQUEST_HEADERS = frozenset({"accept", "content-type"})
_KEPT_RESPONSE_HEADERS = frozenset({"content-type", "location", "retry-after", "retry-after-ms"})
"""Everything else says when and by which machine the answer was made; it would bloat the files and could identify somebody."""
_ENVIRONMENT_NAME = re.compile(r"(?:_API_KEY|_TOKEN|_SECRET|_PASSWORD)$")
_SHORTEST_SECRET = 8


def secrets_in_environment(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Values of environment variables whose name says they are secret, longest first."""
    values = {value for name, value in (environ or os.environ).items() if _ENVIRONMENT_NAME.search(name) and len(value) >= _SHORTEST_SECRET}
    return tuple(sorted(values, key=len, reverse=True))


class Redactor:
    """Takes secrets out of requests, responses and messages.

    Args:
        secrets: Literal values to hide wherever they stand; those of the environment by default.
    """

    def __init__(self, secrets: Iterable[str] | None = None) -> None:
        known = secrets_in_environment() if secrets is None else tuple(secrets)
        self._literal = re.compile("|".join(map(re.escape, known))) if known else None

    def text(self, text: str) -> str:
        """Hide known secrets and whatever has a key's shape."""
        if self._literal:
            text = self._literal.sub(REDACTED, text)
        return _SHAPES.sub(REDACTED, text)

    def request(self, request: HttpRequest) -> HttpRequest:
        """Return what may be stored of a request: no credentials in headers, query or JSON body."""
        headers = {name: value for name, value in request.headers.items() if name.lower() in _KEPT_REQUEST_HEADERS}
        return HttpRequest(request.method, self.text(_clean_url(request.url)), headers, self._body(request.body))

    def response(self, response: HttpResponse) -> HttpResponse:
        """Return what may be stored of a response."""
        headers = tuple((name, self.text(value)) for name, value in response.headers if name.lower() in _KEPT_RESPONSE_HEADERS)
        try:
            body = self.text(response.body.decode()).encode()
        except UnicodeDecodeError:
            body = response.body
        return HttpResponse(response.status, response.reason, headers, body)

    def _body(self, body: bytes | None) -> bytes | None:
        if not body:
            return body
        try:
            value = json.loads(body)
        except ValueError:
            return self.text(body.decode(errors="replace")).encode()
        return self.text(json.dumps(_clean(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)).encode()


def _is_secret(name: str) -> bool:
    if _COUNTED_TOKENS.search(name):
        return _TOKEN_NAMES.match(name) is not None
    return _SECRET_NAME.search(name) is not None


def _clean_url(url: str) -> str:
    if "?" not in url and "@" not in url:
        return url
    parts = urlsplit(url)
    pairs = [(name, REDACTED if _is_secret(name) else value) for name, value in parse_qsl(parts.query, keep_blank_values=True)]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, urlencode(pairs), ""))


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: REDACTED if isinstance(item, str) and _is_secret(key) else _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
