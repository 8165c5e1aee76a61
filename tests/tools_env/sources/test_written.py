"""How sources are written, what is wrong with them in one line, and sources of other packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.resolve import configure
from talm_sim.tools_env.routes import NOT_EXECUTABLE, fault_of
from talm_sim.tools_env.sources.base import SourceOptions, SourceRequest
from talm_sim.tools_env.sources.mcp import McpOptions
from talm_sim.tools_env.sources.openapi import OpenApiOptions
from talm_sim.tools_env.sources.python import PythonSource, hand_over
from talm_sim.tools_env.sources.registry import TOOL_SOURCES, open_source, read_source, register_tool_source
from talm_sim.tools_env.sources.spec_file import open_spec_list
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import ToolSpec
from tests.growth import check_growth
from tests.tools_env.sources.worlds import double


@pytest.mark.parametrize(
    ("text", "kind", "name", "place", "options"),
    [
        ("built-in", "built-in", "", "", SourceOptions()),
        ("shop.tools:all", "python", "tools", "shop.tools:all", SourceOptions()),
        ("crm=python:shop:tools", "python", "crm", "shop:tools", SourceOptions()),
        ("https://api.example.com/openapi.json", "openapi", "api_example_com", "https://api.example.com/openapi.json", OpenApiOptions()),
        ("openapi:a/pets.yaml,server=http://h:1,auth=X", "openapi", "pets", "a/pets.yaml", OpenApiOptions(server="http://h:1", auth="X")),
        ("openapi:a,b.yaml,only=x\\,y", "openapi", "a_b", "a,b.yaml", OpenApiOptions(only="x,y")),
        ("openapi:a\\,b=c.yaml", "openapi", "a_b_c", "a,b=c.yaml", OpenApiOptions()),
        ("mcp:npx -y @scope/weather-server --stdio", "mcp", "weather_server", "npx -y @scope/weather-server --stdio", McpOptions()),
        ("mcp:http://127.0.0.1:8000/mcp", "mcp", "127_0_0_1", "http://127.0.0.1:8000/mcp", McpOptions()),
        ("mcp:a b\\,c,env=X+Y", "mcp", "b_c", "a b,c", McpOptions(env="X+Y")),
        ("mcp:box --mount from=/a,to=/b,env=X", "mcp", "b", "box --mount from=/a,to=/b", McpOptions(env="X")),
        ("mcp:box --mount from=/a,env,to=/b", "mcp", "b", "box --mount from=/a,env,to=/b", McpOptions()),
        ("tools.json", "openapi", "tools", "tools.json", OpenApiOptions()),
    ],
)
def test_a_source_is_read_as_it_is_written(text: str, kind: str, name: str, place: str, options: SourceOptions) -> None:
    assert read_source(text) == (kind, SourceRequest(name, place, options))


@pytest.mark.parametrize(
    ("text", "module", "written"),
    [
        ("airline.py", "_HIDDEN = [1]\ndef search(): ...\nTOOLS = [search]\n", "airline:TOOLS"),
        ("airline", "DATA = (1,)\nclass Seat: ...\nSEATS = [Seat()]\n", "airline:OBJECT, a function or a list of tools"),
        ("airline", "HOLDS = []\nfrom x import tool\ndef f(): ...\nmine = [tool(f), f]\n", "airline:mine"),
        ("shop=airline.py", "def _private(): ...\nasync def search():\n  'Search.'\n", "airline:search"),
        ("air/line.py", "def a():\n  'A.'\ndef b():\n  'B.'\n", "air.line:OBJECT, a function or a list of tools"),
        ("airline.py", "def broken(:\n", "airline:OBJECT, a function or a list of tools"),
    ],
)
def test_of_a_module_without_an_object_it_is_said_how_to_write_it(
    text: str, module: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (Path("airline.py"), Path("air/line.py")):
        file.parent.mkdir(exist_ok=True)
        file.write_text(module, encoding="utf-8")
    with pytest.raises(PrerequisiteError) as told:
        read_source(text)
    assert str(told.value) == f"--tools-from {text}: is a Python module; write {written}."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; write [NAME=]KIND:PLACE"),
        ("built-in:x", "takes no place; write built-in"),
        ("nonsense", "no such file, folder or kind of source; write one of built-in, bfcl:..."),
        ("python:", "its place is missing; write python:PLACE"),
        ("mcp:server --api-key=abc", "contains '--api-key', which would be written into the run"),
        ("python:no_such_module:f", "python: cannot be imported: ModuleNotFoundError: No module named 'no_such_module'; install it"),
        ("python:json", "write MODULE:OBJECT, for example my_module:my_object"),
        ("python:json:dumbs", "json has no 'dumbs'. Did you mean 'dumps'?"),
        ("python:json:decoder", "decoder: is an object of type module; give functions, LangChain tools, or a class"),
        ("mcp:no-such-program-here", "there is no such program"),
        ("fail-talms:/no/such/folder", "there is no such folder"),
        ("given:abc", "pass them again"),
        ("pets.yaml,sever=http://h", ": sever: openapi has no such option. Did you mean 'server'?"),
        ("built-in,only=x", ": only: built-in has no such option."),
        ("openapi:pets.yaml,only=a,b", ": 'b' is not an option; write KEY=VALUE."),
        ("mcp:server,env=", ": env: is empty; leave it out or give it a value."),
    ],
)
async def test_what_is_wrong_is_one_line(text: str, message: str) -> None:
    if text.startswith("mcp:no"):
        pytest.importorskip("mcp")
    with pytest.raises(PrerequisiteError) as caught:
        await open_source(text)
    assert message in str(caught.value) and str(caught.value).startswith("--tools-from") and "\n" not in str(caught.value)


def _bare(a) -> int:  # type: ignore[no-untyped-def]
    """Without a hint."""
    return 1


def _many(*names: str) -> int:
    """With any number."""
    return 1


def _kept(callbacks: str, n: int) -> int:
    """With a name of LangChain's."""
    return 1


