"""A person who judges a run at the terminal: an episode, a question, a key; blind to other verdicts, the model's name and the group."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

from talm_sim.cli.person.by_key import Keyboard, Step, go_through
from talm_sim.cli.person.fitted_page import FittedPage
from talm_sim.cli.terminal.text import clip, count, one_line, strip_control
from talm_sim.runs.people.ballot import Ballot, GivenElsewhereError
from talm_sim.types import Verdict

__all__ = ["judge_items", "shown_text"]

_MOST = 100_000
"""Characters of a text that can be read here."""
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Characters that take no column on one terminal and one on another, and mean nothing in a word."""
_STEPS: dict[str, Step] = {"s": "skip", "u": "undo", "q": "quit"}
_LINES = 3
"""Rows that the question, its keys and a message take, besides the line that is typed."""


def judge_items(ballot: Ballot, console: Console, keyboard: Keyboard, *, plain: bool = False) -> None:
    """Let a person judge what they have not judged yet; skipped items come once more at the end.

    Args:
        ballot: What they judge; each verdict is in the file before the next item is shown.
        console: Where items are shown.
        keyboard: What is typed.
        plain: Whether to leave out frames and signs, for screen readers.
    """
    sitting = _Sitting(ballot, console, keyboard, plain=plain)
    console.print("Every verdict is saved at once: stop whenever you like and continue later.", style="dim")
    go_through(ballot.waiting(), sitting.decide_on, ballot.undo, sitting.say)


class _Sitting:
    """One person and their items."""

    def __init__(self, ballot: Ballot, console: Console, keyboard: Keyboard, *, plain: bool) -> None:
        self._ballot = ballot
        self._console = console
        self._keyboard = keyboard
        self._plain = plain
        labels = ballot.question.labels
        # In capitals the keys of a long label would be searched for: each stands before its label.
        self._choices = ", ".join(f"{key} {label.replace('_', ' ')}" for key, label in labels.items())
        self._keys = "".join((*labels, *_STEPS, "m#"))

    def decide_on(self, item: str) -> Step:
        """Show an item and let the person decide; one that they judged elsewhere, or enough others did meanwhile, is passed over."""
        self._ballot.catch_up()
        if (there := self._ballot.verdict(item)) is not None:
            return self._pass_over(there)
        if not self._ballot.is_wanted(item):
            return "done"
        labels, note = self._ballot.question.labels, ""
        page = self._page(item)
        self._console.print()
        page.show()
        self._console.print(Text(self._ballot.question.asks, style="bold"))
        more = "m more; " if page.pages > 1 else ""
        self._console.print(Text(f"{more}s skip; u undo; # add a note; q stop", style="dim"))
        while True:
            key = self._keyboard.press(f"{self._choices} > ", self._keys)
            if key is None or key in _STEPS:
                return "quit" if key is None else _STEPS[key]
            if key in labels:
                try:
                    self._ballot.give(item, labels[key], note)
                except GivenElsewhereError as err:
                    return self._pass_over(err.verdict)
                self.say(f"saved: {labels[key].replace('_', ' ')}{f' ({one_line(note, 60)})' if note else ''}")
                return "done"
            if key == "m":
                page.show_more()
            elif key == "#":
                note = one_line(self._keyboard.read("note: ") or "", 1_000)
            else:
                self.say(f"Type one of {', '.join(self._keys)}.")

    def _pass_over(self, there: Verdict) -> Step:
        self.say(f"already judged elsewhere as {self._ballot.name or 'settled'}: {there.label.replace('_', ' ')}; that verdict stays")
        return "done"

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(Text(text, style="dim"), soft_wrap=True)

    def _page(self, item: str) -> FittedPage:
        ballot = self._ballot
        # Neither the episode's name nor its place in the run: they may say the group.
        number = ballot.items.index(item) + 1
        parts = [(one_line(title, 60), [Text(shown_text(text))]) for title, text in ballot.material(item)]
        titles = [title for title, _ in parts]
        further = len(Text(ballot.question.asks).wrap(self._console, self._console.width)) - 1
        title = f"{number} of {len(ballot.items)}, {ballot.given} judged"
        return FittedPage(self._console, title, parts, matters=(titles[-1], *titles[:-1]), more="m", around=_LINES + further, plain=self._plain)


def shown_text(text: str) -> str:
    """Return a text as a person reads it here: nothing in it acts, and one that is far too long is cut."""
    text = _INVISIBLE.sub("", strip_control(text)).strip()
    left = len(text) - _MOST
    return text if left <= 0 else f"{clip(text, _MOST)}\n({count(left, 'more character')})"
