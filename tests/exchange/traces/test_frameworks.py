"""Messages as each framework writes them, spelt as its own package dumps them: two calls at once, of which one fails, and an answer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.blocks import read_blocks, result_text
from talm_sim.types import Termination
from tests.exchange.traces.test_forms import ANSWER, ASKED, document, played, read, span_of

OSLO, ROME, WARM = {"city": "Oslo"}, {"city": "Rome"}, {"celsius": 7}
TEXT = json.dumps(WARM)
USER = {"role": "user", "content": ASKED}


def said(role: str, *blocks: Any, key: str = "content") -> dict[str, Any]:
    return {"role": role, key: list(blocks)}


def typed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def gemini(call: str, response: str) -> list[Any]:
    calls = [{call: {"id": one, "name": "weather", "args": city}, "thoughtSignature": "s"} for one, city in (("c1", OSLO), ("c2", ROME))]
    results = [{response: {"id": one, "name": "weather", "response": of}} for one, of in (("c1", WARM), ("c2", {"error": "down"}))]
    user = said("user", {"text": ASKED}, {"inlineData": {"data": "AA"}}, key="parts")
    thought = {"text": "Hm.", "thought": True, call: None}
    return [
        user,
        said("model", thought, *calls, key="parts"),
        said("user", *results, key="parts"),
        said("model", {"text": ANSWER}, key="parts"),
    ]


def anthropic(call: str, result: str, *, own: bool) -> list[Any]:
    """Calls of its own tools and results are in one message."""
    calls = [typed(call, id=one, name="weather", input=city) for one, city in (("c1", OSLO), ("c2", ROME))]
    results = [
        typed(result, tool_use_id=one, is_error=error, content=[typed("text", text=text)])
        for one, text, error in (("c1", TEXT, False), ("c2", "down", True))
    ]
    first, last = [typed("thinking", thinking="Hm.", signature="s"), *calls], typed("text", text=ANSWER)
    return (
        [USER, said("assistant", *first, *results, last)]
        if own
        else [USER, said("assistant", *first), said("user", *results), said("assistant", last)]
    )


def vercel(key: str) -> list[Any]:
    calls = [typed("tool-call", toolCallId=one, toolName="weather", **{key: city}) for one, city in (("c1", OSLO), ("c2", json.dumps(ROME)))]
    outputs = (("c1", typed("json", value=WARM)), ("c2", typed("error-text", value="down")))
    results = [typed("tool-result", toolCallId=one, toolName="weather", output=of) for one, of in outputs]
    return [
        USER,
        said("assistant", typed("reasoning", text="Hm."), *calls),
        said("tool", *results),
        said("assistant", typed("text", text=ANSWER)),
    ]


def vercel_ui() -> list[Any]:
    first = typed("tool-weather", toolCallId="c1", state="output-available", input=OSLO, output=WARM)
    second = typed("dynamic-tool", toolName="weather", toolCallId="c2", state="output-error", input=ROME, errorText="down")
    parts = [typed("step-start"), typed("reasoning", text="Hm."), first, second, typed("step-start"), typed("text", text=ANSWER)]
    return [
        said("user", typed("text", text=ASKED), typed("file", url="x"), key="parts"),
        said("assistant", *parts, typed("data-x"), key="parts"),
    ]


def bedrock() -> list[Any]:
    calls = [{"toolUse": {"toolUseId": one, "name": "weather", "input": city}} for one, city in (("c1", OSLO), ("c2", ROME))]
    contents = (("c1", [{"json": WARM}], "success"), ("c2", [{"text": "down"}], "error"))
    results = [{"toolResult": {"toolUseId": one, "content": content, "status": status}} for one, content, status in contents]
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    return [said("user", {"text": ASKED}), said("assistant", thought, *calls), said("user", *results), said("assistant", {"text": ANSWER})]


def haystack() -> list[Any]:
    calls = [{"tool_name": "weather", "arguments": city, "id": one, "extra": None} for one, city in (("c1", OSLO), ("c2", ROME))]
    results = [
        {"tool_call_result": {"result": text, "origin": of, "error": bad}}
        for text, of, bad in ((TEXT, calls[0], False), ("down", calls[1], True))
    ]
    first = said("assistant", {"reasoning": {"reasoning_text": "Hm.", "extra": {}}}, *({"tool_call": one} for one in calls))
    return [said("user", {"text": ASKED}), first, *(said("tool", one) for one in results), said("assistant", {"text": ANSWER})]


def responses() -> list[Any]:
    calls = [
        typed("function_call", call_id=one, id=f"f{one}", name="weather", arguments=json.dumps(city))
        for one, city in (("c1", OSLO), ("c2", ROME))
    ]
    outputs = [typed("function_call_output", call_id="c1", output=TEXT)]
    failed = typed("mcp_call", id="c2", name="weather", arguments=json.dumps(ROME), output=None, error="down")
    thought, empty = typed("reasoning", summary=[typed("summary_text", text="Hm.")]), typed("reasoning", summary=[], encrypted_content="x")
    answer = typed("message", role="assistant", content=[typed("output_text", text=ANSWER)], id="m")
    return [USER, typed("mcp_list_tools", server_label="s", tools=[]), thought, calls[0], failed, *outputs, empty, answer]


def pydantic_ai() -> list[Any]:
    def part(kind: str, **more: Any) -> dict[str, Any]:
        return {"part_kind": kind, **more}

    user = part("user-prompt", content=[ASKED, {"kind": "image-url", "url": "x"}])
    calls = [part("tool-call", tool_name="weather", args=args, tool_call_id=one) for one, args in (("c1", OSLO), ("c2", json.dumps(ROME)))]
    results = [part("tool-return", tool_name="weather", content=WARM, tool_call_id="c1", outcome="success")]
    results += [part("retry-prompt", tool_name="weather", content="down", tool_call_id="c2")]
    return [
        {"kind": "request", "parts": [part("system-prompt", content="Be kind."), user]},
        {"kind": "response", "parts": [part("thinking", content="Hm."), *calls]},
        {"kind": "request", "parts": results},
        {"kind": "response", "parts": [part("text", content=ANSWER)], "model_name": "m"},
    ]


def autogen() -> list[Any]:
    calls = [{"id": one, "name": "weather", "arguments": json.dumps(city)} for one, city in (("c1", OSLO), ("c2", ROME))]
    results = [
        {"call_id": one, "name": "weather", "content": text, "is_error": bad} for one, text, bad in (("c1", TEXT, False), ("c2", "down", True))
    ]
    return [
        typed("TextMessage", source="user", content=ASKED),
        typed("ThoughtEvent", source="w", content="Hm."),
        typed("ToolCallRequestEvent", source="w", content=calls),
        typed("ToolCallExecutionEvent", source="w", content=results),
        typed("HandoffMessage", source="w", target="v", content="Over to v."),
        typed("TextMessage", source="v", content=ANSWER),
    ]


def claude_code() -> list[Any]:
    user, first, results, last = anthropic("tool_use", "tool_result", own=False)
    lines = [typed("assistant", message={**first, "id": "m1", "content": [block]}) for block in first["content"]]
    inner = typed("user", message=USER, isSidechain=True)
    return [
        typed("summary", summary="x"),
        typed("user", message=user),
        *lines,
        inner,
        typed("user", message=results),
        typed("assistant", message=last),
    ]


def langfuse() -> dict[str, Any]:
    told = vercel("input")
    made = {"traceId": "t", "startTime": "2026-01-01T00:00:01Z", "model": "m"}
    chats = [
        typed("GENERATION", id="o1", input=told[:1], output=told[1], **made),
        typed("GENERATION", id="o2", input=json.dumps(told[:3]), output=ANSWER, **made),
    ]
    about = {"id": "t", "name": "agent", "input": {"messages": told[:1]}, "output": ANSWER, "metadata": {"talm_sim.scenario.id": "s"}}
    return {**about, "observations": chats}


FORMS = {
    "gemini": gemini("functionCall", "functionResponse"),
    "gemini, other spelling": gemini("function_call", "function_response"),
    "adk": {"events": [{"author": one["role"], "content": one} for one in gemini("function_call", "function_response")]},
    "anthropic": anthropic("tool_use", "tool_result", own=False),
    "anthropic mcp": anthropic("mcp_tool_use", "mcp_tool_result", own=True),
    "anthropic server": anthropic("server_tool_use", "web_search_tool_result", own=True),
    "vercel": vercel("input"),
    "vercel, other spelling": vercel("args"),
    "vercel ui": vercel_ui(),
    "bedrock": {"messages": bedrock()},
    "haystack": haystack(),
    "responses": {"input": responses()[:1], "output": responses()[1:]},
    "pydantic-ai": pydantic_ai(),
    "autogen": {"messages": autogen(), "stop_reason": "x"},
    "langfuse": langfuse(),
}
LINES = {
    "claude code": claude_code(),
    "codex": [typed("response_item", payload=one) for one in responses()],
    "pydantic-ai lines": pydantic_ai(),
}


@pytest.mark.parametrize(
    "text", [*map(json.dumps, FORMS.values()), *("\n".join(map(json.dumps, one)) for one in LINES.values())], ids=[*FORMS, *LINES]
)
def test_each_form_of_messages_gives_the_same_episode(text: str, tmp_path: Path) -> None:
    (trace,) = read(text, tmp_path).traces
    episode = played(trace)
    assert (trace.request, episode.answer, episode.termination) == (ASKED, ANSWER, Termination.ANSWERED)
    found = {event.call_id: (event.name, event.arguments, event.ok) for event in episode.tool_events}
    assert found == {"c1": ("weather", OSLO, True), "c2": ("weather", ROME, False)}
    results = {event.call_id: event.result for event in episode.tool_events}
    assert results["c1"] == TEXT and "down" in results["c2"]
    assert [turn.reasoning for turn in episode.model_turns] == ["Hm.", ""]


def spans(*told: dict[str, Any]) -> str:
    """Return spans in the order of their times; each is within the one that its `in` names, and all others within one root."""
    inner = [span_of(number, one, parentSpanId=f"s{one.pop('in', 1)}") for number, one in enumerate(map(dict, told), 2)]
    return document(span_of(1, {}, name="root"), *inner)


AGENT = {"gen_ai.operation.name": "invoke_agent"}
CALL = said("assistant", typed("tool_use", id="c1", name="weather", input=OSLO))
PLAN = {"role": "user", "content": "Do: Plan A."}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": TEXT}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}


def chat(told: list[Any], answer: Any = ANSWER) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(told), "gen_ai.output.messages": json.dumps(answer)}


def ai_sdk() -> list[dict[str, Any]]:
    told = vercel("input")
    made = [{"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(told[:end])} for end in (1, 3)]
    made[0]["ai.response.toolCalls"] = json.dumps([{"toolCallId": "c1", "toolName": "weather", "input": json.dumps(OSLO)}])
    tool = {"ai.toolCall.name": "weather", "ai.toolCall.id": "c1", "ai.toolCall.args": json.dumps(OSLO), "ai.toolCall.result": TEXT}
    return [{"ai.operationId": "ai.generateText"}, made[0], {"ai.operationId": "ai.toolCall"} | tool, made[1] | {"ai.response.text": ANSWER}]


def adk() -> list[dict[str, Any]]:
    told = gemini("function_call", "function_response")
    request, reply = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
    call = said("model", told[1]["parts"][1], key="parts")
    pairs = [{request: json.dumps({"contents": told[:end]}), reply: json.dumps({"content": one})} for end, one in ((1, call), (3, told[3]))]
    tool = {**TOOL, "gcp.vertex.agent.tool_call_args": json.dumps(OSLO), "gcp.vertex.agent.tool_response": TEXT}
    return [AGENT, {"gen_ai.operation.name": "call_llm"} | pairs[0], tool, {"gen_ai.operation.name": "call_llm"} | pairs[1]]


@pytest.mark.parametrize(
    "told",
    [
        ai_sdk(),
        adk(),
        # The result stands in the next prompt alone, with the call's id and without.
        [AGENT, chat([USER], CALL), TOOL | {"gen_ai.tool.call.id": "c1"}, chat([USER, CALL, RESULT])],
        [AGENT, chat([USER], CALL), TOOL, chat([USER, CALL, RESULT])],
        # One agent hands over to another, which is told what came before, the same, or the first one's answer.
        [AGENT, chat([USER], CALL) | {"in": 2}, AGENT, chat([USER, CALL, RESULT]) | {"in": 4}],
        [chat([USER], CALL) | AGENT, TOOL | {"gen_ai.tool.call.result": TEXT, "in": 2}, chat([USER]) | AGENT],
        [chat([USER], "Plan A.") | AGENT, AGENT, chat([PLAN], CALL) | {"in": 3}, TOOL | {"in": 3}, chat([PLAN, CALL, RESULT]) | {"in": 3}],
    ],
)
def test_spans_of_one_trace_are_one_episode(told: list[dict[str, Any]], tmp_path: Path) -> None:
    (trace,) = read(spans(*told), tmp_path).traces
    episode = played(trace)
    assert (trace.request, episode.answer, episode.tool_events[0].result) == (ASKED, ANSWER, TEXT)
    assert len([event for event in episode.tool_events if event.call_id == "c1"]) == 1


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"document": {"data": TEXT}}, TEXT),  # Cohere
        ({"document": {"data": WARM, "id": "d"}}, TEXT),
        ({"source": {"type": "text", "media_type": "text/plain", "data": TEXT}}, TEXT),  # Anthropic
        ({"source": {"type": "content", "content": [typed("text", text=TEXT)]}}, TEXT),
        ({"source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}}, "[document]"),
    ],
)
def test_a_document_that_is_text_is_its_text(block: dict[str, Any], text: str) -> None:
    assert result_text([typed("document", **block)]) == text
    assert [*read_blocks([typed("document", **block)], "assistant", "here")] == [("text", text)]


def test_agents_with_requests_of_their_own_are_traces_of_their_own(tmp_path: Path) -> None:
    other = {"role": "user", "content": "Else?"}
    assert len(read(spans(chat([USER]) | AGENT, chat([other]) | AGENT), tmp_path).traces) == 2
    named = [chat([USER]) | AGENT | {"talm_sim.scenario.id": name} for name in "ab"]
    assert [one.scenario for one in read(spans(*named), tmp_path).traces] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        *(
            (json.dumps([USER, said(role, typed("hologram"))]), "message 2, block 1: is of the unknown kind 'hologram'; write")
            for role in ("assistant", "tool")
        ),
        (
            json.dumps([USER, said("assistant", {"text": "a"}, {"hologram": {}})]),
            "message 2, block 2: is of the unknown kind 'hologram'; write",
        ),
        (
            document(span_of(1, {}, name="GET /"), span_of(2, {}, name="db.query")),
            r"contains no trace, only these kinds: GET \(1\), db.query \(1\)",
        ),
    ],
)
def test_what_is_not_known_is_named(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=line):
        read(text, tmp_path)


def test_a_trace_above_a_limit_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.exchange.traces.import_traces.LARGEST_DOCUMENT", 2000)
    whole = json.dumps([USER, {"role": "assistant", "content": ANSWER}])
    file = read("\n".join([whole, json.dumps([USER, {"role": "assistant", "content": "x" * 3000}]), "[" * 200 + "]" * 200, whole]), tmp_path)
    assert len(file.traces) == 2 and [one.partition("traces.jsonl")[2][:14] for one in sorted(file.too_large)] == [
        ":2: its texts ",
        ":3: nested too",
    ]


def test_nested_spans_take_linear_time(tmp_path: Path) -> None:
    deep = [span_of(number, AGENT, parentSpanId=f"s{number - 1}") for number in range(2, 4000)]
    start = time.process_time()
    (trace,) = read(document(*deep, span_of(4000, chat([USER]), parentSpanId="s3999")), tmp_path).traces
    assert played(trace).answer == ANSWER and time.process_time() - start < 10
