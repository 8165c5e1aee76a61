"""`import fail-talms`: published outputs become runs that every other command reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.wrong import Talm


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    entry: dict[str, Any] = {"model_answer": "It is 5.", "skipped": False, "info_annotation": "IDK", "info_awareness": "IDK, hm."}
    for model, more in {
        "big_4_auto_eval": {},
        "big_4_auto_eval_qaq": {"interaction_scores": [{"question": "Q", "user_response": "A"}]},
    }.items():
        file = Path("release", "outputs", "Underspecified", model, "answers.json")
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps([entry | more | {"query_id": n, "query": f"Question {n}?", "pass_rate": n % 2} for n in range(1, 4)]))
    return Path("release")


def test_published_outputs_become_runs_that_can_be_read(release: Path, talm: Talm) -> None:
    code, out, err = talm("import", "fail-talms", str(release))
    assert (code, out) == (0, "runs/fail-talms-big_4\nruns/fail-talms-big_4-aah\n")
    assert err == "2 runs imported. Print one: talm-sim report runs/fail-talms-big_4\n"
    table = " ".join(talm("report", "fail-talms-big_4", "fail-talms-big_4-aah")[1].split())
    assert "standalone" in table and "Ask-and-Help" in table and table.count("underspecified 3 .67 1.00") == 2
    assert "run fail-talms-big_4-aah" in table, "where the answers come from is not a recording of ours"
    records = json.loads(talm("report", "fail-talms-big_4", "--json")[1])
    assert [(row["group"], row["pass_rate_k"], row["n"], row["pass_judge"]) for row in records] == [("underspecified", 2, 3, "published")]
    rows = json.loads(talm("report", "fail-talms-big_4-aah", "--rows", "--json")[1])
    assert [(row["episode"], row["interaction"], row["published"]) for row in rows] == [
        ("underspecified-1", True, True),
        ("underspecified-2", True, False),
        ("underspecified-3", True, True),
    ]
    assert "Question 2?" in talm("show", "fail-talms-big_4:underspecified-2")[1]
    code, _, err = talm("resume", "fail-talms-big_4")
    assert code == 2 and "imported" in err


def test_only_the_files_asked_for_are_written(release: Path, talm: Talm) -> None:
    queries = release / "benchmark" / "Underspecified" / "all_underspecified_queries.json"
    queries.parent.mkdir(parents=True)
    queries.write_text(json.dumps([{"query_id": 1, "query": "Question 1?", "api_list": []}]))
    written = talm("import", "fail-talms", str(release), "--scenarios-to", "queries.jsonl", "--tools-to", "tools.json")
    assert written == (0, "", "queries.jsonl: 1 scenario\n  underspecified: what is missing is known of 0 of 1\ntools.json: 0 tools\n")
    assert json.loads(Path("queries.jsonl").read_text())["id"] == "underspecified-1"
    assert not Path("runs").exists()


TRACES = """\
[{"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "\\u001b[31mAn agent."}]
{"talm_sim.scenario.id": "nosuch\\u001b[2J", "messages": [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Hm."}]}
{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "s", "name": "GET\\u001b[2J /x"}]}]}]}
"""


def test_traces_become_a_run_and_what_is_not_read_is_said(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(TRACES)
    code, out, err = talm("import", "traces", "t.jsonl", "--run-id", "seen")
    assert (code, out) == (0, "runs/seen\n") and not set(err) & {"\x1b", "\x9b"}
    assert err.splitlines() == [
        "2 traces imported: 0 by id, 0 by request, 2 without a scenario. Judge: talm-sim judge runs/seen",
        "  1 trace of unknown scenarios (nosuch): give --scenarios FILE, --task or another --split",
        "  1 item of kinds that are not read (GET 1)",
    ]
    assert talm("judge", "seen")[0] == 0
    page, report = talm("show", "seen:trace-1")[1], talm("report", "seen")[1]
    assert "An agent." in page and "\x1b" not in page + report and "0 by id, 0 by request, 2 without one" in report
    (row,) = json.loads(talm("report", "seen", "--json")[1])
    assert [row[name] for name in ("group", "n", "pass_rate", "awareness", "skip")] == ["unmatched", 2, None, None, None]
    code, _, err = talm("resume", "seen")
    assert code == 2 and "imported" in err
