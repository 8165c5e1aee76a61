"""Runs of version 0.2, which wrote the tool of a gold call under `tool`: they go on beside runs of now, which write `name`.

In `tool_key/`, made by that version in the world of `recorded_world.py`: the scenarios; `before`, a run with two finished episodes and two that
wait for a person; a baseline of its finished episodes; `shard`, the first of two shards of them. No run has digests of
prompts, so that wordings can change.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from talm_sim import StoredRun, compare, judge, merge_runs, resume, run
from talm_sim.comparison.baselines import check_scenarios
from talm_sim.comparison.compared_rows import Side
from talm_sim.scenarios.jsonl import write_scenarios
from talm_sim.store.desk import AnswerStatus, answer
from talm_sim.types import GoldCall
from tests.runs.recorded_world import make_world

KEPT = Path(__file__).parent / "tool_key"
TOWNS = ("oslo", "rome")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the runs were made with, and their scenarios as they are written now."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("talm_sim.store.files.manifest.wording_digests", lambda texts: {})
    made = make_world(Path())
    shutil.copytree(KEPT, tmp_path / "runs")
    write_scenarios({"now": list(StoredRun(KEPT / "before").scenarios())}, tmp_path)
    return {
        **made,
        "scenarios": Path("now.jsonl"),
        "split": "perfect,underspecified",
        "human": "terminal",
        "model": "sim/asker",
        "tools": "replay",
    }


def keys(file: Path) -> set[str]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    calls = [call for line in lines for some in (line["turns"][0]["gold_calls"], *line.get("alternatives", {}).values()) for call in some]
    return {key for call in calls for key in call}


def test_a_run_of_before_is_resumed_judged_and_compared_with_one_of_now(world: dict[str, Any]) -> None:
    before, now = StoredRun(Path("runs/before")), run(**world, run_id="now")
    assert (keys(KEPT / "scenarios.jsonl"), keys(Path("now.jsonl"))) == ({"tool", "arguments"}, {"name", "arguments"})
    assert (before.finished, before.waiting, now.finished, now.waiting) == (2, 2, 2, 2)
    assert before.manifest.dataset_digest == now.manifest.dataset_digest == "69347dfe26c80a9c"
    for stored in (before, now):
        for town in TOWNS:
            assert answer(stored.path, f"towns-{town}.underspecified", f"I mean {town}.") is AnswerStatus.SAVED
        judge(resume(stored), judge=["reference", "respect"])
    before, now = StoredRun(before.path), StoredRun(now.path)
    assert [row.values["pass_rate"] for row in before.rows()] == [True] * 4
    assert list(before.verdicts()) == list(now.verdicts()) and len({one.judge for one in before.verdicts()}) == 2
    compared = compare(before, now)
    assert (compared.pairs, compared.not_scored, compared.changed) == (4, 0, {})


def test_it_is_compared_with_its_baseline_and_merged_with_a_shard_of_now(world: dict[str, Any]) -> None:
    finished = {**world, "split": "perfect"}
    whole = run(**finished, run_id="whole")
    check_scenarios(Side.of_file(KEPT / "baseline.jsonl"), whole.job, list(whole.scenarios()))
    assert compare(KEPT / "baseline.jsonl", whole).changed == {}
    merged = merge_runs("merged", ["shard", run(**finished, shard="2/2", run_id="second")])
    judge(merged, judge=["reference"])  # its rules have changed since
    assert StoredRun(merged.path).rows() == whole.rows() and merged.manifest.dataset_digest == whole.manifest.dataset_digest


def test_both_keys_are_read_and_one_is_written() -> None:
    call = GoldCall(name="look", arguments={"at": 1})
    assert GoldCall.model_validate({"tool": "look", "arguments": {"at": 1}}) == call
    assert call.model_dump() == json.loads(call.model_dump_json()) == {"name": "look", "arguments": {"at": 1}}
    with pytest.raises(ValueError, match="tool"):
        GoldCall.model_validate({"name": "look", "tool": "find"})
