from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.errors import CassetteMissError
from talm_sim.recordings import HttpRequest, Player, Redactor
from tests.recordings.exchanges import answer, get, post, recorded, reopen


def _miss(player: Player, request: HttpRequest) -> str:
    with pytest.raises(CassetteMissError) as err:
        player.lookup(request)
    assert "\n" not in str(err.value)
    return str(err.value)


@pytest.mark.parametrize(
    ("asked", "nearest", "why"),
    [
        (get("/a?x=2"), "GET http://tools.invalid/a?x=1", "(query differs)"),
        (get("/b?x=1"), "GET http://tools.invalid/a?x=1", "(path differs)"),
        (HttpRequest("GET", "http://model.invalid/a?x=1", {}, None), "GET http://tools.invalid/a?x=1", "(host differs)"),
        (HttpRequest("GET", "https://tools.invalid/a?x=1", {}, None), "GET http://tools.invalid/a?x=1", "(scheme differs)"),
        (HttpRequest("PUT", "http://tools.invalid/a?x=1", {}, None), "GET http://tools.invalid/a?x=1", "(method differs)"),
        (post({"a": 2}), "POST http://tools.invalid/p", "(body differs at a: '2' against recorded '1')"),
        (post({"a": 1, "b": 2}), "POST http://tools.invalid/p", "(body differs at b: '2' against recorded 'nothing')"),
        (post([1]), "POST http://tools.invalid/p", "(body differs: '[1]' against recorded '{\"a\": 1}')"),
        (HttpRequest("POST", "http://tools.invalid/p", {}, b"\xff\n{"), "POST http://tools.invalid/p", "(body differs: '\\xff {' against"),
    ],
)
def test_a_miss_names_the_nearest_recording_and_what_differs(tmp_path: Path, asked: HttpRequest, nearest: str, why: str) -> None:
    player = reopen(recorded(tmp_path / "t.json", (get(), answer()), (post({"a": 1}), answer())))
    message = _miss(player, asked)
    assert f"{asked.method} {asked.url} was not recorded. Nearest: {nearest} {why}" in message


def test_of_many_conversations_the_one_that_goes_along_longest_is_nearest(tmp_path: Path) -> None:
    def turn(*texts: str) -> HttpRequest:
        return post({"messages": [{"content": text} for text in texts]})

    long = "Find a flight from Hanoi to Da Nang, and then the weather there"
    player = reopen(recorded(tmp_path / "t.json", (turn("x"), answer()), (turn(long), answer()), (turn(long, "It rains"), answer())))
    assert "body differs at messages.1.content: 'It snows' against recorded 'It rains'" in _miss(player, turn(long, "It snows"))
    other = turn(long.replace("there", "here"))
    assert "at messages.0.content: '...nd then the weather here' against recorded '...nd then the weather there'" in _miss(player, other)


def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"version": 1, "interactions": []}')
    assert "GET http://tools.invalid/a?x=1 was not recorded; the recording is empty or absent." in _miss(reopen(tmp_path / "t.json"), get())


def test_a_miss_holds_no_secret(tmp_path: Path) -> None:
    secret = "very-secret-value-1"
    path = recorded(tmp_path / "t.json", (get(), answer()))
    message = _miss(reopen(path, redactor=Redactor([secret])), get(f"/{secret}?api_key=other&y=sk-abcdefghij0123456789"))
    assert "GET http://tools.invalid/REDACTED?api_key=REDACTED&y=REDACTED was not recorded" in message
