"""`talm-sim scenarios init`: what it writes is proved and run, what it does not write is named, and no file is lost."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main

TOOLS = '''
import os

CALLS = []

def find_price(item: str) -> dict[str, object]:
    """Find what an item costs, such as 'lamp'."""
    CALLS.append(item)
    return {"item": item, "price": {"lamp": 24.5, "chair": 89.0}[item], "goes_with": ["chair"]}

def tell(item: str) -> object:
    """Tell of an item, such as 'lamp'."""
    return {"told": "\\x1b[31m\\u202e\\u2028grey // \\x9b", "key": os.environ.get("SHOP_API_KEY"), "note": "password: hunter2hunter2"}

def no_use(item: str) -> str:
    """Do it."""
    raise KeyError(item)

tools = [find_price, tell, no_use]
'''


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "goods.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    yield
    sys.modules.pop("goods", None)


def init(*more: str, out: str = "mine.jsonl") -> int:
    return main(["scenarios", "init", "--tools-from", "goods:tools", "--out", out, *more])


def lines(out: str = "mine.jsonl") -> list[Any]:
    return [json.loads(line) for line in Path(out).read_text(encoding="utf-8").split("\n") if line and not line.startswith("//")]


def test_what_is_written_is_proved_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--writing") == 0
    said = capsys.readouterr()
    assert "mine.jsonl: 6 scenarios (2 perfect, 2 underspecified, 2 non-replaceable); edit their wording, then run:\n" in said.err
    assert """not written: no_use: KeyError: 'example' (with made-up item="example")""" in said.err
    assert "underspecified: 2 of 2 kept. The descriptions gave the missing value away in 2: 2 now use another value." in said.err
    assert said.out.splitlines()[1].split() == ["find_price", 'item="chair"', "perfect,", "underspecified,", "non-replaceable"]
    assert main(["scenarios", "check", "--scenarios", "mine.jsonl", "--tools-from", "goods:tools"]) == 0
    assert "6 scenarios checked: all sound" in capsys.readouterr().err
    words = ["run", "--scenarios", "mine.jsonl", "--tools-from", "goods:tools", "--model", "sim/asker", "--human", "simulated", "--json"]
    assert main([*words[:-1], "--display", "none", "--run-id", "r"]) == 0
    capsys.readouterr()
    assert main(["report", "r", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    rates = {one["group"]: (one["n"], one["pass_rate"]) for one in (read["groups"] if isinstance(read, dict) else read)}
    assert rates == {"perfect": (2, 1.0), "underspecified": (2, 1.0), "non-replaceable": (2, 0.0)}


def test_a_tool_is_called_twice_and_again_only_for_a_value_that_nothing_says() -> None:
    import goods  # type: ignore[import-not-found]

    assert init("--writing") == 0
    assert goods.CALLS == ["lamp", "lamp", "chair", "chair"]
    assert '//   item: "chair", because the descriptions say "lamp"' in Path("mine.jsonl").read_text(encoding="utf-8")
    goods.CALLS.clear()
    Path("args.json").write_text('{"find_price": {"item": "chair"}}', encoding="utf-8")
    assert init("--arguments", "args.json", "--force") == 0
    assert goods.CALLS == ["chair", "chair"]


def test_nothing_that_may_change_something_is_called_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    assert init() == 2
    said = capsys.readouterr().err
    assert "not written: find_price: not called: may change data" in said
    assert (
        "no scenarios could be made, so mine.jsonl was not written. "
        "Declare what only reads (in Python: FUNCTION.read_only = True; docs/tools.md); to call them anyway: --writing." in said
    )
    assert not Path("mine.jsonl").exists()
    Path("args.json").write_text('{"find_price": {"item": "chair"}}', encoding="utf-8")
    assert init("--arguments", "args.json") == 0
    assert [line["id"] for line in lines()] == ["find_price", "find_price.underspecified", "find_price.non-replaceable"]
    assert "The item is chair." in lines()[0]["turns"][0]["messages"][0]["content"]


def test_a_file_that_is_there_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    import goods

    Path("mine.jsonl").write_text("mine", encoding="utf-8")
    assert init("--writing") == 2
    assert "mine.jsonl: already exists; choose another --out, or add --force to replace it." in capsys.readouterr().err
    assert Path("mine.jsonl").read_text(encoding="utf-8") == "mine" and goods.CALLS == []
    assert init("--writing", "--force") == 0 and len(lines()) == 6
    goods.CALLS.clear()
    assert init("--writing", out="nowhere/mine.jsonl") == 2
    assert "its folder does not exist" in capsys.readouterr().err
    assert init("--writing", "--force", out=".") == 2
    assert ".: is a folder" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir() if path.suffix in {".jsonl", ".tmp"}) == ["mine.jsonl"]


def test_what_a_tool_says_is_escaped_and_secrets_stay_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "a-credential-of-some-length")
    assert init("--writing") == 0
    text = Path("mine.jsonl").read_text(encoding="utf-8") + "".join(capsys.readouterr())
    assert not set("\x1b\x9b\u202e\u2028") & set(text)
    assert "a-credential-of-some-length" not in text and "hunter2" not in text
    comments = [line for line in Path("mine.jsonl").read_text(encoding="utf-8").split("\n") if line.startswith("//")]
    assert any(line.startswith("// tell answered: ") and "[a secret?]" in line for line in comments)
    assert r"\u001b[31m\u202e\u2028grey" in Path("mine.jsonl").read_text(encoding="utf-8")
