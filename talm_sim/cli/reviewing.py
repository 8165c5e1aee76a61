"""`talm-sim scenarios review` at the terminal: an item, a question, a letter."""

from __future__ import annotations

import json
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from talm_sim.cli.text import clean, clip, count, one_line
from talm_sim.scenarios.making.review import Entry, Review, Summary

__all__ = ["review_entries", "summary_lines"]

HINT = "k keep; d drop; s skip; b back; {why}q quit. Everything is kept at once."
_LONGEST = 1_200


def review_entries(review: Review, console: Console, read: Callable[[], str | None]) -> None:
    """Go through the entries nobody has decided on, and back to those before.

    Args:
        review: The entries and decisions.
        console: Where they are shown.
        read: Reads a line; None at the end of input.
    """
    waiting = review.waiting()
    place = 0
    while place < len(waiting):
        entry = review.entries[waiting[place]]
        console.print(_panel(entry, f"{place + 1} of {len(waiting)}", review))
        step = _ask(entry, review, console, read)
        if step is None:
            return
        place = max(0, place + step)


def _ask(entry: Entry, review: Review, console: Console, read: Callable[[], str | None]) -> int | None:
    """Let the person decide; returns how far to move, None to stop."""
    console.print(HINT.format(why="" if entry.passed else "w why did the checks reject it; "), style="dim")
    while True:
        console.print("keep? [k/d/s/b/q] ", end="")
        line = read()
        letter = "q" if line is None else clean(line).strip().lower()[:1]
        if letter == "k":
            review.decide(entry, "keep")
            return 1
        if letter == "d":
            console.print("why? (a few words, or empty) ", end="")
            reason = one_line(read() or "", 300)
            review.decide(entry, "drop", reason)
            return 1
        if letter in {"s", "b"}:
            return 1 if letter == "s" else -1
        if letter == "q":
            return None
        if letter == "w":
            console.print(Text(one_line(entry.why or "The checks let it pass.", 600), style="yellow"))
        else:
            console.print("Type k, d, s, b, w or q, and Enter.", style="yellow")


def _panel(entry: Entry, where: str, review: Review) -> RenderableType:
    parts: list[RenderableType] = []
    for label, text in entry.parts:
        right = label.startswith("right: ")
        parts.append(Text(label.removeprefix("right: ") + (" (the right one)" if right else ""), style="bold green" if right else "bold"))
        parts.append(Text(_readable(label, text)))
    before = review.decision(entry)
    known = f"you said: {before.decision}" if before else None
    title = Text(f"{where}: {one_line(entry.title, 100)}")
    return Panel(Group(*parts), title=title, title_align="left", subtitle=known, subtitle_align="right", border_style="cyan", padding=(0, 1))


def _readable(label: str, text: str) -> str:
    """A text as far as it can be read; of a tool's specification what tells it apart."""
    if label == "Tool":
        try:
            spec = json.loads(text)
            needs = ", ".join(map(str, spec.get("parameters", {}).get("required", [])))
            return one_line(f"{spec.get('name')}: {spec.get('description')} Needs: {needs or 'nothing'}.", 400)
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
    return clip(clean(text).strip(), _LONGEST)


def summary_lines(summary: Summary) -> list[str]:
    """What a review came to, in words."""
    if not summary.decided:
        return [f"nothing decided yet; {count(summary.entries, 'entry').replace('entrys', 'entries')} to go"]
    share = summary.kept / summary.decided
    agreed = summary.agreed / summary.decided
    lines = [
        f"{summary.decided} of {summary.entries} decided: {summary.kept} kept ({share:.0%}), {summary.dropped} dropped",
        f"agreement with the automatic checks: {summary.agreed} of {summary.decided} ({agreed:.0%})",
    ]
    return lines + [f"dropped: {one_line(reason, 120)}" for reason in summary.reasons]
