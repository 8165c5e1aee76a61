"""Table 1's shape."""

from typing import Any

from talm_sim.scenarios.statistics import Statistics, statistics_of
from talm_sim.tasks.awareness.making.loaded import complete_scenario
from talm_sim.types import Source
from tests.tasks.awareness.making.made import BALANCE, STOCK, asked


def test_each_source_and_group_is_counted() -> None:
    call = {"id": "c", "name": "QueryStock", "arguments": {}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one two three"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "{}", "tool_call_id": "c"},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "four"},
    ]
    long = complete_scenario("a", messages, [STOCK, BALANCE], ["QueryStock"], Source(name="made"))
    short = asked("five six", tools=[STOCK])
    other = short.model_copy(update={"group": "removed"})
    sizes = [len(text) for text in long.shown_tools]
    assert statistics_of([long, short, other]) == [
        Statistics("made", "complete", 2, turns=2.5, apis=1.5, utterance_words=2.0, api_length=(2 * sizes[0] + sizes[1]) / 3),
        Statistics("made", "removed", 1, turns=1.0, apis=1.0, utterance_words=2.0, api_length=float(sizes[0])),
    ]
    assert statistics_of([]) == []


def test_tools_offered_by_name_count_and_have_no_length() -> None:
    bare = asked("five six", tools=[STOCK]).model_copy(update={"shown_tools": (), "tools": ("a", "b")})
    (row,) = statistics_of([bare])
    assert (row.apis, row.api_length) == (2.0, None)
