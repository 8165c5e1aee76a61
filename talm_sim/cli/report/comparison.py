"""Print comparisons of runs as tables, 80 columns wide, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from rich.cells import cell_len
from rich.text import Text

from talm_sim.cli.report.layout import PageSection, PageTable
from talm_sim.cli.report.markdown import markdown_cell, markdown_grid
from talm_sim.cli.terminal.screen import fit_line, wrap
from talm_sim.cli.terminal.text import clip, count, one_line, one_line_text
from talm_sim.comparison.compare import SELECTED, Comparison, Difference
from talm_sim.comparison.person_differences import PeopleDifference
from talm_sim.comparison.worth_of_asking import MANY, Gain, GainStep, Gap
from talm_sim.store.people.kept_verdicts import is_of_people
from talm_sim.types.steps import Divergence
from talm_sim.types.written_figures import DASH

_TEXT = 77
_WIDTHS = (6, 7, 7, 8, 15, 6, 6)
_NAME = 15
_HEADS = ("pairs", "A", "B", "B - A", "95 %", "p", "Holm")
_STYLES = {"improved": "green", "regressed": "red", "differs": "yellow"}
_FEW = 5
"""Scenarios that a line lists, unless all are asked for."""
_EXCERPT = 60
_KINDS = {
    "improved": "improved",
    "regressed": "regressed",
    "both_passed": "both passed",
    "both_failed": "both failed",
    "as_often": "as often",
}


def comparison_lines(
    one: Comparison, *, every: bool = False, flips: Mapping[str, Divergence] | None = None, explained: bool = True
) -> Iterator[Text]:
    """Render a comparison.

    Args:
        one: The comparison.
        every: Whether to render the tables below the first one, too.
        flips: Where the episodes of flipped scenarios first differ, by scenario; None to name a few scenarios only.
        explained: Whether to end with a legend.
    """
    for letter, name, label in zip("AB", (one.first, one.second), one.labels, strict=True):
        yield from (Text(line, style="bold cyan") for line in wrap(f"{letter}  {name}: {label}", _TEXT, "", "   "))
    for line in _about(one):
        yield from (Text(part, style="dim") for part in wrap(line, _TEXT, "   ", "     "))
    titles = list(dict.fromkeys(difference.measure.under for difference in one.differences))
    people = [difference.measure.under for difference in one.differences if is_of_people(difference.measure)]
    shown = titles if every else [title for title in titles if title in (titles[0], "", *people, *map(SELECTED.format, one.selected))]
    for title in shown:
        yield Text()
        if len(title) > _NAME:
            yield from (Text(line, style="bold") for line in wrap(title, _TEXT, "", "  "))
        yield Text(fit_line(title if len(title) <= _NAME else "", _NAME) + _cells(_HEADS), style="bold")
        rows = [difference for difference in one.differences if difference.measure.under == title]
        for group, differences in groupby(rows, lambda difference: difference.group):
            yield from (Text(line) for line in wrap(group, _TEXT, "  ", "    "))
            yield from chain.from_iterable(map(_rows, differences))
    if one.people is not None:
        yield Text()
        yield from _people_lines(one.people)
    if one.flips:
        yield Text()
        yield from _flip_lines(one, flips)
    if worth := [*([_gap_line(one.gap)] if one.gap else []), *_gain_lines(one.gains)]:
        yield Text()
    for said in worth:
        yield from map(Text, wrap(said, _TEXT, "  ", "    "))
    if notes := list(_notes(one, len(titles) - len(shown), explained=explained)):
        yield Text()
    for note in notes:
        yield from (Text(line, style="dim") for line in wrap(note, _TEXT, "  ", "    "))


def _about(one: Comparison) -> Iterator[str]:
    pairs = f"{one.pairs:,} pair{'' if one.pairs == 1 else 's'}"
    size = f"{pairs} of a scenario and its translation" if one.translated else pairs
    size += f", {one.not_scored:,} of them not scored" if one.not_scored else ""
    left = [f"{len(names):,} scenarios in {letter} alone" for letter, names in (("A", one.first_only), ("B", one.second_only)) if names]
    yield "; ".join([size, *([f"left out: {', '.join(left)}"] if left else [])])
    for what, number in one.selected.items():
        yield f"both: {what}: {number:,} of the pairs; what the agents did decides which they are"
    if one.common_calls is not None:
        both, either = one.common_calls
        same = "" if {"perturb", "seed"} & one.changed.keys() else "; these met the same faults"
        yield f"tool calls: {both:,} of {either:,} were made by both{same}"
    for note in dict.fromkeys(difference.measure.note for difference in one.differences if difference.ratio is not None):
        ratios = [f"{each.group} {_decimal(each.ratio)}" for each in one.differences if each.measure.note == note and each.ratio is not None]
        yield f"{note}, B / A: {', '.join(ratios)}"
    for each in one.differences:
        if each.undecided and each.ends:
            shares, ends = (" and ".join(map(_decimal, pair)) for pair in (each.undecided, [size for size, _ in each.ends]))
            undone = ", which can undo the difference" if each.can_be_undone else ""
            yield f"{each.group} {each.measure.head}: undecided {shares} (A, B); with these B - A is between {ends}{undone}"
    for name, (before, after) in one.changed.items():
        yield f"{name.replace('_', ' ')}: {one_line(before, 60)} (A), {one_line(after, 60)} (B)"


def _cells(texts: Iterable[str]) -> str:
    return "".join(" " + fit_line(text, width - 1, right=True) for text, width in zip(texts, _WIDTHS, strict=True))


def _rows(one: Difference) -> Iterator[Text]:
    """Yield a measure's figures, below its name where that is long."""
    head = one.measure.head
    if cell_len(head) > _NAME - 4:
        yield from map(Text, wrap(head, _TEXT, "    ", "      "))
        head = ""
    line = Text(("    " + fit_line(head, _NAME - 4) + _cells(_figures(one))).rstrip())
    if one.verdict:
        line.append(f" {one.verdict}", style=_STYLES[one.verdict])
    yield line


