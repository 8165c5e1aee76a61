"""One model behind several real loopback servers, through both SDKs: who is asked, and what a failing one costs."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import PrerequisiteError, ProviderError, RefusedError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.endpoint import Endpoint
from talm_sim.models.openai_chat import OpenAIChat
from talm_sim.models.openai_servers import OPENAI_URL
from talm_sim.models.registry import open_model
from talm_sim.models.request import server_urls
from talm_sim.models.retries import RequestRetried, on_retry
from talm_sim.models.servers import Servers, ServersChanged, on_servers_change
from tests.models.loopback import Answer, Loopback, anthropic_answer, chat_answer, loopback
from tests.models.test_endpoint import FakeClock, failing
from tests.tables import labelled

GOOD = chat_answer("hello")
HELLO = [HumanMessage("hello")]


@pytest.fixture
def said() -> list[ServersChanged]:
    changes: list[ServersChanged] = []
    on_servers_change.set(changes.append)
    return changes


@contextmanager
def three(*scripts: Answer) -> Iterator[list[Loopback]]:
    with ExitStack() as stack:
        yield [stack.enter_context(loopback(script)) for script in scripts]


@contextmanager
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{place.getsockname()[1]}"


class Several:
    """A model of several servers, with a clock that only sleeping and the test move."""

    def __init__(self, *urls: str, max_retries: int = 2, **options: Any) -> None:
        self.clock = FakeClock()
        bases = [f"{url}/v1" for url in urls]
        self.endpoint = Endpoint("openai/m", bases, retries=self.clock.policy(max_retries), **options)
        self.endpoint.servers = Servers("openai/m", bases, lambda: self.clock.time)
        self.model = OpenAIChat("openai/m", "m", self.endpoint)

    async def say(self, times: int = 1) -> list[str]:
        return [(await self.model.generate(HELLO, (), GenerationSettings())).text for _ in range(times)]


Make = Callable[..., Several]


@pytest.fixture
async def several() -> AsyncIterator[Make]:
    made: list[Several] = []

    def make(*urls: str, **options: Any) -> Several:
        made.append(Several(*urls, **options))
        return made[-1]

    yield make
    for one in made:
        await one.model.aclose()


async def test_one_that_is_not_there_costs_no_wait_and_is_asked_again_later(several: Make, said: list[ServersChanged]) -> None:
    retries: list[RequestRetried] = []
    on_retry.set(retries.append)
    with three(GOOD, GOOD) as hosts, nobody() as absent:
        model = several(hosts[0].url, absent, hosts[1].url, max_retries=0, fail_fast=True)
        await model.say(8)
        assert [len(host.seen) for host in hosts] == [4, 4] and model.clock.waits == []
        assert [(retry.reason, retry.wait_s, retry.number) for retry in retries] == [("no connection: Connection refused", 0.0, 1)]
        model.clock.time += 30
        await model.say(3)
        assert len(retries) == 2, "one request of three found out that it is still not there"
        model.clock.time += 59
        await model.say(3)
        assert len(retries) == 2, "the second pause is of 60 s"
    (change,) = said
    assert (change.server, change.reason, change.pause_s, change.in_use) == (
        absent.removeprefix("http://"),
        "no connection: Connection refused",
        30.0,
        2,
    )


async def test_a_line_that_closes_once_is_tried_again_at_the_same_server(several: Make, said: list[ServersChanged]) -> None:
    with loopback(Answer(hang_up=True), GOOD) as one, loopback(GOOD) as other:
        model = several(one.url, other.url)
        await model.say(4)
        assert (len(one.seen), len(other.seen)) == (3, 2)
    assert said == [] and model.clock.waits == [0.0]
    with loopback(Answer(hang_up=True)) as one, loopback(GOOD) as other:
        model = several(one.url, other.url)
        await model.say(4)
        assert (len(one.seen), len(other.seen)) == (2, 4)
    assert len(said) == 1 and said[0].reason.startswith("no connection: ")


async def test_a_failure_that_outlasts_the_retries_leaves_the_server_out(several: Make, said: list[ServersChanged]) -> None:
    with three(failing(503, "busy"), GOOD, GOOD) as hosts:
        model = several(*(host.url for host in hosts))
        assert await model.say(6) == ["hello"] * 6
        assert [len(host.seen) for host in hosts] == [3, 3, 3]
        hosts[0].script[:] = [GOOD]
        model.clock.time += 30
        await model.say(3)
        assert len(hosts[0].seen) == 4
    assert [(one.reason, one.in_use) for one in said] == [("HTTP 503: busy", 2), ("", 3)]


async def test_a_request_that_fails_at_a_server_which_answers_others_leaves_none_out(several: Make, said: list[ServersChanged]) -> None:
    """Each other server is tried with it, then it fails as with one."""
    with three(GOOD, GOOD) as hosts:
        answered = asyncio.Event()

        def reply(seen: Any) -> Answer:
            return failing(500, "poison") if b"poison" in seen.raw else GOOD

        for host in hosts:
            host.reply = reply
        model = several(*(host.url for host in hosts))

        async def sleep(seconds: float) -> None:
            await model.say(2)  # others are answered meanwhile
            answered.set()

        object.__setattr__(model.endpoint.retries, "sleep", sleep)
        with pytest.raises(ProviderError, match=r"HTTP 500: poison \(after 5 retries\)$"):
            await model.model.generate([HumanMessage("poison")], (), GenerationSettings())
        assert answered.is_set() and [sum(b"poison" in one.raw for one in host.seen) for host in hosts] == [3, 3]
    assert said == []


async def test_where_all_fail_it_is_as_with_one(several: Make, said: list[ServersChanged]) -> None:
    with three(failing(500, "a"), failing(500, "b"), failing(500, "c")) as hosts:
        model = several(*(host.url for host in hosts))
        with pytest.raises(ProviderError, match=r"HTTP 500: c \(after 8 retries\)$"):
            await model.say()
        assert [len(host.seen) for host in hosts] == [3, 3, 3] and [one.in_use for one in said] == [2, 1, 0]
        with pytest.raises(ProviderError, match=r"HTTP 500: . \(after 2 retries\)$"):
            await model.say()
        assert sum(len(host.seen) for host in hosts) == 12, "as many retries as one server gets, over all of them in turn"
        hosts[1].script[:] = [GOOD]
        assert await model.say(3) == ["hello"] * 3
        assert (said[-1].server, said[-1].reason, said[-1].in_use) == (hosts[1].url.removeprefix("http://"), "", 1)


async def test_the_very_first_refusals_end_the_run_if_they_are_the_users_to_fix(several: Make, said: list[ServersChanged]) -> None:
    with nobody() as one, nobody() as other:
        model = several(one, other, fail_fast=True, variables=("MY_BASE_URL", "MY_API_KEY"))
        with pytest.raises(
            RefusedError, match=r"refused; check that the servers are running and that their base URLs are right \(MY_BASE_URL\)"
        ):
            await model.say()
        assert model.clock.waits == []
    with three(GOOD, failing(404, "no such model")) as hosts:
        model = several(*(host.url for host in hosts), fail_fast=True, variables=("MY_BASE_URL", ""))
        host = hosts[1].url.removeprefix("http://")
        with pytest.raises(RefusedError, match=rf"/m at {host}: HTTP 404: no such model; check the model's name"):
            await model.say(2)
    assert [one.in_use for one in said] == [1, 0]


async def test_a_server_that_comes_back_without_the_model_stays_out(several: Make, said: list[ServersChanged]) -> None:
    with three(failing(503), GOOD) as hosts:
        model = several(*(host.url for host in hosts), fail_fast=True)
        await model.say(2)
        hosts[0].script[:] = [failing(404, "no such model")]
        model.clock.time += 30
        assert await model.say(4) == ["hello"] * 4
    assert [(one.reason, one.pause_s) for one in said] == [("HTTP 503: no", 30), ("HTTP 404: no such model", 60)]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai-api/my"])
async def test_each_server_gets_its_own_password_and_none_is_shown(
    provider: str, said: list[ServersChanged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not by a server that shows another one's."""
    words = [f"pass-word-{number}" for number in range(3)]
    told = failing(500, f"me:{words[2]} {words[0]} {words[1]}")
    good = anthropic_answer({"type": "text", "text": "hello"}) if provider == "anthropic" else GOOD
    with three(told, good, good) as hosts:
        bases = [host.url + ("" if provider == "anthropic" else "/v1") for host in hosts]
        urls = [base.replace("//", f"//me:{word}@") for base, word in zip(bases, words, strict=True)]
        name = "MY" if provider == "openai-api/my" else provider.upper()
        monkeypatch.setenv(f"{name}_BASE_URL", ",".join(urls))
        monkeypatch.setenv(f"{name}_API_KEY", "sk-one-key-0123456789")
        model: Model = open_model(f"{provider}/m", max_retries=0)
        assert [(await model.generate(HELLO, (), GenerationSettings())).text for _ in range(3)] == ["hello"] * 3
        await model.aclose()
        for host, word in zip(hosts, words, strict=True):
            assert {one.headers["authorization"] for one in host.seen} == {f"Basic {base64.b64encode(f'me:{word}'.encode()).decode()}"}
    assert [one.reason for one in said] == ["HTTP 500: REDACTED REDACTED REDACTED"]
    assert not any(word in repr(said) for word in words)


@pytest.mark.parametrize(("urls", "sent"), [(f"{OPENAI_URL}/", "org-1"), (f"{OPENAI_URL},http://127.0.0.1:9/v1", None)])
async def test_the_organization_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch, urls: str, sent: str | None) -> None:
    seen: list[str | None] = []

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request.headers.get("openai-organization"))
            return httpx2.Response(200, json=GOOD.body)

    for name, value in (("OPENAI_BASE_URL", urls), ("OPENAI_API_KEY", "sk-1"), ("OPENAI_ORG_ID", "org-1")):
        monkeypatch.setenv(name, value)
    model = open_model("openai/m", transport_factory=Transport)
    for _ in range(2):
        await model.generate(HELLO, (), GenerationSettings())
    await model.aclose()
    assert seen == [sent, sent]


@labelled
def test_a_list_of_addresses_that_is_wrong_is_refused_by_its_item(text: str, line: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^{line}") as refused:
        server_urls("V_BASE_URL", text)
    assert "ss@" not in str(refused.value)
