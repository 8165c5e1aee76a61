from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.judges.base import Judge, JudgeContext
from talm_sim.judges.registry import JUDGES, register_judge
from talm_sim.models import registry as models
from talm_sim.models.request import ModelRequest
from talm_sim.runs.api import judge_async, run
from talm_sim.runs.batch import run_batch
from talm_sim.runs.events import JudgeProgress, RunEvent
from talm_sim.runs.judging import check_judges, score
from talm_sim.store.files import stored_documents
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.store import RunStore, create_run
from talm_sim.tasks import job_of
from talm_sim.types import Episode, Measured, Scenario, Source, Turn, Verdict
from tests.judges.scripted import ScriptedModel, scripted
from tests.runs.recorded_world import make_world
from tests.runs.scripted import ScriptedRunner, new_run


class CountingJudge(Judge):
    """Passes everything, but for the episodes it fails on."""

    name = "counting"
    measure = Measured(name="counting", head="Count", about="always yes")

    def __init__(self, digest: str = "one", fails_on: dict[str, Exception] | None = None) -> None:
        super().__init__(JudgeContext())
        self.config_digest = digest
        self.fails_on = fails_on or {}
        self.calls: list[str] = []
        self.most_at_once = 0
        self._at_once = 0

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        assert scenario.id == episode.scenario_id
        self.calls.append(episode.id)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(0.002)
        self._at_once -= 1
        if episode.id in self.fails_on:
            raise self.fails_on[episode.id]
        return self.verdict(episode, True)


async def finished_run(directory: Path, number: int = 10) -> Path:
    run = new_run(directory, number)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return run


async def test_every_episode_is_judged_once_several_at_once(tmp_path: Path) -> None:
    judge = CountingJudge()
    events: list[RunEvent] = []
    async with RunStore.open(await finished_run(tmp_path)) as store:
        assert await score(store, [judge], max_at_once=4, on_event=events.append) == 0
        assert await score(store, [judge], max_at_once=4, on_event=events.append) == 0
        assert len(list(stored_documents.verdicts(store.reader, [("counting", "one")]))) == 10
    assert sorted(judge.calls) == [f"plain-{n:03}" for n in range(10)]
    assert judge.most_at_once == 4
    assert events[-1] == JudgeProgress("counting", 10, 10)
    assert len(events) == 10


async def test_another_config_is_another_verdict(tmp_path: Path) -> None:
    async with RunStore.open(await finished_run(tmp_path, 2)) as store:
        await score(store, [CountingJudge("one"), CountingJudge("two")])
        assert len(list(stored_documents.verdicts(store.reader, [("counting", "one")]))) == 2
        assert len(list(stored_documents.verdicts(store.reader, [("counting", "one"), ("counting", "two")]))) == 4


@pytest.mark.parametrize("error", [ProviderError("no answer"), CassetteMissError("not recorded")])
async def test_a_judge_that_fails_leaves_an_open_verdict_and_is_asked_again(tmp_path: Path, error: Exception) -> None:
    run = await finished_run(tmp_path, 3)
    async with RunStore.open(run) as store:
        assert await score(store, [CountingJudge(fails_on={"plain-001": error})]) == 1
        said = {verdict.episode_id: verdict for verdict in stored_documents.verdicts(store.reader, [("counting", "one")])}
        assert said["plain-001"].value is None
        assert said["plain-001"].explanation == f"not judged: {error}"
        assert said["plain-000"].value is True
        again = CountingJudge()
        assert await score(store, [again]) == 0
        assert again.calls == ["plain-001"]
        assert {verdict.value for verdict in stored_documents.verdicts(store.reader, [("counting", "one")])} == {True}


