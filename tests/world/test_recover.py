"""The child is killed (SIGKILL, a real process) under calls: it is started again once, and what reads is sent again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError, ToolsGoneError
from talm_sim.recordings import HttpRequest
from talm_sim.tools_env.restarts import Recovered, on_restart
from talm_sim.tools_env.routes import LOGICAL_HOST
from talm_sim.tools_env.sources.http import HttpSource, HttpTools
from talm_sim.world import process
from talm_sim.world.process import ToolService, read_tools
from tests.world.quick import QuickServices

pytestmark = pytest.mark.live
CALL = HttpRequest("GET", f"{LOGICAL_HOST}/art/convert?color=red&to=hsl", {}, None)


class Service(ToolService):
    """A service that knows which process serves."""

    services: QuickServices

    def kill(self, sign: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.services.pid(self), sign)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    """A service of the test's own: it will not survive it."""
    service = Service()
    service.services = QuickServices(monkeypatch, tmp_path)
    with service:
        yield service


async def calls(client: HttpSource, number: int, request: HttpRequest = CALL) -> list[int]:
    return [response.status for response in await asyncio.gather(*(client.send(request) for _ in range(number)))]


async def test_calls_in_flight_are_sent_again_and_a_second_death_ends_it(service: Service) -> None:
    first, told = service.base_url, list[str]()
    clients = [HttpSource(first, HttpTools({}, {}), connections=8, recover=service.recover) for _ in range(2)]
    known = await calls(clients[0], 1)
    token = on_restart.set(told.append)
    # A stopped process takes requests and answers none: whatever the machine's speed, they are in flight when it dies.
    service.kill(signal.SIGSTOP)
    flying = asyncio.gather(*(calls(client, 8) for client in clients))
    await asyncio.sleep(0.1)
    service.kill()
    assert await flying == [known * 8] * 2, "whichever client noticed it"
    assert told == ["killed by SIGKILL"], "one restart, told once"
    assert {client.base_url for client in clients} - {first} == {service.base_url}
    service.kill()
    for client in clients:
        with pytest.raises(ToolsGoneError, match=r"^the tool service died twice, the second time killed by SIGKILL: "):
            await calls(client, 3)
        await client.aclose()
    on_restart.reset(token)
    assert told == ["killed by SIGKILL"]


async def test_a_call_that_writes_is_not_sent_twice(service: Service) -> None:
    client = HttpSource(service.base_url, HttpTools({}, {}), recover=service.recover)
    service.kill()
    with pytest.raises(ProviderError, match="broke the connection"):
        await calls(client, 1, HttpRequest("POST", CALL.url, {}, b"{}"))
    assert await calls(client, 1), "the next one finds the service alive"
    await client.aclose()


async def test_one_that_lives_is_left_alone_be_it_stopped(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "DEATH_S", 0.1)
    pid, address = service.pid, service.base_url
    service.kill(signal.SIGSTOP)
    assert service.recover(address) == Recovered(address)
    client = HttpSource(address, HttpTools({}, {}), recover=service.recover)
    waiting = asyncio.create_task(calls(client, 3))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    service.kill(signal.SIGCONT)
    assert len(await waiting) == 3
    assert (service.pid, service.base_url) == (pid, address)
    await client.aclose()


async def test_one_that_is_told_to_end_closes_its_doors_before_it_is_gone(service: Service) -> None:
    client = HttpSource(service.base_url, HttpTools({}, {}), recover=service.recover)
    service.kill(signal.SIGTERM)
    known = await calls(client, 1)
    while client.base_url != service.base_url or service._deaths == 0:
        assert await calls(client, 1) == known
    await client.aclose()


def test_one_that_does_not_start_again_is_told_in_one_line(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise PrerequisiteError("port 1 is busy.")

    monkeypatch.setattr(service, "_spawn", fails)
    service.kill()
    with pytest.raises(ToolsGoneError, match=r"^the tool service died \(killed by SIGKILL\) and cannot be restarted: port 1 is busy\.$"):
        service.recover(service.base_url)


def test_one_that_dies_while_it_is_asked_for_its_tools_is_told_in_one_line(service: Service) -> None:
    service.kill()
    with pytest.raises(PrerequisiteError, match=r"^the tool service started, but then did not answer: ConnectionError; try again\.$"):
        read_tools(service.base_url)
