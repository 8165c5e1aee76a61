"""Play a recording for one episode, from its own place in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.recordings.http_exchange import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from talm_sim.recordings.tape import Tape


class Player:
    """One episode's own cursor over a tape: repeats play in the recorded order and never wrap.

    Args:
        mode: `replay` raises on what is not recorded; `record` plays what is there, and records the rest.
        remedy: What the user can do about a miss; its message ends with it.
    """

    def __init__(self, tape: Tape, mode: Traffic, remedy: str = "") -> None:
        self.mode = mode
        self._remedy = remedy
        self.misses: list[str] = []
        """Descriptions of what was asked and not recorded; a client that swallows the error cannot hide them."""
        self._tape = tape
        self._played: Counter[str] = Counter()

    def lookup(self, request: HttpRequest) -> HttpResponse | None:
        """Return the recorded answer; in record mode, None if there is none left.

        Raises:
            CassetteMissError: There is none in replay.
        """
        with self._kept():
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
        with self._kept():
            key = self._tape.append(request, response, self._played)
        self._played[key] += 1

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Keep what cannot be played or recorded among the misses."""
        try:
            yield
        except PrerequisiteError as err:
            self.misses.append(str(err))
            raise

    def save(self) -> None:
        """Write what is new to the file."""
        self._tape.save()

    def counts(self) -> dict[str, int]:
        """Return how often each request was played, to be kept while the episode waits."""
        return dict(self._played)

    def restore(self, counts: Mapping[str, int]) -> None:
        """Continue where `counts` says."""
        self._played = Counter(counts)


current_player: ContextVar[Player | None] = ContextVar("current_player", default=None)
"""The recording of the running episode's model traffic."""


@contextmanager
def playing(player: Player | None) -> Iterator[None]:
    """Use a recording for the model traffic of the block; with None, the traffic is live."""
    token = current_player.set(player)
    try:
        yield
    finally:
        current_player.reset(token)
