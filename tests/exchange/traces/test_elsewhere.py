"""30 runs of a LangGraph agent that knows nothing of talm-sim, imported from both forms that its frameworks write, and judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumpd

from talm_sim import judge
from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.import_traces import ImportedTraces, import_traces
from talm_sim.tasks import find_task
from talm_sim.types import Scenario
from tests.exchange.traces.elsewhere import Played, otlp, play, right_script, wrong_script

Named = list[tuple[Played, str]]
"""Runs of the agent, each with the scenario that its trace is to name; empty for none."""


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return find_task("talm").read(("perfect",))[:30]


@pytest.fixture(scope="module")
def truth(scenarios: list[Scenario]) -> dict[str, bool]:
    """Whether the agent was made to be right, by scenario: 18 times."""
    return {scenario.id: number % 5 not in {1, 3} for number, scenario in enumerate(scenarios)}


@pytest.fixture(scope="module")
def named(scenarios: list[Scenario], truth: dict[str, bool]) -> Named:
    """The runs; every second one names its scenario."""
    scripts = [right_script(one) if truth[one.id] else wrong_script(one, number) for number, one in enumerate(scenarios)]
    played = [play(one, script) for one, script in zip(scenarios, scripts, strict=True)]
    return [(one, scenario.id if number % 2 else "") for number, (one, scenario) in enumerate(zip(played, scenarios, strict=True))]


def as_messages(runs: Named) -> str:
    """Write LangChain's messages, a line per run; one that names nothing is a bare list."""
    values: list[Any] = [
        {"messages": one.langchain, "metadata": {"talm_sim.scenario.id": name}} if name else one.langchain for one, name in runs
    ]
    return "".join(json.dumps(value) + "\n" for value in values)


def as_dumped(runs: Named) -> str:
    """Write the serialized states of the graphs as one JSON list over many lines."""
    return json.dumps([{**dumpd({"messages": one.messages}), "talm_sim.scenario.id": name} for one, name in runs], indent=1)


def as_spans(runs: Named) -> str:
    documents = otlp([(one, {"talm_sim.scenario.id": name} if name else {}) for one, name in runs])
    return "".join(json.dumps(document) + "\n" for document in documents)


def as_one_document(runs: Named) -> str:
    documents = otlp([(one, {"talm_sim.scenario.id": name} if name else {}) for one, name in runs])
    return json.dumps({"resourceSpans": [resource for document in documents for resource in document["resourceSpans"]]}, indent=2)


WRITERS = pytest.mark.parametrize("write", [as_messages, as_dumped, as_spans, as_one_document])


def imported(write: Callable[[Named], str], runs: Named, place: Path, **more: Any) -> ImportedTraces:
    file = place / "made elsewhere.json"
    file.write_text(write(runs), encoding="utf-8")
    return import_traces(file, place / "runs", **({"split": "perfect"} | more))


@WRITERS
def test_the_judged_pass_rate_is_the_known_truth(write: Callable[[Named], str], named: Named, truth: dict[str, bool], tmp_path: Path) -> None:
    done = imported(write, named, tmp_path)
    found = done.matching
    assert (found.by_id, found.by_request, found.unmatched) == (15, 15, 0) and not found.reworded and not done.unanswered
    assert done.run.id == "traces-made-elsewhere" and done.run.imported
    judge(done.run.path)
    assert {verdict.episode_id: verdict.value for verdict in done.run.verdicts()} == truth
    (row,) = done.run.summary_records()
    assert (row["group"], row["n"], row["pass_rate"], row["pass_rate_k"], row["pass_judge"]) == ("perfect", 30, 0.6, 18, "reference")
    assert [row[name] for name in ("awareness", "unexpected", "skip", "interaction")] == [None] * 4, "never asked is not zero"


