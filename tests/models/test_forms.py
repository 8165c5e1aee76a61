"""What models write, after public reports: thoughts in any marks, calls in open thoughts and in odd forms, endings of Yes and No."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talm_sim.models.endings import Answer, turn_of
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.awareness.decision import read_decision
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt

_CASES = [json.loads(line) for line in Path(__file__).with_name("forms.jsonl").read_text("utf-8").splitlines()]
_TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


def _said(case: dict[str, Any]) -> str:
    return split_reasoning(case["text"])[0]


def _called(case: dict[str, Any]) -> str:
    field = case.get("field", "content")
    turn = turn_of(
        "m", Answer(text="" if field != "content" else case["text"], reasoning=case["text"] if field != "content" else "", word="stop"), 0
    )
    written = turn.written
    calls = [(call.name, call.arguments) for call in read_calls(split_reasoning(written)[0], [_TOOL]).calls]
    if calls:
        return "call" if calls == [("get_weather", {"city": "Paris"})] and find_attempt(written, [_TOOL]) else f"other call {calls}"
    return "attempt" if find_attempt(written, [_TOOL]) else "none"


_READERS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "thought": ("said", _said),
    "call": ("want", _called),
    "decision": ("said", lambda case: read_decision(case["text"]).said),
}


@pytest.mark.parametrize("kind", sorted(_READERS))
def test_what_models_write_is_read(kind: str) -> None:
    right, read = _READERS[kind]
    misses = [
        (case["from"], case["text"], found, case[right]) for case in _CASES if case["kind"] == kind and (found := read(case)) != case[right]
    ]
    assert not misses, "\n".join(map(repr, misses))
