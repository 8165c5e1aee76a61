"""Send live requests by the SDKs' own methods, one request per attempt: what instruments, patches or upgrades an SDK sees each of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

import httpx2

from talm_sim.models.endpoint import Send

_METHODS = {
    "/chat/completions": "chat.completions.with_raw_response.create",
    "/completions": "completions.with_raw_response.create",
    "/responses": "responses.with_raw_response.create",
    "/v1/messages": "messages.with_raw_response.create",
}
_OWN = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "self"})


def sdk_sender(client: Any, timeout: httpx2.Timeout) -> Send:
    """Return what sends requests by the methods of an SDK's client.

    Args:
        client: `AsyncOpenAI` or `AsyncAnthropic`, with `max_retries=0`: retries are ours.
        timeout: Of one attempt. Without one, Anthropic's SDK refuses requests for long answers.
    """
    methods: dict[tuple[str, str], Any] = {}

    async def send(base: str, path: str, body: Mapping[str, Any]) -> httpx2.Response:
        method = methods.get((base, path))
        if method is None:
            method = methods[base, path] = attrgetter(_METHODS[path])(client.with_options(base_url=base))
        named = _parameters(method)
        known = {field: value for field, value in body.items() if field in named}
        rest = {field: value for field, value in body.items() if field not in named}
        answer = await method(**known, extra_body=rest or None, timeout=timeout)
        response: httpx2.Response = answer.http_response
        return response

    return send


@lru_cache(maxsize=16)
def _parameters(method: Any) -> frozenset[str]:
    """Return the fields that a method names; the others of a body go in `extra_body`."""
    return frozenset(inspect.signature(method).parameters) - _OWN
