"""The questions of one episode to its person: numbered, held to the run's limits, and continued with the answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from langgraph.types import Command
from pydantic import TypeAdapter

from talm_sim.agent.ask_limits import AskLimits, reply_of_nobody
from talm_sim.agent.decide import explain_misfit
from talm_sim.agent.humans import DecidingResponder, HumanReply, Responder
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import PERSON, asking_as
from talm_sim.types import Event, HumanEvent, PersonRequest

ELICITED = "elicited-"
"""Begins the id by which a form is answered, before the id of its interrupt."""


def _as_json(reply: HumanReply) -> dict[str, Any]:
    """Return the fields of a `HumanEvent` that a reply gives; a checkpoint keeps them."""
    fields = {name: value for name, value in asdict(reply).items() if name not in ("decision", "name")}
    decision = None if reply.decision is None else reply.decision.model_dump(mode="json")
    return fields | ({} if decision is None else {"decision": decision}) | ({"name": reply.name} if reply.name else {})


async def answer_at_once(responder: Responder, question: str, request: PersonRequest | None, ask: int) -> HumanReply:
    """Return a responder's answer to a question, or its decision about a request.

    Raises:
        CassetteMissError: The answer was to be one that was recorded, and there is none.
    """
    asked = time.time()
    with asking_as(PERSON):
        if request is None:
            reply = await responder(question, ask)
        elif isinstance(responder, DecidingResponder):
            reply = await responder.decide(request, ask)
            why = explain_misfit(request, reply.decision) if reply.decision else "it has no decision"
            if why:
                raise PrerequisiteError(f"the responder's answer to '{question[:80]}' cannot be taken: {why}.")
        else:
            kind = "approves no calls" if request.kind == "approval" else "fills in no forms"
            raise PrerequisiteError(f"the responder answers questions, but {kind}: it needs a method decide(request, ask); see docs/people.md.")
    return replace(reply, asked_at=asked, answered_at=max(asked, time.time()))


_REQUEST: TypeAdapter[PersonRequest] = TypeAdapter(PersonRequest)


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question, approval or form that nobody has answered yet."""

    interrupt_id: str
    ask: int
    """Its number within the episode, counted from 1; forms that tools ask for while calls run are counted apart."""
    question: str
    """In words."""
    request: PersonRequest | None = None
    """The call to approve, or the form; None for a question."""


@dataclass(slots=True)
class Asks:
    """The questions, approvals and forms that an episode puts to its person.

    Attributes:
        numbers: Interrupt id to the number within the episode, counted from 1.
        cut: Those that are open, and are put to nobody: they are answered with the others, so that all keep their order.
    """

    episode: str
    limits: AskLimits | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)

    def number(self, result: Mapping[str, Any]) -> tuple[PendingQuestion, ...]:
        """Return what is open in the state of a graph; new ones get the next numbers.

        Forms, which tools ask for, are counted apart: where the tools are replayed, nobody asks for them.
        """
        found = []
        for item in result.get("__interrupt__", ()):
            form = isinstance(item.value, dict) and item.value.get("kind") == "form"
            name = f"{ELICITED}{item.id}" if form else item.id
            before = sum(one.startswith(ELICITED) is form for one in self.numbers)
            found.append(_put(name, self.numbers.setdefault(name, before + 1), item.value))
        return tuple(found)

    def cut_off(self, pending: Sequence[PendingQuestion], events: Sequence[Event]) -> tuple[PendingQuestion, ...]:
        """Return what the person is asked; the questions beyond a limit are noted as cut off."""
        if self.limits is None:
            return tuple(pending)
        before = sum(isinstance(event, HumanEvent) and event.request is None and event.declined != "limit" for event in events)
        beyond = self.limits.cut_off(self.episode, [one.ask for one in pending if one.request is None], before)
        self.cut = [one.interrupt_id for one in pending if one.request is None and one.ask in beyond]
        return tuple(one for one in pending if one.interrupt_id not in self.cut)

    def resume(self, replies: Mapping[str, HumanReply]) -> Command[Any]:
        """Return how the graph continues with these answers, in the order of the questions.

        Answers to what this episode never asked are dropped: a stale id could answer the wrong question.
        """
        now = time.time()
        unasked = {name: replace(reply, asked_at=now, answered_at=now) for name in self.cut if (reply := reply_of_nobody("limit"))}
        self.cut = []
        told = {name: reply for name, reply in {**replies, **unasked}.items() if name in self.numbers}
        # By interrupt id, never a bare value: a bare one would answer whichever question comes first.
        return Command(resume={name.removeprefix(ELICITED): _as_json(told[name]) for name in sorted(told, key=self.numbers.__getitem__)})


def _put(interrupt_id: str, ask: int, value: Any) -> PendingQuestion:
    """Return what an interrupt puts to the person: a text is a question, a JSON object a call to approve or a form."""
    if isinstance(value, str):
        return PendingQuestion(interrupt_id, ask, value)
    request = _REQUEST.validate_python(value)
    return PendingQuestion(interrupt_id, ask, request.text, request)
