from __future__ import annotations

import json
from pathlib import Path

import pytest
import requests
import vcr
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.tools_env.cassettes import HttpRequest, HttpResponse, Player, Redactor, Tape

JSON = (("content-type", "application/json"),)


def _get(path: str = "/a?x=1") -> HttpRequest:
    return HttpRequest("GET", "http://tools.invalid" + path, {}, None)


def _post(body: object) -> HttpRequest:
    return HttpRequest("POST", "http://tools.invalid/p", {"content-type": "application/json"}, json.dumps(body).encode())


def _answer(text: str = "{}", status: int = 200) -> HttpResponse:
    return HttpResponse(status, "OK", JSON, text.encode())


def _reopen(path: Path, mode: Traffic = Traffic.REPLAY) -> Player:
    return Player(Tape(str(path), path.read_text(), path=path), mode)


def _recorded(path: Path, *pairs: tuple[HttpRequest, HttpResponse]) -> Path:
    player = Player(Tape(str(path), path=path), Traffic.RECORD)
    for request, response in pairs:
        assert player.lookup(request) is None
        player.record(request, response)
    player.save()
    return path


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    path = _recorded(tmp_path / "t.json", (_get(), _answer('{"city": "Hà Nội"}')), (_post({"a": 1}), _answer("[]", 201)))
    player = _reopen(path)
    assert player.lookup(_post({"a": 1})) == _answer("[]", 201)
    assert player.lookup(_get()) == _answer('{"city": "Hà Nội"}')


def test_repeats_play_in_order_and_never_wrap(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    writer = Player(Tape(str(path), path=path), Traffic.RECORD)
    for text in ("1", "2"):
        assert writer.lookup(_get()) is None
        writer.record(_get(), _answer(text))
    writer.save()
    player = _reopen(path)
    assert [player.lookup(_get()), player.lookup(_get())] == [_answer("1"), _answer("2")]
    with pytest.raises(CassetteMissError, match=r"recorded 2 time\(s\) and is asked once more"):
        player.lookup(_get())


def test_each_episode_has_its_own_cursor(tmp_path: Path) -> None:
    path = _recorded(tmp_path / "t.json", (_get(), _answer("1")))
    tape = Tape(str(path), path.read_text())
    assert [Player(tape, Traffic.REPLAY).lookup(_get()) for _ in range(3)] == [_answer("1")] * 3


def test_counts_carry_a_paused_episode_over(tmp_path: Path) -> None:
    path = _recorded(tmp_path / "t.json", (_get(), _answer("1")))
    before, after = _reopen(path), _reopen(path)
    before.lookup(_get())
    after.restore(json.loads(json.dumps(before.counts())))
    with pytest.raises(CassetteMissError):
        after.lookup(_get())


def test_record_mode_plays_what_is_there_and_adds_the_rest(tmp_path: Path) -> None:
    path = _recorded(tmp_path / "t.json", (_get(), _answer("1")))
    tape = Tape(str(path), path.read_text(), path=path)
    one, two = Player(tape, Traffic.RECORD), Player(tape, Traffic.RECORD)
    assert one.lookup(_get()) == two.lookup(_get()) == _answer("1")
    for player, name in ((one, "/b"), (two, "/c")):
        assert player.lookup(_get(name)) is None
        player.record(_get(name), _answer(name))
    one.save()
    player = _reopen(path)
    assert [player.lookup(_get(name)) for name in ("/b", "/c")] == [_answer("/b"), _answer("/c")]


def test_key_order_and_white_space_of_a_body_do_not_matter(tmp_path: Path) -> None:
    path = _recorded(tmp_path / "t.json", (_post({"a": 1, "b": [True, None]}), _answer()))
    request = HttpRequest("POST", "http://tools.invalid/p", {"x": "y"}, b'{ "b": [true, null],\n "a": 1 }')
    assert _reopen(path).lookup(request) == _answer()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (_get("/a?x=2"), "query differs"),
        (_get("/b?x=1"), "path differs"),
        (HttpRequest("GET", "http://model.invalid/a?x=1", {}, None), "host differs"),
        (HttpRequest("PUT", "http://tools.invalid/a?x=1", {}, None), "method differs"),
        (_post({"a": 2}), "body differs: '...{\"a\":2}' against recorded '...{\"a\":1}'"),
    ],
)
def test_a_miss_names_the_nearest_recording_and_what_differs(tmp_path: Path, asked: HttpRequest, why: str) -> None:
    player = _reopen(_recorded(tmp_path / "t.json", (_get(), _answer()), (_post({"a": 1}), _answer())))
    with pytest.raises(CassetteMissError) as err:
        player.lookup(asked)
    assert "Nearest: " in str(err.value)
    assert why in str(err.value)
    assert player.misses == [str(err.value)]


