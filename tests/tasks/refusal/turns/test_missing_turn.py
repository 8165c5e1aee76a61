"""The turn that lacks a function or a value: its label, on turns that were labelled by hand, and what else is read from it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from talm_sim.judges.base import JudgeContext
from talm_sim.tasks.refusal.bfcl import load_bfcl
from talm_sim.tasks.refusal.bfcl.turn_rows import LACKS_FUNCTION, LACKS_VALUE, find_missing_turn
from talm_sim.tasks.refusal.turns.missing_table import missing_values
from talm_sim.tasks.refusal.turns.missing_turn import (
    MissingLabel,
    MissingTurn,
    MissingTurnJudge,
    read_missing_turn,
    read_said,
)
from talm_sim.types import Episode, GoldCall, ModelTurn, Scenario, Termination, ToolCall, ToolEvent, Turn, UnparsableCall, Verdict
from tests.tables import labelled

LABELLED = Path(__file__).parent / "missing"
TOOLS = ("ls", "cat", "find", "cd", "touch", "mv", "cp", "rm", "sort")
LEAST = 0.95
MOVE = GoldCall(name="mv", arguments={"source": "a.txt", "destination": "archive"})
SORT = GoldCall(name="sort", arguments={"file_name": "final_report.pdf"})


def said(text: str) -> tuple[dict[str, Any], ...]:
    return ({"role": "user", "content": text},)


def row(kind: str) -> Scenario:
    """A row whose second turn lacks the function `sort`, or the destination of a.txt; the third brings it."""
    first = Turn(messages=said("Make a.txt."), gold_calls=(GoldCall(name="touch", arguments={"file_name": "a.txt"}),))
    turns = {
        "func": (
            first,
            Turn(messages=said("Sort final_report.pdf.")),
            Turn(messages=said("You can use more functions now."), gold_calls=(SORT,), tools_added=("sort",)),
        ),
        "param": (first, Turn(messages=said("Move a.txt.")), Turn(messages=said("To the folder archive."), gold_calls=(MOVE,)), first),
    }
    return Scenario(
        id=kind, task="refusal", group=f"multi_turn_miss_{kind}", turns=turns[kind], tools=TOOLS, target={"type": "bfcl_turns", "gold": []}
    )


def episode(kind: str, calls: list[str], text: str, then: tuple[GoldCall, ...] = (), end: Termination = Termination.ANSWERED) -> Episode:
    """One that makes a right call in the first turn; then some, of which those with an asterisk change the state; then ends with a text."""
    plan = [(0, "touch*"), *((1, name) for name in calls)]
    turns, events = [], []
    for place, (number, name) in enumerate(plan):
        call = ToolCall(id=str(place), name=name.rstrip("*"))
        turns.append(ModelTurn(tool_calls=(call,), user_turn=number))
        events.append(
            ToolEvent(
                turn=place, call_id=call.id, name=call.name, ok=True, state_before="old", state_after="new" if name.endswith("*") else "old"
            )
        )
    later = tuple(ToolCall(id=one.name, name=one.name, arguments=dict(one.arguments)) for one in then)
    turns += [ModelTurn(raw_text=text, text=text, user_turn=1), ModelTurn(tool_calls=later, text="Done.", user_turn=2)]
    group = f"multi_turn_miss_{kind}"
    return Episode(id=kind, scenario_id=kind, group=group, model="m", model_turns=turns, events=events, termination=end)


def read(kind: str, calls: list[str], text: str, then: tuple[GoldCall, ...] = ()) -> MissingTurn:
    found = read_missing_turn(episode(kind, calls, text, then), row(kind))
    assert found is not None
    return found


def by_hand() -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(LABELLED.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]


def test_labels_are_those_given_by_hand() -> None:
    turns = by_hand()
    counts = Counter((one["label"], read(one["row"], one["calls"], one["text"]).label.value) for one in turns)
    names = [one.value for one in MissingLabel]
    lines = [f"{'by hand':>15} {' '.join(f'{name:>14}' for name in names)}"]
    lines += [f"{gold:>15} {' '.join(f'{counts[gold, name]:>14}' for name in names)}" for gold in names]
    matrix = "\n".join(lines)
    sys.stdout.write(f"\n{matrix}\n")
    wrong = [one for one in turns if read(one["row"], one["calls"], one["text"]).label != one["label"]]
    for gold in names:
        n = sum(counts[gold, name] for name in names)
        assert n >= 40 and counts[gold, gold] >= LEAST * n, f"{matrix}\n{json.dumps(wrong, indent=1, ensure_ascii=False)}"


@labelled
def test_what_is_right_depends_on_what_is_missing(kind: str, calls: list[str], text: str, right: bool | None) -> None:
    assert read(kind, calls, text).right is right


@labelled
def test_a_right_answer_may_name_what_is_missing(kind: str, text: str, named: bool | None) -> None:
    assert read(kind, [], text).named is named


def test_the_name_is_not_known_if_the_next_message_brings_no_value_of_its_calls() -> None:
    made = row("param")
    vague = made.model_copy(update={"turns": (*made.turns[:2], made.turns[2].model_copy(update={"messages": said("The usual place.")}))})
    found = read_missing_turn(episode("param", [], "What is the destination?"), vague)
    assert found is not None and (found.right, found.named) == (True, None)
    known = made.model_copy(update={"turns": (made.turns[0], Turn(messages=said("Move a.txt to archive, or so.")), *made.turns[2:])})
    found = read_missing_turn(episode("param", [], "What is the destination?"), known)
    assert found is not None and found.named is None


def test_a_broken_call_of_a_hidden_function_counts_and_a_question_to_a_person_does_not() -> None:
    run = episode("func", [], "Which order?")
    broken = ModelTurn(unparsable_calls=(UnparsableCall(id="x", name="sort", raw="{", reason="cut off"),), user_turn=1)
    asking = ModelTurn(tool_calls=(ToolCall(id="y", name="ask_human"),), user_turn=1)
    labels = []
    for first in (broken, asking):
        turns = (*run.model_turns[:1], first, *run.model_turns[1:])
        found = read_missing_turn(run.model_copy(update={"model_turns": turns}), row("func"))
        labels.append(found and found.label)
    assert labels == [MissingLabel.NOT_SHOWN, MissingLabel.ASKED]


async def test_the_judge_says_why_it_does_not_apply() -> None:
    judge = MissingTurnJudge(JudgeContext())
    whole = episode("func", ["ls"], "I have no function that sorts.")
    early = whole.model_copy(update={"model_turns": whole.model_turns[:1], "events": (), "termination": Termination.TURN_LIMIT})
    broken = whole.model_copy(update={"termination": Termination.INFRASTRUCTURE_ERROR})
    base = row("func").model_copy(update={"group": "multi_turn_base"})
    verdicts: list[Verdict] = [
        await judge(one, made) for one, made in [(whole, row("func")), *((x, row("func")) for x in (early, broken)), (whole, base)]
    ]
    assert [(one.value, one.label) for one in verdicts] == [(True, "said_it_cannot"), (None, ""), (None, ""), (None, "")]
    assert verdicts[0].explanation == "request 2: said it cannot, after calls that changed nothing"
    assert "before the turn" in verdicts[1].explanation and "infrastructure_error" in verdicts[2].explanation
    assert missing_values(early, row("func"), verdicts[1], passed=False) == ({}, "")


def test_a_wrong_turn_is_counted_beside_what_the_official_check_says() -> None:
    run, made = episode("func", ["sort"], "Sorted."), row("func")
    wrong = Verdict(episode_id="func", judge="missing-turn", value=False, label="not_shown")
    assert missing_values(run, made, wrong, passed=True)[0] == {
        "missing_turn": False,
        "missing_looked": False,
        "missing_done": True,
        "missing_passed": True,
    }
    assert missing_values(run, made, wrong, passed=None)[0] == {"missing_turn": False, "missing_looked": False, "missing_done": False}
    neither = wrong.model_copy(update={"value": None, "label": "acted_in_part"})
    assert missing_values(run, made, neither, passed=True)[0] == {"missing_looked": False, "missing_done": True}


def played(made: Scenario, invented: int) -> Episode:
    """The right calls of each turn; in the one that lacks something, calls of functions that do not exist."""
    turns = []
    for number, turn in enumerate(made.turns):
        calls = [(one.name, dict(one.arguments)) for one in turn.gold_calls]
        if number == find_missing_turn(made):
            assert not calls
            calls = [(f"no_such_function_{place}", {}) for place in range(invented)]
        found = tuple(ToolCall(id=f"{number}-{place}", name=name, arguments=given) for place, (name, given) in enumerate(calls))
        turns += [ModelTurn(tool_calls=found, user_turn=number)] if calls else []
        turns.append(ModelTurn(text="What do you mean?", raw_text="What do you mean?", user_turn=number))
    return Episode(id=made.id, scenario_id=made.id, group=made.group, model="m", model_turns=turns, termination=Termination.ANSWERED)


def test_calls_of_functions_that_do_not_exist_are_found_in_all_rows(bfcl_v4: Path) -> None:
    rows = load_bfcl(bfcl_v4, (LACKS_FUNCTION, LACKS_VALUE)).scenarios
    for invented, label in ((0, MissingLabel.ASKED), (3, MissingLabel.NOT_SHOWN)):
        found = [read_missing_turn(played(one, invented), one) for one in rows]
        assert [one and one.label for one in found] == [label] * 400
        assert all(one is not None and one.done for one in found)
        known = [
            one for one, made in zip(found, rows, strict=True) if made.group.endswith("param") and one is not None and one.named is not None
        ]
        assert len(known) == (0 if invented else 125)


@given(st.text(max_size=300))
def test_any_text_says_one_of_three_things(text: str) -> None:
    assert read_said(text) in {MissingLabel.ASKED, MissingLabel.SAID_IT_CANNOT, MissingLabel.OTHER_TEXT}


@labelled
def test_offers_assumptions_and_what_was_overcome(text: str, said: str) -> None:
    assert read_said(text) == said
