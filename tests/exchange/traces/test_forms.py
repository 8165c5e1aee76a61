"""The forms that spans and messages take in the wild, and what cannot be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.import_traces import TraceFile, import_traces, read_traces
from talm_sim.exchange.traces.trace import Trace
from talm_sim.exchange.traces.traced_episodes import episode_of, scenario_of
from talm_sim.types import Episode, HumanEvent, Scenario, Termination, Turn, Usage

ASKED, ANSWER, RESULT = "How warm is Oslo?", "It is 7 degrees.", '{"celsius": 7}'
ARGUMENTS = '{"city": "Oslo"}'
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
PART = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}
RESPONSE = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": RESULT}]}
USER = {"role": "user", "parts": [{"type": "text", "content": ASKED}]}


def flat(prefix: str, messages: list[Any]) -> dict[str, Any]:
    """Spread messages over names, as instrumentations do."""
    found: dict[str, Any] = {}

    def spread(name: str, value: Any) -> None:
        if isinstance(value, dict | list):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                spread(f"{name}.{key}", inner)
        else:
            found[name] = value

    spread(prefix, messages)
    return found


def open_inference() -> list[dict[str, Any]]:
    asked: list[Any] = [{"message": {"role": "user", "content": ASKED}}]
    call = {"tool_call": {"id": "c1", "function": {"name": "weather", "arguments": ARGUMENTS}}}
    calls = {"message": {"role": "assistant", "tool_calls": [call]}}
    more = [calls, {"message": {"role": "tool", "tool_call_id": "c1", "content": RESULT}}]
    said = {"message": {"role": "assistant", "contents": [{"message_content": {"type": "text", "text": ANSWER}}]}}
    tokens = {"llm.token_count.prompt": 10, "llm.token_count.completion": 2, "llm.model_name": "m-1"}
    llm = {"openinference.span.kind": "LLM", **tokens}
    envelope = json.dumps({"type": "tool", "data": {"content": RESULT, "tool_call_id": "c1", "status": "success"}})
    tool = {"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": ARGUMENTS, "output.value": envelope}
    return [
        {"openinference.span.kind": "CHAIN", "input.value": ASKED},
        llm | flat("llm.input_messages", asked) | flat("llm.output_messages", [calls]),
        tool,
        llm | flat("llm.input_messages", [*asked, *more]) | flat("llm.output_messages", [said]),
    ]


def open_llmetry() -> list[dict[str, Any]]:
    asked: list[Any] = [{"role": "user", "content": ASKED}]
    calls = {"role": "assistant", "finish_reason": "tool_calls", "tool_calls": [{"id": "c1", "name": "weather", "arguments": ARGUMENTS}]}
    more = [calls, {"role": "tool", "tool_call_id": "c1", "content": RESULT}]
    llm = {"llm.request.type": "chat", "gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 2, "gen_ai.request.model": "m-1"}
    inputs = json.dumps({"inputs": {"city": "Oslo"}, "input_str": "x"})
    return [
        {"traceloop.span.kind": "workflow"},
        llm | flat("gen_ai.prompt", asked) | flat("gen_ai.completion", [calls]),
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "weather",
            "traceloop.entity.input": inputs,
            "traceloop.entity.output": RESULT,
        },
        llm | flat("gen_ai.prompt", [*asked, *more]) | flat("gen_ai.completion", [{"role": "assistant", "content": ANSWER}]),
    ]


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}
AGENT = {"gen_ai.operation.name": "invoke_agent"}


def conventions() -> list[dict[str, Any]]:
    calls = {"role": "assistant", "parts": [PART], "finish_reason": "tool_call"}
    said = {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}
    texts = [
        {"gen_ai.input.messages": json.dumps(told), "gen_ai.output.messages": json.dumps([out])}
        for told, out in (([USER], calls), ([USER, calls, RESPONSE], said))
    ]
    return [AGENT, CHAT | texts[0], TOOL, CHAT | texts[1]]


def structured() -> list[dict[str, Any]]:
    """The same with OTLP's own lists in place of JSON texts, in the event of later versions, and the mistaken field `result`."""
    found = conventions()
    for one in (found[1], found[3]):
        told = {
            key: json.loads(one.pop(key).replace('"response":', '"result":')) for key in ("gen_ai.input.messages", "gen_ai.output.messages")
        }
        one["events"] = [("gen_ai.client.inference.operation.details", told)]
    return found


