from __future__ import annotations

import json
from pathlib import Path

import pytest
import requests
import vcr
from hypothesis import given, settings, strategies as st

from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import HttpRequest, HttpResponse, Player, Redactor
from talm_sim.recordings.tape import Tape
from tests.recordings.exchanges import JSON, answer, get, post, recorded, reopen


def test_a_body_without_secrets_is_stored_as_it_was_sent(tmp_path: Path) -> None:
    sent = HttpRequest("POST", "http://tools.invalid/p", {}, b'{ "z": 1,  "a": [2] }')
    stored = json.loads(recorded(tmp_path / "t.json", (sent, answer())).read_text())
    assert stored["interactions"][0]["request"]["body"] == '{ "z": 1,  "a": [2] }'


def test_a_body_in_another_order_is_found_without_redaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an SDK writes it: the request is neither redacted, nor are all recorded ones, which takes most of the time of a replay."""
    path = recorded(tmp_path / "t.json", (post({"a": 1, "b": [2]}), answer("found")))
    player = reopen(path)
    monkeypatch.setattr(Redactor, "request", lambda *_: pytest.fail("something was redacted"))
    assert player.lookup(post({"b": [2], "a": 1})) == answer("found")


def test_plain_vcrpy_plays_the_file(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t.json", (get(), answer('{"city": "Hà Nội"}')), (post({"a": 1}), answer("[1]")))
    with vcr.VCR(serializer="json").use_cassette(str(path), record_mode="none") as cassette:
        assert requests.get("http://tools.invalid/a", params={"x": "1"}, timeout=5).json() == {"city": "Hà Nội"}
        assert requests.post("http://tools.invalid/p", json={"a": 1}, timeout=5).json() == [1]
        assert cassette.all_played


def test_a_file_of_plain_vcrpy_is_played(tmp_path: Path) -> None:
    interaction = {
        "request": {"method": "GET", "uri": "http://tools.invalid/a?x=1", "body": None, "headers": {"User-Agent": ["curl"]}},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {"Content-Type": ["text/plain"]}, "body": {"string": "hi"}},
    }
    text = json.dumps({"version": 1, "interactions": [interaction]})
    found = Player(Tape("t", text), Traffic.REPLAY).lookup(get())
    assert found == HttpResponse(200, "OK", (("Content-Type", "text/plain"),), b"hi")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        '{"interactions": 3}',
        '{"interactions": [{"request": {}}]}',
        '{"interactions": [{"request": {"method": "GET", "uri": "http://a/", "body": null, "headers": {}}, "response": {}}]}',
    ],
)
def test_a_corrupt_file_is_one_line_that_names_it(text: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"bad\.json: not a readable cassette .*; delete it and record again") as err:
        Tape("bad.json", text)
    assert "\n" not in str(err.value)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("method", 1),
        ("uri", 5),
        ("uri", "http://["),
        ("body", {"a": 1}),
        ("headers", {"a": [1]}),
        ("headers", {"a": []}),
        ("status", {"code": "200", "message": ""}),
        ("status", {"code": 42, "message": ""}),
        ("answer_headers", {"a": [None]}),
        ("string", 7),
    ],
)
def test_a_part_of_the_wrong_kind_is_a_corrupt_file(part: str, value: object) -> None:
    request: dict[str, object] = {"method": "GET", "uri": "http://a/", "body": None, "headers": {}}
    response: dict[str, object] = {"status": {"code": 200, "message": ""}, "headers": {}, "body": {"string": ""}}
    Tape("good", json.dumps({"interactions": [{"request": request, "response": response}]}))
    if part in request:
        request[part] = value
    elif part == "string":
        response["body"] = {"string": value}
    else:
        response[part.removeprefix("answer_")] = value
    with pytest.raises(PrerequisiteError, match="not a readable cassette"):
        Tape("bad", json.dumps({"interactions": [{"request": request, "response": response}]}))


def test_a_broken_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path / "t.json", (get(), answer("1")))
    before = path.read_bytes()
    player = reopen(path, Traffic.RECORD)
    player.record(get("/new"), answer("2"))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.replace", fail)
        with pytest.raises(PrerequisiteError, match=r"t\.json: cannot be written \(No space left on device\)"):
            player.save()
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["t.json"]
    player.save()
    assert reopen(path).lookup(get("/new")) == answer("2")


def test_saving_without_news_writes_nothing(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t.json", (get(), answer("1")))
    path.chmod(0o444)
    before = path.stat().st_mtime_ns
    player = reopen(path, Traffic.RECORD)
    player.lookup(get())
    player.save()
    assert path.stat().st_mtime_ns == before


def test_what_another_process_has_added_meanwhile_is_kept(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t.json", (get(), answer("1")))
    one, two = reopen(path, Traffic.RECORD), reopen(path, Traffic.RECORD)
    one.record(get("/one"), answer("one"))
    two.record(get("/two"), answer("two"))
    one.record(get("/both"), answer("both"))
    two.record(get("/both"), answer("both"))
    one.save()
    two.save()
    one.record(get("/later"), answer("later"))
    one.save()
    stored = [item["request"]["uri"].rpartition("/")[2] for item in json.loads(path.read_text())["interactions"]]
    assert stored == ["a?x=1", "one", "both", "two", "later"]


_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@settings(max_examples=40, deadline=None)
@given(body=_JSON_VALUES, path=st.from_regex(r"/[a-z/]{0,20}", fullmatch=True), content=st.binary(max_size=50), status=st.integers(200, 599))
def test_any_exchange_survives_the_file(body: object, path: str, content: bytes, status: int) -> None:
    request = HttpRequest("POST", "http://tools.invalid" + path, {}, json.dumps(body).encode())
    redactor = Redactor([])
    tape = Tape("t", redactor=redactor)
    Player(tape, Traffic.RECORD).record(request, HttpResponse(status, "?", JSON, content))
    again = Tape("t", tape.text(), redactor=redactor)
    assert Player(again, Traffic.REPLAY).lookup(request) == HttpResponse(status, "?", JSON, content)


@settings(max_examples=60, deadline=None)
@given(body=st.binary(max_size=60))
def test_a_request_of_any_bytes_is_found_again(body: bytes) -> None:
    request = HttpRequest("POST", "http://tools.invalid/", {"content-type": "application/json"}, body)
    redactor = Redactor([])
    tape = Tape("t", redactor=redactor)
    Player(tape, Traffic.RECORD).record(request, answer("found"))
    assert Player(Tape("t", tape.text(), redactor=redactor), Traffic.REPLAY).lookup(request) == answer("found")
