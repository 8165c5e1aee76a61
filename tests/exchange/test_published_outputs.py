from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from talm_sim.common import processes
from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.published_outputs import import_fail_talms
from talm_sim.runs.api import judge, resume
from talm_sim.store.stored_run import StoredRun
from tests.runs.crafting import changed


def write_outputs(root: Path, setting: str, model: str, answers: list[dict[str, Any]]) -> None:
    file = root / "outputs" / setting / model / "answers.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(answers))


def entry(number: int, passed: int, **more: Any) -> dict[str, Any]:
    asked = {"info_annotation": "idk", "info_awareness": "I do not know."}
    return {
        "query_id": number,
        "query": f"Query {number}?",
        "model_answer": "An answer.",
        "pass_rate": passed,
        "skipped": False,
        **asked,
        **more,
    }


@pytest.fixture
def release(tmp_path: Path) -> Path:
    root = tmp_path / "release"
    write_outputs(root, "underspecified", "big_4_auto_eval", [entry(1, 1), entry(2, 0), entry(2, 1), entry(3, 1)])
    write_outputs(root, "underspecified", "big_4_auto_eval_qaq", [entry(1, 1, interaction_scores=[{"question": "Q", "user_response": "A"}])])
    return root


def test_imported_answers_can_be_judged_again_but_not_run(release: Path, tmp_path: Path) -> None:
    alone = import_fail_talms(release, tmp_path / "runs")[0]
    (row,) = judge(alone.path, judge=("reference",)).summary_records()
    assert (row["pass_rate"], row["pass_judge"]) == (0.75, "published")  # `reference` does not apply, and the published grades stay
    assert "reference" in {verdict.judge for verdict in alone.verdicts()}
    assert list(alone.measures()) == ["reference"]
    judge(alone.path, judge=("reference",))
    assert {verdict.judge for verdict in alone.verdicts()} == {"published", "reference"}  # nor are they lost the second time
    with pytest.raises(PrerequisiteError, match="was imported; there is nothing to run"):
        resume(alone.path)


def contents(runs: list[StoredRun]) -> list[Any]:
    return [(run.id, run.manifest.notes, list(run.episodes()), list(run.verdicts()), run.first_measure) for run in runs]


def test_an_import_that_was_killed_is_repeated(release: Path, tmp_path: Path) -> None:
    whole = contents(import_fail_talms(release, tmp_path / "whole"))
    alone, helped = import_fail_talms(release, tmp_path / "runs")
    with changed(alone.path) as conn:  # killed between the run and its first measure
        conn.execute("DELETE FROM meta WHERE key = 'first_measure'")
    shutil.move(helped.path, tmp_path / "runs" / f".{helped.id}.999999999-{processes._place()}-00000000.00000000")  # killed within the next run
    assert contents(import_fail_talms(release, tmp_path / "runs")) == whole
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["fail-talms-big_4", "fail-talms-big_4-aah"]


def test_what_was_imported_before_is_left_as_it_is(release: Path, tmp_path: Path) -> None:
    before = import_fail_talms(release, tmp_path / "runs")
    judge(before[0].path, judge=("reference",))
    was = contents(before)
    assert contents(import_fail_talms(release, tmp_path / "runs")) == was


def test_another_import_of_the_same_name_is_refused_whole(release: Path, tmp_path: Path) -> None:
    shutil.rmtree(import_fail_talms(release, tmp_path / "runs")[1].path)
    file = release / "outputs" / "underspecified" / "big_4_auto_eval" / "answers.json"
    file.write_text(json.dumps([entry(1, 0)]))
    with pytest.raises(PrerequisiteError, match=r"fail-talms-big_4: .* choose another --run-dir, or delete it with: talm-sim runs delete \S+$"):
        import_fail_talms(release, tmp_path / "runs")
    assert len(list((tmp_path / "runs").iterdir())) == 1
    with pytest.raises(PrerequisiteError):
        import_fail_talms(tmp_path / "nowhere", tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.bench_data
def test_the_published_tables_come_out(bench_data: Path, tmp_path: Path) -> None:
    runs = {run.id: run for run in import_fail_talms(bench_data / "failtalms", tmp_path)}

    def cell(run: StoredRun, group: str, *names: str) -> list[str]:
        (row,) = (row for row in run.summary_records() if row["group"] == group)
        return [f"{row[name]:.2f}" for name in names]

    core = ("pass_rate", "awareness", "unexpected", "skip")
    gpt, helped, llama = (runs[f"fail-talms-{name}"] for name in ("gpt_4o", "gpt_4o-aah", "llama_8B"))
    assert cell(gpt, "underspecified", *core) == ["0.36", "0.18", "0.33", "0.05"]
    assert cell(gpt, "perfect", "pass_rate", "awareness") == ["0.68", "1.00"]
    assert cell(gpt, "non-replaceable", *core) == ["0.11", "0.09", "0.09", "0.06"]
    assert cell(gpt, "replaceable", "pass_rate", "awareness", "unexpected") == ["0.44", "0.03", "0.01"]
    assert cell(helped, "underspecified", "pass_rate", "awareness", "unexpected", "interaction") == ["0.61", "0.21", "0.47", "0.58"]
    assert cell(llama, "underspecified", *core) == ["0.14", "0.02", "0.13", "0.00"]
    notes = runs["fail-talms-gpt_4o-human-graded"].manifest.notes
    assert notes["coinciding grades, perfect"].startswith("79 of 95 grades coincide")
