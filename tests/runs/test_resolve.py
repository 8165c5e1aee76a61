from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import RunConfig, Scope, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.resolve import configure, overridden, resolve


class Library:
    def has_tools(self, groups: Iterable[str]) -> bool:
        return set(groups) <= {"perfect", "underspecified"}

    def has_model(self, model: str, groups: Iterable[str]) -> bool:
        return model == "openai/known" and self.has_tools(groups)


LIVE, REPLAY, RECORD = Traffic.LIVE, Traffic.REPLAY, Traffic.RECORD


@pytest.mark.parametrize(
    ("options", "models", "tools", "human"),
    [
        ({"model": "openai/known"}, REPLAY, REPLAY, "recorded"),
        ({"model": "openai/known", "human": "none"}, REPLAY, REPLAY, "none"),
        ({"model": "openai/known", "models": LIVE}, LIVE, REPLAY, "none"),
        ({"model": "openai/known", "split": "unavailable"}, LIVE, LIVE, "none"),
        ({"model": "openai/known", "split": "no-tools"}, LIVE, REPLAY, "none"),
        ({"model": "openai/other"}, LIVE, REPLAY, "none"),
        ({"model": "openai/other", "models": REPLAY, "tools": REPLAY}, REPLAY, REPLAY, "recorded"),
        ({"model": "sim/oracle"}, None, REPLAY, "none"),
        ({"model": "sim/oracle", "models": REPLAY, "tools": LIVE}, None, LIVE, "none"),
        ({"model": "openai/known", "scenarios": Path("mine.jsonl")}, LIVE, LIVE, "none"),
        ({"model": "openai/known", "scenarios": Path("mine.jsonl"), "cassettes": Path("c")}, REPLAY, REPLAY, "recorded"),
    ],
)
def test_automatic_values(options: dict[str, Any], models: Traffic | None, tools: Traffic, human: str) -> None:
    resolved = resolve(RunConfig(**{"split": "perfect", **options}), Library())
    assert (resolved.models, resolved.tools, resolved.human) == (models, tools, human)
    assert resolve(resolved, Library()) == resolved


def test_new_recordings_do_not_go_among_the_shipped_ones() -> None:
    assert resolve(RunConfig(models=RECORD), Library()).cassettes == Path("recordings")
    assert resolve(RunConfig(models=RECORD, cassettes=Path("c")), Library()).cassettes == Path("c")


def test_options_go_over_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_SEED", "7")  # the environment is the command line's, not the library's
    base = RunConfig(split="perfect", epochs=3)
    assert configure(base, {"epochs": 2}) == RunConfig(split="perfect", epochs=2)
    assert configure(None, {}) == RunConfig()
    with pytest.raises(PrerequisiteError, match=r"unknown option 'epoch'\. Did you mean 'epochs'\?"):
        configure(base, {"epoch": 2})
    with pytest.raises(PrerequisiteError, match=r"--epochs: Input should be greater than or equal to 1"):
        configure(base, {"epochs": 0})


def test_a_resume_may_change_how_but_not_what() -> None:
    config = RunConfig(split="perfect", temperature=0.5)

    def change(**options: Any) -> RunConfig:
        return overridden(config, options, {Scope.OPERATIONAL}, verb="resume", otherwise="start a new run.")

    assert change(max_episodes=3, split=None).max_episodes == 3
    assert change(temperature=0.5) == config
    with pytest.raises(PrerequisiteError, match=r"^resume: --temperature would change from '0.5' to '1.0'; start a new run\.$"):
        change(temperature=1.0)
    with pytest.raises(PrerequisiteError, match=r"^resume: --perturb would change from none to 'http-500'; start a new run\.$"):
        change(perturb=("http-500",))
    with pytest.raises(PrerequisiteError, match=r"^resume: --judge would change"):
        change(judge=("reference",))
