"""Failures and retries, over a real loopback server, in both protocols."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import httpx2
import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import CassetteMissError, ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models import anthropic_messages, openai_servers
from talm_sim.models.anthropic_messages import AnthropicMessages
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.endpoint import LOGICAL_URL, Endpoint
from talm_sim.models.openai_chat import OpenAIChat
from talm_sim.models.request import ModelRequest
from talm_sim.models.request_facts import RequestFacts
from talm_sim.models.retries import RetryPolicy
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback

KEY = "sk-very-secret-key-123"
HELLO = [HumanMessage("hello")]
START = 1_700_000_000.0


@dataclass
class FakeClock:
    """Sleeps by moving the time on."""

    time: float = START
    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def policy(self, max_retries: int = 5) -> RetryPolicy:
        return RetryPolicy(max_retries=max_retries, sleep=self.sleep, now=lambda: self.time, chance=lambda: 0.0)


Open = Callable[..., Model]
OPENERS = {"openai": openai_servers.open_openai, "anthropic": anthropic_messages.open_anthropic}


def open_openai(url: str, **options: Any) -> Model:
    endpoint = Endpoint("openai/m", [f"{url}/v1"], logical_base="http://model.invalid/v1", **options)
    return OpenAIChat("openai/m", "m", endpoint)


def open_anthropic(url: str, **options: Any) -> Model:
    endpoint = Endpoint("anthropic/m", [url], **options)
    return AnthropicMessages("anthropic/m", "m", endpoint, facts=RequestFacts())


BOTH = pytest.mark.parametrize(
    ("opener", "good"), [(open_openai, chat_answer("hello")), (open_anthropic, anthropic_answer({"type": "text", "text": "hello"}))]
)


async def say(model: Model) -> str:
    try:
        return (await model.generate(HELLO, (), GenerationSettings())).text
    finally:
        await model.aclose()


def failing(status: int, message: str = "no", code: str = "", **headers: str) -> Answer:
    return Answer({"error": {"message": message, "code": code}}, status, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(("service", "good"), [("openai", chat_answer()), ("anthropic", anthropic_answer())])
@pytest.mark.parametrize("below", ["/v1", "/a/router/", ""])
async def test_an_sdk_sends_what_a_replay_looks_for(monkeypatch: pytest.MonkeyPatch, service: str, good: Answer, below: str) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    settings, said = GenerationSettings(temperature=0.1, options={"top_k": 3, "odd": [None]}), [HumanMessage('Say "\u00fc\u2028\U0001f600".')]
    with loopback(good) as server:
        prefix, url = service.upper(), server.url + below
        environ = {f"{prefix}_API_KEY": KEY, f"{prefix}_BASE_URL": url}
        if service == "openai":
            monkeypatch.setattr("talm_sim.models.openai_servers.OPENAI_URL", url.rstrip("/"))
        model: Any = OPENERS[service](ModelRequest(f"{service}/m", "m", environ=environ))
        await model.generate(said, (), settings)
        model._endpoint.send_by(model._endpoint._post)
        await model.generate(said, (), settings)
        await model.aclose()
    by_sdk, by_us = server.seen
    assert (by_sdk.path, by_sdk.body, by_sdk.headers["content-type"]) == (by_us.path, by_us.body, by_us.headers["content-type"])
    assert KEY in str(by_sdk.headers) and KEY not in str(by_us.headers)
    assert any(name.startswith("x-stainless") for name in by_sdk.headers)
    assert service != "openai" or by_sdk.headers["openai-organization"] == "org-1"


@BOTH
async def test_rate_limits_are_waited_out_in_every_form_of_retry_after(opener: Open, good: Answer) -> None:
    clock = FakeClock()
    script = [
        failing(429, retry_after="3"),
        failing(429, retry_after_ms="250"),
        failing(503, retry_after=formatdate(START + 10, usegmt=True)),
        failing(500),
        good,
    ]
    with loopback(*script) as server:
        assert await say(opener(server.url, retries=clock.policy())) == "hello"
    assert clock.waits == [3.0, 0.25, 6.75, 0.0]
    assert len({request.raw for request in server.seen}) == 1


@BOTH
@pytest.mark.parametrize("status", [429, 503])
async def test_what_may_mend_is_tried_so_many_times_and_no_more(opener: Open, good: Answer, status: int) -> None:
    clock = FakeClock()
    with loopback(failing(status, "busy")) as server:
        with pytest.raises(ProviderError, match=rf"HTTP {status}: busy \(after 2 retries\)$"):
            await say(opener(server.url, retries=clock.policy(max_retries=2)))
        assert len(server.seen) == 3


@BOTH
@pytest.mark.parametrize("status", [401, 422])
async def test_what_cannot_mend_is_tried_once(opener: Open, good: Answer, status: int) -> None:
    with loopback(failing(status, "wrong"), good) as server:
        with pytest.raises(ProviderError, match=f"HTTP {status}: wrong$") as failure:
            await say(opener(server.url))
        assert len(server.seen) == 1
    assert not isinstance(failure.value, ContextOverflowError)


@BOTH
async def test_an_empty_purse_and_an_endless_wait_are_final(opener: Open, good: Answer) -> None:
    for answer in (failing(429, "pay", "insufficient_quota"), failing(429, "tomorrow", retry_after="86400")):
        with loopback(answer, good) as server:
            with pytest.raises(ProviderError, match="HTTP 429"):
                await say(opener(server.url))
            assert len(server.seen) == 1


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        failing(400, "too much", "context_length_exceeded"),
        failing(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
        failing(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        failing(400, "input length and `max_tokens` exceed context limit: 199999 + 512 > 200000"),
        failing(400, "the request exceeds the available context size", "exceed_context_size_error"),
    ],
)
async def test_a_conversation_beyond_the_context_is_told_apart(opener: Open, good: Answer, answer: Answer) -> None:
    with loopback(answer) as server, pytest.raises(ContextOverflowError, match="HTTP 400"):
        await say(opener(server.url))


@BOTH
async def test_an_attempt_may_take_only_so_long(opener: Open, good: Answer) -> None:
    with loopback(Answer(good.body, delay=600.0), good) as server:
        # However often a slow machine is too late for the good answer: some time it is not.
        assert await say(opener(server.url, timeout=0.2, retries=FakeClock().policy(max_retries=10_000))) == "hello"
        assert len(server.seen) > 1
    with loopback(Answer(good.body, delay=600.0)) as server, pytest.raises(ProviderError, match="no answer in time"):
        await say(opener(server.url, timeout=0.1, retries=FakeClock().policy(max_retries=0)))


@BOTH
async def test_no_more_requests_are_in_flight_than_allowed(opener: Open, good: Answer) -> None:
    with loopback(Answer(good.body, delay=0.05, together=3)) as server:
        model = opener(server.url, max_connections=3)
        await asyncio.gather(*(model.generate(HELLO, (), GenerationSettings()) for _ in range(9)))
        await model.aclose()
        assert server.most_in_flight == 3


@BOTH
async def test_no_message_holds_a_key(opener: Open, good: Answer) -> None:
    told = [
        f"Incorrect API key provided: {KEY}.\nYou can find your key at ...",
        "Incorrect API key provided: sk-pro***1234",
        f"bad header Authorization: Bearer {KEY[3:]}",
        "cannot reach http://user:pass-word@proxy:80",
    ]
    for message in told:
        with loopback(failing(401, message)) as server, pytest.raises(ProviderError) as failure:
            await say(opener(server.url))
        said = str(failure.value)
        assert "REDACTED" in said
        assert "\n" not in said
        assert not any(part in said for part in (KEY, "very-secret", "1234", "pass-word"))
        assert failure.value.__cause__ is None


@BOTH
async def test_an_error_under_http_200_is_an_error(opener: Open, good: Answer) -> None:
    clock = FakeClock()
    with loopback(Answer({"error": {"message": "upstream is busy", "code": 502}}), good) as server:
        assert await say(opener(server.url, retries=clock.policy())) == "hello"
    with (
        loopback(Answer({"error": {"message": "no such model", "code": 404}})) as server,
        pytest.raises(ProviderError, match="error 404: no such"),
    ):
        await say(opener(server.url))


class _Raising(httpx2.AsyncBaseTransport):
    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.calls += 1
        raise self.error


@pytest.mark.parametrize("opener", [open_openai, open_anthropic])
@pytest.mark.parametrize(
    "error", [CassetteMissError("nothing recorded"), PrerequisiteError("corrupt"), ZeroDivisionError("a bug in a transport")]
)
async def test_what_is_no_failure_of_the_provider_comes_through_unharmed(opener: Open, error: Exception) -> None:
    transport = _Raising(error)
    with pytest.raises(type(error)) as caught:
        await say(opener("http://model.invalid", transport=transport))
    assert caught.value is error
    assert transport.calls == 1


@pytest.mark.parametrize("opener", [open_openai, open_anthropic])
async def test_a_request_carries_the_url_a_recording_knows_it_by(opener: Open) -> None:
    seen: list[str] = []

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request.extensions[LOGICAL_URL])
            return httpx2.Response(200, json=chat_answer().body | anthropic_answer({"type": "text", "text": "hello"}).body)

    await say(opener("http://router.example/api", transport=Transport()))
    path = "/v1/chat/completions" if opener is open_openai else "/v1/messages"
    assert seen == [f"http://model.invalid{path}"]


@BOTH
async def test_the_waits_of_a_request_together_are_bounded(opener: Open, good: Answer) -> None:
    clock = FakeClock()
    with loopback(
        failing(429, "busy", retry_after="290"), failing(429, "busy", retry_after="290"), failing(500), failing(429, retry_after="21"), good
    ) as server:
        with pytest.raises(ProviderError, match=r"HTTP 429: no \(after 3 retries, 580 s of waiting\)$"):
            await say(opener(server.url, retries=clock.policy()))
        assert len(server.seen) == 4
    assert clock.waits == [290.0, 290.0, 0.0]


@BOTH
async def test_a_number_of_very_many_digits_is_the_providers_failure(opener: Open, good: Answer) -> None:
    for body in (b'{"choices": ' + b"1" * 5000 + b"}", b'{"error": {"code": "' + b"1" * 5000 + b'"}}', '{"error": {"code": "²²²"}}'.encode()):
        with loopback(Answer(body)) as server, pytest.raises(ProviderError):
            await say(opener(server.url))
