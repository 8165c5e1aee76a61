"""Recordings of shards become one: what several have is kept once, and two answers to one request are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from scripts.pack_recordings import pack
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import CassetteLibrary, RecordedAnswer
from talm_sim.recordings.merge_recordings import merge_recordings
from talm_sim.recordings.tape import Tape
from talm_sim.types import Route, ToolSpec
from tests.recordings.exchanges import answer, get, recorded

ANSWER = RecordedAnswer(ask=1, question_digest="d", question="Where?", answer="Here.", responder="simulated")


def library(root: Path, scenario: str, text: str = "{}", *, tool: str = "size", about: str = "A size.") -> Path:
    """A library as a shard leaves it: a tool, its traffic, a conversation with its settings and an answer."""
    made = CassetteLibrary(root)
    made.save_tools({tool: ToolSpec(name=tool, category="c", description=about, parameters={})}, {tool: Route(path=f"/{tool}")})
    for player in (
        made.open_tools(scenario, "perfect", Traffic.RECORD),
        made.open_model("a/b", scenario, "perfect", 1, 0, "key", Traffic.RECORD),
    ):
        player.record(get(), answer(text))
        player.save()
    made.save_settings("a/b", "key", {"seed": 0})
    made.save_human_answers("a/b", scenario, "perfect", 1, "key", [ANSWER])
    return root


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_what_shards_recorded_is_in_one_library(tmp_path: Path) -> None:
    shards = [library(tmp_path / name, name, tool=f"size_{name}") for name in ("a", "b", "c")]
    out = tmp_path / "out"
    written = merge_recordings(shards, out)
    assert written == len(contents(out)) == 2 + 3 * 3
    made = CassetteLibrary(out)
    assert sorted(made.tools()) == ["size_a", "size_b", "size_c"]
    for name in ("a", "b", "c"):
        assert made.open_tools(name, "perfect", Traffic.REPLAY).lookup(get()) == answer()
        assert made.human_answers("a/b", name, "perfect", 1, "key") == [ANSWER]
    before = contents(out)
    assert merge_recordings(shards, out) == 0, "a merge can be repeated"
    assert contents(out) == before


def test_nothing_is_written_where_two_answers_differ(tmp_path: Path) -> None:
    one, other = library(tmp_path / "a", "first"), library(tmp_path / "b", "first", '{"other": 1}')
    library(one, "only-here")
    message = f"^{one}/a--b/perfect/first/1-0-key.json and {other}/a--b/perfect/first/1-0-key.json: have two answers to one request "
    with pytest.raises(PrerequisiteError, match=message + r"\(GET http://tools.invalid/a\?x=1\); delete one of the files.$"):
        merge_recordings([one, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tools/specs.json", json.dumps([{"name": "size", "description": "Another."}]), "describe tool 'size' in two ways"),
        ("tools/specs.json", '{"name": "size"}', "not a readable list of tools"),
        ("a--b/key.settings.json", '{"seed": 1}', "are of one name and differ"),
        ("a--b/perfect/a/1-key.human.json", "[]", "are of one name and differ"),
        ("tools/perfect/a.json", "[]", "not a readable cassette"),
    ],
)
def test_files_that_differ_are_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    one, other = library(tmp_path / "a", "a"), library(tmp_path / "b", "a")
    (other / name).write_text(text)
    with pytest.raises(PrerequisiteError, match=re.escape(str(other / name))) as caught:
        merge_recordings([one, other], tmp_path / "out")
    assert said in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_third_file_is_compared_with_the_one_that_has_the_answer(tmp_path: Path) -> None:
    """The first does not have the request; a message that named it would send its reader to a file without fault."""
    first, second, third = (
        recorded(tmp_path / name / "tools" / "g" / "s.json", *pairs)
        for name, pairs in (("a", [(get("/1"), answer())]), ("b", [(get("/2"), answer("1"))]), ("c", [(get("/2"), answer("2"))]))
    )
    with pytest.raises(PrerequisiteError, match=f"^{second} and {third}: have two answers"):
        merge_recordings([tmp_path / name for name in "abc"], tmp_path / "out")
    assert first.is_file()


def test_packed_recordings_are_copied(tmp_path: Path) -> None:
    pack(library(tmp_path / "a", "a"), tmp_path / "packed", command="c", licence="l")
    merge_recordings([tmp_path / "packed", library(tmp_path / "b", "b")], tmp_path / "out")
    made = CassetteLibrary(tmp_path / "out")
    for name in ("a", "b"):
        assert made.open_tools(name, "perfect", Traffic.REPLAY).lookup(get()) == answer()


@given(st.lists(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 2)), max_size=6), min_size=1, max_size=4))
def test_a_merged_tape_has_every_answer_in_its_place(tapes: list[list[tuple[str, int]]]) -> None:
    """The nth answer to a request is the nth of every tape that has so many, or the merge is refused."""
    wanted: dict[tuple[str, int], int] = {}
    fits = True
    for pairs in tapes:
        for place, said in enumerate_per_request(pairs):
            fits = fits and wanted.setdefault(place, said) == said
    first, *others = (tape_of(f"tape {number}", pairs) for number, pairs in enumerate(tapes))
    try:
        for other in others:
            first.add(other)
    except PrerequisiteError:
        assert not fits
        return
    assert fits
    played: dict[str, int] = {}
    for (path, number), said in sorted(wanted.items()):
        found = first.find(get(f"/{path}"), played)
        assert found is not None and (found[1], number) == (answer(str(said)), played.get(found[0], 0))
        played[found[0]] = number + 1
    for path in "xyz":
        assert first.find(get(f"/{path}"), played) is None


def enumerate_per_request(pairs: Sequence[tuple[str, int]]) -> list[tuple[tuple[str, int], int]]:
    seen: dict[str, int] = {}
    found = []
    for path, said in pairs:
        found.append(((path, seen.get(path, 0)), said))
        seen[path] = seen.get(path, 0) + 1
    return found


def tape_of(name: str, pairs: Sequence[tuple[str, int]]) -> Tape:
    made, played = Tape(name), dict[str, int]()
    for path, said in pairs:
        key = made.append(get(f"/{path}"), answer(str(said)), played)
        played[key] = played.get(key, 0) + 1
    return made
