"""vLLM with a tiny random model that overflows in half precision, and with a chat template of the user's."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.local.vllm_model import VllmModel, open_vllm
from talm_sim.models.request import ModelRequest
from tests.models.local.tiny import write_tokenizer

pytestmark = [
    pytest.mark.local,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
TEMPLATE = "{{ mood }} on {{ strftime_now('%d %B') }}: {% for message in messages %}{{ message.content }}{% endfor %}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmModel]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    directory = tmp_path_factory.mktemp("half")
    size = write_tokenizer(directory)
    shape = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    torch.manual_seed(7)
    written = LlamaForCausalLM(LlamaConfig(vocab_size=size, max_position_embeddings=256, bos_token_id=0, eos_token_id=1, **shape))
    with torch.no_grad():
        written.lm_head.weight.mul_(1e8)
    written.save_pretrained(directory)
    template = directory / "own.jinja"
    template.write_text(TEMPLATE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        options = {"kv_gib": "1", "dtype": "float16", "chat_template": str(template), "chat_template_kwargs": json.dumps({"mood": "Grim"})}
        opened = open_vllm(ModelRequest(f"vllm/{directory}", str(directory), options=options, created=datetime.date(2026, 2, 3), environ={}))
        assert isinstance(opened, VllmModel)
        yield opened
        asyncio.run(opened.aclose())


def test_what_is_no_number_is_no_score(model: VllmModel) -> None:
    with pytest.raises(ProviderError, match=r"not a finite number; its dtype overflows: use -M dtype=float32"):
        asyncio.run(model.score("How high?", (" very", " not")))


def test_nor_an_answer(model: VllmModel) -> None:
    with pytest.raises(ProviderError, match=r"no finite log-probability; its dtype overflows: use -M dtype=float32"):
        asyncio.run(model.generate([HumanMessage("How high?")], (), GenerationSettings(temperature=0.0, max_new_tokens=3)))


def test_the_users_template_its_variables_and_the_runs_day_reach_scoring_and_acting(model: VllmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert model.chat_template == TEMPLATE
    assert model.render_chat([{"role": "user", "content": "How high?"}], ()) == "Grim on 03 February: How high?"
    seen: list[str] = []

    async def write(prompt: str, *_: object) -> object:
        seen.append(prompt)
        raise ProviderError("enough")

    monkeypatch.setattr(model, "write", write)
    with pytest.raises(ProviderError, match="enough"):
        asyncio.run(model.generate([HumanMessage("How high?")], (), GenerationSettings()))
    assert seen == ["Grim on 03 February: How high?"]
