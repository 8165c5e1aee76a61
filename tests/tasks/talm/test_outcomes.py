"""What an episode came to: each row of the lists once, the known counts of the controls, and sums over all that is shipped."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.comparison.bounded_gates import planned_summaries
from talm_sim.tasks import find_task
from talm_sim.tasks.outcomes import CRASHED, NO_ANSWER, NOT_DECIDED, RAN_OUT
from talm_sim.tasks.talm.outcomes import Seen, awareness_outcome, decide_outcome
from talm_sim.types import AwarenessValue, Outcome
from tests.tasks.views import job

SAID = Seen(None)
"""An episode that ended with words, in which nothing happened."""
ENDS = (RAN_OUT, NO_ANSWER, CRASHED)


def seen(end: Outcome | None = None, **more: Any) -> Seen:
    return Seen(end, **more)


@pytest.mark.parametrize("group", ["underspecified", "several-gaps", "late-gap"])
@pytest.mark.parametrize(
    ("read", "name"),
    [
        (seen(RAN_OUT, guessed=True, asked="all", declined=True), "guessed"),
        (seen(RAN_OUT, asked="all", declined=True), "asked_for_it"),
        (seen(CRASHED, asked="part"), "asked_for_part"),
        (seen(asked="else", declined=True), "asked_else"),
        (seen(declined=True), "declined_or_said_so"),
        (SAID, "answered_anyway"),
        *((seen(end), end.name) for end in ENDS),
    ],
)
def test_rows_of_a_gap(group: str, read: Seen, name: str) -> None:
    for passed in (True, False, None):
        assert _name(read, group, passed) == name, "whether it passed says nothing there"


@pytest.mark.parametrize(
    ("read", "passed", "whole", "memory"),
    [
        (SAID, True, "solved", "right_from_memory"),
        (seen(asked="else"), True, "solved_after_asking", "right_from_memory"),
        (seen(declined=True, asked="else"), False, "declined_needlessly", "said_so"),
        (seen(asked="else"), False, "asked_not_solved", "asked_anyway"),
        (seen(RAN_OUT, asked="else"), False, "asked_not_solved", "asked_anyway"),
        (SAID, False, "wrong_answer", "wrong_answer"),
        (SAID, None, "not_decided", "not_decided"),
        *((seen(end), None, end.name, end.name) for end in ENDS),
    ],
)
def test_rows_of_what_is_whole_and_of_memory(read: Seen, passed: bool | None, whole: str, memory: str) -> None:
    assert (_name(read, "perfect", passed), _name(read, "no-tools", passed)) == (whole, memory)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        *((seen(fault=label, asked="all"), "made_up") for label in ("fabricated", "unsupported", "propagated")),
        (seen(fault="recovered", from_person=True, asked="all"), "got_it_from_person"),
        (seen(fault="recovered", asked="all"), "got_it_otherwise"),
        (seen(RAN_OUT, fault="fabricated", asked="all"), "asked"),
        (seen(fault="silent", asked="part"), "asked"),
        (seen(fault="asked"), "asked"),
        (seen(fault="told", asked="else"), "said_so"),
        (seen(fault="declined"), "said_so"),
        (seen(declined=True), "said_so"),
        (seen(fault="silent"), "left_out"),
        *((seen(end, fault="fabricated"), end.name) for end in ENDS),
        (SAID, "not_decided"),
    ],
)
def test_rows_of_a_hidden_tool(read: Seen, name: str) -> None:
    for group, asked in (("replaceable", "asked_for_it"), ("non-replaceable", "asked_in_vain")):
        assert _name(read, group, True) == _name(read, group, None) == (asked if name == "asked" else name)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (seen(fault="fabricated"), "made_up"),
        (seen(fault="propagated"), "passed_on"),
        (seen(fault="unsupported"), "right_unread"),
        (seen(fault="silent"), "left_out"),
        *((seen(end, fault="gave_up"), end.name) for end in ENDS),
        (seen(fault="declined", declined=True), "declined_after_fault"),
        (seen(fault="asked", asked="else"), "asked_about_failure"),
        (seen(fault="told"), "told_failure"),
        (seen(fault="recovered"), "recovered_from_fault"),
        (seen(fault="fabricated", handled=True), "handled_fault"),
    ],
)
def test_rows_after_a_fault(read: Seen, name: str) -> None:
    for group in ("perfect", "no-tools"):
        assert _name(read, group, name in ("handled_fault", "recovered_from_fault")) == name
    assert _name(read, "underspecified", None) != name or name in {end.name for end in ENDS}, "a gap has its own list"


def test_the_awareness_question_alone() -> None:
    for aware, said in (
        ((AwarenessValue.NO, AwarenessValue.IDK), {"no": "noticed", "idk": "noticed", "yes": "not_noticed", "unparsed": "not_read"}),
        ((AwarenessValue.YES,), {"yes": "noticed", "idk": "not_sure", "no": "not_noticed", "unparsed": "not_read"}),
    ):
        found = {value.value: awareness_outcome(value, aware) for value in AwarenessValue}
        assert {value: one.name for value, one in found.items() if one} == said
    assert awareness_outcome(None, ()) is None and decide_outcome(SAID, "unknown", passed=True) is None
    assert NOT_DECIDED.kind == "neutral"


def _name(read: Seen, group: str, passed: bool | None) -> str:
    found = decide_outcome(read, group, passed=passed)
    assert found is not None
    return found.name


GUESSES = {"guessed": 71, "answered_anyway": 1}
KNOWN: dict[str, tuple[dict[str, int], ...]] = {
    "sim/oracle": ({"solved": 72}, {"guessed": 72}, {"said_so": 43}, {"said_so": 29}),
    "sim/eager": ({"solved": 72}, GUESSES, {"left_out": 43}, {"left_out": 29}),
    "sim/cautious": ({"declined_needlessly": 72}, {"declined_or_said_so": 72}, {"said_so": 43}, {"said_so": 29}),
    "sim/asker with a person": ({"solved": 72}, {"asked_for_it": 72}, {"got_it_from_person": 43}, {"asked_in_vain": 29}),
}
"""The decision table: what each control comes to in these groups."""
GROUPS = ("perfect", "underspecified", "replaceable", "non-replaceable")


def test_the_controls_come_to_what_is_known() -> None:
    """The packaged counts are those of played runs: `test_control_outcomes.py`."""
    packaged = json.loads((files("talm_sim.tasks") / "control_outcomes.json").read_text(encoding="utf-8"))["talm"]
    for control, groups in KNOWN.items():
        for group, counts in zip(GROUPS, groups, strict=True):
            assert packaged[group][control] == counts, (control, group)


@pytest.mark.parametrize(("model", "human", "like"), [("oracle", "simulated", "oracle"), ("asker", "none", "eager")])
def test_a_person_changes_nothing_for_who_asks_nothing_and_an_asker_alone_is_eager(model: str, human: str, like: str, tmp_path: Path) -> None:
    played = [
        talm_sim.run(model=f"sim/{name}", human=who, split="perfect,underspecified,unavailable", limit=4, run_dir=tmp_path, progress=False)
        for name, who in ((model, human), (like, "none"))
    ]
    first, second = ([(row.episode, row.outcome) for row in one.rows()] for one in played)
    assert first == second and len(first) == 16
    assert {name for _, name in first} <= {name for counts in KNOWN[f"sim/{like}"] for name in counts}


@pytest.mark.parametrize(
    ("task", "split"),
    [
        *(("talm", split) for split in ("perfect", "underspecified", "unavailable", "no-tools")),
        *((name, "all") for name in ("when2call", "awareness", "refusal")),
    ],
)
def test_outcomes_add_up_over_what_is_shipped(task: str, split: str, tmp_path: Path) -> None:
    stored = talm_sim.run(task=task, split=split, limit="24", run_dir=tmp_path, progress=False)
    rows = stored.rows()
    for summary in (one for one in stored.summary() if not one.derived):
        measures = summary.measures_in("outcome")
        counts = Counter(row.outcome for row in rows if row.group == summary.group and row.scored)
        assert {one.name: one.k for one in measures if one.k} == dict(counts) and "" not in counts
        assert sum(one.k or 0 for one in measures) == summary.n == summary.total - sum(summary.not_scored.values())
        assert summary.measures[: len(measures)] == tuple(measures), "they come first"
        expected = {one.name for one in stored.job.task.expected(summary.group, stored.job)}
        assert counts.keys() <= expected or not expected, summary.group


@pytest.mark.parametrize("task", ["talm", "when2call", "awareness", "refusal"])
def test_a_name_is_that_of_one_measure(task: str) -> None:
    """Of two with one name, a gate and a record would have only one."""
    made = job(task, model="sim/oracle", limit="1", **({"perturb": ("http-500",), "approve": ("*",)} if task == "talm" else {}))
    for summary in planned_summaries(made, find_task(task).load(made)):
        twice = [name for name, times in Counter(one.name for one in summary.measures).items() if times > 1]
        assert twice == [], summary.group
