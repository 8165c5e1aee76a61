from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files import comments
from talm_sim.store.files.comments import COMMENTS, LONGEST_COMMENT, Comment, add_comments, make_comment, read_comments
from talm_sim.store.stored_run import load_run
from tests.runs.scripted import finished, new_run, scenarios
from tests.runs.stored import store

WRITER = """
import sys
from pathlib import Path
from talm_sim.store.files.comments import add_comments, make_comment
for number in range(40):
    add_comments(Path(sys.argv[1]), [make_comment("e", 1, f"{number} " + "long " * 700, sys.argv[2], 1.0)])
"""


def comment(text: str = "Why?", name: str = "Ada", at: float = 1.0) -> Comment:
    return make_comment("plain-000", 1, text, name, at)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).filter(str.strip)


@given(st.lists(st.tuples(texts, st.floats(0, 2e9)), max_size=5))
def test_what_is_added_is_read_again(written: list[tuple[str, float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = [comment(text, at=at) for text, at in written]
        for one in made:
            add_comments(Path(folder), [one])
        assert read_comments(Path(folder)) == made
        assert (Path(folder) / COMMENTS).exists() is bool(made)
        if made:
            assert re.fullmatch(rb"[\n -~]*", (Path(folder) / COMMENTS).read_bytes()), "an escape could reach a terminal"


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_any_file_is_read_or_refused_in_one_line(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / COMMENTS
        path.write_bytes(comment().line() + data + b"\n")
        with pytest.raises(PrerequisiteError, match=f"^{re.escape(str(path))}:2: is not a comment .*; correct or delete the line"):
            read_comments(Path(folder))


def test_a_line_that_a_kill_cut_off_is_dropped_and_one_without_an_end_is_kept(tmp_path: Path) -> None:
    path, one, two = tmp_path / COMMENTS, comment("one"), comment("two")
    path.write_bytes(one.line() + two.line()[:-20])
    assert read_comments(tmp_path) == [one]
    add_comments(tmp_path, [two])
    assert read_comments(tmp_path) == [one, two]
    path.write_bytes(one.line() + two.line().rstrip(b"\n"))
    assert read_comments(tmp_path) == [one, two]
    add_comments(tmp_path, [one])
    assert read_comments(tmp_path) == [one, two, one]


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("Ada", "Bob")]
    assert [child.wait(60) for child in children] == [0, 0]
    found = read_comments(tmp_path)
    for name in ("Ada", "Bob"):
        assert [one.text.split()[0] for one in found if one.name == name] == [str(number) for number in range(40)]


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (" \n", "", "the comment is empty"),
        ("x" * (LONGEST_COMMENT + 1), "", "has 4,001 characters; write at most 4,000"),
        ("half \ud800", "", "half of a character"),
        ("ok", "two\nlines", "name: a name has at most"),
        ("ok", "x" * 200, "name: a name has at most"),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, name: str, why: str) -> None:
    with pytest.raises(PrerequisiteError, match=why):
        comment(text, name)


def test_credentials_are_hidden_and_line_ends_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2")
    made = comment("it said hunter2-hunter2\r\nand sk-proj-abcdefghij0123456789", "hunter2-hunter2")
    assert (made.text, made.name) == ("it said REDACTED\nand REDACTED", "REDACTED")


def test_a_full_file_takes_no_more_and_a_huge_one_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "_LARGEST", 300)
    add_comments(tmp_path, [comment("x" * 100)])
    with pytest.raises(PrerequisiteError, match="is full"):
        add_comments(tmp_path, [comment("x" * 100)])
    assert len(read_comments(tmp_path)) == 1
    (tmp_path / COMMENTS).write_bytes(b" " * 301)
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        read_comments(tmp_path)


def test_nothing_is_written_through_a_link_or_read_from_a_pipe(tmp_path: Path) -> None:
    target, run = tmp_path / "target", tmp_path / "run"
    run.mkdir()
    target.write_text("precious")
    (run / COMMENTS).symlink_to(target)
    for act in (lambda: add_comments(run, [comment()]), lambda: read_comments(run)):
        with pytest.raises(PrerequisiteError, match="is a link, but must be a plain file"):
            act()
    assert target.read_text() == "precious"
    (run / COMMENTS).unlink()
    os.mkfifo(run / COMMENTS)
    with pytest.raises(PrerequisiteError, match="is a pipe"):
        read_comments(run)


def test_a_comment_enters_no_rate_and_leaves_the_run_sealed(tmp_path: Path) -> None:
    made = scenarios(2)
    run = store(tmp_path, "run", made, [finished(one) for one in made], model="sim/oracle", split="perfect")
    files = {name: (run.path / name).read_bytes() for name in ("run.json", "run.db")}
    rows, summary, records = run.rows(), run.summary(), run.to_records()
    second = run.comment("plain-001", "Unsure.")
    first = run.comment("plain-001", "It should have asked.", "Ada")
    assert {name: (run.path / name).read_bytes() for name in files} == files
    assert run.closed and (run.rows(), run.summary()) == (rows, summary)
    assert run.comments() == run.comments("plain-001") == [second, first] and run.comments("plain-000") == []
    now = run.to_records()
    said = f"{second.attribution}: Unsure.\n{first.attribution}: It should have asked."
    assert [record.pop("comments") for record in now] == ["", said]
    assert now == records


def test_only_a_finished_episode_can_be_commented_on(tmp_path: Path) -> None:
    run = load_run(new_run(tmp_path, 2))
    with pytest.raises(PrerequisiteError):
        run.comment("plain-000", "Not yet.")
    assert not (run.path / COMMENTS).exists()
