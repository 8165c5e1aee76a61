"""The screen of task `when2call`: accuracies, macro F1, hallucination rates and the confusion matrix, 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from talm_sim.cli.shades import shade
from talm_sim.cli.table import decimal, interval
from talm_sim.cli.text import clean, count
from talm_sim.judges.choices import HALLUCINATIONS, UNPARSED, ChoiceSummary
from talm_sim.types import Rate

__all__ = ["BEHAVIOUR_LABELS", "CHOICE_HEADS", "HALLUCINATION_LABELS", "choice_lines", "choice_markdown", "choice_notes", "choice_rates"]

CHOICE_HEADS = ("Acc", "Acc-norm", "macro F1")
"""Heads of the rates, as the literature names them."""
HALLUCINATION_LABELS = {
    "tool": "tool call where no tools are shown",
    "answer": "direct answer",
    "parameter": "tool call where information is missing",
}
"""Name of a hallucination rate to what it counts."""
BEHAVIOUR_LABELS = {
    "direct": "direct",
    "tool_call": "tool_call",
    "request_for_info": "request",
    "cannot_answer": "cannot",
    UNPARSED: "unparsed",
}
"""Heads of the matrix's columns; its rows carry the full names."""
_WIDTH = 77
_LABEL, _COUNT, _RATE, _CELL, _F1 = 19, 8, 12, 10, 7


def choice_lines(title: str, summaries: Sequence[ChoiceSummary], notes: Sequence[str] = (), is_control: bool = False) -> Iterator[Text]:
    """Render one run; no line is wider than 80 columns.

    Args:
        title: Whose rows they are.
        summaries: What `summarize_choices` says of the run.
        notes: Lines below it: template, mode, traffic.
        is_control: Whether the model is a script, which must not be read as a language model.
    """
    for line in textwrap.wrap(clean(title), _WIDTH, subsequent_indent="  "):
        yield Text(line, style="bold yellow" if is_control else "bold cyan")
    for summary in summaries:
        yield from _rate_lines(summary)
        if summary.n:
            yield Text()
            yield from _hallucination_lines(summary)
            yield Text()
            yield from _matrix_lines(summary)
            yield Text()
        yield from _wrapped(choice_notes(summary))
    yield from _wrapped(notes)


def choice_rates(summary: ChoiceSummary) -> tuple[tuple[str, str, str], ...]:
    """Head, value and interval of each rate, ready to print."""
    f1 = Rate(k=0, n=summary.n, value=summary.macro_f1, low=summary.macro_f1_low, high=summary.macro_f1_high)
    rates = zip(CHOICE_HEADS, (summary.accuracy, summary.accuracy_norm, f1), strict=True)
    return tuple((head, decimal(rate.value if rate else None), interval(rate)) for head, rate in rates)


def choice_notes(summary: ChoiceSummary) -> Iterator[str]:
    """What a reader of the rates should know."""
    if summary.mode == "logprob":
        yield "mode logprob: the likeliest given answer counts; Acc-norm: likeliest a byte"
    elif summary.judge is not None:
        rules = " (rules, no model; weak beside behaviour-llm)" if summary.judge == "behaviour" else ""
        yield f"mode judge: free answers, classified by judge {summary.judge}{rules}"
    if summary.not_scored:
        yield "not scored: " + ", ".join(f"{number:,} {_reason(name)}" for name, number in summary.not_scored.items())
    if summary.unparsed:
        yield f"{count(summary.unparsed, 'answer')} of no readable behaviour ({UNPARSED}); counted as wrong"
    if summary.n:
        yield "macro F1: mean over all four classes, one without rows counting as 0"
        if not summary.hallucinations["tool"].n:
            yield "no row shows no tools (and has gold cannot_answer): there is no tool hallucination rate"
    yield from summary.notes


