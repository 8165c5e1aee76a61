from __future__ import annotations

import time
from pathlib import Path

import pytest

from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import PrerequisiteError


def test_what_is_wrong_with_a_file_is_one_line_that_names_the_option(tmp_path: Path) -> None:
    for file in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(PrerequisiteError, match=rf"^{file}: cannot be read: [^\n]+; --prompts needs a TOML file\.$"):
            read_toml(file, "--prompts")
    for content in (b"[a", b'a = "\xff"'):
        (tmp_path / "bad.toml").write_bytes(content)
        with pytest.raises(PrerequisiteError, match=r"bad\.toml: not valid TOML: [^\n]+$"):
            read_toml(tmp_path / "bad.toml", "--prompts")


@pytest.mark.parametrize(
    "content", ["a=" + "[" * 100_000, "a." * 40_000 + "b=1", f"[{'a.' * 40_000}b]", "a = {" + '"x" . ' * 40_000 + "b = 1}"]
)
def test_what_nests_deeply_is_one_line_and_takes_no_time(tmp_path: Path, content: str) -> None:
    (tmp_path / "deep.toml").write_text(content)
    began = time.process_time()
    with pytest.raises(PrerequisiteError, match=r"deep\.toml: not valid TOML: nested too deeply\.$"):
        read_toml(tmp_path / "deep.toml", "--prompts")
    assert time.process_time() - began < 2


def test_a_text_with_many_dots_is_a_text(tmp_path: Path) -> None:
    text = "e.g. " * 1_000 + "..." + " a.b.c" * 1_000
    (tmp_path / "a.toml").write_text(f'[t]\na = """{text}"""\n')
    assert read_toml(tmp_path / "a.toml", "--prompts") == {"t": {"a": text}}


def test_the_texts_of_a_table() -> None:
    assert texts_of({"t": {"a": " x\n"}}, "t", ("a", "b"), "f") == {"a": "x"}
    assert texts_of({}, "t", ("a",), "f") == {}
    assert texts_of({"t": {"a": ""}}, "t", ("a",), "f", filled=False) == {"a": ""}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("x", r"^f: 't' must be a table of texts\.$"),
        ({"aa": "x"}, r"^f: unknown key 't\.aa'\. Did you mean 'a'\?$"),
        ({"a": 3}, r"^f: 't\.a' must be a text\.$"),
        ({"a": " "}, r"^f: 't\.a' must be a text\.$"),
    ],
)
def test_a_table_of_something_else_is_one_line(table: object, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        texts_of({"t": table}, "t", ("a",), "f")


def test_the_packaged_files_are_found() -> None:
    assert packaged_toml("talm_sim.judges")["judge"]
    assert packaged_toml("talm_sim.tasks.when2call.making", "unanswerable.toml")
