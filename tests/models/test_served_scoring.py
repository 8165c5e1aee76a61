"""A served model that scores given answers: what is sent, which tokens count, and which servers are refused."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError, RefusedError
from talm_sim.models.base import Continuation, ScoringModel, TextModel
from talm_sim.models.registry import cannot_score, open_model
from tests.models.loopback import Answer, Loopback, loopback, text_answer
from tests.tables import labelled

MODEL = "openai-api/my-server/org/m"
PROMPT = "Which city?\n\nAssistant:\n"


def echo(text: str, *, tokens: Sequence[str] | None = None, written: str = "!", values: Sequence[Any] | None = None) -> Answer:
    """What vLLM answers: a token a word or mark, each the less likely the further back it is; the first one has no log-probability."""
    tokens = re.findall(r"\s|\w+|[^\w\s]", text) if tokens is None else tokens
    values = [None, *(-0.5 * number for number in range(1, len(tokens)))] if values is None else values
    logprobs = {"tokens": [*tokens, written], "token_logprobs": [*values, -9.0], "text_offset": [0] * (len(tokens) + 1)}
    choice = {"index": 0, "text": f"{text}{written}", "logprobs": logprobs, "finish_reason": "length"}
    usage = {"prompt_tokens": len(tokens), "completion_tokens": 1, "total_tokens": len(tokens) + 1}
    return Answer({"object": "text_completion", "choices": [choice], "usage": usage})


@asynccontextmanager
async def opened(url: str, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> AsyncIterator[ScoringModel]:
    monkeypatch.setenv("MY_SERVER_BASE_URL", f"{url}/v1")
    model = open_model(MODEL, **{"max_retries": 0, "timeout": 5.0, **fields})
    assert isinstance(model, ScoringModel) and not isinstance(model, TextModel)
    async with aclosing(model):
        yield model


async def score(
    monkeypatch: pytest.MonkeyPatch, options: Sequence[str], *script: Answer, prompt: str = PROMPT, **fields: Any
) -> tuple[list[Continuation], Loopback]:
    with loopback(*script) as server:
        async with opened(server.url, monkeypatch, **fields) as model:
            return await model.score(prompt, options), server


async def test_each_option_is_a_request_with_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["In Hanoi.", '{"name": "look"}']
    found, server = await score(monkeypatch, options, *(echo(PROMPT + one) for one in options))
    assert [one.path for one in server.seen] == ["/v1/completions"] * 2
    assert server.seen[0].body == json.loads(
        '{"model":"org/m","prompt":"Which city?\\n\\nAssistant:\\nIn Hanoi.","temperature":0.0,"max_tokens":1,'
        '"echo":true,"logprobs":0,"add_special_tokens":false}'
    )
    # Which, blank, city ? \n \n Assistant : are the prompt's 8 tokens, white space behind them the option's.
    assert found == [Continuation(-0.5 * (8 + 9 + 10 + 11 + 12), 5), Continuation(-0.5 * sum(range(8, 8 + 11)), 11)]


async def test_a_token_of_half_a_character_counts_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM gives the first half an empty text."""
    tokens = ["Ask", " ", "", "ệ", ":", "\n", "", "😀", " yes"]
    values = [None, -1, -2, -3, -4, -5, -6, -7, -8]
    found, _ = await score(monkeypatch, ["😀 yes"], echo("Ask ệ:\n😀 yes", tokens=tokens, values=values), prompt="Ask ệ:\n")
    assert found == [Continuation(-26.0, 4)]


async def test_a_token_on_the_seam_belongs_to_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = await score(monkeypatch, ["yes"], echo("A:\nyes", tokens=["A", ":\n", "yes"], values=[None, -1, -2]), prompt="A:\n")
    assert found == [Continuation(-2.0, 1)]


NONE = "gives no log-probabilities of the prompt"


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (text_answer("yes"), RefusedError, NONE),
        (text_answer("yes", top=[{"yes": -0.5}]), RefusedError, NONE),
        (Answer({"choices": [{"text": f"{PROMPT}yes!", "logprobs": None}]}), RefusedError, NONE),
        (Answer({"choices": []}), RefusedError, NONE),
        (Answer({"error": {"message": "echo with logprobs is not supported"}}, 400), RefusedError, "cannot score given answers"),
        (Answer({"error": {"message": "Not Found"}}, 404), RefusedError, "the server offers /completions"),
        (echo(PROMPT + "yes", tokens=["Which", "city"], values=[None, -1]), ProviderError, "do not spell the text"),
        (Answer({"error": {"message": "echo is not supported"}}, 400), RefusedError, "echo is not supported; it cannot score given answers"),
        (Answer({"error": {"message": "out of memory"}}, 500), ProviderError, "out of memory"),
        (echo(PROMPT + "yes", values=[None] * 10), RefusedError, NONE),
        (echo(PROMPT + "yes", values=["-1"] * 10), RefusedError, NONE),
        (echo(PROMPT + "yes", values=[None, *[0.0] * 9]), RefusedError, NONE),  # TensorRT-LLM and LMDeploy, where none were computed
        (echo(PROMPT + "yes", values=[None, *[-1.0] * 8, 0.7]), RefusedError, NONE),
        (echo(PROMPT + "yes", values=[None, *[-1] * 8, None]), ProviderError, "no log-probability that is a finite number"),
        (Answer({"error": {"message": "This model's maximum context length is 8 tokens."}}, 400), ContextOverflowError, "8 tokens"),
    ],
)
async def test_whatever_comes_is_a_score_or_a_line(answer: Answer, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(error) as caught:
        await score(monkeypatch, ["yes"], answer, fail_fast=True)
    assert words in str(caught.value) and str(caught.value).startswith(MODEL) and "\n" not in str(caught.value)


async def test_a_server_that_has_scored_ends_one_episode_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError, match=NONE):
        await score(monkeypatch, ["yes", "no"], echo(PROMPT + "yes"), text_answer("no"))


async def test_a_request_that_is_refused_after_an_answer_ends_one_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    for message in ("echo is not supported", "too long"):
        with pytest.raises(ProviderError) as caught:
            await score(monkeypatch, ["yes", "no"], echo(PROMPT + "yes"), Answer({"error": {"message": message}}, 400), fail_fast=True)
        assert str(caught.value).endswith(f"HTTP 400: {message}")


async def test_an_option_without_text_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProviderError, match="an option is empty"):
        await score(monkeypatch, ["yes", ""], echo(PROMPT + "yes"))


def test_who_can_be_asked() -> None:
    assert not cannot_score(MODEL) and cannot_score("openai/m") and cannot_score("anthropic/m")
    assert not isinstance(open_model(MODEL, replay=True, constrained=True), ScoringModel)
    assert not isinstance(open_model("openai/m", replay=True), ScoringModel)


@labelled
def test_a_tokenizer_that_would_not_be_used_is_refused(model: str, fields: Any, words: str) -> None:
    with pytest.raises(PrerequisiteError, match=words):
        open_model(model, replay=True, options={"tokenizer": "."}, **fields)
