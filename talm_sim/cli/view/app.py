"""The application that serves the page of stored runs: the page, what its script asks for, and the comments that a reader writes."""

from __future__ import annotations

import secrets
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from talm_sim.cli.pages import render_page
from talm_sim.cli.terminal.text import as_json, one_line_text
from talm_sim.cli.view.watched import WatchedRuns
from talm_sim.common.typed_options import fault_of
from talm_sim.errors import PrerequisiteError

__all__ = ["make_app"]

_LARGEST = 64 * 2**10
"""Bytes of a request's body: a comment of the longest text, whatever its letters."""


class _Written(BaseModel):
    """A comment as the page sends it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run: int
    episode: str
    text: str
    name: str = ""


def make_app(runs: WatchedRuns, name: str = "") -> Starlette:
    """Return the application.

    Args:
        runs: What it shows.
        name: What the reader calls themselves, until they say something else on the page.
    """

    def page(_: Request) -> Response:
        nonce, state = secrets.token_urlsafe(16), runs.state()
        live = {"version": state.version, "indexVersion": state.index_version, "runs": state.runs, "comments": state.comments, "name": name}
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
