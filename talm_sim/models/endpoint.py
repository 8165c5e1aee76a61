"""The connection to a model's servers: an HTTP client, a limit of requests in flight, retries, and failures in words.

An SDK sends live requests by its own methods (`sdks.py`), so whatever instruments it sees each of them. Retries, limits and budgets are ours.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

import httpx2

from talm_sim.errors import BlockedError, ContextOverflowError, ProviderError, RefusedError, format_names
from talm_sim.models.answers import read
from talm_sim.models.endings import FailedAnswerError
from talm_sim.models.failures import (
    CANNOT_SCORE,
    NEEDS_TOOL_PARSER,
    NO_LOGPROBS,
    Failure,
    clean_line,
    failure_in,
    failure_of,
    is_overflow,
    not_json_failure,
)
from talm_sim.models.request import ModelRequest
from talm_sim.models.request_facts import LeftOut, RequestFacts, named_by
from talm_sim.models.retries import RequestRetried, RetryPolicy, on_retry
from talm_sim.models.server_client import ServerClient
from talm_sim.models.servers import Server, Servers, Turn

LOGICAL_HOST = "http://model.invalid"
KEEP = "talm_sim.keep"
"""Response extension with a function that records the answer: only who reads it can say whether it is one."""
LOGICAL_URL = "talm_sim.logical_url"
"""Request extension with the URL under which a recording files the request, whatever the server's base URL is."""
_MOST_CONNECT_S = 10.0
"""Seconds in which a server must take a connection, where others can be asked instead."""
_BAD_REQUEST = 400
_ENOUGH_REFUSALS = 3
"""Requests that a server refuses with the same words before it has answered any: then it would refuse all."""
_WIRE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
"""Writes bodies as the SDKs do: recordings are found by the bytes."""

_Read = TypeVar("_Read")
Send = Callable[[str, str, Mapping[str, Any]], Awaitable[httpx2.Response]]
"""Sends one request: base URL, path and body; raises what the SDK or the client raises."""

log = logging.getLogger(__name__)


