"""`export training`: rows with their card, from scenarios and a run; every wrong input is one line, and nothing is half-written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks.when2call.published import row_of
from tests.cli.wrong import Talm
from tests.tasks.when2call.choices import CALL, TOOL, mixture


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row_of(one)) + "\n" for one in mixture()), encoding="utf-8")
    return file


@pytest.fixture
def own(tmp_path: Path) -> Path:
    said = [{"role": "user", "content": "A table for 4 at Luna."}, {"role": "assistant", "tool_calls": [CALL]}]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps({"messages": said, "tools": [TOOL]}) + "\n" for _ in range(5)), encoding="utf-8")
    return file


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _card(file: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(file.with_suffix(".card.json").read_text(encoding="utf-8"))
    return card


def test_a_set_is_written_with_its_card(rows: Path, tmp_path: Path, talm: Talm) -> None:
    out = tmp_path / "sets" / "pref.jsonl"
    code, said, told = talm("export", "training", str(rows), "--kind", "preference", "--out", str(out), "--seed", "7")
    assert (code, said) == (0, f"{out}\n")
    assert told.startswith("36 rows: ") and told.endswith(f"tool_call; card: {out.with_suffix('.card.json')}\n")
    assert {tuple(row) for row in _lines(out)} == {("id", "prompt", "chosen", "rejected", "chosen_action", "rejected_action", "source")}
    card = _card(out)
    digest = hashlib.sha256(rows.read_bytes()).hexdigest()
    assert card["sources"] == [{"kind": "scenarios", "name": str(rows), "sha256": digest, "given": 18}]
    assert card["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert (card["seed"], card["balance"], card["format"], card["template"], card["rows"]) == (7, "natural", "trl", "default", 36)
    assert sum(card["counts"]["rejected"].values()) == sum(card["counts"]["right"].values()) == 36
    assert sorted(path.name for path in out.parent.iterdir()) == ["pref.card.json", "pref.jsonl"]


def test_rows_are_written_in_the_published_form(rows: Path, tmp_path: Path, talm: Talm) -> None:
    out = tmp_path / "sft.jsonl"
    assert talm("export", "training", str(rows), "--kind", "sft", "--format", "when2call", "--out", str(out), "--balance", "calls")[0] == 0
    assert [set(row) for row in _lines(out)] == [{"tools", "messages"}] * 6
    assert _card(out)["counts"]["right"] == {"cannot_answer": 1, "request_for_info": 1, "tool_call": 4}


def test_the_answers_of_a_run_are_exported(rows: Path, tmp_path: Path, talm: Talm) -> None:
    stored = ("--run-dir", str(tmp_path / "runs"))
    run = ("run", "--task", "when2call", "--scenarios", str(rows), "--display", "none", *stored)
    assert talm(*run, "--run-id", "eager", "--model", "sim/eager")[0] == 0
    out = tmp_path / "sft.jsonl"
    assert talm("export", "training", "eager", "--kind", "sft", "--out", str(out), *stored)[0] == 0
    assert {(row["action"], row["source"]) for row in _lines(out)} == {("tool_call", "run eager")}
    assert _card(out)["sources"][0]["model"] == "control: sim/eager"
    assert _card(out)["left_out"][0]["why"] == "the answer is wrong" and _card(out)["left_out"][0]["number"] == 12
    pairs = tmp_path / "preference.jsonl"
    assert talm("export", "training", "eager", "--kind", "preference", "--out", str(pairs), *stored)[0] == 0
    assert {row["rejected_action"] for row in _lines(pairs)} == {"tool_call"} and len(_lines(pairs)) == 12
    assert talm(*run, "--run-id", "oracle", "--model", "sim/oracle")[0] == 0
    code, _, told = talm("export", "training", "oracle", "--kind", "preference", "--out", str(tmp_path / "none.jsonl"), *stored)
    assert (code, told.count("\n")) == (2, 1)
    assert "oracle: no row can be made from 18 episodes (18: no wrong answer to its scenario)" in told


def test_a_credential_in_an_answer_is_hidden(tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch, rows: Path) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-live-0123456789abcdef")
    text = rows.read_text(encoding="utf-8").replace("Luna", "sk-live-0123456789abcdef")
    rows.write_text(text, encoding="utf-8")
    stored = ("--run-dir", str(tmp_path / "runs"))
    run = ("run", "--task", "when2call", "--scenarios", str(rows), "--display", "none", "--run-id", "r", "--model", "sim/oracle", *stored)
    assert talm(*run)[0] == 0
    out = tmp_path / "sft.jsonl"
    assert talm("export", "training", "r", "--kind", "sft", "--out", str(out), *stored)[0] == 0
    assert "sk-live" not in out.read_text(encoding="utf-8") and "REDACTED" in out.read_text(encoding="utf-8")


WRONG = [
    (("ROWS", "--task", "talm"), "task talm: no training rows can be made from it; choose when2call or refusal."),
    (("ROWS", "--balance", "half"), "--balance half: task when2call has natural and paper and calls."),
    (("ROWS", "--max-tokens", "9"), "--max-tokens: needs the tokenizer that counts them; add --model hf/DIR."),
    (("ROWS", "-M", "chat_template=x"), "-M: is an option of the model; add --model hf/DIR."),
    (("ROWS", "--format", "when2call", "--template", "qwen2.5"), "--format when2call: is written without --template; leave it out"),
    (("ROWS", "--template", "nosuch"), "unknown template 'nosuch'"),
    (("ROWS", "--template", "chat"), "template 'chat': needs a local model's tokenizer"),
    (("ROWS", "--model", "openai/gpt-4o"), "--model openai/gpt-4o: only a model on this machine can be trained; write hf/DIR."),
    (("OWN",), "own.jsonl:1: contains a training row (SFT), which cannot be used for measuring"),
    (("nosuch.jsonl",), "nosuch.jsonl: cannot be read"),
    (("nosuch", "--task", "refusal"), "--task: concerns a FILE of scenarios, and 'nosuch' is a run, which has its own; leave it out."),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) or "nothing" for words, _ in WRONG])
def test_what_is_wrong_is_one_line_and_writes_nothing(
    words: tuple[str, ...], said: str, rows: Path, own: Path, tmp_path: Path, talm: Talm
) -> None:
    given = [{"ROWS": str(rows), "OWN": str(own)}.get(word, word) for word in words]
    out = tmp_path / "out" / "o.jsonl"
    code, _, told = talm("export", "training", *given, "--kind", "sft", "--out", str(out), "--run-dir", str(tmp_path / "runs"))
    assert code == 2 and said in told
    assert told.startswith("talm-sim: error: ") and told.count("\n") == 1
    assert not out.exists() and not out.with_suffix(".card.json").exists()
