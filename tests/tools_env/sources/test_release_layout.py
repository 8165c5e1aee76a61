"""A folder in the layout of the Fail-TaLMs release: `CATEGORY/TOOL.json` beside `CATEGORY/TOOL/api.py`, whose code asks a host."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import Traffic
from talm_sim.errors import ToolError
from talm_sim.recordings import CassetteLibrary
from talm_sim.tasks.talm.published import read_queries
from talm_sim.tools_env.caller import ToolCaller
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources.fail_talms import ToolFolder, open_fail_talms
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.tools_env.toolbox import Tools
from talm_sim.tools_env.trial_arguments import example_arguments
from talm_sim.types import Origin, Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.sources.worlds import folder_request

walled = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
_QUERIES = 50
_WITHOUT_CODE = "pokemontcg copy"
"""The one file of the release beside which there is no code; it describes the tools of another file again."""
_TURN = Turn(messages=({"role": "user", "content": "Find it."},))
_SHOP = {"name": "find", "description": "Find.", "required_parameters": [{"name": "word", "type": "STRING"}], "method": "GET"}


class _Host(BaseHTTPRequestHandler):
    """Answers with the path that it was asked for; it listens to this machine alone."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = json.dumps({"asked": self.path}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@contextmanager
def _host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Host)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _write_tool(top: Path, place: str, functions: Sequence[Mapping[str, Any]], code: str | None, tool: str = "") -> None:
    file = top / f"{place}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"tool_name": tool or file.stem, "api_list": [*functions]}), encoding="utf-8")
    if code is not None:
        file.with_suffix("").mkdir()
        (file.with_suffix("") / "api.py").write_text(code, encoding="utf-8")


def _asking_code(url: str, tool: str, functions: Sequence[Mapping[str, Any]]) -> str:
    """Code as the release has it: each function asks a host with `requests` and gives back what that says."""
    lines = ["import requests", ""]
    for one in functions:
        lines += [f"def {one['name']}(**given):", f"    return requests.get('{url}/{tool}/{one['name']}', timeout=5).json()", ""]
    return "\n".join(lines)


async def _called(tools: Tools, name: str, arguments: dict[str, Any], player: Any = None) -> ToolEvent:
    opened = Environment(tools).open(Scenario(id="s", group="perfect", turns=(_TURN,), tools=(name,)), player=player)
    return await opened.call(ToolCall(id="1", name=name, arguments=arguments), 0)


async def _called_all(tools: Tools, names: Sequence[str]) -> list[ToolEvent]:
    gate = asyncio.Semaphore(4)

    async def called(name: str) -> ToolEvent:
        async with gate:
            return await _called(tools, name, example_arguments(tools.specs[name]).arguments)

    return await asyncio.gather(*map(called, names))


@walled
async def test_equal_names_in_other_tools_and_categories_are_told_apart(tmp_path: Path) -> None:
    places = ("Food/shop", "Games/shop", "Games/fair", "Art/copy")
    for place in places:
        _write_tool(tmp_path, place, [_SHOP], f"def find(word):\n    return '{place}'\n")
    source = await open_fail_talms(folder_request(tmp_path, trusted=True))
    assert {name: json.loads((await source.call(name, {"word": "x"}, "")).body) for name in source.specs} == {
        "copy_find": "Art/copy",
        "fair_find": "Games/fair",
        "food_shop_find": "Food/shop",
        "games_shop_find": "Games/shop",
    }
    assert not source.not_taken and not source.described


@walled
async def test_of_a_tool_that_is_described_twice_the_one_with_code_is_taken(tmp_path: Path) -> None:
    """The release has `pokemontcg copy.json` beside `pokemontcg.json`; only the second has code, and it comes last."""
    _write_tool(tmp_path, "Games/cards copy", [_SHOP], None, tool="cards")
    _write_tool(tmp_path, "Games/cards", [_SHOP], "def find(word):\n    return word\n")
    source = await open_fail_talms(folder_request(tmp_path, trusted=True))
    assert json.loads((await source.call("find", {"word": "x"}, "")).body) == "x"
    assert [tuple(one) for one in source.not_taken] == [("Games/cards copy.json, find", "the name 'find' is used twice.")]


def test_a_tool_is_called_as_its_file_as_queries_call_it(tmp_path: Path) -> None:
    """The release's `jobicy.json` says that its tool is `remotejobs`."""
    _write_tool(tmp_path, "Jobs/jobicy", [_SHOP], None, tool="remotejobs")
    _write_tool(tmp_path, "Jobs/other", [_SHOP], None)
    assert sorted(ToolFolder("x", tmp_path).specs) == ["jobicy_find", "other_find"]


