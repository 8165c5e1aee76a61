"""A sample has as many of every class, and within a class the shares of the tools shown."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.when2call.training.sampling import draw_sample
from talm_sim.types import Scenario
from tests.tasks.when2call.choices import TOOL, mixture


def _scenarios(shown: dict[int, int]) -> list[Scenario]:
    """Of every class so many scenarios with so many tools."""
    first = mixture(1)
    made = []
    for one in first:
        for tools, number in shown.items():
            for place in range(number):
                made.append(one.model_copy(update={"id": f"{one.id}-{tools}-{place}", "shown_tools": (str(TOOL),) * tools}))
    return made


def test_classes_are_equal_and_tools_keep_their_shares() -> None:
    drawn = draw_sample(_scenarios({0: 10, 1: 20, 3: 50, 5: 20}), 10, "class,tools", 0)
    assert Counter((one.group, min(2, len(one.shown_tools))) for one in drawn) == {
        (group, shown): number for group in ("tool_call", "request_for_info", "cannot_answer") for shown, number in ((0, 1), (1, 2), (2, 7))
    }


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order() -> None:
    scenarios = mixture(8)
    one, same, other = (draw_sample(scenarios, 4, "class", seed) for seed in (1, 1, 2))
    assert one == same != other
    assert [scenarios.index(each) for each in one] == sorted(scenarios.index(each) for each in one)
    assert Counter(each.group for each in one) == dict.fromkeys(("tool_call", "request_for_info", "cannot_answer"), 4)


@given(st.dictionaries(st.integers(0, 3), st.integers(1, 9), min_size=1), st.data())
def test_every_class_gets_what_is_asked_for(shown: dict[int, int], data: st.DataObject) -> None:
    number = data.draw(st.integers(1, sum(shown.values())))
    drawn = draw_sample(_scenarios(shown), number, "class,tools", 3)
    assert set(Counter(one.group for one in drawn).values()) == {number}


@pytest.mark.parametrize(
    ("number", "by", "said"),
    [
        (9, "class", "--sample: 9 of each class are asked for, and cannot_answer has 2; choose at most 2"),
        (1, "tools", "--by: names no class; write class or class,tools"),
        (1, "class,tool", "--by: 'tool' is neither class nor tools. Did you mean 'tools'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(number: int, by: str, said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        draw_sample(mixture(2), number, by, 0)
