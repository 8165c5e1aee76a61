"""Wrong files: options, scenarios, prices, wordings, modules of the user's. Each gets one line that names the file, the place and the fix."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks import find_task
from tests.cli.wrong import Talm, check_each

pytestmark = [pytest.mark.usefixtures("nothing_given"), pytest.mark.timeout(900)]

OPTIONS = [
    ('splt = "perfect"', r"c\.toml: unknown key 'splt'\. Did you mean 'split'\?$"),
    ('split = ["perfect", "xyz"]', r"c\.toml: split: unknown split 'xyz'"),
    ("split = 3", r"c\.toml: split: 3 is not text"),
    ("limit = true", r"c\.toml: limit: True is not text; write names and numbers in quotes\.$"),
    ('epochs = "many"', r"c\.toml: epochs: 'many' is not a whole number\.$"),
    ("perturb = 500", r"c\.toml: perturb: 500 is not a list; write one, for example \[\"A\", \"B\"\]\.$"),
    ('perturb = "time-out"', r"unknown perturbation 'time-out'\. Did you mean 'timeout'\?$"),
    ('model_options = "device=cpu"', r"c\.toml: model_options: device=cpu is not a table; write names and values\.$"),
    ("[talm]\nturn-limit = 0", r"c\.toml: talm\.turn-limit: 0 is too small; the least is 1\.$"),
    ("[talm]\nepochs = 2", r"c\.toml: unknown key 'talm\.epochs'\. Known: "),
    ("[talm]\nhumn = 1", r"c\.toml: unknown key 'talm\.humn'\. Did you mean 'human'\?$"),
    ('[options]\nhuman = "none"', r"c\.toml: unknown key 'options'\. "),
    ('task = "when2call"\nhuman = "none"', r"c\.toml: human is an option of task talm or refusal, not of task when2call;"),
    ('task = "when2cal"', r"c\.toml: task: unknown task 'when2cal'\. Did you mean 'when2call'\?$"),
    ('plugin = "no_such_module"', r"c\.toml: plugin no_such_module: cannot be imported: ModuleNotFoundError"),
    ("talm = 3", r"c\.toml: 'talm' must be a table"),
    ("task = 3", r"c\.toml: task: write the name of a task, in quotes\.$"),
    ('tools = "lve"', r"c\.toml: tools: 'lve' is not one of 'live', 'replay' or 'record'\.$"),
    ('cassettes = "nosuch"', r"c\.toml: cassettes: there is no directory 'nosuch'"),
    ("plugin = 3", r"c\.toml: plugin: write names of modules, in quotes\.$"),
    ("split = perfect", r"c\.toml: not valid TOML: "),
    ("\xff", r"c\.toml: not valid TOML|cannot be read"),
]


def test_wrong_options(talm: Talm) -> None:
    def ask(text: str) -> tuple[int, str, str]:
        Path("c.toml").write_bytes(text.encode("latin-1"))
        return talm("run", "--config", "c.toml")

    check_each(OPTIONS, ask)


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
    (row(tools=["nosuch_tool"]), r"nosuch_tool"),
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


MODULES = [
    ("raise ValueError('at import')", r"module 'mine' cannot be imported: ValueError: at import \(\S+mine\.py, line 1\)\.$"),
    ("def make(:", r"module 'mine' cannot be imported: SyntaxError: .* \(mine\.py, line 1\)\.$"),
    ("import nosuch_package", r"no module 'nosuch_package'; install it"),
    ("def make():\n    raise RuntimeError('no\\nluck')", r"the factory failed: RuntimeError: no luck \(\S+mine\.py, line 2\)\.$"),
    ("def make():\n    raise SystemExit(3)", r"the factory failed: SystemExit: 3 \(\S+mine\.py, line 2\)\.$"),
    ("def make():\n    return 3", r"returned a int, but must return a LangChain chat model"),
    ("def make(key):\n    return key", r"the factory refused its arguments"),
    ("make = 3", r"'make' is not a function that returns a chat model"),
    ("import sys\nsys.exit('bye')", r"module 'mine' cannot be imported: SystemExit: bye"),
]


def test_wrong_modules(talm: Talm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it is written anew within the same second

    def ask(text: str) -> tuple[int, str, str]:
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        Path("mine.py").write_text(text)
        return talm("run", "--model", "langchain/mine:make")

    check_each(MODULES, ask)


PROMPTS = [
    ("agent = 3", r"p\.toml: 'agent' must be a table"),
    ("[agnt]\nsystem = 'x'", r"p\.toml: unknown table 'agnt'\. Did you mean 'agent'\?$"),
    ("[agent]\nsytem = 'x'", r"p\.toml: unknown key 'agent\.sytem'\. Did you mean 'system'\?$"),
    ("[agent]\nsystem = 3", r"p\.toml: 'agent\.system' must be a text"),
    ("[judge]\nlmm = 'x'", r"p\.toml: unknown key 'judge\.lmm'"),
]


def test_wrong_wordings(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_PROMPTS", "p.toml")

    def ask(text: str) -> tuple[int, str, str]:
        Path("p.toml").write_text(text)
        return talm("run", "--model", "sim/oracle")

    check_each(PROMPTS, ask)


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
