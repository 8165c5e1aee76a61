"""Gates of commands: what is printed, what is written, and with which code the command ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from talm_sim.common.digests import digest

Talm = Callable[..., tuple[int, str, str]]
ORACLE = ("run", "--model", "sim/oracle", "--split", "perfect", "--limit", "3", "-q", "--display", "none")


def run(talm: Talm, *arguments: str) -> tuple[int, str, list[str]]:
    code, out, err = talm(*arguments)
    return code, out, err.splitlines()


@pytest.mark.usefixtures("nothing_given")
def test_a_run_ends_with_0_if_every_gate_is_passed_and_with_1_otherwise(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_JUNIT", "ci/run.junit.xml")
    monkeypatch.setenv("TALM_SIM_SUMMARY", "ci/summary.md")
    code, out, err = run(talm, *ORACLE, "--gate", "pass_rate>=0.9")
    assert (code, err[:2]) == (0, ["gate passed: perfect.pass_rate>=0.9: 1.00 [.44\N{EN DASH}1.00], n 3", "1 gate passed"])
    assert "gate" not in out
    root = ET.fromstring(Path("ci/run.junit.xml").read_bytes())
    assert [suite.get("name") for suite in root] == ["talm/perfect", "gates"]
    text = Path("ci/summary.md").read_text(encoding="utf-8")
    assert text.startswith("## talm-sim: 1 gate passed\n\n| gate | of | found |\n|---|---|---|\n| passed | perfect.pass_rate>=0.9 | 1.00")
    assert "| group | n | Passed |" in text and "](" not in text and "http" not in text
    monkeypatch.delenv("TALM_SIM_JUNIT")
    monkeypatch.delenv("TALM_SIM_SUMMARY")
    code, _, err = run(talm, *ORACLE, "--gate", "pass_rate>=0.9", "--gate", "awareness@lower>=0.9")
    assert (code, err[-1]) == (1, "1 of 2 gates missed")


@pytest.mark.usefixtures("nothing_given")
def test_gates_and_files_may_stand_in_a_toml_file_and_are_events_of_the_stream(talm: Talm) -> None:
    gates = 'gate = ["pass_rate>=0.9", "perfect.skip>=0.5"]\njunit = "x.xml"\n'
    Path("ci.toml").write_text(f'{gates}model = "sim/oracle"\nsplit = "perfect"\nlimit = 2\n')
    code, out, _ = run(talm, "run", "--config", "ci.toml", "--display", "json")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 1 and events[-1]["event"] == "summary" and Path("x.xml").is_file()
    assert [(one["name"], one["passed"]) for one in events[-2]["gates"]] == [("perfect.pass_rate>=0.9", True), ("perfect.skip>=0.5", False)]


@pytest.mark.usefixtures("nothing_given")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gate", "pas_rate>=0.9"), "--gate: 'pas_rate>=0.9': there is no measure 'pas_rate'. Did you mean 'pass_rate'?"),
        (("--gate", "x.pass_rate>=0.9"), "--gate: 'x.pass_rate>=0.9': there is no group 'x'."),
        (("--gate", "pass_rate>0.9"), "--gate: 'pass_rate>0.9' is not a gate: '>' is not a comparison"),
        (
            ("--gate", "pass_rate"),
            "--gate: 'pass_rate' has no number: write pass_rate>=NUMBER, or set what it is compared with: TALM_SIM_BASELINE=",
        ),
        (("baseline=nothing",), "baseline: nothing: no such run."),
        (("junit=.",), "junit .: is a directory; name a file."),
        (("junit=a", "summary=a"), "summary a: is the file of junit; name another one."),
    ],
)
def test_what_is_wrong_is_refused_before_anything_runs(
    arguments: tuple[str, ...], said: str, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, _, value in (one.partition("=") for one in arguments if arguments[0] != "--gate"):
        monkeypatch.setenv(f"TALM_SIM_{name.upper()}", value)
    code, out, err = run(talm, *ORACLE, *(arguments if arguments[0] == "--gate" else ()))
    assert (code, out, len(err)) == (2, "", 1) and said in err[0]
    assert not Path("runs").exists()


def test_failed_and_unfinished_episodes_end_with_1_though_gates_are_passed(stored: Path, talm: Talm) -> None:
    code, out, err = run(talm, "report", "-q", "--gate", "perfect.pass_rate>=0.5", "--gate", "underspecified.pass_rate>=0.5")
    assert code == 1 and out.startswith("openai/some: talm, all, 4 episodes\n") and "not finished: 1 of 5" in out
    assert err == [
        "gate passed: perfect.pass_rate>=0.5: .50 [.09\N{EN DASH}.91], n 2",
        "gate passed: underspecified.pass_rate>=0.5: 1.00 [.21\N{EN DASH}1.00], n 1",
        "1 episode failed, 1 episode not finished",
    ]
    assert talm("report", "-q")[0] == 0


def test_a_group_without_a_finished_episode_is_missed_and_not_left_out(stored: Path, talm: Talm) -> None:
    code, _, err = run(talm, "report", "-q", "--json", "--gate", "pass_rate>=0.1", "--gate", "recovered<=1")
    assert code == 1 and "gate missed: recovered<=1: no value, n 3" in err
    code, _, err = run(talm, "report", "--gate", "perfect.nothing>=1")
    assert code == 2 and "there is no measure 'nothing' in group 'perfect'." in err[-1]


@pytest.mark.usefixtures("nothing_given")
def test_a_baseline_is_exported_and_compared_with(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(talm, *ORACLE, "--run-id", "first")[0] == 0
    code, out, err = run(talm, "export", "baseline", "first", "kept.jsonl")
    assert (code, out, err[0]) == (0, "kept.jsonl\n", "3 episodes of 3 scenarios")
    assert err[1] == "warning: 1 epoch: a lucky baseline makes equal runs look worse; make it of a run with --epochs 3 or more"
    assert "exists; name another file, or add --force" in talm("export", "baseline", "first", "kept.jsonl")[2]
    assert talm("export", "baseline", "first", "kept.jsonl", "--force")[0] == 0
    monkeypatch.setenv("TALM_SIM_BASELINE", "kept.jsonl")
    code, _, err = run(talm, *ORACLE, "--gate", "pass_rate", "--gate", "pass_rate>=0.9")
    against = "perfect.pass_rate against kept.jsonl: 1.00 after 1.00, difference .00 [\N{MINUS SIGN}.56 to +.56], p 1.000, n 3"
    assert (code, err[1:3]) == (0, [f"gate passed: {against}", "2 gates passed"])
    code, _, err = run(talm, "report", "-q", "--baseline", "first")
    assert code == 0 and err[0].startswith("gate passed: perfect.pass_rate against first: 1.00 after 1.00")


@pytest.mark.usefixtures("nothing_given")
def test_what_cannot_be_compared_ends_with_3_and_one_line(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(talm, *ORACLE, "--run-id", "first")[0] == 0
    talm("export", "baseline", "first", "kept.jsonl")
    before = sorted(Path("runs").iterdir())
    monkeypatch.setenv("TALM_SIM_BASELINE", "kept.jsonl")
    for arguments, said in {
        ("--limit", "2"): "1 of its 3 scenarios are not in the run, for example 'calendar-03'",
        ("--split", "underspecified"): "3 of its 3 scenarios are not in the run",
        ("--task", "when2call", "--split", "all"): "is of task talm, the run of task when2call.",
    }.items():
        code, out, err = run(talm, *ORACLE, *arguments)
        assert (code, out, len(err)) == (3, "", 1) and said in err[0]
    assert sorted(Path("runs").iterdir()) == before, "nothing was run"
    other = Path("kept.jsonl").read_text(encoding="utf-8")
    first, *lines = other.replace('"text": "', '"text": "0').splitlines()
    Path("other.jsonl").write_text("\n".join([json.dumps(json.loads(first) | {"digest": digest(lines)}), *lines]), encoding="utf-8")
    monkeypatch.setenv("TALM_SIM_BASELINE", "other.jsonl")
    code, _, err = run(talm, *ORACLE)
    assert code == 3 and "3 scenarios ask or accept something else now" in err[0]
    judged = json.loads(other.splitlines()[0])
    Path("judge.jsonl").write_text(json.dumps(judged | {"judges": {"reference": "0"}}) + other[other.index("\n") :], encoding="utf-8")
    monkeypatch.setenv("TALM_SIM_BASELINE", "judge.jsonl")
    code, out, err = run(talm, *ORACLE)
    assert code == 3 and "judge 'reference' had other rules" in err[-1] and "solved it" in out, "the run itself is kept and printed"


@pytest.mark.usefixtures("nothing_given")
def test_compare_takes_gates_against_its_first_run(talm: Talm) -> None:
    for name, model in (("good", "sim/oracle"), ("bad", "sim/cautious")):
        assert talm(*ORACLE, "--model", model, "--limit", "9", "--run-id", name)[0] == 0
    code, _, err = run(talm, "compare", "-q", "good", "bad", "--gate", "pass_rate")
    assert code == 1 and err[-1].startswith("bad: gate missed: perfect.pass_rate against good: .00 after 1.00")
    assert talm("compare", "-q", "bad", "good", "--gate", "pass_rate")[0] == 0
    assert talm("compare", "-q", "good", "bad")[0] == 0
    code, _, err = run(talm, "compare", "good", "bad", "--gate", "pass_rate>=0.5")
    assert code == 2 and "compare takes gates without a number" in err[0]
    code, _, err = run(talm, "compare", "good:perfect", "bad:perfect", "--gate", "pass_rate")
    assert code == 2 and "for runs, not for groups of them" in err[0]
