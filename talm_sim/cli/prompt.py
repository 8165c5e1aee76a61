"""The question to a person at the terminal: a panel with what they need to know, and the line they type."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from talm_sim.agent.humans import DONT_KNOW
from talm_sim.cli.text import clean, count, one_line
from talm_sim.cli.transcript import human_event_lines, tool_event_lines
from talm_sim.runs.desk import Question
from talm_sim.types import Event, HumanEvent

__all__ = ["CLOSED", "LATER", "WONT_SAY", "LineReader", "Reply", "ask", "question_panel"]

WONT_SAY = "I would rather not answer that."
HINT = "type your answer; empty = I don't know; /skip; /later; Ctrl-C keeps everything"
_RESULT_WIDTH = 160
_EVENTS_SHOWN = 8
_LINES_SHOWN, _TEXT_SHOWN = 40, 2_000
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person typed: an answer, "I don't know" (idk) or "skip this" (skip)."""

    text: str
    """The words the agent reads."""
    declined: Literal["", "idk", "skip"] = ""


LATER: Literal["later"] = "later"
"""The person wants to see this question later."""
CLOSED: Literal["closed"] = "closed"
"""Nobody types any more: end of input, or the run is over."""


class LineReader:
    """Reads lines from a file descriptor, and can be told from another thread to stop.

    A thread that sat in `input()` could not be stopped, and would break the interpreter's end.

    Args:
        descriptor: Where the lines come from; a terminal in line mode, or a pipe.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._wake_read, self._wake_write = os.pipe()
        self._buffer = b""
        self._ended = False

    def readline(self) -> str | None:
        """Wait for the next line, without its end; None at the end of input or after `stop`."""
        while b"\n" not in self._buffer and not self._ended:
            ready, _, _ = select.select([self._descriptor, self._wake_read], [], [])
            if self._wake_read in ready:
                self._ended = True
                return None
            piece = os.read(self._descriptor, 65536)
            self._ended = not piece
            self._buffer += piece
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def stop(self) -> None:
        """Let the waiting `readline`, and all later ones, return None."""
        os.write(self._wake_write, b"x")

    def close(self) -> None:
        """Release what the reader opened; not before the reading thread has ended."""
        os.close(self._wake_read)
        os.close(self._wake_write)


def ask(console: Console, reader: LineReader, question: Question, more: int = 0) -> Reply | Literal["later", "closed"]:
    """Show a question and wait for the person.

    Args:
        console: Where the panel goes.
        reader: Where the answer comes from.
        question: The question.
        more: Questions that wait behind this one.
    """
    console.print(question_panel(question, more))
    while True:
        console.print(HINT, style="dim")
        console.print("> ", end="")
        line = reader.readline()
        if line is None:
            console.print()
            return CLOSED
        words = clean(line).strip()
        match words.lower():
            case "":
                return Reply(DONT_KNOW, "idk")
            case "/skip":
                return Reply(WONT_SAY, "skip")
            case "/later":
                return LATER
            case command if command.startswith("/") and not command.startswith("//"):
                console.print(f"No command '{one_line(words, 40)}'. An answer that begins with a slash is typed with two.", style="yellow")
            case _:
                return Reply(words.removeprefix("/"))


def question_panel(question: Question, more: int = 0) -> RenderableType:
    """What a person needs to answer: the user's request, what the agent has done, what it asks."""
    parts: list[RenderableType] = [Text("The user asked", style="bold"), Text(_excerpt(question.query)), Text()]
    done = list(_done(question.progress))
    if done:
        parts += [Text("The agent so far", style="bold"), *done, Text()]
    parts += [Text("It asks you", style="bold"), Text(_excerpt(question.question) or "(an empty question)", style="magenta")]
    title = Text(f"{one_line(question.episode_id)} ({one_line(question.group)})")
    behind = Text(f"{count(more, 'more question')} waiting") if more else None
    titles: dict[str, Any] = {"title": title, "title_align": "left", "subtitle": behind, "subtitle_align": "right"}
    return Panel(Group(*parts), **titles, border_style="magenta", padding=(0, 1))


def _excerpt(text: str) -> str:
    """A text as far as it can be read on a screen: of a longer one, the beginning, and the end, where the question mostly stands."""
    shown = clean(text).strip()
    lines = shown.split("\n")
    if len(lines) > _LINES_SHOWN:
        left_out = f"[… {count(len(lines) - _LINES_SHOWN, 'line')} left out …]"
        shown = "\n".join([*lines[: _LINES_SHOWN // 2], left_out, *lines[-_LINES_SHOWN // 2 :]])
    if len(shown) > _TEXT_SHOWN:
        head, tail = shown[: _TEXT_SHOWN // 2], shown[-_TEXT_SHOWN // 2 :]
        return f"{head}\n[… {count(len(shown) - _TEXT_SHOWN, 'character')} left out …]\n{tail}"
    return shown


def _done(progress: Sequence[dict[str, Any]]) -> Iterator[RenderableType]:
    """The last events, oldest first."""
    events = [_EVENT.validate_python(item) for item in progress if "type" in item]
    if len(events) > _EVENTS_SHOWN:
        yield Text(f"({count(len(events) - _EVENTS_SHOWN, 'earlier step')} not shown)", style="dim")
    for event in events[-_EVENTS_SHOWN:]:
        if isinstance(event, HumanEvent):
            said = {"question": one_line(event.question, _RESULT_WIDTH), "answer": one_line(event.answer, _RESULT_WIDTH)}
            yield from human_event_lines(event.model_copy(update=said))
        else:
            yield from tool_event_lines(event, _RESULT_WIDTH)
