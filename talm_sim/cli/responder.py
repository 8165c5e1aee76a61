"""`--human terminal`: the person who started the run answers in the running session, while other episodes go on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

from rich.console import Console

from talm_sim.agent.humans import HumanReply
from talm_sim.cli.progress import Display
from talm_sim.cli.prompt import CLOSED, LATER, LineReader, Reply, ask
from talm_sim.runs.database import connect_reader
from talm_sim.runs.desk import Key, Question, answer, unanswered

__all__ = ["TerminalResponder"]

_LOOK_SECONDS = 0.2
RESPONDER = "terminal"


class TerminalResponder:
    """Puts the run's open questions to the person at the terminal, one at a time, those put off with /later last.

    The prompt blocks a thread, never the event loop.

    Args:
        display: The progress display, which keeps still while a question is on the screen, and knows the run.
        console: Where the questions go.
        reader: Where the answers come from; standard input by default.
    """

    def __init__(self, display: Display, console: Console, reader: LineReader | None = None) -> None:
        self._display = display
        self._console = console
        self._reader = reader or LineReader()
        self._put_off: set[Key] = set()

    async def __call__(self, question: Question) -> HumanReply | None:
        """Ask until `question` is answered.

        Returns:
            The answer; None when nobody types any more, or when all that is left was put off: then the questions stay open in the store.
        """
        assert self._display.started is not None
        path = Path(self._display.started.path)
        with closing(connect_reader(path)) as conn:
            while True:
                pending = unanswered(conn)
                todo = deque(item for item in pending if item.key not in self._put_off)
                if not todo:
                    if self._nothing_runs(pending):
                        return None
                    await asyncio.sleep(_LOOK_SECONDS)
                    continue
                current = todo.popleft()
                reply = await self._prompt(current, len(todo))
                if reply == CLOSED:
                    return None
                if reply == LATER:
                    self._put_off.add(current.key)
                elif current.key == question.key:
                    return HumanReply(reply.text, RESPONDER, reply.declined)
                else:
                    _file(path, current, reply)

    def close(self) -> None:
        """Release what the reader opened."""
        self._reader.close()

    def _nothing_runs(self, pending: Sequence[Question]) -> bool:
        """Whether every episode is finished or waits for one of the questions put off."""
        assert self._display.started is not None
        waiting = {item.episode_id for item in pending}
        return self._display.finished + len(waiting) >= self._display.started.total

    async def _prompt(self, question: Question, more: int) -> Reply | Literal["later", "closed"]:
        def prompt() -> Reply | Literal["later", "closed"]:
            with self._display.paused():
                return ask(self._console, self._reader, question, more)

        try:
            return await asyncio.to_thread(prompt)
        except asyncio.CancelledError:
            self._reader.stop()
            raise


def _file(path: Path, question: Question, reply: Reply) -> None:
    """File an answer to another question than the one the run has put first."""
    answer(
        path,
        question.episode_id,
        reply.text,
        declined=reply.declined,
        responder=RESPONDER,
        attempt=question.attempt,
        interrupt_id=question.interrupt_id,
    )
