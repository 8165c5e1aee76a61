"""The report as one HTML page: nothing is loaded, nothing runs, and whatever a run's files say is shown as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from talm_sim.cli.blocks import AnyBlock, ChoiceBlock
from talm_sim.cli.choice_table import HALLUCINATION_LABELS, choice_notes, choice_rates
from talm_sim.cli.report_picture import hallucinations_svg, matrix_svg
from talm_sim.cli.shades import shade
from talm_sim.cli.table import HEADS, Block, decimal, interval
from talm_sim.cli.text import clean
from talm_sim.judges.choices import HALLUCINATIONS, ChoiceSummary
from talm_sim.types import Rate

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["report_page"]

_RATE_NAMES = {"pass_rate": "pass rate", "skip": "skips", "unexpected": "unexpected outcomes"}


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value over its interval."""

    value: str
    limits: str = ""

    @classmethod
    def of(cls, rate: Rate | None) -> _Cell:
        return cls(decimal(rate.value if rate else None), interval(rate))


def report_page(blocks: Sequence[AnyBlock]) -> str:
    """Return the page over runs, one section each, in this order.

    Raises:
        PrerequisiteError: A run of task `when2call` is among them, and matplotlib is not installed.
    """
    heads = [(head, _RATE_NAMES.get(name, name)) for name, head in HEADS.items()]
    sections = [_section(block, f"run{place}") for place, block in enumerate(blocks, 1)]
    return _template().render(sections=sections, heads=heads)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((resources.files("talm_sim.cli") / "report_page.html").read_text(encoding="utf-8"))


def _section(block: AnyBlock, name: str) -> dict[str, Any]:
    shared = {"id": name, "title": _text(block.title), "control": block.is_control, "rows": [], "choices": []}
    if isinstance(block, ChoiceBlock):
        choices = [_choice(summary, f"{name}-{place}") for place, summary in enumerate(block.summaries, 1)]
        notes = [note for summary in block.summaries for note in choice_notes(summary)]
        return shared | {"choices": choices, "notes": [_text(note) for note in (*notes, *block.notes)]}
    return shared | {"rows": _rows(block), "notes": [_text(note) for note in block.notes]}


def _rows(block: Block) -> list[dict[str, Any]]:
    return [
        {"group": _text(one.group), "n": _number(one.n, one.total), "rates": [_Cell.of(one.rates.get(name)) for name in HEADS]}
        for one in block.summaries
    ]


def _choice(summary: ChoiceSummary, name: str) -> dict[str, Any]:
    from markupsafe import Markup

    drawn = bool(summary.n)
    return {
        "group": _text(summary.group),
        "n": _number(summary.n, summary.total),
        "rates": [(head, _Cell(value, limits)) for head, value, limits in choice_rates(summary)],
        "hallucinations": [
            (one, HALLUCINATION_LABELS[one], _Cell.of(rate := summary.hallucinations[one]), f"{rate.k:,}/{rate.n:,}") for one in HALLUCINATIONS
        ],
        "columns": [str(column) for column in summary.columns],
        "matrix": [_matrix_row(summary, place) for place in range(len(summary.matrix))],
        # Drawn by us from numbers alone: no text of the run is in them.
        "pictures": [Markup(matrix_svg(summary, f"{name}-m")), Markup(hallucinations_svg(summary, f"{name}-h"))] if drawn else [],
    }


def _matrix_row(summary: ChoiceSummary, place: int) -> dict[str, Any]:
    gold, scores = list(summary.classes.items())[place]
    cells = []
    for count in summary.matrix[place]:
        back, front = shade(count / scores.support if scores.support else 0)
        style = f"background:rgb{back};color:rgb{front}" if scores.support else ""
        cells.append((f"{count:,}", style))
    shares = [decimal(scores.precision), decimal(scores.recall), decimal(scores.f1)]
    return {"gold": gold.value, "support": f"{scores.support:,}", "cells": cells, "shares": shares}


def _number(n: int, total: int) -> str:
    return f"{n:,}" if n == total else f"{n:,} of {total:,}"


def _text(text: str) -> str:
    """Text without controls, direction marks and line ends; the template escapes it."""
    return " ".join(clean(text).split())
