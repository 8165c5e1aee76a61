"""The turn that lacks a function or a value: its label, on turns that were labelled by hand, and what else is read from it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from talm_sim.judges.base import JudgeContext
from talm_sim.tasks.refusal.turns.missing import MissingLabel, MissingTurn, MissingTurnJudge, find_missing_turn, read_missing_turn
from talm_sim.types import Episode, GoldCall, ModelTurn, Scenario, Termination, ToolCall, ToolEvent, Turn, UnparsableCall

LABELLED = Path(__file__).parent / "missing"
TOOLS = ("ls", "cat", "find", "cd", "touch", "mv", "cp", "rm", "sort")
LEAST = 0.95
MOVE = GoldCall(tool="mv", arguments={"source": "a.txt", "destination": "archive"})
SORT = GoldCall(tool="sort", arguments={"file_name": "final_report.pdf"})


def said(text: str) -> tuple[dict[str, Any], ...]:
    return ({"role": "user", "content": text},)


def row(kind: str) -> Scenario:
    """A row whose second turn lacks the function `sort`, or the destination of a.txt; the third brings it."""
    first = Turn(messages=said("Make a.txt."), gold_calls=(GoldCall(tool="touch", arguments={"file_name": "a.txt"}),))
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
    later = tuple(ToolCall(id=one.tool, name=one.tool, arguments=dict(one.arguments)) for one in then)
    turns += [ModelTurn(raw_text=text, text=text, user_turn=1), ModelTurn(tool_calls=later, text="Done.", user_turn=2)]
    return Episode(
        id=kind, scenario_id=kind, group=f"multi_turn_miss_{kind}", model="m", model_turns=turns, events=events, termination=end
    )  # fmt: skip


def read(kind: str, calls: list[str], text: str, then: tuple[GoldCall, ...] = ()) -> MissingTurn:
    found = read_missing_turn(episode(kind, calls, text, then), row(kind))
    assert found is not None
    return found


def labelled() -> list[dict[str, Any]]:
    files = [LABELLED / name for name in ("before.jsonl", "after.jsonl", "last.jsonl")]
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_labels_are_those_given_by_hand() -> None:
    turns = labelled()
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
