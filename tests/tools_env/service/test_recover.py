"""The child is killed (SIGKILL, a real process) under calls: it is started again once, and what reads is sent again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError, ToolsGoneError
from talm_sim.recordings import HttpRequest
from talm_sim.tools_env.restarts import Recovered, on_restart
from talm_sim.tools_env.routes import LOGICAL_HOST
from talm_sim.tools_env.service import process
from talm_sim.tools_env.service.process import ToolService
from talm_sim.tools_env.sources.http import HttpSource, HttpTools

pytestmark = pytest.mark.live
CALL = HttpRequest("GET", f"{LOGICAL_HOST}/color/convert?color=red&to=hsl", {}, None)


@pytest.fixture
def service() -> Iterator[ToolService]:
    """A service of the test's own: it will not survive it."""
    with ToolService() as service:
        yield service


def kill(service: ToolService, sign: signal.Signals = signal.SIGKILL) -> None:
    assert service.pid is not None
    os.kill(service.pid, sign)


async def calls(client: HttpSource, number: int, request: HttpRequest = CALL) -> list[int]:
    return [response.status for response in await asyncio.gather(*(client.send(request) for _ in range(number)))]


async def test_calls_in_flight_are_sent_again_and_a_second_death_ends_it(service: ToolService) -> None:
    first, told = service.base_url, list[str]()
    clients = [HttpSource(first, HttpTools({}, {}), connections=8, recover=service.recover) for _ in range(2)]
    known = await calls(clients[0], 1)
    token = on_restart.set(told.append)
    # A stopped process takes requests and answers none: whatever the machine's speed, they are in flight when it dies.
    kill(service, signal.SIGSTOP)
    flying = asyncio.gather(*(calls(client, 8) for client in clients))
    await asyncio.sleep(0.1)
    kill(service)
    assert await flying == [known * 8] * 2, "whichever client noticed it"
    assert told == ["killed by SIGKILL"], "one restart, told once"
    assert {client.base_url for client in clients} - {first} == {service.base_url}
    kill(service)
    for client in clients:
        with pytest.raises(ToolsGoneError, match=r"^the tool service died twice, the second time killed by SIGKILL: "):
            await calls(client, 3)
        await client.aclose()
    on_restart.reset(token)
    assert told == ["killed by SIGKILL"]


async def test_a_call_that_writes_is_not_sent_twice(service: ToolService) -> None:
    client = HttpSource(service.base_url, HttpTools({}, {}), recover=service.recover)
    kill(service)
    with pytest.raises(ProviderError, match="broke the connection"):
        await calls(client, 1, HttpRequest("POST", CALL.url, {}, b"{}"))
    assert await calls(client, 1), "the next one finds the service alive"
    await client.aclose()


async def test_one_that_lives_is_left_alone_be_it_stopped(service: ToolService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "DEATH_S", 0.1)
    pid, address = service.pid, service.base_url
    kill(service, signal.SIGSTOP)
    assert service.recover(address) == Recovered(address)
    client = HttpSource(address, HttpTools({}, {}), recover=service.recover)
    waiting = asyncio.create_task(calls(client, 3))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    kill(service, signal.SIGCONT)
    assert len(await waiting) == 3
    assert (service.pid, service.base_url) == (pid, address)
    await client.aclose()


async def test_one_that_is_told_to_end_closes_its_doors_before_it_is_gone(service: ToolService) -> None:
    client = HttpSource(service.base_url, HttpTools({}, {}), recover=service.recover)
    kill(service, signal.SIGTERM)
    known = await calls(client, 1)
    while client.base_url != service.base_url or service._deaths == 0:
        assert await calls(client, 1) == known
    await client.aclose()


def test_one_that_was_stopped_is_not_brought_back(service: ToolService) -> None:
    address = service.base_url
    service.stop()
    with pytest.raises(ToolsGoneError, match="was stopped"):
        service.recover(address)
    assert service.pid is None


def test_one_that_does_not_start_again_is_told_in_one_line(service: ToolService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise PrerequisiteError("port 1 is busy.")

    monkeypatch.setattr(service, "_spawn", fails)
    kill(service)
    with pytest.raises(ToolsGoneError, match=r"^the tool service died \(killed by SIGKILL\) and does not start again: port 1 is busy\.$"):
        service.recover(service.base_url)


def test_one_that_dies_while_it_is_asked_for_its_tools_is_told_in_one_line(service: ToolService) -> None:
    kill(service)
    with pytest.raises(PrerequisiteError, match=r"^the tool service started, but then did not answer: ConnectionError; try again\.$"):
        service.tools()
