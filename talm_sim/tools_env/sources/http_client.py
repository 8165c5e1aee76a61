"""Send requests to one server, and to no other; limit the size and time of an answer, including its head."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from functools import cache, lru_cache
from urllib.parse import quote

import httpx2

from talm_sim.common.http_body import ACCEPTED_ENCODINGS, AnswerTooLarge, read_body
from talm_sim.recordings import HttpResponse
from talm_sim.recordings.http_exchange import OWN_HEADERS
from talm_sim.tools_env.routes import leads_away, oversized_response
from talm_sim.tools_env.sources import base

_AGENT = "talm-sim"
_LITERAL = "/?%:@!$&'()*+,;=~-._"
"""Characters that are kept in a target; anything else is percent-encoded."""
_ONE_CONNECTION = httpx2.Limits(max_connections=1, max_keepalive_connections=1)


class WrongAddressError(Exception):
    """An address is not valid, or is not the server's."""


@lru_cache(maxsize=64)
def server_at(address: str) -> httpx2.URL:
    """Read a server's address; only its scheme, host, port and path count.

    Raises:
        WrongAddressError: It is not a plain HTTP address.
    """
    if not re.fullmatch(r"https?://[^\s\\@?#%{}/]+(/[^\s\\?#{}]*)?", address) or leads_away(address.split("://", 1)[1]):
        raise WrongAddressError
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL:
        raise WrongAddressError from None
    if not url.host or (url.port or 0) >= 2**16:
        raise WrongAddressError
    return url


class HttpClient:
    """Sends requests to a server over connections that are reused.

    Args:
        connections: Requests in flight.
        timeout: Seconds from the first byte sent to the last one read, even if a request is sent again.
        most: Bytes of an answer; None for the limit of a tool's.
    """

    def __init__(self, *, connections: int, timeout: float, most: int | None = None) -> None:
        self._gate = asyncio.Semaphore(connections)
        self._timeout = timeout
        self._most = most
        # A pool of many connections is searched with every request; with these, the last one used is tried first.
        self._idle: list[httpx2.AsyncHTTPTransport] = []

    async def ask(
        self, server: httpx2.URL, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> HttpResponse:
        """Send a request; send a reading one again if the connection breaks, because the server may have closed it while it was idle.

        Returns:
            The answer, or `routes.oversized_response` in its place.

        Raises:
            WrongAddressError: The target leads away from the server.
            TimeoutError: The answer is not complete in time.
            zlib.error: It cannot be unpacked.
            httpx2.TransportError: There is no answer.
        """
        fields = httpx2.Headers({"Accept": "*/*", "Accept-Encoding": ACCEPTED_ENCODINGS, "User-Agent": _AGENT})
        fields.update({name.encode(): value.encode(errors="replace") for name, value in (headers or {}).items()})
        request = httpx2.Request(method, _join_address(server, target), headers=fields, content=body)
        async with self._gate, asyncio.timeout(self._timeout):
            try:
                return await self._exchange(request)
            except (httpx2.NetworkError, httpx2.RemoteProtocolError):
                if method != "GET":
                    raise
                return await self._exchange(request)

    async def _exchange(self, request: httpx2.Request) -> HttpResponse:
        line = self._idle.pop() if self._idle else _new_transport(request.url.scheme)
        try:
            answer = await line.handle_async_request(request)
            try:
                body = await self._body(answer)
            finally:
                await answer.aclose()
        except AnswerTooLarge:
            await line.aclose()
            return oversized_response(answer.status_code)
        except BaseException:
            await line.aclose()
            raise
        self._idle.append(line)
        return HttpResponse(
            answer.status_code, answer.reason_phrase, tuple(pair for pair in answer.headers.items() if pair[0].lower() not in OWN_HEADERS), body
        )

    async def _body(self, answer: httpx2.Response) -> bytes:
        """Return the body, decompressed and read to its end, so that the connection can be reused."""
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        most = base.MOST_BYTES if self._most is None else self._most
        return b"".join([piece async for piece in read_body(answer.stream, answer.headers.get("content-encoding", ""), most)])

    async def aclose(self) -> None:
        """Close the connections."""
        idle, self._idle = self._idle, []
        for line in idle:
            await line.aclose()


def _join_address(server: httpx2.URL, target: str) -> httpx2.URL:
    """Return the address of a target, compared with the server's as it will be sent."""
    prefix = server.raw_path.rstrip(b"/")
    if not target.startswith("/") or leads_away(target.partition("?")[0]):
        raise WrongAddressError
    url = server.copy_with(raw_path=prefix + quote(target, safe=_LITERAL, errors="replace").encode())
    same = (url.scheme, url.raw_host, url.port, url.userinfo) == (server.scheme, server.raw_host, server.port, b"")
    if not same or not url.raw_path.startswith(prefix + b"/"):
        raise WrongAddressError
    return url


def _new_transport(scheme: str) -> httpx2.AsyncHTTPTransport:
    context = _certificates() if scheme == "https" else _empty_ssl_context()
    return httpx2.AsyncHTTPTransport(verify=context, trust_env=False, limits=_ONE_CONNECTION)


@cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


@cache
def _empty_ssl_context() -> ssl.SSLContext:
    """Return a context for plain HTTP; one that knows the authorities takes 17 ms to make."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
