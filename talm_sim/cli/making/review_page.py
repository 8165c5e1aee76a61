"""An entry of a review on a page: unchanged texts across its width, changed ones side by side, with the differing words marked."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from talm_sim.cli.terminal.text import clip, one_line, strip_control
from talm_sim.scenarios.making.review import Entry, Part

__all__ = ["page_of"]

_LONGEST, _UNCHANGED = 1_200, 240
"""Characters shown of a text, and of one that is the same in the original."""
_LABEL = 17
"""Columns of a text's label."""
_ALIKE = 0.3
"""Share of the words that two texts have in common if one is a change of the other; no word is marked in a translation."""


def page_of(entry: Entry, texts: Mapping[str, str], told: str, width: int) -> RenderableType:
    """Return the page of an entry.

    Args:
        entry: The entry.
        texts: What a person wrote instead of its texts.
        told: The line below it.
        width: Columns of the screen.
    """
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
