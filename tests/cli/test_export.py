"""`export`: a run for Inspect, as traces or in its task's own form, a set of rows with its card, recordings, and a task for lm-eval."""

from __future__ import annotations

import hashlib
import json
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks.templates import load_template
from talm_sim.tasks.when2call.harness import harness_files
from talm_sim.tasks.when2call.published import row_of
from talm_sim.tasks.when2call.scores import confusion, macro_f1
from talm_sim.types import Behaviour, Choice
from tests.cli.wrong import Talm
from tests.tasks.when2call.choices import mixture


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row_of(one)) + "\n" for one in mixture()), encoding="utf-8")
    return file


def test_a_sample_of_each_class_is_exported_and_said_in_the_card(rows: Path, tmp_path: Path, talm: Talm) -> None:
    out = tmp_path / "sets" / "sample.jsonl"
    command = ("export", "when2call", str(rows), "--out", str(out), "--by", "class,tools", "--sample")
    code, said, told = talm(*command, "2")
    assert (code, said, told) == (0, f"{out}\n", f"6 rows of 18 scenarios; card: {out.with_suffix('.card.json')}\n")
    described = json.loads(out.with_suffix(".card.json").read_text(encoding="utf-8"))
    assert (described["rows"], described["sample"], described["by"]) == (6, 2, "class,tools")
    assert described["sources"] == [{"file": str(rows), "sha256": hashlib.sha256(rows.read_bytes()).hexdigest()}]
    assert described["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert described["right"] == dict.fromkeys(("tool_call", "request_for_info", "cannot_answer"), 2)
    code, _, told = talm(*command, "50", "--force")
    assert code == 2 and "50 of each class are asked for" in told


def test_the_shipped_recordings_are_unpacked_into_cassettes(tmp_path: Path, talm: Talm) -> None:
    target = tmp_path / "unpacked"
    code, said, told = talm("export", "cassettes", "--to", str(target))
    assert (code, said) == (0, f"{target}\n")
    assert told.endswith(f"replay them with: talm-sim run --replay --cassettes {target}\n")
    some = next(target.rglob("*-01*.json"))
    assert json.loads(some.read_text(encoding="utf-8"))["interactions"]
    code, table, _ = talm(
        *("run", "--replay", "--cassettes", str(target), "--split", "perfect", "--limit", "2"),
        *("--run-dir", str(tmp_path / "runs"), "--display", "none", "--run-id", "r"),
    )
    assert code == 0 and "a replayed recording" in table
    assert "model: replayed recording; tools: replayed recording" in talm("report", str(tmp_path / "runs" / "r"), "--all")[1]


def test_a_run_is_written_by_the_exporter_of_its_task(tmp_path: Path, talm: Talm) -> None:
    row = {
        "id": "irrelevance_1_th",
        "subset": "irrelevance",
        "language": "th",
        "question": [[{"role": "user", "content": "?"}]],
        "function": [{"name": "f", "description": "", "parameters": {"type": "dict", "properties": {}, "required": []}}],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    stored = ("--run-dir", str(tmp_path / "runs"))
    run = ("run", "--task", "refusal", "--model", "sim/eager", "--template", "pythonic", "--display", "none", *stored)
    assert talm(*run, "--run-id", "one", "--scenarios", str(tmp_path / "rows.jsonl"))[0] == 0
    out = tmp_path / "result"
    code, said, told = talm("export", "bfcl", "one", *stored, "--out", str(out))
    assert (code, said) == (0, f"{out}\n")
    assert told.startswith(
        "1 file written\neager: bfcl evaluate takes folders named after models that it knows; rename it to one that reads text, "
    )
    (written,) = (path for path in out.rglob("*") if path.is_file())
    assert written == out / "eager" / "non_live" / "BFCL_v4_irrelevance_result.json"
    assert json.loads(written.read_text(encoding="utf-8"))["result"].startswith("[f(")
    code, _, told = talm("export", "bfcl", "one", *stored, "--out", str(out))
    assert (code, told) == (2, f"talm-sim: error: {written}: exists; choose another --out, or add --force to overwrite it.\n")
    assert talm("export", "bfcl", "one", *stored, "--out", str(out), "--force")[0] == 0
    assert talm(*run, "--run-id", "own", "--split", "removed", "--limit", "1")[0] == 0
    code, _, told = talm("export", "bfcl", "own", *stored, "--out", str(tmp_path / "none"))
    assert code == 2 and told.endswith("contains no finished answer to a row of BFCL; run one with --subset or --bfcl.\n")
    assert talm("run", "--split", "perfect", "--limit", "1", "--run-id", "other", "--display", "none", *stored)[0] == 0
    code, _, told = talm("export", "bfcl", "other", *stored, "--out", str(tmp_path / "none"))
    assert code == 2
    assert "is a run of task talm, and 'export bfcl' takes runs of task refusal; its runs have no exporter." in told
    assert not (tmp_path / "none").exists()


def test_a_run_of_any_task_is_written_for_inspect(stored: Path, tmp_path: Path, talm: Talm) -> None:
    out = tmp_path / "logs"
    code, said, told = talm("export", "inspect", "a-run", "--out", str(out))
    assert (code, said) == (0, f"{out}\n")
    assert told == (
        "1 file written\n1 of 4 samples has no score: 1 infrastructure_error\n1 of 5 episodes is not finished, and not in the log\n"
    )
    (log,) = out.iterdir()
    with zipfile.ZipFile(log) as archive:
        scores = {one["id"]: one["scores"]["success"]["value"] for one in json.loads(archive.read("summaries.json"))}
        header = json.loads(archive.read("header.json"))
    assert {name: value for name, value in scores.items() if isinstance(value, str)} == {"perfect-0": "C", "perfect-1": "I", "lacking-0": "C"}
    assert (header["status"], header["eval"]["task"], header["results"]["total_samples"]) == ("cancelled", "talm", 5)
    code, _, told = talm("export", "inspect", "a-run", "--out", str(out))
    assert (code, told) == (2, f"talm-sim: error: {log}: exists; choose another --out, or add --force to overwrite it.\n")
    assert talm("export", "inspect", "a-run", "--out", str(out), "--force")[0] == 0


def test_a_run_is_written_as_traces(stored: Path, tmp_path: Path, talm: Talm) -> None:
    out = tmp_path / "traces.jsonl"
    code, said, told = talm("export", "otel", "a-run", "--out", str(out))
    assert (code, said) == (0, f"{out}\n")
    assert told == "17 spans of 4 episodes written\nwithout what was said, called and returned; add --content for it\n"
    first = out.read_bytes()
    assert first.count(b"\n") == 4 and b"Which country" not in first
    assert talm("export", "otel", "a-run", "--out", str(out))[0] == 2 and out.read_bytes() == first
    assert talm("export", "otel", "a-run", "--out", str(out), "--force", "--content")[0] == 0
    assert b"Which country" in out.read_bytes()


def test_the_harness_gets_the_texts_that_are_scored_here(rows: Path, tmp_path: Path, talm: Talm) -> None:
    out = tmp_path / "task"
    code, said, told = talm("export", "lm-eval", str(rows), "--out", str(out))
    assert (code, said, told) == (0, f"{out}\n", "task talm_sim_when2call: 18 rows, template default\n")
    assert sorted(path.name for path in out.iterdir()) == ["rows.jsonl", "rows.py", "talm_sim_when2call.yaml"]
    written = [json.loads(line) for line in (out / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    style, items = load_template("default", None), mixture()
    assert [row["id"] for row in written] == [one.id for one in items]
    for row, item in zip(written, items, strict=True):
        assert isinstance(item.target, Choice)
        texts = [style.option(option) for kind in Behaviour for option in item.target.options if option.behaviour is kind]
        assert (row["prompt"], row["choices"]) == (style.prompt(item.query, item.shown_tools), texts)
        assert list(Behaviour)[row["gold"]] is item.target.gold
    code, _, told = talm("export", "lm-eval", str(rows), "--out", str(out))
    assert (code, told.rpartition(": ")[2]) == (2, "exists; choose another --out, or add --force to overwrite it.\n")


def test_the_harness_averages_f1_as_here(monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, Any] = {}
    monkeypatch.setitem(sys.modules, "datasets", types.ModuleType("datasets"))
    exec(harness_files([], load_template("default", None))["rows.py"], read)
    assert read["CLASSES"] == list(Behaviour)
    pairs = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 1), (1, 1)]
    golds, chosen = ([list(Behaviour)[one] for one in side] for side in zip(*pairs, strict=True))
    assert read["macro_f1"](iter(pairs)) == pytest.approx(macro_f1(confusion(golds, chosen)))
    numpy = pytest.importorskip("numpy")  # as the harness chooses
    assert read["macro_f1"]((one, numpy.int64(other)) for one, other in pairs) == pytest.approx(macro_f1(confusion(golds, chosen)))


def test_the_harness_gets_the_tasks_own_file_of_the_hub(rows: Path, tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def found(file: Path, default: str = "") -> Path:
        asked.append((str(file), default))
        return rows

    monkeypatch.setattr("talm_sim.scenarios.hub.local_file", found)
    assert talm("export", "lm-eval", "hub:nvidia/When2Call", "--out", str(tmp_path / "task"))[0] == 0
    assert asked[0] == ("hub:nvidia/When2Call", "test/when2call_test_mcq.jsonl")
