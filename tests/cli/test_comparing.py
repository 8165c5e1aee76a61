"""`talm-sim compare`: baselines and runs by name, as tables and as data, with their exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.wrong import Talm
from tests.runs.sides import made_side, rows_of, write_baseline
from tests.runs.stored import store
from tests.tasks.talm.twenty import episodes, scenarios, verdicts


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    monkeypatch.chdir(tmp_path)
    made = ("a", [False] * 12 + [True] * 8), ("b", [True] * 18 + [False] * 2), ("c", [False] * 20)
    first, second, third = (write_baseline(made_side(rows_of(*values), name), Path(f"{name}.jsonl")) for name, values in made)
    return first, second, third


def test_each_further_run_is_compared_with_the_first_on_the_screen_and_as_data(files: tuple[str, str, str], talm: Talm) -> None:
    code, out, err = talm("compare", *files)
    assert (code, err) == (0, "")
    assert out.count("A  a.jsonl: model-a") == 2
    assert "B  b.jsonl: model-b" in out and "B  c.jsonl: model-c" in out
    assert " improved" in out and " regressed" in out
    assert max(map(len, out.splitlines())) <= 80
    found = json.loads(talm("compare", *files, "--json")[1])
    assert [(one["first"], one["second"], one["pairs"]) for one in found] == [("a.jsonl", "b.jsonl", 20), ("a.jsonl", "c.jsonl", 20)]
    lines = list(csv.DictReader(io.StringIO(talm("compare", *files, "--csv")[1])))
    assert [(line["second_run"], line["measure"], line["verdict"]) for line in lines] == [
        ("b.jsonl", "pass_rate", "improved"),
        ("c.jsonl", "pass_rate", "regressed"),
    ]
    assert float(lines[0]["p"]) == found[0]["differences"][0]["p"]
    assert talm("compare", *files, "--markdown")[1].count("### ") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.jsonl"], "Missing argument 'RUN...'"),
        (["a.jsonl", "b.jsonl", "--json", "--csv"], "--json, --csv and --markdown exclude each other."),
        (["a.jsonl", "b.jsonl", "--measure", "pas_rate"], "--measure: there is no 'pas_rate' in these runs. Did you mean 'pass_rate'?"),
        (["a.jsonl", "b.jsonl:perfect"], "name a group of both or of none: a.jsonl:GROUP b.jsonl:GROUP."),
        (["a.jsonl", "b.jsonl:prefect"], "b.jsonl: has no group 'prefect'. Did you mean 'perfect'?"),
        (["a.jsonl", "b.jsonl", "--flips"], "--flips: a.jsonl is a baseline, which has no transcripts; name the run."),
        (["a.jsonl", "no-such"], "there are no runs here yet"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: list[str], said: str, files: tuple[str, str, str], talm: Talm) -> None:
    code, out, err = talm("compare", *words)
    assert (code, out) == (2, "") and said in err


def test_an_unfinished_run_is_not_compared(stored: Path, talm: Talm) -> None:
    code, _, err = talm("compare", "a-run", "a-run")
    assert code == 3 and "1 of 5 episodes are not finished: talm-sim resume" in err


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for human in ("simulated", "none"):
        store(Path("runs"), human, scenarios(), episodes(human), verdicts(human), task="talm", model="m/m", human=human)
    return tmp_path


def test_two_groups_show_what_is_lost_where_something_must_be_asked_for(written: Path, talm: Talm) -> None:
    code, out, err = talm("compare", "simulated:perfect", "simulated:underspecified")
    assert (code, err) == (0, "") and max(map(len, out.splitlines())) <= 80
    assert (
        "judgement gap .45 [" in out
        and "success .90 with all that is needed, .45 where something must be asked for, so 50 % is kept" in plain(out)
    )
    alone = plain(talm("compare", "none:perfect", "none:underspecified", "--markdown")[1])
    assert "judgement gap .80" in alone and "nobody could be asked there, so it is not a gap of judgement" in alone
    assert json.loads(talm("compare", "simulated:perfect", "simulated:underspecified", "--json")[1])[0]["gap"]["pairs"] == 20


def test_a_run_with_a_person_shows_what_each_question_added(written: Path, talm: Talm) -> None:
    out = talm("compare", "none", "simulated")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert "underspecified: a person adds +.35 over 20 pairs; 24 questions, +.29 each [" in plain(out)
    assert "none asked -.33 (3), 1 asked +.45 (11), 2 asked +.40 (5), 3 or more asked +1.00 (1)" in plain(out)
    assert "perfect: a person adds .00 over 20 pairs; no question was asked" in plain(out)
    assert "| underspecified | 1 asked | 11 | .09 | .55 | +.45 |" in talm("compare", "none", "simulated", "--markdown")[1]
    assert talm("compare", "none", "simulated", "--html", "page.html")[0] == 0
    assert "what a person adds" in Path("page.html").read_text(encoding="utf-8")


def plain(text: str) -> str:
    return " ".join(text.split())