def _figures(one: Difference) -> list[str]:
    pairs = "" if one.pairs is None else f"{one.pairs:,}"
    interval = "" if one.low is None else f"{_decimal(one.low)} to {_decimal(one.high)}".replace(",", "")  # it fits its column
    plus = "+" if (one.difference or 0) > 0 else ""
    return [pairs, _decimal(one.first), _decimal(one.second), plus + _decimal(one.difference), interval, _p(one.p), _p(one.corrected)]


def _decimal(value: float | None) -> str:
    """Return a figure with two decimals, from 100 on with none."""
    if value is None:
        return DASH
    text = f"{abs(value):,.0f}" if abs(value) >= 100 else f"{abs(value):.2f}".removeprefix("0")
    return f"-{text}" if value < 0 and text != ".00" else text


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _flip_lines(comparison: Comparison, divergences: Mapping[str, Divergence] | None) -> Iterator[Text]:
    found = comparison.flips
    if comparison.flips_by:
        yield from (Text(line, style="bold") for line in wrap(f"flips by: {comparison.flips_by}", _TEXT, "", "  "))
    kinds = [kind for kind in _KINDS if kind != "as_often" or any(one.as_often for one in found)]
    width = min(_TEXT - 12 * len(kinds), max(_NAME, *(2 + cell_len(one.group) for one in found)))
    yield Text(fit_line("scenarios", width) + "".join(fit_line(_KINDS[kind], 12, right=True) for kind in kinds), style="bold")
    for one in found:
        yield Text("  " + fit_line(one.group, width - 2) + "".join(f"{len(getattr(one, kind)):,}".rjust(12) for kind in kinds))
    for kind in ("improved", "regressed"):
        if (names := [name for one in found for name in getattr(one, kind)]) and divergences is None:
            more = f", and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
            yield from (Text(line, style="dim") for line in wrap(f"{kind}: {', '.join(names[:_FEW])}{more}", _TEXT, "  ", "    "))
        for name in names if divergences is not None else ():
            yield from _divergence_lines(kind, name, divergences.get(name) if divergences else None)


def _divergence_lines(kind: str, name: str, found: Divergence | None) -> Iterator[Text]:
    first, *more = map(Text, wrap(f"{kind} {name}", _TEXT, "  ", "    "))
    first.stylize(_STYLES[kind], 2, 2 + len(kind))
    yield from (first, *more)
    for letter, words in zip("AB", excerpts(found) if found else (), strict=False):
        yield Text(f"    {letter}  {clip(words, _TEXT - 8)}", style="dim")


