"""Tool calls as HTTP: from a recording where there is one, else over the wire with `requests`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlencode

import requests
from requests.adapters import HTTPAdapter

from talm_sim.credentials import Hider, credentials_in_environment
from talm_sim.errors import ProviderError
from talm_sim.recordings import HttpRequest, HttpResponse, Player
from talm_sim.tools_env.restarts import Recovered, on_restart
from talm_sim.types import Origin, ToolSpec

__all__ = ["LOGICAL_HOST", "ToolClient", "build_request"]

LOGICAL_HOST = "http://tools.invalid"
"""Stands for whatever base address the tools have, so recordings fit every port."""

_BROKEN = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
"""What a call meets whose server cannot be reached, or goes away before it has answered to the end."""


def build_request(spec: ToolSpec, arguments: Mapping[str, Any]) -> HttpRequest:
    """Turn a tool call into its HTTP request on the logical host.

    Arguments fill the `{name}` parts of the path first. Those that `spec.query` names go to the query string; the others to a JSON body where
    the method takes one, else to the query string as well.
    """
    path, rest = spec.path, dict(arguments)
    for name in list(rest):
        if "{" + name + "}" in path:
            path = path.replace("{" + name + "}", quote(_text(rest.pop(name)), safe=""))
    has_body = spec.method in {"POST", "PUT", "PATCH"}
    query = {name: rest.pop(name) for name in sorted(rest) if not has_body or name in spec.query}
    pairs = [(name, _text(item)) for name, value in query.items() for item in (value if isinstance(value, list) else [value])]
    url = LOGICAL_HOST + path + ("?" + urlencode(pairs) if query else "")
    if not has_body:
        return HttpRequest(spec.method, url, {}, None)
    return HttpRequest(spec.method, url, {"Content-Type": "application/json"}, json.dumps(rest, sort_keys=True).encode())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


class ToolClient:
    """Sends tool requests. One per run, shared by its episodes.

    Args:
        base_url: Address of the live tools; None where every call is replayed.
        connections: Live requests in flight.
        timeout: Seconds one live request may take.
        recover: Told an address that does not answer, says where to send a reading call again; None: it is not sent again.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        connections: int = 16,
        timeout: float = 30.0,
        recover: Callable[[str], Recovered] | None = None,
    ) -> None:
        self.base_url = base_url
        self._timeout = timeout
        self._recover = recover
        self._hide = Hider.knowing(credentials_in_environment())
        self._executor: ThreadPoolExecutor | None = None
        self._session: requests.Session | None = None
        if base_url is not None:
            self._executor = ThreadPoolExecutor(connections, thread_name_prefix="tool")
            self._session = requests.Session()
            self._session.trust_env = False
            adapter = HTTPAdapter(pool_maxsize=connections)
            self._session.mount("http://", adapter)
            self._session.mount("https://", adapter)

    async def send(self, request: HttpRequest, player: Player | None) -> tuple[HttpResponse, Origin]:
        """Answer `request` from `player`, or live.

        A replayed answer is found inline, since a thread hop costs more than the look-up; live requests run in the executor.

        Raises:
            CassetteMissError: In replay, the request was not recorded.
            ProviderError: The live tools cannot be reached, or broke the connection of a call that must not be made twice.
            ToolsGoneError: They died, and do so again.
            requests.Timeout: The live tool did not answer in time.
        """
        if player is not None:
            recorded = player.lookup(request)
            if recorded is not None:
                return recorded, Origin.RECORDED
        response = await self._live(request)
        if player is not None:
            player.record(request, response)
        return response, Origin.LIVE

    async def _live(self, request: HttpRequest) -> HttpResponse:
        if self.base_url is None:
            raise ProviderError("No live tools: this run was started without a tool service.")
        run = asyncio.get_running_loop().run_in_executor
        while True:
            address = self.base_url
            try:
                return await run(self._executor, self._send_live, request, address)
            except _BROKEN as err:
                failure = f"The tool service does not answer: {type(err).__name__}."
            if self._recover is not None:
                found = await run(self._executor, self._recover, address)
                self.base_url = found.address
                if found.died and (tell := on_restart.get()) is not None:
                    tell(found.died)
            if request.method != "GET":
                raise ProviderError("The tool service broke the connection.")
            if self.base_url == address:
                raise ProviderError(failure)

    def _send_live(self, request: HttpRequest, address: str) -> HttpResponse:
        url = address.rstrip("/") + request.url.removeprefix(LOGICAL_HOST)
        try:
            answer = self._request(request, url)
        except _BROKEN:
            # A server may close an idle connection just as it is taken from the pool: a reading call is safe to send again.
            if request.method != "GET":
                raise
            answer = self._request(request, url)
        return HttpResponse(answer.status_code, answer.reason, tuple(answer.headers.items()), self._hide.body(answer.content))

    def _request(self, request: HttpRequest, url: str) -> requests.Response:
        assert self._session is not None
        return self._session.request(request.method, url, data=request.body, headers=dict(request.headers), timeout=self._timeout)

    def close(self) -> None:
        """Close connections and threads."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        if self._session is not None:
            self._session.close()
