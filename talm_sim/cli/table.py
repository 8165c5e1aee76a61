"""The result table: two lines a group (rates over their 95 % intervals), 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from talm_sim.cli.text import clean
from talm_sim.judges.metrics import GroupSummary
from talm_sim.types import Rate

__all__ = ["HEADS", "Block", "decimal", "interval", "table_lines"]

HEADS = {"pass_rate": "PR", "awareness": "Aware", "unexpected": "Unexp", "skip": "Skip", "interaction": "Inter"}
"""Name of a rate to the head of its column, as the literature abbreviates them."""
DASH = "\N{EN DASH}"
_LABEL, _COUNT, _RATE = 19, 8, 10
_WIDTH = _LABEL + _COUNT + _RATE * len(HEADS)


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one run, under a title that says whose they are."""

    title: str
    summaries: Sequence[GroupSummary]
    notes: Sequence[str] = ()
    """Lines below the rows."""
    is_control: bool = False
    """Whether the model is a script, which must not be read as a language model."""


def decimal(value: float | None) -> str:
    """A share as the papers print it; a dash where there is none.

    >>> decimal(0.357), decimal(1.0)
    ('.36', '1.00')
    """
    return DASH if value is None else f"{value:.2f}".removeprefix("0")


def interval(rate: Rate | None) -> str:
    """The 95 % interval; empty where there is none."""
    if rate is None or rate.low is None or rate.high is None:
        return ""
    return f"{decimal(rate.low)}{DASH}{decimal(rate.high)}"


def table_lines(blocks: Sequence[Block]) -> Iterator[Text]:
    """Render the blocks below one head; no line is wider than 80 columns."""
    yield Text(" " * _LABEL + "n".rjust(_COUNT) + "".join(head.rjust(_RATE) for head in HEADS.values()), style="bold")
    judges = {summary.pass_judge or "no judge" for block in blocks for summary in block.summaries if summary.n}
    by = judges.pop() if len(judges) == 1 else ""
    yield Text(" " * (_LABEL + _COUNT) + (by if 0 < len(by) < _RATE else "see notes").rjust(_RATE), style="dim")
    shared = _shared_notes(blocks)
    for number, block in enumerate(blocks):
        if number:
            yield Text()
        for line in textwrap.wrap(clean(block.title), _WIDTH, subsequent_indent="  "):
            yield Text(line, style="bold yellow" if block.is_control else "bold cyan")
        for summary in block.summaries:
            yield from _rows(summary)
        yield from _notes(note for note in block.notes if note not in shared)
    if shared:
        yield Text()
        yield Text("all of these:", style="dim")
        yield from _notes(shared)


def _shared_notes(blocks: Sequence[Block]) -> list[str]:
    """Notes every block has, where there are several: said once, below them."""
    if len(blocks) < 2:
        return []
    return [note for note in blocks[0].notes if all(note in block.notes for block in blocks)]


def _notes(notes: Iterable[str]) -> Iterator[Text]:
    for note in notes:
        for line in textwrap.wrap(clean(note), _WIDTH, initial_indent="  ", subsequent_indent="    "):
            yield Text(line, style="dim")


def _rows(summary: GroupSummary) -> Iterator[Text]:
    rates = [summary.rates.get(name) for name in HEADS]
    first = Text(f"  {clean(summary.group)}".ljust(_LABEL) + f"{summary.n:,}".rjust(_COUNT))
    for rate in rates:
        first.append(decimal(rate.value if rate else None).rjust(_RATE), style="bold" if rate else "dim")
    yield first
    of = f"of {summary.total:,}" if summary.total != summary.n else ""
    second = " " * _LABEL + of.rjust(_COUNT) + "".join(interval(rate).rjust(_RATE) for rate in rates)
    if second.strip():
        yield Text(second.rstrip(), style="dim")
