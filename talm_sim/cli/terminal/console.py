"""The two consoles: data on standard output, talk on standard error. Neither reads markup, so no text can style or break a screen."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console, RenderableType
from rich.text import Text

from talm_sim.errors import command_lines

_PLAIN_WIDTH = 80
"""Columns of a table written to a file or pipe."""
_FILLING = re.compile(r"(?<! ) +$", re.MULTILINE)


def stdout() -> Console:
    """Return the console for data."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return the console for talk: progress, hints, questions."""
    return _console(stderr=True)


def say(console: Console, text: str, style: str = "") -> None:
    """Print words for a person: at a terminal, no word is broken; elsewhere, a line stays one."""
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


def with_command(said: str, command: str) -> str:
    """Return words and the command to copy behind them: a line, but at a terminal one that is too wide is broken where a shell reads on."""
    if len(f"{said}: {command}") <= _PLAIN_WIDTH or not stderr().is_terminal:
        return f"{said}: {command}"
    return "\n  ".join([f"{said}:", *command_lines(command, _PLAIN_WIDTH - 2)])


def print_page(page: RenderableType, *, paged: bool = False) -> None:
    """Print a page on standard output; in a file or pipe without the spaces that fill its lines.

    Args:
        page: What to print.
        paged: Whether a page longer than the terminal is shown a screen at a time, by the program that `PAGER` names. An empty `PAGER` and
            `cat` name none, as for git.
    """
    console = stdout()
    paged = paged and os.environ.get("PAGER", "less").strip() not in ("", "cat")
    if console.is_terminal and not paged:
        console.print(page)
        return
    with console.capture() as captured:
        console.print(page, crop=not paged)
    text = captured.get()
    if not console.is_terminal:
        click.echo(_FILLING.sub("", text), nl=False)
    elif text.count("\n") < console.height:
        click.echo(text, nl=False)
    else:
        os.environ.setdefault("LESS", "-FRX")  # as git does: colours stay, and so does the text when the pager goes
        click.echo_via_pager(text)


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error, if that is a terminal, while something is done `total` times; call what is yielded after each."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # not at the top: most commands show none

    console = stderr()
    bar = Progress(TextColumn(what), BarColumn(), MofNCompleteColumn(), console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and not console.is_dumb_terminal:
        console.width = _PLAIN_WIDTH
    return console
