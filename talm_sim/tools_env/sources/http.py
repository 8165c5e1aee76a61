"""Tools over HTTP, with `requests`: the built-in service's and those of any OpenAPI document."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import requests
import urllib3
from requests.adapters import HTTPAdapter

from talm_sim.credentials import Hider, credentials_in_environment
from talm_sim.errors import ProviderError
from talm_sim.recordings import HttpRequest, HttpResponse
from talm_sim.tools_env.restarts import Recovered, on_restart
from talm_sim.tools_env.routes import LOGICAL_HOST, build_request, too_large
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.sources.limits import ACCEPTED_ENCODINGS, AnswerTooLarge, Unpacker
from talm_sim.types import JsonObject, Route, ToolSpec

__all__ = ["HttpSource", "HttpTools", "Proof"]

_PIECE = 64 * 1024
_BROKEN = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
"""What a call meets whose server cannot be reached, or goes away before it has answered to the end."""


@dataclass(frozen=True, slots=True)
class HttpTools:
    """What a description of an HTTP service says of its tools; attributes as of `ToolSource`."""

    specs: Mapping[str, ToolSpec]
    routes: Mapping[str, Route]
    responses: Mapping[str, JsonObject] = field(default_factory=dict)
    not_taken: Sequence[NotTaken] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """What every request proves its sender by; it enters no recording.

    Attributes:
        headers: Sent with each request.
        query: Added to the query string of each.
        secret: What is hidden in answers.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    secret: str = ""


class HttpSource:
    """Sends the calls of one service's tools.

    Args:
        base_url: Address of the tools.
        tools: What they are.
        name: The source's; it stands before the paths in `tools.routes`, and is not sent.
        connections: Requests in flight.
        timeout: Seconds one request may take.
        recover: Told an address that does not answer, says where to send a reading call again; None: it is not sent again.
        proof: What proves the sender.
    """

    def __init__(
        self,
        base_url: str,
        tools: HttpTools,
        *,
        name: str = "",
        connections: int = 64,
        timeout: float = 30.0,
        recover: Callable[[str], Recovered] | None = None,
        proof: Proof = Proof(),
    ) -> None:
        self.name = name
        self.specs, self.routes = tools.specs, tools.routes
        self.responses, self.not_taken = tools.responses, tools.not_taken
        self.base_url = base_url
        self._logical = f"{LOGICAL_HOST}/{name}" if name else LOGICAL_HOST
        self._timeout = timeout
        self._recover = recover
        self._proof = proof
        self._hide = Hider.knowing(credentials_in_environment(), tuple(filter(None, [proof.secret])))
        self._executor = ThreadPoolExecutor(connections, thread_name_prefix="tool")
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers["Accept-Encoding"] = ACCEPTED_ENCODINGS
        adapter = HTTPAdapter(pool_maxsize=connections)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call; see `ToolSource`."""
        return await self.send(build_request(self.routes[tool], arguments, headers_apart=True))

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request that is on the logical host.

        Raises:
            ProviderError: The tools cannot be reached, or broke the connection of a call that must not be made twice.
            ToolsGoneError: They died, and do so again.
            TimeoutError: The tool did not answer in time.
        """
        what = f"source '{self.name}'" if self.name else "tool service"
        run = asyncio.get_running_loop().run_in_executor
        while True:
            address = self.base_url
            try:
                return await run(self._executor, self._send, request, address)
            except _BROKEN as err:
                failure = f"The {what} does not answer: {type(err).__name__}."
            except requests.Timeout:
                raise TimeoutError from None
            except requests.RequestException as err:
                raise ProviderError(f"The {what} cannot be asked: {type(err).__name__}.") from None
            if self._recover is not None:
                found = await run(self._executor, self._recover, address)
                self.base_url = found.address
                if found.died and (tell := on_restart.get()) is not None:
                    tell(found.died)
            if request.method != "GET":
                raise ProviderError(f"The {what} broke the connection.")
            if self.base_url == address:
                raise ProviderError(failure)

    def _send(self, request: HttpRequest, address: str) -> HttpResponse:
        url = address.rstrip("/") + request.url.removeprefix(self._logical)
        try:
            return self._request(request, url)
        except _BROKEN:
            # A server may close an idle connection just as it is taken from the pool: a reading call is safe to send again.
            if request.method != "GET":
                raise
            return self._request(request, url)

    def _request(self, request: HttpRequest, url: str) -> HttpResponse:
        # Another address may be another host, which nobody named, and would be told the proof.
        with self._session.request(
            request.method,
            url,
            params=dict(self._proof.query),
            data=request.body,
            headers={**request.headers, **self._proof.headers},
            timeout=self._timeout,
            allow_redirects=False,
            stream=True,
        ) as answer:
            try:
                body = _body(answer, time.monotonic() + self._timeout)
            except AnswerTooLarge:
                return too_large(answer.status_code)
            return HttpResponse(answer.status_code, answer.reason, tuple(answer.headers.items()), self._hide.body(body))

    async def aclose(self) -> None:
        """Close connections and threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._session.close()


def _body(answer: requests.Response, until: float) -> bytes:
    """The body of an answer, read to its end, so that the connection can be used again.

    Args:
        answer: Of which only the head was read.
        until: When to stop, by the monotonic clock: a limit on each read alone lets a slow server go on for ever.

    Raises:
        AnswerTooLarge: It is longer than is read.
        requests.RequestException: It breaks off, takes too long, or is damaged.
    """
    unpacker = Unpacker(answer.headers.get("content-encoding", ""))
    parts = []
    try:
        for part in answer.raw.stream(_PIECE, decode_content=False):
            parts.append(unpacker.feed(part))
            if time.monotonic() > until:
                raise requests.ReadTimeout
    except zlib.error:
        raise requests.exceptions.ContentDecodingError from None
    except urllib3.exceptions.ReadTimeoutError:
        raise requests.ReadTimeout from None
    except urllib3.exceptions.HTTPError as err:
        raise requests.exceptions.ChunkedEncodingError(str(err)) from None
    return b"".join(parts)
