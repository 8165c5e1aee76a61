from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.tools_env.cassettes import CassetteLibrary, HttpRequest, HttpResponse, RecordedAnswer, export, model_folder, pack
from talm_sim.types import ToolSpec

MODEL = "openai-api/vllm/tiny"
REQUEST = HttpRequest("GET", "http://tools.invalid/a", {}, None)
ANSWER = HttpResponse(200, "OK", (("content-type", "application/json"),), b'{"city": "Hanoi"}')
HUMAN = RecordedAnswer(ask=1, question_digest="d", question="Which?", answer="Hanoi", responder="simulated")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """An unpacked tree with one tool recording, one conversation and one human answer."""
    library = CassetteLibrary(tmp_path / "tree")
    for player in (
        library.open_tools("s-1", "perfect", Traffic.RECORD),
        library.open_model(MODEL, "s-1", "perfect", 1, 0, "abc", Traffic.RECORD),
    ):
        player.record(REQUEST, ANSWER)
        player.save()
    library.save_tool_specs({"a": ToolSpec(name="a", path="/a")})
    library.save_human_answers(MODEL, "s-1", "perfect", 1, "abc", [HUMAN])
    return tmp_path / "tree"


@pytest.fixture
def packed(recorded: Path, tmp_path: Path) -> Path:
    pack(recorded, tmp_path / "zips", command="record it", licence="Apache-2.0", created="2026-11-21")
    return tmp_path / "zips"


@pytest.mark.parametrize("form", ["recorded", "packed"])
def test_packed_and_unpacked_recordings_read_the_same(form: str, request: pytest.FixtureRequest) -> None:
    library = CassetteLibrary(request.getfixturevalue(form))
    assert library.open_tools("s-1", "perfect", Traffic.REPLAY).lookup(REQUEST) == ANSWER
    assert library.open_model(MODEL, "s-1", "perfect", 1, 0, "abc", Traffic.REPLAY).lookup(REQUEST) == ANSWER
    assert library.human_answers(MODEL, "s-1", "perfect", 1, "abc") == [HUMAN]
    assert library.tool_specs() == {"a": ToolSpec(name="a", path="/a")}
    assert library.has_tools(["perfect"])
    assert library.has_model(MODEL, ["perfect"])
    assert not library.has_model(MODEL, ["perfect", "no-tools"])
    assert not library.has_model("openai/other", ["perfect"])


def test_another_epoch_or_digest_is_another_conversation(packed: Path) -> None:
    library = CassetteLibrary(packed)
    for epoch, digest in ((2, "abc"), (1, "abd")):
        player = library.open_model(MODEL, "s-1", "perfect", epoch, 0, digest, Traffic.REPLAY)
        with pytest.raises(CassetteMissError, match="empty or absent"):
            player.lookup(REQUEST)


def test_two_episodes_that_record_one_scenario_share_the_tape(tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    players = [library.open_tools("s", "perfect", Traffic.RECORD) for _ in range(2)]
    for number, player in enumerate(players):
        player.record(HttpRequest("GET", f"http://tools.invalid/{number}", {}, None), ANSWER)
    for player in players:
        player.save()
    again = CassetteLibrary(tmp_path).open_tools("s", "perfect", Traffic.REPLAY)
    assert [again.lookup(HttpRequest("GET", f"http://tools.invalid/{number}", {}, None)) for number in range(2)] == [ANSWER, ANSWER]


def test_packing_is_deterministic_and_says_where_it_comes_from(recorded: Path, packed: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    pack(recorded, again, command="record it", licence="Apache-2.0", created="2026-11-21")
    for path in packed.glob("*/*.zip"):
        assert path.read_bytes() == (again / path.relative_to(packed)).read_bytes()
    facts = {recording.model: recording for recording in CassetteLibrary(packed).describe()}
    assert facts[MODEL].command == "record it"
    assert facts[MODEL].licence == "Apache-2.0"
    assert facts[MODEL].files == 2
    assert set(facts) == {MODEL, "tools"}


def test_export_gives_the_tree_back(recorded: Path, packed: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    export(packed, target)
    files = {path.relative_to(target): path.read_bytes() for path in target.rglob("*.json")}
    assert files == {path.relative_to(recorded): path.read_bytes() for path in recorded.rglob("*.json")}


def test_packing_nothing_says_how_to_record(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="holds no recordings"):
        pack(tmp_path / "none", tmp_path / "zips", command="", licence="", created="")


def test_a_broken_zip_is_named(packed: Path) -> None:
    path = packed / "tools" / "perfect.zip"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(PrerequisiteError, match=r"perfect\.zip: not a readable recording"):
        CassetteLibrary(packed).open_tools("s-1", "perfect", Traffic.REPLAY)


def _rewrite(path: Path, change: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (files | change).items():
            archive.writestr(name, data)


def test_changed_content_is_found_by_its_digest(packed: Path) -> None:
    _rewrite(packed / "tools" / "perfect.zip", {"s-1.json": b"{}"})
    with pytest.raises(PrerequisiteError, match=r"s-1\.json: its digest is not the recorded one"):
        CassetteLibrary(packed).open_tools("s-1", "perfect", Traffic.REPLAY)


def test_export_refuses_names_that_leave_the_folder(packed: Path, tmp_path: Path) -> None:
    path = packed / "tools" / "perfect.zip"
    index = json.loads(zipfile.ZipFile(path).read("index.json"))
    evil = "../../../evil.json"
    index["files"] = {evil: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
    _rewrite(path, {"index.json": json.dumps(index).encode(), evil: b"{}"})
    with pytest.raises(PrerequisiteError, match="names a file outside its folder"):
        export(packed, tmp_path / "out")
    assert not list(tmp_path.rglob("evil.json"))


def test_scenario_ids_from_users_stay_inside(tmp_path: Path) -> None:
    player = CassetteLibrary(tmp_path / "tree").open_tools("../../evil", "perfect", Traffic.RECORD)
    player.record(REQUEST, ANSWER)
    player.save()
    assert [path.parent for path in tmp_path.rglob("*.json")] == [tmp_path / "tree" / "tools" / "perfect"]


def test_an_unwritable_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    player = CassetteLibrary(tmp_path / "file").open_tools("s", "perfect", Traffic.RECORD)
    player.record(REQUEST, ANSWER)
    with pytest.raises(PrerequisiteError, match="cannot be written"):
        player.save()


def test_broken_answers_are_named(recorded: Path) -> None:
    path = next(recorded.rglob("*.human.json"))
    path.write_text("[{}]")
    with pytest.raises(PrerequisiteError, match=r"human\.json: not a readable list of human answers"):
        CassetteLibrary(recorded).human_answers(MODEL, "s-1", "perfect", 1, "abc")


def test_model_names_become_folder_names() -> None:
    assert model_folder("openai-api/vllm/a b") == "openai-api--vllm--a_b"
