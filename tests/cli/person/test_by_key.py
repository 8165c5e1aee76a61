"""Items decided on one after the other, with a way back: what a person sees, in which order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from talm_sim.cli.person.by_key import Step, go_through

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


@pytest.mark.parametrize(
    ("steps", "shown", "decided"),
    [
        ("dddd", [0, 1, 2, 3], [0, 1, 2, 3]),
        ("dq", [0, 1], [0]),
        ("dudddd", [0, 1, 0, 1, 2, 3], [0, 1, 2, 3]),
        ("dduudddd", [0, 1, 2, 1, 0, 1, 2, 3], [0, 1, 2, 3]),
        ("sdsddd", [0, 1, 2, 3, 0, 2], [1, 3, 0, 2]),
        ("ssssssss", [0, 1, 2, 3, 0, 1, 2, 3], []),
        ("udddd", [0, 0, 1, 2, 3], [0, 1, 2, 3]),
        ("sdud", [0, 1, 2, 1, 2], [1]),
        ("", [0], []),
    ],
)
def test_the_order_in_which_items_come(steps: str, shown: list[int], decided: list[int]) -> None:
    assert played(steps)[:2] == (shown, decided)


@given(st.text("dsu", max_size=40), st.integers(1, 5))
def test_nothing_is_decided_twice_and_nothing_gets_lost(steps: str, items: int) -> None:
    shown, decided, _ = played(steps + "d" * 20, items)
    assert len(decided) == len({*decided})
    skips = steps.count("s")
    assert {*decided} == {*range(items)} or skips >= 2, "only what is skipped twice is left"
    assert {*shown} == {*range(items)}
