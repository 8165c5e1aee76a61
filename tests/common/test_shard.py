from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.digests import digest, digest_each
from talm_sim.common.shard import Shard, part_of, read_shard


@given(st.integers(1, 99_999).flatmap(lambda of: st.tuples(st.integers(1, of), st.just(of))))
def test_a_shard_is_read_as_it_is_written(numbers: tuple[int, int]) -> None:
    assert read_shard(str(Shard(*numbers))) == numbers


@pytest.mark.parametrize(
    "text", ["", "3", "/", "1/", "/2", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "1 of 4", "²/4", "1/100000", "1.0/4", "1/4\n1"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="I/N"):
        read_shard(text)


@given(st.text(), st.integers(1, 50))
def test_a_name_falls_into_one_part(name: str, parts: int) -> None:
    assert 1 <= part_of(name, parts) <= parts
    assert part_of(name, parts) == part_of(name, parts)


def test_parts_are_about_equal() -> None:
    sizes = [sum(part_of(f"scenario-{number}", 8) == part for number in range(8000)) for part in range(1, 9)]
    assert all(900 < size < 1100 for size in sizes), sizes


def test_where_names_fall_stays_as_it_is() -> None:
    """Shards of one run may be made by two versions a year apart, and a set that grows keeps its shards."""
    assert [part_of(name, 16) for name in ("art-01", "weather-08", "a", "")] == [10, 11, 14, 2]


@given(st.lists(st.one_of(st.none(), st.integers(), st.text(), st.dictionaries(st.text(), st.floats(allow_nan=False)))), st.integers(1, 64))
def test_a_list_has_the_digest_of_its_items_in_turn(values: list[object], length: int) -> None:
    assert digest_each(iter(values), length) == digest(values, length)
