"""Ask the servers of one model in turn; one that fails is left out for a while and then tried with one request."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import urlsplit

FIRST_PAUSE_S = 30.0
"""Seconds after which a server that failed is tried again; they double each time that it fails then."""
LONGEST_PAUSE_S = 240.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServersChanged:
    """One of several servers of a model is left out, or asked again."""

    model: str
    server: str
    """Its host and port."""
    reason: str
    """Why it is left out, in a line without credentials; empty if it answers again."""
    pause_s: float
    """Seconds until it is tried again; 0 if it answers again."""
    in_use: int
    """How many servers are asked now."""
    total: int


on_servers_change: ContextVar[Callable[[ServersChanged], None] | None] = ContextVar("on_servers_change", default=None)
"""Receives every change; set by what shows progress, for the work it starts."""


@dataclass(slots=True, eq=False)
class Server:
    """One server of a model.

    Attributes:
        base: Its base URL, as requests write it, without a slash at the end.
        place: Host and port, for messages.
        pause_s: Seconds of the present pause; 0 while it is asked in turn.
        due: When the pause ends, by the clock of `Servers`.
        reason: Why it is left out, as it was last said.
    """

    base: str
    place: str
    answers: int = 0
    absences: int = 0
    pause_s: float = 0.0
    due: float = 0.0
    tested: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A request's turn at a server, with what the server's counts were at its start."""

    server: Server
    answers: int
    absences: int
    is_test: bool
    """Whether this one request decides if a server that was left out is asked again."""

    @property
    def is_silent(self) -> bool:
        """Whether the server has answered nothing since: what fails is then the server, not the request."""
        return self.server.answers == self.answers


class Servers:
    """The servers of a model, and whose turn it is."""

    def __init__(self, model: str, base_urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._next = 0
        hosts = [urlsplit(url).netloc.rpartition("@")[2] for url in base_urls]
        # A path may hold a key, so it is not shown, even where it alone tells two servers apart.
        often = Counter(hosts)
        places = [host if often[host] == 1 else f"{host} (address {number})" for number, host in enumerate(hosts, start=1)]
        self.all = [Server(url.rstrip("/"), place) for url, place in zip(base_urls, places, strict=True)]
        self._longest_first = sorted((server.base for server in self.all), key=len, reverse=True)

    @property
    def in_use(self) -> int:
        """How many are asked in turn."""
        return sum(not server.pause_s for server in self.all)

    @property
    def have_answered(self) -> bool:
        """Whether any has ever answered."""
        return any(server.answers for server in self.all)

    def path_of(self, url: str) -> str | None:
        """Return what follows the base URL in a request's address; None if it is no address on these servers."""
        found = next((base for base in self._longest_first if url.startswith(f"{base}/")), None)
        return None if found is None else url[len(found) :]

    def next_turn(self, tried: Collection[Server] = ()) -> Turn | None:
        """Return the turn at the next server, but none of `tried`; None if all others are left out.

        A server whose pause is over gets one request, which tests it: until that is answered, no other.
        """
        now = self._clock()
        for server in self._in_turn():
            is_due = not server.tested and now >= server.due
            if server not in tried and (is_due or not server.pause_s):
                return self._take(server)
        return None

    def any_turn(self) -> Turn:
        """Return the turn at the next server, even if it is left out: for when all are."""
        return self._take(self._in_turn()[0])

    def leave_out(self, turn: Turn, reason: str) -> None:
        """Leave a server out for a while, and say so, unless another turn has done it before."""
        server = turn.server
        if turn.absences != server.absences or (server.pause_s and not turn.is_test):
            return
        server.absences += 1
        server.pause_s = min(2 * server.pause_s, LONGEST_PAUSE_S) if server.pause_s else FIRST_PAUSE_S
        server.due = self._clock() + server.pause_s
        server.tested = False
        said, server.reason = server.reason, reason
        log.info("%s at %s: left out for %.0f s: %s", self._model, server.place, server.pause_s, reason)
        if reason.partition(":")[0] != said.partition(":")[0]:  # that it still fails is no news
            self._say(server)

    def note_answer(self, turn: Turn) -> None:
        """Count an answer. It brings back a server that is left out, and this is said, unless it was asked for before the server failed."""
        server = turn.server
        server.answers += 1
        if server.pause_s and turn.absences == server.absences:
            server.pause_s, server.tested, server.reason = 0.0, False, ""
            log.info("%s at %s: answers again", self._model, server.place)
            self._say(server)

    def release(self, turn: Turn) -> None:
        """End a turn, whatever became of it: a test that was broken off is left to the next request."""
        if turn.is_test and turn.absences == turn.server.absences:
            turn.server.tested = False

    def _in_turn(self) -> list[Server]:
        return self.all[self._next :] + self.all[: self._next]

    def _take(self, server: Server) -> Turn:
        self._next = (self.all.index(server) + 1) % len(self.all)
        is_test = bool(server.pause_s) and not server.tested and self._clock() >= server.due
        server.tested = server.tested or is_test
        return Turn(server, server.answers, server.absences, is_test)

    def _say(self, server: Server) -> None:
        if (listen := on_servers_change.get()) is not None:
            listen(ServersChanged(self._model, server.place, server.reason, server.pause_s, self.in_use, len(self.all)))
