from __future__ import annotations

import asyncio
import contextlib
import gc
from pathlib import Path

import pytest

from scripts.pack_recordings import pack
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.recordings import CassetteLibrary, RecordedAnswer, current_player, library, shipped_cassettes
from talm_sim.types import Route, ToolSpec
from tests.recordings.exchanges import answer, get

MODEL = "openai-api/vllm/tiny"
ANSWER = answer('{"city": "Hanoi"}')
HUMAN = RecordedAnswer(ask=1, question_digest="d", question="Which?", answer="Hanoi", responder="simulated")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """An unpacked tree with one tool recording, one conversation and one human answer."""
    tree = CassetteLibrary(tmp_path / "tree")
    for player in (tree.open_tools("s-1", "perfect", Traffic.RECORD), tree.open_model(MODEL, "s-1", "perfect", 1, 0, "abc", Traffic.RECORD)):
        player.record(get(), ANSWER)
        player.save()
    tree.save_tools({"a": ToolSpec(name="a")}, {"a": Route(path="/a")})
    tree.save_human_answers(MODEL, "s-1", "perfect", 1, "abc", [HUMAN])
    return tmp_path / "tree"


@pytest.fixture
def packed(recorded: Path, tmp_path: Path) -> Path:
    pack(recorded, tmp_path / "zips", command="record it", licence="Apache-2.0", created="2026-11-21")
    return tmp_path / "zips"


@pytest.mark.parametrize("form", ["recorded", "packed"])
def test_packed_and_unpacked_recordings_read_the_same(form: str, request: pytest.FixtureRequest) -> None:
    found = CassetteLibrary(request.getfixturevalue(form))
    assert found.open_tools("s-1", "perfect", Traffic.REPLAY).lookup(get()) == ANSWER
    assert found.open_model(MODEL, "s-1", "perfect", 1, 0, "abc", Traffic.REPLAY).lookup(get()) == ANSWER
    assert found.human_answers(MODEL, "s-1", "perfect", 1, "abc") == [HUMAN]
    assert found.human_answers(MODEL, "s-2", "perfect", 1, "abc") == []
    assert found.tools() == {"a": (ToolSpec(name="a"), Route(path="/a"))}
    assert found.has_tools(["perfect"])
    assert found.has_model(MODEL, ["perfect"])
    assert not found.has_model(MODEL, ["perfect", "no-tools"])
    assert not found.has_model("openai/other", ["perfect"])


@pytest.mark.parametrize("failure", [None, ValueError, asyncio.CancelledError, KeyboardInterrupt])
def test_what_was_recorded_of_a_conversation_is_saved_whatever_happens(failure: type[BaseException] | None, tmp_path: Path) -> None:
    found = CassetteLibrary(tmp_path)
    with (
        contextlib.suppress(ValueError, asyncio.CancelledError, KeyboardInterrupt),
        found.conversation(MODEL, "s-1", "perfect", 1, 2, "abc", Traffic.RECORD) as player,
    ):
        assert player is not None and current_player.get() is player
        player.record(get(), ANSWER)
        if failure is not None:
            raise failure
    assert current_player.get() is None
    with CassetteLibrary(tmp_path).conversation(MODEL, "s-1", "perfect", 1, 2, "abc", Traffic.REPLAY) as player:
        assert player is not None and player.lookup(get()) == ANSWER
    for live in (None, Traffic.LIVE):
        with found.conversation(MODEL, "s-2", "perfect", 1, 2, "abc", live) as player:
            assert player is None and current_player.get() is None
    assert [path.name for path in tmp_path.rglob("*.json")] == ["1-2-abc.json"]


def test_files_lie_where_plain_vcrpy_users_look(recorded: Path) -> None:
    assert sorted(path.relative_to(recorded).as_posix() for path in recorded.rglob("*.json")) == [
        "openai-api--vllm--tiny/perfect/s-1/1-0-abc.json",
        "openai-api--vllm--tiny/perfect/s-1/1-abc.human.json",
        "tools/perfect/s-1.json",
        "tools/specs.json",
    ]


def test_an_unpacked_file_comes_before_a_packed_one(packed: Path) -> None:
    player = CassetteLibrary(packed).open_tools("s-1", "perfect", Traffic.RECORD)
    player.record(get("/new"), answer("new"))
    player.save()
    again = CassetteLibrary(packed).open_tools("s-1", "perfect", Traffic.REPLAY)
    assert [again.lookup(get()), again.lookup(get("/new"))] == [ANSWER, answer("new")]


@pytest.mark.parametrize(("epoch", "vote", "digest"), [(2, 0, "abc"), (1, 1, "abc"), (1, 0, "abd")])
def test_another_epoch_vote_or_digest_is_another_conversation(packed: Path, epoch: int, vote: int, digest: str) -> None:
    player = CassetteLibrary(packed).open_model(MODEL, "s-1", "perfect", epoch, vote, digest, Traffic.REPLAY)
    with pytest.raises(CassetteMissError, match=rf"perfect\.zip:s-1/{epoch}-{vote}-{digest}\.json: GET .* empty or absent"):
        player.lookup(get())


