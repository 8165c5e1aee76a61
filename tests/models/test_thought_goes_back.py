"""What a provider signs or encrypts goes back to it byte for byte and in order: stand-ins that answer 400 to anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

import talm_sim
from talm_sim.cli import main
from talm_sim.store.desk import answer
from talm_sim.types import Termination
from tests.models.loopback import Answer, Seen, loopback

SIGNED = "EqQBCkgIARABGAIiQ+/=sk-ant-aaaaaaaaaaaaaaaaaaaa.eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
"""A signature that looks like keys, which nothing may hide."""
CALL = '{"country_code": "DE",  "start":"2024-05-01" , "end": "2024-05-03"}'
USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}


def chat(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "tool_calls" if calls else "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}


def chat_call(number: int, **extra: Any) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": "count_working_days", "arguments": CALL}, **extra}


def deepseek(number: int) -> dict[str, Any]:
    return chat({"content": "", "reasoning_content": f"Hm {number}.", "tool_calls": [chat_call(number)]})


def gemini(number: int) -> dict[str, Any]:
    signed = {"google": {"thought_signature": SIGNED + str(number)}}
    return chat({"content": None, "tool_calls": [chat_call(number, extra_content=signed)]})


def openrouter(number: int) -> dict[str, Any]:
    details = [
        {"type": "reasoning.summary", "summary": "Count.", "format": "x", "index": 0},
        {"type": "reasoning.encrypted", "data": SIGNED + str(number), "index": 1},
    ]
    return chat({"content": "Let me see.", "reasoning": "Count.", "reasoning_details": details, "tool_calls": [chat_call(number)]})


def claude(number: int) -> dict[str, Any]:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": SIGNED + str(number)},
        {"type": "redacted_thinking", "data": SIGNED},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": f"call_{number}", "name": "count_working_days", "input": json.loads(CALL)},
    ]
    usage = {"input_tokens": 5, "output_tokens": 5}
    return {"id": "c", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": "tool_use", "usage": usage}


def asking(number: int) -> dict[str, Any]:
    whole = claude(number)
    whole["content"][-1] |= {"name": "ask_human", "input": {"question": "Which country?"}}
    return whole


def responses(number: int) -> dict[str, Any]:
    items = [
        {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": SIGNED + str(number)},
        {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [TEXT]},
        {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "count_working_days", "arguments": CALL},
    ]
    usage = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
    return {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": items, "usage": usage, **EMPTY}


TEXT = {"type": "output_text", "text": "Let me see.", "annotations": []}
EMPTY = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
PROVIDERS = {
    "deepseek": ("openai-api/x/deepseek-chat", deepseek, {}),
    "gemini": ("openai-api/x/gemini-3-pro", gemini, {}),
    "openrouter": ("openai-api/x/some/model", openrouter, {}),
    "claude": ("anthropic/claude-opus-5", claude, {"thinking": '{"type": "enabled", "budget_tokens": 2000}'}),
    "responses": ("openai-api/x/o3", responses, {"api": "responses"}),
}


@contextmanager
def strict_server(kind: str, make: Any = None, calls: int = 2) -> Iterator[tuple[str, list[int]]]:
    """Serve an agent that calls a tool twice and then answers; a message of its own that is not as it was sent is HTTP 400."""
    make = make or PROVIDERS[kind][1]
    statuses: list[int] = []

    def reply(seen: Seen) -> Answer:
        sent = _own(seen.body, kind)
        good = sent == [_sent_back(make(number), kind) for number in range(len(sent))]
        statuses.append(200 if good else 400)
        if not good:
            return Answer({"error": {"message": f"the thought must be passed back: {json.dumps(sent)[:300]}"}}, 400)
        return Answer(make(len(sent)) if len(sent) < calls else _last(kind))

    with loopback() as server:
        server.reply = reply
        yield server.url, statuses


def _own(body: dict[str, Any], kind: str) -> list[Any]:
    """Return the model's own turns in a request, each as what it is made of."""
    if kind != "responses":
        own = [message for message in body["messages"] if message["role"] == "assistant"]
        return [message["content"] if kind == "claude" else message for message in own]
    turns: list[list[Any]] = []
    for item in body["input"]:
        if item.get("type") == "reasoning":
            turns.append([])
        if item.get("type") in {"reasoning", "message", "function_call"}:
            turns[-1].append(item)
    return turns


