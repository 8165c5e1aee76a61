"""What models are asked is counted once, where it leaves the machine; what no server reports, at its upper bound."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models import metering
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.langchain_chat import LangChainModel
from talm_sim.models.metering import Count, Meter, asking_as, count_generations, current_meter, generation_bound, request_bound, response_usage
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn, ToolSpec, Usage
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback
from tests.models.test_langchain_chat import Chat

HELLO = [HumanMessage("hello")]
SETTINGS = GenerationSettings(max_new_tokens=100)
MODEL = "openai-api/stand/m"
WHERE = ("agent", MODEL)


@pytest.fixture
def meter() -> Iterator[Meter]:
    made = Meter()
    token = current_meter.set(made)
    yield made
    current_meter.reset(token)


def without_usage() -> Answer:
    return Answer({name: value for name, value in chat_answer().body.items() if name != "usage"})


async def ask(monkeypatch: pytest.MonkeyPatch, *script: Answer, url: str = "", times: int = 1, **how: Any) -> list[bytes]:
    """Ask a real server; return the bodies that it was sent."""
    with loopback(*script) as server:
        monkeypatch.setenv("STAND_BASE_URL", url or f"{server.url}/v1")
        model = open_model(MODEL, **how)
        try:
            for _ in range(times):
                with contextlib.suppress(ProviderError):
                    await model.generate(HELLO, (), SETTINGS)
        finally:
            await model.aclose()
        return [one.raw for one in server.seen]


async def test_what_a_server_reports_is_counted(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(monkeypatch, chat_answer(), times=3)
    assert meter.counts == {WHERE: Count(3, Usage(input_tokens=33, output_tokens=9, cached_tokens=24))}


async def test_tokens_that_a_cache_gave_or_took_are_read_tokens(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(anthropic_answer({"type": "text", "text": "hi"})) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-nobody")
        model = open_model("anthropic/m")
        await model.generate(HELLO, (), SETTINGS)
        await model.aclose()
    assert meter.counts[("agent", "anthropic/m")] == Count(1, Usage(input_tokens=4 + 6 + 1, output_tokens=3, cached_tokens=6))


@pytest.mark.parametrize("silent", [without_usage(), Answer({**chat_answer().body, "usage": {"prompt_tokens": 0, "completion_tokens": 0}})])
async def test_what_a_server_does_not_report_counts_at_its_bound(meter: Meter, monkeypatch: pytest.MonkeyPatch, silent: Answer) -> None:
    (body,) = await ask(monkeypatch, silent)
    assert meter.counts[WHERE] == Count(1, Usage(input_tokens=-(-len(body) // 2), output_tokens=100), bounded=1)


@pytest.mark.parametrize(
    ("failure", "tokens"),
    [(Answer({"error": {"message": "later"}}, 429), False), (Answer({}, 503), True), (Answer(hang_up=True), True), (Answer(delay=9), True)],
)
async def test_every_try_is_a_request_and_one_that_may_have_reached_the_model_has_tokens(
    meter: Meter, monkeypatch: pytest.MonkeyPatch, failure: Answer, tokens: bool
) -> None:
    monkeypatch.setattr("talm_sim.models.retries.RetryPolicy.wait_before", lambda *_: 0.0)
    first, second = await ask(monkeypatch, failure, chat_answer(), timeout=0.5)
    count = meter.counts[WHERE]
    assert (count.requests, count.bounded) == (2, int(tokens)) and first == second
    assert count.usage.input_tokens == 11 + (-(-len(first) // 2) if tokens else 0)
    assert count.usage.output_tokens == 3 + (100 if tokens else 0)


async def test_a_server_that_is_not_there_reads_nothing(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(monkeypatch, chat_answer(), url="http://127.0.0.1:9/v1", max_retries=0)
    assert meter.counts == {WHERE: Count(1)}


async def test_a_model_that_may_not_be_asked_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(model: str) -> None:
        raise PrerequisiteError(f"no {model}")

    with loopback(chat_answer()) as server:
        monkeypatch.setenv("STAND_BASE_URL", f"{server.url}/v1")
        model = open_model(MODEL)  # before there was a meter
        token = current_meter.set(Meter(refuse))
        for refused in (lambda: open_model(MODEL), lambda: asyncio.wait_for(model.generate(HELLO, (), SETTINGS), 9)):
            with pytest.raises(PrerequisiteError, match="no openai-api"):
                made: Any = refused()
                await made
        current_meter.reset(token)
        await model.aclose()
        assert not server.seen


async def test_parts_are_counted_apart(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(monkeypatch, chat_answer())
    with asking_as(metering.JUDGE):
        await ask(monkeypatch, chat_answer(), times=2)
    assert {part: one.requests for (part, _), one in meter.counts.items()} == {"agent": 1, "judge": 2}


# --- models that make no request that can be seen -------------------------------------------------------------------------------------


class Plain:
    """A stranger's model, which says nothing of tokens unless it is told to."""

    def __init__(self, usage: Usage | None = None) -> None:
        self.name = "plain/m"
        self.usage = usage or Usage()

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        return await self.complete("x", settings)

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        if prompt == "fail":
            raise ProviderError("no")
        return ModelTurn(raw_text="y" * 1000, usage=self.usage)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        return [Continuation(-1.0, 1) for _ in options]

    async def aclose(self) -> None: ...


