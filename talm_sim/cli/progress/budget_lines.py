"""Put a command's budget into words: a limit that is reached, and what was spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.runs.events import BudgetReached, BudgetSpent, PartSpent

_OF_PART: dict[str, Callable[[PartSpent], float]] = {
    "requests": lambda one: one.requests,
    "tokens": lambda one: one.input_tokens + one.output_tokens,
    "cost": lambda one: one.cost,
}


def describe_reached(event: BudgetReached) -> str:
    """Say in one line that nothing more starts."""
    ending = f"; {event.in_flight:,} in flight will end" if event.in_flight else ""
    return f"budget: the limit of {' and '.join(event.limits)} is reached, so nothing more starts{ending}"


def describe_spent(event: BudgetSpent) -> list[str]:
    """Say in a line for each limit what was spent, by whom, and what was left."""
    lines = [_limit_line(event, name, limit) for name, limit in event.limits.items()]
    if event.limits.keys() & _OF_PART.keys() and not event.parts:
        lines.append("budget: no model was asked; replayed answers and controls count nothing")
    if (bounded := sum(one.bounded for one in event.parts)) and event.limits.keys() & {"tokens", "cost"}:
        lines.append(f"budget: {count(bounded, 'request')} counted at the upper bound, as no usage was reported")
    if event.left:
        lines.append(f"budget: left over: {left_over(event)}")
    return lines


def left_over(event: BudgetSpent) -> str:
    """Name what the budget kept from being done."""
    return ", ".join(_left(event))


def _left(event: BudgetSpent) -> Iterator[str]:
    for what, number in event.left.items():
        judge = what.removeprefix("judge ")
        if judge == what:
            yield f"{count(number, what.removesuffix('s'))} not started"
        else:
            yield f"{count(number, 'episode')} not judged by {safe_text(judge)}"


def _limit_line(event: BudgetSpent, name: str, limit: float) -> str:
    unit = safe_text(event.currency) or "of cost" if name == "cost" else name
    most = "at most " if name in ("tokens", "cost") and any(one.bounded for one in event.parts) else ""
    spent = event.spent[name]
    over = f" ({_figure(spent - limit)} over)" if spent > limit else ""
    shares: dict[str, float] = {}
    for one in event.parts if name in _OF_PART else ():
        shares[one.part] = shares.get(one.part, 0) + _OF_PART[name](one)
    parts = ", ".join(f"{part} {_figure(value)}" for part, value in shares.items())
    return f"budget: {most}{_figure(spent)} of {_figure(limit)} {unit}{over}{f': {parts}' if parts else ''}"


def _figure(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if value >= 100 else f"{value:.4g}"
