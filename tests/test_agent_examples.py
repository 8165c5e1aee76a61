"""Every worked example of an agent runs offline, on the shipped recordings of the tools."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import talm_sim
from talm_sim.cli import main

EXAMPLES = Path(__file__).parent.parent / "examples" / "agents"
SCENARIO = "calendar-01.underspecified"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def run(agent: Any, tmp_path: Path, **options: Any) -> talm_sim.StoredRun:
    return talm_sim.run(agent=agent, scenario=(SCENARIO,), human="simulated", run_dir=tmp_path, progress=False, **options)


def test_a_react_agent_solves_what_its_model_can(tmp_path: Path) -> None:
    stored = run(module("react_agent").build, tmp_path, model="sim/asker")
    (summary,) = stored.summary()
    rates = {measure.name: measure.value for measure in summary.measures if measure.place != "outcome"}
    assert [one.name for one in summary.measures_in("outcome") if one.k] == ["asked_for_it"]
    table = {"pass_rate": 1.0, "awareness": None, "unexpected": None, "skip": None, "interaction": 1.0}
    lacking = {"asked": 1.0, "asked_in_words": 0.0, "declined": 0.0, "went_ahead": 0.0}
    blockers = {"ask_f1": 1.0, "question_precision": 1.0, "blocker_recall": 1.0, "coverage_before_answer": 1.0}
    asking = {"asked_again": 0.0, "asked_given": 0.0}
    assert rates == table | lacking | blockers | asking
    (episode,) = stored.episodes()
    assert episode.model == "sim/asker" and len(episode.events) == 3 and not episode.awareness


def test_a_graph_with_its_own_question_and_tools(tmp_path: Path) -> None:
    (episode,) = run(module("asking_graph").graph, tmp_path).episodes()
    assert "Ramadan" in episode.answer
    assert [event.type for event in episode.events] == ["human", "tool"]


TALKING = """
print("it is imported")

def act(messages, tools):
    print("it acts")
    return "done"

def build(tools, model):
    raise ValueError("no luck\\nat\\x1b[31m all")
"""


def test_what_an_agent_prints_is_talk_and_how_it_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talking_agents.py").write_text(TALKING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    words = ["run", "--scenario", SCENARIO, "--display", "json", "--human", "simulated"]
    assert main([*words, "--agent", "talking_agents:act"]) == 0
    told = capsys.readouterr()
    assert [json.loads(line)["event"] for line in told.out.splitlines()][-1] == "summary"
    assert "it is imported\n" in told.err and "it acts\n" in told.err
    assert main([*words, "--agent", "talking_agents:build", "--model", "sim/asker", "--display", "plain"]) == 1
    told = capsys.readouterr()
    place = f"({tmp_path / 'talking_agents.py'}, line 9)"
    assert f"the agent raised an error in 1 episode, for example {SCENARIO}: ValueError: no luck at all {place}" in told.err
    (shown,) = re.findall(r"^its traceback: talm-sim (show \S+)$", told.err, re.MULTILINE)
    assert main(shown.split()) == 0
    page = capsys.readouterr().out
    assert "agent talking_agents:build, model sim/asker, human simulated" in page
    assert "\n  Traceback (most recent call last):\n" in page and ", in build\n" in page
    assert "\x1b" not in page and "ValueError: no luck\n" in page
    assert talm_sim.load_run("latest").crashed == 1
    assert main(["resume", "latest", "--agent", "talking_agents:build", "--display", "plain"]) == 1  # as it is still so
    assert main(["report", "latest"]) == 0 and main(["judge", "latest"]) == 0


FAULTY = """
def careless(messages, tools):
    by_name = {tool.name: tool for tool in tools}
    try:
        found = by_name["convert_to_hijri"].invoke({"date": "1994-03-11"})
    except Exception:
        found = {}
    return found["month_name"]

def raising(messages, tools):
    by_name = {tool.name: tool for tool in tools}
    return by_name["convert_to_hijri"].invoke({"date": "1994-03-11"})["month_name"]

def careful(messages, tools):
    try:
        return raising(messages, tools)
    except Exception as err:
        return f"It could not be looked up: {err}"
"""


@pytest.mark.parametrize(("agent", "code"), [("careless", 1), ("raising", 0), ("careful", 0)])
def test_an_injected_fault_is_no_failure_but_an_agent_that_it_crashes_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], agent: str, code: int
) -> None:
    (tmp_path / "faulty_agents.py").write_text(FAULTY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    words = ["--agent", f"faulty_agents:{agent}", "--scenario", SCENARIO, "--perturb", "http-500", "--replay", "-q"]
    assert main(["run", *words]) == code
    assert main(["ablate", "--over", "perturb=,http-500", *words[:4], *words[6:]]) == code
    capsys.readouterr()


def test_an_agent_at_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    words = ["run", "--agent", "plain_function:act", "--scenario", SCENARIO, "--display", "plain", "--run-id", "r", "--human", "terminal"]
    assert main(words) == 1  # it waits
    told = capsys.readouterr().err
    assert "agent plain_function:act: if it calls a model itself, the call is live; nothing is recorded" in told
    assert "restart on resume; your answers are kept" in told
    assert main(["answer", "r", "--text", "She was born on 1994-03-11."]) == 0
    sys.modules.pop("plain_function", None)
    monkeypatch.setattr("talm_sim.agent.own.agents._agents", {})
    assert main(["resume", "r"]) == 2
    assert "talm-sim does not import what a stored run names; add --agent plain_function:act." in capsys.readouterr().err
    assert main(["resume", "r", "--agent", "asking_graph:graph"]) == 2
    assert "--agent would change from 'plain_function:act'" in capsys.readouterr().err
    assert main(["resume", "r", "--agent", "plain_function:act", "--display", "plain"]) == 0
    out = capsys.readouterr().out
    assert "agent/plain_function:act: talm" in out and "Ask-and-Help (terminal human)" in out and main(["report", "r", "--all"]) == 0
    assert "model: none seen; tools: live service" in capsys.readouterr().out
    assert main(["run", "--agent", "plain_function:act", "--model", "openai/gpt-4o"]) == 2
    assert "takes no model; leave out --model" in capsys.readouterr().err
    assert main(["run", "--agent", "nowhere:act"]) == 2
    assert "--agent: nowhere:act: cannot be imported" in capsys.readouterr().err


def test_an_agent_whose_calls_a_person_approves(tmp_path: Path) -> None:
    (episode,) = run(module("approved_agent").build, tmp_path, model="sim/asker").episodes()
    assert [event.kind for event in episode.human_events] == ["question", "approval", "approval"]
    assert [event.decision.action for event in episode.human_events if event.decision] == ["approve", "approve"]
    assert "Ramadan" in episode.answer and len(episode.tool_events) == 2
