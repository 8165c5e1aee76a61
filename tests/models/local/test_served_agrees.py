"""A served model's scores are those of the same model in this process, with its tokenizer at hand and without."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, ScoringModel, TextModel
from talm_sim.models.registry import open_model
from tests.models.local.tiny import make_tiny
from tests.models.local.tiny_server import MODEL, Server
from tests.models.loopback import Answer, loopback

pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

PROMPT = "Which is the tallest? việt\n\nAssistant:\n"
OPTIONS = ["The tower.", '{"name": "look"}', "ệ, the other 😀", " \n"]


async def _score(model: Any, options: Sequence[str]) -> list[Continuation]:
    async with aclosing(model):
        assert isinstance(model, ScoringModel)
        return await model.score(PROMPT, options)


@pytest.mark.parametrize(("opening", "named"), [(True, True), (False, True), (False, False)])
async def test_served_and_in_process(opening: bool, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiny(tmp_path, opening=opening)
    here = await _score(open_model(f"hf/{tmp_path}"), OPTIONS)
    server, start = Server(tmp_path), "<s>" if opening else ""
    with loopback(*(server.answer(start + PROMPT + one) for one in OPTIONS)) as line:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{line.url}/v1")
        served = open_model(MODEL, options={"tokenizer": str(tmp_path)} if named else {})
        assert isinstance(served, TextModel) is named
        there = await _score(served, OPTIONS)
    assert [one.body["prompt"] for one in line.seen] == [start + PROMPT + one for one in OPTIONS]
    assert [one.tokens for one in there] == [one.tokens for one in here]
    assert [one.logprob for one in there] == pytest.approx([one.logprob for one in here], abs=1e-3)


async def test_conversations_are_written_by_the_tokenizer(tmp_path: Path) -> None:
    make_tiny(tmp_path)
    model = open_model(MODEL, replay=True, options={"tokenizer": str(tmp_path)})
    here = open_model(f"hf/{tmp_path}")
    assert isinstance(model, TextModel) and isinstance(here, TextModel)
    messages, tools = [{"role": "user", "content": "Hello?"}], [{"name": "look", "description": "", "parameters": {}}]
    async with aclosing(model), aclosing(here):
        assert (model.chat_template, model.render_chat(messages, tools)) == (here.chat_template, here.render_chat(messages, tools))


async def test_another_models_tokenizer_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiny(tmp_path, opening=False)
    text = f"{PROMPT}yes"
    choice = {"text": text, "logprobs": {"tokens": [PROMPT, "yes"], "token_logprobs": [None, -1.0]}}
    with loopback(Answer({"choices": [choice], "usage": {"completion_tokens": 0}})) as line:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{line.url}/v1")
        with pytest.raises(PrerequisiteError, match="makes 2 tokens of a text, this tokenizer"):
            await _score(open_model(MODEL, options={"tokenizer": str(tmp_path)}), ["yes"])


def test_a_tokenizer_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for folder, words in ((tmp_path / "no", "there is no such directory"), (tmp_path, "cannot be loaded")):
        with pytest.raises(PrerequisiteError, match=f"^-M tokenizer={folder}: {words}"):
            open_model(MODEL, replay=True, options={"tokenizer": str(folder)})
