"""vcrpy's cassette with an index in front of its linear search, and checks on what a file from elsewhere may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vcr.cassette import Cassette
from vcr.matchers import requests_match
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.serialize import deserialize, serialize
from vcr.serializers import jsonserializer

from talm_sim.recordings.http import HttpRequest, HttpResponse
from talm_sim.recordings.matching import MATCHERS, canonical_key, exact_key, has_redacted_value

__all__ = ["IndexedCassette", "vcr_request", "vcr_response"]

Hide = Callable[[Request], Request]


class IndexedCassette(Cassette):  # type: ignore[misc]  # vcrpy has no types
    """A cassette that looks a request up; vcrpy's matchers still decide.

    Which entry is the next to play is the caller's business (`vcr.cassette.Cassette` itself can serve one player only), so nothing here
    counts plays.

    Args:
        text: Content of the file; None for a new one.
        hide: Takes secrets out of a request.
    """

    def __init__(self, text: str | None, hide: Hide) -> None:
        super().__init__(path="", serializer=jsonserializer, persister=_Text(text), record_mode=RecordMode.NEW_EPISODES, match_on=MATCHERS)
        self.entries: list[tuple[str, int]] = []
        """For each interaction its exact key, and how many before it have the same."""
        self.answers: list[HttpResponse] = []
        self._hide = hide
        self._exact: dict[str, list[int]] = {}
        self._canonical: dict[str, list[int]] = {}
        self._safe: list[Request] = []

    def append(self, request: Request, response: Mapping[str, Any]) -> None:
        """Add an interaction whose secrets are out already.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: It is none.
        """
        if not all(isinstance(text, str) for text in (request.method, request.uri, *request.headers.values())):
            raise TypeError("a request's method, address or header is not text")
        answer, key = _check_response(response), exact_key(request)
        super().append(request, response)
        same = self._exact.setdefault(key, [])
        self.entries.append((key, len(same)))
        self.answers.append(answer)
        same.append(len(self.entries) - 1)

    def _responses(self, request: Request) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Places and contents of the interactions that answer `request`: those that equal it as it stands, then all that mean the same."""
        for place in self._exact.get(exact_key(request), ()):
            stored, response = self.data[place]
            if requests_match(request, stored, self._match_on):
                yield place, response
        safe, safe_requests = self._hide(request), self.safe_requests()
        for places in (self._canonical.get(canonical_key(safe), ()), self._redacted_places()):
            for place in places:
                if requests_match(safe, safe_requests[place], self._match_on):
                    yield place, self.data[place][1]

    def places(self, request: Request) -> Iterator[int]:
        """Places of the interactions that answer `request`, the best first; some come more than once."""
        return (place for place, _ in self._responses(request))

    def answers_of(self, key: str) -> list[HttpResponse]:
        """What was answered to the requests of an exact key, in the recorded order."""
        return [self.answers[place] for place in self._exact.get(key, ())]

    def text(self) -> str:
        """The content of the file."""
        content: str = serialize(self._as_dict(), jsonserializer)
        return content

    def safe_requests(self) -> list[Request]:
        """The recorded requests without secrets. Redacted again: this machine may know secrets that the recording one did not."""
        # Done when a request is first not found as it stands: a replay hardly ever needs it, and it parses every body.
        for place in range(len(self._safe), len(self.data)):
            self._safe.append(self._hide(self.data[place][0]))
            self._canonical.setdefault(canonical_key(self._safe[place]), []).append(place)
        return self._safe

    def _redacted_places(self) -> list[int]:
        return [place for place, request in enumerate(self.safe_requests()) if has_redacted_value(request)]


class _Text:
    """vcrpy's persister for content that is in memory; `Tape` writes files."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def load_cassette(self, path: str, serializer: Any) -> Any:
        """Return requests and responses."""
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
        # JSON holds no bytes. So spelt they survive in our own reading; plain vcrpy can play all interactions of the file but this one.
        body = response.body.decode("utf-8", "surrogateescape")
    return {"status": {"code": response.status, "message": response.reason}, "headers": headers, "body": {"string": body}}


def _check_response(response: Mapping[str, Any]) -> HttpResponse:
    """Read a response as vcrpy stores it, and refuse what is none: a cassette may come from anywhere."""
    status = response["status"]
    code, message = status["code"], status["message"]
    if not isinstance(code, int) or not 100 <= code <= 599:
        raise ValueError(f"{code!r} is not an HTTP status")
    headers = tuple((name, value) for name, values in response["headers"].items() for value in values)
    if not all(isinstance(value, str) for _, value in headers):
        raise TypeError("a header's value is not text")
    body = response["body"]["string"] or b""
    return HttpResponse(code, message or "", headers, body if isinstance(body, bytes) else body.encode("utf-8", "surrogateescape"))
