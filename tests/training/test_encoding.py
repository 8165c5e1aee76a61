"""Rows as tokens: those that the tasks score, with the stop token; messages by the chat template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.local.prompting import Rendering
from talm_sim.models.local.scoring import encode_question
from talm_sim.training.token_rows import Example, encode_rows, read_rows
from tests.models.local.tiny import write_tokenizer
from tests.training.tiny_training import completions, pairs, write_rows

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("default")]
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

TEMPLATE = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<call>{{ call.function.name }}{{ call.function.arguments.word }}</call>{% endfor %}</s>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TOOLS = [{"type": "function", "function": {"name": "look_up", "description": "", "parameters": {"type": "object", "properties": {}}}}]
ASKED: dict[str, Any] = {"role": "user", "content": "What is it?"}
CALLED = {
    "role": "assistant",
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "mango"}'}}],
}


@pytest.fixture
def tokenizer(tmp_path: Path) -> Any:
    from transformers import AutoTokenizer

    write_tokenizer(tmp_path / "tokenizer", chat_template=TEMPLATE)
    return AutoTokenizer.from_pretrained(tmp_path / "tokenizer")


def encode(folder: Path, tokenizer: Any, rows: list[dict[str, Any]], *, template: str | None = None, most: int = 512) -> list[Example]:
    file = write_rows(folder / "rows.jsonl", rows)
    method: Any = "dpo" if "chosen" in rows[0] else "sft"
    return encode_rows(read_rows(file, method), tokenizer, name="hf/tiny", max_length=most, ends=None, rendering=Rendering(template))


@pytest.mark.parametrize("rows", [completions(4), pairs(4)])
def test_the_tokens_are_those_that_are_scored(tmp_path: Path, tokenizer: Any, rows: list[dict[str, Any]]) -> None:
    for row, example in zip(rows, encode(tmp_path, tokenizer, rows), strict=True):
        answers = [row[key] for key in ("completion", "chosen", "rejected") if key in row]
        scored = encode_question(tokenizer, row["prompt"], answers, max_length=None, name="")
        assert example.prompt == [*scored.prompt]
        assert [*example.answers] == [[*one, tokenizer.eos_token_id] for one in scored.options]
        assert tokenizer.decode(example.prompt + example.answers[0]) == f"<s>{row['prompt']}{answers[0]}</s>"


@pytest.mark.parametrize("written", ["yes</s>", "yes</s>\n"])
def test_an_answer_that_ends_already_ends_once(tmp_path: Path, tokenizer: Any, written: str) -> None:
    (example,) = encode(tmp_path, tokenizer, [{"prompt": "well?", "completion": written}])
    assert tokenizer.decode(example.answers[0]) == "yes</s>"


def test_messages_are_written_by_the_template(tmp_path: Path, tokenizer: Any) -> None:
    (example,) = encode(tmp_path, tokenizer, [{"messages": [ASKED, CALLED], "tools": TOOLS}])
    prompt, answer = tokenizer.decode(example.prompt), tokenizer.decode(example.answers[0])
    assert '"name": "look_up"' in prompt and prompt.endswith("What is it?</s>\n<|assistant|>")
    assert answer == "<call>look_upmango</call></s>"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            "{% for one in messages %}<{{ one.role }}>{{ one.content }}</s>{% endfor %}",
            "row 'mine' has tools, but the chat template of hf/tiny",
        ),
        (
            "{{ tools }}{% for one in messages %}<{{ one.role }}>{{ one.content }}</s>{% endfor %}",
            "row 'mine' has calls, but the chat template of hf/tiny",
        ),
        (
            "{{ tools }}the other{% for one in messages %}<{{ one.role }}>{{ one.content }}</s>{% endfor %}",
            "row 'mine' has calls, but the chat template of hf/tiny",
        ),
        (
            "{{ tools }}{{ messages | length }}{% for one in messages %}{{ one.content }}{{ one.tool_calls }}{% endfor %}",
            "row 'mine' has an answer that the chat template of hf/tiny does not write after the prompt",
        ),
        ("{{ tools }}{{ 'other' * 3 }}", "row 'mine' has calls, but the chat template of hf/tiny shows none"),
        ("{{ lipsum(n=100000000) }}", "its chat template cannot take this conversation (UndefinedError: 'lipsum' is undefined)."),
    ],
)
def test_a_template_that_loses_something(tmp_path: Path, tokenizer: Any, template: str, said: str) -> None:
    called: dict[str, Any] = {**CALLED, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "other", "arguments": {}}}]}
    with pytest.raises(PrerequisiteError) as err:
        encode(tmp_path, tokenizer, [{"id": "mine", "messages": [ASKED, called], "tools": TOOLS}], template=template)
    assert said in str(err.value)


def test_a_row_that_would_be_cut_is_named_and_so_is_the_longest(tmp_path: Path, tokenizer: Any) -> None:
    rows = completions(2) + [{"id": name, "prompt": "x" * length, "completion": "y"} for name, length in (("long", 30), ("longer", 50))]
    assert max(one.longest for one in encode(tmp_path, tokenizer, rows, most=53)) == 53  # <s>, 50, y and </s>
    with pytest.raises(PrerequisiteError) as err:
        encode(tmp_path, tokenizer, rows, most=32)
    assert "rows.jsonl:3: row 'long' has 33 tokens and would be cut (and so would 1 more; the longest has 53)" in str(err.value)


@pytest.mark.parametrize("row", [{"prompt": "x " * 9999, "completion": "y"}, {"messages": [{**ASKED, "content": "y" * 9999}, CALLED]}])
def test_a_row_far_too_long_is_not_made_tokens_of(tmp_path: Path, tokenizer: Any, monkeypatch: Any, row: dict[str, Any]) -> None:
    monkeypatch.setattr("talm_sim.training.token_rows.encode_question", None)
    with pytest.raises(PrerequisiteError, match=r"rows\.jsonl:1: has [\d,]+ characters, far more than 32 tokens can hold, and would be cut"):
        encode(tmp_path, tokenizer, [row], most=32)


def test_a_tokenizer_without_a_stop_token(tmp_path: Path, tokenizer: Any) -> None:
    tokenizer.eos_token = None
    with pytest.raises(PrerequisiteError, match="could not learn to stop"):
        encode(tmp_path, tokenizer, completions(1))
