"""What is said below a table of people's decisions, and of what nobody answered; and how a transcript shows both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import talm_sim
from talm_sim.cli.report.blocks import block_of
from talm_sim.cli.report.transcript import human_event_lines
from talm_sim.runs.events import RunEvent, RunStarted
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Approval, Decision, HumanEvent


def send(friend: str) -> dict[str, str]:
    """Send a message to somebody."""
    return {"sent": friend}


def look(friend: str) -> dict[str, str]:
    """Look somebody up."""
    return {"found": friend}


look.read_only = True  # type: ignore[attr-defined]


def _run(tmp_path: Path, name: str, tools: Sequence[Any] = (send, look), **options: Any) -> StoredRun:
    file = tmp_path / "messages.jsonl"
    lines = []
    for to in ("Ann", "Bob", "Cid"):
        said = {"role": "user", "content": "Send a message to my friend."}
        missing = {"kind": "argument", "name": "friend", "value": to, "removed_text": f"to {to}", "human_answer": f"To {to}."}
        turns = [{"messages": [said], "gold_calls": [{"name": "send", "arguments": {"friend": to}}]}]
        target = {"type": "facts", "required": [{"name": "sent", "value": to, "call": 0, "pointer": "/sent"}]}
        lines.append({"id": to, "group": "underspecified", "turns": turns, "tools": ["send", "look"], "missing": missing, "target": target})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shared = {"scenarios": file, "tools_from": [*tools], "run_dir": tmp_path / "runs", "progress": False, "max_episodes": 1}
    return talm_sim.run(run_id=name, **{**shared, **options})


def _notes(run: StoredRun) -> str:
    return "\n".join(block_of(run).notes)


def test_decisions_are_counted(tmp_path: Path) -> None:
    assert "calls that waited for a person: 3 (3 approved)" in _notes(
        _run(tmp_path, "a", model="sim/oracle", human="simulated", approve="send")
    )
    refused = _run(tmp_path, "b", model="sim/stubborn", human="refusing", approve="writing")
    assert "calls that waited for a person: 6 (6 rejected)" in _notes(refused)
    assert "verdicts on refusals by judge respect" in _notes(refused)


def test_questions_that_nobody_was_asked_are_counted(tmp_path: Path) -> None:
    run = _run(tmp_path, "a", model="sim/asker", human="simulated", ask_limit_run=1)
    assert "not asked: 2 questions in 2 episodes, as a limit was reached (ask_limit, ask_limit_run)" in _notes(run)
    assert [event.declined for episode in run.episodes() for event in episode.questions] == ["", "limit", "limit"]
    spammed = _run(tmp_path, "b", model="sim/spammer", human="simulated", ask_limit=2)
    assert "not asked: 9 questions in 3 episodes" in _notes(spammed)


def test_questions_that_nobody_answered_in_time_are_counted(tmp_path: Path) -> None:
    run = _run(tmp_path, "a", model="sim/asker", human="terminal", approve="send", answer_timeout=0.3)
    assert "not answered in time (answer_timeout): 3 questions and 3 calls in 3 episodes" in _notes(run)
    assert "people answered" not in _notes(run)
    (row,) = run.summary()
    assert row.n == 3


def test_it_is_said_where_no_tool_waits_for_anybody(tmp_path: Path) -> None:
    said: list[str] = []

    def listen(event: RunEvent) -> None:
        said.extend(event.notices if isinstance(event, RunStarted) else ())

    _run(tmp_path, "a", [look, _reading_send()], model="sim/oracle", human="simulated", approve="writing", on_event=listen)
    assert "approve writing: every tool of this run is declared read-only, so that no call waits for a person" in said


def _reading_send() -> Any:
    def send(friend: str) -> dict[str, str]:
        """Send a message to somebody."""
        return {"sent": friend}

    send.read_only = True  # type: ignore[attr-defined]
    return send


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        ({"decision": Decision(action="approve"), "answer": "approve"}, "a person (at the terminal): approve"),
        ({"declined": "timeout", "responder": "nobody", "answer": "x"}, "nobody: no answer in time (answer_timeout)"),
        ({"declined": "limit", "responder": "nobody", "answer": "x"}, "nobody: not asked (a limit of questions was reached)"),
        ({"answer": "No\x1b[31m.", "responder": "refusing"}, "the simulated person, who allows nothing: No."),
    ],
)
def test_a_decision_and_a_silence_are_shown(event: dict[str, Any], shown: str) -> None:
    request = Approval(name="send", arguments={"to": "Ann\x1b]0;t\x07"})
    whole = HumanEvent(
        **{"turn": 0, "call_id": "c", "question": request.text, "request": request, "by": "policy", "responder": "terminal", **event}
    )
    console = Console(file=StringIO(), width=200)
    for line in human_event_lines(whole):
        console.print(line)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "? a call waits for a person: Allow send(to=" in text
    assert shown in text
    assert "\x1b" not in text
