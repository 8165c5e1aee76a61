"""The question to a person at the terminal: what they need to know, as far as it fits on the screen, and the line they type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment, SegmentLines
from rich.text import Text

from talm_sim.agent.humans import DONT_KNOW, WONT_SAY
from talm_sim.cli.person.typed_lines import LineSource
from talm_sim.cli.report.transcript import call_text, human_event_lines, tool_event_lines
from talm_sim.cli.terminal.text import count, one_line, strip_control
from talm_sim.runs.questions import Question
from talm_sim.types import Event, HumanEvent

__all__ = ["CLOSED", "LATER", "NOTHING_MORE", "UNDO", "Page", "Reply", "Said", "ask"]

NOTHING_MORE = "only what the request says"
_RESULT_WIDTH = 160
_ROWS_ELSEWHERE = 40
"""Rows of a page if no terminal says how many it has."""
_ROWS_AROUND = 5
"""Rows of a page that are not text: its frame, the hint and the line that is typed."""
_FEWEST = 2
"""Minimum number of lines that each part keeps on a crowded page."""
_YES, _NO = ("y", "yes"), ("n", "no", "")
_SLASH = "To begin an answer with a slash, type two."
_HELP = f"""\
  Type what the user would answer, from what you know, and press Enter.
  Enter   alone: you don't know (asked once more before it counts)
  /skip   you would rather not say
  /later  ask again at the end; after that the question stays open
  /undo   take back your last answer, until its episode continues
  /more   the next page of a long question
  Ctrl-C  stop; all answers are kept, and you are told how to continue
  {_SLASH}"""
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person typed: an answer, "I don't know" (idk) or "skip this" (skip)."""

    text: str
    """The words the agent reads."""
    declined: Literal["", "idk", "skip"] = ""

    @property
    def shown(self) -> str:
        """The reply as it is shown back."""
        return {"idk": "I don't know", "skip": "(skipped)"}.get(self.declined) or one_line(self.text)


LATER: Literal["later"] = "later"
"""The person wants to see this question later."""
UNDO: Literal["undo"] = "undo"
"""The person wants to take the last answer back."""
CLOSED: Literal["closed"] = "closed"
"""Nobody types any more."""
Said = Reply | Literal["later", "undo", "closed"]

_Part = tuple[str, list[list[Segment]]]


class Page:
    """What a person sees of a question: all of it if it fits on the screen, else as much of each part as fits.

    Args:
        console: The screen.
        question: The question.
        number: Which one it is, counted from 1.
        of: How many there are by now.
        plain: Whether to leave out frames and signs, for screen readers.
    """

    def __init__(self, console: Console, question: Question, number: int, of: int, *, plain: bool = False) -> None:
        self._console = console
        self._question = question
        self._plain = plain
        self._title = f"Question {number} of {of}"
        if question.knows is not None:  # the names of episode and group say what is missing
            self._title += f", {one_line(question.episode_id)} ({one_line(question.group)})"
        self._rows = max(4 * (_FEWEST + 1), (console.height if console.is_terminal else _ROWS_ELSEWHERE) - _ROWS_AROUND)
        self._parts = [(title, self._lines(content)) for title, content in _parts(question, plain)]
        everything = self._join_parts(self._parts, blank=True)
        self._pages = [everything[start : start + self._rows] for start in range(0, len(everything), self._rows)]
        self._next = 0

    @property
    def pages(self) -> int:
        """How many pages the whole takes; more than one if the first view leaves something out."""
        return len(self._pages)

    def show(self) -> None:
        """Print the first view."""
        self._print(self._fit_parts() if self.pages > 1 else self._pages[0], self._title)

    def show_more(self) -> None:
        """Print the next page of the whole."""
        where = f", page {self._next + 1} of {len(self._pages)}" if self.pages > 1 else ""
        self._print(self._pages[self._next], self._title + where)
        self._next = (self._next + 1) % len(self._pages)

    def _fit_parts(self) -> list[list[Segment]]:
        """Return every part, the most important ones as long as possible."""
        left = self._rows - len(self._parts)
        lengths = {title: len(lines) for title, lines in self._parts}
        kept = {title: min(_FEWEST, length) for title, length in lengths.items()}
        for title in sorted(lengths, key=_MATTERS.index):
            kept[title] += min(lengths[title] - kept[title], max(0, left - sum(kept.values())))
        return self._join_parts([(title, self._cut(title, lines, kept[title])) for title, lines in self._parts], blank=False)

    def _cut(self, title: str, lines: list[list[Segment]], keep: int) -> list[list[Segment]]:
        """Return the beginning and the end, where the question usually is; of what the agent did, only the end."""
        if len(lines) <= keep:
            return lines
        head = 0 if title == _SO_FAR else keep // 2
        tail = keep - head - 1
        note = self._lines([Text(f"[… {count(len(lines) - keep + 1, 'line')} more: /more …]", style="dim")])[:1]
        return [*lines[:head], *note, *lines[len(lines) - tail :]]

    def _join_parts(self, parts: Sequence[_Part], *, blank: bool) -> list[list[Segment]]:
        found: list[list[Segment]] = []
        for title, lines in parts:
            head = self._lines([Text(f"{title}:" if self._plain else title, style="bold")])
            found += [*([[]] if blank and found and not self._plain else []), *head, *lines]
        return found

    def _lines(self, content: Sequence[RenderableType]) -> list[list[Segment]]:
        width = self._console.width if self._plain else self._console.width - 4
        return self._console.render_lines(Group(*content), self._console.options.update(width=width, height=None), pad=False)

    def _print(self, lines: list[list[Segment]], title: str) -> None:
        text = SegmentLines(lines, new_lines=True)
        if self._plain:
            self._console.print(Text(title))
            self._console.print(text, end="")
        else:
            self._console.print(Panel(text, title=Text(title), title_align="left", border_style="magenta", padding=(0, 1)))


