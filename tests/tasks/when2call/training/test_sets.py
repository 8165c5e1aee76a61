from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.when2call.published import read_rows
from talm_sim.tasks.when2call.training.lessons import published_row
from talm_sim.tasks.when2call.training.sets import build_set, draw_sample
from talm_sim.training.lessons.training_examples import Kind, TrainingSet
from talm_sim.types import Behaviour, Choice, JsonObject, Scenario
from tests.tables import labelled
from tests.tasks.when2call.choices import CALL, OTHER, TOOL, mixture, scenario


def _read(made: TrainingSet) -> list[JsonObject]:
    return [published_row(one) for one in made.examples]


def _calls(content: str) -> list[dict[str, Any]] | None:
    mark, end = "<TOOLCALL>", "</TOOLCALL>"
    return json.loads(content[len(mark) : -len(end)]) if content.startswith(mark) else None


def test_sft_rows_hold_the_right_answer() -> None:
    scenarios = mixture()
    known = {json.dumps([one.query, list(one.shown_tools)]): one for one in scenarios if one.group != "request_for_info"}
    made = build_set(scenarios, "sft")
    assert made.counts() == {"right": dict.fromkeys(("tool_call", "request_for_info", "cannot_answer"), 6)}
    calling = 0
    for row in _read(made):
        assert [message["role"] for message in row["messages"]] == ["user", "assistant"]
        answer = row["messages"][1]["content"]
        if calls := _calls(answer):
            calling += 1
            one = known[json.dumps([row["messages"][0]["content"], row["tools"]])]
            assert isinstance(one.target, Choice)
            assert calls == [json.loads(one.target.text_of(Behaviour.TOOL_CALL) or "")]
        else:
            assert answer in ("For how many people?", "I have no way to book tables.")
    assert calling == 6


def test_a_preference_set_has_two_equal_halves_and_every_rejected_response_is_wrong() -> None:
    made = build_set(mixture(8), "preference", seed=3)
    assert [bool(one.fault) for one in made.examples].count(True) == len(made.examples) // 2 == 24
    assert len({one.id for one in made.examples}) == 48
    damaged = 0
    for row in _read(made):
        right, wrong = (_calls(row[f"{side}_response"]["content"]) for side in ("chosen", "rejected"))
        assert row["chosen_response"] != row["rejected_response"]
        if right and wrong:
            damaged += 1
            assert right[0]["name"] == wrong[0]["name"]
            gone = right[0]["arguments"].keys() - wrong[0]["arguments"].keys()
            changed = [name for name, value in wrong[0]["arguments"].items() if value != right[0]["arguments"][name]]
            assert (len(gone), len(changed)) in ((1, 0), (0, 1))
            assert gone <= {"place", "guests"}
            assert set(changed) <= {"place", "guests"}, "nobody asked for the terrace"
    assert damaged == 24
    assert sum(made.counts()["rejected"].values()) == 48


def test_wrong_behaviours_are_drawn_uniformly() -> None:
    rejected = build_set(mixture(150), "preference", seed=5).counts()["rejected"]
    assert rejected["direct"] == pytest.approx(150, abs=35)
    for behaviour in ("tool_call", "request_for_info", "cannot_answer"):
        assert rejected[behaviour] == pytest.approx(100, abs=30)


def _right_of_wrong_behaviour(made: TrainingSet) -> dict[str, int]:
    return dict(Counter(one.action for one in made.examples if not one.fault))


def test_the_papers_balance() -> None:
    scenarios = mixture(21)[:-5]  # 21, 21 and 16
    sft = build_set(scenarios, "sft", balance="paper")
    assert sft.counts()["right"] == {"tool_call": 16, "request_for_info": 16, "cannot_answer": 16}
    assert len(sft.left_out["not drawn, to keep the balance"]) == 10
    preference = build_set(scenarios, "preference", balance="paper")
    assert _right_of_wrong_behaviour(preference) == {"tool_call": 21, "request_for_info": 14, "cannot_answer": 14}
    assert preference.counts()["right"] == {"tool_call": 21 + 49, "request_for_info": 14, "cannot_answer": 14}


def test_equal_seeds_give_equal_rows_and_other_seeds_others() -> None:
    scenarios = mixture()
    kinds: tuple[Kind, ...] = ("sft", "preference")
    for kind in kinds:
        made = [build_set(scenarios, kind, seed=seed).examples for seed in (1, 1, 2)]
        assert made[0] == made[1] != made[2]