def _sent_back(answer: dict[str, Any], kind: str) -> Any:
    if kind == "responses":
        return answer["output"]
    return answer["content"] if kind == "claude" else answer["choices"][0]["message"]


def _last(kind: str) -> dict[str, Any]:
    if kind == "claude":
        return {**claude(9), "content": [{"type": "text", "text": "Two days."}], "stop_reason": "end_turn"}
    if kind == "responses":
        item = {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [{**TEXT, "text": "Two days."}]}
        return {**responses(9), "output": [item]}
    return chat({"content": "Two days."})


async def act(messages: list[Any], tools: list[Any], model: Any) -> list[Any]:
    """An agent that copies what the model said, without what else its message holds."""
    messages = list(messages)
    while True:
        said = await model.bind_tools(tools).ainvoke(messages)
        messages.append(AIMessage(said.text, tool_calls=said.tool_calls))
        if not said.tool_calls:
            return messages
        messages += [ToolMessage("3", tool_call_id=call["id"]) for call in said.tool_calls]


@pytest.mark.parametrize("kind", ["gemini", "claude"])
async def test_an_agent_on_a_model_that_it_is_handed(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, _, options = PROVIDERS[kind]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none-needed")
    with strict_server(kind) as (url, statuses):
        monkeypatch.setenv("X_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        told: dict[str, Any] = {"model": model, "model_options": options, "models": "live", "human": "none", "run_dir": tmp_path}
        run = await talm_sim.run_async(agent=act, split="perfect", scenario=["calendar-01"], **told)
    episode = next(run.episodes())
    assert (statuses, episode.answer) == ([200, 200, 200], "Two days."), episode.error


def test_a_run_that_waits_for_a_person_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its checkpoint keeps the thought as it was signed."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none-needed")
    options = {"thinking": PROVIDERS["claude"][2]["thinking"]}
    with strict_server("claude", asking, calls=1) as (url, statuses):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        told: dict[str, Any] = {"model": "anthropic/claude-opus-5", "model_options": options, "models": "live", "run_dir": tmp_path}
        asked: dict[str, Any] = {"split": "underspecified", "scenario": ["calendar-01.underspecified"], "human": "terminal"}
        run = talm_sim.run(**told, **asked, no_awareness=True, finish="text", run_id="r", progress=False)
        assert statuses == [200] and len(list(run.episodes())) == 0
        answer(run.path, "calendar-01.underspecified", "Germany.")
        [episode] = talm_sim.resume(run.path).episodes()
    assert statuses == [200, 200] and episode.answer == "Two days."


@pytest.mark.parametrize("kind", PROVIDERS)
def test_episodes_finish_and_replay(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, _, options = PROVIDERS[kind]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none-needed")
    more = [word for key, value in options.items() for word in ("-M", f"{key}={value}")]
    words = ["run", "--split", "perfect", "--scenario", "calendar-01", "--model", model, *more, "--human", "none", "--no-awareness"]
    words += ["--finish", "text", "--cassettes", "kept", "-q"]
    with strict_server(kind) as (url, statuses):
        monkeypatch.setenv("X_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        assert main([*words, "--record", "--run-id", "first"]) == 0
    assert statuses == [200, 200, 200]
    assert main([*words, "--replay", "--run-id", "again"]) == 0
    first, again = (next(talm_sim.load_run(name, Path("runs")).episodes()) for name in ("first", "again"))
    assert first.termination is Termination.ANSWERED and first.answer == "Two days."
    assert [turn.provider_state for turn in first.model_turns] == [turn.provider_state for turn in again.model_turns]
    assert main(["show", "first:calendar-01"]) == 0
