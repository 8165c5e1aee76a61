"""StableToolBench's queries as scenarios."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.awareness.making.loaded import tool_names
from talm_sim.tasks.awareness.making.toolbench import LONGEST_NAME, load_toolbench
from talm_sim.types import YesNo

API = {
    "category_name": "Data",
    "tool_name": "You Tube/Search",
    "api_name": "Search!",
    "api_description": " Make a search\n",
    "required_parameters": [{"name": "query", "type": "STRING", "description": "words", "default": ""}],
    "optional_parameters": [{"name": "safe", "type": "BOOLEAN", "description": "", "default": "false"}],
    "method": "GET",
    "template_response": {"results": []},
}
OTHER = API | {"api_name": "Playlist", "required_parameters": []}
QUERY = {"query_id": 7, "query": "Find a song.", "api_list": [API, OTHER], "relevant APIs": [["You Tube/Search", "Search!"]]}


def write(folder: Path, *queries: Any, name: str = "G1.json") -> Path:
    path = folder / "solvable_queries" / "test_instruction" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(queries)), encoding="utf-8")
    return folder


def test_a_query_becomes_a_scenario(tmp_path: Path) -> None:
    loaded = load_toolbench(write(tmp_path, QUERY))
    assert loaded.problems == ()
    (scenario,) = loaded.scenarios
    assert (scenario.id, scenario.query, scenario.gold_calls) == ("stabletoolbench.7", "Find a song.", ())
    assert tool_names(scenario) == ("You_Tube_Search_Search", "You_Tube_Search_Playlist")
    assert isinstance(scenario.target, YesNo)
    assert scenario.target.relevant == ("You_Tube_Search_Search",)
    assert json.loads(scenario.shown_tools[0]) == {
        "name": "You_Tube_Search_Search",
        "category": "Data",
        "tool": "You Tube/Search",
        "api": "Search!",
        "description": "Make a search",
        "parameters": {
            "type": "object",
            "properties": {"safe": {"type": "boolean", "default": "false"}, "query": {"type": "string", "description": "words"}},
            "required": ["query"],
        },
        "response": {"results": []},
    }
    assert scenario.source.url.endswith("test_instruction/G1.json")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"relevant APIs": []}, "names no API that the request needs; add one, or leave the instance out."),
        (
            {"relevant APIs": [["You Tube/Search", "Else"]]},
            "relevant APIs.0: is not a [tool_name, api_name] of api_list; name one that is listed.",
        ),
        ({"api_list": "[{"}, "api_list: is not JSON (Expecting property name enclosed in double quotes at column 3); write a list of objects."),
        ({"api_list": {}}, "api_list: is not a list; write a list of objects."),
        ({"api_list": [3]}, "api_list.0: has no tool_name and api_name; write both as texts."),
        ({"query": " "}, "query: is not text; write what the user asks."),
    ],
)
def test_what_is_broken_is_named_and_the_rest_goes_on(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    loaded = load_toolbench(write(tmp_path, QUERY | change, QUERY | {"query_id": 8}))
    assert [scenario.id for scenario in loaded.scenarios] == ["stabletoolbench.8"]
    assert [str(problem) for problem in loaded.problems] == [f"{tmp_path}/solvable_queries/test_instruction/G1.json, query_id 7: {fault}"]


def test_an_id_used_twice_and_a_file_that_is_no_list(tmp_path: Path) -> None:
    write(tmp_path, QUERY, QUERY)
    (tmp_path / "solvable_queries" / "test_instruction" / "G2.json").write_text("{}")
    loaded = load_toolbench(tmp_path)
    assert len(loaded.scenarios) == 1
    assert [problem.fault for problem in loaded.problems] == [
        f"query_id: is also used in {tmp_path}/solvable_queries/test_instruction/G1.json, query_id 7; ids must be unique.",
        "is not a list of queries.",
    ]


def test_a_folder_without_queries(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="contains no queries"):
        load_toolbench(tmp_path)


@given(st.lists(st.tuples(st.text(max_size=90), st.text(max_size=90)), min_size=1, max_size=6))
def test_apis_of_any_name_can_be_called_and_told_apart(tmp_path_factory: pytest.TempPathFactory, names: list[tuple[str, str]]) -> None:
    apis = [API | {"tool_name": one, "api_name": other} for one, other in names]
    loaded = load_toolbench(write(tmp_path_factory.mktemp("bench"), QUERY | {"api_list": apis, "relevant APIs": [list(names[0])]}))
    for scenario in loaded.scenarios:
        found = tool_names(scenario)
        assert len(set(found)) == len(set(names))
        assert all(re.fullmatch(rf"\w{{1,{LONGEST_NAME}}}", name, re.ASCII) for name in found)


@pytest.mark.bench_data
def test_the_published_queries(bench_data: Path) -> None:
    loaded = load_toolbench(bench_data / "stabletoolbench")
    assert (len(loaded.scenarios), loaded.problems) == (765, ())
