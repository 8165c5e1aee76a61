"""Answers on their way to an episode: those of a responder that answers at once, and the form in which a graph continues with any."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from langgraph.types import Command

from talm_sim.agent.deciding import explain_misfit
from talm_sim.agent.humans import DecidingResponder, HumanReply, Responder
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import PERSON, asking_as
from talm_sim.types import PersonRequest

__all__ = ["answer_at_once", "resume_command"]


def resume_command(replies: Mapping[str, HumanReply]) -> Command[Any]:
    """Return what a graph continues with: the answers by the ids of its interrupts."""
    # By interrupt id, never a bare value: a bare one would answer whichever question comes first.
    return Command(resume={interrupt_id: _as_json(reply) for interrupt_id, reply in replies.items()})


def _as_json(reply: HumanReply) -> dict[str, Any]:
    """Return the fields of a `HumanEvent` that a reply gives; a checkpoint keeps them."""
    fields = {name: value for name, value in asdict(reply).items() if name not in ("decision", "name")}
    decision = None if reply.decision is None else reply.decision.model_dump(mode="json")
    return fields | ({} if decision is None else {"decision": decision}) | ({"name": reply.name} if reply.name else {})


async def answer_at_once(responder: Responder, question: str, request: PersonRequest | None, ask: int) -> HumanReply:
    """Return a responder's answer to a question, or its decision about a request.

    Raises:
        PrerequisiteError: The responder decides about no requests, or its decision is none that was asked for.
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
