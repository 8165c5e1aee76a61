from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.judges import registry
from talm_sim.judges.base import Judge, JudgeContext
from talm_sim.judges.prompts import load_judge_prompts
from talm_sim.judges.reference import ReferenceJudge
from talm_sim.judges.registry import default_judges, judge_config_digest, list_judges, open_judge, register_judge
from tests.judges.scripted import scripted

MODEL = "openai/gpt-4o"


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(registry, "_REGISTERED", {})

    @register_judge("mine")
    def build(context: JudgeContext) -> Judge:
        judge = ReferenceJudge()
        judge.name = "mine"
        return judge

    yield "mine"


@pytest.mark.parametrize("name", ["reference", "llm", "preference", "behaviour", "behaviour-llm"])
def test_the_digest_is_known_before_the_judge_is_built(name: str) -> None:
    context = JudgeContext(prompts=load_judge_prompts(), model=scripted(name=MODEL))
    judge = open_judge(name, context)
    assert judge.name == name
    assert judge.config_digest == judge_config_digest(name, RunConfig(judge_model=MODEL))


def test_the_digest_follows_model_and_wording(tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text('[judge]\nllm = "Grade."\n', encoding="utf-8")
    configs = [RunConfig(judge_model=MODEL), RunConfig(judge_model="openai/other"), RunConfig(judge_model=MODEL, prompts=file)]
    assert len({judge_config_digest("llm", config) for config in configs}) == 3
    assert len({judge_config_digest("reference", config) for config in configs}) == 1
    assert judge_config_digest("preference", configs[0]) == judge_config_digest("preference", configs[2])


def test_an_unknown_judge_is_met_with_a_hint() -> None:
    for attempt in (lambda: open_judge("referense", JudgeContext(load_judge_prompts())), lambda: judge_config_digest("referense", RunConfig())):
        with pytest.raises(PrerequisiteError, match=r"unknown judge 'referense'\. Did you mean 'reference'"):
            attempt()


@pytest.mark.parametrize("name", ["llm", "preference", "behaviour-llm"])
def test_a_judge_that_needs_a_model_says_so(name: str) -> None:
    with pytest.raises(PrerequisiteError, match="--judge-model"):
        open_judge(name, JudgeContext(load_judge_prompts()))


def test_a_registered_judge_is_found(mine: str) -> None:
    assert mine in list_judges()
    assert open_judge(mine, JudgeContext(load_judge_prompts())).name == "mine"
    assert judge_config_digest(mine, RunConfig()) != judge_config_digest("reference", RunConfig())


def test_the_default_judges_are_those_the_table_needs() -> None:
    assert default_judges(RunConfig()) == ("reference",)
    assert default_judges(RunConfig(judge_model=MODEL)) == ("reference", "llm", "preference")
    assert default_judges(RunConfig(judge_model=MODEL, split="perfect")) == ("reference", "llm")
    assert default_judges(RunConfig(judge_model=MODEL, judge=("preference", "llm"))) == ("llm", "preference")
    assert default_judges(RunConfig(judge_model=MODEL), groups=("replaceable",)) == ("reference", "llm")


def test_multiple_choice_needs_judges_only_for_free_answers() -> None:
    assert default_judges(RunConfig(task="when2call")) == default_judges(RunConfig(task="when2call", judge_model=MODEL)) == ()
    assert default_judges(RunConfig(task="when2call", mode="judge")) == ("behaviour",)
    assert default_judges(RunConfig(task="when2call", mode="judge", judge_model=MODEL)) == ("behaviour", "behaviour-llm")
    assert default_judges(RunConfig(task="when2call", mode="judge", judge_model=MODEL, judge=("behaviour-llm",))) == ("behaviour-llm",)
    with pytest.raises(ValueError, match=r"behaviour-llm.*--judge-model"):
        RunConfig(task="when2call", mode="judge", judge=("behaviour-llm",))
