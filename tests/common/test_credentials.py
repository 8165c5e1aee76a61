"""What is hidden, and what only looks like it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.common.credentials import (
    Hider,
    checked_credential,
    credentials_in_environment,
    credentials_in_headers,
    credentials_in_url,
    is_distinctive,
    names_credential,
)
from talm_sim.errors import PrerequisiteError
from tests.growth import check_growth

OWN = "own/key+of-this=run-42"
HIDE = Hider([OWN])


@pytest.mark.parametrize(
    "name",
    [
        "PGPASSWORD", "GITHUB_PAT", "api-key", "x-api-key", "api.key", "apiKey", "API_KEY", "token", "key", "auth", "access-token",
        "accessToken", "bearer", "pwd", "passwd", "hf_token", "Authorization", "client_secret", "X-Auth-Token", "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "db.password", "proxy_auth", "Cookie", "auth_header",
    ],
)  # fmt: skip
def test_a_name_that_credentials_go_under(name: str) -> None:
    assert names_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens", "tokenizer", "max_completion_tokens", "eos_token_id", "eos_token", "stop_token", "use_auth", "prompt_cache_key", "user",
        "keyboard", "author", "tokens", "top_k", "n_tokens", "max_tokens_field", "answer_chars", "monkey", "passage", "compass", "page_token",
    ],
)  # fmt: skip
def test_a_name_that_only_sounds_so(name: str) -> None:
    assert not names_credential(name)


@pytest.mark.parametrize(
    "key",
    [
        OWN,
        json.dumps(OWN)[1:-1].replace("/", "\\/"),
        "own%2Fkey%2Bof-this%3Drun-42",
        "sk-abcdefghij0123456789",
        "sk-proj-abc_DEF-0123456789",
        "ghp_" + "b2" * 12,
        "AKIA" + "Z9" * 8,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    ],
)
@pytest.mark.parametrize("around", ['a "{}", b', "{}", "key={}.", "x\n{}\ny"])
def test_a_value_is_hidden_wherever_it_stands(key: str, around: str) -> None:
    hidden = HIDE.text(around.format(key))
    assert hidden == around.format("-----BEGIN RSA REDACTED" if "BEGIN" in key else "REDACTED")
    assert HIDE.text(hidden) == hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abcd1234efgh", "Authorization: Bearer REDACTED"),
        ("see http://me:pass-word@proxy:80/x", "see http://REDACTED@proxy:80/x"),
        ("mysk-abcdefghij0123456789", "myREDACTED"),
        ("tasksk-proj-0123456789abcdefg", "taskREDACTED"),
        ("ask-AbcDEF0123456789xyzT3Bl", "aREDACTED"),
        ("key: sk-pro***1234", "key: REDACTED"),
    ],
)
def test_shapes_within_other_texts(text: str, hidden: str) -> None:
    assert HIDE.text(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "task-abcdefghij0123456789 disk-encryption-of-notebooks-1 half_marathons_in_september_2026",
        "a bearer bond, Bearer authentication, token p9o8i7u6y5t4r3e2w1q",
        "9e107d9d372bb6826bd81d3542a419d6 d41d8cd98f00b204e9800998ecf8427e00998ecf",
        "2fd4e1c6-7a2d-48fc-8a59-1b2c3d4e5f60 CAUQAA eyJwYWdlIjogMn0=",
        "https://example.org/@user/path?token=next ftp://host:21/a@b mailto:me@example.org",
        '{"token": "z9x8c7v6b5n4m3q2w1", "password": "pass123", "key": "C minor"}',
    ],
)
def test_what_only_looks_like_a_credential_stays(text: str) -> None:
    assert HIDE.text(text) == text
    assert HIDE.body(text.encode()) == text.encode()


@pytest.mark.parametrize("spelt", ["\\u006f\\u0077n/key+of-this=run-42", "own\\/key+of-this=run-4\\u0032"])
def test_letters_that_json_spells_in_another_way_are_read(spelt: str) -> None:
    twice = json.dumps(f'{{"a": "{spelt}"}}')
    for body in (f'{{"content": "{spelt}"}}', f'{{"arguments": {twice}}}', f'[{{"{spelt}": 1}}]'):
        hidden = HIDE.body(body.encode())
        assert b"REDACTED" in hidden and b"run-4" not in hidden
        assert HIDE.body(hidden) == hidden


def test_what_the_environment_and_a_request_bear() -> None:
    environ = {
        "A_TOKEN": "true",
        "B_TOKEN": "12345678",
        "C_KEY": "disabled",
        "PWD": "/home/someone1",
        "D_PASSWORD": "x9-secret",
        "HTTPS_PROXY": "http://me:proxy-pass9@proxy:3128",
        "E_BASE_URL": "http://h/v1?api_key=in-query-77&page=abcdefgh1",
    }
    assert set(credentials_in_environment(environ)) == {
        "x9-secret", "me:proxy-pass9", "proxy-pass9", "in-query-77", "bWU6cHJveHktcGFzczk=",
    }  # fmt: skip
    several = {"F_BASE_URL": "http://h/v1, http://me:other-pass9@j/v1," + "http://k/v1," * 1000}
    assert {"other-pass9", "me:other-pass9"} <= set(credentials_in_environment(several))
    assert "pass,word9" in credentials_in_environment({"G_PROXY": "http://me:pass,word9@i"})
    headers = [("Authorization", "Basic bWU6cHJveHktcGFzczk="), ("x-api-key", "abc"), ("content-type", "application/json")]
    assert list(credentials_in_headers(headers)) == ["bWU6cHJveHktcGFzczk=", "me:proxy-pass9", "proxy-pass9", "abc"]
    assert list(credentials_in_url("http://[")) == []
    assert not is_distinctive("EMPTY") and not is_distinctive("not-needed")


@pytest.mark.parametrize("piece", ["ask-", "a:", "eyJabcdefgh.", "\\u0041"])
def test_no_text_is_slow(piece: str) -> None:
    check_growth(HIDE.body, lambda size: ("://" + piece * (size // len(piece))).encode(), 2**18)


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.text() | st.just(OWN), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)), st.booleans())
def test_hidden_bodies_stay_json_and_the_rest_as_it_was(value: object, escape: bool) -> None:
    body = json.dumps(value, ensure_ascii=escape).encode("utf-8", "surrogatepass")
    hidden = HIDE.body(body)
    assert OWN not in json.dumps(json.loads(hidden.decode("utf-8", "surrogatepass")))
    assert hidden == body or b"REDACTED" in hidden


@given(st.text(max_size=30))
def test_a_credential_is_sendable_where_a_header_can_carry_it(value: str) -> None:
    good = all(" " <= one <= "~" for one in value.strip())
    if good:
        assert checked_credential("THE_KEY", value) == value.strip()
        return
    with pytest.raises(PrerequisiteError, match="THE_KEY: holds ") as told:
        checked_credential("THE_KEY", value)
    line = str(told.value)
    assert line.isprintable()
    assert line.endswith("without quotes around it.")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("\u201csk-abc\u201d", "\u201c (left double quotation mark) at position 1,"),
        ("sk-\u00e4bc", "\u00e4 (latin small letter a with diaeresis) at position 4,"),
        ("sk-abc\nrest", "a line break at position 7,"),
        ("sk-abc\r\nrest", "a line break at position 7,"),
        ("sk-\u00a0abc", "U+00A0 (no-break space) at position 4,"),
        ("sk-\x7fabc", "U+007F (no character of a key) at position 4,"),
    ],
)
def test_a_credential_that_no_header_carries_is_told_by_its_wrong_character_alone(key: str, said: str) -> None:
    with pytest.raises(PrerequisiteError) as told:
        checked_credential("THE_KEY", key)
    assert f"THE_KEY: holds {said}" in str(told.value)
    assert "abc" not in str(told.value)


FOREIGN = "sk-proj-Zz9foreign00aaaaBBBBcccc"


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": FOREIGN, "signature": FOREIGN},
        {"data": FOREIGN, "type": "redacted_thinking"},
        *({"type": f"reasoning.{kind}", "id": "r", kind.replace("encrypted", "data"): FOREIGN} for kind in ("text", "summary", "encrypted")),
        *({field: FOREIGN} for field in ("reasoning_content", "reasoning", "thought_signature")),
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "\u00e9" + FOREIGN}], "encrypted_content": FOREIGN},
        {"type": "thinking", "thinking": [{"type": "text", "text": FOREIGN}]},
    ],
)
def test_a_thought_loses_own_credentials_alone_and_in_a_models_answer_alone(thought: Any) -> None:
    answer = json.dumps({"x": thought}).encode()
    assert HIDE.body(answer, of_model=True) == answer
    for event in (b"data: " + answer + b"\n\ndata: [DONE]", answer.replace(b"}}", b'}, "y": 1}')):
        assert HIDE.body(event, of_model=True) == event
    for body, of_model in ((answer, False), (json.dumps({"input": {"x": {"reasoning": FOREIGN}}}).encode(), True)):
        assert FOREIGN.encode() not in HIDE.body(body, of_model=of_model)
    assert OWN.encode() not in HIDE.body(answer.replace(FOREIGN.encode(), OWN.encode()), of_model=True)
