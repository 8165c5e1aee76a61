"""The two consoles: data on standard output, talk on standard error. Neither reads markup, so no text can style or break a screen."""

from __future__ import annotations

import os
import re

import click
from rich.console import Console, RenderableType

_PLAIN_WIDTH = 80
"""Columns of a table written to a file or pipe."""
_FILLING = re.compile(r"(?<! ) +$", re.MULTILINE)


def stdout() -> Console:
    """Return the console for data."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return the console for talk: progress, hints, questions."""
    return _console(stderr=True)


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


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and not console.is_dumb_terminal:
        console.width = _PLAIN_WIDTH
    return console
