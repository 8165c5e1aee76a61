from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import Judge, JudgeContext, judge_digest
from talm_sim.judges.reference import ReferenceJudge
from talm_sim.judges.registry import JUDGES, in_order, judge_class, load_instructions, register_judge
from talm_sim.tasks.registry import every_task
from talm_sim.types import Episode, Measured, Scenario, Termination, Turn, Verdict
from tests.judges.scripted import scripted

MODEL = "openai/gpt-4o"
GENERAL = ("reference", "fault", "respect", "llm", "person", "preference")
BROUGHT = (
    "behaviour",
    "behaviour-llm",
    "behaviour-llm-first-call",
    "bfcl-official",
    "bfcl-turns",
    "calls",
    "calls-bfcl",
    "explanation",
    "intent",
    "missing-turn",
)
"""Judges that come with a task."""


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(JUDGES, "_registered", {})
    assert {*every_task()}


class Short(Judge):
    name = "short"
    measure = Measured(name="short", head="Short", about="the answer is shorter than 400 characters")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        return self.verdict(episode, len(episode.answer) < 400)


class Polite(Short):
    name = "really-polite"
    needs = frozenset({"model"})
    instructions = "Is it polite?"


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("reference", "fb0568a73cac"),
        ("llm", "7c892557b46c"),
        ("preference", "9bbda2b85512"),
        ("behaviour", "76eacaabce16"),
        ("behaviour-llm", "ae42b9192265"),
        ("explanation", "8d34b355d1f6"),
    ],
)
def test_the_digests_of_the_built_in_judges_stay(name: str, digest: str) -> None:
    """Recorded votes are found by them, and stored verdicts unless the rules have changed since."""
    judge = judge_class(name)(JudgeContext(scripted(name=MODEL), open_vote=lambda found, *_: nullcontext(found)))
    with judge.vote(Episode(id="a", scenario_id="a", group="g", model="m/m", termination=Termination.ANSWERED)) as found:
        assert found == digest
    assert judge.config_digest == {"preference": "242c7697c523", "behaviour-llm": "6ad9da488e4e"}.get(name, digest)


@pytest.mark.parametrize("name", (*GENERAL, *BROUGHT))
def test_every_built_in_judge_says_what_it_measures(name: str) -> None:
    measure = judge_class(name).measure
    assert measure.name == name.replace("-", "_") or measure.labels, "a judge that labels has a measure for each label, by its own name"
    assert all(len(word) <= 13 for word in measure.head.split()) and measure.about
    assert JUDGES.names() == [*GENERAL, *BROUGHT]
    assert JUDGES.origin(name) == ""


def test_a_digest_follows_model_and_wording_where_there_is_a_model() -> None:
    contexts = [JudgeContext(scripted(name=MODEL)), JudgeContext(scripted(name="a/b")), JudgeContext(scripted(name=MODEL), {"llm": "Grade."})]
    assert len({judge_class("llm")(context).config_digest for context in contexts}) == 3
    assert len({judge_class("reference")(context).config_digest for context in contexts}) == 1
    assert judge_class("preference")(contexts[0]).config_digest == judge_class("preference")(contexts[2]).config_digest


@pytest.mark.parametrize("name", ["llm", "preference", "behaviour-llm"])
def test_a_judge_that_needs_a_model_says_so(name: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"judge '{name}' needs a model: add --judge-model"):
        judge_class(name)(JudgeContext())


def test_an_unknown_judge_is_met_with_a_hint() -> None:
    with pytest.raises(PrerequisiteError, match=r"unknown judge 'referense'\. Did you mean 'reference'"):
        judge_class("referense")


async def test_a_judge_of_the_users_is_one_class() -> None:
    assert talm_sim.register_judge(Short) is Short
    assert (talm_sim.Judge, talm_sim.Measured) == (Judge, Measured)
    assert JUDGES.names() == [*GENERAL, *BROUGHT, "short"]
    judge = judge_class("short")(JudgeContext())
    assert judge.config_digest == judge_digest("short", 1)
    episode = Episode(id="e", scenario_id="s", group="g", model="m/m", answer="Brief.", termination=Termination.ANSWERED)
    said = await judge(episode, Scenario(id="s", group="g", turns=(Turn(messages=({"role": "user", "content": "?"},)),)))
    assert (said.judge, said.judge_config_digest, said.value, said.label) == ("short", judge.config_digest, True, "")


class Nameless(ReferenceJudge):
    name = None  # type: ignore[assignment]


class Unmeasured(Short):
    measure = "Short"  # type: ignore[assignment]


class Needy(Short):
    needs = frozenset({"modle"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (Nameless, "declares no `name`"),
        (Unmeasured, "declares no `measure`"),
        (Needy, "needs 'modle', which is not one of model, pairs, earlier"),
        (open, "is not a subclass of talm_sim.Judge"),
    ],
)
def test_a_class_that_is_no_judge_is_refused(judge: type[Judge], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        register_judge(judge)
    JUDGES.register("mine", judge)
    with pytest.raises(PrerequisiteError, match=r"judge 'mine' \(.+\) " + re.escape(message)):
        judge_class("mine")


def test_a_judge_has_one_name() -> None:
    JUDGES.register("brief", Short)
    with pytest.raises(PrerequisiteError, match=r"judge 'brief' \(--plugin \S+\) calls itself 'short'\."):
        judge_class("brief")


def test_what_goes_by_what_others_said_comes_last() -> None:
    assert in_order(("preference", "llm", "reference", "llm")) == ("llm", "reference", "preference")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "prompts.toml"


def test_the_users_file_replaces_only_what_it_names(file: Path) -> None:
    register_judge(Polite)
    file.write_text('[agent]\nsystem = "x"\n[judge]\nllm = """\nGrade: Pass or Fail.\n"""\nreally_polite = "Is it?"\n', encoding="utf-8")
    texts = load_instructions(file)
    assert texts == {"llm": "Grade: Pass or Fail.", "really_polite": "Is it?"}
    context = JudgeContext(scripted(), texts)
    assert [judge_class(name)(context).instructions for name in ("llm", "really-polite")] == ["Grade: Pass or Fail.", "Is it?"]
    assert judge_class("preference")(context).instructions.startswith("You compare two answers")
    assert Polite(JudgeContext(scripted())).instructions == Polite.instructions == "Is it polite?"
    file.write_text('[agent]\nsystem = "x"\n', encoding="utf-8")
    assert load_instructions(file) == load_instructions(None) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[judge]\nlmm = "x"', "unknown key 'judge.lmm'. Did you mean 'llm'?"),
        ('[judge]\nreference = "x"', "unknown key 'judge.reference'."),
        ("[judge]\nllm = 3", "'judge.llm' must be a text"),
        ('[judge]\nllm = " "', "'judge.llm' must be a text"),
        ("judge = 3", "'judge' must be a table"),
        ("[judge", "not valid TOML"),
    ],
)
def test_a_bad_prompt_file_is_named_with_its_fault(file: Path, text: str, message: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=re.escape(message)) as caught:
        load_instructions(file)
    assert str(file) in str(caught.value)
