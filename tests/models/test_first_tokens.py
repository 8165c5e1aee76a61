"""The likeliest first tokens of a served answer: asked for only where wanted, read as a distribution or not at all."""

from __future__ import annotations

import math
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import PrerequisiteError, ProviderError, RefusedError
from talm_sim.models.answers import first_tokens
from talm_sim.models.base import CompletionModel, GenerationSettings
from talm_sim.models.registry import open_model
from talm_sim.models.yes_no import yes_probability
from talm_sim.types import ModelTurn, TokenLogprob
from tests.models.loopback import Answer, Seen, chat_answer, loopback, text_answer

MODEL = "openai-api/my-server/m"
ASKED = GenerationSettings(temperature=0.0, max_new_tokens=8, alternatives=20)
TOP: list[dict[str, Any]] = [
    {"token": "No", "logprob": -1.5, "bytes": [78, 111]},
    {"token": " Yes", "logprob": -0.5, "bytes": [32, 89, 101, 115]},
    {"token": "\\xe2\\x80", "logprob": -4.0, "bytes": [226, 128]},
    {"token": "Ok", "logprob": -9999.0, "bytes": None},
]
FOUND = (
    TokenLogprob(token=" Yes", logprob=-0.5),
    TokenLogprob(token="No", logprob=-1.5),
    TokenLogprob(token="\ufffd", logprob=-4.0),
    TokenLogprob(token="Ok", logprob=-9999.0),
)


def with_top(top: Any) -> Answer:
    answer = chat_answer("Yes")
    answer.body["choices"][0]["logprobs"] = {
        "content": [{"token": "Yes", "logprob": -0.5, "top_logprobs": top}, {"token": ".", "logprob": -1.0}]
    }
    return answer


async def ask(
    answer: Answer,
    monkeypatch: pytest.MonkeyPatch,
    settings: GenerationSettings = ASKED,
    *,
    prompt: str = "",
    fail_fast: bool = False,
    **options: str,
) -> tuple[ModelTurn, Seen]:
    """Chat, or where a prompt is given have it continued."""
    with loopback(answer) as server:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
        model = open_model(MODEL, max_retries=0, timeout=100.0, options=options, fail_fast=fail_fast)
        async with aclosing(model):
            if prompt:
                assert isinstance(model, CompletionModel)
                turn = await model.complete(prompt, settings)
            else:
                turn = await model.generate([HumanMessage("Can it be done?")], (), settings)
    return turn, server.seen[0]


async def test_asked_for_they_are_read_likeliest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    turn, request = await ask(with_top(TOP), monkeypatch)
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 20)
    assert turn.first_tokens == FOUND
    assert turn.logprobs == (-0.5, -1.0)
    assert yes_probability(turn.first_tokens) == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert ModelTurn.model_validate_json(turn.model_dump_json()) == turn


async def test_not_asked_for_the_request_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    turn, request = await ask(with_top(TOP), monkeypatch, GenerationSettings(temperature=0.0, max_new_tokens=8, seed=3))
    asked = [{"role": "user", "content": "Can it be done?"}]
    assert request.body == {"model": "m", "messages": asked, "temperature": 0.0, "max_tokens": 8, "seed": 3}
    assert turn.first_tokens == ()