def test_secrets_never_reach_the_file_and_still_match(tmp_path: Path) -> None:
    secret = "very-secret-value-1"
    request = HttpRequest(
        "POST",
        f"http://tools.invalid/p?api_key={secret}&q=1",
        {"Authorization": f"Bearer {secret}"},
        json.dumps({"token": secret, "max_tokens": 5}).encode(),
    )
    echo = HttpResponse(
        200, "OK", (("set-cookie", secret), ("content-type", "text/plain")), f"you sent {secret} and sk-abcdefghij0123456789".encode()
    )
    path = tmp_path / "t.json"
    tape = Tape(str(path), path=path, redactor=Redactor([secret]))
    writer = Player(tape, Traffic.RECORD)
    writer.lookup(request)
    writer.record(request, echo)
    writer.save()
    text = path.read_text()
    assert secret not in text
    assert "sk-abc" not in text
    assert '\\"max_tokens\\":5' in text
    other = HttpRequest(request.method, request.url.replace(secret, "another"), {}, json.dumps({"token": "another", "max_tokens": 5}).encode())
    assert _reopen(path).lookup(other) is not None
    with pytest.raises(CassetteMissError) as err:
        Player(tape, Traffic.REPLAY).lookup(HttpRequest("GET", f"http://tools.invalid/{secret}", {}, None))
    assert secret not in str(err.value)


def test_plain_vcrpy_plays_the_file(tmp_path: Path) -> None:
    path = _recorded(tmp_path / "t.json", (_get(), _answer('{"city": "Hanoi"}')))
    with vcr.VCR(serializer="json", record_mode="none").use_cassette(str(path)) as cassette:
        assert requests.get("http://tools.invalid/a", params={"x": "1"}, timeout=5).json() == {"city": "Hanoi"}
        assert cassette.all_played


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"interactions": [{"request": {}}]}', '{"interactions": 3}'])
def test_a_corrupt_file_is_one_line_that_names_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"bad\.json: not a readable cassette") as err:
        Tape(str(tmp_path / "bad.json"), text)
    assert "\n" not in str(err.value)


def test_a_broken_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _recorded(tmp_path / "t.json", (_get(), _answer("1")))
    before = path.read_bytes()
    player = _reopen(path, Traffic.RECORD)
    player.record(_get("/new"), _answer("2"))

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        player.save()
    assert path.read_bytes() == before


_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(body=_JSON_VALUES, path=st.from_regex(r"/[a-z/]{0,20}", fullmatch=True), answer=st.binary(max_size=50), status=st.integers(200, 599))
def test_any_exchange_survives_the_file(body: object, path: str, answer: bytes, status: int) -> None:
    text = answer.decode("latin-1")
    request = HttpRequest("POST", "http://tools.invalid" + path, {}, json.dumps(body).encode())
    tape = Tape("t", redactor=Redactor([]))
    writer = Player(tape, Traffic.RECORD)
    writer.record(request, HttpResponse(status, "?", JSON, text.encode()))
    again = Tape("t", tape._serialize(), redactor=Redactor([]))
    assert Player(again, Traffic.REPLAY).lookup(request) == HttpResponse(status, "?", JSON, Redactor([]).text(text).encode())
