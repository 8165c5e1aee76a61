from __future__ import annotations

import time
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
        (get("/a?x=2"), "number 1 of 2", "(query differs in x, at character 1: '2' against recorded '1')"),
        (get("/b?x=1"), "number 1 of 2, GET http://tools.invalid/a?x=1", "(path differs at character 2: '/b' against recorded '/a')"),
        (HttpRequest("GET", "http://model.invalid/a?x=1", {}, None), "number 1 of 2, GET http://tools.invalid/a?x=1", "(host differs)"),
        (HttpRequest("GET", "https://tools.invalid/a?x=1", {}, None), "number 1 of 2, GET http://tools.invalid/a?x=1", "(scheme differs)"),
        (HttpRequest("PUT", "http://tools.invalid/a?x=1", {}, None), "number 1 of 2, GET http://tools.invalid/a?x=1", "(method differs)"),
        (post({"a": 2}), "number 2 of 2", "(body differs in a: 2 against recorded 1)"),
        (post({"a": 1, "b": 2}), "number 2 of 2", "(body differs in b: 2 against recorded nothing)"),
        (post([1]), "number 2 of 2", '(body differs as a whole: [1] against recorded {"a": 1})'),
        (
            HttpRequest("POST", "http://tools.invalid/p", {}, b"\xff\n{"),
            "number 2 of 2",
            "(body differs at character 1: '\\xff\\n{' against",
        ),
    ],
)
def test_a_miss_names_the_nearest_recording_and_what_differs(tmp_path: Path, asked: HttpRequest, nearest: str, why: str) -> None:
    player = reopen(recorded(tmp_path / "t.json", (get(), answer()), (post({"a": 1}), answer())))
    message = _miss(player, asked)
    assert f"{asked.method} {asked.url} was not recorded. Nearest: {nearest} {why}" in message


@pytest.mark.parametrize(
    ("now", "before", "said"), [('{"b":1,"a":"x"}', '{"a":"x","b":1}', True), ("sent.", '"sent.."', True), ("a", "b", False)]
)
def test_a_miss_says_that_results_were_shown_in_another_form(tmp_path: Path, now: str, before: str, said: bool) -> None:
    player = reopen(recorded(tmp_path / "t.json", (post({"content": before}), answer())))
    assert ("results of tools were shown in another form: record it anew" in _miss(player, post({"content": now}))) is said


def test_of_many_conversations_the_one_that_goes_along_longest_is_nearest(tmp_path: Path) -> None:
    def turn(*texts: str) -> HttpRequest:
        return post({"messages": [{"content": text} for text in texts]})

    long = "Find a flight from Hanoi to Da Nang, and then the weather there"
    player = reopen(recorded(tmp_path / "t.json", (turn("x"), answer()), (turn(long), answer()), (turn(long, "It rains"), answer())))
    message = _miss(player, turn(long, "It snows"))
    assert "Nearest: number 3 of 3 (body differs in messages[1].content, at character 4: 'It snows'" in message
    assert "against recorded 'It rains')" in message
    other = turn(long.replace("there", "here"))
    difference = "in messages[0].content, at character 59: '…nd then the weather here' against recorded '…nd then the weather there'"
    assert difference in _miss(player, other)


def test_the_nearest_one_is_found_by_value_not_by_spelling(tmp_path: Path) -> None:
    def spelt(*keys: str) -> HttpRequest:
        values = {"a": "Hanoi", "b": "the weather", "c": 1 if keys[0] == "a" else 2}
        return post({key: values[key] for key in keys})

    player = reopen(recorded(tmp_path / "t.json", (post({"a": "Oslo"}), answer()), (spelt("c", "b", "a"), answer())))
    assert "Nearest: number 2 of 2 (body differs in c: 1 against recorded 2)" in _miss(player, spelt("a", "b", "c"))


def test_a_miss_of_a_large_body_is_explained_quickly(tmp_path: Path) -> None:
    def turn(last: str, count: int) -> HttpRequest:
        return post(
            {"messages": [{"role": "user", "content": "x" * 20_000 + "\n"} for _ in range(count)] + [{"role": "user", "content": last}]}
        )

    player = reopen(recorded(tmp_path / "t.json", *((turn(f"turn {count}", count), answer()) for count in (97, 98, 99, 100))))
    started = time.process_time()
    message = _miss(player, turn("turn 101", 100))
    assert "Nearest: number 4 of 4" in message
    assert "(body differs in messages[100].content, at character 8: 'turn 101' against recorded 'turn 100')" in message
    assert len(message) < 1000
    assert time.process_time() - started < 20  # about 0.5 s; what is quadratic takes minutes


def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"version": 1, "interactions": []}')
    assert "GET http://tools.invalid/a?x=1 was not recorded; the recording is empty or absent." in _miss(reopen(tmp_path / "t.json"), get())


def test_a_miss_holds_no_secret(tmp_path: Path) -> None:
    secret = "very-secret-value-1"
    path = recorded(tmp_path / "t.json", (get(), answer()))
    message = _miss(reopen(path, redactor=Redactor([secret])), get(f"/{secret}?api_key=other&y=sk-abcdefghij0123456789"))
    assert "GET http://tools.invalid/REDACTED?api_key=REDACTED&y=REDACTED was not recorded" in message


def test_the_excerpt_of_a_miss_holds_no_piece_of_a_secret_and_nothing_that_acts_on_a_terminal(tmp_path: Path) -> None:
    secret = "very-secret/value-1"
    path = recorded(tmp_path / "t.json", (post({"messages": ["the key is known"]}), answer()))
    for spelt in (secret, secret.replace("/", "\\/"), secret.replace("v", "\\u0076")):
        body = f'{{"messages": ["the key is {spelt} \\u001b[31m"]}}'.encode()
        message = _miss(reopen(path, redactor=Redactor([secret])), HttpRequest("POST", "http://tools.invalid/p", {}, body))
        assert "in messages[0], at character 12: 'the key is REDACTED \\x1b[31m' against recorded 'the key is known'" in message
        assert message.isprintable()
