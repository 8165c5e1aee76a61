"""`talm-sim scenarios review` at the terminal: show an entry, ask a question, read a letter.

Unchanged texts go across the page, changed ones side by side, with the differing words marked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from talm_sim.cli.parsing.shared_arguments import print_json
from talm_sim.cli.person.by_key import Keyboard, Press, Step, go_through
from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import clip, one_line, strip_control
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.making.merge_reviews import Merge, open_merge
from talm_sim.scenarios.making.review import Entry, Part, Review, ReviewCounts, Reviewer, open_review

_KEYS = "k keep; d drop; {edit}s skip; u undo; {why}q quit"
_NO_REASON, _BACK = "", "-"
_STEPS: Mapping[str, Step] = {"s": "skip", "u": "undo", "q": "quit"}
Read = Callable[[], str | None]
"""Reads a line; None at the end of input."""
Write = Callable[[str], str | None]
"""Lets a person change a text; None at the end of input."""
_LONGEST, _UNCHANGED = 1_200, 240
"""Characters shown of a text, and of one that is the same in the original."""
_LABEL = 17
"""Columns of a text's label."""
_ALIKE = 0.3
"""Share of the words that two texts have in common if one is a change of the other; no word is marked in a translation."""


def review_entries(review: Review, console: Console, read: Read, write: Write | None = None, press: Press | None = None) -> None:
    """Go through the entries nobody has decided on; skipped ones are shown once more at the end."""

    def press_enter(prompt: str, keys: str) -> str | None:
        console.print(prompt, end="", markup=False)
        line = read()
        return None if line is None else strip_control(line).strip().lower()

    sitting = _ReviewSession(review, console, read, write or (lambda text: read()), press or press_enter)
    console.print("Every decision is saved at once: quit whenever you like and continue later.", style="dim")
    go_through(review.waiting(), sitting.decide_on, review.undo, sitting.say)


