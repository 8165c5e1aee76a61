from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st
from vcr.matchers import requests_match
from vcr.request import Request

from talm_sim.recordings.matching import MATCHERS, canonical_key

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


def _request(method: str = "POST", uri: str = "http://h.invalid/p?a=1&b=2", body: object = None, **headers: str) -> Request:
    return Request(method, uri, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_request(), _request(uri="http://h.invalid/p?b=2&a=1")),
        (_request(uri="http://h.invalid/p?q=a+b"), _request(uri="http://h.invalid/p?q=a%20b")),
        (_request(uri="http://h.invalid"), _request(uri="http://h.invalid/")),
        (_request(body={"a": 1, "b": [True, None]}), _request(body=b'{ "b": [true, null],\n "a": 1 }')),
        (_request(body={"a": "é"}), _request(body='{"a": "é"}'.encode())),
        (_request(accept="a"), _request(authorization="b")),
        (_request(body=None), _request(body=None)),
    ],
)
def test_spelling_and_headers_do_not_matter(one: Request, other: Request) -> None:
    assert requests_match(one, other, MATCHERS)
    assert canonical_key(one) == canonical_key(other)


@pytest.mark.parametrize(
    "other",
    [
        _request(method="PUT"),
        _request(uri="https://h.invalid/p?a=1&b=2"),
        _request(uri="http://i.invalid/p?a=1&b=2"),
        _request(uri="http://h.invalid/q?a=1&b=2"),
        _request(uri="http://h.invalid/p?a=1&b=3"),
        _request(uri="http://h.invalid/p?a=1&b=2&c="),
        _request(uri="http://h.invalid/p?a=1&a=1&b=2"),
        _request(body={"a": 1}),
        _request(body=b"text"),
    ],
)
def test_everything_else_matters(other: Request) -> None:
    assert not requests_match(_request(), other, MATCHERS)
    assert canonical_key(_request()) != canonical_key(other)


@pytest.mark.parametrize(
    ("asked", "recorded", "fits"),
    [
        ('{"k":"abc"}', '{"k":"REDACTED"}', True),
        ('{"k":"a b"}', '{"k":"REDACTED"}', False),
        ('{"k":"","l":1}', '{"k":"REDACTED","l":1}', False),
        ('{"k":"a","l":2}', '{"k":"REDACTED","l":1}', False),
        ('{"k":"a","x":"b","l":1}', '{"k":"REDACTED","l":1}', False),
        ('{"k":"Bearer abc"}', '{"k":"Bearer REDACTED"}', True),
        ('{"k":"abc","l":"xyz"}', '{"k":"REDACTED","l":"REDACTED"}', True),
        ('{"k":"a"}', '{"k":"REDACTED","l":"REDACTED"}', False),
    ],
)
def test_a_redacted_value_stands_for_one_value(asked: str, recorded: str, fits: bool) -> None:
    assert requests_match(_request(body=asked.encode()), _request(body=recorded.encode()), MATCHERS) is fits


def test_a_redacted_value_in_the_address_stands_for_one_value() -> None:
    recorded = _request(uri="http://h.invalid/u/REDACTED/x?appid=REDACTED&q=1")
    assert requests_match(_request(uri="http://h.invalid/u/me/x?q=1&appid=mine"), recorded, MATCHERS)
    assert not requests_match(_request(uri="http://h.invalid/u/me/x?q=2&appid=mine"), recorded, MATCHERS)
    assert not requests_match(_request(uri="http://h.invalid/u/me/y?q=1&appid=mine"), recorded, MATCHERS)


def test_many_placeholders_cost_no_more_than_reading_them() -> None:
    recorded = _request(body=json.dumps(["REDACTEDa"] * 2_000 + ["end"]).encode())
    assert not requests_match(_request(body=json.dumps(["aaaa"] * 2_000 + ["END"]).encode()), recorded, MATCHERS)


@settings(max_examples=40, deadline=None)
@given(value=JSON_VALUES)
def test_equal_json_is_equal_and_other_json_is_not(value: object) -> None:
    one, other = _request(body=json.dumps(value, indent=2).encode()), _request(body=json.dumps(value, sort_keys=True).encode())
    assert canonical_key(one) == canonical_key(other)
    assert canonical_key(_request(body=[value])) != canonical_key(one)