def test_several_calls_stay_together_and_one_of_them_may_be_dropped() -> None:
    calls = [CALL, {"name": "show_map", "arguments": {}}]
    one = scenario(call=calls, tools=[json.dumps(TOOL), json.dumps(OTHER)])
    (row,) = _read(build_set([one], "sft"))
    assert _calls(row["messages"][-1]["content"]) == calls
    dropped = [made.counts()["rejected"].get("call dropped", 0) for made in (build_set([one], "preference", seed=seed) for seed in range(12))]
    assert 0 < sum(dropped) < 12


@pytest.mark.parametrize(
    ("kind", "bad", "why"),
    [
        ("sft", scenario("x", "direct"), "a direct answer is right here"),
        ("sft", scenario("x", call="book it"), "its tool call is not JSON"),
        ("preference", scenario("x", "cannot_answer", call="book it"), "its tool call is not JSON"),
        ("sft", scenario("x", call=CALL | {"name": "order"}), "its right tool call is of a tool that is not shown"),
        ("preference", scenario("x", call={"name": "book_table", "arguments": {"place": "Luna"}}), "its right tool call lacks a required"),
        ("sft", scenario("x").model_copy(update={"turns": scenario().turns * 2}), "more than one turn"),
    ],
)
def test_what_cannot_be_taught_is_left_out_and_named(kind: Any, bad: Scenario, why: str) -> None:
    made = build_set([*mixture(), bad], kind)
    assert [ids for reason, ids in made.left_out.items() if reason.startswith(why)] == [["x"]]
    with pytest.raises(PrerequisiteError, match=rf"^no row can be made from 1 scenarios \(1: {why}"):
        build_set([bad], kind)


def test_an_answer_equal_to_the_right_one_is_never_rejected() -> None:
    same = {kind.value: "I cannot." for kind in Behaviour} | {"tool_call": json.dumps(CALL), "direct": "Done."}
    twins = [scenario(f"t-{number}", "cannot_answer", answers=same) for number in range(20)]
    made = build_set([*mixture(20), *twins], "preference", seed=1)
    for row in map(published_row, made.examples):
        assert row["chosen_response"] != row["rejected_response"]


def test_two_tool_calls_to_one_of_the_rest() -> None:
    made = build_set(mixture(12), "sft", balance="calls")
    assert made.counts() == {"right": {"tool_call": 12, "request_for_info": 3, "cannot_answer": 3}}
    half = _right_of_wrong_behaviour(build_set(mixture(12), "preference", balance="calls"))
    assert half["tool_call"] == 2 * (half["request_for_info"] + half["cannot_answer"]) > 0
    with pytest.raises(PrerequisiteError, match="--balance calls: needs at least 4 to 1 to 1 scenarios"):
        build_set(mixture(3), "sft", balance="calls")


def test_what_cannot_be_balanced_is_refused() -> None:
    with pytest.raises(
        PrerequisiteError, match="0 tool calls of 6 scenarios can be damaged, which is too few: they make up half of a preference set"
    ):
        build_set([one for one in mixture() if one.group == "cannot_answer"], "preference")
    with pytest.raises(PrerequisiteError, match="--balance paper: no scenario whose right answer is cannot_answer"):
        build_set([one for one in mixture() if one.group != "cannot_answer"], "sft", balance="paper")
    with pytest.raises(
        PrerequisiteError, match="--balance paper: needs at least 3 to 2 to 2 scenarios of tool_call, request_for_info, cannot_answer"
    ):
        build_set(mixture(2), "preference", balance="paper")
    with pytest.raises(PrerequisiteError, match="scenario 'u-1': has no options to choose from"):
        build_set([scenario().model_copy(update={"target": None})], "sft")
    with pytest.raises(PrerequisiteError, match="no row can be made from 0 scenarios"):
        build_set([], "sft")


@pytest.mark.bench_data
def test_the_published_rows_give_both_sets(bench_data: Path) -> None:
    scenarios = read_rows(bench_data / "when2call" / "when2call_sample.jsonl")
    sft = build_set(scenarios, "sft", balance="paper")
    assert sft.counts()["right"] == {"tool_call": 49, "request_for_info": 49, "cannot_answer": 49}
    assert sft.left_out["its right tool call lacks a required parameter"] == ["13e29536-77a7-4c0b-9558-1ab14bc445b5"]
    preference = build_set(scenarios, "preference", balance="paper")
    assert _right_of_wrong_behaviour(preference) == {"tool_call": 48, "request_for_info": 32, "cannot_answer": 32}
    assert len(preference.examples) == 224


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


@labelled
def test_what_cannot_be_drawn_is_refused(number: int, by: str, said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        draw_sample(mixture(2), number, by, 0)
