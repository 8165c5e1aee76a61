"""`export otel`: traces in OpenTelemetry's conventions, as its own protocol and official exporter have the same spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.exchange.exports.episode_spans import traces
from talm_sim.exchange.exports.span_values import EVALUATION
from talm_sim.store.stored_run import StoredRun
from tests.exchange.exports.environment import needs_readers, read_with
from tests.exchange.exports.hostile_run import HOSTILE, IDS, LONG, make_run

SECRET = "sk-proj-Zx9qW8eR7tY6uI5oP4aS3dF2"


Spans = list[dict[str, Any]]


def lines(stored: StoredRun, *, content: bool) -> list[str]:
    return [f'{{"resourceSpans":[{one.text}]}}' for one in traces(stored, content=content)]


def decode(value: dict[str, Any]) -> Any:
    ((kind, held),) = value.items()
    return int(held) if kind == "intValue" else [decode(one) for one in held["values"]] if kind == "arrayValue" else held


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: decode(one["value"]) for one in holder["attributes"]}


def spans_of(line: str) -> Spans:
    (resource,) = json.loads(line)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    found = []
    for span in scope["spans"]:
        events = [one | {"attributes": attributes(one)} for one in span.get("events", ())]
        found.append(span | {"attributes": attributes(span), "events": events})
    return found


@pytest.fixture(scope="module")
def exported(hostile: StoredRun) -> dict[bool, list[str]]:
    """The lines with content, and without."""
    return {content: lines(hostile, content=content) for content in (True, False)}


@pytest.fixture(scope="module")
def plain(exported: dict[bool, list[str]]) -> list[Spans]:
    return [spans_of(line) for line in exported[False]]


@pytest.fixture(scope="module")
def whole(exported: dict[bool, list[str]]) -> list[Spans]:
    return [spans_of(line) for line in exported[True]]


def test_each_line_is_one_trace_of_ascii(exported: dict[bool, list[str]], whole: list[Spans]) -> None:
    assert all(line.isascii() and line.isprintable() for content in exported for line in exported[content])
    assert all(len({span["traceId"] for span in trace}) == 1 for trace in whole)
    assert [len(line) > len(LONG) for line in exported[True]] == [True, *[False] * (len(IDS) - 1)]


def test_a_second_export_is_the_same_trace(exported: dict[bool, list[str]], plain: list[Spans], whole: list[Spans], hostile: StoredRun) -> None:
    assert lines(hostile, content=False) == exported[False]
    ids = [span["spanId"] for trace in plain for span in trace]
    assert ids == [span["spanId"] for trace in whole for span in trace]
    assert len({*ids}) == len(ids) and len({trace[0]["traceId"] for trace in plain}) == len(IDS)


def test_spans_are_below_their_episode_and_within_its_time(plain: list[Spans]) -> None:
    for first, *others in plain:
        assert "parentSpanId" not in first and first["name"] == "invoke_agent talm-sim"
        for span in others:
            assert span["parentSpanId"] == first["spanId"]
            assert (
                int(first["startTimeUnixNano"])
                <= int(span["startTimeUnixNano"])
                <= int(span["endTimeUnixNano"])
                <= int(first["endTimeUnixNano"])
            )
    names = [span["name"].split()[0] for span in plain[0]]
    assert names == ["invoke_agent", *["chat"] * 3, *["execute_tool"] * 5, "approval", "approval", "form"]
    assert [span["kind"] for span in plain[0]] == [1, 3, 3, 3, *[1] * 8]


def test_without_content_nothing_that_was_said_is_in_it(tmp_path: Path) -> None:
    stored = make_run(tmp_path, said="private words")
    assert "private words" not in "".join(lines(stored, content=False))
    told = [spans_of(line) for line in lines(stored, content=True)]
    assert sum("private words" in json.dumps(span) for span in told[0]) == len(told[0]) - 1 == 11  # all but a question "?"


def test_what_happened_is_in_the_attributes(plain: list[Spans], whole: list[Spans]) -> None:
    first, awareness, turn, last, *calls = (span["attributes"] for span in plain[0])
    assert (first["talm_sim.scenario.id"], first["talm_sim.termination"], first["gen_ai.agent.name"]) == ("a/b", "answered", "talm-sim")
    assert "gen_ai.usage.input_tokens" not in first  # one of its generations was not counted
    assert (awareness["talm_sim.awareness.kind"], awareness["talm_sim.awareness.value"]) == ("tool", "yes")
    assert (turn["gen_ai.provider.name"], turn["gen_ai.request.model"], turn["gen_ai.response.finish_reasons"]) == (
        "openai",
        "some",
        ["tool_call"],
    )
    assert [turn[f"gen_ai.usage.{name}"] for name in ("input_tokens", "output_tokens", "cache_read.input_tokens")] == [30, 7, 10]
    assert last["gen_ai.response.finish_reasons"] == ["length"] and "gen_ai.usage.input_tokens" not in last
    fine, hit, unknown, asked, recorded, edited, rejected, filled = calls
    assert "error.type" not in fine and "talm_sim.perturbation.name" not in fine
    assert (hit["error.type"], hit["talm_sim.perturbation.name"], hit["talm_sim.perturbation.seen"]) == ("500", ["http-500:p=0.5"], [1])
    assert (unknown["gen_ai.tool.name"], unknown["error.type"]) == ("unknown_tool", "unknown_tool")
    assert (asked["talm_sim.human.responder"], asked["talm_sim.human.outcome"], asked["talm_sim.human.waited_ms"]) == (
        "terminal",
        "answered",
        7500.0,
    )
    assert recorded["talm_sim.human.outcome"] == "unknown" and "talm_sim.human.waited_ms" not in recorded
    assert [bool(one.get("talm_sim.time.estimated")) for one in (first, turn, fine, asked, recorded)] == [False, True, True, False, True]
    outcomes = [
        (one["talm_sim.human.outcome"], one.get("talm_sim.human.name"), "gen_ai.operation.name" in one) for one in (edited, rejected, filled)
    ]
    assert outcomes == [("edit", None, False), ("reject", None, False), ("accept", None, False)]
    assert [span["name"] for span in plain[0][-3:]] == ["approval look_up", "approval look_up", "form"]
    said = [span["attributes"] for span in whole[0][-3:]]
    assert [json.loads(one["talm_sim.human.request"])["kind"] for one in said] == ["approval", "approval", "form"]
    assert json.loads(said[0]["talm_sim.human.decision"])["arguments"] == {"q": [HOSTILE]} and said[2]["talm_sim.human.name"] == HOSTILE
    failed = [trace[0] for trace in plain if trace[0]["status"]]
    assert [span["attributes"]["error.type"] for span in failed] == [
        "infrastructure_error",
        "agent_error",
        "context_overflow",
        "cancelled",
        "replay_miss",
    ]
    assert [whole[1][0]["status"]["message"], plain[1][0]["status"]["message"]] == [HOSTILE, "infrastructure_error"]


def test_verdicts_are_events(plain: list[Spans], whole: list[Spans]) -> None:
    told = [[(one["name"], *one["attributes"].values()) for one in trace[0]["events"]] for trace in plain]
    assert told[0] == [(EVALUATION, "success", 1.0, "pass"), (EVALUATION, "reference", 1.0, "pass"), (EVALUATION, "mine", 1.0, HOSTILE)]
    assert told[4] == [(EVALUATION, "reference", "no_verdict"), (EVALUATION, "mine", 1.0, HOSTILE)]
    assert whole[0][0]["events"][1]["attributes"]["gen_ai.evaluation.explanation"] == HOSTILE


def test_messages_are_in_the_conventions_form(whole: list[Spans]) -> None:
    first, awareness, turn, last, call, *_ = (span["attributes"] for span in whole[0])
    assert json.loads(first["gen_ai.system_instructions"]) == [{"type": "text", "content": f"Be good. {HOSTILE}"}]
    assert json.loads(first["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": LONG}], "finish_reason": "length"}
    ]
    (said,) = json.loads(turn["gen_ai.output.messages"])
    assert [part["type"] for part in said["parts"]] == ["reasoning", "text", "tool_call", "tool_call"]
    assert said["parts"][2]["arguments"] == {HOSTILE: [HOSTILE, {"deep": None}]} and said["finish_reason"] == "tool_call"
    before = json.loads(last["gen_ai.input.messages"])
    assert [message["role"] for message in before] == ["system", "user", "assistant", *["tool"] * 5]
    assert before[3]["parts"] == [{"type": "tool_call_response", "id": "c1", "response": LONG}]
    assert json.loads(call["gen_ai.tool.call.arguments"]) == {"q": HOSTILE} and call["gen_ai.tool.call.result"] == LONG
    assert json.loads(first["gen_ai.tool.definitions"])[0]["name"] == "look_up"
    assert json.loads(awareness["gen_ai.output.messages"])[0]["parts"] == [{"type": "text", "content": HOSTILE}]


@needs_readers
@pytest.mark.timeout(300)
@pytest.mark.parametrize("content", [False, True])
def test_the_official_exporter_sends_the_same_spans(exported: dict[bool, list[str]], tmp_path: Path, content: bool) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(f"{line}\n" for line in exported[content]), encoding="utf-8")
    read = read_with("read_otlp.py", file)
    assert read["equal"] == [True] * len(IDS)
    ours = [span for line in exported[content] for span in spans_of(line)]
    assert [(one["trace"], one["id"], one["name"], one["attributes"]) for one in read["spans"]] == [
        (one["traceId"], one["spanId"], one["name"], one["attributes"]) for one in ours
    ]


def test_no_credential_of_the_environment_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = make_run(tmp_path, said=f"my key is {SECRET} and {json.dumps(json.dumps(SECRET))}, hunter2-hunter2")
    assert any(SECRET in episode.model_dump_json() for episode in stored.episodes())
    monkeypatch.setenv("OTHER_PASSWORD", "hunter2-hunter2")
    told = "".join(lines(stored, content=True))
    assert "my key is REDACTED" in told
    assert SECRET not in told and "hunter2" not in told
