"""Each kind of an answer's end, over HTTP/1.1 and by the SDKs, in every protocol; and what agent, judge and person make of it."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from talm_sim.common.credentials import Hider
from talm_sim.errors import BlockedError, ContextOverflowError, ProviderError
from talm_sim.models import endings
from talm_sim.models.base import GenerationSettings
from talm_sim.models.endings import WORDS, Answer as Read, ending_of, known_ending, turn_of
from talm_sim.models.langchain_chat import turn_in
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn, ToolSpec
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback, text_answer

TOOL = ToolSpec(name="f", description="Do it.", parameters={"type": "object", "properties": {}})
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BROKEN = {"id": "c", "type": "function", "function": "f()"}


def responses_answer(text: str, status: str = "completed", reason: str = "", calls: int = 0, error: Any = None) -> Answer:
    output: list[Any] = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}] if text else []
    output += [{"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"} for n in range(calls)]
    details = {"incomplete_details": {"reason": reason}} if reason else {}
    usage = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
    return Answer({"id": "r", "object": "response", "status": status, "output": output, "error": error, "usage": usage, **details})


def claude(text: str, stop: Any, *blocks: dict[str, Any]) -> Answer:
    return anthropic_answer(*([{"type": "text", "text": text}] if text else []), *blocks, stop=stop)


USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
ERROR = {"code": 502, "message": "upstream broke"}
IN_CHOICE = Answer({"choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "error", "error": ERROR}]})
BESIDE = Answer({"choices": [{"message": {"role": "assistant", "content": "part"}, "finish_reason": "stop"}], "error": ERROR})
IN_MESSAGE = chat_answer("", error=ERROR)
CUSTOM = Answer({**responses_answer("").body, "output": [{"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "Paris"}]})
FILTERED = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
FILTERS: list[tuple[int, Any]] = [
    *((status, {"error": {"message": "filtered", "code": "content_filter"}}) for status in (400, 200)),
    (400, {"error": {"message": "x", "code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    (400, {"error": {"code": 400, "type": "content_filter"}}),
    (400, {"detail": {"error": {"code": "content_filter", "message": "x"}}}),
    (403, {"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged"}}),
    (200, {**BESIDE.body, "error": {"code": "content_filter"}}),
]
TURN, SILENT, CUT, ATTEMPT, CALLED = "turn", "silent", "cut off", "attempt", "call"
CASES: dict[str, list[tuple[str, str, Answer, object]]] = {
    "ended": [
        ("chat", "a text", chat_answer("hi"), TURN),
        ("chat", "a text after an unknown word", chat_answer("hi", finish="weird"), TURN),
        ("chat", "a list of texts", chat_answer(["h", {"text": "i"}]), TURN),  # type: ignore[arg-type]
        ("chat", "a call", chat_answer(None, finish="stop", tool_calls=[CALL]), CALLED),
        ("chat", "a call of the first form", chat_answer(None, finish="function_call", function_call=CALL["function"]), CALLED),
        ("chat", "one call, flat", chat_answer(None, finish="tool_calls", tool_calls={"name": "f", "arguments": "null"}), CALLED),
        ("chat", "arguments encoded twice", chat_answer(None, tool_calls=[{"function": {"name": "f", "arguments": '"{}"'}}]), CALLED),
        ("chat", "the model's own refusal", chat_answer(None, refusal="I will not."), TURN),
        ("chat", "a list of refusals", chat_answer([{"type": "refusal", "refusal": "hi"}]), TURN),  # type: ignore[arg-type]
        ("chat", "one part", chat_answer({"type": "text", "text": "hi"}), TURN),  # type: ignore[arg-type]
        ("chat", "a text beside an empty call", chat_answer("hi", function_call={"name": "", "arguments": None}), TURN),
        ("chat", "null encoded twice", chat_answer(None, tool_calls=[{"function": {"name": "f", "arguments": '"null"'}}]), CALLED),
        ("chat", "flat, with input", chat_answer(None, tool_calls=[{"name": "f", "input": {"a": 1}}]), CALLED),
        ("chat", "flat, with args", chat_answer(None, tool_calls='[{"name": "f", "args": {"a": 1}}]'), CALLED),
        ("chat", "with parameters", chat_answer(None, tool_calls=[{"function": {"name": "f", "parameters": {"a": 1}}}]), CALLED),
        ("completions", "a text", text_answer("hi"), TURN),
        ("messages", "a text", claude("hi", "end_turn"), TURN),
        ("messages", "a call", claude("", "tool_use", USE), CALLED),
        ("responses", "a text", responses_answer("hi"), TURN),
        ("responses", "a call", responses_answer("", calls=1), CALLED),
    ],
    "silent": [
        ("chat", "nothing", chat_answer(None), SILENT),
        ("chat", "a thought alone", chat_answer("", reasoning_content="Hm."), SILENT),
        *(("chat", mark, chat_answer(mark), SILENT) for mark in ("<|im_end|>", "</s>", "<end_of_turn>\n", "\u200b", "<answer></answer>")),
        ("completions", "nothing", text_answer(""), SILENT),
        ("messages", "nothing", claude("", "end_turn"), SILENT),
        ("responses", "nothing", responses_answer(""), SILENT),
    ],
    "cut off": [
        ("chat", "a part", chat_answer("hi", finish="length"), CUT),
        ("chat", "in capitals", chat_answer("hi", finish="MAX_TOKENS"), CUT),
        ("chat", "before a word", chat_answer(None, finish="model_length"), CUT),
        ("completions", "a part", text_answer("hi", finish="length"), CUT),
        ("messages", "a part", claude("hi", "max_tokens"), CUT),
        ("responses", "a part", responses_answer("hi", "incomplete", "max_output_tokens"), CUT),
    ],
    "broken call": [
        ("chat", "a promise", chat_answer(None, finish="tool_calls"), ATTEMPT),
        ("chat", "Gemini's word", chat_answer(None, finish="malformed_function_call"), ATTEMPT),
        ("chat", "no function", chat_answer(None, finish="tool_calls", tool_calls=[BROKEN]), ATTEMPT),
        ("chat", "not an object", chat_answer(None, finish="tool_calls", tool_calls=["f()"]), ATTEMPT),
        *(("chat", word, chat_answer(None, finish=f"function_call_filter: {word}"), ATTEMPT) for word in ("MALFORMED_FUNCTION_CALL", "X")),
        ("chat", "unknown names", chat_answer(None, tool_calls=[{"name": "f", "kwargs": {"a": 1}}]), ATTEMPT),
        ("responses", "a custom call", CUSTOM, ATTEMPT),
        ("messages", "a promise", claude("", "tool_use"), ATTEMPT),
    ],
    "blocked": [
        ("chat", "a filter", chat_answer("pa", finish="content_filter"), BlockedError),
        *(("chat", word, chat_answer(None, finish=word), BlockedError) for word in ("content_filter: RECITATION", "guardrail_intervened")),
        *(("chat", str(body), Answer(body, status), BlockedError) for status, body in FILTERS),
        ("messages", "HTTP 400", Answer({"type": "error", "error": FILTERED}, 400), BlockedError),
        ("completions", "a filter", text_answer("pa", finish="content_filter"), BlockedError),
        ("messages", "a refusal", claude("pa", "refusal"), BlockedError),
        ("responses", "a filter", responses_answer("pa", "incomplete", "content_filter"), BlockedError),
    ],
    "failed": [
        ("chat", "an error within a choice", IN_CHOICE, ProviderError),
        ("chat", "an error within a message", IN_MESSAGE, ProviderError),
        ("chat", "an error beside choices", BESIDE, ProviderError),
        ("chat", "its word", chat_answer("", finish="abort"), ProviderError),
        ("chat", "an unknown word and nothing", chat_answer(None, finish="weird"), ProviderError),
        ("completions", "its word", text_answer("", finish="error"), ProviderError),
        ("messages", "an unknown word and nothing", claude("", "weird"), ProviderError),
        ("messages", "a pause", claude("hi", "pause_turn"), ProviderError),
        ("responses", "its status", responses_answer("", "failed", error=ERROR), ProviderError),
        ("responses", "not begun", responses_answer("", "queued"), ProviderError),
    ],
    "out of room": [("messages", "a full context", claude("hi", "model_context_window_exceeded"), ContextOverflowError)],
}


def kind_of(turn: ModelTurn) -> str:
    if turn.stop == "length":
        return CUT
    return SILENT if turn.is_silent else ATTEMPT if turn.unparsable_calls else CALLED if turn.tool_calls else TURN


async def test_each_kind_in_each_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-none")
    misses = []
    for kind, protocol, what, answer, right in [(kind, *one) for kind, rows in CASES.items() for one in rows]:
        with loopback(answer) as server:
            monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            options = {"api": "responses"} if protocol == "responses" else {}
            name = "anthropic/m" if protocol == "messages" else "openai-api/x/m"
            model: Any = open_model(name, max_retries=0, options=options)
            async with aclosing(model):
                try:
                    if protocol == "completions":
                        turn = await model.complete("Q:", GenerationSettings())
                    else:
                        turn = await model.generate([HumanMessage("Q?")], (TOOL,), GenerationSettings())
                    found: object = kind_of(turn)
                except ProviderError as err:
                    found = type(err)
            if found != right or len(server.seen) != 1:
                misses.append((kind, protocol, what, found, right, len(server.seen)))
    assert not misses


async def test_a_failure_in_an_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(IN_CHOICE, BESIDE, chat_answer("hi")) as server:
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        monkeypatch.setattr("talm_sim.models.retries.RetryPolicy.wait_before", lambda *_: 0.0)
        async with aclosing(open_model("openai-api/x/m")) as model:
            turn = await model.generate([HumanMessage("Q?")], (), GenerationSettings())
    assert turn.text == "hi" and len(server.seen) == 3


@given(word=st.none() | st.sampled_from(sorted(WORDS)) | st.text(max_size=9), text=st.sampled_from(["", " ", "hi"]), called=st.booleans())
def test_an_end_is_of_one_kind(word: str | None, text: str, called: bool) -> None:
    answer = Read(text, calls=(("c", "f", "{}"),) if called else (), word=word)
    kind = ending_of(answer)
    if word is None or not known_ending(word):
        assert kind == ("ended" if called or text.strip() else "failed")
    if kind in {"ended", "called", "cut_off", "broken_call"}:
        turn = turn_of("m", answer, 0)
        assert ModelTurn.model_validate_json(turn.model_dump_json()) == turn
        assert bool(turn.tool_calls) == called
        assert turn.is_silent <= (kind in {"ended", "cut_off"})
    else:
        with pytest.raises(ProviderError):
            turn_of("m", answer, 0)


@pytest.mark.parametrize(
    ("told", "text", "right"),
    [({}, "hi", TURN), ({}, "", SILENT), ({"finish_reason": "MAX_TOKENS"}, "hi", CUT), ({"stop_reason": "tool_use"}, "", ATTEMPT)],
)
def test_langchain_chat_models_say_it_in_their_metadata(told: dict[str, str], text: str, right: str) -> None:
    assert kind_of(turn_in("m", AIMessage(text, response_metadata=told), 0, Hider(()))) == right


@pytest.mark.parametrize(("word", "error"), [("content_filter", BlockedError), ("SAFETY", BlockedError), ("error", ProviderError)])
def test_langchain_chat_models_may_have_no_turn(word: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        turn_in("m", AIMessage("hi", response_metadata={"finish_reason": word}), 0, Hider(()))


def test_one_function_makes_a_turn_of_an_answer() -> None:
    made = {path.name for path in Path(endings.__file__).parent.glob("*.py") if "ModelTurn(" in path.read_text(encoding="utf-8")}
    assert made == {"endings.py"}
