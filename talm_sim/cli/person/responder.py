"""`--human terminal`: the person who started the run answers in the running session, while other episodes continue."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from rich.console import Console

from talm_sim.cli.person.sitting import Sitting
from talm_sim.cli.person.typed_lines import LineSource, open_lines
from talm_sim.cli.progress.display import Display
from talm_sim.cli.terminal.text import count_each
from talm_sim.runs.desk import Desk
from talm_sim.runs.questions import Question, number_unanswered

__all__ = ["TerminalResponder"]

_LOOK_SECONDS = 0.2
_MOST_SECONDS_TO_SETTLE = 1.0
RESPONDER = "terminal"


class TerminalResponder:
    """Puts the run's open questions to the person at the terminal.

    Args:
        display: The progress display, which keeps still while a question is on the screen, and knows the run.
        console: Where the questions go.
        name: What the person calls themselves; empty if they gave no name.
        lines: Where the answers come from; standard input by default.
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
