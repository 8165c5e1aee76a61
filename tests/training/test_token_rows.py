"""Rows of a training file: what is refused, and the tokens that the others become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.training.recipe import METHODS, Method
from talm_sim.training.token_rows import read_rows
from tests.training.tiny_training import completions, pairs, write_rows

ROW, PAIR = completions(1)[0], pairs(1)[0]
CALL = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "x"}'}}
DEEP = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"a":' * 3000 + "1" + "}" * 3000}}
HALF = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"a": "\\ud800"}'}}
ASKED = {"role": "user", "content": "What?"}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "rows.jsonl", completions(3))
    assert [one.values for one in read_rows(file, "sft")] == completions(3)
    file.write_text(file.read_text(encoding="utf-8"), encoding="utf-8-sig")  # as Windows editors do
    assert [one.values for one in read_rows(file, "sft")] == completions(3)
    file.write_text(file.read_text(encoding="utf-8-sig").replace("\n", "\r\n\r\n"), encoding="utf-8")
    assert [one.place for one in read_rows(file, "sft")] == [f"{file}:{line}" for line in (1, 3, 5)]


@pytest.mark.parametrize(
    ("method", "row", "said"),
    [
        ("sft", {**ROW, "prompt": " \n"}, "row 'r0' has an empty 'prompt'"),
        ("sft", {**ROW, "completion": ""}, "row 'r0' has an empty 'completion'"),
        ("sft", {"id": "r0", "prompt": "a"}, "row 'r0' has no text 'completion'"),
        ("sft", {**ROW, "completion": 3}, "row 'r0' has no text 'completion'"),
        ("sft", {**ROW, "action": "tool-call"}, "row 'r0' has an unknown class in 'action': 'tool-call'. Did you mean 'tool_call'?"),
        ("sft", {**ROW, "action": ["direct"]}, "has an unknown class in 'action'"),
        ("sft", {**ROW, "completion": "a\ud800"}, "row 'r0' has half of a character"),
        ("sft", {"messages": [ASKED, {"role": "assistant", "tool_calls": [HALF]}]}, "has half of a character (a lone surrogate)"),
        ("sft", PAIR, "row 'r0' has no text 'completion'"),
        ("dpo", ROW, "row 'r0' has no text 'chosen'"),
        ("rpo", {**PAIR, "rejected": "\n"}, "row 'r0' has an empty 'rejected'"),
        ("rpo", {**PAIR, "rejected_action": "none"}, "has an unknown class in 'rejected_action': 'none'"),
        ("rpo", {**PAIR, "rejected": PAIR["chosen"]}, "has the same text as 'chosen' and as 'rejected'"),
        ("dpo", {**PAIR, "rejected": PAIR["chosen"] + " \n"}, "has the same text as 'chosen' and as 'rejected'"),
        ("rpo", {"messages": []}, "has 'messages'; rpo needs 'prompt', 'chosen' and 'rejected'"),
        ("sft", {"messages": []}, "has 'messages' or 'tools' that are not those"),
        ("sft", {"messages": [ASKED, {"role": "assistant", "content": [1]}]}, "has 'messages' or 'tools' that are not those"),
        ("sft", {"messages": [ASKED, {"role": "assistant", "tool_calls": [{"name": "look_up"}]}]}, "has 'messages' or 'tools' that are not"),
        ("sft", {"messages": [ASKED, {"role": "assistant", "tool_calls": [DEEP]}]}, "has 'messages' or 'tools' that are not those"),
        ("sft", {"messages": [ASKED, ASKED], "tools": [json.loads('{"a":' * 500 + "1" + "}" * 500)]}, "has 'messages' or 'tools' that are"),
        ("sft", {"messages": [ASKED, ASKED]}, "must end with a message of the role 'assistant'"),
        ("sft", {"messages": [{"role": "assistant", "content": "x"}]}, "must end with a message of the role 'assistant'"),
        ("sft", {"messages": [ASKED, {"role": "assistant", "content": " "}]}, "has an empty last message"),
    ],
)
def test_a_row_that_is_refused(tmp_path: Path, method: Method, row: dict[str, Any], said: str) -> None:
    file = write_rows(tmp_path / "rows.jsonl", [*(completions(1) if method == "sft" else pairs(1)), row])
    with pytest.raises(PrerequisiteError) as err:
        read_rows(file, method)
    assert str(err.value).startswith(f"{file}:2: ") and said in str(err.value) and "\n" not in str(err.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [(b"", "has no rows"), (b"\n\n", "has no rows"), (b"[1]\n", "rows.jsonl:1: is not a JSON object"), (b"\xff", "is not UTF-8 text")],
)
def test_a_file_that_is_refused(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(text)
    with pytest.raises(PrerequisiteError, match=said):
        read_rows(tmp_path / "rows.jsonl", "sft")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        read_rows(tmp_path / "rows.jsonl", "sft")


KEYS = st.sampled_from(
    ["id", "prompt", "completion", "chosen", "rejected", "action", "messages", "tools", "role", "content", "tool_calls", "function"]
)


def tables(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(KEYS | st.sampled_from(["name", "arguments"]), values, max_size=5)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4), lambda one: st.lists(one, max_size=3) | tables(one), max_leaves=12
)


@given(st.sampled_from(METHODS), tables(JSON), st.lists(tables(JSON), max_size=2))
def test_any_json_is_a_row_or_one_line(tmp_path_factory: pytest.TempPathFactory, method: Method, row: Any, messages: Any) -> None:
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    for one in (row, {**row, "messages": [*messages, {"role": "assistant", "content": "x", **row}]}):
        file.write_text(json.dumps(one), encoding="utf-8")
        try:
            assert len(read_rows(file, method)) == 1
        except PrerequisiteError as err:
            assert "\n" not in str(err)
