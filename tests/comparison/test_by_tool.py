"""The table by tool of a run made by hand, and one of a played run counted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.comparison.by_tool import ToolTable, tool_table
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.stats import wilson
from talm_sim.types import Calls, Episode, GoldCall, Measure, Scenario, Termination, ToolEvent, Turn, episode_id
from tests.runs.stored import store
from tests.tasks.refusal.crafted import answered, calls, case

HEIGHT, DEPTH = GoldCall(name="height", arguments={"of": "K2"}), GoldCall(name="depth", arguments={"of": "Baikal"})


def scenario(name: str, *gold: GoldCall) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "How high?"},), gold_calls=gold)
    return Scenario(id=name, group="perfect", turns=(turn,), tools=("height", "depth", "guess"))


def event(tool: str, of: str = "K2", error: str = "") -> ToolEvent:
    return ToolEvent(turn=0, call_id="1", name=tool, arguments={"of": of}, ok=not error, error=error)


def episode(of: str, *events: ToolEvent, epoch: int = 1, termination: Termination = Termination.ANSWERED) -> Episode:
    return Episode(id=episode_id(of, epoch), scenario_id=of, group="perfect", epoch=epoch, model="m/m", events=events, termination=termination)


def figure(table: ToolTable, tool: str, name: str) -> Measure:
    summary = next(one for one in table.summaries if one.group == tool)
    found = summary.measure(name)
    assert found is not None
    return found


def counts(table: ToolTable, tool: str) -> dict[str, Any]:
    rates = {name: figure(table, tool, name) for name in ("called", "arguments", "replaced", "failed")}
    return {name: (one.k, one.n) for name, one in rates.items()} | {name: figure(table, tool, name).value for name in ("wanted", "calls")}


def test_gold_calls_and_calls_are_counted_by_tool_over_epochs(tmp_path: Path) -> None:
    scenarios = [scenario("a", HEIGHT), scenario("b", HEIGHT, DEPTH), scenario("c", HEIGHT), scenario("free"), scenario("lost", HEIGHT)]
    episodes = [
        episode("a", event("height")),
        episode("b", event("height", "K3"), event("guess"), event("guess", error="timeout")),
        episode("c"),
        episode("free", event("guess"), event("height", error="http_500")),
        episode("lost", event("height"), termination=Termination.REPLAY_MISS),
        episode("a", event("nothing_like_it", error="unknown_tool"), epoch=2),
    ]
    table = tool_table(store(tmp_path, "r", scenarios, episodes, model="m/m", epochs=2))
    assert [(one.group, one.n) for one in table.summaries] == [("depth", 1), ("guess", 2), ("height", 5)]
    assert counts(table, "height") == {"wanted": 4, "called": (2, 4), "arguments": (1, 2), "replaced": (1, 4), "calls": 3, "failed": (1, 3)}
    assert counts(table, "depth") == {
        "wanted": 1,
        "called": (0, 1),
        "arguments": (None, None),
        "replaced": (1, 1),
        "calls": 0,
        "failed": (None, None),
    }
    assert counts(table, "guess")["failed"] == (1, 3)
    assert [one.facts["instead"] for one in table.summaries] == [{"guess": 1}, {}, {"nothing": 1, "nothing_like_it": 1}]
    # Two epochs of one request are drawn together: the interval is not that of four separate requests.
    called = figure(table, "height", "called")
    assert (called.low, called.high) != (wilson(2, 4).low, wilson(2, 4).high)
    assert called.low is not None and called.high is not None and called.high - called.low > 0.5
    assert (table.invented, table.left_out, table.without_gold, table.episodes) == ({"nothing_like_it": 1}, {"replay_miss": 1}, 1, 5)
    assert list(table.notes()) == [
        "n: scored episodes in which the tool is wanted by a gold call, or was called",
        "in place of depth: guess 1 time",
        "in place of height: nothing_like_it 1 time",
        "1 of 5 episodes have no gold calls: only calls and failures are counted there",
        "no such tool: nothing_like_it 1 time",
        "not counted: 1 replay_miss",
    ]


def test_a_run_without_gold_calls_has_calls_and_failures_alone(tmp_path: Path) -> None:
    table = tool_table(store(tmp_path, "r", [scenario("free")], [episode("free", event("guess", error="timeout"))], model="m/m"))
    assert [[(one.name, one.value) for one in summary.measures] for summary in table.summaries] == [[("calls", 1), ("failed", 1.0)]]
    assert list(table.notes())[1:] == ["1 of 1 episodes have no gold calls: only calls and failures are counted there"]


def test_the_data_has_a_record_per_tool(tmp_path: Path) -> None:
    stored = store(tmp_path, "r", [scenario("a", HEIGHT)], [episode("a", event("guess"))], model="m/m")
    records = tool_table(stored).records(stored)
    assert [(one["run"], one["model"], one["tool"], one["n"], one["wanted"], one["calls"]) for one in records] == [
        ("r", "m/m", "guess", 1, 0, 1),
        ("r", "m/m", "height", 1, 1, 0),
    ]
    assert (records[1]["called_k"], records[1]["called_n"], records[1]["instead"]) == (0, 1, {"guess": 1})
    assert records[0]["called"] is None


def test_a_task_whose_calls_are_not_known_is_refused(tmp_path: Path) -> None:
    stored = store(tmp_path, "r", [scenario("a", HEIGHT)], [episode("a", event("height"))], task="awareness", model="m/m")
    with pytest.raises(PrerequisiteError, match=r"task awareness does not say which tools its episodes call, so --by-tool has no table\.$"):
        tool_table(stored)
    empty = tool_table(store(tmp_path, "none", [scenario("a", HEIGHT)], [], task="awareness", model="m/m"))
    assert (empty.summaries, list(empty.notes())) == ([], ["no tool was wanted or called"])


def test_calls_in_the_text_of_an_answer_are_compared_with_every_accepted_value(tmp_path: Path) -> None:
    right = calls(city="Hue")
    items = [
        case("one", "fitting", right),
        case("two", "fitting", right),
        case("three", "fitting", right),
        case("four", "removed", Calls(expected="none")),
    ]
    texts = [
        '<tool_call>{"name": "world.clock", "arguments": {"city": "hue"}}</tool_call>',
        '<tool_call>{"name": "world.clock", "arguments": {"city": "Rome"}}</tool_call>',
    ]
    texts += ["It is late.", '<tool_call>{"name": "world.clock", "arguments": {"city": "Rome"}}</tool_call>']
    episodes = [answered(item, text) for item, text in zip(items, texts, strict=True)]
    table = tool_table(store(tmp_path, "r", items, episodes, task="refusal", model="m/m"))
    assert [one.group for one in table.summaries] == ["world.clock"]
    assert counts(table, "world.clock") == {
        "wanted": 3,
        "called": (2, 3),
        "arguments": (1, 2),
        "replaced": (0, 3),
        "calls": 3,
        "failed": (None, None),  # nothing is executed
    }
