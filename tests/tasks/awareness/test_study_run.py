"""The study's own rows, as a run reads them and as a making does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.tasks import find_task
from talm_sim.tasks.awareness.making.study import load_study
from talm_sim.tasks.paper.paper_rows import OTHER
from tests.tasks.awareness.crafted import nine_rows, write_rows
from tests.tasks.views import View, job

RUN = ["run", "--task", "awareness", "--model", "sim/oracle"]


def play(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> tuple[int, str, str]:
    code = main([*RUN, "--run-dir", str(tmp_path / "runs"), *words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("place", ["study.jsonl", "."])
def test_originals_and_manipulated_rows_are_run(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(tmp_path / "study.jsonl", nine_rows())
    code, out, _ = play(capsys, tmp_path, "--scenarios", f"study:{tmp_path / place}", "--display", "json")
    found = {one["group"]: one for one in json.loads(out.splitlines()[-1])["groups"]}
    assert code == 0 and found["all"]["n"] == 9
    assert {name: (one["n"], one["f1"]) for name, one in found.items() if "," in name} == {
        "replaced, apibank": (4, 1.0),
        "replaced, toolbench": (2, 1.0),
        "removed, apibank": (4, 1.0),
        "removed, toolbench": (2, 1.0),
    }


def test_each_data_set_stands_beside_its_own_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def published(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
        file = write_rows(tmp_path / "study.jsonl", rows)
        _, out, _ = play(capsys, tmp_path, "--scenarios", f"study:{file}", "--against", "paper")
        pattern = r"  ([\w, ]+), n \d+\n.*?\) +\S+ +\S+–\S+ +(\S+).*\n.*?\) +\S+ +(?:\S+–\S+ +)?(\S+)"
        return {name: figures for name, *figures in re.findall(pattern, out.partition("published: Incomplete Conditions Table 2")[2])}

    assert published(nine_rows()) == {
        "replaced, apibank": [".86", ".86"],
        "replaced, toolbench": [".76", ".75"],
        "removed, apibank": [".88", ".89"],
        "removed, toolbench": [".75", ".71"],
    }
    assert published(nine_rows()[6:8])["replaced"] == [".76", ".75"]


@pytest.mark.parametrize("protocol", ["zero-shot", "implicit", "feedback"])
def test_the_studys_instances_are_no_other_scenarios(protocol: str, tmp_path: Path) -> None:
    task, options = find_task("awareness"), job("awareness", protocol=protocol)
    instances = load_study(write_rows(tmp_path / "study.jsonl", nine_rows())).scenarios
    own = task.beside(View(options, (), instances))
    assert own is not None and own.compared == "run here: 9 instances of its files; the models are the paper's"
    mixed = task.beside(View(options, (), [*instances, task.load(options)[0]]))
    assert mixed is not None and mixed.compared == OTHER


def test_rows_that_cannot_be_used_are_named_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    broken: Any = {**nine_rows()[0], "original_sample_id": 9, "answer": "nothing"}
    file = write_rows(tmp_path / "study.jsonl", [*nine_rows(), broken])
    code, _, _ = play(capsys, tmp_path, "--scenarios", f"study:{file}")
    assert code == 0
    assert [one.getMessage() for one in caplog.records] == [
        f"{file}:10: answer: names no API of api_list; name the one that serves the request.",
        f"study:{file}: 1 of 10 rows cannot be used and are left out",
    ]


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ("all", ["1 of 4 originals have no replaced or removed instance and are left out"]),
        ("replaced", ["2 of 4 originals have no replaced instance and are left out"]),
        ("complete", []),
    ],
)
def test_originals_without_a_manipulated_instance_are_counted(
    split: str, told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    rows = nine_rows()
    file = write_rows(tmp_path / "study.jsonl", [rows[0], *rows[2:], {**rows[0], "original_sample_id": 9}])
    code, _, _ = play(capsys, tmp_path, "--scenarios", f"study:{file}", "--split", split, "--limit", "1")
    assert code == 0
    assert [one.getMessage() for one in caplog.records] == [f"study:{file}: {one}" for one in told]


def test_rows_given_without_their_name_say_how_to_run_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_rows(tmp_path / "study.jsonl", nine_rows())
    code, _, err = play(capsys, tmp_path, "--scenarios", str(file))
    assert code == 2
    assert "is a row of the study on incomplete conditions; run it with --task awareness --scenarios study:FILE." in " ".join(err.split())


def test_a_making_takes_originals_and_counts_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_rows(tmp_path / "study.jsonl", nine_rows())
    words = ["scenarios", "generate", "--task", "awareness", "--from", f"study:{file}", "--model", "sim/writer", "--manipulation", "removed"]
    assert main([*words, "--out", str(tmp_path / "made")]) == 0
    report = json.loads((tmp_path / "made" / "report.json").read_text(encoding="utf-8"))
    assert (report["sources"]["asked"], report["sources"]["manipulated"]) == (3, 6)
    printed = capsys.readouterr()
    assert "6 manipulated rows of the source left out" in " ".join((printed.out + printed.err).split())


def test_what_the_rows_hold_stands_beside_the_papers_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_rows(tmp_path / "study.jsonl", nine_rows())
    words = ["scenarios", "stats", "--task", "awareness", "--scenarios", f"study:{file}"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1 + 6 + 4 and re.search(r"replaced +477 .*713\.35 +published: Table 1, ToolBench", out)
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["group"], one["source"], (one["published"] or {}).get("instances")) for one in found] == [
        ("complete", "apibank", None),
        ("complete", "toolbench", None),
        ("replaced", "apibank", 423),
        ("replaced", "toolbench", 477),
        ("removed", "apibank", 304),
        ("removed", "toolbench", 406),
    ]
