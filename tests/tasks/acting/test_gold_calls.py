"""What became of each gold call, as counted here and by hand; and whether an agent with tools of its own misses what is taken away."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.tasks.acting.agent_notes import can_hide_missing
from talm_sim.tasks.acting.gold_calls import EpisodeCalls, MadeCall, WantedCall
from talm_sim.types import Episode, GoldCall, Scenario, Termination, ToolEvent, Turn
from tests.tables import labelled
from tests.tasks.views import job


def compare(wanted: str, made: str) -> list[tuple[str, bool, bool, str]]:
    """Compare calls written as letters: `a+` has the gold arguments, `a` has not."""
    calls = made.split()
    found = EpisodeCalls(wanted.split(), [MadeCall(one.rstrip("+")) for one in calls], lambda gold, place: calls[place].endswith("+"))
    return [(one.name, one.called, one.right, one.instead) for one in found.outcomes()]


@labelled
def test_each_gold_call_was_made_or_another_or_none(wanted: str, made: str, outcomes: list[list[Any]]) -> None:
    assert [list(one) for one in compare(wanted, made)] == outcomes


_CALLS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=4)


@given(_CALLS, _CALLS)
def test_as_many_gold_calls_are_made_as_can_be(gold: list[tuple[str, int]], made: list[tuple[str, int]]) -> None:
    outcomes = EpisodeCalls(
        [tool for tool, _ in gold], [MadeCall(tool) for tool, _ in made], lambda one, place: gold[one] == made[place]
    ).outcomes()
    best = max(
        (
            (sum(one[0] == other[0] for one, other in zip(gold, order, strict=False)), sum(map(tuple.__eq__, gold, order)))
            for order in permutations([*made, *[("", -1)] * len(gold)], len(gold))
        ),
        default=(0, 0),
    )
    assert sum(one.called for one in outcomes) == best[0]
    # Calls with equal arguments are alike here, so no order of taking them loses one.
    assert sum(one.right for one in outcomes) == sum(min(gold.count(one), made.count(one)) for one in {*gold})
    assert not any(one.called and one.instead for one in outcomes)
    assert not any(one.right and not one.called for one in outcomes)
    others = [tool for tool, _ in made if tool not in {tool for tool, _ in gold}]
    assert [one.instead for one in outcomes if one.instead] == others[: sum(not one.called for one in outcomes)]


def scenario(*gold: GoldCall, **more: Any) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "How high?"},), gold_calls=gold)
    return Scenario(**({"id": "s", "group": "perfect", "turns": (turn,), "tools": ("height", "depth")} | more))


def episode(*events: ToolEvent, termination: Termination = Termination.ANSWERED) -> Episode:
    return Episode(id="s", scenario_id="s", group="perfect", model="m/m", events=events, termination=termination)


def event(tool: str, *, ok: bool = True, error: str = "", **arguments: object) -> ToolEvent:
    return ToolEvent(turn=0, call_id="1", name=tool, arguments=arguments, ok=ok, error=error)


HEIGHT = GoldCall(name="height", arguments={"of": "K2"})


def test_the_calls_of_an_agent_are_compared_as_the_judge_compares_them() -> None:
    task = job("talm")
    calls = task.task.calls(episode(event("height", of=" k2 ", unit="m"), event("foo", ok=False, error="unknown_tool")), scenario(HEIGHT), task)
    assert calls is not None
    assert calls.outcomes() == [WantedCall("height", True, True)]
    assert calls.made == [MadeCall("height", False), MadeCall("foo", True, False)]
    # A call that failed has the right arguments all the same: what was sent and what came back are two columns.
    failed = task.task.calls(episode(event("height", ok=False, error="http_500", of="K2")), scenario(HEIGHT), task)
    assert failed is not None
    assert failed.outcomes() == [WantedCall("height", True, True)]


@pytest.mark.parametrize(
    ("options", "more"),
    [({"perturb": ("mask",)}, {}), ({"perturb": ("replacement:tool=height",)}, {}), ({}, {"perturbations": ("mask:tool=height",)})],
)
def test_a_hidden_tool_is_not_wanted(options: dict[str, Any], more: dict[str, Any]) -> None:
    task = job("talm", options=options)
    calls = task.task.calls(episode(event("depth")), scenario(HEIGHT, **more), task)
    assert calls is not None
    assert calls.wanted == []
    assert len(calls.made) == 1


@pytest.mark.parametrize(
    "perturb", ["rename", "rename:tool=height,to=altitude", "description:mode=scrambled", "distractors", "replacement:tool=depth"]
)
def test_a_tool_with_another_name_or_other_tools_beside_it_is_still_wanted(perturb: str) -> None:
    task = job("talm", options={"perturb": (perturb,)})
    calls = task.task.calls(episode(event("height", of="K2")), scenario(HEIGHT), task)
    assert calls is not None
    assert calls.outcomes() == [WantedCall("height", True, True)]


@labelled
def test_a_built_in_tool_can_neither_be_hidden_nor_renamed(perturb: str, hidden: bool) -> None:
    own: Any = SimpleNamespace(built_in={"a"})
    asked = (Turn(messages=({"role": "user", "content": "q"},)),)
    scenario = Scenario(id="s", group="perfect", turns=asked, tools=("a", "b"), perturbations=(perturb,))
    assert can_hide_missing(scenario, own) is hidden
