"""Faults of the model over real HTTP servers, in the protocols of both SDKs: each ends as data, and the command with 0."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim import run
from talm_sim.cli import main
from talm_sim.store.stored_run import load_run
from talm_sim.types import Episode, Termination
from tests.models.stand_in import StandIn, serving

FAULTS = ("model-500", "model-cut", "model-empty", "model-html", "model-refusal", "model-repeat")
AGENTS = """
def naive(messages, tools, model):
    return model.invoke(messages).text

def careful(messages, tools, model):
    try:
        return model.invoke(messages).text
    except Exception:
        return "The model failed, so I do not know."

def alone(messages, tools):
    return "12"
"""


@pytest.fixture(params=["openai", "anthropic"])
def served(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, StandIn]]:
    """A model behind a server, and the server."""
    provider: str = request.param
    monkeypatch.chdir(tmp_path)
    with serving("guesses") as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", f"{server.url}/v1" if provider == "openai" else server.url)
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "key-of-nobody")
        monkeypatch.setenv("TALM_SIM_MAX_RETRIES", "0")
        yield f"{provider}/stand-in", server


def play(model: str, *options: str) -> int:
    return main(["run", "--model", model, "--split", "perfect", "--limit", "1", "--run-id", "r", *options])


def only() -> Episode:
    (episode,) = load_run("r").episodes()
    return episode


@pytest.mark.parametrize(
    ("served", "fault"), [*(("openai", fault) for fault in FAULTS), ("anthropic", "model-500"), ("anthropic", "model-cut")], indirect=["served"]
)
def test_each_fault_ends_as_data(
    fault: str, served: tuple[str, StandIn], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALM_SIM_JUNIT", "j.xml")
    model, server = served
    call = 2 if fault == "model-repeat" else 1
    spec = f"{fault}:call={call}"
    assert play(model, "--perturb", spec, "--gate", "pass_rate>=0") == 0
    out = capsys.readouterr()
    assert "raised an error" not in out.out + out.err
    assert f"{spec} hit 1 of " in out.out
    case, gate = ET.fromstring(Path("j.xml").read_bytes()).iter("testcase")
    assert {child.tag for child in case} <= {"failure"}
    assert not list(gate)
    episode = only()
    (log,) = episode.perturbations
    assert (log.fired, log.seen, log.not_applicable) == (1, 1, int(fault == "model-repeat"))
    assert not episode.crashed
    assert episode.termination.completed
    if fault == "model-500":
        assert (episode.termination, episode.injected) == (Termination.AGENT_ERROR, spec)
        assert episode.error == f"injected fault {spec}: the model answered HTTP 500: internal server error"
        assert episode.model_turns == ()
    else:
        assert episode.termination is Termination.ANSWERED
        assert_injected(fault, episode, call)
    asked = len(server.requests) - len(episode.awareness)
    assert asked == len(episode.model_turns) - int(fault not in ("model-500", "model-cut"))  # only a cut turn was the model's
    assert main(["show", "r:" + episode.id]) == 0
    page = " ".join(capsys.readouterr().out.split())
    if fault == "model-500":
        assert f"injected fault {spec}: the model answered HTTP 500" in page
    else:
        assert f"Turn {call} injected: {spec}" in page


def assert_injected(fault: str, episode: Episode, call: int) -> None:
    """Check what the turn holds, and that the log says the same."""
    turn = episode.model_turns[call - 1]
    injected = turn.perturbations[0].injected
    if fault == "model-cut":
        assert (turn.tool_calls, turn.stop) == ((), "length")
        assert injected == "\n".join(f"[call] {one.name}({one.raw}" for one in turn.unparsable_calls) != ""
    elif fault == "model-repeat":
        before = episode.model_turns[call - 2]
        assert [(one.name, one.arguments) for one in turn.tool_calls] == [(one.name, one.arguments) for one in before.tool_calls] != []
        assert not {one.id for one in turn.tool_calls} & {one.id for one in before.tool_calls}
    else:
        assert injected == turn.text
        assert turn.stop == ("refusal" if fault == "model-refusal" else "stop")


def test_a_run_with_a_fault_is_recorded_and_replayed_with_the_server_gone(
    served: tuple[str, StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = served
    options: dict[str, Any] = {"model": model, "split": "perfect", "limit": "1", "cassettes": tmp_path / "tapes", "progress": False}
    perturb = ("model-html:call=1", "model-cut:call=3")
    live = run(**options, perturb=perturb, tools="record", models="record", run_id="live")
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_BASE_URL", "http://127.0.0.1:9")
    again = run(**options, perturb=perturb, tools="replay", models="replay", run_id="again")
    (first,), (second,) = live.episodes(), again.episodes()
    assert first.termination.completed
    assert first.model_turns == second.model_turns
    assert (first.answer, first.perturbations) == (second.answer, second.perturbations)
    assert [log.fired for log in second.perturbations] == [1, 1]


def test_an_own_agent_meets_it_in_its_code(
    served: tuple[str, StandIn], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALM_SIM_JUNIT", "j.xml")
    model, server = served
    (tmp_path / "agents_of_mine.py").write_text(AGENTS, encoding="utf-8")
    assert play(model, "--perturb", "model-500", "--agent", "agents_of_mine:naive") == 0
    assert "raised an error" not in capsys.readouterr().err
    assert not list(ET.fromstring(Path("j.xml").read_bytes()).iter("error"))
    episode = only()
    assert (episode.termination, episode.injected) == (Termination.AGENT_ERROR, "model-500")
    assert "injected fault model-500: " in episode.error
    assert load_run("r").crashed == 0
    assert play(model, "--perturb", "model-500", "--agent", "agents_of_mine:careful", "--run-id", "careful") == 0
    (episode,) = load_run("careful").episodes()
    assert (episode.termination, episode.answer) == (Termination.ANSWERED, "The model failed, so I do not know.")
    assert server.requests == []
    capsys.readouterr()
    assert main(["run", "--agent", "agents_of_mine:alone", "--perturb", "model-500", "--limit", "1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("talm-sim: error: --perturb model-500: your agent takes no model; ")


def test_a_run_that_waits_for_a_person_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run(model="sim/asker", split="underspecified", limit="1", human="terminal", perturb=("model-repeat:call=3",), run_id="r", progress=False)
    assert main(["answer", "r", "--text", "1994-03-11"]) == 0
    assert main(["resume", "r"]) == 0
    capsys.readouterr()
    (log,) = only().perturbations
    assert (log.armed, log.fired, log.not_applicable) == (3, 1, 1)
    assert [one.fired for turn in only().model_turns for one in turn.perturbations] == [0, 0, 1, 0]
