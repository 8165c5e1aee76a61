"""Items decided on one after the other, with a way back: what a person sees, in which order."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, strategies as st

from talm_sim.cli.person.by_key import Step, go_through
from tests.tables import labelled

STEPS: dict[str, Step] = {"d": "done", "s": "skip", "u": "undo", "q": "quit"}


def played(steps: str, items: int = 4) -> tuple[list[int], list[int], list[str]]:
    """What was shown, what is decided in the order in which it was, and what was said."""
    left: Iterator[str] = iter(steps)
    shown: list[int] = []
    decided: list[int] = []
    lines: list[str] = []

    def decide(item: int) -> Step:
        shown.append(item)
        step = STEPS[next(left, "q")]
        if step == "done":
            decided.append(item)
        return step

    go_through(list(range(items)), decide, lambda: decided.pop() if decided else None, lines.append)
    return shown, decided, lines


@labelled
def test_the_order_in_which_items_come(steps: str, shown: list[int], decided: list[int]) -> None:
    assert played(steps)[:2] == (shown, decided)


@given(st.text("dsu", max_size=40), st.integers(1, 5))
def test_nothing_is_decided_twice_and_nothing_gets_lost(steps: str, items: int) -> None:
    shown, decided, _ = played(steps + "d" * 20, items)
    assert len(decided) == len({*decided})
    skips = steps.count("s")
    assert {*decided} == {*range(items)} or skips >= 2, "only what is skipped twice is left"
    assert {*shown} == {*range(items)}
