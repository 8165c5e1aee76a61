"""Requests to a person that an episode under way still waits on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from langgraph.types import Interrupt

from talm_sim.agent.ask_limits import NOBODY_ANSWERED
from talm_sim.common.digests import digest
from talm_sim.tools_env.asking_tools import AskPerson
from talm_sim.types import Decision, Form, HumanEvent, PersonRequest


class _Open(NamedTuple):
    value: str | dict[str, Any]
    answered: asyncio.Future[Mapping[str, Any]]


class OpenRequests:
    """Questions, calls to approve and forms that a running process waits on.

    Args:
        name: Name of the episode and attempt; the ids that answers are given by are derived from it.
        first: Number of the first one, where earlier ones of the same attempt have ids already.
        elicited: Whether tools put them, while calls run.
    """

    def __init__(self, name: str, notify: Callable[[], None] = lambda: None, first: int = 1, *, elicited: bool = False) -> None:
        self.number = first - 1
        """Number of the last one that was put."""
        self.notify = notify
        self._name = [name, "elicited"] if elicited else [name]
        self._open: dict[str, _Open] = {}

    def __len__(self) -> int:
        return len(self._open)

    def ids(self) -> Collection[str]:
        """Return the ids of those that are open."""
        return self._open.keys()

    async def put(self, asked: str | PersonRequest) -> Mapping[str, Any]:
        """Put a question or a request to the person; return the fields of a `HumanEvent` that the answer gives."""
        self.number += 1
        name = digest([*self._name, self.number])[:32]
        value = asked if isinstance(asked, str) else asked.model_dump(mode="json")
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[name] = _Open(value, answered)
        self.notify()
        try:
            return await answered
        finally:
            if self._open.pop(name, None) is not None:
                self.notify()

    def answer(self, replies: Mapping[str, Mapping[str, Any]]) -> None:
        """Hand over the answers to those that are open, by id."""
        for name in [*self._open]:
            if name in replies and not self._open[name].answered.done():
                self._open.pop(name).answered.set_result(replies[name])

    def interrupts(self) -> list[Interrupt]:
        """Return those that are open as the interrupts of a graph."""
        return [Interrupt(value, id=name) for name, (value, _) in self._open.items()]


def person_of_call(forms: OpenRequests, call_id: str, turn: int, keep: Callable[[HumanEvent], None]) -> AskPerson:
    """Return how a tool asks the person of an episode while a call of it runs."""

    async def ask(form: Form) -> Decision:
        asked = time.time()
        try:
            reply = await forms.put(form)
        except asyncio.CancelledError:
            nobody = {"answer": NOBODY_ANSWERED, "responder": "nobody", "declined": "timeout", "decision": Decision(action="cancel")}
            reply = {**nobody, "asked_at": asked, "answered_at": max(asked, time.time())}
            keep(HumanEvent(turn=turn, call_id=call_id, question=form.text, by="elicitation", request=form, **reply))
            raise
        event = HumanEvent(turn=turn, call_id=call_id, question=form.text, by="elicitation", request=form, **reply)
        keep(event)
        return event.decision or Decision(action="cancel")

    return ask
