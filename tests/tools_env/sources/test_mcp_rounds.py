"""MCP servers of 2026-07-28: a call ends with what the server asks, and is made again with the answers, as one call of the episode."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from talm_sim.agent.episode import Players, Waiting, run_episode
from talm_sim.config import Traffic
from talm_sim.recordings import CassetteLibrary
from talm_sim.tools_env.asking_tools import asking_person, call_in_rounds
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources import mcp
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Decision, Episode, GoldCall, ModelTurn, Scenario, Termination, ToolCall, Turn
from tests.agent.test_holding import DONE, agent_of, resume
from tests.tools_env.sources import rounds_mcp
from tests.tools_env.sources.rounds_mcp import form
from tests.tools_env.sources.test_mcp import HEAD, over_http

BOOKING = f"""{HEAD}
from typing import Annotated
from pydantic import BaseModel
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve

class Seat(BaseModel):
    seat: str

def which(flight: str) -> Elicit[Seat]:
    return Elicit("Which seat on " + flight + "?", Seat)

@server.tool()
def book(flight: str, seat: Annotated[ElicitationResult[Seat], Resolve(which)]) -> dict[str, str | int]:
    "Book a seat."
    return {{"flight": flight, "seat": seat.data.seat if seat.action == "accept" else seat.action, "process": os.getpid()}}
