"""Put an index in front of the linear search of vcrpy's cassette, and check what a foreign file may contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic_core import from_json
from vcr.cassette import Cassette
from vcr.matchers import requests_match
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.serialize import deserialize, serialize
from vcr.serializers import jsonserializer

from talm_sim.common.ignored_parts import IgnoredParts
from talm_sim.recordings.http_exchange import HttpRequest, HttpResponse
from talm_sim.recordings.matching import MATCHERS, canonical_key, exact_key, has_redacted_value

Hide = Callable[[Request], Request]


class IndexedCassette(Cassette):  # type: ignore[misc]  # vcrpy has no types
    """A cassette that looks a request up; vcrpy's matchers still decide.

    The caller knows which entry is played next (`vcr.cassette.Cassette` itself can serve only one player), so nothing here counts plays.
    """

    def __init__(self, text: str | None, hide: Hide, ignored: IgnoredParts) -> None:
        super().__init__(path="", serializer=jsonserializer, persister=_Text(text), record_mode=RecordMode.NEW_EPISODES, match_on=MATCHERS)
        self.entries: list[tuple[str, int]] = []
        """The exact key of each interaction, and how many earlier ones have the same."""
        self.answers: list[HttpResponse] = []
        self._hide = hide
        self._exact: dict[str, list[int]] = {}
        self._as_long: dict[tuple[str, int], list[int]] = {}
        self._values: dict[int, Any] = {}
        self._canonical: dict[str, list[int]] = {}
        self._safe: list[Request] = []
        self._ignored = ignored
        self._stripped: dict[str, int] = {}
        self._seen = 0

    def append(self, request: Request, response: Mapping[str, Any]) -> None:
        """Add an interaction whose secrets are already removed.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: It is not an interaction.
        """
        if not all(isinstance(text, str) for text in (request.method, request.uri, *request.headers.values())):
            raise TypeError("a request's method, address or header is not text")
        answer, key = _check_response(response), exact_key(request)
        self.data.append((request, response))  # vcrpy's own way copies the response, which nobody changes here
        same = self._exact.setdefault(key, [])
        self.entries.append((key, len(same)))
        self.answers.append(answer)
        same.append(len(self.entries) - 1)
        self._as_long.setdefault((request.uri, len(request.body or b"")), []).append(len(self.entries) - 1)

    def _responses(self, request: Request) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield places and contents of the interactions that answer `request`: exact ones first, then those that mean the same."""
        alike = self.first_alike(self._hide(request)) if self._ignored.patterns else None
        for place in self._exact.get(exact_key(request), ()):
            stored, response = self.data[place]
            if requests_match(request, stored, self._match_on):
                yield place, response
        # An SDK writes the fields of a body in an order of its own. This is known without redaction, which is what takes the time.
        if (asked := _value(request)) is not None:
            for place in self._as_long.get((request.uri, len(request.body)), ()):
                stored, response = self.data[place]
                if place not in self._values:
                    self._values[place] = _value(stored)
                if stored.method == request.method and self._values[place] == asked:
                    yield place, response
        safe, safe_requests = self._hide(request), self.safe_requests()
        for places in (self._canonical.get(canonical_key(safe), ()), self._redacted_places()):
            for place in places:
                if requests_match(safe, safe_requests[place], self._match_on):
                    yield place, self.data[place][1]
        if alike is not None:
            yield from ((place, self.data[place][1]) for place in self._exact[self.entries[alike][0]])

    def first_alike(self, safe: Request) -> int | None:
        """Return the place of the first recorded request that is the same but for what is ignored; None if there is none.

        Raises:
            Ambiguous: Two recorded requests that differ are the same but for that.
        """
        recorded = self.safe_requests()
        for place in range(self._seen, len(recorded)):
            key = self._key(recorded[place])
            first = self._stripped.setdefault(key, place) if key else place
            if canonical_key(recorded[first]) != canonical_key(recorded[place]):
                raise Ambiguous(first, place)
            self._seen = place + 1
        return self._stripped.get(self._key(safe) or "none")

    def _key(self, safe: Request) -> str:
        """Return a key of what is not ignored of a request; empty if nothing is."""
        body = self._ignored.strip(safe.body)
        return "" if body is None else canonical_key(Request(safe.method, safe.uri, body, {}))

    def places(self, request: Request) -> Iterator[int]:
        """Return the places of the interactions that answer `request`, best first; some occur more than once."""
        return (place for place, _ in self._responses(request))

    def answers_of(self, key: str) -> list[HttpResponse]:
        """Return the answers to requests with an exact key, in the recorded order."""
        return [self.answers[place] for place in self._exact.get(key, ())]

    def text(self) -> str:
        """Return the content of the file."""
        content: str = serialize(self._as_dict(), jsonserializer)
        return content

    def safe_requests(self) -> list[Request]:
        """Return the recorded requests without secrets, redacted again: this machine may know secrets that the recording one did not."""
        # Done when a request is first not found exactly: a replay hardly ever needs it, and it parses every body.
        for place in range(len(self._safe), len(self.data)):
            self._safe.append(self._hide(self.data[place][0]))
            self._canonical.setdefault(canonical_key(self._safe[place]), []).append(place)
        return self._safe

    def _redacted_places(self) -> list[int]:
        return [place for place, request in enumerate(self.safe_requests()) if has_redacted_value(request)]


def _value(request: Request) -> Any:
    """Return the value of a body that is JSON; None of any other, and of none."""
    try:
        return from_json(request.body) if request.body else None
    except ValueError:
        return None


class Ambiguous(Exception):
    """Two recorded requests, given by their places, are the same but for what is ignored."""


class _Text:
    """vcrpy's persister for content that is in memory; `Tape` writes files."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def load_cassette(self, path: str, serializer: Any) -> Any:
        """Return the recorded requests and responses."""
        if self._text is None:
            raise CassetteNotFoundError
        return deserialize(self._text, serializer)


def vcr_request(request: HttpRequest) -> Request:
    """Turn our form of a request into vcrpy's."""
    return Request(request.method, request.url, request.body, request.headers)


def vcr_response(response: HttpResponse) -> dict[str, Any]:
    """Turn our form of a response into vcrpy's."""
    headers: dict[str, list[str]] = {}
    for name, value in response.headers:
        headers.setdefault(name, []).append(value)
    try:
        body: str | bytes = response.body.decode()
    except UnicodeDecodeError:
        # JSON cannot store bytes. Spelt like this, they survive our own reading; plain vcrpy can play all other interactions of the file.
        body = response.body.decode("utf-8", "surrogateescape")
    return {"status": {"code": response.status, "message": response.reason}, "headers": headers, "body": {"string": body}}


def _check_response(response: Mapping[str, Any]) -> HttpResponse:
    """Read a response as vcrpy stores it, and refuse anything else: a cassette may come from anywhere."""
    status = response["status"]
    code, message = status["code"], status["message"]
    if not isinstance(code, int) or not 100 <= code <= 599:
        raise ValueError(f"{code!r} is not an HTTP status")
    headers = tuple((name, value) for name, values in response["headers"].items() for value in values)
    if not all(isinstance(value, str) for _, value in headers):
        raise TypeError("a header's value is not text")
    body = response["body"]["string"] or b""
    return HttpResponse(code, message or "", headers, body if isinstance(body, bytes) else body.encode("utf-8", "surrogateescape"))
