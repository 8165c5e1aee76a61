"""Put a run's open questions to one person, one by one; report answers given elsewhere, and let them take back the last answer.

With `--human terminal` it is the person who started the run, in the running session, while other episodes continue.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Literal

from rich.console import Console

from talm_sim.cli.person.prompt import ask
from talm_sim.cli.person.question_page import Page
from talm_sim.cli.person.replies import CLOSED, LATER, UNDO, Reply, Said
from talm_sim.cli.person.typed_lines import LineSource, open_lines
from talm_sim.cli.progress.display import Display
from talm_sim.cli.terminal.console import say
from talm_sim.cli.terminal.text import count_each, one_line
from talm_sim.common.digests import digest
from talm_sim.store.desk import AnswerStatus, Desk
from talm_sim.store.questions import HELD_SECONDS, FiledAnswer, Key, Question, next_open_question, number_unanswered

_OVERDUE = "closed: nobody answered in time (answer_timeout)"
_LOOK_SECONDS = 0.2
_ELSEWHERE: Literal["elsewhere"] = "elsewhere"
_MOST_SECONDS_TO_SETTLE = 1.0
RESPONDER = "terminal"


class Sitting:
    """Puts a run's open questions, approvals and forms to a person, one at a time; `ask_again` puts those put off with /later once more.

    Args:
        desk: Where the answers are filed; the caller closes it.
        lines: Where the answers come from.
        still: Keeps the rest of the screen still while a question is on it.
    """

    def __init__(
        self,
        desk: Desk,
        console: Console,
        lines: LineSource,
        responder: str,
        *,
        name: str = "",
        episode: str = "",
        blind: bool = False,
        plain: bool = False,
        still: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.given: Counter[str] = Counter()
        """How many questions, approvals and forms were answered so far, and not taken back."""
        self._desk = desk
        self._console = console
        self._lines = lines
        self._responder = responder
        self._name = name
        self._episode = episode
        self._blind = blind
        self._plain = plain
        self._still = still
        self._put_off: set[Key] = set()
        self._asked_again: set[Key] = set()
        self._elsewhere = 0
        self._replies: list[tuple[Question, Reply]] = []
        self._taken_back: Key | None = None
        self._held_until = 0.0
        self._went_away = False
        self._claims = _Claims(desk.path)

    def close(self) -> None:
        """Release the last answer; lines typed after a question went away do not reach the shell."""
        self._desk.release()
        self._claims.close()
        if self._went_away and _in_front():
            self._lines.clear()

    @property
    def answered(self) -> int:
        """How many answers were given so far, and not taken back."""
        return self.given.total()

    def open(self) -> int:
        """Return the number of open questions."""
        return number_unanswered(self._desk.reading, self._episode)

    def episodes_waiting(self) -> int:
        """Return the number of episodes that wait for an answer."""
        return number_unanswered(self._desk.reading, episodes=True)

    async def put_next(self) -> Literal["put", "none", "closed"]:
        """Put one question, and do what the person says.

        Returns:
            `none` if every open question was postponed (see `ask_again`); `closed` if nobody types any more.
        """
        if (question := self._next_question()) is None:
            self._desk.release()
            return "none"
        if self._blind:
            question = replace(question, knows=None, stands_in=None)
        with self._still():
            said, unsent = await self._ask_person(question)
            self._went_away = said == _ELSEWHERE
            if isinstance(said, Reply):
                self._file(question, said)
            elif said == LATER:
                self._put_off.add(question.key)
                self._print(
                    "postponed: the question stays open"
                    if question.key in self._asked_again
                    else "postponed: you will be asked again at the end"
                )
            elif said == UNDO:
                self._undo()
            elif said == _ELSEWHERE:
                self._elsewhere += 1
                await self._print_answered_elsewhere(question.key, unsent)
        if said == CLOSED:
            self._desk.release()
        return "closed" if said == CLOSED else "put"

    def ask_again(self) -> bool:
        """At the end, ask the postponed questions once more; return False if none is left."""
        again = self._put_off - self._asked_again
        self._asked_again |= again
        self._put_off -= again
        return any(self._desk.is_open(key) for key in again)

    def _next_question(self) -> Question | None:
        key, self._taken_back = self._taken_back, None
        again = None if key is None else self._desk.question(key)
        if again is not None:
            self._claims.take(again.key)
        return again or self._first_question_except(self._put_off, self._claims.take)

    def _first_question_except(self, put_off: set[Key], take: Callable[[Key], bool] = lambda _: True) -> Question | None:
        return next_open_question(self._desk.reading, put_off, self._episode, take=take)

    async def _ask_person(self, question: Question) -> tuple[Said | Literal["elsewhere"], Reply | None]:
        """Return what the person says; `elsewhere` if the question is closed while they think, with what was about to be filed."""
        done = self.answered + self._elsewhere
        number = done + len(self._put_off) + 1
        page = Page(self._console, question, number, max(number, done + self.open()), plain=self._plain)
        asking = asyncio.create_task(ask(self._console, self._lines, page, undo=bool(self._replies)))
        try:
            while not (await asyncio.wait({asking}, timeout=_LOOK_SECONDS))[0]:
                if time.monotonic() > self._held_until:
                    self._desk.release()
                if not self._desk.is_open(question.key):
                    asking.cancel()
                    (left,) = await asyncio.gather(asking, return_exceptions=True)
                    return _ELSEWHERE, left if isinstance(left, Reply) else None
            return asking.result(), None
        except asyncio.CancelledError:
            asking.cancel()
            (left,) = await asyncio.gather(asking, return_exceptions=True)
            if isinstance(left, Reply):  # only the mark of the question was still open
                self._file(question, left)
            elif self._is_overdue(question.key):  # it was the last that the run waited for
                self._print(_OVERDUE)
            raise
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _print_answered_elsewhere(self, key: Key, unsent: Reply | None) -> None:
        given = self._desk.answer_to(key)
        if self._is_overdue(key):
            self._print(_OVERDUE)
        else:
            self._print(f"answered elsewhere{_by(given)}: {_shown(given)}" if given else "this question is no longer open")
        if unsent is not None:
            self._print(f"not sent: {unsent.shown}")
        await self._keep_half_typed()

    def _is_overdue(self, key: Key) -> bool:
        """Return whether a question was closed because nobody answered in time."""
        given = self._desk.answer_to(key)
        return given is not None and given.declined == "timeout"

    async def _keep_half_typed(self) -> None:
        """Show what was half typed for a question that is gone. It is for no other, unless the person calls it back."""
        typed = await self._lines.drop()
        if typed:
            self._print(f"not sent: {one_line(typed, 2_000)}{' (the Up key calls it back)' if self._lines.edited else ''}")

    def _file(self, question: Question, reply: Reply) -> None:
        """Save an answer; it is held if another question follows."""
        self._put_off.discard(question.key)
        # While the next question is on the screen, the person may still notice a mistake.
        follows = self._first_question_except(self._put_off | {question.key}) is not None
        status = self._desk.answer(
            question.key,
            reply.text,
            declined=reply.declined,
            responder=self._responder,
            held=follows,
            appropriate=reply.appropriate,
            decision=reply.decision,
            name=self._name,
            checked=True,
        )
        if status is AnswerStatus.GONE:
            self._print("not saved: this question is no longer open")
            return
        if status is AnswerStatus.TAKEN:
            given = self._desk.answer_to(question.key)
            self._print(f"not saved: somebody else answered first{f'{_by(given)}: {_shown(given)}' if given else ''}")
            return
        self.given[question.kind] += 1
        self._replies.append((question, reply))
        self._held_until = time.monotonic() + HELD_SECONDS
        self._print(f"saved: {reply.shown}{self._withdrawal_hint(status, follows=follows)}")

    def _asks_again_later(self) -> bool:
        """Return whether a postponed question is asked once more."""
        return any(self._desk.is_open(key) for key in self._put_off - self._asked_again)

    def _withdrawal_hint(self, status: AnswerStatus, *, follows: bool) -> str:
        """Return until when the answer can be taken back; empty if nobody could type it."""
        if status is AnswerStatus.SAVED:
            return " (/undo takes it back until the run is resumed)" if follows or self._asks_again_later() else ""
        return f" (/undo takes it back, for {HELD_SECONDS:.0f} s)" if follows else ""

    def _undo(self) -> None:
        if not self._replies:
            self._print("nothing to take back: you have not answered anything here")
            return
        question, reply = self._replies.pop()
        if self._desk.withdraw(question.key):
            self.given[question.kind] -= 1
            self._taken_back = question.key
            self._print(f"taken back: {reply.shown}")
        else:
            self._print(f"too late to take back '{reply.shown}': its episode has already continued")

    def _print(self, text: str) -> None:
        say(self._console, text, "dim")


def _shown(given: FiledAnswer) -> str:
    return Reply(given.text, given.declined).shown


def _by(given: FiledAnswer) -> str:
    return f" by {one_line(given.name)}" if given.name else ""


def _in_front() -> bool:
    """Return whether we may read standard input: a process in the background would be stopped for it."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except (AttributeError, OSError):  # no terminal, or a system without this
        return False


