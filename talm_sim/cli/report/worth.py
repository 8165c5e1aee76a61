"""What asking is worth, in words and as a table, below a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talm_sim.cli.report.layout import PageTable
from talm_sim.cli.terminal.text import count, one_line_text
from talm_sim.runs.worth import MANY, Gain, GainStep, Gap
from talm_sim.types.figures import DASH

__all__ = ["gain_lines", "gain_table", "gap_line"]


def gap_line(one: Gap) -> str:
    """Return the gap between two groups in a sentence."""
    said = f"{one.name} {_signed(one.value, plus='')}{_interval(one.low, one.high)}: success {_share(one.complete)} with all that is needed, "
    said += f"{_share(one.lacking)} where something must be asked for"
    said += f", so {100 * one.kept:.0f} % is kept" if one.kept is not None else ""
    return said if one.asked else f"{said}; nobody could be asked there, so it is not a gap of judgement"


def gain_lines(gains: Sequence[Gain]) -> Iterator[str]:
    """Yield what a person at hand adds, a line per group."""
    for one in gains:
        said = f"{one.group}: a person adds {_signed(one.value)} over {count(one.pairs, 'pair')}"
        if one.per_question is None:
            yield f"{said}; no question was asked"
            continue
        asked = f"{one.questions:,.1f}".removesuffix(".0")
        said += f"; {asked} question{'' if asked == '1' else 's'}, {_signed(one.per_question)} each{_interval(one.low, one.high)}"
        yield f"{said}; {', '.join(f'{_asked(step)} {_signed(step.helped - step.alone)} ({step.pairs:,})' for step in one.steps)}"


def gain_table(gains: Sequence[Gain]) -> PageTable:
    """Return the same as a table of a page: a row per group and number of questions, after one of all."""
    rows = []
    for one in gains:
        per = DASH if one.per_question is None else _signed(one.per_question)
        whole = [f"{one.pairs:,}", "", "", _signed(one.value), f"{per}{_interval(one.low, one.high)}"]
        rows.append([one_line_text(one.group), "all", *whole])
        for step in one.steps:
            gained = _signed(step.helped - step.alone)
            rows.append([one_line_text(one.group), _asked(step), f"{step.pairs:,}", _share(step.alone), _share(step.helped), gained, ""])
    return PageTable("what a person adds", ["group", "asked", "pairs", "without", "with", "gain", "per question"], rows, words=2)


def _asked(step: GainStep) -> str:
    more = " or more" if step.questions == MANY else ""
    return f"{step.questions}{more} asked" if step.questions else "none asked"


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def _signed(value: float, plus: str = "+") -> str:
    text = f"{abs(value):.2f}".removeprefix("0")
    return text if text == ".00" else f"{'-' if value < 0 else plus}{text}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{_signed(low, plus='')} to {_signed(high, plus='')}]"
