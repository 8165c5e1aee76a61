from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError
from talm_sim.recordings import HttpRequest, Player
from talm_sim.recordings.tape import Tape
from tests.recordings.exchanges import answer, get, recorded, reopen


def _twice(path: Path) -> Path:
    writer = Player(Tape(str(path), path=path), Traffic.RECORD)
    for text in ("1", "2"):
        assert writer.lookup(get()) is None
        writer.record(get(), answer(text))
    writer.save()
    return path


def test_repeats_play_in_order_and_never_wrap(tmp_path: Path) -> None:
    player = reopen(_twice(tmp_path / "t.json"))
    assert [player.lookup(get()), player.lookup(get())] == [answer("1"), answer("2")]
    with pytest.raises(CassetteMissError, match=r"recorded 2 time\(s\) and requested once more"):
        player.lookup(get())


def test_a_repeat_in_another_spelling_is_a_repeat(tmp_path: Path) -> None:
    player = reopen(_twice(tmp_path / "t.json"))
    spelt = HttpRequest("GET", "http://TOOLS.invalid/a?x=%31", {}, None)
    assert [player.lookup(spelt), player.lookup(get())] == [answer("1"), answer("2")]
    with pytest.raises(CassetteMissError):
        player.lookup(spelt)


def test_each_episode_has_its_own_cursor(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t.json", (get(), answer("1")))
    tape = Tape(str(path), path.read_text())
    assert [Player(tape, Traffic.REPLAY).lookup(get()) for _ in range(3)] == [answer("1")] * 3


def test_counts_carry_a_paused_episode_over(tmp_path: Path) -> None:
    path = _twice(tmp_path / "t.json")
    before, after = reopen(path), reopen(path)
    before.lookup(get())
    after.restore(json.loads(json.dumps(before.counts())))
    assert after.lookup(get()) == answer("2")
    with pytest.raises(CassetteMissError):
        after.lookup(get())


def test_what_an_episode_has_just_recorded_is_not_played_to_it_again() -> None:
    player = Player(Tape("t"), Traffic.RECORD)
    player.record(get(), answer("1"))
    assert player.lookup(get()) is None