class _Claims:
    """The question of a run that one process shows, as a lock on one byte of a file, which ends with the process."""

    def __init__(self, run: Path) -> None:
        self._path = run / "desk.lock"
        self._file: IO[bytes] | None = None

    def take(self, key: Key) -> bool:
        """Claim a question in place of the one before; return False if another process shows it."""
        try:
            import fcntl  # not on Windows

            self._file = self._file or self._path.open("ab")
            fcntl.lockf(self._file, fcntl.LOCK_UN)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(digest(key, 15), 16))
        except BlockingIOError:
            return False
        except (ImportError, OSError):  # a file system without locks: everybody sees everything
            return True
        return True

    def close(self) -> None:
        """Give the question back; the last who leaves takes the file along."""
        if self._file is not None:
            with suppress(OSError):
                import fcntl

                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(self._path)
            self._file.close()
            self._file = None


class TerminalResponder:
    """Puts the run's open questions to the person at the terminal.

    Args:
        display: The progress display, which keeps still while a question is on the screen, and knows the run.
        plain: Whether to show questions without frames and signs; always true on a dumb terminal.
    """

    def __init__(self, display: Display, console: Console, name: str = "", lines: LineSource | None = None, *, plain: bool = False) -> None:
        self._display = display
        self._console = console
        self._name = name
        self._lines = lines
        self._plain = plain or console.is_dumb_terminal
        self._sitting: Sitting | None = None

    async def __call__(self, question: Question, desk: Desk) -> None:
        """Ask until `question` has its answer.

        It stays open when nobody types any more, or when all remaining questions were postponed twice.
        """
        sitting = self._sitting or self._sit_down(desk)
        if not sitting.answered:
            await self._wait_for_all_questions(sitting)
        while desk.is_open(question.key):
            state = await sitting.put_next()
            if state == "closed" or (state == "none" and self._is_idle() and not sitting.ask_again()):
                self._console.print(self.counts())
                return
            if state == "none":
                await asyncio.sleep(_LOOK_SECONDS)

    def counts(self) -> str:
        """Return how many questions are answered and open; empty if none was asked."""
        if self._sitting is None:
            return ""
        assert self._display.started is not None
        with closing(Desk(Path(self._display.started.path))) as desk:  # the run may have been given back
            return f"{count_each(self._sitting.given)} answered, {number_unanswered(desk.reading)} still open"

    def close(self) -> None:
        """Release the last answer, and close what was opened."""
        if self._sitting is not None:
            self._sitting.close()
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    def _sit_down(self, desk: Desk) -> Sitting:
        self._lines = self._lines or open_lines(self._console, plain=self._plain)
        self._sitting = Sitting(desk, self._console, self._lines, RESPONDER, name=self._name, plain=self._plain, still=self._display.paused)
        return self._sitting

    async def _wait_for_all_questions(self, sitting: Sitting) -> None:
        """Wait for the episodes that ask at the start, so that the number of questions shown is right."""
        loop = asyncio.get_running_loop()
        before, until = -1, loop.time() + _MOST_SECONDS_TO_SETTLE
        while (now := sitting.open()) != before and loop.time() < until:
            before = now
            await asyncio.sleep(_LOOK_SECONDS)

    def _is_idle(self) -> bool:
        """Return whether every episode is finished or waits for a postponed question."""
        assert self._display.started is not None
        assert self._sitting is not None
        return self._display.finished + self._sitting.episodes_waiting() >= self._display.started.total
