"""What users bring, in a module that worker processes can import: agents, a judge, a perturbation, tools that ask the person."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim import (
    Call,
    Episode,
    Judge,
    Measured,
    Outcome,
    Perturbation,
    Scenario,
    ToolSpec,
    Verdict,
    register_judge,
    register_perturbation,
    register_tool_source,
)
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.person import current_person
from talm_sim.tools_env.routes import answer, posted
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.types import Form

FIELDS = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}


def town_in(messages: Sequence[Any]) -> str:
    return str(messages[0].text.split()[4].strip(","))


async def looks(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """Print something, and look the town up."""
    print("an agent prints this")
    return str(await tools[0].ainvoke({"town": town_in(messages)}))


async def asks(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """Ask which town is meant, then look that one up."""
    named = {tool.name: tool for tool in tools}
    town = await named["ask_human"].ainvoke({"question": "Which town?"})
    return f"{town}: {await named['town_latitude'].ainvoke({'town': town})}"


async def fails(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """Fail for one town; for another end the task, and for a third the interpreter."""
    town = town_in(messages)
    if town == "rome":
        raise ValueError("an agent's own error")
    if town == "oslo":
        raise SystemExit(3)
    return await looks(messages, tools)


async def exits(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """End the process for one town."""
    if town_in(messages) == "rome":
        os._exit(7)
    return await looks(messages, tools)


async def blocks(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """Block the loop of all agents for one town, while others have begun."""
    said = await looks(messages, tools)
    await asyncio.sleep(0.2)
    if town_in(messages) == "rome":
        time.sleep(8)
    await asyncio.sleep(0.3)
    return said


def reads_input(messages: Sequence[Any], tools: Sequence[Any]) -> str:
    """Read standard input, which is nobody's here."""
    try:
        return input()
    except EOFError:
        return "there is no input"


class Bank:
    """A bank of which each episode has its own."""

    def transfer(self, iban: str, amount: float) -> dict[str, object]:
        """Transfer an amount in EUR to an account."""
        return {"reference": "T-0001", "iban": iban, "amount": amount}


@register_judge
class ShortAnswer(Judge):
    """Says yes to a short answer."""

    name = "short-in-workers"
    measure = Measured(name="short_answer", head="Short", about="the answer is shorter than 12 characters")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        return self.verdict(episode, len(episode.answer) < 12)


@register_judge
class Broken(Judge):
    """Fails."""

    name = "broken-in-workers"
    measure = Measured(name="broken", head="Broken", about="nothing")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        raise ZeroDivisionError("a judge's own error")


@register_perturbation
class Refuses(Perturbation):
    """The answer is a sentence."""

    name = "refuses-in-workers"
    summary = "let the tool say that it would rather not"

    async def before(self, call: Call) -> Outcome | None:
        """Answer in the tool's place."""
        return Outcome(200, json.dumps({"note": "I would rather not"}).encode())


class Airline:
    """A source whose tool `book` asks for a seat; with a file `patience` in its folder it waits for so many seconds."""

    def __init__(self, request: SourceRequest) -> None:
        self.name = request.name
        self.folder = Path(request.place)
        self.specs = {"book": ToolSpec(name="book", parameters={"type": "object", "properties": {"flight": {"type": "string"}}})}
        self.routes = posted(self.name, self.specs, asks=request.person)
        self.responses: Mapping[str, Any] = {}
        self.not_taken = ()

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Ask for a seat."""
        person = current_person.get()
        assert person is not None
        patience = self.folder / "patience"
        try:
            async with asyncio.timeout(float(patience.read_text(encoding="utf-8")) if patience.exists() else None):
                decision = await person(Form(message=f"Which seat on {arguments['flight']}?", fields=FIELDS, source=self.name))
        except TimeoutError:
            return answer({"seat": "too late"})
        return answer({"seat": (decision.content or {"seat": decision.action})["seat"]})

    async def aclose(self) -> None:
        """Nothing to close."""


@register_tool_source("seats-in-workers")
async def open_airline(request: SourceRequest) -> Airline:
    """Open an airline."""
    return Airline(request)