def old_events() -> list[dict[str, Any]]:
    """Events `gen_ai.content.prompt` and `gen_ai.content.completion`."""
    asked = [{"role": "user", "content": ASKED}]
    calls = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    more = [calls, {"role": "tool", "tool_call_id": "c1", "content": RESULT}]
    pairs = ((asked, [calls]), ([*asked, *more], [{"role": "assistant", "content": ANSWER}]))
    events = [
        [("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(told)}), ("gen_ai.content.completion", {"gen_ai.completion": json.dumps(out)})]
        for told, out in pairs
    ]
    return [AGENT, CHAT | {"events": events[0]}, TOOL, CHAT | {"events": events[1]}]


def message_events() -> list[dict[str, Any]]:
    """An event per message, `gen_ai.user.message` to `gen_ai.choice`."""
    user = ("gen_ai.user.message", {"content": ASKED})
    assistant = ("gen_ai.assistant.message", {"gen_ai.event.content": json.dumps({"tool_calls": [CALL], "content": ""})})
    tool = ("gen_ai.tool.message", {"id": "c1", "content": RESULT})
    calls = ("gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": json.dumps({"tool_calls": [CALL], "content": ""})})
    said = ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps({"role": "assistant", "content": ANSWER})})
    return [AGENT, CHAT | {"events": [user, calls]}, TOOL, CHAT | {"events": [user, assistant, tool, said]}]


def without_tool_spans() -> list[dict[str, Any]]:
    return [one for one in conventions() if one is not TOOL]


