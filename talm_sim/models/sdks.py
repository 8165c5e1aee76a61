"""Send live requests by the SDKs' own methods, one request per attempt: what instruments, patches or upgrades an SDK sees each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

import httpx2

from talm_sim.models.endpoint import Endpoint

_METHODS = {
    "/chat/completions": "chat.completions.with_raw_response.create",
    "/completions": "completions.with_raw_response.create",
    "/responses": "responses.with_raw_response.create",
    "/v1/messages": "messages.with_raw_response.create",
}
_OF_THE_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that do not fit a body which has been read."""
_OURS = "talm_sim.response"
_OWN = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "self"})
_EVERYWHERE = frozenset({"model", "messages", "prompt", "input", "tools", "max_tokens"})
"""Fields that every method names which has any use for them."""


def send_by_sdk(endpoint: Endpoint, kind: Callable[..., Any], **fields: Any) -> None:
    """Let an SDK's client send an endpoint's requests; retries stay with the endpoint.

    Args:
        endpoint: Its HTTP client carries the requests.
        kind: `AsyncOpenAI` or `AsyncAnthropic`; openai 2 and anthropic below 1, which run on httpx, are given a client of httpx.
        **fields: What `kind` takes beside the HTTP client.
    """
    # Anthropic's SDK refuses requests for long answers that have no timeout of their own.
    timeout: Any = endpoint.client.timeout
    try:
        client = kind(http_client=endpoint.client, max_retries=0, **fields)
    except TypeError:
        client = kind(http_client=httpx_client(endpoint.client), max_retries=0, **fields)
        timeout = timeout.read
    methods: dict[tuple[str, str], Any] = {}

    async def send(base: str, path: str, body: Mapping[str, Any]) -> httpx2.Response:
        if (method := methods.get((base, path))) is None:
            method = methods[base, path] = attrgetter(_METHODS[path])(client.with_options(base_url=base))
        named = _parameters(method)
        known = {field: value for field, value in body.items() if field in named}
        rest = {field: value for field, value in body.items() if field not in named}
        try:
            answer = await method(**known, extra_body=rest or None, timeout=timeout)
        except Exception as err:
            if hasattr(err, "response"):
                err.response = _ours(err.response)
            raise
        return _ours(answer.http_response)

    endpoint.send_by(send)


def httpx_client(client: httpx2.AsyncClient) -> Any:
    """Return a client of httpx whose requests a client of httpx2 carries."""
    import httpx

    class Carried(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            content = await request.aread()
            asked = httpx2.Request(request.method, str(request.url), headers=list(request.headers.multi_items()), content=content)
            answer = await client.send(asked)
            headers = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in _OF_THE_BODY]
            return httpx.Response(answer.status_code, headers=headers, content=answer.content, request=request, extensions={_OURS: answer})

    return httpx.AsyncClient(transport=Carried())


def _ours(response: Any) -> httpx2.Response:
    """Return the response that our client got."""
    found: httpx2.Response = response.extensions.get(_OURS, response)
    return found


@lru_cache(maxsize=16)
def _parameters(method: Any) -> frozenset[str]:
    """Return the fields that a method names; the others of a body go in `extra_body`. What instruments a method may hide its names."""
    named = frozenset(inspect.signature(method).parameters) - _OWN
    return named if "model" in named else _EVERYWHERE
