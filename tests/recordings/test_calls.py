"""Credentials by name within tool calls: hidden alike in request and response, and never what the conversation itself holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from talm_sim.config import Traffic
from talm_sim.models.base import GenerationSettings
from talm_sim.models.registry import open_model
from talm_sim.recordings import HttpRequest, HttpResponse, Player, RecordingTransport, Redactor, current_player
from talm_sim.recordings.tape import Tape
from talm_sim.types import ModelTurn
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback

MADE_UP, TOLD = "made-up-by-the-model-1", "z9x8c7v6b5n4m3q2w1"
ARGUMENTS = {"api_key": MADE_UP, "token": TOLD, "b": {"accessToken": MADE_UP}, "a": "é", "key": "C minor", "max_tokens": 5}


def called(model: str) -> Answer:
    if model.startswith("openai"):
        function = {"name": "f", "arguments": json.dumps(ARGUMENTS, ensure_ascii=False, separators=(",", ":"))}
        return chat_answer("Calling.", tool_calls=[{"id": "c", "type": "function", "function": function}])
    return anthropic_answer({"type": "text", "text": "Calling."}, {"type": "tool_use", "id": "c", "name": "f", "input": ARGUMENTS})


async def converse(model: str, tape: Tape, traffic: Traffic) -> list[ModelTurn]:
    """Two turns: a call with credentials, and an answer after the tool's."""
    current_player.set(Player(tape, traffic))
    opened = open_model(model, transport_factory=RecordingTransport, replay=traffic is Traffic.REPLAY, max_retries=0)
    messages: list[BaseMessage] = [HumanMessage(f"My token is {TOLD}.")]
    first = await opened.generate(messages, (), GenerationSettings())
    messages += [
        AIMessage(first.raw_text, tool_calls=[{"id": c.id, "name": c.name, "args": c.arguments} for c in first.tool_calls]),
        ToolMessage(f"unknown key {MADE_UP}", tool_call_id=first.tool_calls[0].id),
    ]
    second = await opened.generate(messages, (), GenerationSettings())
    await opened.aclose()
    return [first, second]


@pytest.mark.parametrize("model", ["openai/m", "anthropic/m"])
async def test_a_recording_holds_none_and_replays(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape("t")
    last = chat_answer("done") if model.startswith("openai") else anthropic_answer({"type": "text", "text": "done"})
    with loopback(called(model), last) as server:
        for name, url in (("OPENAI", f"{server.url}/v1"), ("ANTHROPIC", server.url)):
            monkeypatch.setenv(f"{name}_BASE_URL", url)
            monkeypatch.setenv(f"{name}_API_KEY", "none-needed")
        live = await converse(model, tape, Traffic.RECORD)
    assert live[0].tool_calls[0].arguments == ARGUMENTS  # what the model did is what is measured
    answers = [item["response"]["body"]["string"] for item in json.loads(tape.text())["interactions"]]
    assert MADE_UP not in "".join(answers) and TOLD in answers[0]
    played = await converse(model, Tape("t", tape.text()), Traffic.REPLAY)
    hidden = {**ARGUMENTS, "api_key": "REDACTED", "b": {"accessToken": "REDACTED"}}
    assert played[0].tool_calls[0].arguments == hidden
    assert played[1] == live[1]


def test_a_request_is_cleaned_as_the_answer_before_it_was() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps({"api_key": "V-77", "auth": "W-77"})}}
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "use W-77"}]}
    answer = {"choices": [{"message": {"role": "assistant", "tool_calls": [call], "content": None}}]}
    redactor = Redactor([])
    request = HttpRequest("POST", "http://h.invalid/", {}, json.dumps(asked).encode())
    once = redactor.response(HttpResponse(200, "OK", (), json.dumps(answer).encode()), request)
    said = json.loads(once.body)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    asked["messages"] += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "no V-77"}]
    again = redactor.request(HttpRequest("POST", "http://h.invalid/", {}, json.dumps(asked).encode()))
    sent = json.loads(again.body or b"")["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert said == sent == '{"api_key": "REDACTED", "auth": "W-77"}'
    assert redactor.request(again) == again and redactor.response(once, request) == once


@pytest.mark.parametrize(
    "body", [b"", b"no json", b'{"arguments": 5, "name": 3}', b'{"name": "f", "arguments": "[1"}', b"[" * 100_000 + b'"arguments"']
)
def test_what_is_no_call_stays(body: bytes) -> None:
    request = HttpRequest("POST", "http://h.invalid/", {}, b"{}")
    assert Redactor([]).response(HttpResponse(200, "OK", (), body), request).body == body
