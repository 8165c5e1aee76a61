"""`talm-sim compare`: baselines and runs by name, as tables and as data, with their exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.sides import made_side, rows_of, write_baseline

Talm = Callable[..., tuple[int, str, str]]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    monkeypatch.chdir(tmp_path)
    made = ("a", [False] * 12 + [True] * 8), ("b", [True] * 18 + [False] * 2), ("c", [False] * 20)
    first, second, third = (write_baseline(made_side(rows_of(*values), name), Path(f"{name}.jsonl")) for name, values in made)
    return first, second, third


def test_each_further_run_is_compared_with_the_first(files: tuple[str, str, str], talm: Talm) -> None:
    code, out, err = talm("compare", *files)
    assert (code, err) == (0, "")
    assert out.count("A  a.jsonl: model-a") == 2
    assert "B  b.jsonl: model-b" in out and "B  c.jsonl: model-c" in out
    assert " improved" in out and " regressed" in out
    assert max(map(len, out.splitlines())) <= 80


def test_comparisons_are_data_too(files: tuple[str, str, str], talm: Talm) -> None:
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
