"""Whether an agent into which tools are built misses what a scenario takes away from it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from talm_sim.tasks.hidden_tools import can_hide_missing
from talm_sim.types import Scenario, Turn


@pytest.mark.parametrize(
    ("perturb", "hidden"),
    [
        ("mask:tool=a", False),
        ("mask:tool=b", True),
        ("replacement:tool=a", False),
        ("rename:tool=a", False),  # its model still sees the old name, which no call would find
        ("rename:tool=b", True),
        ("description", True),
        ("distractors", True),
    ],
)
def test_a_built_in_tool_can_neither_be_hidden_nor_renamed(perturb: str, hidden: bool) -> None:
    own: Any = SimpleNamespace(built_in={"a"})
    asked = (Turn(messages=({"role": "user", "content": "q"},)),)
    scenario = Scenario(id="s", group="perfect", turns=asked, tools=("a", "b"), perturbations=(perturb,))
    assert can_hide_missing(scenario, own) is hidden