@pytest.mark.parametrize("number", [2, 0])
async def test_an_option_says_how_many(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    turn, request = await ask(with_top(TOP), monkeypatch, alternatives=str(number))
    assert (
        turn.first_tokens == FOUND[:number] and request.body.get("top_logprobs", 0) == number and ("logprobs" in request.body) is (number > 0)
    )


@pytest.mark.parametrize("value", ["-1", "many", "2.5", "true"])
def test_the_option_is_a_number(value: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"-M alternatives: .* (is too small; the least is 0|is not a whole number)"):
        open_model(MODEL, options={"alternatives": value}, replay=True)


REFUSALS = [
    Answer({"error": {"message": "Unsupported parameter: 'logprobs' is not supported with this model.", "code": "unsupported_parameter"}}, 400),
    Answer({"error": {"message": "You are not allowed to request logprobs from this model.", "type": "invalid_request_error"}}, 403),
    Answer({"detail": "top_logprobs: Input should be less than or equal to 5"}, 422),
    Answer({"detail": [{"loc": ["body", "top_logprobs"], "msg": "Extra inputs are not permitted"}]}, 422),
]


@pytest.mark.parametrize(
    ("refusal", "prompt", "fail_fast"), [*zip(REFUSALS, ["", "Q: can it be done?\nA:"] * 2, [True, True, False, False], strict=True)]
)
async def test_a_server_that_refuses_the_field_is_said_with_the_option(
    refusal: Answer, prompt: str, fail_fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RefusedError if fail_fast else ProviderError) as caught:
        await ask(refusal, monkeypatch, prompt=prompt, fail_fast=fail_fast)
    said = str(caught.value)
    assert said.startswith(f"{MODEL} at 127.0.0.1:") and "logprobs" in said and "\n" not in said
    assert said.endswith("; to request fewer log-probabilities or none, add for example -M alternatives=5, or -M alternatives=0")


def tokens(*logprobs: Any) -> list[dict[str, Any]]:
    return [{"token": str(place), "logprob": logprob} for place, logprob in enumerate(logprobs)]


ODD: list[Any] = [
    [],
    {},
    "Yes",
    None,
    [None],
    tokens("NaN"),
    tokens(math.nan),
    tokens(-math.inf),
    tokens(0.5),
    tokens(-(10**400)),
    tokens(None),
    tokens(True),
    tokens(-0.1, -0.1),
    [{"token": "Yes"}],
    [{"logprob": -1.0}],
    [{"token": 5, "logprob": -1.0}],
    [{"token": "x" * 257, "logprob": -1.0}],
    [*TOP, {"token": "?"}],
    tokens(*[-20.0] * 1025),
]


def test_what_is_no_distribution_is_as_good_as_none() -> None:
    given = [{"content": [{"token": "x", "logprob": -0.5, "top_logprobs": odd}]} for odd in ODD] + [{"top_logprobs": [odd]} for odd in ODD]
    given += [None, [], {}, "x", {"content": []}, {"content": None}, {"content": "x"}, {"content": [7]}, {"top_logprobs": {}}]
    assert [odd for odd in given if first_tokens(odd, 20) != ()] == []


@pytest.mark.parametrize("given", [10**12, [256], [-1], ["a"], [1.5], "Yes", True, {}, []])
def test_odd_bytes_leave_the_tokens_text(given: Any) -> None:
    read = first_tokens({"content": [{"top_logprobs": [{"token": "Yes", "logprob": -1.0, "bytes": given}]}]}, 20)
    assert read == (TokenLogprob(token="Yes", logprob=-1.0),)


def test_half_of_a_surrogate_pair_is_no_text_and_a_rounding_no_fault() -> None:
    read = first_tokens({"top_logprobs": [{"\ud800": 1e-7}]}, 20)
    assert read == (TokenLogprob(token="?", logprob=0.0),)


async def test_a_million_of_them_cost_their_own_episode_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    many = Answer(b'{"choices":[{"message":{"content":"Yes"},"logprobs":{"content":[{"top_logprobs":[' + b"{}," * 10**6 + b"{}]}]}}]}")
    turn, _ = await ask(many, monkeypatch)
    assert (turn.text, turn.first_tokens) == ("Yes", ())
    with pytest.raises(ProviderError, match="larger than 8 MiB"):
        await ask(Answer(many.body + b" " * 2**23), monkeypatch)


async def test_a_continued_prompt_has_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    top = [{"No": -1.5, " Yes": -0.5, "Ok": -9999.0}, {".": -0.1}]
    turn, request = await ask(text_answer("Yes.", top=top), monkeypatch, prompt="Q?\nA:")
    assert request.body["logprobs"] == 20
    assert turn.first_tokens == (FOUND[0], FOUND[1], FOUND[3])
    assert turn.logprobs == (-0.5,)


async def test_constrained_actions_do_not_ask_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(chat_answer('{"action": "answer", "text": "Yes"}')) as server:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
        model = open_model(MODEL, constrained=True)
        async with aclosing(model):
            turn = await model.generate([HumanMessage("Can it?")], (), ASKED)
    assert "logprobs" not in server.seen[0].body
    assert turn.first_tokens == ()