class _ReviewSession:
    """One person who reviews the entries."""

    def __init__(self, review: Review, console: Console, read: Read, write: Write, press: Press) -> None:
        self._review = review
        self._console = console
        self._read = read
        self._write = write
        self._press = press

    def decide_on(self, entry: Entry) -> Step:
        """Show an entry and let the person decide."""
        texts = dict(entry.texts)
        names = [part for part in entry.parts if part.name]
        keys = _KEYS.format(edit="e edit; " if names else "", why="" if entry.passed else "w why rejected; ")
        letters = ["k", "d", *(["e"] if names else []), "s", "u", *([] if entry.passed else ["w"]), "q"]
        self._show(entry, texts)
        self._console.print(f"{self._review.reviewer.question}\n{keys}", style="dim")
        while True:
            letter = self._press(f"keep? [{'/'.join(letters)}] ", "".join(letters))
            if letter == "k":
                self._review.decide(entry, "keep", texts=texts)
                return "done"
            if letter == "d":
                if (reason := self._reason(entry)) is not None:
                    self._review.decide(entry, "drop", reason)
                    return "done"
            elif letter == "e" and names:
                self._edit(entry, names, texts)
            elif letter == "w" and not entry.passed:
                self.say(one_line(entry.why, 600))
            elif letter is None or letter in _STEPS:
                return "quit" if letter is None else _STEPS[letter]
            else:
                self.say(f"Type {', '.join(letters[:-1])} or {letters[-1]}.")

    def _show(self, entry: Entry, texts: dict[str, str]) -> None:
        before = self._review.decision(entry)
        said = f"; your decision: {before.decision}" if before else ""
        self._console.print()
        self._console.print(page_of(entry, texts, progress(self._review.summary()) + said, self._console.width))

    def _reason(self, entry: Entry) -> str | None:
        """Return why an entry is dropped, one of the task's reasons or the person's own; None if it is kept after all."""
        reasons = dict(zip(ascii_lowercase, entry.reasons, strict=False))
        for letter, reason in reasons.items():
            self._console.print(f"  {letter}  {reason}")
        self._console.print(f"why? a letter or your own words; Enter for no reason; {_BACK}: do not drop")
        said = one_line(self._read() or _NO_REASON, 300)
        return None if said == _BACK else reasons.get(said.lower(), said)

    def _edit(self, entry: Entry, parts: Sequence[Part], texts: dict[str, str]) -> None:
        """Let the person rewrite one of the texts, and check it again."""
        part = parts[0] if len(parts) == 1 else self._ask_part(parts)
        if part is None:
            return
        before = texts.get(part.name, part.text)
        self._console.print(f"{part.label}, new text (Enter alone keeps it):")
        if not (said := strip_control(self._write(before) or "").strip()) or said == before:
            return
        texts[part.name] = said
        if said == part.text:
            del texts[part.name]
        self._show(entry, texts)
        for fault in self._review.reviewer.faults(entry, texts) if texts else ():
            self.say(f"The checks say: {one_line(fault, 300)}")

    def _ask_part(self, parts: Sequence[Part]) -> Part | None:
        for number, part in enumerate(parts, 1):
            self._console.print(f"  {number}  {part.label}: {one_line(part.text, 60)}", markup=False)
        said = self._press(f"which? [1-{len(parts)}] ", "") or ""
        return parts[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(parts) else None

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(Text(text, style="yellow"))


def progress(summary: ReviewCounts) -> str:
    """Return the progress of a review, in one line."""
    edited = f" ({summary.edited} edited)" if summary.edited else ""
    return f"{summary.kept} kept{edited}, {summary.dropped} dropped, {summary.entries - summary.decided} to go"


def summary_lines(summary: ReviewCounts) -> Iterator[str]:
    """Return the result of a review, in words."""
    if not summary.decided:
        yield f"nothing decided yet; {summary.entries} to go"
        return
    yield f"{summary.decided} of {summary.entries} decided: {progress(summary)}; {summary.kept / summary.decided:.0%} kept"
    yield f"agreement with the automatic checks: {summary.agreed} of {summary.decided} ({summary.agreed / summary.decided:.0%})"
    for reason, number in summary.reasons.items():
        yield f"dropped {number}: {one_line(reason, 120)}"


def merge_lines(merge: Merge) -> Iterator[str]:
    """Return how far the reviewers agree, and what is left to settle."""
    for one in merge.agreements():
        kappa = "undefined, since all have the same label" if one.kappa is None else f"{one.kappa:.2f}"
        share = f" ({one.agreed / one.n:.0%})" if one.n else ""
        yield f"{one.names[0]}, {one.names[1]}: {one.agreed} of {one.n} agree{share}; Cohen's kappa {kappa}"
    left = merge.disputed.waiting()
    settled = len(merge.disputed.entries) - len(left)
    yield f"{len(merge.agreed)} agreed, {settled} settled, {len(left)} to settle, {len(merge.undecided)} not decided by two"
    for entry in left:
        said = "; ".join(f"{part.label}: {part.text}" for part in entry.parts if part.label.endswith(" said"))
        yield one_line(f"to settle: {entry.title}: {said}", 200)


def page_of(entry: Entry, texts: Mapping[str, str], told: str, width: int) -> RenderableType:
    """Return the page of an entry."""
    shown: list[RenderableType] = []
    headed = False
    for part in entry.parts:
        text = texts.get(part.name, part.text) if part.name else part.text
        mark = " (edited)" if text != part.text else ""
        if part.before is not None and part.before != text:
            shown.append(_side_by_side(part, text, mark, heads=not headed))
            headed = True
        else:
            shown.append(_across(part, text, mark))
    return Panel(
        Group(*shown),
        title=Text(one_line(entry.title, max(20, width - 8))),
        title_align="left",
        subtitle=told,
        subtitle_align="right",
        border_style="cyan",
        padding=(0, 1),
    )


def _across(part: Part, text: str, mark: str) -> RenderableType:
    """Return a row for a text that is not compared with another."""
    same = part.before is not None
    label = f"{part.label}{mark}{' (right)' if part.right else ''}"
    row = Table.grid(padding=(0, 1, 0, 0), expand=True)
    row.add_column(width=_LABEL, overflow="fold")
    row.add_column(ratio=1, overflow="fold")
    style = "dim" if same else ""
    row.add_row(
        Text(label, style="bold green" if part.right else style or "bold"),
        Text(clip(strip_control(text).strip(), _UNCHANGED if same else _LONGEST), style=style),
    )
    return row


def _side_by_side(part: Part, text: str, mark: str, *, heads: bool) -> RenderableType:
    """Return the original and the changed text in two columns."""
    assert part.before is not None
    before, after = _mark_changes(clip(strip_control(part.before).strip(), _LONGEST), clip(strip_control(text).strip(), _LONGEST))
    columns = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True, show_header=heads, header_style="underline")
    for head in ("Original", "Changed"):
        columns.add_column(head, ratio=1, overflow="fold")
    columns.add_row(Text(part.label, style="bold"), Text(f"{part.label}{mark}", style="bold"))
    columns.add_row(before, after)
    return columns


