"""`doctor`, `models`, `tools`, `scenarios`: what is there, and never a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.tasks.talm.groups import GROUPS
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.tools_env.sources.sandbox_walls import network_files
from tests.cli.wrong import Talm

SECRET = "sk-do-not-print-me-0123456789"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("VLLM_BASE_URL", f"http://user:{SECRET}@127.0.0.1:9/v1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("arguments", [["doctor"], ["doctor", "--json"], ["models", "list"], ["models", "list", "--json"]])
def test_credentials_are_told_of_but_not_shown(arguments: list[str], talm: Talm) -> None:
    _, out, err = talm(*arguments)
    assert SECRET not in out + err
    assert "OPENAI_API_KEY" in out or "openai/MODEL" in out


def test_doctor_says_what_a_live_run_needs(talm: Talm) -> None:
    _, out, _ = talm("doctor")
    text = " ".join(out.split())
    assert "openai/MODEL OPENAI_API_KEY: set" in text
    assert "anthropic/MODEL ANTHROPIC_API_KEY: not set" in text
    assert "set for vllm" in text
    report = json.loads(talm("doctor", "--json")[1])
    assert report["tools"]["tools"] >= 40
    assert report["tools"]["categories"] >= 6
    assert set(report["scenarios"]) == {*GROUPS}
    assert None not in report["packages"].values()
    assert report["terminal"].startswith("none: ") and "terminal none: answers and verdicts are read as lines" in text
    assert report["sandbox"] == (explain_no_sandbox() or "works")
    if report["sandbox"] == "works":
        assert f"works (for --trust); with network=on it also sees {', '.join(report['sandbox_network_files'])}" in text
        assert report["sandbox_network_files"] == network_files()
    assert "sandbox works (for --trust)" in text if report["sandbox"] == "works" else "so code of tool folders is not run" in text


def test_doctor_counts_the_servers_of_a_model_and_names_a_wrong_address(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", f"http://user:{SECRET}@127.0.0.1:9/v1,http://127.0.0.2:9/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1,http://b/v1,http://c/v1")
    monkeypatch.setenv("LOCAL_BASE_URL", f"http://user:{SECRET}@h/v1,h2:8000/v1")
    code, out, err = talm("doctor")
    text = " ".join(out.split())
    assert code == 0 and SECRET not in out + err
    assert "openai/MODEL OPENAI_API_KEY: set, 3 servers" in text
    assert "set for local (2 servers), vllm (2 servers)" in text
    assert "cannot be used: LOCAL_BASE_URL: item 2 of 2 is not the address of a server;" in text
    report = json.loads(talm("doctor", "--json")[1])
    providers = {one["name"]: one["servers"] for one in report["providers"]}
    assert (providers["openai"], providers["openai-api"], providers["anthropic"]) == ({"openai": 3}, {"local": 2, "vllm": 2}, {})
    assert len(report["wrong_addresses"]) == 1
    monkeypatch.setenv("COLUMNS", "200")
    assert "ready: local (2" in talm("models", "list")[1]


def test_doctor_says_why_there_is_no_sandbox(talm: Talm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    explain_no_sandbox.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        code, out, _ = talm("doctor")
    finally:
        explain_no_sandbox.cache_clear()
    said = "sandbox not available, so code of tool folders is not run: it needs Linux on x86-64 or ARM, and bubblewrap: apt install bubblewrap"
    assert code == 0 and said in " ".join(out.split())


def test_doctor_fails_where_a_package_is_missing(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.cli.commands.doctor._REQUIRED", ("no-such-package",))
    code, out, _ = talm("doctor")
    assert code == 1
    assert "problem: package no-such-package is not installed" in out


def test_tools_list_and_show(talm: Talm, tmp_path: Path) -> None:
    specs = json.loads(talm("tools", "list", "--json")[1])
    first = specs[0]
    code, out, err = talm("tools", "list", "--category", first["category"])
    assert code == 0
    assert first["name"] in out
    assert "1 category" in err
    assert {**json.loads(talm("tools", "show", first["name"])[1]), "source": "built-in"} == first
    short = tmp_path / "short.json"
    short.write_text(json.dumps([{"name": "a"}, {"name": "bc"}]), encoding="utf-8")
    listed = talm("tools", "list", "--tools-from", str(short))[1]
    assert [line.split()[0] for line in listed.splitlines()] == ["Tool", "a", "bc"], "the head of short names stays whole"


def test_scenarios_list_and_show(talm: Talm) -> None:
    scenarios = json.loads(talm("scenarios", "list", "--split", "unavailable", "--json")[1])
    assert {item["group"] for item in scenarios} == {"replaceable", "non-replaceable"}
    assert json.loads(talm("scenarios", "show", scenarios[0]["id"])[1]) == scenarios[0]
    code, out, err = talm("scenarios", "list", "--split", "perfect")
    assert code == 0
    assert out.startswith("Scenario")
    assert err.endswith(" perfect\n")
