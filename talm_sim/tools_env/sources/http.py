"""Tools over HTTP: the built-in service's and those of any OpenAPI document."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

import httpx2

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.errors import ProviderError
from talm_sim.recordings import HttpRequest, HttpResponse
from talm_sim.tools_env.restarts import Recovered, on_restart
from talm_sim.tools_env.routes import LOGICAL_HOST, as_json, build_request, failure
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.sources.http_client import HttpClient, WrongAddressError, server_at
from talm_sim.types import JsonObject, Route, ToolSpec

_BROKEN = (httpx2.NetworkError, httpx2.RemoteProtocolError)
"""Errors of a call whose server cannot be reached, or goes away before it has answered completely."""


@dataclass(frozen=True, slots=True)
class HttpTools:
    """A description of the tools of an HTTP service; attributes are those of `ToolSource`."""

    specs: Mapping[str, ToolSpec]
    routes: Mapping[str, Route]
    responses: Mapping[str, JsonObject] = field(default_factory=dict)
    not_taken: Sequence[NotTaken] = ()
    security: Mapping[str, Any] = field(default_factory=dict)
    """What OpenAPI says of the credentials that each needs; None where it says nothing."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Credentials of every request; they enter no recording."""

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    def __add__(self, other: Proof) -> Proof:
        return Proof(_with_headers(self.headers, other.headers), {**self.query, **other.query}, (*self.secrets, *other.secrets))

    def add_to(self, request: HttpRequest) -> HttpRequest:
        """Return a request with the credentials."""
        asked = ("&" if "?" in request.url else "?") + urlencode(self.query) if self.query else ""
        return replace(request, url=request.url + asked, headers=_with_headers(request.headers, self.headers))


def _with_headers(headers: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Return headers with others; cookies are in one."""
    cookies = [one["Cookie"] for one in (headers, others) if "Cookie" in one]
    return {**headers, **others, **({"Cookie": "; ".join(cookies)} if cookies else {})}


class HttpSource:
    """Sends the calls of one service's tools.

    Args:
        name: The source's name; it precedes the paths in `tools.routes`, and is not sent.
        timeout: Seconds one request may take.
        recover: Receives an address that does not answer, and returns where to send a reading call again; None: it is not sent again.
        proofs: What proves the sender of each tool's calls.
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
        proofs: Mapping[str, Proof] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.specs, self.routes = tools.specs, tools.routes
        self.responses, self.not_taken = tools.responses, tools.not_taken
        self.base_url = base_url
        self._logical = f"{LOGICAL_HOST}/{quote(name, safe='')}" if name else LOGICAL_HOST
        self._client = HttpClient(connections=connections, timeout=timeout)
        self._recover = recover
        self._proofs = proofs
        self._hide = Hider.from_environment(credentials_in_environment(), sum((one.secrets for one in proofs.values()), ()), measured=True)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call; see `ToolSource`."""
        request = build_request(self.routes[tool], arguments, headers_apart=True)
        return await self.send(self._proofs[tool].add_to(request) if tool in self._proofs else request)

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request that is on the logical host.

        Raises:
            ProviderError: The tools cannot be reached, or broke the connection of a call that must not be made twice.
            ToolsGoneError: They died repeatedly.
            TimeoutError: The tool's answer was not complete in time.
        """
        what = f"source '{self.name}'" if self.name else "tool service"
        while True:
            address = self.base_url
            try:
                return await self._send(request, address)
            except _BROKEN as err:
                failure = f"The {what} does not answer: {type(err).__name__}."
            except WrongAddressError:
                raise ProviderError(f"The {what} cannot be asked: the address of the call is not below {address[:200]}.") from None
            except (httpx2.TransportError, zlib.error) as err:
                raise ProviderError(f"The {what} cannot be asked: {_name(err)}.") from None
            if self._recover is not None:
                found = await asyncio.to_thread(self._recover, address)
                self.base_url = found.address
                if found.died and (tell := on_restart.get()) is not None:
                    tell(found.died)
            if request.method != "GET":
                raise ProviderError(f"The {what} broke the connection.")
            if self.base_url == address:
                raise ProviderError(failure)

    async def _send(self, request: HttpRequest, address: str) -> HttpResponse:
        target = request.url.removeprefix(self._logical)
        # A redirection is not followed: it may lead to another host, which nobody named, and which would receive the credentials.
        try:
            answer = await self._client.ask(server_at(address), request.method, target, request.headers, request.body)
        except httpx2.InvalidURL:  # no client sends more than 64 KiB, and hardly any server takes it
            return failure(414, "The address of the call is too long.")
        # A redirection may contain the address that was asked, with its credentials.
        told = tuple((name, self._hide.text(value)) for name, value in answer.headers)
        return as_json(replace(answer, reason=self._hide.text(answer.reason), headers=told, body=self._hide.body(answer.body)))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _name(err: Exception) -> str:
    return type(err).__name__ if isinstance(err, httpx2.TransportError) else f"its answer cannot be unpacked: {err}"
