"""`config show` and `run --dry-run`: what would be run, where it comes from, what it may cost. Nothing runs, no key is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talm_sim import run
from talm_sim.config import RunConfig
from talm_sim.runs.forecast import forecast
from tests.tables import labelled

Talm = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def origins(talm: Talm, *options: str) -> dict[str, tuple[Any, str]]:
    code, out, err = talm("config", "show", *options, "--json")
    assert (code, err) == (0, "")
    return {row["option"]: (row["value"], row["from"]) for row in json.loads(out)}


def test_each_value_says_where_it_comes_from(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.toml").write_text('split = ["perfect", "no-tools"]\nseed = 1\n[talm]\nturn-limit = 3\n')
    monkeypatch.setenv("TALM_SIM_SEED", "2")
    found = origins(talm, "--config", "p.toml", "--epochs", "4", "--replay")
    assert found["split"] == ("perfect,no-tools", "p.toml: split")
    assert found["turn-limit"] == (3, "p.toml: talm.turn-limit")
    assert found["seed"] == (2, "TALM_SIM_SEED")
    assert found["epochs"] == (4, "--epochs")
    assert found["models"] == found["tools"] == ("replay", "--replay")
    assert found["human"] == ("recorded", "automatic")
    assert found["tool-format"] == ("constrained", "automatic")
    assert (found["temperature"], found["judge"]) == ((1.0, "task talm"), (["reference"], "task talm"))
    assert found["limit"] == (None, "default")


def test_automatic_values_and_the_page(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_RETRIES", "1")
    found = origins(talm, "--task", "when2call", "--mode", "judge", "--model", "openai/gpt-4o")
    assert found["models"] == ("live", "automatic")
    assert found["mode"] == ("judge", "--mode")
    assert found["judge"] == (["behaviour"], "task when2call")
    code, out, _ = talm("config", "show")
    assert code == 0
    assert any(line.split() == ["tools", "replay", "automatic"] for line in out.splitlines())
    assert talm("config", "show", "--split", "perfct")[2].endswith("Did you mean 'perfect'?\n")


def test_a_dry_run_runs_nothing_and_needs_no_key(talm: Talm) -> None:
    Path("prices.toml").write_text('"openai/gpt-4o" = {input = 2.5, output = 10}\n')
    code, out, err = talm("run", "--dry-run", "--model", "openai/gpt-4o", "--split", "perfect,no-tools", "--prices", "prices.toml")
    assert code == 0
    assert "nothing was run" in err
    assert not Path("runs").exists()
    lines = [line.split() for line in out.splitlines()]
    assert ["perfect", "72", "72"] in lines
    assert ["no-tools", "72", "72"] in lines
    assert "agent openai/gpt-4o, live: 216 to 1,296 requests" in out  # two questions and five turns; five turns
    assert "at the given prices" in out
    assert "task talm: 144 episodes, tools replay, human none\n" in out or "task talm: 144 episodes, tools live, human none\n" in out


@pytest.mark.parametrize(
    "options",
    [{"model": "sim/oracle"}, {}, {"model": "openai/gpt-4o", "scenarios": "own.jsonl", "tools": "live"}],
    ids=["control", "replay", "own"],
)
def test_where_nothing_is_asked_or_was_recorded_there_is_no_such_figure(options: dict[str, Any]) -> None:
    row = {"id": "mine", "group": "perfect", "turns": [{"messages": [{"role": "user", "content": "Hi?"}]}]}
    Path("own.jsonl").write_text(json.dumps(row) + "\n")
    assert forecast(RunConfig(split="perfect", **options)).costs[0].recorded is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--task when2call --model openai/gpt-4o", "gives no log-probabilities of given answers"),
        ("--live", "cannot be asked live: name a model"),
        ("--model anthropic/claude --tool-format constrained", "constrained works with"),
        ("--model openai/gpt-4o -M stream=true", "fills this field in itself"),
        ("--model openai/gpt-4o --live --perturb mask:tool=nosuch", "no tool 'nosuch'"),
        ("--model openai/gpt-4o --live --tools-from nosuch:TOOLS", "No module named 'nosuch'"),
        ("--model sim/orcale", "orcale"),
    ],
)
def test_what_the_run_would_refuse_is_refused_before_it_is_priced(talm: Talm, line: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = talm("run", *line.split(), "--dry-run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    assert talm("run", *line.split(), "--run-id", "it")[2] == err
    assert not Path("runs").exists()


def test_a_dry_run_as_data(talm: Talm) -> None:
    code, out, _ = talm("run", "--dry-run", "--display", "json", "--model", "openai/gpt-4o", "--judge-model", "openai/o3", "--epochs", "2")
    found = json.loads(out)
    assert (code, found["episodes"], found["epochs"]) == (0, 576, 2)
    agent, judge = found["models"]
    assert (agent["role"], agent["traffic"], agent["money"]) == ("agent", "live", None)
    assert (judge["model"], judge["role"], judge["bound"]["most"]) == (
        "openai/o3",
        "judge",
        576 * 22,
    )  # five votes, each asked up to four times, and both orders


@pytest.mark.parametrize("options", [{}, {"model": "sim/eager"}, {"model": "sim/asker", "human": "simulated"}])
def test_no_run_exceeds_its_bound(options: dict[str, Any]) -> None:
    """A recording of a real model tells its tokens; a control its turns."""
    config = RunConfig(**options, split="perfect,underspecified", limit="6")
    bound = forecast(config).costs[0].bound
    episodes = list(run(config).episodes())
    requests = sum(len(episode.model_turns) + len(episode.awareness) for episode in episodes)
    assert bound.least <= requests <= bound.most
    assert sum(episode.usage.input_tokens for episode in episodes) <= bound.input_tokens
    assert sum(episode.usage.output_tokens for episode in episodes) <= bound.output_tokens


@labelled
def test_a_wrong_price_file_is_one_line(talm: Talm, text: str, message: str) -> None:
    Path("p.toml").write_text(text)
    code, out, err = talm("run", "--dry-run", "--model", "openai/gpt-4o", "--prices", "p.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_run_of_very_many_episodes_is_asked_about(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = talm("run", "--epochs", "100000000")
    assert (code, err.count("\n")) == (2, 1)
    assert "--epochs 100000000: this run has 28,800,000,000 episodes; continue? There is no terminal to ask at; add a --budget." in err
    assert talm("run", "--epochs", "30", "--split", "perfect", "--limit", "1", "--model", "sim/oracle")[0] == 0
    monkeypatch.setattr("talm_sim.cli.shown_forecast.MANY", 20)
    monkeypatch.setattr("talm_sim.runs.plan.MANY", 20)
    many = ("run", "--epochs", "30", "--split", "perfect", "--limit", "1", "--model", "sim/oracle", "--controls")
    assert "30 episodes; continue?" in talm(*many)[2]
    code, _, err = talm(*many, "--budget", "requests=1000000000000")
    assert (code, "no row for" in err) == (0, False), "what was said of the run holds for its controls"


def test_of_an_own_agent_it_says_what_cannot_be_told(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "foretold_agents.py").write_text("def act(messages, tools): ...\ndef build(tools, model): ...\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ("run", "--dry-run", "--split", "underspecified", "--limit", "2")
    code, out, _ = talm(*words, "--agent", "foretold_agents:act")
    assert code == 0 and "agent agent/foretold_agents:act: its own requests to a model are live and cannot be predicted" in out
    code, out, err = talm(*words, "--agent", "foretold_agents:build", "--model", "openai/gpt-4o")
    assert code == 0 and "agent openai/gpt-4o, live: 0 to 100 requests" in out
    assert "retries and what your agent adds to its prompts are extra" in err