def value_of(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [value_of(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": pairs_of(value)}}
        case _:
            return {"stringValue": value}


def pairs_of(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value_of(value)} for key, value in values.items() if value is not None]


def span_of(number: int, told: dict[str, Any], **more: Any) -> dict[str, Any]:
    events = [{"name": name, "attributes": pairs_of(of)} for name, of in told.get("events", ())]
    kept = {key: value for key, value in told.items() if key != "events"}
    found = {
        "traceId": "t1",
        "spanId": f"s{number}",
        "name": "x",
        "startTimeUnixNano": str(10**9 * number),
        "endTimeUnixNano": 10**9 * (number + 1),
    }
    return found | ({"parentSpanId": "s1"} if number > 1 else {}) | {"attributes": pairs_of(kept), "events": events} | more


def document(*spans: dict[str, Any]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


def read(text: str, place: Path) -> TraceFile:
    file = place / "traces.jsonl"
    file.write_text(text, encoding="utf-8")
    return read_traces(file)


def played(trace: Trace, scenario: Scenario | None = None) -> Episode:
    return episode_of(trace, scenario or scenario_of(trace, "talm", "trace-1"), 1)


@pytest.mark.parametrize(
    "form",
    [conventions, structured, old_events, message_events, open_inference, open_llmetry, without_tool_spans],
    ids=lambda form: form.__name__,
)
def test_each_spelling_of_spans_gives_the_same_episode(form: Any, tmp_path: Path) -> None:
    (trace,) = read(document(*(span_of(number, one) for number, one in enumerate(form(), 1))), tmp_path).traces
    episode = played(trace)
    assert (trace.request, episode.answer, episode.termination, episode.model) == (ASKED, ANSWER, Termination.ANSWERED, "traces/m-1")
    assert [turn.text for turn in episode.model_turns] == ["", ANSWER]
    (event,) = episode.tool_events
    assert (event.name, event.arguments, event.ok, event.turn, event.call_id) == ("weather", {"city": "Oslo"}, True, 0, "c1")
    assert event.result == RESULT or form in {conventions, structured, old_events, message_events}
    assert episode.usage == Usage(input_tokens=20, output_tokens=4)


def test_spans_in_any_order_and_over_several_lines_are_put_together(tmp_path: Path) -> None:
    spans = [span_of(number, one) for number, one in enumerate(conventions(), 1)]
    (trace,) = read("\n".join(document(one) for one in reversed(spans)), tmp_path).traces
    assert played(trace).answer == ANSWER and len(played(trace).model_turns) == 2


def test_a_call_that_failed_is_a_failed_event(tmp_path: Path) -> None:
    found = conventions()
    for more, status in (({"error.type": "503"}, {}), ({}, {"status": {"code": 2, "message": "reset"}}), ({"error.type": "timeout"}, {})):
        spans = [span_of(number, one | (more if one is TOOL else {}), **(status if one is TOOL else {})) for number, one in enumerate(found, 1)]
        (event,) = played(read(document(*spans), tmp_path).traces[0]).tool_events
        expected = ("http_503", 503) if more.get("error.type") == "503" else (more.get("error.type", "tool_error"), None)
        assert (event.ok, event.error, event.status) == (False, *expected)


def test_an_agent_whose_own_span_failed_made_an_error(tmp_path: Path) -> None:
    spans = [
        span_of(number, one, **({"status": {"code": "STATUS_CODE_ERROR", "message": "boom"}} if number == 1 else {}))
        for number, one in enumerate(conventions(), 1)
    ]
    episode = played(read(document(*spans), tmp_path).traces[0])
    assert (episode.termination, episode.error) == (Termination.AGENT_ERROR, "boom")


def test_spans_of_other_kinds_are_counted_and_silent_traces_said(tmp_path: Path) -> None:
    spans = [span_of(number, one) for number, one in enumerate(conventions(), 1)]
    other = span_of(9, {"gen_ai.operation.name": "embeddings"})
    http = span_of(10, {}, name="GET /x")
    silent = span_of(1, CHAT, traceId="t2", parentSpanId="")
    file = read(document(*spans, other, http, silent) + "\n" + json.dumps({"resourceLogs": []}), tmp_path)
    assert (len(file.traces), dict(file.unread)) == (1, {"embeddings": 1, "GET": 1, "logs": 1})
    assert file.silent == [f"{tmp_path}/traces.jsonl:1, trace t2"]
    with pytest.raises(PrerequisiteError, match=r"traces\.jsonl:1, trace t2: no span contains a message.*CAPTURE_MESSAGE_CONTENT=true\)\.$"):
        read(document(silent), tmp_path)


def test_a_person_is_told_apart_from_a_tool(tmp_path: Path) -> None:
    question = {"id": "q", "name": "ask_human", "args": {"question": "Which day?"}}
    messages = [
        {"type": "human", "data": {"content": "Book it."}},
        {"type": "ai", "data": {"content": "", "tool_calls": [question]}},
        {"type": "tool", "data": {"content": "Monday", "tool_call_id": "q", "name": "ask_human"}},
        {"type": "ai", "data": {"content": "And which city do you mean?"}},
        {"type": "human", "data": {"content": "Oslo"}},
        {"type": "ai", "data": {"content": "Booked."}},
        {"type": "human", "data": {"content": "Now cancel it."}},
        {"type": "ai", "data": {"content": "Cancelled."}},
    ]
    (trace,) = read(json.dumps({"messages": messages, "__interrupt__": []}), tmp_path).traces
    episode = played(trace)
    asked = [(event.question, event.answer, event.by, event.turn) for event in episode.human_events]
    assert asked == [("Which day?", "Monday", "tool", 0), ("And which city do you mean?", "Oslo", "words", 1)]
    assert not episode.tool_events and [turn.user_turn for turn in episode.model_turns] == [0, 0, 0, 1]
    waiting = {"messages": messages[:1], "__interrupt__": [{"value": {"question": "Sure?"}, "id": "i"}]}
    episode = played(read(json.dumps(waiting), tmp_path).traces[0])
    (event,) = episode.events
    assert isinstance(event, HumanEvent) and (event.question, event.by, event.answer) == ("Sure?", "interrupt", "")
    assert episode.termination is Termination.CANCELLED, "an unanswered question is no score of 0"


def test_a_dialogue_that_is_given_is_not_the_agents(tmp_path: Path) -> None:
    given = ({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "7 a.m.?"})
    scenario = Scenario(id="s", group="perfect", turns=(Turn(messages=given),))
    (trace,) = read(json.dumps([*given, {"role": "assistant", "content": "Yes."}]), tmp_path).traces
    episode = played(trace, scenario)
    assert [turn.text for turn in episode.model_turns] == ["Yes."] and not episode.events
    assert episode.model_turns[0].raw_prompt.endswith("[human] 7 a.m.?")


def test_a_trace_without_an_answer_is_not_scored(tmp_path: Path) -> None:
    text = json.dumps([{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}])
    episode = played(read(text, tmp_path).traces[0])
    assert (episode.termination, episode.error) == (Termination.CANCELLED, "the trace ends before an answer")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"traces\.jsonl: is empty; give"),
        ("[1, ", r"traces\.jsonl:1: not JSON \("),
        ('{"messages": []}\n', r"traces\.jsonl:1: holds neither spans .* nor messages;"),
        ("{\n\n1}", r"traces\.jsonl:3: not JSON \("),
        (
            '[{"role": "user", "content": "a"}]\n{"x": NaN}\n',
            r"traces\.jsonl:2: not JSON \(NaN is not a JSON number\); write one trace per line",
        ),
        ('[{"role": "user", "content": "a"}, {"role": "wizard\\u001b[2J", "content": "b"}]', r"traces\.jsonl:1, message 2: is of 'wizard"),
        ('[{"role": "user", "content": "a"}, 3]', r"traces\.jsonl:1, message 2: is not a JSON object"),
        ('[{"messages": [{"role": "user", "content": "a"}]}, 3]', r"traces\.jsonl:1, entry 2: holds neither"),
        ('{"resourceSpans": 3}', r"traces\.jsonl:1: `resourceSpans` is not a list of objects"),
        (document({"traceId": "t", "name": "n"}), r"traces\.jsonl:1, span n: has no `traceId` and `spanId`"),
        (document(span_of(1, {}, attributes=[{"value": {}}])), r"traces\.jsonl:1, span s1: an attribute has no `key`"),
        (document(span_of(1, {}, attributes=[{"key": "k", "value": {"intValue": "x"}}])), r"span s1: `intValue` is 'x'"),
        (document(span_of(1, {}, attributes=[{"key": "k", "value": {"oddValue": "x"}}])), r"span s1: .* unknown kind 'oddValue'"),
        (document(span_of(1, {}, startTimeUnixNano="soon")), r"span s1: a time is not a number"),
        (document(span_of(1, CHAT | {"gen_ai.input.messages": '[{"role": "elf", "parts": []}]'})), r"span s1, input message 1: is of 'elf'"),
        (document(), r"traces\.jsonl: contains no trace"),
        ('[{"role": "user", "content": "\\ud800"}]', r"traces\.jsonl:1: not JSON \(half a surrogate pair"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=said) as caught:
        read(text, tmp_path)
    assert "\n" not in str(caught.value)


def test_spans_in_a_circle_and_odd_values_end(tmp_path: Path) -> None:
    circle = [span_of(number, CHAT, parentSpanId=f"s{3 - number}") for number in (1, 2)]
    odd = span_of(
        3,
        CHAT | {"gen_ai.input.messages": "\\ud800 [", "gen_ai.output.messages": '["\\ud800"]', "talm_sim.termination": ["x"], "metadata": "{"},
    )
    assert played(read(document(*circle, odd), tmp_path).traces[0]).answer == '["\\ud800"]'
    deep = {f"gen_ai.prompt{'.0' * 5000}": "x", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "y"}
    assert [one.text for one in read(document(span_of(1, CHAT | deep)), tmp_path).traces[0].said] == ["y"]


def test_secrets_and_escapes_do_not_reach_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwx0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    text = json.dumps([{"role": "user", "content": f"Use {secret}"}, {"role": "assistant", "content": f"I used {secret} \x1b[2J"}])
    (tmp_path / "t.jsonl").write_text(text.replace("sk-", "\\u0073k-"))
    run = import_traces(tmp_path / "t.jsonl", tmp_path / "runs").run
    assert secret not in "".join(one.model_dump_json() for one in (*run.episodes(), *run.scenarios()))
    assert all(secret.encode() not in path.read_bytes() for path in run.path.iterdir())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("role", "type", "content", "data", "messages", "tool_calls", "id", "kwargs", "parts", "x")), inner, max_size=4
        )
    ),
    max_leaves=12,
)
ROLES = st.sampled_from(("user", "assistant", "tool", "ai", "human", "system"))
MESSAGE = st.fixed_dictionaries(
    {"role": ROLES, "content": JSON}, optional={"tool_calls": JSON, "tool_call_id": JSON, "parts": JSON, "usage_metadata": JSON}
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(
        (
            "gen_ai.operation.name",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.tool.name",
            "talm_sim.human.outcome",
            "gen_ai.prompt.0.content",
        )
    ),
    JSON | st.sampled_from(("chat", "execute_tool", "invoke_agent")) | JSON.map(json.dumps),
)


@given(values=st.lists(MESSAGE, min_size=1, max_size=5) | JSON, spans=st.lists(ATTRIBUTES, max_size=4))
def test_any_json_becomes_an_episode_or_one_line(values: Any, spans: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("any")
    for text in (json.dumps(values), document(*(span_of(number, one) for number, one in enumerate(spans, 1)))):
        try:
            episodes = [played(trace) for trace in read(text, place).traces]
        except PrerequisiteError as err:
            assert "\n" not in str(err)
        else:
            for episode in episodes:
                assert Episode.model_validate_json(episode.model_dump_json()) == episode
                assert all(event.turn < max(len(episode.model_turns), 1) for event in episode.events)