_REQUEST, _KNOWN, _SO_FAR, _SAID, _ASKED = "The user asked", "You know", "The agent so far", "It writes to you", "It asks you"
_MATTERS = (_KNOWN, _ASKED, _REQUEST, _SAID, _SO_FAR)


def _parts(question: Question, plain: bool) -> Iterator[tuple[str, list[RenderableType]]]:
    """Return what a person needs to answer: the user's request, what the user knows, what the agent has done, what it asks."""
    yield _REQUEST, [Text(strip_control(question.query).strip())]
    if question.knows is not None:
        yield _KNOWN, [Text(strip_control(question.knows).strip() or NOTHING_MORE, style="green")]
    done = [line for item in question.progress if "type" in item for line in _event(_EVENT.validate_python(item), plain)]
    if done:
        yield _SO_FAR, done
    message = _message(question)
    if message:
        yield _SAID, [Text(message)]
    yield _ASKED, [Text(strip_control(question.question).strip() or "(an empty question)", style="magenta")]


def _message(question: Question) -> str:
    """Return the message that asks in plain words, if it says more than the question: options may follow there."""
    turns = [item for item in question.progress if "type" not in item]
    message = "" if not turns or turns[-1]["tool_calls"] else strip_control(turns[-1]["text"]).strip()
    return message if message != question.question else ""


def _event(event: Event, plain: bool) -> Iterator[RenderableType]:
    if isinstance(event, HumanEvent):
        said = {"question": one_line(event.question, _RESULT_WIDTH), "answer": one_line(event.answer, _RESULT_WIDTH)}
        if plain:
            yield Text(f"asked: {said['question']} Answer: {said['answer']}")
        else:
            yield from human_event_lines(event.model_copy(update=said))
    elif plain:
        outcome = "" if event.ok else f"failed {event.status or one_line(event.error)}".rstrip() + ", "
        yield Text(f"called {call_text(event)}: {outcome}{one_line(event.result, _RESULT_WIDTH) or 'no result'}")
    else:
        yield from tool_event_lines(event, _RESULT_WIDTH)


async def ask(console: Console, lines: LineSource, page: Page, *, undo: bool = True) -> Said:
    """Show a question and wait for the person.

    Args:
        console: The screen.
        lines: Where the answer comes from.
        page: The question.
        undo: Whether to offer to take the last answer back.
    """
    lines.clear()
    page.show()
    commands = ", ".join((*(["/more"] if page.pages > 1 else []), *(["/undo"] if undo else []), "/skip", "/later", "/help"))
    while True:
        console.print(f"Your answer (Enter alone: I don't know), or {commands}", style="dim")
        words = await _words(lines, "> ")
        if words == "" and lines.interactive:
            words = await _ask_confirmation(console, lines)
            if words in _NO:
                continue
            words = "" if words in _YES else words
        if words is None:
            return CLOSED
        match words.lower():
            case "":
                return Reply(DONT_KNOW, "idk")
            case "/skip":
                return Reply(WONT_SAY, "skip")
            case "/later":
                return LATER
            case "/undo":
                return UNDO
            case "/more":
                page.show_more()
            case "/help":
                console.print(_HELP, soft_wrap=True)
            case command if command.startswith("/") and not command.startswith("//"):
                console.print(f"No command '{one_line(words, 40)}'; /help lists them. {_SLASH}", style="yellow")
            case _:
                return Reply(words.removeprefix("/"))


async def _words(lines: LineSource, prompt: str, *, remember: bool = True) -> str | None:
    line = await lines.read(prompt, remember=remember)
    return None if line is None else " ".join(strip_control(line).splitlines()).strip()


async def _ask_confirmation(console: Console, lines: LineSource) -> str | None:
    """Return the reply after Enter alone: one of `_YES` or `_NO`, or the line the person typed instead; None at the end of input."""
    while True:
        words = await _words(lines, 'Answer "I don\'t know"? y/n ', remember=False)
        if words is None or words.lower() in {*_YES, *_NO}:
            return None if words is None else words.lower()
        if len(words) > 1 or not ("a" <= words.lower() <= "z"):
            if not words.startswith("/"):
                console.print("neither y nor n, so it is taken as your answer", style="yellow")
            return words
        console.print("Type y or n; anything longer is taken as your answer.", style="yellow")
