from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from talm_sim.errors import CassetteMissError, ProviderError
from talm_sim.runs import rows
from talm_sim.runs.batch import run_batch
from talm_sim.runs.events import JudgeProgress, RunEvent
from talm_sim.runs.scoring import score
from talm_sim.runs.store import RunStore
from talm_sim.types import Episode, Scenario, Verdict
from tests.runs.scripted import ScriptedRunner, new_run


class CountingJudge:
    """Passes everything, but for the episodes it fails on."""

    name = "counting"

    def __init__(self, digest: str = "one", fails_on: dict[str, Exception] | None = None) -> None:
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
        return Verdict(episode_id=episode.id, judge=self.name, judge_config_digest=self.config_digest, value=True)


async def finished_run(directory: Path, number: int = 10) -> Path:
    run = new_run(directory, number)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner())
    return run


async def test_every_episode_is_judged_once_several_at_once(tmp_path: Path) -> None:
    judge = CountingJudge()
    events: list[RunEvent] = []
    async with RunStore.open(await finished_run(tmp_path)) as store:
        assert await score(store, [judge], max_at_once=4, on_event=events.append) == 0
        assert await score(store, [judge], max_at_once=4, on_event=events.append) == 0
        assert len(list(rows.verdicts(store.reader, [("counting", "one")]))) == 10
    assert sorted(judge.calls) == [f"plain-{n:03}" for n in range(10)]
    assert judge.most_at_once == 4
    assert events[-1] == JudgeProgress("counting", 10, 10)
    assert len(events) == 10


async def test_another_config_is_another_verdict(tmp_path: Path) -> None:
    async with RunStore.open(await finished_run(tmp_path, 2)) as store:
        await score(store, [CountingJudge("one"), CountingJudge("two")])
        assert len(list(rows.verdicts(store.reader, [("counting", "one")]))) == 2
        assert len(list(rows.verdicts(store.reader, [("counting", "one"), ("counting", "two")]))) == 4


@pytest.mark.parametrize("error", [ProviderError("no answer"), CassetteMissError("not recorded")])
async def test_a_judge_that_fails_leaves_an_open_verdict_and_is_asked_again(tmp_path: Path, error: Exception) -> None:
    run = await finished_run(tmp_path, 3)
    async with RunStore.open(run) as store:
        assert await score(store, [CountingJudge(fails_on={"plain-001": error})]) == 1
        said = {verdict.episode_id: verdict for verdict in rows.verdicts(store.reader, [("counting", "one")])}
        assert said["plain-001"].value is None
        assert said["plain-001"].explanation == f"not judged: {error}"
        assert said["plain-000"].value is True
        again = CountingJudge()
        assert await score(store, [again]) == 0
        assert again.calls == ["plain-001"]
        assert {verdict.value for verdict in rows.verdicts(store.reader, [("counting", "one")])} == {True}


async def test_a_bug_in_a_judge_is_raised_and_what_was_judged_is_kept(tmp_path: Path) -> None:
    run = await finished_run(tmp_path)
    async with RunStore.open(run) as store:
        with pytest.raises(ZeroDivisionError):
            await score(store, [CountingJudge(fails_on={"plain-005": ZeroDivisionError()})], max_at_once=1)
        assert store.judged_ids("counting", "one") == {f"plain-{n:03}" for n in range(5)}
