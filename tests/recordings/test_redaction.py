from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.common.credentials import credentials_in_environment
from talm_sim.errors import CassetteMissError
from talm_sim.recordings import HttpRequest, HttpResponse, Redactor
from tests.recordings.exchanges import answer, get, recorded, reopen

SECRET = 'very/secret "value" 1é'


def _plain(url: str = "http://h.invalid/", body: object = None) -> HttpRequest:
    return Redactor([]).request(HttpRequest("POST", url, {}, None if body is None else json.dumps(body).encode()))


def test_no_credential_reaches_the_file(tmp_path: Path) -> None:
    names = ("Authorization", "api-key", "X-API-Key", "Cookie", "OpenAI-Organization", "anthropic-version", "x-goog-api-key")
    request = HttpRequest(
        "POST",
        f"http://me:{quote_plus(SECRET)}@tools.invalid/p?q={quote_plus(SECRET)}&x=1",
        {**dict.fromkeys(names, "header-secret"), "Content-Type": "application/json"},
        json.dumps({"note": f"it is {SECRET}", "max_tokens": 5}).encode(),
    )
    echo = HttpResponse(
        200,
        "OK",
        (("set-cookie", "header-secret"), ("x-request-id", "r-1"), ("date", "now"), ("Content-Type", "application/json")),
        json.dumps({"sent": SECRET, "key": "sk-abcdefghij0123456789"}).encode(),
    )
    path = recorded(tmp_path / "t.json", (request, echo), redactor=Redactor([SECRET]))
    text = path.read_text()
    assert "secret" not in text
    assert "sk-abc" not in text
    assert '\\"max_tokens\\": 5' in text
    played = reopen(path, redactor=Redactor([SECRET])).lookup(request)
    assert played is not None
    assert played.headers == (("x-request-id", "r-1"), ("Content-Type", "application/json"))
    assert json.loads(played.body) == {"sent": "REDACTED", "key": "REDACTED"}


@pytest.mark.parametrize("name", ["api_key", "apikey", "X-Api-Key", "openai_api_key", "access_token", "client_secret", "Authorization"])
def test_a_value_is_hidden_by_its_name(name: str) -> None:
    assert _plain(f"http://h.invalid/?{name}=abc&x=1").url == f"http://h.invalid/?{name}=REDACTED&x=1"
    assert json.loads(_plain(body={"deep": [{name: "abc"}]}).body or b"") == {"deep": [{name: "REDACTED"}]}


@pytest.mark.parametrize(
    "values",
    [
        {"key": "C minor"},
        {"key": "F#"},
        {"token": "next-page-2"},
        {"page_token": "a1b2c3d4e5f6a7b8c9"},
        {"max_tokens": 5},
        {"password": "correct horse 1"},
        {"keyboard": "x", "secretary": "y", "monkey": "z"},
        {"api_key": ""},
        {"api_key": {"type": "string"}},
    ],
)
def test_an_argument_that_only_sounds_secret_stays(values: dict[str, object]) -> None:
    assert json.loads(_plain(body=values).body or b"") == values


def test_a_random_looking_key_is_hidden() -> None:
    assert _plain("http://h.invalid/?key=0123456789abcdefXYZ").url == "http://h.invalid/?key=REDACTED"


def test_a_form_is_redacted_too() -> None:
    request = HttpRequest("POST", "http://h.invalid/", {"Content-Type": "application/x-www-form-urlencoded"}, b"client_secret=a+b&x=1")
    assert Redactor([]).request(request).body == b"client_secret=REDACTED&x=1"


@pytest.mark.parametrize(
    "key",
    ["sk-abcdefghij0123456789", "sk-ant-api03-abcDEF_123456789", "gsk_" + "a1" * 12, "ghp_" + "b2" * 12, "hf_" + "c3" * 12, "AKIA" + "Z" * 16],
)
def test_well_known_shapes_are_hidden_wherever_they_stand(key: str) -> None:
    assert Redactor([]).text(f'a "{key}", b') == 'a "REDACTED", b'


def test_words_that_hold_a_shape_stay() -> None:
    text = "task-abcdefghij0123456789 disk-encryption-of-notebooks-1 half_marathons_in_september_2026"
    assert Redactor([]).text(text) == text


def test_secrets_are_found_by_the_name_of_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"MY_API_KEY": "abcdefgh1", "GH_TOKEN": "abcdefgh12", "PATH": "abcdefgh123", "X_SECRET": "short", "MAX_TOKENS": "abcdefgh1234"}
    assert credentials_in_environment(environ) == ("abcdefgh12", "abcdefgh1")
    monkeypatch.setenv("SOME_TOKEN", "of-the-process")
    assert credentials_in_environment({}) == ()
    assert Redactor().text("it is of-the-process.") == "it is REDACTED."


def test_a_secret_of_digits_leaves_valid_json() -> None:
    body = Redactor(["12345678"]).response(answer('{"id": 12345678, "text": "no 123456780"}')).body
    assert json.loads(body) == {"id": 1, "text": "no 10"}


def test_a_replay_without_the_secret_still_matches(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t.json", (get("/w?appid=my-own-key&q=1"), answer("hot")), redactor=Redactor(["my-own-key"]))
    assert "my-own-key" not in path.read_text()
    plain = Redactor([])
    assert reopen(path, redactor=plain).lookup(get("/w?q=1&appid=placeholder")) == answer("hot")
    with pytest.raises(CassetteMissError):
        reopen(path, redactor=plain).lookup(get("/w?q=2&appid=placeholder"))


def test_a_secret_that_only_the_replaying_machine_holds_does_no_harm(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t.json", (get("/w?q=placeholder"), answer("hot")), redactor=Redactor([]))
    player = reopen(path, redactor=Redactor(["placeholder"]))
    assert player.lookup(HttpRequest("GET", "http://TOOLS.invalid/w?q=placeholder", {}, None)) == answer("hot")


@settings(max_examples=40, deadline=None)
@given(body=st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("api_key"), inner)))
def test_redacting_twice_is_redacting_once(body: object) -> None:
    redactor = Redactor(["a-secret"])
    request = HttpRequest("POST", "http://h.invalid/?x=a-secret", {}, json.dumps(body).encode())
    once = redactor.request(request)
    assert redactor.request(once) == once
