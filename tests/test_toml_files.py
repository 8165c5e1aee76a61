from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.toml_files import packaged_toml, read_toml, texts_of


def test_what_is_wrong_with_a_file_is_one_line_that_names_the_option(tmp_path: Path) -> None:
    for file in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(PrerequisiteError, match=rf"^{file}: cannot be read: [^\n]+; --prompts needs a TOML file\.$"):
            read_toml(file, "--prompts")
    for content in (b"[a", b'a = "\xff"'):
        (tmp_path / "bad.toml").write_bytes(content)
        with pytest.raises(PrerequisiteError, match=r"bad\.toml: not valid TOML: [^\n]+$"):
            read_toml(tmp_path / "bad.toml", "--prompts")


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
    assert packaged_toml("talm_sim.scenarios.multiple_choice", "unanswerable.toml")
