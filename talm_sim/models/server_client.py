"""Receive the answers of a model's server: bounded in size and time, from that server alone, and without credentials.

Therefore live, recorded, checkpointed and stored texts are the same: nothing later changes them.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import zlib
from contextlib import aclosing
from urllib.request import getproxies, proxy_bypass

import httpx2

from talm_sim.common.credentials import Hider, credentials_in_environment, credentials_in_headers, credentials_in_url, is_distinctive
from talm_sim.common.http_body import ACCEPTED_ENCODINGS, AnswerTooLarge, read_body
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import current_meter, note_http_request, request_bound, response_usage
from talm_sim.types import Usage

MOST_BYTES = 8 * 2**20
"""Bytes of one answer, before and after decompression: 2,048 tokens with 20 alternatives each take about 5 MiB."""
_REWRITTEN = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that no longer fit once the body is decoded."""
_NO_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
"""Limits of the client; the model limits requests in flight, and a second limit here would make them time out in an unseen queue."""
_STREAM_END = b"[DONE]"
"""The OpenAI protocol's last event; a server may keep the connection open after it."""
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]*)\"?", re.IGNORECASE)
_PLAIN_CHARSET = re.compile(r"(?:iso-?8859|latin|windows|cp125|utf-?(?:16|32)|gb|big5|shift|euc|koi8)[\w-]*", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}


class UnfitAnswerError(Exception):
    """A server's answer is refused, whatever it says, and asking again would not help.

    Args:
        hint: What to look at where this befalls the first requests: `server`, or empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class ServerClient(httpx2.AsyncBaseTransport):
    """Carries requests to model servers, through the environment's proxies, and hands back answers that are whole.

    Args:
        inner: What carries them; by default one that all share, made when first needed, since its SSL context alone costs 17 ms.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None, *, model: str = "") -> None:
        self._inner = inner
        self._model = model
        self._meter = current_meter.get()
        self._opened: dict[tuple[str | None, bool], httpx2.AsyncBaseTransport] = {}
        self._environment = credentials_in_environment()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, within the seconds that its client gives a read, and count it.

        Raises:
            UnfitAnswerError: The answer is too large, or leads to another host.
            httpx2.TransportError: There was no answer.
        """
        note_http_request()
        meter = current_meter.get() or self._meter  # a thread of an agent's own has no context
        if meter is None:
            return await self._answer(request)
        with meter.sending(self._model, request_bound(await request.aread())) as sent:
            try:
                response = await self._answer(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                sent.usage = Usage()  # no server has read it
                raise
            sent.received = len(response.content)
            sent.usage = response_usage(response.status_code, response.content)
        return response

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = ACCEPTED_ENCODINGS
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("read")):
                response = await self._carrier(request.url).handle_async_request(request)
                try:
                    body = await _decode_body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout("the answer did not arrive completely in time", request=request) from None
        if response.has_redirect_location:
            _refuse_other_host(request.url, response.headers["location"])
        borne = (*credentials_in_headers(request.headers.multi_items()), *credentials_in_url(str(request.url)))
        return _hide_credentials(
            request, response, body, Hider.from_environment(self._environment, tuple(filter(is_distinctive, borne)), measured=True)
        )

    async def aclose(self) -> None:
        """Close what carries the requests."""
        for transport in (*self._opened.values(), *([self._inner] if self._inner else [])):
            await transport.aclose()

    def _carrier(self, url: httpx2.URL) -> httpx2.AsyncBaseTransport:
        if self._inner is not None:
            return self._inner
        # A client with its own transport ignores the proxies of the environment.
        proxies = {} if proxy_bypass(url.host) else getproxies()
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if proxy is not None and "://" not in proxy:
            proxy = f"http://{proxy}"
        secure = "https" in (url.scheme, (proxy or "").partition(":")[0])
        if (proxy, secure) not in self._opened:
            try:  # reading the certificates takes longer than asking a server of this machine
                self._opened[proxy, secure] = httpx2.AsyncHTTPTransport(verify=secure, limits=_NO_LIMITS, proxy=proxy)
            except (ValueError, ImportError, httpx2.InvalidURL):  # a scheme it does not know, or needs another package for
                name = f"{url.scheme.upper()}_PROXY or ALL_PROXY"
                raise PrerequisiteError(f"{name}: not the address of a proxy; write it like http://HOST:PORT, or unset it.") from None
        return self._opened[proxy, secure]


async def _decode_body(response: httpx2.Response) -> bytes:
    """Return the body, decompressed, up to the last event of a stream."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    body = bytearray()
    try:
        async with aclosing(read_body(response.stream, response.headers.get("content-encoding", ""), MOST_BYTES)) as pieces:
            async for piece in pieces:
                body += piece
                if body.startswith(b"data:") and _STREAM_END in body[-64:]:
                    break
    except AnswerTooLarge:
        raise UnfitAnswerError(f"the answer is larger than {MOST_BYTES // 2**20} MiB") from None
    except zlib.error as err:
        raise httpx2.DecodingError(str(err)) from None
    return bytes(body)


def _refuse_other_host(asked: httpx2.URL, location: str) -> None:
    """Refuse a redirect to another host, where the whole conversation would be sent along; http may become https on the same one."""
    try:
        target = asked.join(location)
    except httpx2.InvalidURL:
        raise UnfitAnswerError("redirects to an invalid address", "server") from None
    ports = [url.port or _PORTS.get(url.scheme) for url in (asked, target)]
    secured = (asked.scheme, target.scheme, *ports) == ("http", "https", 80, 443)
    if target.host != asked.host or not ((asked.scheme, ports[0]) == (target.scheme, ports[1]) or secured):
        where = target.netloc.decode("ascii", "replace").rpartition("@")[2]
        raise UnfitAnswerError(f"redirects to {target.scheme}://{where[:100]}, another server: not followed", "server")


def _hide_credentials(request: httpx2.Request, response: httpx2.Response, body: bytes, hide: Hider) -> httpx2.Response:
    """Return the answer with its credentials hidden, in UTF-8 and decoded."""
    body = hide.body(_in_utf8(body, response.headers.get("content-type", "")), of_model=True)
    headers = [
        (name.encode(), hide.text(_CHARSET.sub("", value) if name.lower() == "content-type" else value).encode())
        for name, value in response.headers.multi_items()
        if name.lower() not in _REWRITTEN
    ]
    reason = hide.text(response.reason_phrase).encode("ascii", "replace")
    return httpx2.Response(response.status_code, headers=headers, content=body, request=request, extensions={"reason_phrase": reason})


def _in_utf8(body: bytes, content_type: str) -> bytes:
    """Return the body as its next reader understands it: in another charset a credential would slip through."""
    encoding: str = json.detect_encoding(body)
    if encoding == "utf-8-sig":
        return body.removeprefix(codecs.BOM_UTF8)
    found = _CHARSET.search(content_type)
    try:
        if encoding == "utf-8":
            body.decode()  # many servers name another charset than the one they write
            return body
    except UnicodeDecodeError:
        if found is None or not _PLAIN_CHARSET.fullmatch(found[1]):
            return body
        encoding = found[1]
    try:
        return body.decode(encoding, "replace").encode("utf-8", "replace")
    except LookupError:
        return body