@WRITERS
def test_turns_calls_and_tokens_are_those_of_the_agent(write: Callable[[Named], str], named: Named, tmp_path: Path) -> None:
    done = imported(write, named, tmp_path)
    failed = 0
    for episode, (one, _) in zip(done.run.episodes(), named, strict=True):
        said = [message for message in one.messages if message.type == "ai"]
        results = {message.tool_call_id: message for message in one.messages if message.type == "tool"}
        assert [turn.text for turn in episode.model_turns] == [message.text for message in said] and episode.answer == said[-1].text
        assert [(call.id, call.name, call.arguments) for turn in episode.model_turns for call in turn.tool_calls] == [
            (call["id"], call["name"], call["args"]) for message in said for call in message.tool_calls
        ]
        assert {event.call_id: (event.name, event.ok) for event in episode.tool_events} == {
            call_id: (message.name, message.status == "success") for call_id, message in results.items()
        }
        assert all("down" in event.result and event.error for event in episode.tool_events if not event.ok)
        assert episode.usage.input_tokens == sum(message.usage_metadata["input_tokens"] for message in said)
        assert (episode.usage.uncounted, episode.model, episode.human) == (0, "traces/scripted-1", "none")
        failed += sum(not event.ok for event in episode.tool_events)
    assert failed == sum(message.type == "tool" and message.status == "error" for one, _ in named for message in one.messages) > 0


def test_every_form_gives_the_same_episodes(named: Named, tmp_path: Path) -> None:
    def episodes(write: Callable[[Named], str]) -> list[Any]:
        (tmp_path / write.__name__).mkdir()
        kept = imported(write, named, tmp_path / write.__name__).run.episodes()
        gone = {"started_at", "elapsed_s"}
        told = [one.model_dump(exclude=gone) for one in kept]
        for one in told:
            for turn in one["model_turns"]:
                turn.pop("raw_prompt")
            one["events"] = [{key: event[key] for key in ("turn", "call_id", "name", "arguments", "ok")} for event in one["events"]]
        return told

    first = episodes(as_messages)
    assert all(episodes(write) == first for write in (as_dumped, as_spans, as_one_document))


def test_what_belongs_to_no_scenario_is_counted_and_takes_no_facts(named: Named, scenarios: list[Scenario], tmp_path: Path) -> None:
    stranger = play(scenarios[0].model_copy(update={"id": "x", "turns": scenarios[1].turns}), right_script(scenarios[0]))
    stranger.messages[0].content = stranger.request = "Who are you?"
    done = imported(as_messages, [*named[:4], (stranger, ""), (stranger, "nosuch")], tmp_path)
    found = done.matching
    assert (found.by_id, found.by_request, found.unmatched, dict(found.unknown)) == (2, 2, 2, {"nosuch": 1})
    judge(done.run.path)
    rows = {row["episode"]: row for row in done.run.to_records()}
    assert [(rows[name]["group"], rows[name]["pass_rate"], rows[name].get("skip")) for name in ("trace-5", "trace-6")] == [
        ("unmatched", None, None)
    ] * 2
    why = {verdict.episode_id: verdict.explanation for verdict in done.run.verdicts()}
    assert why["trace-5"] == "not applicable: the scenario has no reference facts"
    groups = {row["group"]: row for row in done.run.summary_records()}
    assert groups["perfect"]["n"] == 4 and groups["unmatched"]["pass_rate"] is None


def test_a_request_that_several_scenarios_share_decides_nothing(named: Named, tmp_path: Path) -> None:
    done = imported(as_messages, named, tmp_path, split="all")
    assert (done.matching.by_id, done.matching.by_request, done.matching.shared) == (15, 0, 15)


def test_traces_of_one_scenario_are_its_epochs(named: Named, truth: dict[str, bool], scenarios: list[Scenario], tmp_path: Path) -> None:
    done = imported(as_spans, [*named[:3], named[1], named[0]], tmp_path)
    first, second = scenarios[0].id, scenarios[1].id
    assert [episode.id for episode in done.run.episodes()] == [first, second, scenarios[2].id, f"{first}@2", f"{second}@2"]
    assert (done.run.total, done.run.config.epochs, len(list(done.run.scenarios()))) == (5, 2, 3)
    judge(done.run.path)
    assert {verdict.episode_id: verdict.value for verdict in done.run.verdicts()}[f"{second}@2"] == truth[second]


def test_a_named_scenario_that_asks_something_else_is_said(named: Named, scenarios: list[Scenario], tmp_path: Path) -> None:
    done = imported(as_messages, [(named[0][0], scenarios[1].id)], tmp_path)
    assert (done.matching.by_id, done.matching.reworded) == (1, 1)


def test_a_second_import_leaves_the_run_and_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]))
    first = import_traces(file, tmp_path / "runs").run
    assert import_traces(file, tmp_path / "runs").run.manifest == first.manifest
    file.write_text(json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}]))
    with pytest.raises(PrerequisiteError, match=r"traces-t: is another run than .* choose a --run-id, or delete it with: talm-sim runs delete"):
        import_traces(file, tmp_path / "runs")