def choice_markdown(title: str, summaries: Sequence[ChoiceSummary], notes: Sequence[str] = ()) -> list[str]:
    """Lines of Markdown: the rates, the hallucination rates, the matrix, the notes."""
    lines = [f"### {_cell(title)}", ""]
    for summary in summaries:
        heads = ["group", "n", *CHOICE_HEADS]
        n = f"{summary.n}" if summary.n == summary.total else f"{summary.n} of {summary.total}"
        cells = [_cell(summary.group), n, *(value + (f" [{limits}]" if limits else "") for _, value, limits in choice_rates(summary))]
        lines += [*_markdown_table(heads, [cells]), ""]
        rows = [[HALLUCINATION_LABELS[name], *_rate_cells(summary.hallucinations[name])] for name in HALLUCINATIONS]
        lines += [*_markdown_table(["hallucination", "rate", "k/n"], rows), ""]
        matrix = [[str(gold), *map(str, row)] for gold, row in zip(summary.classes, summary.matrix, strict=True)]
        lines += [*_markdown_table(["gold \\\\ predicted", *map(str, summary.columns)], matrix), ""]
        lines += [f"- {_cell(note)}" for note in (*choice_notes(summary), *notes)]
    return lines


def _reason(name: str) -> str:
    return "context_overflow (prompt too long for the model)" if name == "context_overflow" else name


def _rate_lines(summary: ChoiceSummary) -> Iterator[Text]:
    yield Text(" " * _LABEL + "n".rjust(_COUNT) + "".join(head.rjust(_RATE) for head in CHOICE_HEADS), style="bold")
    rates = choice_rates(summary)
    first = Text(f"  {clean(summary.group)}".ljust(_LABEL) + f"{summary.n:,}".rjust(_COUNT))
    for _, value, _ in rates:
        first.append(value.rjust(_RATE), style="bold")
    yield first
    of = f"of {summary.total:,}" if summary.total != summary.n else ""
    second = " " * _LABEL + of.rjust(_COUNT) + "".join(limits.rjust(_RATE) for _, _, limits in rates)
    if second.strip():
        yield Text(second.rstrip(), style="dim")


def _hallucination_lines(summary: ChoiceSummary) -> Iterator[Text]:
    yield Text("  hallucinations", style="bold")
    for name in HALLUCINATIONS:
        rate = summary.hallucinations[name]
        line = Text(f"    {name:<10} {HALLUCINATION_LABELS[name]:<39}")
        line.append(decimal(rate.value).rjust(5), style="bold" if rate.n else "dim")
        line.append(f" {interval(rate):>8} {f'{rate.k:,}/{rate.n:,}' if rate.n else '':>10}".rstrip(), style="dim")
        yield line


def _matrix_lines(summary: ChoiceSummary) -> Iterator[Text]:
    heads = "".join(BEHAVIOUR_LABELS[str(column)].rjust(_CELL) for column in summary.columns)
    yield Text("  gold \\ predicted".ljust(_LABEL) + heads + "F1".rjust(_F1), style="bold")
    for (behaviour, scores), row in zip(summary.classes.items(), summary.matrix, strict=True):
        line = Text(f"  {behaviour.value}".ljust(_LABEL))
        for cell in row:
            # The space between two cells stays unshaded.
            line.append(" ")
            number = f"{cell:,}" if cell < 1_000_000 else str(cell)
            line.append(number.rjust(_CELL - 2) + " ", style=_shade(cell / scores.support if scores.support else 0))
        line.append(decimal(scores.f1).rjust(_F1), style="" if scores.support else "dim")
        yield line


def _shade(share: float) -> str:
    """Style of a cell by its share of its row; rich leaves it out where there is no colour."""
    if not share:
        return "dim"
    back, front = shade(share)
    return f"rgb({front[0]},{front[1]},{front[2]}) on rgb({back[0]},{back[1]},{back[2]})"


def _wrapped(notes: Iterable[str]) -> Iterator[Text]:
    for note in notes:
        for line in textwrap.wrap(clean(note), _WIDTH, initial_indent="  ", subsequent_indent="    "):
            yield Text(line, style="dim")


def _rate_cells(rate: Rate) -> list[str]:
    limits = interval(rate)
    return [decimal(rate.value) + (f" [{limits}]" if limits else ""), f"{rate.k}/{rate.n}"]


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}", *(f"| {' | '.join(row)} |" for row in rows)]


def _cell(text: str) -> str:
    """Text that cannot break a table or a list."""
    return " ".join(clean(text).split()).replace("\\", "\\\\").replace("|", "\\|")
