"""A run over a source with half a character in every place ends, and is told, shown and written like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.wrong import Talm
from tests.models.loopback import Answer, loopback

HALF = "\ud800"
BODIES = {"/half": b'{"a": "\\ud800"}', "/half_key": b'{"\\udfff": 1}', "/half_error": b'{"detail": "\\ud83d!"}', "/half_text": b'"\\ud83d"'}
AGENT = """
async def act(messages, tools):
    said = []
    for tool in tools:
        try:
            said.append(str(await tool.ainvoke({})))
        except Exception as err:
            said.append(str(err))
    return f"42 after {len(said)}: {said}"
"""


@pytest.fixture
def address() -> Iterator[str]:
    with loopback() as server:
        server.reply = lambda seen: Answer(BODIES.get(seen.path, b'{"value": 42}'), 500 if seen.path == "/half_error" else 200)
        yield server.url


@pytest.fixture
def world(nothing_given: None, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A document, scenarios and an agent; the options that name them."""
    paths: dict[str, Any] = {path: {"get": {"operationId": path[1:], "summary": "s", "responses": {}}} for path in ("/fine", *BODIES)}
    odd = {"name": "q", "in": "query", "schema": {"type": "string", "default": HALF}}
    paths["/odd"] = {"get": {"operationId": "odd", "summary": "s", "parameters": [odd], "responses": {}}}
    document = {"openapi": "3.1.0", "info": {}, "servers": [{"url": address}], "paths": paths}
    Path("odd.json").write_text(json.dumps(document), encoding="utf-8")
    scenario = {
        "turns": [{"messages": [{"role": "user", "content": "Go."}]}],
        "group": "perfect",
        "tools": ["fine", *(one[1:] for one in BODIES)],
        "target": {"type": "facts", "required": [{"name": "v", "value": 42}]},
    }
    lines = [json.dumps({"id": f"s{number}", **scenario}) for number in range(3)]
    Path("odd.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("half_agents.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return ["--tools-from", "odd.json", "--scenarios", "odd.jsonl", "--agent", "half_agents:act"]


def test_a_run_over_it(talm: Talm, world: list[str]) -> None:
    code, out, err = talm("run", *world, "--run-id", "r")
    assert code == 0 and "Traceback" not in err, err
    for words in (["report", "r"], ["report", "r", "--csv"], ["report", "r", "--html", "r.html"], ["report", "r", "--json"], ["show", "r:s0"]):
        code, out, err = talm(*words)
        assert code == 0, (words, err)
        (out + err).encode()
    assert "http_500" in out
    Path("r.html").read_text(encoding="utf-8")


def test_the_tools_of_it(talm: Talm, world: list[str]) -> None:
    code, out, err = talm("tools", "list", "--tools-from", "odd.json")
    assert code == 0 and "GET /odd: half a surrogate pair" in err and "5 tools" in err
    for more in ([], ["--json"]):
        code, out, err = talm("tools", "check", "--tools-from", "odd.json", "--times", "1", *more)
        assert code == 1 and "4 up, 1 down" in err
        (out + err).encode()


def test_a_scenario_that_wants_it_is_told_why_not(talm: Talm, world: list[str]) -> None:
    text = Path("odd.jsonl").read_text(encoding="utf-8").replace('"fine"', '"GET /odd"')
    Path("odd.jsonl").write_text(text, encoding="utf-8")
    code, _, err = talm("run", *world)
    assert code == 2 and "cannot be used: half a surrogate pair" in err
