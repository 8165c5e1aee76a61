"""The effects of an ablation on the screen, 80 columns wide: a table per group, values over their 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.text import Text

from talm_sim.cli.terminal.console import stdout
from talm_sim.cli.terminal.screen import fit_line, wrap
from talm_sim.runs.effects import Change, Effect
from talm_sim.types import Measure
from talm_sim.types.figures import DASH

__all__ = ["effect_lines", "print_effects"]

_TEXT, _LEFT = 77, 32
"""Columns of a terminal for notes and titles, and at most for an effect's name."""
_COLUMN, _MOST = 12, 4
"""Columns of a measure (`-12.3–-10.2` and a space), and how many fit beside the names."""
_LEGEND = (
    "effect: the difference to the first value of the option, as the mean over the cells of all other options; a x b: how far the effect of "
    "one changes with the other (a difference of differences); below each value: its 95 % interval, a bootstrap over scenarios; of 20 "
    "intervals about one leaves out the true effect"
)


def print_effects(effects: Sequence[Effect], *, below: bool = False, explained: bool = True) -> None:
    """Print the effects on standard output; nothing if there are none.

    Args:
        effects: The effects.
        below: Whether another table precedes them.
        explained: Whether to end with a legend.
    """
    console = stdout()
    for line in effect_lines(effects, below=below, explained=explained):
        console.print(line, soft_wrap=True)


def effect_lines(effects: Sequence[Effect], *, below: bool = False, explained: bool = True) -> Iterator[Text]:
    """Render the effects; no line is wider than 80 columns."""
    references = {change.factor: change.against for effect in effects for change in effect.changes}
    for number, (group, of_group) in enumerate(groupby(effects, lambda one: one.group)):
        if number or below:
            yield Text()
        yield from _title(group, references)
        yield from _group(list(of_group))
    if explained and references:
        yield Text()
        yield from _notes([_LEGEND + _definitions(effects)])


def _title(group: str, references: Mapping[str, object]) -> Iterator[Text]:
    against = ", ".join(f"{factor}={_value(value)}" for factor, value in references.items())
    for line in wrap(f"effects, {group}" + (f": against {against}" if against else ""), _TEXT):
        yield Text(line, style="bold cyan")


def _group(effects: Sequence[Effect]) -> Iterator[Text]:
    of: dict[str, dict[tuple[Change, ...], Effect]] = {}
    for one in effects:
        if not one.why:
            of.setdefault(one.measure.name, {})[one.changes] = one
    names = {changes: _name(changes) for every in of.values() for changes in every}
    every = list(of.values())
    for start in range(0, len(every), _MOST):
        if start:
            yield Text()
        yield from _table(every[start : start + _MOST], names)
    yield from _notes([*_missing(effects), *_without_effects(effects)])


def _table(measures: Sequence[Mapping[tuple[Change, ...], Effect]], names: Mapping[tuple[Change, ...], str]) -> Iterator[Text]:
    left = min(_LEFT, 2 + max(map(cell_len, names.values())))
    firsts = [next(iter(every.values())) for every in measures]
    yield Text(" " * left + "".join(_cell(one.measure.head) for one in firsts), style="bold")
    yield Text(" " * left + "".join(_cell(_sizes(every.values())) for every in measures), style="dim")
    for changes, name in names.items():
        found = [every[changes] for every in measures]
        *above, label = wrap(name, _TEXT, "  ", "    ")
        if above or cell_len(label) > left:
            above, label = [*above, label], ""
        yield from map(Text, above)
        line = Text(label + " " * (left - cell_len(label)))
        for one in found:
            line.append(_cell(_signed(one.value, plus=True)), style="bold" if one.value else "dim")
        yield line
        yield Text((" " * left + "".join(_cell(_interval(one)) for one in found)).rstrip(), style="dim")


def _sizes(effects: Iterable[Effect]) -> str:
    """Return how many episodes a cell has, at least and at most."""
    sizes = sorted({cell.n for one in effects for cell in one.cells})
    return f"n {sizes[0]:,}" + (f"{DASH}{sizes[-1]:,}" if len(sizes) > 1 else "")


def _interval(one: Effect) -> str:
    return "" if one.low is None or one.high is None else f"{_signed(one.low)}{DASH}{_signed(one.high)}"


def _signed(value: float | None, *, plus: bool = False) -> str:
    """Return a difference with two decimals, or three figures if it is large.

    >>> _signed(-0.25), _signed(0.25, plus=True), _signed(-0.001, plus=True), _signed(12.34), _signed(-1234.5)
    ('-.25', '+.25', '.00', '12.3', '-1k')
    """
    if value is None:
        return DASH
    size = abs(value)
    text = f"{size:.2f}".removeprefix("0") if size < 10 else f"{size:.1f}" if size < 100 else f"{size:.0f}"
    if size >= 1000:
        text = f"{size / 1e3:,.0f}k" if size < 1e6 else f"{size / 1e6:.3g}M"
    return text if text == ".00" else ("-" if value < 0 else "+" if plus else "") + text


def _missing(effects: Sequence[Effect]) -> Iterator[str]:
    """Count, by cell, the episodes that are in no mean, and by measure those to which it does not apply."""
    cells = {cell.label: cell for one in effects for cell in one.cells}
    for words, left in (
        ("not scored", {label: cell.not_scored for label, cell in cells.items()}),
        ("not finished", {label: cell.unfinished for label, cell in cells.items()}),
    ):
        yield from _by_cell(f"{words}, by cell", left)
    for name, head in {one.measure.name: one.measure.head for one in effects}.items():
        left = {cell.label: cell.without_value for one in effects if one.measure.name == name for cell in one.cells}
        yield from _by_cell(f"scored without a value of {head}, by cell", left)


def _by_cell(words: str, numbers: Mapping[str, int]) -> Iterator[str]:
    if any(numbers.values()):
        yield f"{words}: " + "; ".join(f"{label}: {number:,}" for label, number in numbers.items() if number)


def _without_effects(effects: Sequence[Effect]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for one in effects:
        if one.why:
            reasons.setdefault(one.why, []).append(one.measure.head)
    for why, heads in reasons.items():
        yield f"no effects of {', '.join(heads)}: {why}"


def _definitions(effects: Sequence[Effect]) -> str:
    """Say what the columns count, and which direction is better."""
    measures = {one.measure.head: one.measure for one in effects if not one.why}
    return "".join(f"; {head}: {_about(one)}" for head, one in measures.items() if one.note or one.better != "neither")


def _about(measure: Measure) -> str:
    return ", ".join(filter(None, [measure.note, f"{measure.better} is better" if measure.better != "neither" else ""]))


def _name(changes: Iterable[Change]) -> str:
    return " x ".join(f"{change.factor}={_value(change.level)}" for change in changes)


def _value(value: object) -> str:
    return "none" if value in ("", None) else str(value)


def _cell(text: str) -> str:
    return " " + fit_line(text, _COLUMN - 1, right=True)


def _notes(notes: Iterable[str]) -> Iterator[Text]:
    for note in notes:
        for line in wrap(note, _TEXT, "  ", "    "):
            yield Text(line, style="dim")