"""
YES, NO = Decision(action="accept", content={"seat": "12A"}), Decision(action="decline")
ONE = {"inputRequests": {"a": form("A?")}}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_S", "CALL_S"):
        monkeypatch.setattr(mcp, name, 60.0)


@asynccontextmanager
async def opened(folder: Path, *, person: bool = True) -> AsyncIterator[Tools]:
    tools = await open_tools([f"m=mcp:{sys.executable} {rounds_mcp.__file__} {folder / 'log'}"], person=person)
    try:
        yield tools
    finally:
        await tools.aclose()


async def ask(tools: Tools, person: Any, *rounds: dict[str, Any]) -> Any:
    with asking_person(person):
        response, _ = await call_in_rounds(lambda: tools.call("ask", {"rounds": rounds}, "s@1"))
    return json.loads(response.body)


def sent(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines()]


CHOICES = {
    "cabin": {"type": "string", "oneOf": [{"const": "e", "title": "Economy"}, {"const": "b", "title": "Business"}]},
    "meals": {"type": "array", "items": {"anyOf": [{"const": "v", "title": "Vegan"}]}, "minItems": 1},
    "old": {"type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "Why"], "default": "y"},
    "bags": {"type": "integer", "minimum": 0, "maximum": 3, "default": 1},
}


async def test_each_form_is_put_and_the_call_is_sent_again_with_the_untouched_state(tmp_path: Path) -> None:
    asked = []

    async def person(form: Any) -> Decision:
        asked.append(form)
        return {"A?": YES, "B?": NO, "C?": Decision(action="cancel")}[form.message]

    several = {"inputRequests": {"a": form("A?"), "b": form("B?")}}
    async with opened(tmp_path) as tools:
        answer = await ask(tools, person, several, {}, {"inputRequests": {"c": form("C?", **CHOICES)}})
    assert answer == {"state": "3|\u00e9 ", "said": {"c": {"action": "cancel"}}}
    calls = sent(tmp_path)
    assert [one.get("requestState") for one in calls] == [None, "1|\u00e9 ", "2|\u00e9 ", "3|\u00e9 "]
    assert calls[1]["inputResponses"] == {"a": {"action": "accept", "content": {"seat": "12A"}}, "b": {"action": "decline"}}
    assert "inputResponses" not in calls[2] and len({json.dumps([one["name"], one["arguments"]]) for one in calls}) == 1
    declared = {json.dumps(one["_meta"]["io.modelcontextprotocol/clientCapabilities"]) for one in calls}
    assert declared == {'{"elicitation": {"form": {}}}'}
    assert [(one.message, one.source) for one in asked] == [("A?", "m"), ("B?", "m"), ("C?", "m")]
    assert asked[2].fields["properties"] == CHOICES


URL = {"method": "elicitation/create", "params": {"mode": "url", "message": "Pay", "url": "https://user:word@pay.example/x"}}
SAMPLING = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
REFUSED: dict[str, list[dict[str, Any]]] = {
    "send the person to a web page (pay.example)": [{"inputRequests": {"a": form("A?"), "u": URL}}],
    "it asked for a model's answer": [{"inputRequests": {"a": SAMPLING}}],
    "it asked for folders": [{"inputRequests": {"a": {"method": "roots/list"}}}],
    "its form's field 'a' is not a text": [{"inputRequests": {"a": form("A?", a={"type": "object"})}}],
    "a whole number of more than 64 bits": [{"inputRequests": {"a": form("A?", a={"type": "integer", "maximum": 2**64})}}],
    "it asked for something more than 8 times": [{}] * 9,
    "The state has expired.": [{**ONE, "requestState": "1|old"}],
    "nobody is there (--human)": [ONE],
}


@pytest.mark.parametrize("why", REFUSED)
async def test_what_is_no_form_is_refused_in_a_line(why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def person(form: Any) -> Decision:
        return YES

    there = "nobody" not in why
    async with opened(tmp_path, person=there) as tools:
        answer = await ask(tools, person if there else None, *REFUSED[why])
        assert await ask(tools, person, *[{}] * 8) == {"state": "8|\u00e9 ", "said": None}
    assert why in answer["detail"] and len(answer["detail"]) < 200
    said = [record.message for record in caplog.records if record.levelno >= logging.WARNING and record.name.startswith("talm_sim")]
    assert len(said) == (why not in [*REFUSED][-3:-1]) and "word" not in "".join(said)


def turn(*names: str) -> ModelTurn:
    rounds = [{"inputRequests": {"a": form("A?"), "b": form("B?")}}, {}, ONE]
    return ModelTurn(tool_calls=tuple(ToolCall(id=one, name="ask", arguments={"rounds": rounds, "n": one}) for one in names), stop="tool_calls")


@pytest.mark.parametrize("own", [False, True], ids=["ours", "own"])
async def test_all_rounds_are_one_call_one_recorded_result_and_one_strike(own: bool, tmp_path: Path) -> None:
    gold = GoldCall(name="ask", arguments={})
    asks = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "Ask."},), gold_calls=(gold,)),), tools=("ask",))
    library = CassetteLibrary(tmp_path)
    players = Players(library.open_tools("s", "perfect", Traffic.RECORD))
    async with opened(tmp_path) as tools:
        agent = agent_of(tools.sources[0], turn("1", "2"), DONE, own=own)  # type: ignore[arg-type]
        agent = replace(agent, environment=Environment(tools, perturb=("empty-result:times=1",), writing=True))
        at = await run_episode(agent, asks, players=players)
        for questions in (["A?", "A?", "B?", "B?"], ["A?", "A?"]):
            assert isinstance(at, Waiting) and sorted(one.question for one in at.questions) == questions
            at = await resume(agent, at, *[YES] * len(questions), scenario=asks, players=players)
    assert isinstance(at, Episode) and at.termination is Termination.ANSWERED
    assert [one.by for one in at.human_events] == ["elicitation"] * 6 and len(sent(tmp_path)) == 8
    first, second = at.tool_events
    assert first.result == "{}" and [log.fired for log in first.perturbations] == [1] and "12A" in second.result
    assert [log.fired for log in second.perturbations] == [0]
    assert players.tools is not None and sum(players.tools.counts().values()) == 2


@pytest.mark.parametrize("how", ["stdio", "HTTP"])
async def test_one_server_of_the_official_kit_serves_all_episodes(how: str, tmp_path: Path) -> None:
    asked, ready = set(), asyncio.Event()

    async def person(form: Any) -> Decision:
        asked.add(form.message)
        await ready.wait()
        return NO if form.message == "Which seat on VN3?" else Decision(action="accept", content={"seat": form.message[-2]})

    async def book(number: int) -> Any:
        with asking_person(person):
            made = await call_in_rounds(lambda: tools.call("book", {"flight": f"VN{number}"}, f"s{number}@1"))
        return json.loads(made[0].body)

    (tmp_path / "server.py").write_text(f"{BOOKING}\nserver.run()", encoding="utf-8")
    with over_http(tmp_path, BOOKING) if how == "HTTP" else nullcontext(f"{sys.executable} {tmp_path / 'server.py'}") as place:
        tools = await open_tools([f"m=mcp:{place}"], person=True)
        try:
            calls = [asyncio.create_task(book(number)) for number in (1, 2, 3)]
            async with asyncio.timeout(60):
                while len(asked) < 3:
                    await asyncio.sleep(0.01)
            ready.set()
            answers = await asyncio.gather(*calls)
        finally:
            await tools.aclose()
    assert [(one["flight"], one["seat"]) for one in answers] == [("VN1", "1"), ("VN2", "2"), ("VN3", "decline")]
    assert len({one["process"] for one in answers}) == 1
