"""Let a person decide on items by a key each, with a way back: shared by `scenarios review` and `judge --judge person`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from typing import Literal, Self, TypeVar

from rich.console import Console

from talm_sim.cli.person.typed_lines import open_lines
from talm_sim.cli.terminal.text import strip_control

Step = Literal["done", "skip", "undo", "quit"]
"""What becomes of an item: it was decided, put off, left to go back to the one before, or left to stop."""
Press = Callable[[str, str], str | None]
"""Takes a prompt and the keys that need no Enter, and returns what was typed; None at the end of input."""
_T = TypeVar("_T")


def go_through(waiting: list[_T], decide: Callable[[_T], Step], undo: Callable[[], _T | None], say: Callable[[str], None]) -> None:
    """Let a person decide on one item after the other; skipped ones come once more at the end."""
    left, skipped, again = list(waiting), list[_T](), False
    while left or (skipped and not again):
        if not left:
            left, skipped, again = skipped, [], True
            say(f"Back to what was skipped ({len(left)}):")
        item = left.pop(0)
        step = decide(item)
        if step == "quit":
            return
        if step == "skip":
            skipped.append(item)
        elif step == "undo":
            if (before := undo()) is None:
                say("There is no decision to undo.")
            skipped = [one for one in skipped if one != before]
            left[:0] = [item] if before is None else [before, item]


class Keyboard:
    """A person at a terminal, whose keys and lines are read one after the other; a context manager.

    Args:
        plain: Whether nothing may move on the screen, for screen readers: keys then need Enter.
    """

    def __init__(self, console: Console, *, plain: bool = False) -> None:
        self._console = console
        self._plain = plain
        self._mistyped = False

    def __enter__(self) -> Self:
        self._lines = open_lines(self._console, plain=self._plain)
        self._loop = asyncio.Runner()
        return self

    def __exit__(self, *_: object) -> None:
        with closing(self._lines), closing(self._loop):
            pass

    def press(self, prompt: str, keys: str) -> str | None:
        """Read a key, or a line that begins otherwise; what was typed before the prompt was there is dropped, but not what follows a mistake.

        Returns:
            The words in small letters; None at the end of input.
        """
        if not self._mistyped:
            self._lines.clear()
        line = self._loop.run(self._lines.read(prompt, remember=False, keys=keys))
        words = None if line is None else strip_control(line).strip().lower()
        self._mistyped = words is not None and keys != "" and (len(words) != 1 or words not in keys)
        return words

    def read(self, prompt: str = "> ") -> str | None:
        """Read a line; None at the end of input."""
        return self._loop.run(self._lines.read(prompt, remember=False))
