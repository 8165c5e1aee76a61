"""A cassette in memory: vcrpy's file format and matchers behind an index, shared by the episodes that play it.

Nothing is patched: two open cassettes in threads or tasks would write each other's traffic.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from vcr import matchers
from vcr.request import Request
from vcr.serialize import deserialize, serialize
from vcr.serializers import jsonserializer

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.tools_env.cassettes.http import HttpRequest, HttpResponse
from talm_sim.tools_env.cassettes.redaction import Redactor

__all__ = ["Player", "Tape", "current_player", "write_atomically"]

_MATCHERS = (matchers.method, matchers.scheme, matchers.host, matchers.path, matchers.query, matchers.body)
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class _Entry:
    request: HttpRequest
    response: HttpResponse


class Tape:
    """One cassette.

    Args:
        name: What error messages call it.
        text: The file's content; empty for a new cassette.
        path: Where to save; None for a cassette that is only played.
        redactor: Hides secrets.

    Raises:
        PrerequisiteError: The content is no cassette.
    """

    def __init__(self, name: str, text: str = "", *, path: Path | None = None, redactor: Redactor | None = None) -> None:
        self.name = name
        self.redactor = redactor or Redactor()
        self._path = path
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []
        self._index: dict[str, list[int]] = {}
        self._unsaved = False
        for entry in _parse(name, text) if text else ():
            self._add(entry)

    def _add(self, entry: _Entry) -> str:
        key = _key(entry.request)
        self._index.setdefault(key, []).append(len(self._entries))
        self._entries.append(entry)
        return key

    def find(self, request: HttpRequest, played: Mapping[str, int]) -> tuple[str, HttpResponse | None]:
        """Return the key of a redacted request and the first answer to it that is not played yet."""
        key = _key(request)
        places = self._index.get(key, ())
        turn = played.get(key, 0)
        return key, self._entries[places[turn]].response if turn < len(places) else None

    def append(self, request: HttpRequest, response: HttpResponse) -> str:
        """Add a redacted exchange and return its key."""
        with self._lock:
            self._unsaved = True
            return self._add(_Entry(request, response))

    def save(self) -> None:
        """Write the file whole or not at all; nothing happens when there is nothing new."""
        with self._lock:
            if self._unsaved and self._path is not None:
                write_atomically(self._path, self._serialize())
                self._unsaved = False

    def _serialize(self) -> str:
        pairs = [(_vcr_request(entry.request), _vcr_response(entry.response)) for entry in self._entries]
        text: str = serialize({"requests": [request for request, _ in pairs], "responses": [answer for _, answer in pairs]}, jsonserializer)
        return text

    def explain_miss(self, request: HttpRequest, key: str) -> str:
        """Say which recording is nearest to `request` and what differs."""
        shown = f"{request.method} {request.url[:_SHOWN]}"
        if key in self._index:
            return f"{self.name}: {shown} was recorded {len(self._index[key])} time(s) and is asked once more."
        if not self._entries:
            return f"{self.name}: {shown} was not recorded; the recording is empty or absent."
        asked = _vcr_request(request)
        results = [(entry, matchers.get_matchers_results(asked, _vcr_request(entry.request), _MATCHERS)) for entry in self._entries]
        nearest, (_, failures) = max(results, key=lambda result: (len(result[1][0]), _common_prefix(request.body, result[0].request.body)))
        why = "; ".join(f"{name} differs" for name, _ in failures) or "the canonical body differs"
        detail = _difference(request.body, nearest.request.body) if any(name == "body" for name, _ in failures) else ""
        return f"{self.name}: {shown} was not recorded. Nearest: {nearest.request.method} {nearest.request.url[:_SHOWN]} ({why}{detail})."


class Player:
    """One episode's own cursor over a tape: repeats play in the recorded order and never wrap.

    Args:
        tape: The cassette.
        mode: `replay` raises on what is not recorded; `record` lets it through to be recorded.
    """

    def __init__(self, tape: Tape, mode: Traffic) -> None:
        self.mode = mode
        self.misses: list[str] = []
        self._tape = tape
        self._played: dict[str, int] = {}

    def lookup(self, request: HttpRequest) -> HttpResponse | None:
        """Return the recorded answer; None, in record mode, where there is none left.

        Raises:
            CassetteMissError: In replay, there is none.
        """
        safe = self._tape.redactor.request(request)
        key, response = self._tape.find(safe, self._played)
        if response is not None:
            self._played[key] = self._played.get(key, 0) + 1
            return response
        if self.mode is Traffic.REPLAY:
            self.misses.append(self._tape.explain_miss(safe, key))
            raise CassetteMissError(self.misses[-1])
        return None

    def record(self, request: HttpRequest, response: HttpResponse) -> None:
        """Add an exchange, without its secrets."""
        redactor = self._tape.redactor
        key = self._tape.append(redactor.request(request), redactor.response(response))
        self._played[key] = self._played.get(key, 0) + 1

    def save(self) -> None:
        """Write what is new."""
        self._tape.save()

    def counts(self) -> dict[str, int]:
        """How often each request was played, to be kept while the episode waits."""
        return dict(self._played)

    def restore(self, counts: Mapping[str, int]) -> None:
        """Go on where `counts` says."""
        self._played = dict(counts)


current_player: ContextVar[Player | None] = ContextVar("current_player", default=None)
"""The recording of the running episode's model traffic."""


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        PrerequisiteError: The directory cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as err:
        raise PrerequisiteError(f"{path.parent}: cannot be written ({err.strerror}); choose another --cassettes directory.") from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def _key(request: HttpRequest) -> str:
    text = f"{request.method} {request.url}".encode() + b"\n" + (request.body or b"")
    return sha256(text).hexdigest()[:24]


def _parse(name: str, text: str) -> list[_Entry]:
    try:
        requests, responses = deserialize(text, jsonserializer)[:2]
        return [_Entry(_from_vcr(request), _response_from_vcr(response)) for request, response in zip(requests, responses, strict=True)]
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise PrerequisiteError(
            f"{name}: not a readable cassette ({type(err).__name__}: {str(err)[:80]}); delete it and record again, or restore it."
        ) from None


def _from_vcr(request: Request) -> HttpRequest:
    body = request.body
    return HttpRequest(request.method, request.uri, dict(request.headers), None if body is None else _bytes(body))


def _response_from_vcr(response: Mapping[str, Any]) -> HttpResponse:
    headers = tuple((name, value) for name, values in response["headers"].items() for value in values)
    status = response["status"]
    return HttpResponse(int(status["code"]), str(status["message"]), headers, _bytes(response["body"]["string"]))


def _bytes(body: bytes | str) -> bytes:
    return body if isinstance(body, bytes) else body.encode()


def _vcr_request(request: HttpRequest) -> Request:
    return Request(request.method, request.url, request.body, dict(request.headers))


def _vcr_response(response: HttpResponse) -> dict[str, Any]:
    headers: dict[str, list[str]] = {}
    for name, value in response.headers:
        headers.setdefault(name, []).append(value)
    return {"status": {"code": response.status, "message": response.reason}, "headers": headers, "body": {"string": response.body}}


def _common_prefix(one: bytes | None, other: bytes | None) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(one or b"", other or b"", strict=False)) if a != b), min(len(one or b""), len(other or b""))
    )


def _difference(asked: bytes | None, recorded: bytes | None) -> str:
    at = max(0, _common_prefix(asked, recorded) - 20)
    pieces = [(body or b"")[at : at + 60].decode(errors="replace") for body in (asked, recorded)]
    return f": '...{pieces[0]}' against recorded '...{pieces[1]}'"
