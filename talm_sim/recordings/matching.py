"""Match a request with a recorded one: by vcrpy's matchers, and two of our own that know canonical JSON and redacted values."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from vcr import matchers
from vcr.request import Request

from talm_sim.common.credentials import REDACTED

_VALUE_ENDS = re.compile(r"[\s\"'&?{}\[\],;<>]")
"""Characters that no redacted value contains: a placeholder replaces one value, never several."""


def exact_key(request: Request) -> str:
    """Return the digest of a request exactly as it is."""
    return _digest(request.method, request.uri, request.body or b"")


def canonical_key(request: Request) -> str:
    """Return a digest that ignores the order of query pairs, and the order and white space of a JSON body."""
    parts = urlsplit(request.uri)
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    uri = urlunsplit((parts.scheme.lower(), parts.netloc.lower(), parts.path or "/", query, ""))
    return _digest(request.method, uri, canonical_body(request.body))


def canonical_body(body: bytes | None) -> bytes:
    """Return a JSON body with sorted keys and no spaces, and any other unchanged."""
    if not body:
        return b""
    try:
        return json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return body


def has_redacted_value(request: Request) -> bool:
    """Return whether something was redacted in a recorded request."""
    return REDACTED in request.uri or REDACTED.encode() in (request.body or b"")


def is_same_text(asked: str, recorded: str) -> bool:
    """Return whether two texts are the same; a redacted part of the second one matches any one value."""
    return asked == recorded or (REDACTED in recorded and _matches_pieces(asked, recorded.split(REDACTED)))


def path(asked: Request, recorded: Request) -> None:
    """Compare paths; a redacted part matches any one value."""
    _compare(asked.path or "/", recorded.path or "/")


def query(asked: Request, recorded: Request) -> None:
    """Compare query pairs in any order; a redacted value matches any one value."""
    if asked.parsed_uri.query != recorded.parsed_uri.query:
        one, other = (sorted(parse_qsl(request.parsed_uri.query, keep_blank_values=True)) for request in (asked, recorded))
        _compare(urlencode(one), urlencode(other))


def body(asked: Request, recorded: Request) -> None:
    """Compare bodies, JSON by value; a redacted value matches any one value."""
    if asked.body != recorded.body:
        one, other = (canonical_body(request.body).decode("utf-8", "replace") for request in (asked, recorded))
        _compare(one, other)


MATCHERS = (matchers.method, matchers.scheme, matchers.host, path, query, body)


def _compare(asked: str, recorded: str) -> None:
    if not is_same_text(asked, recorded):
        raise AssertionError(f"{asked} is not {recorded}")


def _matches_pieces(asked: str, pieces: list[str]) -> bool:
    """Return whether `asked` is `pieces` with one value between each two; this is linear, since a foreign recording may have many."""
    if not asked.startswith(pieces[0]):
        return False
    place, limit = len(pieces[0]), -1
    for number, piece in enumerate(pieces[1:], start=2):
        if limit < place:  # the end of a value is looked for once, however many pieces are in it
            end = _VALUE_ENDS.search(asked, place)
            limit = end.start() if end else len(asked)
        start = asked.rfind(piece) if number == len(pieces) else asked.find(piece, place + 1, limit + len(piece))
        if not place < start <= limit:
            return False
        place = start + len(piece)
    return place == len(asked)


def _digest(method: str, uri: str, body: bytes) -> str:
    return sha256(f"{method} {uri}\n".encode() + body).hexdigest()[:32]
