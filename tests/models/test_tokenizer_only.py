from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, TextModel
from talm_sim.models.local.tokenizer_only import TokenizerOnly, open_tokenizer

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def folder() -> str:
    pytest.importorskip("transformers", reason="needs transformers")
    found = os.environ.get("TALM_SIM_TEST_MODEL", "")
    if not found:
        pytest.skip("TALM_SIM_TEST_MODEL names no model directory")
    return found


@pytest.fixture(scope="module")
def tokenizer(folder: str) -> TokenizerOnly:
    return open_tokenizer(f"hf/{folder}", {})


def test_prompts_are_those_of_the_model_with_its_weights(folder: str, tokenizer: TokenizerOnly, tmp_path: Path) -> None:
    from talm_sim.models.registry import open_model

    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is the time in Hue?"}]
    model = open_model(f"hf/{folder}")
    assert isinstance(model, TextModel) and isinstance(tokenizer, TextModel)
    assert tokenizer.render_chat(messages, []) == model.render_chat(messages, [])
    asyncio.run(model.aclose())
    own = tmp_path / "own.jinja"
    own.write_text("{% for message in messages %}[{{ message.content }}]{% endfor %}", encoding="utf-8")
    assert open_tokenizer(f"hf/{folder}", {"chat_template": str(own)}).render_chat(messages, []) == "[Be brief.][What is the time in Hue?]"


def test_tokens_are_counted_with_the_one_that_ends_a_row(tokenizer: TokenizerOnly) -> None:
    short, long = tokenizer.count_tokens("Time?\n", "Noon."), tokenizer.count_tokens("Time?\n", "Noon. Noon.")
    assert short[1] and long[1] and 3 < short[0] < long[0]
    assert not tokenizer.count_tokens("The ans", "wer.")[1], "the answer's first letters and the prompt's last are one token"


def test_it_has_no_weights(tokenizer: TokenizerOnly) -> None:
    with pytest.raises(NotImplementedError):
        asyncio.run(tokenizer.score("a", ["b"]))
    with pytest.raises(NotImplementedError):
        asyncio.run(tokenizer.complete("a", GenerationSettings()))


def test_what_is_missing_is_said_in_one_line(folder: str, tmp_path: Path) -> None:
    for name, options, told in (
        ("hf/", {}, "only a model on this machine can be trained"),
        (f"hf/{tmp_path}", {}, "contains no config.json"),
        (f"hf/{folder}", {"dtype": "float16"}, "dtype"),
    ):
        with pytest.raises(PrerequisiteError, match=told):
            open_tokenizer(name, options)
