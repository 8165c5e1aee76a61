"""A served model as a base model: prompts to the letter, by the same line, recordings and readers as chat."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from talm_sim.errors import ProviderError, RefusedError
from talm_sim.models.base import CompletionModel, GenerationSettings, TextModel
from talm_sim.models.registry import open_model
from talm_sim.types import ModelTurn, Usage
from tests.models.loopback import Answer, Loopback, loopback, text_answer

MODEL = "openai-api/my-server/org/m"
PROMPT = "Question: can it be done?\nAnswer:"
SETTINGS = GenerationSettings(temperature=0.0, max_new_tokens=9, seed=4)


@asynccontextmanager
async def opened(url: str, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> AsyncIterator[CompletionModel]:
    monkeypatch.setenv("MY_SERVER_BASE_URL", f"{url}/v1")
    model = open_model(MODEL, **{"max_retries": 0, "timeout": 5.0, **fields})
    assert isinstance(model, CompletionModel)
    async with aclosing(model):
        yield model


async def complete(
    monkeypatch: pytest.MonkeyPatch, *script: Answer, settings: GenerationSettings = SETTINGS, **fields: Any
) -> tuple[ModelTurn, Loopback]:
    with loopback(*script) as server:
        async with opened(server.url, monkeypatch, **fields) as model:
            turn = await model.complete(PROMPT, settings)
    return turn, server


async def test_the_prompt_goes_to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    turn, server = await complete(monkeypatch, text_answer(" Yes.\nQuestion:", finish="length"))
    assert server.seen[0].path == "/v1/completions"
    assert server.seen[0].body == json.loads(
        '{"model":"org/m","prompt":"Question: can it be done?\\nAnswer:","temperature":0.0,"max_tokens":9,"seed":4}'
    )
    assert turn == ModelTurn(raw_text=" Yes.\nQuestion:", text=" Yes.\nQuestion:", stop="length", usage=Usage(input_tokens=5, output_tokens=2))


async def test_options_become_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = GenerationSettings(options={"stop": ["\n"]})
    _, server = await complete(monkeypatch, text_answer(), settings=settings, options={"top_p": "0.9", "max_tokens_field": "other"})
    body = server.seen[0].body
    assert (body["top_p"], body["stop"], body["max_tokens"]) == (0.9, ["\n"], 512)


def test_who_can_be_asked_so() -> None:
    served, acting = open_model(MODEL, replay=True), open_model(MODEL, replay=True, constrained=True)
    claude = open_model("anthropic/m", replay=True)
    assert isinstance(served, CompletionModel) and not isinstance(served, TextModel)
    assert not isinstance(acting, CompletionModel) and not isinstance(claude, CompletionModel)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer({"choices": []}), "has no text"),
        (Answer({"choices": [{"text": None}]}), "has no text"),
        (Answer({"choices": [{"message": {"content": "x"}}]}), "has no text"),
        (text_answer("x" * (2**20 + 1)), "1,048,577 characters of text"),
        (Answer(b"<html>", 200), "HTML page"),
        (Answer({"error": "no"}, 400), "HTTP 400: no"),
        (Answer(b" " * (2**23 + 1)), "larger than 8 MiB"),
    ],
)
async def test_whatever_comes_is_a_turn_or_a_line(answer: Answer, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError) as caught:
        await complete(monkeypatch, answer)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("said", [{"error": {"message": "This is a chat model."}}, {"detail": "Not Found"}])
async def test_a_server_without_completions_is_said_at_once(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError) as caught:
        await complete(monkeypatch, Answer(said, 404), fail_fast=True)
    assert "HTTP 404" in str(caught.value)
    assert str(caught.value).endswith("check that the server offers /completions for this model, and check the base URL (MY_SERVER_BASE_URL).")