def test_episodes_that_record_one_scenario_share_the_tape(tmp_path: Path) -> None:
    tree = CassetteLibrary(tmp_path)
    players = [tree.open_tools("s", "perfect", Traffic.RECORD) for _ in range(2)]
    for number, player in enumerate(players):
        player.record(get(f"/{number}"), ANSWER)
    for player in players:
        player.save()
    again = CassetteLibrary(tmp_path).open_tools("s", "perfect", Traffic.REPLAY)
    assert [again.lookup(get(f"/{number}")) for number in range(2)] == [ANSWER, ANSWER]


def test_only_the_last_tool_tapes_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_TAPES_KEPT", 3)
    found = CassetteLibrary(tmp_path)
    for number in range(10):
        found.open_tools(f"s-{number}", "perfect", Traffic.RECORD)
        found.open_model(MODEL, f"s-{number}", "perfect", 1, 0, "abc", Traffic.RECORD)
    gc.collect()
    assert [place.rpartition("/")[2] for place in found._open] == ["s-7.json", "s-8.json", "s-9.json"]


def test_describe_says_where_recordings_come_from(packed: Path) -> None:
    facts = {item.model: item for item in CassetteLibrary(packed).describe()}
    assert set(facts) == {MODEL, "tools"}
    assert (facts[MODEL].group, facts[MODEL].command, facts[MODEL].licence, facts[MODEL].files) == ("perfect", "record it", "Apache-2.0", 2)
    assert facts[MODEL].bytes == (packed / "openai-api--vllm--tiny" / "perfect.zip").stat().st_size


@pytest.mark.parametrize("scenario_id", ["../../evil", "..", "/etc/evil", "a\\..\\b", "a/b", "", "n" * 500, "con:\0"])
@pytest.mark.parametrize("group", ["perfect", "../../out", ".."])
def test_ids_from_users_stay_inside(tmp_path: Path, scenario_id: str, group: str) -> None:
    tree = tmp_path / "deep" / "er" / "tree"
    for player in (
        CassetteLibrary(tree).open_tools(scenario_id, group, Traffic.RECORD),
        CassetteLibrary(tree).open_model("openai/../x", scenario_id, group, 1, 0, "abc", Traffic.RECORD),
    ):
        player.record(get(), ANSWER)
        player.save()
    found = list(tmp_path.rglob("*.json"))
    assert len(found) == 2
    assert {path.relative_to(tree).parts[0] for path in found} == {"tools", "openai--..--x"}
    assert CassetteLibrary(tree).has_tools([group])
    assert CassetteLibrary(tree).open_tools(scenario_id, group, Traffic.REPLAY).lookup(get()) == ANSWER


def test_ids_that_differ_are_recorded_apart(tmp_path: Path) -> None:
    for scenario_id in ("a b", "a_b", "a+b", "a%20b"):
        player = CassetteLibrary(tmp_path).open_tools(scenario_id, "perfect", Traffic.RECORD)
        assert player.lookup(get()) is None
        player.record(get(), ANSWER)
        player.save()


@pytest.mark.parametrize("text", ["[{}]", "{", "3", "[3]", "[" * 100_000])
def test_broken_answers_are_named(recorded: Path, text: str) -> None:
    next(recorded.rglob("*.human.json")).write_text(text)
    with pytest.raises(PrerequisiteError, match=r"human\.json: not a readable list of human answers"):
        CassetteLibrary(recorded).human_answers(MODEL, "s-1", "perfect", 1, "abc")


@pytest.mark.parametrize("text", ["[{}]", "{", "3", "[3]", '[{"name": 3}]'])
def test_broken_specs_are_named(recorded: Path, text: str) -> None:
    (recorded / "tools" / "specs.json").write_text(text)
    with pytest.raises(PrerequisiteError, match=r"specs\.json: not a readable list of tools"):
        CassetteLibrary(recorded).tool_specs()


def test_secrets_stay_out_of_human_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", 'of "mine" 123')
    CassetteLibrary(tmp_path).save_human_answers(MODEL, "s", "perfect", 1, "abc", [HUMAN.model_copy(update={"answer": 'of "mine" 123'})])
    assert CassetteLibrary(tmp_path).human_answers(MODEL, "s", "perfect", 1, "abc")[0].answer == "REDACTED"


def test_the_shipped_recordings_are_found_beside_a_checkout_and_inside_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "talm_sim" / "recordings" / "library.py"
    place.parent.mkdir(parents=True)
    monkeypatch.setattr(library, "__file__", str(place))
    assert shipped_cassettes() == tmp_path / "cassettes"
    (tmp_path / "talm_sim" / "cassettes").mkdir()
    assert shipped_cassettes() == tmp_path / "talm_sim" / "cassettes"
    assert CassetteLibrary().root == tmp_path / "talm_sim" / "cassettes"


def test_parameters_keep_the_order_in_which_models_are_shown_them(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"zone": {"type": "string"}, "area": {"type": "string"}}}
    CassetteLibrary(tmp_path).save_tools({"a": ToolSpec(name="a", parameters=schema)}, {"a": Route()})
    assert list(CassetteLibrary(tmp_path).tool_specs()["a"].parameters["properties"]) == ["zone", "area"]
