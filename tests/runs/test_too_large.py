"""A record that is too large is one failed episode, and one that was made so elsewhere is one line."""

from __future__ import annotations

import asyncio
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talm_sim.agent.episode import Waiting
from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import AGAIN
from talm_sim.runs.batch import BatchCounts, run_batch
from talm_sim.store.files.database import TooLargeError, check_size, pack
from talm_sim.store.files.store import RunStore
from talm_sim.store.stored_run import load_run
from talm_sim.types import Episode, ModelTurn, Scenario, Termination, Usage, Verdict
from tests.runs.crafting import changed
from tests.runs.scripted import ScriptedRunner, finished, new_run, scenarios

MIB = 2**20


class Wordy(ScriptedRunner):
    """Answers the second scenario with far too much, as long as it is told to."""

    too_much = True

    async def __call__(self, scenario: Scenario, *, epoch: int, attempt: int, **more: Any) -> Any:
        if scenario.id == "plain-001" and self.too_much:
            return finished(scenario, epoch=epoch, attempt=attempt, answer="word " * (7 * MIB), usage=Usage(output_tokens=9), elapsed_s=2.5)
        return await super().__call__(scenario, epoch=epoch, attempt=attempt, **more)


class Asking(ScriptedRunner):
    """Has written a lot before it asks."""

    def _waiting(self, *args: Any) -> Waiting:
        return replace(super()._waiting(*args), model_turns=(ModelTurn(text="word " * 1_000),))


async def batch(run: Path, runner: ScriptedRunner, **options: Any) -> BatchCounts:
    async with RunStore.open(run) as store:
        return await run_batch(store, runner, store.progress({Termination(end) for end in AGAIN}), **options)


def test_an_episode_that_is_too_large_is_one_failed_one_and_is_tried_again(tmp_path: Path) -> None:
    run, runner = new_run(tmp_path, 4), Wordy()
    told: list[str] = []
    counts = asyncio.run(batch(run, runner, on_event=lambda event: told.append(getattr(event, "error", ""))))
    assert counts == BatchCounts(total=4, finished=4, waiting=0, terminations={"answered": 3, "infrastructure_error": 1})
    stored = load_run(run)
    kept = {episode.id: episode for episode in stored.episodes()}["plain-001"]
    assert (stored.finished, stored.failed, kept.termination) == (4, 1, Termination.INFRASTRUCTURE_ERROR)
    assert kept.error.startswith("the record of this episode takes 35.0 MiB, and a run keeps at most 32 MiB per record") and kept.error in told
    assert (kept.answer, kept.usage.output_tokens, kept.elapsed_s) == ("", 9, 2.5)
    runner.too_much = False
    asyncio.run(batch(run, runner))
    assert load_run(run).terminations == {"answered": 4} and ("plain-001", 2) in runner.calls


@pytest.mark.parametrize("piece", ["[],", "1,", '"",', '{"a":1},', "[[]],"])
def test_a_document_of_too_many_values_is_refused(piece: str) -> None:
    with pytest.raises(TooLargeError, match="holds more than 500,000 values"):
        check_size(f"[{piece * 600_000}0]".encode())


@pytest.mark.parametrize("text", ["[{,}]" * 800_000, '\\"[,' * 800_000, "\\\\" * MIB])
def test_what_stands_in_a_text_is_no_value(text: str) -> None:
    pack(json.dumps({"answer": text, "model_turns": [text[:9]] * 1000}))


def test_a_text_without_end_takes_no_longer_than_one_with() -> None:
    check_size(b'[,"' + b'\\"[' * (4 * MIB))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"answer": "' + b" " * 32 * MIB + b'"}', r"unpacks to more than 32 MiB or 500,000 values, the limit per record; restore the file"),
        (b'{"model_turns": [' + b"[]," * 600_000 + b"[]]}", "unpacks to more than 32 MiB or 500,000 values"),
        (b'{"model_turns": [' + b"[]," * 2_000 + b"[]]}", r"is damaged: 2,\d\d\d faults"),
    ],
    ids=["bytes", "values", "faults"],
)
def test_a_row_that_would_fill_the_memory_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes, message: str) -> None:
    run = new_run(tmp_path, 1)
    asyncio.run(batch(run, ScriptedRunner()))
    with changed(run) as conn:
        conn.execute("UPDATE episodes SET body = ?", (zlib.compress(body),))
    with pytest.raises(PrerequisiteError, match=rf"run\.db: episode 'plain-000' {message}"):
        list(load_run(run).episodes())
    assert main(["report", str(run)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_fact_that_would_fill_the_memory_is_one_line(tmp_path: Path) -> None:
    run = new_run(tmp_path, 1)
    with changed(run) as conn:
        conn.execute("INSERT OR REPLACE INTO meta VALUES ('judges', ?, x'')", (f"[{'[],' * 600_000}[]]",))
    with pytest.raises(PrerequisiteError, match=r"run\.db: 'judges' unpacks to more than"):
        load_run(run).summary()


def test_a_scenario_that_is_too_large_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.store.files.database._LARGEST", 100)
    with pytest.raises(PrerequisiteError, match=r"^scenario 'plain-000': takes 0\.0 MiB, and a run keeps .*; make it smaller\.$"):
        new_run(tmp_path, 1)
    assert not list(tmp_path.iterdir())


async def test_a_verdict_that_is_too_large_keeps_its_value(tmp_path: Path) -> None:
    run, (scenario,) = new_run(tmp_path, 1), scenarios(1)
    async with RunStore.open(run) as store:
        kept = await store.finish(finished(scenario), 0)
        assert isinstance(kept, Episode) and kept.answer == "done"
        await store.add_verdict(Verdict(episode_id=scenario.id, judge="long", value=True, label="x", explanation="why " * (9 * MIB)))
        assert store.judged_ids("long", "") == {scenario.id}
    with changed(run) as conn:
        conn.execute("INSERT OR REPLACE INTO meta VALUES ('judges', '[[\"long\", \"\"]]', x'')")
    (verdict,) = load_run(run).verdicts()
    assert (verdict.value, verdict.label) == (True, "x") and verdict.explanation.startswith("The record of this verdict takes 36.0 MiB")


async def test_a_question_is_kept_where_what_went_before_it_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path, 1, asks=1)
    monkeypatch.setattr("talm_sim.store.files.database._LARGEST", 2_000)
    counts = await batch(run, Asking())
    assert counts.waiting == 1
    assert [question.question for question in load_run(run).pending()] == ["What is ask-000, part 1?"]
