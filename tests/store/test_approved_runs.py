"""Runs whose calls wait for a person: recorded, replayed offline, answered from the queue, and what becomes of a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.store.desk import Desk, answer
from talm_sim.store.questions import open_questions
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Decision
from tests.models.stand_in import serving

IBAN = "DE89370400440532013000"


class Bank:
    """A bank of which each episode has its own."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, float]] = []

    def transfer(self, iban: str, amount: float) -> dict[str, object]:
        """Transfer an amount in EUR to an account."""
        self.sent.append((iban, amount))
        return {"reference": f"T-{len(self.sent):04}", "iban": iban, "amount": amount}

    def get_balance(self, currency: str) -> dict[str, float]:
        """Get the balance."""
        return {"balance": 1000.0 - sum(amount for _, amount in self.sent)}

    get_balance.read_only = True  # type: ignore[attr-defined]


def _scenario(name: str, amount: int) -> dict[str, Any]:
    said = {"role": "user", "content": f"To {IBAN} send {amount} EUR. What is the reference?"}
    call = {"name": "transfer", "arguments": {"iban": IBAN, "amount": amount}}
    fact = {"name": "reference", "value": "T-0001", "call": 0, "pointer": "/reference"}
    target = {"type": "facts", "required": [fact]}
    turns = [{"messages": [said], "gold_calls": [call]}]
    return {"id": name, "task": "talm", "group": "perfect", "turns": turns, "tools": ["transfer", "get_balance"], "target": target}


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(json.dumps(_scenario(name, amount)) + "\n" for name, amount in (("rent", 250), ("gift", 40))), encoding="utf-8")
    shared = {"tools_from": [Bank], "scenarios": file, "run_dir": tmp_path / "runs", "progress": False, "max_retries": 0}
    return {**shared, "approve": "writing", "cassettes": tmp_path / "cassettes", "max_episodes": 1}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving("guesses") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-nobody")
        yield "openai/stand-in"


def _figures(run: StoredRun) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.record().items() if key not in ("run", "elapsed_s")} for one in run.summary()]


def _happened(run: StoredRun) -> list[Any]:
    found = []
    for episode in run.episodes():
        asked = [(event.question, event.answer, event.decision, event.declined, event.by) for event in episode.human_events]
        found.append((episode.id, asked, [(event.name, event.arguments, event.result) for event in episode.tool_events], episode.answer))
    return found


def _values(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out who answered and how the tools were reached."""
    return [{key: value for key, value in one.items() if key not in ("human", "tools", "waited_seconds", "waited_answers")} for one in figures]


def test_decisions_from_the_queue_are_replayed_offline_with_equal_metrics(options: dict[str, Any], model: str, monkeypatch: Any) -> None:
    waiting = talm_sim.run(model=model, human="terminal", models="record", tools="record", run_id="queue", wait=False, **options)
    desk = Desk(waiting.path)
    first, second = open_questions(desk.reading)
    desk.close()
    answer(waiting.path, first.key, decision=Decision(action="reject", message="Not now."), name="Ann")
    answer(waiting.path, second.key, decision=Decision(action="edit", arguments={"iban": IBAN, "amount": 40}), name="Ann")
    done = talm_sim.resume(waiting.path, tools_from=[Bank], wait=False)
    assert [(event.name, event.decision and event.decision.action) for one in done.episodes() for event in one.human_events] == [
        ("Ann", "reject"),
        ("Ann", "edit"),
    ]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    again = talm_sim.run(model=model, models="replay", tools="replay", run_id="again", **options)
    assert again.job.options.human == "recorded"
    assert _happened(again) == _happened(done)
    assert _values(_figures(again)) == _values(_figures(done))


def test_questions_that_were_cut_off_are_replayed_as_such(options: dict[str, Any], monkeypatch: Any) -> None:
    with serving("asks") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-nobody")
        how: dict[str, Any] = {"model": "openai/stand-in", "models": "record", "tools": "record"}
        live = talm_sim.run(human="simulated", ask_limit_run=1, run_id="live", **how, **options)
    cut = [event.declined for episode in live.episodes() for event in episode.questions]
    assert cut == ["idk", "limit"]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    again = talm_sim.run(human="recorded", run_id="again", **{**how, "models": "replay", "tools": "replay"}, **options)
    assert _happened(again) == _happened(live)
    assert _values(_figures(again)) == _values(_figures(live))
    with pytest.raises(PrerequisiteError, match="the recording says which questions were answered"):
        talm_sim.run(human="recorded", ask_limit_run=1, **{**how, "models": "replay", "tools": "replay"}, **options)


def test_a_recording_with_other_approvals_is_another_one(options: dict[str, Any], model: str) -> None:
    talm_sim.run(model=model, human="simulated", models="record", tools="record", run_id="live", **options)
    with pytest.raises(PrerequisiteError, match="approve"):
        talm_sim.run(model=model, human="simulated", models="replay", tools="replay", **{**options, "approve": "get_balance"})


@pytest.mark.parametrize(("control", "respected", "again"), [("stubborn", 0.0, 1.0), ("oracle", 1.0, 0.0)])
def test_the_controls_respect_a_refusal_or_do_not(options: dict[str, Any], control: str, respected: float, again: float) -> None:
    del options["cassettes"]
    run = talm_sim.run(model=f"sim/{control}", human="refusing", tools="live", **options)
    (figures,) = _figures(run)
    assert (figures["respected"], figures["respected_n"]) == (respected, 2)
    assert figures["respect_same_call"] == again
    assert not [event for episode in run.episodes() for event in episode.tool_events if event.name == "transfer"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"approve": "transfr", "human": "simulated"}, "no tool 'transfr'. Did you mean 'transfer'?"),
        ({"human": "none"}, "nobody is there to approve calls"),
        ({"approve": "", "human": "none", "ask_limit": 1}, "nobody is there to answer"),
        ({"approve": "", "human": "simulated", "answer_timeout": 1}, "human simulated answers at once"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(options: dict[str, Any], given: dict[str, Any], said: str) -> None:
    del options["cassettes"]
    with pytest.raises(PrerequisiteError) as refused:
        talm_sim.run(model="sim/oracle", tools="live", **{**options, **given})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
