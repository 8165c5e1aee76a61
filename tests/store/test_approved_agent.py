"""An agent of LangChain whose calls a person approves: recorded with its model, played again offline, and started again after a kill."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.store.desk import Desk
from talm_sim.store.questions import Question
from talm_sim.types import Decision, Episode, Termination
from tests.models.loopback import chat_answer, loopback
from tests.runs.recorded_world import make_world

EXAMPLE = Path(__file__).parents[2] / "examples" / "agents" / "approved_agent.py"


def approved_agent() -> Any:
    spec = importlib.util.spec_from_file_location("approved_agent", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build


def calling(*towns: str) -> Any:
    made = [
        {"id": f"call_{place}", "type": "function", "function": {"name": "town_latitude", "arguments": json.dumps({"town": town})}}
        for place, town in enumerate(towns)
    ]
    return chat_answer(None, finish="tool_calls", tool_calls=made)


def seen(episode: Episode) -> Any:
    people = [(event.question, event.answer, event.decision, event.request, event.by) for event in episode.human_events]
    calls = [(event.name, event.arguments, event.result) for event in episode.tool_events]
    return episode.termination, episode.answer, people, calls, [turn.raw_prompt for turn in episode.model_turns]


async def test_what_people_decided_is_played_again_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(tmp_path) | {"agent": approved_agent(), "model": "openai/m", "scenario": ("towns-oslo",), "progress": False}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-needed")
    decisions = [
        Decision(action="reject", message="Not Rome."),
        Decision(action="respond", message="It is on the moon."),
        Decision(action="edit", arguments={"town": "oslo"}),
    ]

    async def decide(question: Question, desk: Desk) -> None:
        desk.answer(question.key, decision=decisions[len(decided)], name="Ann")
        decided.append(question.question)

    decided: list[str] = []
    with loopback(calling("rome", "moon", "paris"), chat_answer("59 degrees")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        stored = await talm_sim.run_async(**world, human="terminal", ask=decide, models="record", tools="replay")
    (first,) = stored.episodes()
    assert decided == [f'Allow town_latitude(town="{town}")?' for town in ("rome", "moon", "paris")]
    assert first.termination is Termination.ANSWERED, first.error
    assert [event.arguments for event in first.tool_events] == [{"town": "oslo"}]
    assert "Not Rome." in first.model_turns[1].raw_prompt and "It is on the moon." in first.model_turns[1].raw_prompt
    again = await talm_sim.run_async(**world, human="recorded", models="replay", tools="replay")
    (second,) = again.episodes()
    assert seen(second) == seen(first)
    assert [(event.decision.action, event.name) for event in second.human_events if event.decision] == [
        ("reject", "Ann"),
        ("respond", "Ann"),
        ("edit", "Ann"),
    ]
