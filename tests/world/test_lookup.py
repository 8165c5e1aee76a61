from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.world.lookup import fold, not_found


@pytest.mark.parametrize(
    ("one", "other"), [("São Paulo", "sao  paulo"), ("Reykjavík ", "REYKJAVIK"), ("Straße", "STRASSE"), ("Zu\u0308rich", "Zürich")]
)
def test_spellings_of_one_name_fold_to_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_the_nearest_known_value_is_suggested_and_none_where_none_is_near() -> None:
    assert not_found("country", "Kenia", ["Kenya", "China"]).detail == "No country 'Kenia'. Did you mean 'Kenya'?"
    far = not_found("country", "zzz", ["Kenya", "China"], hint="Give its English name.")
    assert (far.status_code, far.detail) == (404, "No country 'zzz'. Give its English name.")