async def test_a_generation_counts_once_however_many_a_model_makes_of_it(meter: Meter) -> None:
    model = Plain(Usage(input_tokens=5, output_tokens=7))
    count_generations(model, meter)
    await model.generate(HELLO, (), SETTINGS)
    assert meter.counts == {("agent", "plain/m"): Count(1, Usage(input_tokens=5, output_tokens=7))}


async def test_a_generation_without_usage_counts_all_it_was_given_and_all_it_wrote_or_might_have(meter: Meter) -> None:
    model = Plain()
    count_generations(model, meter)
    await model.generate([HumanMessage("é" * 300)], (ToolSpec(name="t", description="d" * 400),), SETTINGS)
    (count,) = meter.counts.values()
    assert count.bounded == count.requests == 1
    assert count.usage.input_tokens >= (600 + 400) / 2 and count.usage.output_tokens >= 500
    await model.complete("p", GenerationSettings(max_new_tokens=9000))
    assert count.usage.output_tokens >= 500 + 9000


async def test_a_failed_generation_and_each_scored_text_count(meter: Meter) -> None:
    model = Plain()
    count_generations(model, meter)
    with pytest.raises(ProviderError):
        await model.complete("fail", SETTINGS)
    await model.score("p" * 100, ["a", "b", "c"])
    (count,) = meter.counts.values()
    assert (count.requests, count.bounded) == (4, 4) and count.usage.output_tokens == 100


async def test_a_chat_model_of_langchain_is_counted_by_what_it_reports(meter: Meter) -> None:
    used = {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22}
    model = LangChainModel(Chat(reply=AIMessage("hi", usage_metadata=used)))
    count_generations(model, meter)
    await model.generate(HELLO, (), SETTINGS)
    assert meter.counts == {("agent", "langchain/Chat"): Count(1, Usage(input_tokens=20, output_tokens=2))}


async def test_a_control_asks_nobody(meter: Meter) -> None:
    model = open_model("sim/oracle")
    with pytest.raises(ProviderError):
        await model.generate(HELLO, (), SETTINGS)
    assert not meter.counts


def test_a_model_whose_methods_cannot_be_replaced_is_refused_and_not_left_uncounted(meter: Meter) -> None:
    class Fixed:
        __slots__ = ()
        name = "fixed/m"

        async def generate(self) -> None: ...

    with pytest.raises(PrerequisiteError, match="what fixed/m asks cannot be counted"):
        count_generations(Fixed(), meter)


# --- bounds ---------------------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=200), st.integers(1, 10**6))
def test_the_bound_of_a_request_is_half_its_bytes_and_what_it_allows(text: str, most: int) -> None:
    body = json.dumps({"messages": [{"content": text}], "max_tokens": most}).encode()
    bound = request_bound(body)
    assert bound.input_tokens * 2 >= len(body) >= len(text.encode("utf-8", "replace")) and bound.output_tokens == most


def test_an_answer_of_any_length_counts_as_long_as_it_is() -> None:
    made = Meter()
    with made.sending("m", request_bound(b"{}")) as sent:
        sent.received = 301
    assert made.counts[("agent", "m")] == Count(1, Usage(input_tokens=1, output_tokens=151), bounded=1)


def test_what_cannot_be_written_counts_as_the_longest_text() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    assert generation_bound([Odd()]).input_tokens == 2**19


@given(st.binary(max_size=100), st.integers(200, 599))
def test_any_answer_is_read_or_counts_as_without_usage(body: bytes, status: int) -> None:
    usage = response_usage(status, body)
    assert usage is None or usage == Usage() or usage.input_tokens > 0
    assert request_bound(body).input_tokens == -(-len(body) // 2)
