"""`ablate` as it is typed: a grid in a file, what it would cost, and what each option changes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from tests.cli.wrong import Talm, check

pytestmark = pytest.mark.usefixtures("nothing_given")
GRID = '[grid]\nhuman = ["none", "simulated"]\nperturb = ["", ["http-500:p=0.5", "empty-result:p=0.1"]]\n'
SMALL = ("--split", "underspecified", "--limit", "6", "--model", "sim/asker", "--replay", "--display", "none")

WRONG = [
    ("", r"^talm-sim: error: g\.toml: write a table \[grid\] with a list of values per option, for example human = "),
    ("[grid]", r"g\.toml: write a table \[grid\]"),
    ("[grid]\nseed = [0]\n[more]\na = 1", r"g\.toml: unknown key 'more'; only the table \[grid\] is read here, .*--config\.$"),
    ('[grid]\nsplt = ["perfect"]', r"g\.toml: unknown option 'grid\.splt'\. Did you mean 'grid\.split'\?$"),
    ('[grid]\nmode = ["judge"]', r"g\.toml: grid\.mode is an option of task when2call, not of task talm"),
    ('[grid.talm]\nhuman = ["none"]', r"g\.toml: write the options of task talm into \[grid\] itself, not into \[grid\.talm\]\.$"),
    ('[grid]\nhuman = "none"', r"g\.toml: grid\.human: write a list of values, for example human = \[VALUE, VALUE\]\.$"),
    ("[grid]\nturn-limit = [1]\nturn_limit = [2]", r"g\.toml: grid\.turn_limit is set twice, as 'turn-limit' and 'turn_limit'"),
    ("[grid]\ntimeout = [1, 2]", r"^talm-sim: error: g\.toml: 'timeout' changes how a run is executed"),
    ("[grid]\nepochs = [1, 0]", r"g\.toml: cell epochs=0: --epochs: 0 is too small"),
    ('[grid]\nhuman = ["martian"]', r"g\.toml: cell human=martian: --human: unknown responder 'martian'\."),
    ('[grid]\nmodel-options = ["latency"]', r"g\.toml: cell model_options=latency: model_options: 'latency' is not an option"),
    ('[grid]\nsplit = ["\\u001b[31mred"]', r"g\.toml: cell split=red: --split: unknown split 'red'"),
    ("[grid", r"g\.toml: not valid TOML: "),
]  # fmt: skip


def test_a_cell_says_that_a_fault_was_never_met(talm: Talm) -> None:
    words = ("--split", "perfect", "--limit", "2", "--model", "sim/asker", "--replay", "--display", "none")
    code, out, _ = talm("ablate", "--over", 'perturb=["", "http-500:p=0.0001"]', *words)
    assert code == 0 and "never met: chance spared these calls" in out and talm("explain", "control")[0] == talm("explain", "no answer")[0] == 0
    assert "respect" not in talm("show", "latest")[1]


@pytest.mark.parametrize(("text", "told"), WRONG, ids=[text for text, _ in WRONG])
def test_a_wrong_grid_is_refused_in_a_line_that_names_file_and_key(text: str, told: str, talm: Talm) -> None:
    Path("g.toml").write_text(text, encoding="utf-8")
    check(talm("ablate", "--grid", "g.toml", *(("--dry-run",) if "epochs" in text else ())), told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--grid g.toml --over human=none", r"g\.toml: grid\.human is given with --over, too; leave one out\.$"),
        ("--over split=perfect,no-tools --split all", r"--split all fixes what --over split=perfect,no-tools varies; leave one of them out\.$"),
        ("--over model-options=latency=1 -M latency=2", r"--model-options latency=2 fixes what --over model_options=latency=1 varies"),
        ("--grid g.toml --human none", r"--human none fixes what human in the \[grid\] of --grid varies; leave one of them out\.$"),
        ("--over epochs=0", r"^talm-sim: error: cell epochs=0: --epochs: 0 is too small"),
    ],
)
def test_a_wrong_line_is_refused(words: str, told: str, talm: Talm) -> None:
    Path("g.toml").write_text(GRID, encoding="utf-8")
    check(talm("ablate", *words.split()), told)


def test_a_grid_in_a_file_is_the_one_on_the_line_and_the_one_in_python(talm: Talm) -> None:
    Path("g.toml").write_text(GRID, encoding="utf-8")
    perturb = 'perturb=["", ["http-500:p=0.5", "empty-result:p=0.1"]]'
    typed = json.loads(talm("ablate", "--over", "human=none,simulated", "--over", perturb, *SMALL, "--json")[1])
    filed = json.loads(talm("ablate", "--grid", "g.toml", *SMALL, "--json")[1])
    assert typed == filed and len({row["run"] for row in filed}) == 4
    options: dict[str, Any] = {"split": "underspecified", "limit": 6, "model": "sim/asker", "tools": "replay"}
    over: dict[str, list[Any]] = {"human": ["none", "simulated"], "perturb": ["", ["http-500:p=0.5", "empty-result:p=0.1"]]}
    done = talm_sim.ablate(over=over, **options)
    assert done.to_records() == filed
    mixed = json.loads(talm("ablate", "--grid", "g.toml", "--over", "seed=0,1", *SMALL, "--dry-run", "--json")[1])
    assert [(cell["human"], cell["perturb"], cell["seed"], cell["state"]) for cell in mixed["cells"]][:3] == [
        ("none", "", "0", "finished"),
        ("none", "", "1", "new"),
        ("none", "http-500:p=0.5 empty-result:p=0.1", "0", "finished"),
    ]


def test_it_prints_one_matrix_with_a_line_per_cell_and_in_words_what_has_no_column(talm: Talm) -> None:
    code, out, _ = talm("ablate", "--over", "human=none,simulated", *SMALL)
    lines = out.splitlines()
    assert code == 0 and max(map(len, lines)) <= 80 and "compare two     talm-sim compare ablation-" in out
    assert lines[0].split() == ["underspecified:", "2", "cells", "n", "asked", "made", "up"]
    assert [line.split() for line in lines[1:3]] == [["human=none", "6", "·", "6"], ["human=simulated", "6", "6", "·"]]
    words = talm("ablate", "--over", "seed=0,1", "--task", "when2call", "--model", "sim/eager", "--limit", "2", "--display", "none")[1]
    assert words.count("  request_for_info, n 2: called with a made-up value 2\n") == 2


def test_any_option_can_be_varied_and_left_out(talm: Talm) -> None:
    Path("g.toml").write_text(
        '[grid]\ntemperature = ["", 0.5]\nlimit = [1, "2-3"]\nmodel-options = ["", {latency = 0.001}]\ntask = ["talm"]\n', encoding="utf-8"
    )
    code, out, _ = talm("ablate", "--grid", "g.toml", "--split", "perfect", "--model", "sim/oracle", "--dry-run", "--json")
    cells = json.loads(out)["cells"]
    assert code == 0 and len({cell["run"] for cell in cells}) == 8
    assert [cell["episodes"] for cell in cells] == [1, 1, 2, 2] * 2
    assert {cell["model_options"] for cell in cells} == {"", "latency=0.001"}


def test_a_dry_run_prints_each_cell_and_the_sum_and_writes_nothing(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("g.toml").write_text('[grid]\nhuman = ["none", "simulated"]\nepochs = [1, 2]\n', encoding="utf-8")
    Path("p.toml").write_text('currency = "EUR"\n"openai/gpt-4o" = {input = 2, output = 8}\n', encoding="utf-8")
    line = ("ablate", "--grid", "g.toml", "--model", "openai/gpt-4o", "--split", "perfect", "--limit", "5", "--prices", "p.toml", "--dry-run")
    before = sorted(Path.cwd().rglob("*"))
    code, out, err = talm(*line)
    assert code == 0 and err.startswith("nothing was run. Upper bounds: ")
    assert max(map(len, out.splitlines())) <= 80
    assert "human=simulated, epochs=2" in out and "4 cells together: 30 episodes to run\n" in out
    single = [
        talm("run", *line[3:], "--human", human, "--epochs", epochs, "--display", "json")[1]
        for human in ("none", "simulated")
        for epochs in "12"
    ]
    costs = [json.loads(one)["models"][0] for one in single]
    least, most = (sum(cost["bound"][end] for cost in costs) for end in ("least", "most"))
    assert f"agent openai/gpt-4o, live: {least:,} to {most:,} requests\n" in out
    assert f"{sum(cost['money'] for cost in costs):,.2f} EUR at the given prices" in out
    whole = json.loads(talm(*line, "--json")[1])
    assert [cell["models"] for cell in whole["cells"]] == [[cost] for cost in costs]
    assert whole["models"][0]["bound"]["most"] == most and whole["episodes"] == 30
    rows = list(csv.DictReader(io.StringIO(talm(*line, "--csv")[1])))
    assert sum(int(row["requests_most"]) for row in rows) == most and [row["state"] for row in rows] == ["new"] * 4
    assert sorted(Path.cwd().rglob("*")) == before
