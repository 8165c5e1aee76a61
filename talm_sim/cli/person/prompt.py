"""Read the lines that a person types to answer a question, and to mark it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from rich.console import Console

from talm_sim.agent.humans import DONT_KNOW, WONT_SAY
from talm_sim.cli.person.question_page import Page
from talm_sim.cli.person.replies import CLOSED, LATER, SLASH, UNDO, Reply, Said, is_command, read_words
from talm_sim.cli.person.typed_decisions import decide
from talm_sim.cli.person.typed_lines import LineSource
from talm_sim.cli.terminal.console import say
from talm_sim.cli.terminal.text import one_line

_YES, _NO = ("y", "yes"), ("n", "no", "")
_HELP = f"""\
  Type what the user would answer, from what you know, and press Enter.
  Then mark the question: 1 it was right to ask, 0 it was not, Enter: no mark;
  u   returns to your answer, to type it again
  Enter   alone: you don't know (asked once more before it counts)
  /skip   you would rather not say
  /later  ask again at the end; after that the question stays open
  /undo   take back your last answer, until its episode continues
  /more   the next page of a long question
  Ctrl-C  stop; all answers are kept, and you are told how to continue
  {SLASH}"""


async def ask(console: Console, lines: LineSource, page: Page, *, undo: bool = True) -> Said:
    """Show a question, a call to approve or a form, and wait for the person."""
    lines.clear()
    page.show()
    if (request := page.question.request) is not None:
        return await decide(console, lines, page, request, undo=undo)
    return await _ask_question(console, lines, page, undo=undo)


async def _ask_question(console: Console, lines: LineSource, page: Page, *, undo: bool) -> Said:
    commands = ", ".join((*(["/more"] if page.pages > 1 else []), *(["/undo"] if undo else []), "/skip", "/later", "/help"))
    while True:
        words = await _answer(console, lines, commands)
        if words is None:
            return CLOSED
        match words.lower():
            case "":
                reply = Reply(DONT_KNOW, "idk")
            case "/skip":
                reply = Reply(WONT_SAY, "skip")
            case "/later":
                return LATER
            case "/undo":
                return UNDO
            case "/more":
                page.show_more()
                continue
            case "/help":
                say(console, _HELP)
                continue
            case command if is_command(command):
                console.print(f"No command '{one_line(words, 40)}'; /help lists them. {SLASH}", style="yellow")
                continue
            case _:
                reply = Reply(words.removeprefix("/"))
                misfit = page.question.stands_in.explain_misfit(reply.text) if page.question.stands_in is not None else ""
                if misfit:
                    say(console, f"{one_line(misfit, 400)}; correct it, or answer in words.", "yellow")
                    continue
        if marked := await _mark(console, lines, reply):
            return marked


async def _answer(console: Console, lines: LineSource, commands: str) -> str | None:
    """Read an answer or a command; return "" for "I don't know", None at the end of input."""
    while True:
        console.print(f"Your answer (Enter alone: I don't know), or {commands}", style="dim")
        words = await read_words(lines, "> ")
        if words or words is None or not lines.interactive:
            return words
        words = await _ask_confirmation(console, lines)
        if words not in _NO:
            return "" if words in _YES else words


async def _mark(console: Console, lines: LineSource, reply: Reply) -> Reply | None:
    """Ask whether the question was appropriate; None to answer anew. Who leaves at this place leaves the answer without a mark."""
    if not lines.interactive:
        return reply
    console.print("Was it appropriate to ask this? 1 yes, 0 no, Enter no mark, u change the answer", style="dim")
    lines.clear()
    try:
        while (words := await read_words(lines, "mark> ", remember=False, keys="10u")) not in {"1", "0", "u", "", None}:
            console.print("1: it was right to ask; 0: it was not; u: change the answer; Enter alone: no mark.", style="yellow")
    except asyncio.CancelledError:
        return reply
    if words == "u":
        return None
    return replace(reply, appropriate=words == "1") if words else reply


async def _ask_confirmation(console: Console, lines: LineSource) -> str | None:
    """Return the reply after Enter alone: one of `_YES` or `_NO`, or the line the person typed instead; None at the end of input."""
    while True:
        words = await read_words(lines, 'Answer "I don\'t know"? y/n ', remember=False)
        if words is None or words.lower() in {*_YES, *_NO}:
            return None if words is None else words.lower()
        if len(words) > 1 or not ("a" <= words.lower() <= "z"):
            if not words.startswith("/"):
                console.print("neither y nor n, so it is taken as your answer", style="yellow")
            return words
        console.print("Type y or n; anything longer is taken as your answer.", style="yellow")
