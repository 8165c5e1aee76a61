"""Sampling fields that a model refuses are left out: by its name, by the user's word, and once its server has refused one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

import talm_sim
from talm_sim.cli import main
from talm_sim.errors import BlockedError, PrerequisiteError, ProviderError, RefusedError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.registry import open_model
from talm_sim.models.request_facts import RequestFacts, known_of
from talm_sim.models.wire_messages import STATE, openai_messages
from talm_sim.recordings import CassetteLibrary
from tests.models.loopback import Answer, anthropic_answer, chat_answer, loopback

HELLO = [HumanMessage("hello")]
REFUSED = Answer({"error": {"message": "Unsupported value: 'temperature' does not support 0.2 with this model."}}, 400)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")


def test_models_that_are_known_to_refuse_some() -> None:
    temperature = {name for name in NAMES if "temperature" in known_of(name).refuses}
    assert temperature == {name for name, refuses in NAMES.items() if refuses}


NAMES = {
    "o3-mini": True,
    "gpt-5": True,
    "openai/gpt-5.4-codex": True,
    "gpt-5-chat-latest": False,
    "gpt-4.1": False,
    "gpt-oss-120b": False,
    "claude-opus-4-7": True,
    "claude-opus-4.8": True,
    "anthropic/claude-opus-5": True,
    "claude-sonnet-5": True,
    "claude-opus-4-6": False,
    "claude-opus-4-20250514": False,
    "claude-sonnet-4-5": False,
    "o": False,
}


async def ask(monkeypatch: pytest.MonkeyPatch, model: str, *answers: Answer, times: int = 1, **options: Any) -> list[dict[str, Any]]:
    with loopback(*answers) as server:
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with aclosing(open_model(model, max_retries=0, **options)) as opened:
            for _ in range(times):
                await opened.generate(HELLO, (), GenerationSettings(temperature=0.2, seed=3))
    return [one.body for one in server.seen]


async def test_what_the_user_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = await ask(monkeypatch, "openai-api/x/m", chat_answer("hi"), options={"temperature": "none", "seed": "none"})
    assert bodies[0].keys() & {"temperature", "seed"} == set()
    bodies = await ask(monkeypatch, "anthropic/m", anthropic_answer({"type": "text", "text": "hi"}), options={"temperature": "none"})
    assert "temperature" not in bodies[0]


async def test_what_a_server_refuses_is_asked_for_once_and_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = RequestFacts()
    bodies = await ask(monkeypatch, "openai-api/x/m", REFUSED, chat_answer("hi"), chat_answer("hi"), times=2, facts=facts)
    assert [one.get("temperature") for one in bodies] == [0.2, None, None]
    assert [one["seed"] for one in bodies] == [3, 3, 3] and facts.left_out == {"temperature"}


@pytest.mark.parametrize("model", ["openai-api/x/m", "anthropic/m"])
async def test_requests_in_flight_together_are_all_asked_again_and_it_is_said_once(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    hi, told = chat_answer("hi") if model[0] == "o" else anthropic_answer({"type": "text", "text": "hi"}), []
    monkeypatch.setattr("talm_sim.models.endpoint.Endpoint._report_retry", lambda *retry: told.append(retry))
    with loopback() as server:
        server.reply = lambda one: replace(REFUSED, together=8) if "temperature" in one.body else hi
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with aclosing(open_model(model, max_retries=0, fail_fast=True)) as opened:
            turns = await asyncio.gather(*(opened.generate(HELLO, (), GenerationSettings(temperature=0.2)) for _ in range(8)))
    assert [turn.text for turn in turns] == ["hi"] * 8 and len(server.seen) == 16 and len(told) == 1


@pytest.mark.parametrize("model", ["openai-api/x/m", "anthropic/m"])
async def test_what_instruments_an_sdk_without_its_signature_sees_each_request(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    from anthropic.resources import messages
    from openai.resources.chat import completions

    seen = []
    for kind in (messages.AsyncMessages, completions.AsyncCompletions):

        async def create(self: Any, *args: Any, own: Any = kind.create, **fields: Any) -> Any:
            seen.append(fields["model"])
            return await own(self, *args, **fields)

        monkeypatch.setattr(kind, "create", create)
    hi = chat_answer("hi") if model[0] == "o" else anthropic_answer({"type": "text", "text": "hi"})
    bodies = await ask(monkeypatch, model, hi, times=2)
    assert seen == ["m", "m"] and [one["temperature"] for one in bodies] == [0.2, 0.2]


async def test_what_is_refused_again_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError, match="Unsupported value"):
        await ask(monkeypatch, "openai-api/x/m", REFUSED, REFUSED)


@pytest.mark.parametrize("code", ["content_filter", "data_inspection_failed"])
async def test_a_request_that_a_filter_refuses_is_blocked(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    with pytest.raises(BlockedError):
        await ask(monkeypatch, "openai-api/x/m", Answer({"error": {"message": "The temperature of this text.", "code": code}}, 400))


async def test_the_same_bad_request_three_times_is_the_users_to_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Answer({"error": {"message": "tools are not supported"}}, 400)
    with loopback(bad, bad, bad) as server:
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        async with aclosing(open_model("openai-api/x/m", max_retries=0, fail_fast=True)) as opened:
            ended = []
            for _ in range(3):
                with pytest.raises((ProviderError, RefusedError)) as failure:
                    await opened.generate(HELLO, (), GenerationSettings())
                ended.append(failure.type)
    assert ended == [ProviderError, ProviderError, RefusedError]


def test_a_run_says_it_and_its_recording_knows_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--task", "when2call", "--mode", "judge", "--split", "cannot_answer", "--limit", "1", "--temperature", "0.2"]
    words += ["--model", "openai-api/x/m", "--cassettes", "kept"]
    with loopback(REFUSED, chat_answer("Which city?")) as server:
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        assert main(["run", *words, "--record", "--run-id", "first"]) == 0
    assert "left out of the requests, as openai-api/x/m refuses it: temperature" in " ".join(capsys.readouterr().out.split())
    monkeypatch.delenv("X_BASE_URL")
    assert main(["run", *words, "--replay", "--run-id", "again"]) == 0
    assert talm_sim.load_run("first", Path("runs")).left_out() == {"openai-api/x/m": ["temperature"]}


def test_a_run_that_a_server_ends_keeps_what_was_learnt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--task", "when2call", "--mode", "judge", "--split", "cannot_answer", "--limit", "3", "--model", "openai-api/x/m"]
    with loopback(REFUSED, *[Answer({"error": {"message": "the format is not supported"}}, 400)] * 2) as server:
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        assert main(["run", *words, "--temperature", "0.2", "--run-id", "first"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "the format is not supported; the server answers, and refuses" in said and "is running" not in said
        server.script[:], server.seen[:] = [chat_answer("Which city?")], []
        assert main(["resume", "first"]) == 0
    assert server.seen and not any("temperature" in one.body for one in server.seen)


async def test_room_to_think_is_added_to_the_limit_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    hi, claude = chat_answer("hi"), anthropic_answer({"type": "text", "text": "hi"})
    limit, recorded = GenerationSettings().max_new_tokens, RequestFacts(room=0)
    thinking = {"thinking": '{"type": "enabled", "budget_tokens": 2000}'}
    rows: list[tuple[str, Answer, dict[str, str], RequestFacts | None, int]] = [
        ("openai-api/x/m", hi, {}, None, 0),
        ("openai-api/x/m", hi, {"room": "700"}, None, 700),
        ("openai-api/x/m", hi, {"reasoning": '{"max_tokens": 900}'}, None, 900),
        ("openai-api/x/m", hi, {"extra_body": '{"google": {"thinking_config": {"thinking_budget": 800}}}'}, None, 800),
        ("openai-api/x/gemini-3-pro", hi, {}, None, 32_768),
        ("openai-api/x/gemini-3-pro", hi, {}, recorded, 0),
        ("openai-api/x/gemini-3-pro", hi, {"room": "700"}, RequestFacts(room=0), 700),
        ("anthropic/m", claude, thinking, None, 2000),
        ("anthropic/m", claude, {}, None, 0),
    ]
    for model, answer, options, facts, room in rows:
        [body] = await ask(monkeypatch, model, answer, options=options, facts=facts)
        assert body["max_tokens"] == limit + room, (model, options)


async def test_a_value_out_of_range_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = RequestFacts()
    with loopback(anthropic_answer({"type": "text", "text": "hi"})) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with aclosing(open_model("anthropic/m", facts=facts)) as opened:
            await opened.generate(HELLO, (), GenerationSettings(temperature=1.7))
    assert facts.out_of_range == {"a temperature of 1.7, above 1"} and "temperature" not in server.seen[0].body


@pytest.mark.parametrize("options", [{"room": "many"}, {"api": "responses", "tokenizer": "somewhere"}, {"api": "soap"}])
def test_options_that_cannot_be(monkeypatch: pytest.MonkeyPatch, options: dict[str, str]) -> None:
    with pytest.raises(PrerequisiteError, match="-M "):
        open_model("openai-api/x/m", options=options, replay=True)


def test_another_model_does_not_get_the_thought() -> None:
    state = {"model": "openai-api/x/m", "text": "hi", "message": {"content": "hi", "reasoning_content": "Hm."}}
    said = AIMessage("hi", additional_kwargs={STATE: state})
    sent = [openai_messages([said], name)[0].get("reasoning_content") for name in ("openai-api/x/m", "openai/m")]
    assert sent == ["Hm.", None]


def test_a_recording_says_how_its_requests_were_made_but_what_the_user_says(tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    library.save_facts("x/told", RequestFacts(room=700, told=True))
    library.save_facts("x/known", RequestFacts(left_out={"seed"}, room=900, api="responses"))
    found = {name: RequestFacts() for name in ("x/told", "x/known", "x/none")}
    for name, facts in found.items():
        library.read_facts(name, facts, replayed=True)
    read = [(one.left_out, one.room, one.api) for one in found.values()]
    assert read == [(set(), 0, "chat"), ({"seed"}, 900, "responses"), (set(), 0, "chat")]
