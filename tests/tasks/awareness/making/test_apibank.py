"""API-Bank's dialogues and StableToolBench's queries as scenarios."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.scenarios.statistics import statistics_of
from talm_sim.tasks.awareness.making.apibank import load_apibank
from talm_sim.tasks.awareness.making.loaded import tool_names
from talm_sim.tasks.awareness.making.toolbench import LONGEST_NAME, load_toolbench
from talm_sim.types import YesNo
from tests.tables import labelled
from tests.tasks.awareness.making.made import called, said, write_apibank

CATALOGUE = (
    "1,GetUserToken,\"description = 'Get a token'\ninput_parameters = {'username': {'type': 'str'}, 'password': {'type': 'str'}}\"\n"
    "2,QueryBalance,\"description = 'Balance'\ninput_parameters = {'account': {'type': 'str', 'description': 'An account.'}}\"\n"
)
DIALOGUE = [
    said("User", "What is my balance?"),
    said("AI", "Who are you?"),
    said("User", "I'm foo, with password bar."),
    said("AI", "One moment."),
    called("GetUserToken", {"token": "t1"}, username="foo", password="bar"),
    said("AI", "I have your token."),
    called("QueryBalance", {"balance": 3}, token="t1"),
    said("AI", "It is 3."),
]


def test_each_call_is_an_instance_that_ends_before_the_assistant_speaks(tmp_path: Path) -> None:
    loaded = load_apibank(write_apibank(tmp_path, DIALOGUE, catalogue=CATALOGUE))
    assert loaded.problems == ()
    first, second = loaded.scenarios
    assert (first.id, second.id) == ("apibank.D-level-1-1.1", "apibank.D-level-1-1.2")
    assert first.query == "I'm foo, with password bar."
    assert [message["role"] for turn in first.turns for message in turn.messages] == ["user", "assistant", "user"]
    assert tool_names(first) == tool_names(second) == ("GetUserToken", "QueryBalance")
    assert first.gold_calls[0].arguments == {"username": "foo", "password": "bar"}
    assert (first.gold_calls[0].result, second.gold_calls[0].result) == ('{"token": "t1"}', '{"balance": 3}')
    *_, call, result = second.turns[-1].messages
    assert call == {
        "role": "assistant",
        "content": "One moment.",
        "tool_calls": [{"id": "call_4", "name": "GetUserToken", "arguments": first.gold_calls[0].arguments}],
    }
    assert result == {"role": "tool", "content": '{"token": "t1"}', "tool_call_id": "call_4"}
    assert second.source.licence == "Apache-2.0"


def test_what_the_tool_search_says_comes_before_the_draft_and_the_code_before_both(tmp_path: Path) -> None:
    found = [{"name": "QueryBalance", "description": "Found", "input_parameters": {"token": {"type": "str"}}}]
    folder = write_apibank(tmp_path, [*DIALOGUE[:5], called("ToolSearcher", found), *DIALOGUE[5:]], catalogue=CATALOGUE)
    second = load_apibank(folder).scenarios[1]
    assert json.loads(second.shown_tools[1])["description"] == "Found"
    assert "ToolSearcher" not in str(second)
    (folder / "apis").mkdir()
    code = "raise SystemExit\nclass QueryBalance(API):\n    description = 'Code'\n    input_parameters = {'token': {'type': 'str'}}\n"
    (folder / "apis" / "query_balance.py").write_text(code)
    assert json.loads(load_apibank(folder).scenarios[1].shown_tools[1])["description"] == "Code"


def test_a_dialogue_that_asks_for_what_its_apis_do_not_do_has_no_instance(tmp_path: Path) -> None:
    folder = write_apibank(tmp_path, DIALOGUE, DIALOGUE, catalogue=CATALOGUE)
    known = folder / "lv1-lv2-samples" / "level-1-given-desc"
    (known / "D-level-1-2.jsonl").rename(known / "QueryReminder-level-3-1.jsonl")
    loaded = load_apibank(folder)
    assert [one.id for one in loaded.scenarios] == ["apibank.D-level-1-1.1", "apibank.D-level-1-1.2"]
    faults = {(Path(one.where).name, one.fault) for one in loaded.problems}
    fault = "the user asks to set a reminder, and no API of the dialogue sets one; the instance is not complete."
    assert faults == {(f"QueryReminder-level-3-1.jsonl:{line}", fault) for line in (5, 7)}


@pytest.mark.parametrize(
    ("dialogue", "line", "fault"),
    [
        ([said("User", "Hi"), {"role": "API", "param_dict": {}}], 2, "api_name: names no API; its dialogue is left out."),
        ([said("User", "Hi"), called("X"), {"role": "Nobody"}], 3, "role: is neither User, AI nor API; its dialogue is left out."),
        ([said("User", "Hi"), called("NoSuch")], 2, "nothing describes API 'NoSuch', which the dialogue calls; add it to data/all_apis.csv."),
        ([said("AI", "Hi"), called("QueryBalance")], 2, "contains no user message; begin the conversation with the user."),
    ],
)
def test_what_is_broken_is_named_and_the_rest_goes_on(tmp_path: Path, dialogue: list[dict[str, object]], line: int, fault: str) -> None:
    folder = write_apibank(tmp_path, dialogue, DIALOGUE, catalogue=CATALOGUE)
    loaded = load_apibank(folder)
    assert [scenario.id for scenario in loaded.scenarios] == ["apibank.D-level-1-2.1", "apibank.D-level-1-2.2"]
    (problem,) = loaded.problems
    assert str(problem) == f"{folder}/lv1-lv2-samples/level-1-given-desc/D-level-1-1.jsonl:{line}: {fault}"


def test_a_line_that_is_not_json_and_a_catalogue_that_is_missing(tmp_path: Path) -> None:
    folder = write_apibank(tmp_path, DIALOGUE, catalogue=CATALOGUE)
    broken = folder / "lv1-lv2-samples" / "level-1-given-desc" / "E.jsonl"
    broken.write_text('{"role": "User", "text": "Hi"}\n{"role": ')
    loaded = load_apibank(folder)
    assert len(loaded.scenarios) == 2
    assert str(loaded.problems[0]) == f"{broken}:2: not JSON (Expecting value at column 10); its dialogue is left out."
    (folder / "data" / "all_apis.csv").unlink()
    assert "APIs that no dialogue searched for have no description" in str(load_apibank(folder).problems[1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text("ab", max_size=3), lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
ROW = st.one_of(
    st.builds(lambda role, text: {"role": role, "text": text}, st.sampled_from(["User", "AI", "API", "Else", None]), JSON),
    st.builds(
        lambda name, given, result: {"role": "API", "api_name": name, "param_dict": given, "result": result},
        JSON,
        st.dictionaries(st.sampled_from(["token", "a"]), JSON) | JSON,
        JSON,
    ),
    JSON,
)


@settings(max_examples=50)
@given(st.lists(ROW, max_size=6))
def test_whatever_stands_in_a_file_gives_scenarios_or_named_problems(tmp_path_factory: pytest.TempPathFactory, rows: list[object]) -> None:
    folder = tmp_path_factory.mktemp("apibank")
    loaded = load_apibank(write_apibank(folder, rows, catalogue=CATALOGUE))  # type: ignore[arg-type]
    assert all(scenario.turns[-1].messages[-1]["role"] != "assistant" for scenario in loaded.scenarios)
    assert all("D-level-1-1.jsonl" in problem.where for problem in loaded.problems)


@pytest.mark.bench_data
def test_the_published_dialogues(bench_data: Path) -> None:
    loaded = load_apibank(bench_data / "apibank")
    assert len(loaded.scenarios) == 447
    unsaid = [problem for problem in loaded.problems if "said nowhere" in problem.fault]
    assert sum("'health_data'" in problem.fault for problem in unsaid) == 2
    unserved = {
        Path(problem.where.rpartition(":")[0]).stem for problem in loaded.problems if "no API of the dialogue sets one" in problem.fault
    }
    assert unserved == {"DeleteReminder-level-3-1", "QueryReminder-level-3-1", "QueryReminder-level-3-2"}
    assert (len(unsaid), len(loaded.problems)) == (11, 17)
    (row,) = statistics_of(loaded.scenarios)
    # Table 1 has 6.18 turns and 2.13 APIs, of 423 manipulated ones.
    assert (round(row.turns, 2), round(row.apis, 2)) == (6.22, 2.1)
    assert sum(scenario.turns[-1].messages[-1]["role"] == "user" for scenario in loaded.scenarios) == 392


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


@labelled
def test_what_is_broken_is_named_and_the_rest_goes_on_toolbench(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
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


@settings(max_examples=30)
@given(st.lists(st.tuples(st.text(max_size=90), st.text(max_size=90)), min_size=1, max_size=6))
def test_apis_of_any_name_can_be_called_and_told_apart(tmp_path_factory: pytest.TempPathFactory, names: list[tuple[str, str]]) -> None:
    apis = [API | {"tool_name": one, "api_name": other} for one, other in names]
    loaded = load_toolbench(write(tmp_path_factory.mktemp("bench"), QUERY | {"api_list": apis, "relevant APIs": [list(names[0])]}))
    for scenario in loaded.scenarios:
        found = tool_names(scenario)
        assert len(set(found)) == len(set(names))
        assert all(re.fullmatch(rf"\w{{1,{LONGEST_NAME}}}", name, re.ASCII) for name in found)
