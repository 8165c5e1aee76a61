"""Who may ask a server on loopback: the browser that was given its link, and no page of anybody else.

A link has a token that is good for one visit; the visit exchanges it for a cookie. A page elsewhere that knows the port can send requests here,
or give its own name this address. So the host is checked, and so is where a request comes from.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

__all__ = ["Guard"]

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
# From here on, the browser's own page asks: a cookie that only the same site sends would be missing after a redirect from elsewhere.
_WELCOME: Final = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>talm-sim</title>'
_NO_LINK: Final = "This page needs a link that talm-sim prints, and each link works once. Start `talm-sim view` again for a new one.\n"


class Guard:
    """Lets requests through to an application that come from a browser with a link.

    Args:
        app: The application.
        address: The base address, `http://127.0.0.1:PORT`.
    """

    def __init__(self, app: _App, address: str) -> None:
        self._app = app
        port = urlsplit(address).port
        self._address = address
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        # Cookies do not know ports: the name keeps those of two servers apart.
        self._cookie_name = f"talm_sim_{port}"
        self._cookie = secrets.token_urlsafe(32)
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
        if secrets.compare_digest(request.cookies.get(self._cookie_name, "").encode(), self._cookie.encode()):
            return None
        if page and request.method == "GET" and self._take(request.query_params.get("token", "")):
            answer = HTMLResponse(_WELCOME)
            answer.set_cookie(self._cookie_name, self._cookie, path="/", httponly=True, samesite="strict")
            return answer
        return PlainTextResponse(_NO_LINK, 403)

    def _take(self, token: str) -> bool:
        """Take a token, which is good once; return False if there is no such token."""
        found = {one for one in self._tokens if secrets.compare_digest(one.encode(), token.encode())}
        self._tokens -= found
        return bool(found)