async def test_a_bug_in_a_judge_is_raised_and_what_was_judged_is_kept(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    async with RunStore.open(run) as store:
        with pytest.raises(ZeroDivisionError):
            await score(store, [CountingJudge(fails_on={"plain-005": ZeroDivisionError()})], max_at_once=1)
        assert store.judged_ids("counting", "one") == {f"plain-{n:03}" for n in range(5)}


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> type[Judge]:
    """A judge of the user's, registered for one test."""
    monkeypatch.setattr(JUDGES, "_registered", {})

    @register_judge
    class Mine(Judge):
        name = "mine"
        measure = Measured(name="mine", head="Mine", about="it is mine")

        async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
            return self.verdict(episode, True)

    return Mine


class Opened:
    """A provider `scripted/...` whose models grade `Win`, `Lose` by turns, after the words of `first`; it keeps count of them."""

    def __init__(self) -> None:
        self.first: tuple[str, ...] = ()
        self.opened = 0
        self.closed = 0

    def __call__(self, request: ModelRequest) -> ScriptedModel:
        model = scripted(*self.first, *["Win", "Lose"] * 9, name=request.name)
        self.opened += 1

        async def aclose() -> None:
            self.closed += 1

        model.aclose = aclose  # type: ignore[method-assign]
        return model


@pytest.fixture
def grader(monkeypatch: pytest.MonkeyPatch) -> Opened:
    opened = Opened()
    monkeypatch.setitem(models.PROVIDERS._registered, "scripted", models.Provider("scripted", "", "", opened, local=True))
    return opened


async def paired_run(directory: Path) -> Path:
    """A finished run of a `perfect` scenario and its no-tools twin."""
    turns = (Turn(messages=({"role": "user", "content": "How high?"},)),)
    scenarios = [Scenario(id="s", group="perfect", turns=turns), Scenario(id="s.no", group="no-tools", turns=turns, source=Source(base="s"))]
    config = RunConfig(model="sim/x", human="none", run_dir=directory)
    path = create_run(directory, "paired", describe_run(config, scenarios), scenarios)
    async with RunStore.open(path) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return path


async def test_a_comparison_goes_by_the_tasks_own_judges_else_by_the_users(tmp_path: Path, mine: type[Judge], grader: Opened) -> None:
    """The digest that a judge's verdicts are found by is its own: the user's judge was asked under another one, and never found."""

    async def said(*judges: str) -> dict[str, str]:
        path = await paired_run(tmp_path / "-".join(judges))
        stored = await judge_async(path, judge=judges, judge_model="scripted/x")
        return {verdict.episode_id: verdict.explanation for verdict in stored.verdicts() if verdict.judge == "preference"}

    assert (await said("preference", "mine"))["s.no"].startswith("win against the answer with tools")
    grader.first = ("Pass",) * 6  # three votes for each of the two
    told = await said("preference", "llm", "mine")
    assert told["s.no"].startswith("win against the answer with tools"), told
    assert told["s"].startswith("not applicable")


async def test_a_comparison_is_made_again_where_what_it_went_by_has_changed(tmp_path: Path, mine: type[Judge], grader: Opened) -> None:
    """Another judge said that the answer passes; the episode it was compared with was run once more."""

    path = await paired_run(tmp_path)

    async def told(*judges: str) -> str:
        stored = await judge_async(path, judge=("preference", *judges), judge_model="scripted/x")
        return next(one.explanation for one in stored.verdicts() if (one.judge, one.episode_id) == ("preference", "s.no"))

    assert (await told("reference")).startswith("not compared: no judge decided")
    assert (await told("mine")).startswith("win against")
    grader.first = ("Lose", "Win")
    assert (await told("mine")).startswith("win against"), "nothing has changed"

    async with RunStore.open(path) as store:
        everything = store.progress()
        await run_batch(store, ScriptedRunner(), replace(everything, finished=everything.finished - {"s"}))
        ids = "SELECT episode_id FROM verdicts WHERE judge = 'preference'"
        assert list(store.reader.execute(ids)) == [("s.no",)], "an old attempt's verdicts go with it"
    assert (await told("mine")).startswith("lose against")


def test_a_judge_that_lacks_its_model_is_known_before_anything_runs(tmp_path: Path, mine: type[Judge]) -> None:
    mine.needs = frozenset({"model"})
    with pytest.raises(PrerequisiteError, match=r"^judge 'mine' needs a model: add judge_model=\"PROVIDER/NAME\"\.$"):
        run(**make_world(tmp_path), judge=("mine",))
    assert not (tmp_path / "runs").exists()


def test_judges_are_checked_by_name_and_wording(tmp_path: Path) -> None:
    check_judges(job_of(RunConfig(judge=("reference", "llm"), judge_model="a/b")))
    file = tmp_path / "prompts.toml"
    file.write_text('[judge]\nlmm = "x"\n', encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"unknown key 'judge\.lmm'"):
        check_judges(job_of(RunConfig(judge=("reference",), prompts=file)))
