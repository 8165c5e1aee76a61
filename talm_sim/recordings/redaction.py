"""Secrets stay out of recordings: what is sent in headers, in the query, in bodies, and what a server echoes back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlencode, urlsplit, urlunsplit

from talm_sim.recordings.http import HttpRequest, HttpResponse

__all__ = ["REDACTED", "Redactor", "secrets_in_environment"]

REDACTED = "REDACTED"
_SECRET_NAMES = ("apikey", "accesskey", "secretkey", "privatekey", "subscriptionkey", "authorization", "credential", "credentials", "secret")
_SECRET_TOKENS = ("accesstoken", "authtoken", "bearertoken", "refreshtoken", "idtoken", "sessiontoken", "apitoken")
_DOUBTFUL_NAMES = frozenset({"key", "token", "auth", "sig", "signature", "appid", "sessionid"})
"""Such an argument may be a musical key or a page's token: only a value that looks random is hidden, or unequal requests would become equal.
Passwords are left alone for the same reason: a tool that rates them is asked about several, and the user's own never travel here."""
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{16,}")
_SHAPES = {
    start: re.compile(rf"{start}(?<!\w{start}){rest}")
    for start, rest in {
        "sk-": r"[\w-]{16,}",
        "gsk_": r"\w{20,}",
        **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"\w{20,}"),
        **dict.fromkeys(("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), r"[\w-]{10,}"),
        "AKIA": r"[0-9A-Z]{16}",
        "AIza": r"[\w-]{30,}",
        "hf_": r"\w{20,}",
    }.items()
}
"""How keys of well-known services look. Each pattern begins with its literal start: so written, looking for them costs next to nothing."""
_KEPT_REQUEST_HEADERS = frozenset({"content-type"})
_KEPT_RESPONSE_HEADERS = frozenset(
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
"""What a client acts on, and what a provider is asked about. The rest says when, how fast and by which machine the answer was made: it differs
at every recording, bloats the files, and may identify somebody."""
_ENVIRONMENT_NAME = re.compile(r"_(?:API_KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET = 8


def secrets_in_environment(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Values of environment variables whose name says they are secret, longest first."""
    variables = os.environ if environ is None else environ
    values = {value for name, value in variables.items() if _ENVIRONMENT_NAME.search(name) and len(value) >= _SHORTEST_SECRET}
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


class Redactor:
    """Takes secrets out of requests, responses and messages. Applying it twice changes nothing more.

    Args:
        secrets: Literal values to hide wherever they stand; those of the environment by default.
    """

    def __init__(self, secrets: Iterable[str] | None = None) -> None:
        self._literals: dict[str, str] = {}
        for secret in secrets_in_environment() if secrets is None else secrets:
            # A secret of digits may be echoed as a JSON number, which must stay one.
            hidden = "1" if secret.isdecimal() else REDACTED
            for form in (
                secret,
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
                quote(secret, safe=""),
                quote_plus(secret),
            ):
                self._literals.setdefault(form, hidden)

    def text(self, text: str) -> str:
        """Hide known secrets, as they are and as JSON or a URL would spell them, and whatever has a key's shape."""
        for literal, hidden in self._literals.items():
            if literal in text:
                text = text.replace(literal, hidden)
        for start, shape in _SHAPES.items():
            if start in text:
                text = shape.sub(REDACTED, text)
        return text

    def request(self, request: HttpRequest) -> HttpRequest:
        """Return what may be stored of a request. A body without secrets stays as it was sent, byte for byte."""
        headers = {name: self.text(value) for name, value in request.headers.items() if name.lower() in _KEPT_REQUEST_HEADERS}
        return HttpRequest(request.method, self.text(_clean_url(request.url)), headers, self._body(request))

    def response(self, response: HttpResponse) -> HttpResponse:
        """Return what may be stored of a response."""
        headers = tuple(
            (name, self.text(_clean_url(value) if name.lower() == "location" else value))
            for name, value in response.headers
            if name.lower() in _KEPT_RESPONSE_HEADERS
        )
        body = self.text(response.body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return HttpResponse(response.status, response.reason, headers, body)

    def _body(self, request: HttpRequest) -> bytes | None:
        if not request.body:
            return request.body
        # A request that is no text is only ever compared, never sent again.
        text = request.body.decode("utf-8", "backslashreplace")
        try:
            value = json.loads(text)
            cleaned = _clean(value)
            if cleaned != value:
                text = json.dumps(cleaned)
        except (ValueError, RecursionError):
            if _content_type(request.headers).startswith("application/x-www-form-urlencoded"):
                text = _clean_pairs(text)
        return self.text(text).encode()


def _is_secret(name: str, value: str) -> bool:
    plain = name.lower().replace("-", "").replace("_", "")
    if plain in _DOUBTFUL_NAMES:
        return _RANDOM.fullmatch(value) is not None
    return plain.endswith(_SECRET_NAMES) or plain.endswith(_SECRET_TOKENS)


def _clean_url(url: str) -> str:
    if "?" not in url and "@" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, _clean_pairs(parts.query), ""))


def _clean_pairs(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    cleaned = [(name, REDACTED if value and _is_secret(name, value) else value) for name, value in pairs]
    return query if cleaned == pairs else urlencode(cleaned)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: REDACTED if isinstance(item, str) and item and _is_secret(key, item) else _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def _content_type(headers: Mapping[str, str]) -> str:
    return next((value.lower() for name, value in headers.items() if name.lower() == "content-type"), "")
