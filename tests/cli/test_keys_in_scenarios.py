"""A key that a scenario's own text contains: it is played and scored as it is written, and hidden in all that is printed."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from talm_sim.store.stored_run import load_run
from tests.cli.wrong import Talm

KEYS = ("sk-proj-Abcdefghij1234567890KLMNOPqrstuv", "correct-horse-battery")


@pytest.mark.usefixtures("nothing_given")
def test_a_key_in_a_scenario_is_played_and_printed_nowhere(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", KEYS[1])
    packaged = files("talm_sim.tasks.talm.scenarios").joinpath("perfect.jsonl").read_text(encoding="utf-8")
    one = json.loads(packaged.splitlines()[0])
    one["id"] = "keyed"
    one["turns"][0]["messages"][0]["content"] += f" Use the key {KEYS[0]}, or sign in as ann with {KEYS[1]}."
    Path("keyed.jsonl").write_text(json.dumps(one) + "\n")
    printed = "".join(talm("run", "--scenarios", "keyed.jsonl", "--model", "sim/cautious", "--run-id", "k", "--display", "plain")[1:])
    for command in (
        *(("show", "k:keyed"), ("show", "k:keyed", "--json"), ("show", "k"), ("show", "k", "--json"), ("report", "k", "--all")),
        *(("report", "k", "--json"), ("report", "k", "--csv"), ("report", "k", "--junit", "k.xml"), ("report", "k", "--html", "k.html")),
        *(("export", "inspect", "k", "--out", "k.eval"), ("export", "otel", "k", "--out", "k.otlp"), ("report", "k", "--summary", "k.md")),
    ):
        code, out, err = talm(*command)
        assert code == 0, (command, err)
        printed += out + err
    written = [file for file in tmp_path.rglob("*") if file.is_file() and "runs" not in file.parts and file.name != "keyed.jsonl"]
    assert len(written) == 5 and "REDACTED" in printed
    texts = [printed.encode(), *(file.read_bytes() for file in written)]
    assert [key for key in KEYS for text in texts if key.encode() in text] == []
    stored = next(iter(load_run("k", Path("runs")).scenarios())).query
    assert all(key in stored for key in KEYS), "it is scored by what was written"