class Endpoint:
    """Sends requests through a limit, with retries, to one server or to several in turn.

    Args:
        logical_base: What replaces a base URL in recordings, whichever server is asked; see `LOGICAL_URL`.
        timeout: Seconds one attempt may take.
        fail_fast: Whether to end the run if requests are turned away before any was answered.
        variables: Names of the environment variables that hold the servers' addresses and their key.
        left_out: Fields that no request may have.
        facts: Holds further ones that the servers have turned out to refuse; more are added.
    """

    def __init__(
        self,
        name: str,
        base_urls: Sequence[str],
        *,
        logical_base: str = LOGICAL_HOST,
        transport: httpx2.AsyncBaseTransport | None = None,
        retries: RetryPolicy | None = None,
        max_connections: int = 16,
        timeout: float = 600.0,
        fail_fast: bool = False,
        variables: tuple[str, str] = ("", ""),
        left_out: Iterable[str] = (),
        facts: RequestFacts | None = None,
    ) -> None:
        self.name = name
        self.retries = retries or RetryPolicy()
        self.timeout = timeout
        self.servers = Servers(name, base_urls)
        self._several = len(base_urls) > 1
        self._logical_base = logical_base
        self._fail_fast = fail_fast
        self._variables = variables
        self._slots = asyncio.Semaphore(max_connections)
        self._addresses: dict[str, httpx2.URL] = {}
        self._left_out = LeftOut(left_out, facts or RequestFacts())
        self._bad_requests: Counter[str] = Counter()
        self._send: Send = self._post
        self.client = httpx2.AsyncClient(
            transport=transport or ServerClient(model=name),
            headers={"content-type": "application/json"},
            timeout=httpx2.Timeout(timeout, connect=min(timeout, _MOST_CONNECT_S) if self._several else timeout),
            limits=httpx2.Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
            follow_redirects=True,
            event_hooks={"request": [self._name_logically]},
        )

    @classmethod
    def of(
        cls,
        request: ModelRequest,
        base_urls: Sequence[str],
        *,
        logical_base: str = LOGICAL_HOST,
        variables: tuple[str, str] = ("", ""),
        left_out: Iterable[str] = (),
    ) -> Self:
        """Return the connection that `request` asks for."""
        return cls(
            request.name,
            base_urls,
            logical_base=logical_base,
            transport=request.transport_factory() if request.transport_factory else None,
            retries=RetryPolicy(max_retries=0 if request.replay else request.max_retries),
            max_connections=request.max_connections,
            timeout=request.timeout,
            fail_fast=request.fail_fast and not request.replay,
            variables=variables,
            left_out=left_out,
            facts=request.facts,
        )

    def send_by(self, send: Send) -> None:
        """Let an SDK send the requests."""
        self._send = send

    async def post(self, path: str, body: Mapping[str, Any], reader: Callable[[dict[str, Any]], _Read]) -> _Read:
        """Send a request until it is answered.

        A server that fails is left out, and the request is sent to another one at once, with retries of its own.

        Args:
            path: Where it goes below the base URL.
            body: Its JSON.
            reader: Reads the answer's JSON; a `FailedAnswerError` is the server's failure, tried again and not recorded.

        Returns:
            What was read.

        Raises:
            BlockedError: The provider withheld the answer, or refused the request by its content.
            ContextOverflowError: The conversation is longer than the model's context.
            ProviderError: The servers failed permanently.
            CassetteMissError: A replay met an unrecorded request.
            RefusedError: The server turned the request away and has answered none so far, and this is set to end the run.
        """
        turn = self.servers.next_turn() or self.servers.any_turn()
        tried, retries, sent, waited = {turn.server}, 0, 0, 0.0
        try:
            while True:
                asked = self._left_out.strip(body)
                answer = await self._attempt(path, asked, turn, reader)
                if not isinstance(answer, Failure):
                    return answer
                failure = answer
                refused = named_by(failure, asked)
                if refused:  # once more at once, without what the model refuses
                    if self._left_out.learn(refused):
                        said = f"{failure.message}; asked again, and from now on, without {format_names(sorted(refused))}"
                        self._report_retry(replace(failure, message=said), turn.server, 0.0, sent + 1)
                    continue
                retries, sent = retries + 1, sent + 1
                wait = self.retries.wait_before(retries, failure.headers, waited) if failure.retryable else None
                if (other := self._turn_elsewhere(failure, turn, tried, retries, wait)) is not None:
                    retries = 0
                    self._report_retry(failure, turn.server, 0.0, sent)
                else:
                    if self._is_refused(failure, turn):
                        raise RefusedError(self._line(failure, turn.server, first=True))
                    if wait is None:
                        raise self._final_error(failure, turn.server, sent - 1, waited)
                    waited += wait
                    self._report_retry(failure, turn.server, wait, sent)
                    await self.retries.sleep(wait)
                    other = self._turn_after_wait(turn, tried)
                turn = other
                tried.add(turn.server)
        finally:
            self.servers.release(turn)

    async def _attempt(self, path: str, body: Mapping[str, Any], turn: Turn, reader: Callable[[dict[str, Any]], _Read]) -> _Read | Failure:
        response: httpx2.Response | None = None
        try:
            async with self._slots, asyncio.timeout(self.timeout):
                response = await self._send(turn.server.base, path, body)
                answer = _json_of(response)
        except Exception as err:
            failed = failure_of(err)
            if not failed.retryable and not named_by(failed, body):
                _keep(getattr(err, "response", response))
            return failed
        if (failure := failure_in(answer)) is not None or not isinstance(answer, dict):
            if failure is None or not failure.retryable:
                _keep(response)
            return failure or not_json_failure(answer)
        try:
            found = read(self.name, answer, reader)
        except FailedAnswerError as err:
            return Failure(str(err).removeprefix(f"{self.name}: "), retryable=True)
        except ProviderError:
            self._note_answer(turn, response)
            raise
        self._note_answer(turn, response)
        return found

    def _note_answer(self, turn: Turn, response: httpx2.Response) -> None:
        self.servers.note_answer(turn)
        _keep(response)

    def _turn_elsewhere(self, failure: Failure, turn: Turn, tried: set[Server], retries: int, wait: float | None) -> Turn | None:
        """Return the turn at another server where a failure is this one's; a server that has answered others meanwhile is not left out."""
        if not self._several:
            return None
        failed_test = turn.is_test and bool(failure.retryable or failure.hint)
        broken = failure.kind == "unreachable" or (failure.kind == "broken" and retries > 1)
        hung = failure.kind == "slow" and turn.is_silent
        outlasting = failure.retryable and wait is None
        if not (failed_test or broken or hung or outlasting):
            return None
        if failed_test or broken or turn.is_silent:
            self.servers.leave_out(turn, clean_line(failure.message))
        return self.servers.next_turn(tried)

    def _turn_after_wait(self, turn: Turn, tried: set[Server]) -> Turn:
        """Return the same server's turn, or another one's if it has been left out by now."""
        return (turn if not turn.server.pause_s else self.servers.next_turn(tried)) or self.servers.any_turn()

    def _is_refused(self, failure: Failure, turn: Turn) -> bool:
        """Return whether a failure is the user's to fix: nothing was answered before, by this server or, if none can be reached, by any.

        What a server calls a bad request may be about one episode alone, until the first of them were refused with the same words.
        """
        before = self.servers.have_answered if failure.kind == "unreachable" else turn.server.answers > 0
        if not self._fail_fast or before:
            return False
        if failure.status == _BAD_REQUEST and not failure.blocked and not is_overflow(failure):
            self._bad_requests[failure.message] += 1
        return bool(failure.hint) or self._bad_requests[failure.message] >= _ENOUGH_REFUSALS

    async def _post(self, base: str, path: str, body: Mapping[str, Any]) -> httpx2.Response:
        """Send a request once, without an SDK: what a replay answers is nobody's business but ours."""
        url = base + path
        if url not in self._addresses:
            self._addresses[url] = httpx2.URL(url)
        # Not the client's own way: it reads the address again and merges the headers for every request.
        client, content = self.client, _WIRE.encode(body).encode()
        response = await client.send(httpx2.Request("POST", self._addresses[url], headers=client.headers, content=content))
        return response if response.is_success else response.raise_for_status()

    async def aclose(self) -> None:
        """Close the client and its transport."""
        await self.client.aclose()

    def _final_error(self, failure: Failure, server: Server, retries: int, waited: float) -> ProviderError:
        waits = f", {waited:.0f} s of waiting" if waited >= 1 else ""
        tried = f" (after {retries} {'retry' if retries == 1 else 'retries'}{waits})" if retries else ""
        message = self._line(failure, server) + tried
        kind = ContextOverflowError if is_overflow(failure) else BlockedError if failure.blocked else ProviderError
        return kind(message)

    def _report_retry(self, failure: Failure, server: Server, wait: float, number: int) -> None:
        reason = clean_line(failure.message)
        log.info("%s at %s: %s; retry %d in %.1f s", self.name, server.place, reason, number, wait)
        if (listen := on_retry.get()) is not None:
            listen(RequestRetried(self.name, reason, wait, number))

    def _line(self, failure: Failure, server: Server, *, first: bool = False) -> str:
        line = clean_line(f"{self.name} at {server.place}: {failure.message}")
        address, key = (f" ({name})" if name else "" for name in self._variables)
        if NEEDS_TOOL_PARSER.search(failure.message):
            return f"{line}; add --tool-format constrained"
        if failure.hint == "scoring":
            return f"{line}; {CANNOT_SCORE}"
        if NO_LOGPROBS.search(failure.message):
            return f"{line}; to request fewer log-probabilities or none, add for example -M alternatives=5, or -M alternatives=0"
        if failure.hint == "page":
            missing = self._logical_base.endswith("/v1") and not server.base.endswith("/v1")
            return f"{line}; {'is /v1 missing in the base URL' if missing else 'is that the right base URL'}{address}?"
        fixes = {
            "echo": CANNOT_SCORE,
            "completions": f"check that the server offers /completions for this model, and check the base URL{address}",
            "key": f"check the key{key}",
            "name": f"check the model's name and the base URL{address}",
        }
        servers = "servers are running and that their base URLs are" if self._several else "server is running and that the base URL is"
        up = f"check that the {servers} right{address}"
        if failure.status == _BAD_REQUEST:
            up = "the server answers, and refuses every request of this kind; correct or leave out what it names, an option or a tool"
        return f"{line}; {fixes.get(failure.hint, up)}." if first else line

    async def _name_logically(self, request: httpx2.Request) -> None:
        if (path := self.servers.path_of(str(request.url))) is not None:
            request.extensions[LOGICAL_URL] = self._logical_base + path


class EndpointModel:
    """A model behind an endpoint; `fields` are further ones of each request, and `room` the tokens for thought beside an answer's limit."""

    def __init__(self, name: str, model: str, endpoint: Endpoint, *, fields: dict[str, Any] | None = None, room: int = 0) -> None:
        self.name = name
        self._model, self._endpoint, self._fields, self._room = model, endpoint, fields or {}, room

    async def aclose(self) -> None:
        """Release the connections."""
        await self._endpoint.aclose()


def _json_of(response: httpx2.Response) -> object:
    """Return an answer: its text where the server does not call it JSON."""
    kind = response.headers.get("content-type", "json").partition(";")[0]
    return response.json() if kind.endswith("json") else response.text


def _keep(response: httpx2.Response | None) -> None:
    """Let the recording, if there is one, keep an answer."""
    keep = response.extensions.get(KEEP) if isinstance(response, httpx2.Response) else None
    if callable(keep):
        keep()
