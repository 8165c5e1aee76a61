"""Table 1's shape."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talm_sim.scenarios.statistics import Likeness, Statistics, likeness_of, statistics_of
from talm_sim.tasks import find_task
from talm_sim.tasks.awareness.making.apibank import load_apibank
from talm_sim.tasks.awareness.making.loaded import complete_scenario
from talm_sim.tasks.awareness.making.toolbench import api_spec, load_toolbench
from talm_sim.tasks.paper.published import published
from talm_sim.types import Source
from tests.tasks.awareness.making.made import BALANCE, STOCK, asked

STOCK_AS_WRITTEN = {
    "name": "QueryStock",
    "description": "Stock price of a company on a date",
    "input_parameters": {"stock_code": {"type": "str", "description": ""}, "date": {"type": "str", "description": ""}},
    "output_parameters": {},
}
BALANCE_AS_WRITTEN = {
    "name": "QueryBalance",
    "description": "Balance of an account",
    "input_parameters": {"token": {"type": "str", "description": ""}},
    "output_parameters": {},
}


def test_each_source_and_group_is_counted() -> None:
    call = {"id": "c", "name": "QueryStock", "arguments": {"code": "SQ"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one, two three!"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "{}", "tool_call_id": "c"},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "four"},
    ]
    long = complete_scenario("a", messages, [STOCK, BALANCE], ["QueryStock"], Source(name="made"))
    short = asked("five six", tools=[STOCK])
    other = short.model_copy(update={"group": "removed"})
    # Words: 5; [QueryStock(code='SQ')]->{} is 14; 2; 1; and 2 of the other.
    sizes = [len(json.dumps(api)) for api in (STOCK_AS_WRITTEN, BALANCE_AS_WRITTEN)]
    assert statistics_of([long, short, other]) == [
        Statistics("made", "complete", 2, turns=2.5, apis=1.5, utterance_words=24 / 5, api_length=(2 * sizes[0] + sizes[1]) / 3),
        Statistics("made", "removed", 1, turns=1.0, apis=1.0, utterance_words=2.0, api_length=float(sizes[0])),
    ]
    assert statistics_of([]) == []


def test_an_api_of_toolbench_is_written_as_toolbench_writes_it() -> None:
    api = {
        "category_name": "Data",
        "tool_name": "Desk",
        "api_name": "Get it",
        "api_description": "Gets it",
        "required_parameters": [{"name": "who", "type": "STRING", "description": "whom", "default": ""}],
        "optional_parameters": [{"name": "size", "type": "NUMBER", "description": "", "default": "500"}],
    }
    shown = json.dumps(api_spec("Desk_Get_it", api))
    (row,) = statistics_of([asked("five six", tools=[STOCK]).model_copy(update={"shown_tools": (shown,)})])
    assert row.api_length == len(json.dumps(api))


def test_what_is_in_no_known_form_has_the_length_it_is_shown_with() -> None:
    (row,) = statistics_of([asked("five six", tools=[STOCK]).model_copy(update={"shown_tools": ("find(city)", "[1]")})])
    assert row.api_length == (len("find(city)") + len("[1]")) / 2


@pytest.mark.bench_data
def test_the_studys_sources_come_near_its_table(bench_data: Path) -> None:
    loaded = (load_apibank(bench_data / "apibank"), load_toolbench(bench_data / "stabletoolbench"))
    for one, data in zip(statistics_of([one for source in loaded for one in source.scenarios]), ("APIBank", "ToolBench"), strict=True):
        published_column = {row.keys[0]: row.values[f"API Replacement, {data}"] for row in published("incomplete-conditions", 1).rows}
        assert one.utterance_words == pytest.approx(published_column["Avg. Uttr. Words"], rel=0.02)
        assert one.api_length == pytest.approx(published_column["Avg. API Length"], rel=0.06)


@pytest.mark.parametrize(("source", "data"), [("apibank", "APIBank"), ("toolbench", "ToolBench"), ("stabletoolbench", "ToolBench")])
def test_the_papers_column_is_of_the_same_data_and_manipulation(source: str, data: str) -> None:
    (counted,) = statistics_of([asked("five six").model_copy(update={"group": "removed", "source": Source(name=source)})])
    paper = find_task("awareness").published_statistics(counted)
    expected = {
        "APIBank": Statistics("published: Table 1, APIBank", "removed", 304, 5.18, 2.05, 18.87, 443.38),
        "ToolBench": Statistics("published: Table 1, ToolBench", "removed", 406, 1, 5.51, 51.15, 747.53),
    }
    assert paper == expected[data]
    assert find_task("awareness").published_statistics(replace(counted, group="complete")) is None
    assert find_task("awareness").published_statistics(replace(counted, source="mine")) is None
    assert find_task("refusal").published_statistics(counted) is None


def test_tools_offered_by_name_count_and_have_no_length() -> None:
    bare = asked("five six", tools=[STOCK]).model_copy(update={"shown_tools": (), "tools": ("a", "b")})
    (row,) = statistics_of([bare])
    assert (row.apis, row.api_length) == (2.0, None)


BENCH = Path(os.environ.get("TALM_SIM_BENCH_DATA", "absent")) / "failtalms" / "benchmark"
PUBLISHED = {"first_words": {"can": 3, "what": 1}, "lengths": {"3": 2, "5": 2}}


@pytest.mark.parametrize(
    ("queries", "first_words", "lengths"),
    [
        (["Can you help?", "Can I sit?", "can we all do it", "What is it you do"], 0.0, 0.0),
        (["Why is it so?"] * 4, 1.0, 0.5),
        (["Can you come?", "Why do we all go?"], 0.5, 0.0),
        (["I'd go", "What's up"], 1.0, 1.0),
    ],
)
def test_distances_are_those_computed_by_hand(queries: list[str], first_words: float, lengths: float) -> None:
    found = likeness_of(queries, PUBLISHED)
    assert found.first_words == pytest.approx(first_words) and found.lengths == pytest.approx(lengths)


@pytest.mark.bench_data
@pytest.mark.skipif(not BENCH.is_dir(), reason="TALM_SIM_BENCH_DATA names no directory")
@pytest.mark.parametrize(("group", "name"), [("perfect", "Original"), ("underspecified", "Underspecified")])
def test_the_counts_are_of_the_authors_own_files(group: str, name: str) -> None:
    queries = [one["query"] for one in json.loads((BENCH / name / f"all_{name}_queries.json").read_text(encoding="utf-8"))]
    published = json.loads((find_task("talm").published_queries or Path()).read_text(encoding="utf-8"))[group]
    assert sum(published["lengths"].values()) == len(queries) == {"perfect": 575, "underspecified": 599}[group]
    assert Counter(re.findall(r"[\w']+", query.lower())[0] for query in queries) == published["first_words"]
    assert likeness_of(queries, published) == Likeness(0.0, 0.0)
