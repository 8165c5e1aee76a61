"""Which published model a run's model is."""

from __future__ import annotations

import pytest

from talm_sim.published import published
from talm_sim.tasks.beside import recognise


@pytest.mark.parametrize(
    ("model", "paper", "table", "name"),
    [
        ("openai-api/vllm/meta-llama/Llama-3.1-8B-Instruct", "fail-talms", "1", "Llama 8B"),
        ("hf/meta-llama/Meta-Llama-3.1-70B-Instruct/", "fail-talms", "1", "Llama 70B"),
        ("fail-talms/llama_8b", "fail-talms", "1", "Llama 8B"),
        ("openai-api/ollama/llama3.1:8b", "fail-talms", "1", "Llama 8B"),
        ("anthropic/claude-3-5-sonnet-20240620", "fail-talms", "2", "Claude-3.5-sonnet"),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", "fail-talms", "2", "Claude-3.5-sonnet"),
        ("openai/gpt-4o-2024-08-06", "fail-talms", "2", "GPT4o"),
        ("fail-talms/gpt_4o", "fail-talms", "2", "GPT4o"),
        ("openai-api/vllm/Qwen/Qwen2.5-72B-Instruct", "fail-talms", "1", "Qwen-72B-Instruct"),
        ("fail-talms/qwen_72b", "fail-talms", "1", "Qwen-72B-Instruct"),
        ("anthropic/claude-3-haiku-20240307", "incomplete-conditions", "2", "Claude3 haiku"),
        ("openai/gpt-4-0613", "incomplete-conditions", "2", "GPT-4"),
        ("openai/gpt-4o-mini-2024-07-18", "incomplete-conditions", "2", "GPT-4o mini"),
        ("openai/gpt-3.5-turbo-0125", "incomplete-conditions", "4", "GPT-3.5-T"),
        ("hf/mistralai/Mistral-7B-Instruct-v0.2", "incomplete-conditions", "2", "Mistral 7B"),
        ("hf/microsoft/Phi-3-small-8k-instruct", "incomplete-conditions", "2", "Phi-3 small"),
        ("hf/Qwen/Qwen2.5-7B-Instruct", "when2call", "3", "Qwen 2.5 7B Instruct"),
        ("hf/Salesforce/xLAM-8x22b-r", "when2call", "3", "xLAM 8x22B R"),
        ("openai/gpt-4-turbo-2024-04-09", "when2call", "4", "GPT-4-Turbo-04-09"),
        ("hf/google/gemma-3-1b-it", "when-not-to-call", "main", "Gemma-3-1B"),
        # Other generations, sizes, variants and makers, and what is no model's name.
        ("hf/meta-llama/Llama-2-70b-chat-hf", "fail-talms", "1", None),
        ("hf/meta-llama/Llama-3.3-70B-Instruct", "fail-talms", "1", None),
        ("hf/meta-llama/Llama-Guard-3-8B", "fail-talms", "1", None),
        ("hf/Qwen/Qwen2.5-7B-Instruct", "fail-talms", "1", None),
        ("openai/gpt-4o-mini", "fail-talms", "1", None),
        ("anthropic/claude-3-5-haiku-20241022", "incomplete-conditions", "2", None),
        ("openai/gpt-4-1106-preview", "incomplete-conditions", "2", None),
        ("hf/Qwen/Qwen2.5-7B", "when2call", "3", None),
        ("hf/Qwen/Qwen2.5-7B-Instruct-AWQ", "when2call", "3", None),
        ("hf/HuggingFaceTB/SmolLM2-1.7B-Instruct", "fail-talms", "1", None),
        ("sim/oracle", "fail-talms", "1", None),
        ("", "fail-talms", "1", None),
    ],
)
def test_a_model_is_recognised_by_family_version_and_size(model: str, paper: str, table: str, name: str | None) -> None:
    found = published(paper, table)
    at = found.keys.index("model")
    assert recognise(model, [row.keys[at] for row in found.rows]) == name


def test_every_published_model_is_recognised_by_its_own_name() -> None:
    for paper, table in (("fail-talms", "1"), ("incomplete-conditions", "2"), ("when2call", "3"), ("when-not-to-call", "main")):
        found = published(paper, table)
        names = [row.keys[found.keys.index("model")] for row in found.rows]
        assert [recognise(name, names) for name in names] == names


def test_two_published_models_that_fit_are_none() -> None:
    assert recognise("hf/meta-llama/Llama-3.1-8B-Instruct", ["Llama 8B", "Llama 3.1 8B"]) is None
