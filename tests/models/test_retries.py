from __future__ import annotations

from hypothesis import given, strategies as st

from talm_sim.models.retries import RetryPolicy, is_retryable, retry_after
from tests.tables import labelled

NOW = 1_700_000_000.0


@labelled
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text(), st.text())
def test_no_header_breaks_the_reader(value: str, milliseconds: str) -> None:
    seconds = retry_after({"retry-after": value, "retry-after-ms": milliseconds}, NOW)
    assert seconds is None or seconds >= 0


def test_waits_grow_up_to_a_bound_with_full_jitter() -> None:
    assert [RetryPolicy(chance=lambda: 1.0, max_retries=9).wait_before(retry, {}) for retry in range(1, 10)] == [
        0.5,
        1.0,
        2.0,
        4.0,
        8.0,
        16.0,
        32.0,
        60.0,
        60.0,
    ]
    assert RetryPolicy(chance=lambda: 0.0).wait_before(3, {}) == 0.0
    assert RetryPolicy(max_retries=2).wait_before(3, {}) is None


def test_a_servers_own_figure_is_kept_to_and_spread() -> None:
    policy = RetryPolicy(chance=lambda: 0.5, patience=100)
    assert policy.wait_before(1, {"retry-after": "20"}) == 20.25
    assert policy.wait_before(1, {"retry-after": "101"}) is None


@labelled
def test_what_is_tried_again(status: int, headers: dict[str, str], again: bool) -> None:
    assert is_retryable(status, headers) is again
