"""One episode's way through a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError
from talm_sim.recordings.http import HttpRequest, HttpResponse
from talm_sim.recordings.tape import Tape

__all__ = ["Player", "current_player", "playing"]


class Player:
    """One episode's own cursor over a tape: repeats play in the recorded order and never wrap.

    Args:
        tape: The cassette.
        mode: `replay` raises on what is not recorded; `record` plays what is there, and lets the rest through to be recorded.
        remedy: How the user avoids what was not recorded; the message of a miss ends in it.
    """

    def __init__(self, tape: Tape, mode: Traffic, remedy: str = "") -> None:
        self.mode = mode
        self._remedy = remedy
        self.misses: list[str] = []
        """What was asked and not recorded, in words; a client that swallows the error cannot hide it."""
        self._tape = tape
        self._played: Counter[str] = Counter()

    def lookup(self, request: HttpRequest) -> HttpResponse | None:
        """Return the recorded answer; None, in record mode, where there is none left.

        Raises:
            CassetteMissError: In replay, there is none.
        """
        found = self._tape.find(request, self._played)
        if found is not None:
            key, response = found
            self._played[key] += 1
            return response
        if self.mode is Traffic.REPLAY:
            self.misses.append(" ".join(filter(None, (self._tape.explain_miss(request), self._remedy))))
            raise CassetteMissError(self.misses[-1])
        return None

    def record(self, request: HttpRequest, response: HttpResponse) -> None:
        """Add an exchange, without its secrets."""
        key = self._tape.append(request, response, self._played)
        self._played[key] += 1

    def save(self) -> None:
        """Write what is new.

        Raises:
            PrerequisiteError: It cannot be written.
        """
        self._tape.save()

    def counts(self) -> dict[str, int]:
        """How often each request was played, to be kept while the episode waits."""
        return dict(self._played)

    def restore(self, counts: Mapping[str, int]) -> None:
        """Go on where `counts` says."""
        self._played = Counter(counts)


current_player: ContextVar[Player | None] = ContextVar("current_player", default=None)
"""The recording of the running episode's model traffic."""


@contextmanager
def playing(player: Player | None) -> Iterator[None]:
    """Let a recording be that of the model traffic within; with None, what is within is live."""
    token = current_player.set(player)
    try:
        yield
    finally:
        current_player.reset(token)
