"""A key that a scenario's own text contains: it is played and scored as it is written, and hidden in all that is printed."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from talm_sim.store.stored_run import load_run
from talm_sim.tasks.when2call.published import row_of
from talm_sim.types import Turn
from tests.cli.test_served_choices import answers
from tests.cli.wrong import Talm
from tests.models.loopback import chat_answer, loopback
from tests.tasks.when2call.choices import scenario

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


ADDRESS = "http://bob:tea@10.0.0.1:8080"
ROW = {
    "id": "simple_0",
    "subset": "simple",
    "language": "en",
    "test_category": "simple",
    "question": [[{"role": "user", "content": f"Use {ADDRESS} as my proxy."}]],
    "function": [
        {
            "name": "set_proxy",
            "description": "Set",
            "parameters": {"type": "dict", "properties": {"url": {"type": "string"}}, "required": ["url"]},
        }
    ],
    "ground_truth": [{"set_proxy": {"url": [ADDRESS]}}],
}


@pytest.mark.usefixtures("nothing_given")
@pytest.mark.parametrize("template", ["chat", "pythonic"])
def test_a_right_call_that_repeats_an_address_with_a_password_is_right_also_when_replayed(
    template: str, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rows.jsonl").write_text(json.dumps(ROW) + "\n")
    native = {"id": "c", "type": "function", "function": {"name": "set_proxy", "arguments": json.dumps({"url": ADDRESS})}}
    right = chat_answer(None, finish="tool_calls", tool_calls=[native]) if template == "chat" else chat_answer(f"[set_proxy(url='{ADDRESS}')]")
    run = ("run", "--task", "refusal", "--scenarios", "rows.jsonl", "--model", "openai-api/my-server/m", "--template", template)
    with loopback(right) as server:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
        code, _, told = talm(*run, "--cassettes", "c", "--record", "--run-id", "live")
        assert code == 0 and ADDRESS in server.seen[0].raw.decode(), told
    monkeypatch.delenv("MY_SERVER_BASE_URL")
    assert talm(*run, "--cassettes", "c", "--replay", "--run-id", "again")[0] == 0
    for name in ("live", "again"):
        assert [row.values["ast"] for row in load_run(name, Path("runs")).rows()] == [1], name
        assert "bob:tea" not in "".join(talm("show", f"{name}:simple_0")[1:])
    assert [file for file in Path("c").rglob("*") if file.is_file() and b"bob:tea" in file.read_bytes()] == []


@pytest.mark.usefixtures("nothing_given")
def test_options_are_scored_where_a_tool_names_an_address_with_a_password(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    item = scenario()
    item = item.model_copy(update={"turns": (Turn(messages=({"role": "user", "content": f"{item.query} Ask {ADDRESS}."},)),)})
    Path("rows.jsonl").write_text(json.dumps(row_of(item)) + "\n")
    run = ("run", "--task", "when2call", "--scenarios", "rows.jsonl", "--model", "openai-api/my-server/m", "--cassettes", "c")
    with loopback(*answers(item)) as server:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
        assert talm(*run, "--record", "--run-id", "live")[0] == 0
    monkeypatch.delenv("MY_SERVER_BASE_URL")
    assert talm(*run, "--replay", "--run-id", "again")[0] == 0
    assert [row.values["accuracy"] for name in ("live", "again") for row in load_run(name, Path("runs")).rows()] == [1, 1]


MINE = '''
from langchain_core.tools import tool

@tool
def set_proxy(url: str) -> dict:
    """Set the proxy."""
    return {"proxy": url}

tools = [set_proxy]

async def agent(messages, tools):
    return str(await tools[0].ainvoke({"url": "http://bob:tea@10.0.0.1:8080"}))
'''


@pytest.mark.usefixtures("nothing_given")
def test_your_agent_and_its_tool_get_what_the_scenario_says(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("mine_proxy.py").write_text(MINE)
    asked = {"messages": [{"role": "user", "content": f"Use {ADDRESS}."}], "gold_calls": [{"name": "set_proxy", "arguments": {"url": ADDRESS}}]}
    Path("s.jsonl").write_text(json.dumps({"id": "p", "group": "perfect", "turns": [asked], "tools": ["set_proxy"]}) + "\n")
    own = ("--agent", "mine_proxy:agent", "--tools-from", "mine_proxy:tools", "--scenarios", "s.jsonl", "--human", "none")
    assert talm("run", *own, "--live", "--run-id", "own")[0] == 0
    (one,) = load_run("own", Path("runs")).episodes()
    assert one.answer == str({"proxy": ADDRESS}) and [event.arguments for event in one.tool_events] == [{"url": ADDRESS}]
    assert "bob:tea" not in "".join(talm("show", "own:p")[1:])
