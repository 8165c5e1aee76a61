"""The two consoles: data on standard output, talk on standard error. Neither reads markup, so no text can style or break a screen."""

from __future__ import annotations

import click
from rich.console import Console, RenderableType

__all__ = ["PLAIN_WIDTH", "print_page", "stderr", "stdout"]

PLAIN_WIDTH = 80
"""Columns of a table written to a file or pipe."""


def stdout() -> Console:
    """Console for data."""
    return _console(stderr=False)


def stderr() -> Console:
    """Console for talk: progress, hints, questions."""
    return _console(stderr=True)


def print_page(page: RenderableType) -> None:
    """Print a page on standard output; in a file or pipe without the spaces that fill its lines."""
    console = stdout()
    if console.is_terminal:
        console.print(page)
        return
    with console.capture() as captured:
        console.print(page)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and not console.is_dumb_terminal:
        console.width = PLAIN_WIDTH
    return console