def _run(run_manager: str) -> int:
    """With another."""
    return 1


def _set(config: str) -> int:
    """With a third."""
    return 1


def _mute(a: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (_bare, "its parameter 'a' has no type hint; write one, as in a: str."),
        (_many, "its parameter 'names' cannot be passed by name, as models do; make it a keyword parameter."),
        (_kept, "its parameter 'callbacks' has a name that LangChain reserves; rename it."),
        (_run, "its parameter 'run_manager' has a name that LangChain reserves; rename it."),
        (_set, "its parameter 'config' has a name that LangChain reserves; rename it."),
        (_mute, "has no docstring; write one, because models read it as the tool's description."),
        (3, "is an object of type int; give functions, LangChain tools, or a class that is instantiated per episode."),
    ],
)
def test_what_is_no_tool_is_left_out_with_its_reason(function: Any, reason: str) -> None:
    assert PythonSource("x", [double, function]).not_taken[0].reason == reason
    with pytest.raises(PrerequisiteError, match=r"^tools: "):
        hand_over([double, function])
    tools = Tools([PythonSource("x", [double, function])])
    if callable(function):
        assert tools.explain_unknown(function.__name__) == f"tool '{function.__name__}' of source 'x' cannot be used: {reason}"


def test_a_tool_by_the_name_of_the_question_to_a_person_is_left_out_whatever_its_source() -> None:
    tools = Tools([open_spec_list("x", [{"name": "ask_human"}, {"name": "ask"}]), PythonSource("y", [double])])
    assert list(tools.specs) == ["ask", "double"]
    assert {source: [tuple(one) for one in left] for source, left in tools.not_taken().items()} == {
        "x": [("ask_human", "this name is reserved for asking the person (--human); rename the tool.")]
    }
    assert tools.explain_unknown("ask_human").startswith("tool 'ask_human' of source 'x' cannot be used: this name is reserved for asking")


def test_tools_are_handed_over_in_python_and_written_as_text() -> None:
    job = configure(None, {"tools": [double], "tools_from": "python:json:dumps"})
    first, second = job.options.tools_from
    assert first == "python:json:dumps" and second.startswith("tools=given:") and job.config.tools is None
    assert configure(None, {"tools_from": [double], "tools": "record"}).options.tools_from == (second,), "equal tools, equal text"
    with pytest.raises(PrerequisiteError, match="3: is an object of type int"):
        configure(None, {"tools": [3]})


async def test_a_list_of_tools_is_shown_and_not_executed(tmp_path: Path) -> None:
    file = tmp_path / "specs.json"
    file.write_text(json.dumps([ToolSpec(name="a").model_dump(mode="json")]), encoding="utf-8")
    for text in (f"specs:{file}", str(file)):
        tools = await open_tools([text])
        assert list(tools.specs) == ["a"]
        assert tools.unexecuted(["a"]) == {"only described": ["a"]} and not tools.shared_tools()
        assert fault_of((await tools.call("a", {}))[0]) == NOT_EXECUTABLE
    for wrong, message in (
        ([], "is not a list of tools"),
        ([{}], "tool 1: name: is missing"),
        ([{"name": "a"}] * 2, "is used twice"),
        ([{"name": "a", "parameters": {"type": 1}}], "tool 1: a: its schema"),
    ):
        with pytest.raises(PrerequisiteError, match=message):
            open_spec_list("x", wrong)


async def test_a_kind_of_ones_own_is_one_decorator(monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("_registered", "_modules"):
        monkeypatch.setattr(TOOL_SOURCES, store, dict(getattr(TOOL_SOURCES, store)))

    class CountingOptions(SourceOptions):
        offset: int = Field(0, ge=0)
        word: Literal["a", "b"] = "a"

    @register_tool_source("counting", options=CountingOptions)
    async def open_counting(request: SourceRequest) -> PythonSource:
        return PythonSource(request.name, [double] * (int(request.place) - request.options.offset))

    tools = await open_tools(["counting:3,offset=2,word=b"])
    assert (list(tools.specs), tools.source_of("double")) == (["double"], "3")
    assert TOOL_SOURCES.group == "talm_sim.tool_sources"
    for written, told in (
        ("ofset=2", "ofset: counting has no such option. Did you mean 'offset'?"),
        ("offset=two", "offset: 'two' is not a whole number."),
        ("offset=-1", "offset: -1 is too small; the least is 0."),
        ("word=c", "word: 'c' is not one of 'a' or 'b'."),
    ):
        with pytest.raises(PrerequisiteError) as refused:
            configure(None, {"tools_from": f"counting:3,{written}"})
        assert str(refused.value) == f"--tools-from: counting:3,{written}: {told}"


@pytest.mark.parametrize("piece", [",env=a", ",only=\\,", "\\,", ",a"])
def test_a_long_source_is_read_in_step_with_its_length(piece: str) -> None:
    check_growth(read_source, lambda size: f"mcp:x{piece * (size // len(piece))}", 2**15)