@walled
async def test_what_cannot_be_executed_is_described_with_the_reason(tmp_path: Path) -> None:
    needs = "import json, nosuchpackage.part\nfrom nosuchpackage import thing\ndef {0}(word):\n    return word\n"
    _write_tool(tmp_path, "Food/one", [{**_SHOP, "name": "first"}], needs.format("first"))
    _write_tool(tmp_path, "Food/two", [{**_SHOP, "name": "second"}], needs.format("second"))
    _write_tool(tmp_path, "Food/bare", [{**_SHOP, "name": "third"}], None)
    _write_tool(tmp_path, "Food/other", [{**_SHOP, "name": "fourth"}], "def fifth(word):\n    return word\n")
    optional = "try:\n    import nosuchpackage\nexcept ImportError:\n    pass\nimport helper\ndef sixth(word):\n    return helper.say(word)\n"
    _write_tool(tmp_path, "Food/six", [{**_SHOP, "name": "sixth"}], optional)
    (tmp_path / "Food" / "six" / "helper.py").write_text("def say(word):\n    return word.upper()\n", encoding="utf-8")
    _write_tool(tmp_path, "Food/broken", [{**_SHOP, "name": "seventh"}], "def seventh(:\n")
    tools = Tools([await open_fail_talms(folder_request(tmp_path, trusted=True))])
    assert tools.unexecuted(tools.specs) == {
        "it has no code": ["third"],
        "its code has no such function": ["fourth"],
        "module 'nosuchpackage' is not installed": ["first", "second"],
    }
    assert (await _called(tools, "sixth", {"word": "x"})).result == "X"
    broken = await _called(tools, "seventh", {"word": "x"})
    assert (broken.error, broken.status) == ("http_500", 500) and "SyntaxError" in broken.result
    (tmp_path / "Geo" / "bare").mkdir(parents=True)
    (tmp_path / "Geo" / "bare" / "api.py").write_text("def eighth():\n    return 8\n", encoding="utf-8")
    assert [tuple(one) for one in ToolFolder("x", tmp_path).not_taken] == [("Geo/bare/api.py", "no file describes its functions.")]
    assert not tools.shared_tools(), "a tool that nothing executes changes nothing"


async def test_a_call_that_nothing_executes_is_a_failed_call_that_the_model_reads_and_a_replay_repeats(tmp_path: Path) -> None:
    _write_tool(tmp_path / "tools", "Food/shop", [_SHOP], None)
    library = CassetteLibrary(tmp_path / "recorded")
    tools = Tools([await open_fail_talms(folder_request(tmp_path / "tools"))])
    player = library.open_tools("s", "perfect", Traffic.RECORD)
    event = await _called(tools, "find", {"word": "x"}, player)
    player.save()
    library.save_tools(tools.specs, tools.routes)
    assert (event.ok, event.error, event.status, event.origin) == (False, "not_executable", None, Origin.LIVE)
    assert json.loads(event.result) == {"error": "This tool cannot be executed here."}
    assert (await _called(tools, "find", {})).error == "invalid_arguments", "its schema is checked all the same"
    again = CassetteLibrary(tmp_path / "recorded")
    replayed = await _called(Tools(recorded=again.tools()), "find", {"word": "x"}, again.open_tools("s", "perfect", Traffic.REPLAY))
    assert replayed.model_dump(exclude={"elapsed_ms", "origin"}) == event.model_dump(exclude={"elapsed_ms", "origin"})


def test_a_single_call_says_that_nothing_executes_it(tmp_path: Path) -> None:
    _write_tool(tmp_path, "Food/shop", [_SHOP], None)
    with ToolCaller((f"fail-talms:{tmp_path}",)) as call, pytest.raises(ToolError, match=r"^find: it cannot be executed here\.$") as caught:
        call("find", {"word": "x"})
    assert caught.value.code == "not_executable"


def test_with_a_network_only_what_is_described_as_get_counts_as_reading(tmp_path: Path) -> None:
    methods = {"first": "get", "second": "POST", "third": "GET or POST"}
    described = [{**_SHOP, "name": name, "method": method} for name, method in methods.items()] + [{"name": "fourth"}]
    _write_tool(tmp_path, "Food/shop", described, "from elsewhere import *\n")
    assert ToolFolder("x", tmp_path, network=True).reading == {"first"}
    assert ToolFolder("x", tmp_path).reading == {"first", "second", "third", "fourth"}


@walled
@pytest.mark.bench_data
async def test_the_tools_of_published_queries_run_where_they_have_a_network(bench_data: Path, tmp_path: Path) -> None:
    """The tools of 50 perfect queries, with the published descriptions and code of ours that asks a host on this machine."""
    release = bench_data / "failtalms"
    queries = [one for one in read_queries(release) if one.group == "perfect"]
    queries = queries[:: len(queries) // _QUERIES][:_QUERIES]
    with _host() as url:
        for file in (release / "tools").rglob("*.json"):
            published = json.loads(file.read_text(encoding="utf-8"))
            code = None if file.stem == _WITHOUT_CODE else _asking_code(url, file.stem, published["api_list"])
            _write_tool(tmp_path, f"{file.parent.name}/{file.stem}", published["api_list"], code, tool=published["tool_name"])
        networked, walled_in = [
            Tools([await open_fail_talms(folder_request(tmp_path, trusted=True, network=network))]) for network in ("on", "off")
        ]
        assert networked.networked() == ["numbers"] and not walled_in.networked()
        assert len(networked.specs) == 857 and not networked.unexecuted(networked.specs)
        assert all(networked.specs.keys() >= {*query.tools} for query in read_queries(release)), "all queries find their tools here"
        names = sorted({name for query in queries for name in query.tools})
        assert (len(queries), len(names) > _QUERIES) == (_QUERIES, True)
        asked = await _called_all(networked, names)
        assert all(event.ok for event in asked), [event.result for event in asked if not event.ok][:1]
        paths = [json.loads(event.result)["asked"] for event in asked]
        assert all(path.rpartition("/")[2] in name for name, path in zip(names, paths, strict=True))
        assert len({*paths}) == len(names), "each is another function of another tool"
        for event in await _called_all(walled_in, names):
            assert (event.ok, event.error) == (False, "http_500") and "Connection refused" in event.result
