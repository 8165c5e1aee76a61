"""What an episode that is under way has put to a person, as long as nobody has answered it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from langgraph.types import Interrupt

from talm_sim.common.digests import digest
from talm_sim.types import PersonRequest

__all__ = ["OpenRequests"]


class _Open(NamedTuple):
    value: str | dict[str, Any]
    answered: asyncio.Future[Mapping[str, Any]]


class OpenRequests:
    """Questions, calls to approve and forms that wait for an answer while what put them waits in this process.

    Args:
        name: Name of the episode and attempt; the ids that answers are given by are derived from it.
        notify: Called after something was put.
        first: Number of the first one, where earlier ones of the same attempt have ids already.
    """

    def __init__(self, name: str, notify: Callable[[], None], first: int = 1) -> None:
        self.number = first - 1
        """Number of the last one that was put."""
        self._name = name
        self._notify = notify
        self._open: dict[str, _Open] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def put(self, asked: str | PersonRequest) -> Mapping[str, Any]:
        """Put a question or a request to the person; return the fields of a `HumanEvent` that the answer gives."""
        self.number += 1
        name = digest([self._name, self.number])[:32]
        value = asked if isinstance(asked, str) else asked.model_dump(mode="json")
        self._open[name] = _Open(value, asyncio.get_running_loop().create_future())
        self._notify()
        try:
            return await self._open[name].answered
        finally:
            self._open.pop(name, None)

    def answer(self, replies: Mapping[str, Mapping[str, Any]]) -> None:
        """Hand over the answers to those that are open, by id."""
        for name, reply in replies.items():
            if name in self._open and not self._open[name].answered.done():
                self._open.pop(name).answered.set_result(reply)

    def interrupts(self) -> list[Interrupt]:
        """Return those that are open as the interrupts of a graph."""
        return [Interrupt(value, id=name) for name, (value, _) in self._open.items()]