def _mark_changes(before: str, after: str) -> tuple[Text, Text]:
    """Return both texts, with the words that differ marked."""
    old, new = before.split(" "), after.split(" ")
    left, right = Text(), Text()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return Text(before), Text(after)
    for kind, a, b, c, d in matcher.get_opcodes():
        same = kind == "equal"
        for text, words, style in ((left, old[a:b], "bold red underline"), (right, new[c:d], "bold green underline")):
            if words:
                text.append(" " if text.plain else "")
                text.append(" ".join(words), style="" if same else style)
    return left, right


def review_session(place: Path, reviewer: Reviewer, *, rejected: bool, name: str, as_json: bool) -> None:
    """Let a person decide, or print their progress."""
    review = open_review(place, reviewer, rejected=rejected, name=name)
    if as_json:
        print_json(asdict(review.summary()))
        return
    if not sys.stdin.isatty():
        raise PrerequisiteError("reviewing needs a terminal, and standard input is not one; --json prints the summary so far.")
    _decide(review)
    summary = review.summary()
    for line in summary_lines(summary):
        click.echo(strip_control(line))
    if summary.kept:
        click.echo(f"kept rows: {review.write_kept()}", err=True)


def merge_session(place: Path, reviewer: Reviewer, *, rejected: bool, as_json: bool) -> None:
    """Print how far the reviewers agree; at a terminal, settle their differences; write what is kept."""
    merge = open_merge(place, reviewer, rejected=rejected)
    if as_json:
        print_json(_merge_record(merge))
    else:
        if merge.disputed.waiting() and sys.stdin.isatty():
            for line in merge_lines(merge):
                click.echo(strip_control(line), err=True)
            _decide(merge.disputed)
        for line in merge_lines(merge):
            click.echo(strip_control(line))
    click.echo(f"kept rows: {merge.write_kept()}", err=True)


def _merge_record(merge: Merge) -> Mapping[str, Any]:
    return {
        "agreement": [asdict(one) for one in merge.agreements()],
        "agreed": len(merge.agreed),
        "settled": merge.disputed.summary().decided,
        "to_settle": [entry.title for entry in merge.disputed.waiting()],
        "not_decided_by_two": len(merge.undecided),
    }


def _decide(review: Review) -> None:
    console = stderr()
    with Keyboard(console, plain=console.is_dumb_terminal) as keyboard:
        review_entries(review, console, keyboard.read, _edit_line, keyboard.press)


def _edit_line(text: str) -> str | None:
    """Let the person edit a text in place; if the terminal cannot do that, they type a new one."""
    if not sys.stdout.isatty():
        return sys.stdin.readline() or None
    try:
        import readline  # not on every system
    except ImportError:
        return sys.stdin.readline() or None
    readline.set_startup_hook(lambda: readline.insert_text(" ".join(strip_control(text).split())))
    try:
        return input()
    except EOFError:
        return None
    finally:
        readline.set_startup_hook(None)
