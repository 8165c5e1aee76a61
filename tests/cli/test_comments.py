"""What readers wrote on episodes is shown and exported, escaped, and only where it belongs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from talm_sim.store.files.comments import COMMENTS, Comment
from talm_sim.store.stored_run import load_run
from tests.cli.wrong import Talm

HOSTILE = "=1+1 \x1b]0;owned\x07<script>alert(1)</script>\nsecond line"


@pytest.fixture
def written(stored: Path) -> Comment:
    return load_run(stored).comment("lacking-0", HOSTILE, "Ada")


def test_show_prints_comments_without_control_characters(talm: Talm, written: Comment) -> None:
    code, out, _ = talm("show", "a-run:lacking-0")
    assert code == 0
    last = out[out.index("Comments") :]
    assert f"{written.attribution}: =1+1 <script>alert(1)</script>" in last and "second line" in last
    assert "\x1b" not in out and "\x07" not in out
    assert "Comments" not in talm("show", "a-run:perfect-0")[1]


def test_data_has_comments_where_there_are_any(talm: Talm, stored: Path) -> None:
    assert all("comments" not in row for row in json.loads(talm("report", "a-run", "--rows", "--json")[1]))
    written = load_run(stored).comment("lacking-0", HOSTILE, "Ada")
    shown = json.loads(talm("show", "a-run:lacking-0", "--json")[1])
    assert [Comment(**one) for one in shown["comments"]] == [written]
    rows = {row["episode"]: row["comments"] for row in json.loads(talm("report", "a-run", "--rows", "--json")[1])}
    assert rows == {"perfect-0": "", "perfect-1": "", "lacking-0": f"{written.attribution}: {HOSTILE}", "lacking-1": ""}
    assert "\x1b" not in talm("report", "a-run", "--rows", "--csv")[1]


def test_the_page_has_comments_as_text(talm: Talm, written: Comment) -> None:
    assert talm("report", "a-run", "--html", "page.html")[0] == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert written.attribution in page and "second line" in page
    assert "<script>alert" not in page and "\x1b" not in page and "\\u001b" not in page


def test_exports_have_comments_and_otel_only_with_content(talm: Talm, written: Comment) -> None:
    assert talm("export", "inspect", "a-run", "--out", "logs")[0] == 0
    (log,) = Path("logs").iterdir()
    with zipfile.ZipFile(log) as archive:
        metadata = json.loads(archive.read("samples/lacking-0_epoch_1.json"))["metadata"]
        others = json.loads(archive.read("samples/perfect-0_epoch_1.json"))["metadata"]
    assert [(one["name"], one["text"], one["attempt"]) for one in metadata["comments"]] == [("Ada", written.text, 1)]
    assert "comments" not in others
    assert talm("export", "otel", "a-run", "--out", "plain.jsonl")[0] == 0
    assert talm("export", "otel", "a-run", "--out", "content.jsonl", "--content")[0] == 0
    plain, content = Path("plain.jsonl").read_text(), Path("content.jsonl").read_text()
    assert "alert(1)" not in plain and "Ada" not in plain and "talm_sim.comment" not in plain
    assert content.count('"talm_sim.comment"') == 1 and "alert(1)" in content and "\x1b" not in content


def test_a_damaged_comment_is_named_and_the_table_does_not_need_it(talm: Talm, stored: Path) -> None:
    (stored / COMMENTS).write_text('{"text": 3}\n')
    assert talm("report", "a-run")[0] == 0
    code, _, said = talm("show", "a-run:lacking-0")
    assert code == 2 and f"{COMMENTS}:1: is not a comment (" in said and said.count("\n") == 1