def excerpts(found: Divergence | None) -> list[str]:
    """Return what each episode says around the place at which they first differ."""
    texts = []
    for step in (found.first, found.second) if found else (None, None):
        begin = max(0, found.at - _EXCERPT // 2) if found else 0
        words = f"{step.what}: {'…' if begin else ''}{step.text[begin : begin + 4 * _EXCERPT]}" if step else "ended before" if found else ""
        texts.append(one_line(words))
    return texts


def _people_lines(found: PeopleDifference) -> Iterator[Text]:
    yield Text(fit_line("how they answer", 54) + "".join(fit_line(who, 11, right=True) for who in (found.first, found.second)), style="bold")
    for one in found.figures:
        yield Text(f"  {fit_line(one.about, 52)}{_decimal(one.first).rjust(11)}{_decimal(one.second).rjust(11)}")


def _notes(one: Comparison, more: int, *, explained: bool) -> Iterator[str]:
    for warning in one.warnings:
        yield f"note: {warning}"
    if more:
        yield f"{more} more {'table' if more == 1 else 'tables'}: --all"
    if explained:
        drawn = any(not difference.exact and difference.p is not None for difference in one.differences)
        yield (
            "A, B: means over the pairs that have a value; 95 %: interval of the difference; p: two-sided test that flips the signs of the "
            "scenarios' differences" + (", drawn where they are too many to count" if drawn else "") + "; Holm: p corrected for the tests of "
            "the table" + ("; improved, regressed, differs: below .05" if any(difference.verdict for difference in one.differences) else "")
        )


def comparison_markdown(one: Comparison) -> str:
    """Return a comparison in Markdown: its tables, and what flipped."""
    section = comparison_section(one)
    parts = [f"### {markdown_cell(section.title)}", "\n".join(f"- {markdown_cell(line)}" for line in section.about)]
    for table in section.tables:
        rows = [[markdown_cell(cell) for cell in row] for row in table.rows]
        parts.append("\n".join(markdown_grid([table.title, *table.heads[1:]], rows, words=table.words)))
    return "\n\n".join(parts)


def comparison_section(one: Comparison) -> PageSection:
    """Return a comparison as a section of a page."""
    tables = []
    for title in dict.fromkeys(difference.measure.under for difference in one.differences):
        rows = [
            [one_line_text(text) for text in (difference.group, difference.measure.head, *_figures(difference), difference.verdict)]
            for difference in one.differences
            if difference.measure.under == title
        ]
        tables.append(PageTable(title or "rates", ["group", "measure", *_HEADS, "verdict"], rows, words=2))
    if one.people is not None:
        figures = [[figure.about, _decimal(figure.first), _decimal(figure.second)] for figure in one.people.figures]
        tables.append(PageTable("how they answer", ["", one.people.first, one.people.second], figures))
    if one.flips:
        rows = [[one_line_text(flips.group), *(f"{len(getattr(flips, kind)):,}" for kind in _KINDS)] for flips in one.flips]
        tables.append(PageTable(f"scenarios, by {one.flips_by}" if one.flips_by else "scenarios", ["group", *_KINDS.values()], rows))
    tables += [_gain_table(one.gains)] if one.gains else []
    about = [
        *(f"{letter}: {name}: {label}" for letter, name, label in zip("AB", (one.first, one.second), one.labels, strict=True)),
        *_about(one),
        *([_gap_line(one.gap)] if one.gap else []),
        *one.warnings,
    ]
    return PageSection(one_line_text(f"{one.second} against {one.first}"), [one_line_text(line) for line in about], tables)


def _gap_line(one: Gap) -> str:
    """Return the gap between two groups in a sentence."""
    said = f"{one.name} {_signed(one.value, plus='')}{_interval(one.low, one.high)}: success {_share(one.complete)} with all that is needed, "
    said += f"{_share(one.lacking)} where something must be asked for"
    said += f", so {100 * one.kept:.0f} % is kept" if one.kept is not None else ""
    return said if one.asked else f"{said}; nobody could be asked there, so it is not a gap of judgement"


def _gain_lines(gains: Sequence[Gain]) -> Iterator[str]:
    """Yield what a person at hand adds, a line per group."""
    for one in gains:
        said = f"{one.group}: a person adds {_signed(one.value)} over {count(one.pairs, 'pair')}"
        if one.per_question is None:
            yield f"{said}; no question was asked"
            continue
        asked = f"{one.questions:,.1f}".removesuffix(".0")
        said += f"; {asked} question{'' if asked == '1' else 's'}, {_signed(one.per_question)} each{_interval(one.low, one.high)}"
        yield f"{said}; {', '.join(f'{_asked(step)} {_signed(step.helped - step.alone)} ({step.pairs:,})' for step in one.steps)}"


def _gain_table(gains: Sequence[Gain]) -> PageTable:
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
