from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain, repeat

import pytest

from tests import growth
from tests.growth import TIMES, check_growth


def clock(monkeypatch: pytest.MonkeyPatch, small: Iterable[float], large: Iterable[float]) -> list[int]:
    """Let work take these times, round by round. Hand `append` of the list that is given back as the work: it notes what was done."""
    times = chain.from_iterable(zip(small, large, strict=False))

    def seconds(work: Callable[[int], object], value: int) -> float:
        work(value)
        return next(times)

    monkeypatch.setattr(growth, "_seconds", seconds)
    return []


@pytest.mark.parametrize("power", [1, 1.1])
def test_work_in_step_passes_at_once(monkeypatch: pytest.MonkeyPatch, power: float) -> None:
    done = clock(monkeypatch, repeat(1.0), repeat(TIMES**power))
    check_growth(done.append, int, 1600)
    assert done == [100, 100, 1600]


@pytest.mark.parametrize("power", [1.5, 2])
def test_work_that_grows_faster_fails_after_many_rounds(monkeypatch: pytest.MonkeyPatch, power: float) -> None:
    done = clock(monkeypatch, repeat(0.01), repeat(0.01 * TIMES**power))
    with pytest.raises(AssertionError, match=f"16 times the length took {TIMES**power:.0f} times as long"):
        check_growth(done.append, int, 1600)
    assert done.count(1600) >= 3


def test_a_regular_expression_that_reads_to_the_end_from_every_letter_is_caught() -> None:
    with pytest.raises(AssertionError, match="16 times the length took"):
        check_growth(re.compile("a.*?b").findall, "a".__mul__, 3_200)


def test_a_regular_expression_that_reads_every_letter_once_passes() -> None:
    check_growth(re.compile("a|b").findall, "a".__mul__, 2**18)
