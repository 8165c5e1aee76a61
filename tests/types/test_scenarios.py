"""Scenarios as they are written and read: none, one or several things missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.digests import digest
from talm_sim.types import Missing, MissingKind, Scenario, Turn

CODE = {"kind": "argument", "name": "code", "value": "HAN", "removed_text": "HAN", "human_answer": "It is HAN."}
DAY = {"kind": "argument", "name": "day", "value": "2025-01-06", "removed_text": "on Monday", "human_answer": "On Monday."}
BASE: dict[str, Any] = {"id": "s", "group": "underspecified", "turns": [{"messages": [{"role": "user", "content": "How high?"}]}]}

blockers = st.builds(
    Missing,
    kind=st.sampled_from(MissingKind),
    name=st.text(),
    value=st.none() | st.integers() | st.text() | st.lists(st.text()),
    removed_text=st.text(),
    human_answer=st.none() | st.text(),
)


@pytest.mark.parametrize(
    ("read", "names", "written"),
    [
        (None, [], None),
        ([], [], None),
        (CODE, ["code"], CODE),
        ([CODE], ["code"], CODE),
        ([CODE, DAY], ["code", "day"], [CODE, DAY]),
    ],
)
def test_one_thing_missing_is_written_as_it_always_was(read: Any, names: list[str], written: Any) -> None:
    scenario = Scenario.model_validate({**BASE, "missing": read})
    assert [one.name for one in scenario.missing] == names
    assert scenario.model_dump(mode="json")["missing"] == json.loads(scenario.model_dump_json())["missing"] == written
    assert Scenario.model_validate(BASE).missing == ()


def test_the_digests_of_written_scenarios_do_not_move() -> None:
    """Written with the version in which one thing could be missing; recordings and runs are found by them."""
    found = [digest(Scenario.model_validate({**BASE, "missing": one}).model_dump(mode="json")) for one in (None, CODE)]
    assert found == ["d8dda460d7ea", "ce704716b1f2"]


@given(st.lists(blockers, max_size=3))
def test_what_is_written_is_read_again(missing: list[Missing]) -> None:
    scenario = Scenario(id="s", group="g", turns=(Turn(messages=()),), missing=tuple(missing))
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario
    assert Scenario.model_validate(scenario.model_dump()) == scenario
