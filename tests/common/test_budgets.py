"""What a command may spend, as it is written."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.budgets import BUDGET_WORDS, Budget, read_budget
from talm_sim.config import RunConfig
from talm_sim.errors import OptionError

COUNT, AMOUNT = st.integers(1, 10**12), st.floats(1e-6, 1e9)
LIMITS = st.fixed_dictionaries({}, optional={"requests": COUNT, "tokens": COUNT, "cost": AMOUNT, "minutes": AMOUNT}).filter(bool)


@given(LIMITS)
def test_what_is_written_is_read(limits: dict[str, float]) -> None:
    assert read_budget(",".join(f"{name}={value}" for name, value in limits.items())) == Budget(**limits)


@given(st.text("requestokncmiu=,.0123456789e-+ _", max_size=40))
def test_any_text_is_read_or_refused_in_a_line(text: str) -> None:
    try:
        limits = read_budget(text).model_dump()
    except ValueError as err:
        assert str(err) and "\n" not in str(err)
    else:
        given = [value for value in limits.values() if value is not None]
        assert given and all(0 < value < float("inf") for value in given)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("requests", "'requests' is not an option; write KEY=VALUE."),
        ("requests=", "requests: is empty"),
        ("reqests=3", "Did you mean 'requests'?"),
        ("requests=0", "requests: 0 is too small; the least is 1."),
        ("requests=1.5", "'1.5' is not a whole number."),
        ("cost=nan", "nan is not a finite number"),
        ("minutes=-1", "it must be more than 0."),
        ("tokens=1,tokens=2", "a limit is given twice"),
    ],
)
def test_a_wrong_limit_is_refused_by_its_name(text: str, line: str) -> None:
    with pytest.raises(OptionError) as refused:
        RunConfig(budget=text)
    assert str(refused.value).startswith("budget: ") and line in str(refused.value)


def test_a_budget_may_be_a_list_or_be_left_out() -> None:
    assert RunConfig(budget=["requests=10", "minutes=2"]).budget == "requests=10,minutes=2"
    assert RunConfig().budget == RunConfig(budget="").budget == ""
    assert BUDGET_WORDS == ("requests=", "tokens=", "cost=", "minutes=")
