from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from scripts.pack_recordings import main, pack
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import CassetteLibrary, RecordedAnswer, export
from talm_sim.types import Route, ToolSpec
from tests.recordings.exchanges import answer, get

MODEL = "openai-api/vllm/tiny"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An unpacked tree: tools and one conversation with a human answer, in two groups."""
    library = CassetteLibrary(tmp_path / "tree")
    for group in ("perfect", "no-tools"):
        for player in (
            library.open_tools("s-1", group, Traffic.RECORD),
            library.open_model(MODEL, "s-1", group, 1, 0, "abc", Traffic.RECORD),
        ):
            player.record(get(), answer(group))
            player.save()
    library.save_tools({"a": ToolSpec(name="a")}, {"a": Route(path="/a")})
    given = RecordedAnswer(ask=1, question_digest="d", question="Which?", answer="Hanoi", responder="simulated")
    library.save_human_answers(MODEL, "s-1", "perfect", 1, "abc", [given])
    return tmp_path / "tree"


def _pack(tree: Path, target: Path) -> list[Path]:
    return pack(tree, target, command="record it", licence="Apache-2.0", notes="a test")


def test_each_folder_and_group_becomes_one_zip(tree: Path, tmp_path: Path) -> None:
    written = [path.relative_to(tmp_path / "zips").as_posix() for path in _pack(tree, tmp_path / "zips")]
    folder = "openai-api--vllm--tiny"
    assert written == [f"{folder}/no-tools.zip", f"{folder}/perfect.zip", "tools/no-tools.zip", "tools/perfect.zip"]
    with zipfile.ZipFile(tmp_path / "zips" / "tools" / "perfect.zip") as archive:
        assert archive.namelist() == ["index.json", "s-1.json", "specs.json"]
    with zipfile.ZipFile(tmp_path / "zips" / folder / "perfect.zip") as archive:
        assert archive.namelist() == ["index.json", "s-1/1-0-abc.json", "s-1/1-abc.human.json"]
        index = json.loads(archive.read("index.json"))
    assert {key: index[key] for key in ("model", "group", "licence", "command", "notes")} == {
        "model": MODEL,
        "group": "perfect",
        "licence": "Apache-2.0",
        "command": "record it",
        "notes": "a test",
    }


def test_a_tasks_own_folder_is_packed_and_unpacked(tree: Path, tmp_path: Path) -> None:
    player = CassetteLibrary(tree, "other").open_model(MODEL, "s-1", "perfect", 1, 0, "abc", Traffic.RECORD)
    player.record(get(), answer("other"))
    player.save()
    written = [path.relative_to(tmp_path / "zips").as_posix() for path in _pack(tree, tmp_path / "zips")]
    assert "openai-api--vllm--tiny/other/perfect.zip" in written and "openai-api--vllm--tiny/perfect.zip" in written
    assert {one.group for one in CassetteLibrary(tmp_path / "zips").describe()} == {"perfect", "no-tools", "other/perfect"}
    export(tmp_path / "zips", tmp_path / "loose")
    for root in (tmp_path / "zips", tmp_path / "loose"):
        found = [
            CassetteLibrary(root, folder).open_model(MODEL, "s-1", "perfect", 1, 0, "abc", Traffic.REPLAY).lookup(get())
            for folder in ("", "other")
        ]
        assert found == [answer("perfect"), answer("other")]
        assert not CassetteLibrary(root, "third").has_model(MODEL, ["perfect"])


def test_equal_trees_give_equal_bytes(tree: Path, tmp_path: Path) -> None:
    for path in tree.rglob("*.json"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    first = {path.name + path.parent.name: path.read_bytes() for path in _pack(tree, tmp_path / "one")}
    assert first == {path.name + path.parent.name: path.read_bytes() for path in _pack(tree, tmp_path / "two")}
    with zipfile.ZipFile(tmp_path / "one" / "tools" / "perfect.zip") as archive:
        assert json.loads(archive.read("index.json"))["created"] == "2023-11-14"
        # Packed again in the same second, a zip that held the time of packing would look the same.
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_export_gives_the_tree_back(tree: Path, tmp_path: Path) -> None:
    _pack(tree, tmp_path / "zips")
    written = export(tmp_path / "zips", tmp_path / "out")
    files = {path.relative_to(tmp_path / "out"): path.read_bytes() for path in (tmp_path / "out").rglob("*.json")}
    assert files == {path.relative_to(tree): path.read_bytes() for path in tree.rglob("*.json")}
    assert {path.relative_to(tmp_path / "out") for path in written} == set(files)


def test_export_writes_nothing_outside(tree: Path, tmp_path: Path) -> None:
    path = _pack(tree, tmp_path / "zips")[0]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("index.json", json.dumps({"files": {"../../../evil.json": "0"}}))
        archive.writestr("../../../evil.json", "{}")
    with pytest.raises(PrerequisiteError, match="names a file outside its folder"):
        export(tmp_path / "zips", tmp_path / "out")
    assert not list(tmp_path.rglob("evil.json"))


@pytest.mark.parametrize("made", [False, True])
def test_packing_nothing_says_how_to_record(tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "none" / "tools" / "perfect").mkdir(parents=True)
    with pytest.raises(PrerequisiteError, match="contains no recordings; record some with"):
        _pack(tmp_path / "none", tmp_path / "zips")


def test_the_command_packs(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rest = ["--command", "c", "--licence", "l"]
    assert main([str(tree), str(tmp_path / "zips"), *rest]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main([str(tmp_path / "none"), str(tmp_path / "zips"), *rest]) == 2
    assert "contains no recordings" in capsys.readouterr().err


def test_what_repeats_far_apart_is_packed_small_and_read_back(tmp_path: Path) -> None:
    """A scored item's four answers hold the same numbers, further apart than deflate looks back."""
    numbers = json.dumps([(number * 7919 % 100_003) / 99_991 for number in range(4_000)])
    text = json.dumps({"interactions": [numbers] * 4})
    file = tmp_path / "in" / "m" / "when2call" / "tool_call" / "s" / "1.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (packed,) = pack(tmp_path / "in", tmp_path / "out", command="c", licence="l", created="2026-01-01")
    assert len(text) > 4 * 60_000 and packed.stat().st_size < 40_000
    assert export(tmp_path / "out", tmp_path / "back") and (tmp_path / "back" / file.relative_to(tmp_path / "in")).read_text() == text
