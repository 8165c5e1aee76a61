"""A stored run made by hand: every group, passes and failures, a perturbation, a question, an episode that failed, one that waits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    HumanEvent,
    Missing,
    MissingKind,
    ModelTurn,
    PerturbationLog,
    Scenario,
    Source,
    Termination,
    Turn,
    Verdict,
)
from tests.runs.stored import store


def scenario(name: str, group: str) -> Scenario:
    lacks = Missing(kind=MissingKind.ARGUMENT, name="country", value="FR", removed_text="of France", human_answer="France.")
    return Scenario(
        id=name,
        group=group,
        turns=(Turn(messages=({"role": "user", "content": f"What is the capital? ({name})"},)),),
        missing=lacks if group == "underspecified" else None,
        source=Source(base=name),
    )


def episode(of: Scenario, *, aware: AwarenessValue = AwarenessValue.YES, **more: Any) -> Episode:
    kind = AwarenessKind.INFORMATION if of.group == "underspecified" else AwarenessKind.TOOL
    asked = HumanEvent(turn=0, call_id="c", question="Which country?", answer="France.", responder="recorded")
    values: dict[str, Any] = {
        "awareness": (AwarenessAnswer(kind=kind, value=aware, raw=aware.value),),
        "model_turns": (ModelTurn(text="Let me ask."), ModelTurn(text="Paris.")),
        "events": (asked,) if of.group == "underspecified" else (),
        "answer": "Paris.",
        "termination": Termination.ANSWERED,
        "perturbations": (PerturbationLog(name="http-500:p=0.5", armed=2, fired=int(aware is AwarenessValue.YES)),),
    }
    return Episode(id=of.id, scenario_id=of.id, group=of.group, model="openai/some", human="recorded", **(values | more))


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run `a-run` in `runs/` of the working directory."""
    monkeypatch.chdir(tmp_path)
    scenarios = [scenario(f"perfect-{n}", "perfect") for n in range(2)] + [scenario(f"lacking-{n}", "underspecified") for n in range(3)]
    failed: dict[str, Any] = {"termination": Termination.INFRASTRUCTURE_ERROR, "error": "no route\nto the host", "awareness": (), "answer": ""}
    episodes = [
        episode(scenarios[0]),
        episode(scenarios[1], aware=AwarenessValue.UNPARSED),
        episode(scenarios[2], aware=AwarenessValue.IDK),
        episode(scenarios[3], **failed),
    ]
    verdicts = [Verdict(episode_id=item.id, judge="reference", value=item.id.endswith("0"), explanation="by hand") for item in episodes]
    own = {"human": "recorded", "perturb": ("http-500:p=0.5",)}
    config: dict[str, Any] = {"split": "all", "model": "openai/some", "models": "replay", "tools": "replay", "options": own}
    return store(Path("runs"), "a-run", scenarios, episodes, verdicts, **config).path


@pytest.fixture
def talm(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Runs a command line in this process: exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield run


@pytest.fixture
def nothing_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory, and no variable that means anything here."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TALM_SIM_") or name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
