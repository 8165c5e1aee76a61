"""The application that serves the page of stored runs: the page, the data that its script asks for, and comments by readers.

Only the page that was opened by its link may ask. A link has a token that is good for one visit; the page of that visit keeps a key in memory,
and sends it as a header. A cookie would go to every server on this machine, as cookies do not know ports. A page elsewhere that knows the port
can send requests here, or give its own name this address. So the host is checked, and so is where a request comes from.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from talm_sim.cli.pages import render_page
from talm_sim.cli.terminal.text import as_json, one_line_text
from talm_sim.cli.view.watched import WatchedRuns
from talm_sim.common.typed_options import fault_of
from talm_sim.errors import PrerequisiteError

_LARGEST = 64 * 2**10
"""Bytes of a request's body: a comment of the longest text, whatever its letters."""
_Message = MutableMapping[str, Any]
_App = Callable[[_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]]

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response: nothing is cached, framed, read by another origin or guessed to be of another type."""
_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What a response without a policy of its own may do: nothing."""
_KEY_HEADER: Final = "talm-sim-key"
_NO_LINK: Final = "This page needs a link that talm-sim prints, and each link works once. Press Enter at `talm-sim view` for a new one.\n"


class _Written(BaseModel):
    """A comment as the page sends it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run: int
    episode: str
    text: str
    name: str = ""


def make_app(runs: WatchedRuns, name: str = "") -> Starlette:
    """Return the application."""

    def page(request: Request) -> Response:
        nonce, state = secrets.token_urlsafe(16), runs.state()
        live = {"version": state.version, "indexVersion": state.index_version, "runs": state.runs, "comments": state.comments}
        live |= {"name": name, "key": request.state.key}
        text = render_page({**state.index, "live": live}, None, nonce=nonce, live=True)
        policy = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:"
        closed = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        return HTMLResponse(text, headers={"Content-Security-Policy": f"{closed}; {policy}"})

    def state(request: Request) -> Response:
        now = runs.state()
        if request.query_params.get("have") == now.version:
            return Response(status_code=204)
        index = {} if request.query_params.get("index") == now.index_version else {"index": now.index}
        return _json({"version": now.version, "indexVersion": now.index_version, "runs": now.runs, "comments": now.comments, **index})

    def transcript(request: Request) -> Response:
        run = request.query_params.get("run", "0")
        return _json(runs.transcript(int(run) if run.isdecimal() and len(run) < 4 else -1, request.query_params.get("episode", "")))

    async def comment(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST:
                return _json({"error": f"the comment is larger than {_LARGEST >> 10} KiB."}, 413)
        try:
            written = _Written.model_validate_json(body)
        except ValidationError as err:
            first = err.errors()[0]
            return _json({"error": f"{'.'.join(map(str, first['loc'])) or 'comment'}: {fault_of(first)}"}, 400)
        await run_in_threadpool(runs.comment, written.run, written.episode, written.text, written.name)
        return _json({"comments": (await run_in_threadpool(runs.state)).comments}, 201)

    routes = [
        Route("/", page),
        Route("/state.json", state),
        Route("/transcript.json", transcript),
        Route("/comments", comment, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={PrerequisiteError: _explain})


async def _explain(_: Request, err: Exception) -> Response:
    """Answer with the line that a command would print: what cannot be read, or cannot be kept."""
    return _json({"error": one_line_text(str(err))}, 409)


def _json(value: Any, status: int = 200) -> Response:
    """Return a value as JSON in which half a character, which a model may have written, is escaped."""
    return Response(as_json(value), status, media_type="application/json")


class Guard:
    """Lets requests through to an application that come with a link, or from the page that a link opened."""

    def __init__(self, app: _App, address: str) -> None:
        self._app = app
        port = urlsplit(address).port
        self._address = address
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._key = secrets.token_urlsafe(32)
        self._tokens: set[str] = set()

    def new_link(self) -> str:
        """Return a link that is good for one visit."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return f"{self._address}/?token={token}"

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Callable[[_Message], Awaitable[None]]) -> None:
        """Answer a request, or hand it on; a WebSocket is refused."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._answer(Request(scope))
        scope.setdefault("state", {})["key"] = self._key

        async def send_with_headers(message: _Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = {**_HEADERS, "Content-Security-Policy": _POLICY}
                more = [(name.lower().encode(), value.encode()) for name, value in added.items() if name.lower().encode() not in present]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await (refused or self._app)(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return the answer to a request that is not handed on."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        # Two of a header, or an address with another name for this machine, are nothing that a browser sends here.
        if len(request.headers.getlist("host")) != 1 or host not in self._hosts:
            return PlainTextResponse(f"There is nothing here for this host; open {self._address}\n", 421)
        writes = request.method not in ("GET", "HEAD")
        if (origin is not None or writes) and request.headers.getlist("origin") != [f"http://{host}"]:
            return PlainTextResponse("Requests of other pages are refused.\n", 403)
        page = request.url.path == "/" and not writes
        if not page and request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("Requests of other pages are refused.\n", 403)
        if page:
            known = request.method == "GET" and self._take(request.query_params.get("token", ""))
        else:
            known = secrets.compare_digest(request.headers.get(_KEY_HEADER, "").encode(), self._key.encode())
        return None if known else PlainTextResponse(_NO_LINK, 403)

    def _take(self, token: str) -> bool:
        """Take a token, which is good once; return False if there is no such token."""
        found = {one for one in self._tokens if secrets.compare_digest(one.encode(), token.encode())}
        self._tokens -= found
        return bool(found)
