"""The question to a person at the terminal: what they need to know, as far as it fits on the screen, and the line they type."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import TypeAdapter
from rich.console import Console, RenderableType
from rich.text import Text

from talm_sim.agent.humans import DONT_KNOW, WONT_SAY
from talm_sim.cli.person.fitted_page import FittedPage
from talm_sim.cli.person.typed_lines import LineSource
from talm_sim.cli.report.transcript import call_text, human_event_lines, tool_event_lines
from talm_sim.cli.terminal.text import one_line, strip_control
from talm_sim.runs.questions import Question
from talm_sim.types import Event, HumanEvent

__all__ = ["CLOSED", "LATER", "NOTHING_MORE", "UNDO", "Page", "Reply", "Said", "ask"]

NOTHING_MORE = "only what the request says"
_RESULT_WIDTH = 160
_YES, _NO = ("y", "yes"), ("n", "no", "")
_SLASH = "To begin an answer with a slash, type two."
_HELP = f"""\
  Type what the user would answer, from what you know, and press Enter.
  Then mark the question: 1 it was appropriate to ask it, 0 it was not, Enter: no mark
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
    appropriate: bool | None = None
    """Whether they marked the question as appropriate; None where they did not mark it."""

    @property
    def shown(self) -> str:
        """The reply as it is shown back."""
        said = {"idk": "I don't know", "skip": "(skipped)"}.get(self.declined) or one_line(self.text)
        return said if self.appropriate is None else f"{said} (question marked as {'' if self.appropriate else 'not '}appropriate)"


LATER: Literal["later"] = "later"
"""The person wants to see this question later."""
UNDO: Literal["undo"] = "undo"
"""The person wants to take the last answer back."""
CLOSED: Literal["closed"] = "closed"
"""Nobody types any more."""
Said = Reply | Literal["later", "undo", "closed"]


class Page(FittedPage):
    """What a person sees of a question.

    Args:
        console: The screen.
        question: The question.
        number: Which one it is, counted from 1.
        of: How many there are by now.
        plain: Whether to leave out frames and signs, for screen readers.
    """

    def __init__(self, console: Console, question: Question, number: int, of: int, *, plain: bool = False) -> None:
        title = f"Question {number} of {of}"
        if question.knows is not None:  # the names of episode and group say what is missing
            title += f", {one_line(question.episode_id)} ({one_line(question.group)})"
        super().__init__(console, title, list(_parts(question, plain)), matters=_MATTERS, last=(_SO_FAR,), more="/more", plain=plain)


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
        words = await _answer(console, lines, commands)
        if words is None:
            return CLOSED
        match words.lower():
            case "":
                return await _mark(console, lines, Reply(DONT_KNOW, "idk"))
            case "/skip":
                return await _mark(console, lines, Reply(WONT_SAY, "skip"))
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
                return await _mark(console, lines, Reply(words.removeprefix("/")))


async def _answer(console: Console, lines: LineSource, commands: str) -> str | None:
    """An answer or a command; empty for "I don't know", None at the end of input."""
    while True:
        console.print(f"Your answer (Enter alone: I don't know), or {commands}", style="dim")
        words = await _words(lines, "> ")
        if words or words is None or not lines.interactive:
            return words
        words = await _ask_confirmation(console, lines)
        if words not in _NO:
            return "" if words in _YES else words


async def _mark(console: Console, lines: LineSource, reply: Reply) -> Reply:
    """Ask whether the question was appropriate. The answer is given by then: who leaves at this place leaves it without a mark."""
    if not lines.interactive:
        return reply
    console.print("Was it appropriate to ask this? 1: yes, 0: no, Enter alone: no mark", style="dim")
    lines.clear()
    try:
        while (words := await _words(lines, "mark> ", remember=False, keys="10")) not in {"1", "0", "", None}:
            console.print("Type 1 or 0, or Enter alone.", style="yellow")
    except asyncio.CancelledError:
        return reply
    return replace(reply, appropriate=words == "1") if words else reply


async def _words(lines: LineSource, prompt: str, *, remember: bool = True, keys: str = "") -> str | None:
    line = await lines.read(prompt, remember=remember, keys=keys)
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
