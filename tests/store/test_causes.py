"""The causes that a quarter of a run's episodes share, each once; of fewer episodes nothing is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from talm_sim.store.causes import find_causes
from talm_sim.types import ModelTurn, PerturbationLog, Row, Termination, ToolCall, ToolEvent, Verdict
from tests.runs.scripted import finished, scenarios
from tests.runs.stored import store

OK = {"events": (ToolEvent(turn=0, call_id="a", name="find", ok=True),)}
FAILED = ToolEvent(turn=0, call_id="a", name="find", arguments={"at": 1}, ok=False, error="http_500")
CALLING = (ModelTurn(tool_calls=(ToolCall(id="a", name="find", arguments={}),)),)
CAUSES: dict[str, tuple[Mapping[str, Any], str, str]] = {
    "never began": ({"termination": Termination.SKIPPED}, "", "never began: they answered No to the question before the start; to see what"),
    "ran out": (
        {"termination": Termination.TURN_LIMIT, "model_turns": CALLING, **OK},
        "ran_out",
        "ended at the limit of turns or tokens, whatever else they came to",
    ),
    "ran out in words": (
        {"termination": Termination.TOKEN_LIMIT, "model_turns": (ModelTurn(text="Done."),), **OK},
        "ran_out",
        "ended at the limit of turns or tokens, whatever else they came to; {n} ended in words without calling Finish: try --finish text",
    ),
    "repeats a refused call": (
        {"termination": Termination.TURN_LIMIT, "model_turns": CALLING, "events": (*OK["events"], FAILED, FAILED)},
        "ran_out",
        "ended at the limit of turns or tokens, whatever else they came to, {n} of them repeating a call that the tool refuses",
    ),
    "all calls failed": ({"events": (FAILED,)}, "wrong_answer", "all calls of tools failed, mostly with http_500"),
    "never called": ({}, "wrong_answer", "no tool was called before the answer"),
    "not decided": (OK, "not_decided", "the judge could not decide"),
}
OF_ANSWERS = {"not decided": ("not_decided", "the judge could not decide"), "not read": ("not_read", "answers could not be read; see what")}


def causes(
    tmp_path: Path, whole: int, number: int, ended: Mapping[str, Any], outcome: str, task: str = "talm", verdicts: Sequence[Verdict] = ()
) -> list[str]:
    """What is said of a run in which `number` episodes of `whole` ended so, and the others solved it."""
    made = scenarios(whole)
    episodes = [finished(one, **(ended if place < number else OK)) for place, one in enumerate(made)]
    stored = store(tmp_path, "r", made, episodes, verdicts, task=task, model="sim/oracle")
    rows = [
        Row(episode=one.id, scenario=one.id, base=one.id, epoch=1, group=one.group, outcome=outcome if place < number else "solved")
        for place, one in enumerate(made)
    ]
    return list(find_causes(stored, rows))


@pytest.mark.parametrize("name", CAUSES)
def test_each_cause_of_a_quarter_of_ten_is_named_and_no_rarer_one(name: str, tmp_path: Path) -> None:
    ended, outcome, words = CAUSES[name]
    rare = 1 if outcome == "not_decided" else 2  # a tenth undecided is said
    for whole, number, said in ((10, 3, True), (12, 3, True), (10, rare, False), (9, 9, False)):
        found = causes(tmp_path / f"{whole}-{number}", whole, number, ended, outcome)
        assert [words.format(n=number) in one and f"{number} " in one for one in found] == ([True] if said else []), found


def test_what_a_note_says_is_no_cause_again(tmp_path: Path) -> None:
    hit = FAILED.model_copy(update={"perturbations": (PerturbationLog(name="http-500", armed=1, fired=1),)})
    assert causes(tmp_path / "a", 10, 10, {"events": (hit,)}, "wrong_answer") == []
    silent = {"termination": Termination.TURN_LIMIT, "answer": "", "model_turns": (ModelTurn(),)}
    assert causes(tmp_path / "b", 10, 10, silent, "no_answer") == [] != causes(tmp_path / "c", 10, 10, silent, "ran_out")
    asked = Verdict(episode_id=scenarios(1)[0].id, judge="llm", value=None, asked=True)
    assert causes(tmp_path / "d", 10, 10, OK, "not_decided", verdicts=[asked]) == []


@pytest.mark.parametrize("name", OF_ANSWERS)
def test_where_one_request_is_answered_only_answers_are_read(name: str, tmp_path: Path) -> None:
    outcome, words = OF_ANSWERS[name]
    (found,) = causes(tmp_path / "a", 10, 3, {}, outcome, task="awareness")
    assert words in found
    assert causes(tmp_path / "b", 10, 10, {}, "not_noticed", task="awareness") == []


def test_the_commonest_comes_first(tmp_path: Path) -> None:
    made = scenarios(10)
    ends = [{"termination": Termination.SKIPPED}] * 3 + [{"termination": Termination.TURN_LIMIT, **OK}] * 4 + [OK] * 3
    stored = store(tmp_path, "r", made, [finished(one, **end) for one, end in zip(made, ends, strict=True)], model="sim/oracle")
    rows = [Row(episode=one.id, scenario=one.id, base=one.id, epoch=1, group=one.group, outcome="x") for one in made]
    assert [" ".join(one.split()[:4]) for one in find_causes(stored, rows)] == ["4 of 10 ended", "3 of 10 never"]
