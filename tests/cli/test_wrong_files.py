"""Wrong files: options, scenarios, prices, wordings, modules of the user's. Each gets one line that names the file, the place and the fix."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks import find_task
from tests.cli.wrong import Talm, check_each, check_table

pytestmark = [pytest.mark.usefixtures("nothing_given"), pytest.mark.timeout(900)]


def test_wrong_options(talm: Talm) -> None:
    def ask(text: str) -> tuple[int, str, str]:
        Path("c.toml").write_bytes(text.encode("latin-1"))
        return talm("run", "--config", "c.toml")

    check_table(__file__, "options", ask)


def row(**changes: Any) -> str:
    made = {"id": "mine", "group": "perfect", "turns": [{"messages": [{"role": "user", "content": "Hi?"}]}]}
    return json.dumps({key: value for key, value in {**made, **changes}.items() if value is not None})


SCENARIOS = [
    ("", r"s\.jsonl: is empty; write one scenario per line: see talm-sim scenarios show --format$"),
    ('{"id": "a"}', r"s\.jsonl:1: group: is missing; correct this field: see talm-sim scenarios show --format$"),
    (row(turns=None), r"s\.jsonl:1: turns: is missing"),
    (row(id=3), r"s\.jsonl:1: id: 3 is not text"),
    (row(colour="red"), r"s\.jsonl:1: colour: there is no such key"),
    (row(group="perfct"), r"s\.jsonl:1: group: there is no 'perfct'\. Did you mean 'perfect'\?$"),
    (row(task="when2call"), r"s\.jsonl:1: task: is 'when2call', not 'talm'; run it with --task when2call"),
    (row(tools=["nosuch_tool"]), r"scenario mine: no tool 'nosuch_tool' among the built-in ones; .* written for: --tools-from"),
    (row(tools="find_holiday"), r"s\.jsonl:1: tools: find_holiday is not a list"),
    (row(target={"type": "fact"}), r"s\.jsonl:1: target: is of type 'fact'; .*Did you mean 'facts'\?$"),
    (row(target={"value": 1}), r"s\.jsonl:1: target: needs a `type`"),
    (row(missing={"kind": "word", "name": "x"}), r"s\.jsonl:1: missing\.kind: 'word' is not one of 'argument', 'tool' or 'utterance'"),
    (row(missing=[{"kind": "tool", "name": "x"}, {"kind": "tool"}]), r"s\.jsonl:1: missing\.1\.name: is missing"),
    (row(perturbations=["msk:tool=x"]), r"unknown perturbation 'msk'"),
    (f"{row()}\n{row()}", r"s\.jsonl:2: id 'mine' is also used on line 1; ids must be unique\.$"),
    ("[1]", r"s\.jsonl:1: is not a JSON object; write one scenario per line"),
    ('{"id": ', r"s\.jsonl:1: not JSON \("),
    ('{"uuid": "1", "correct_answer": "direct", "answers": {}, "question": "q", "tools": []}', r"s\.jsonl:1: .*(--task when2call|group)"),
]


def test_wrong_scenarios(talm: Talm) -> None:
    def ask(text: str) -> tuple[int, str, str]:
        Path("s.jsonl").write_text(text)
        return talm("run", "--scenarios", "s.jsonl", "--model", "sim/oracle")

    check_each(SCENARIOS, ask)


def test_what_the_format_page_shows_can_be_read(talm: Talm, tmp_path: Path) -> None:
    code, page, err = talm("scenarios", "show", "--format")
    assert (code, err) == (0, "")
    rows = [line for line in page.splitlines() if line.startswith('{"id"')]
    for line, task in zip(rows, ("talm", "when2call", "awareness"), strict=True):
        Path(f"{task}.jsonl").write_text(line)
        assert len(find_task(task).read(find_task(task).splits["all"], tmp_path / f"{task}.jsonl")) == 1
        assert talm("run", "--task", task, "--scenarios", f"{task}.jsonl", "--model", "sim/oracle", "--run-id", task)[0] == 0
    assert find_task("when2call").read(["cannot_answer"], tmp_path / "when2call.jsonl")


def test_wrong_modules(talm: Talm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it is written anew within the same second

    def ask(text: str) -> tuple[int, str, str]:
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        Path("mine.py").write_text(text)
        return talm("run", "--model", "langchain/mine:make")

    check_table(__file__, "modules", ask)


def test_wrong_wordings(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_PROMPTS", "p.toml")

    def ask(text: str) -> tuple[int, str, str]:
        Path("p.toml").write_text(text)
        return talm("run", "--model", "sim/oracle")

    check_table(__file__, "prompts", ask)


def test_a_scenario_file_with_a_byte_order_mark_is_read(talm: Talm) -> None:
    Path("own.jsonl").write_text("\ufeff" + row() + "\n", encoding="utf-8")
    assert [one.id for one in find_task("talm").read(["perfect"], Path("own.jsonl"))] == ["mine"]


def test_a_proxy_that_is_none_is_one_line(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://somewhere")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    code, out, err = talm("run", "--model", "openai/gpt-4o", "--limit", "1", "--split", "perfect", "--display", "none")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(
        "talm-sim: error: HTTPS_PROXY or ALL_PROXY: not the address of a proxy; write it like http://HOST:PORT"
    )
