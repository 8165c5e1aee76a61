"""MCP servers that ask the person during a call: forms are put, answered and checked, and everything else is refused in a line."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from talm_sim.tools_env.asking_tools import asking_person
from talm_sim.tools_env.sources import mcp
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Decision, Form
from tests.tools_env.sources.eliciting_mcp import SEAT

SERVER = f"m=mcp:{sys.executable} {Path(__file__).with_name('eliciting_mcp.py')}"
ACCEPTED = Decision(action="accept", content={"seat": "12A"})


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "START_S", 100.0)
    monkeypatch.setattr(mcp, "CALL_S", 60.0)


@asynccontextmanager
async def opened(text: str = SERVER, *, person: bool = True) -> AsyncIterator[Tools]:
    tools = await open_tools([text], person=person)
    try:
        yield tools
    finally:
        await tools.aclose()


class Person:
    """Answers forms, one decision after another, when `ready` is set."""

    def __init__(self, *decisions: Decision) -> None:
        self.asked: list[Form] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self._decisions = list(decisions)

    async def __call__(self, form: Form) -> Decision:
        self.asked.append(form)
        await self.ready.wait()
        return self._decisions.pop(0)


async def call(tools: Tools, tool: str, person: Any = None, episode: str = "s@1", **arguments: Any) -> Any:
    with asking_person(person):
        response, _ = await tools.call(tool, arguments, episode)
    return json.loads(response.body)


async def test_it_is_declared_only_where_there_is_a_person_and_only_for_forms() -> None:
    async with opened(person=False) as tools:
        assert [*tools.specs] == ["declared"] and "elicitation" not in await call(tools, "declared")
        assert not tools.routes["declared"].asks
    async with opened() as tools:
        assert [*tools.specs] == ["ask", "declared", "start"]
        assert (await call(tools, "declared"))["elicitation"] == {"form": {}}
        assert tools.routes["ask"].asks
        assert tools.request_of("ask", {}).url.endswith("/m/ask?person")


@pytest.mark.parametrize("decision", [ACCEPTED, Decision(action="decline"), Decision(action="cancel")], ids=lambda one: one.action)
async def test_a_form_is_put_to_the_person_and_the_decision_comes_back(decision: Decision) -> None:
    person = Person(decision)
    async with opened() as tools:
        (answer,) = await call(tools, "ask", person)
    assert answer == {"action": decision.action} | ({"content": decision.content} if decision.content else {})
    assert person.asked == [Form(message="Which seat?", fields=SEAT["requestedSchema"], source="m")]


FIELD = {"type": "object", "properties": {"a": {"type": "string"}}}
REFUSED = {
    "url": ({"mode": "url", "message": "Pay", "url": "https://user:word@pay.example/x", "elicitationId": "1"}, "to a web page (pay.example)"),
    "nested": (
        {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}},
        "its form's field 'a' is not a text",
    ),
    "large": ({"message": "m" * 100_001, "requestedSchema": FIELD}, "its form is longer than 100,000 bytes"),
    "no object": ({"message": "m", "requestedSchema": {"type": "string"}}, ""),
    "nothing": ({"message": "m"}, ""),
}


@pytest.mark.parametrize("kind", REFUSED)
async def test_what_is_no_form_is_refused_in_a_line(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    params, why = REFUSED[kind]
    person = Person()
    async with opened() as tools:
        with caplog.at_level(logging.WARNING):
            (answer,) = await call(tools, "ask", person, asks=[params])
    assert answer["code"] < 0 and why in answer["message"] and person.asked == []
    said = [record.message for record in caplog.records if record.name.startswith("talm_sim")]
    assert len(said) == bool(why) and all(one.startswith("MCP server 'm': ") and "word" not in one for one in said)
    if kind == "url":
        assert said == ["MCP server 'm': it wanted to send the person to a web page (pay.example), which is refused"]


async def test_a_person_takes_any_time_and_the_call_itself_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened() as tools:
        await call(tools, "declared")
        monkeypatch.setattr(mcp, "CALL_S", 1.0)
        person = Person(ACCEPTED, Decision(action="decline"))
        person.ready.clear()
        asyncio.get_running_loop().call_later(2.0, person.ready.set)
        both = await call(tools, "ask", person, asks=[SEAT, SEAT], together=True)
    assert sorted(one["action"] for one in both) == ["accept", "decline"]


async def test_each_episode_has_a_server_of_its_own_so_that_its_person_is_asked() -> None:
    people = {f"s@{number}": Person(Decision(action="accept", content={"seat": str(number)})) for number in range(4)}
    for person in people.values():
        person.ready.clear()
    async with opened() as tools:
        calls = [asyncio.create_task(call(tools, "ask", person, episode)) for episode, person in people.items()]
        async with asyncio.timeout(60):
            while not all(person.asked for person in people.values()):
                await asyncio.sleep(0.01)
        for person in reversed(people.values()):
            person.ready.set()
        assert [answer["content"]["seat"] for (answer,) in await asyncio.gather(*calls)] == ["0", "1", "2", "3"]
        starts = {await call(tools, "start", None, episode) for episode in people}
        assert len(starts) == 4
        for episode in people:
            tools.leave(episode)
        assert await call(tools, "start", None, "t@1") not in starts


async def test_the_calls_of_one_episode_are_made_one_after_the_other() -> None:
    first, second = Person(ACCEPTED), Person(Decision(action="decline"))
    first.ready.clear()
    async with opened() as tools:
        one = asyncio.create_task(call(tools, "ask", first))
        other = asyncio.create_task(call(tools, "ask", second))
        async with asyncio.timeout(60):
            while not first.asked:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert second.asked == []
        first.ready.set()
        assert [(await one)[0]["action"], (await other)[0]["action"]] == ["accept", "decline"]


async def test_what_is_asked_outside_of_a_call_reaches_nobody() -> None:
    person, later = Person(ACCEPTED), Person()
    async with opened() as tools:
        await call(tools, "ask", person, after=True)
        await asyncio.sleep(0.3)
        await call(tools, "start", later)
        assert await call(tools, "ask", None) == [{"code": -32600, "message": "There is no call under way whose person could be asked."}]
    assert len(person.asked) == 1 and later.asked == []


async def test_a_server_that_does_not_wait_asks_nobody_any_more() -> None:
    left = []

    async def person(form: Form) -> Decision:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            left.append(form.message)
            raise
        raise AssertionError

    async with opened() as tools:
        assert await call(tools, "ask", person, impatient=True) == ["nobody answered"]
        await asyncio.sleep(0)
        assert left == ["Which seat?"]
        assert await call(tools, "ask", Person(ACCEPTED)) == [{"action": "accept", "content": {"seat": "12A"}}]


async def test_an_episode_may_end_while_its_person_is_asked() -> None:
    person = Person()
    person.ready.clear()
    async with opened() as tools:
        before = await call(tools, "start")
        asking = asyncio.create_task(call(tools, "ask", person))
        async with asyncio.timeout(60):
            while not person.asked:
                await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        tools.leave("s@1")
        assert await call(tools, "start", None, "t@1") != before


async def test_a_server_that_asks_forever_is_left_to_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(*[ACCEPTED] * 100)
    async with opened() as tools:
        await call(tools, "declared")
        monkeypatch.setattr(mcp, "CALL_S", 3.0)
        with pytest.raises(TimeoutError):
            await call(tools, "ask", person, asks=[SEAT] * 50)
    assert len(person.asked) == 20


async def test_secrets_are_shown_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz0123456789")
    asks = {**SEAT, "message": "Is it sk-abcdefghijklmnopqrstuvwxyz0123456789?"}
    person = Person(ACCEPTED)
    async with opened() as tools:
        await call(tools, "ask", person, asks=[asks])
    assert "abcdefghij" not in person.asked[0].message
