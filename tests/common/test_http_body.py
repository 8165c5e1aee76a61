"""The reader of bodies: whatever the pieces, what is unpacked is what was packed, and never more than the limit."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, strategies as st

from talm_sim.common.http_body import AnswerTooLarge, Unpacker

MOST = 1_000_000


@given(data=st.binary(max_size=3_000), cuts=st.lists(st.integers(1, 64), min_size=1, max_size=8), kind=st.sampled_from(["", "gzip", "deflate"]))
def test_pieces_of_any_size_unpack_to_what_was_packed(data: bytes, cuts: list[int], kind: str) -> None:
    packed = {"": data, "gzip": gzip.compress(data), "deflate": zlib.compress(data)}[kind]
    unpacker, found, at, turn = Unpacker(kind, MOST), b"", 0, 0
    while at < len(packed):
        step = cuts[turn % len(cuts)]
        found, at, turn = found + unpacker.feed(packed[at : at + step]), at + step, turn + 1
    assert found == data


@given(size=st.integers(1, 4_000), most=st.integers(1, 4_000))
def test_what_is_given_is_never_more_than_the_limit(size: int, most: int) -> None:
    packed = gzip.compress(bytes(size))
    try:
        assert len(Unpacker("gzip", most).feed(packed)) == size <= most and len(packed) <= most
    except AnswerTooLarge:
        assert max(size, len(packed)) > most


def test_members_of_one_gzip_follow_each_other_and_what_is_behind_them_is_left() -> None:
    packed = gzip.compress(b"{") + gzip.compress(b"}") + b"\0\0rest"
    for step in (1, 3, len(packed)):
        unpacker = Unpacker("gzip", MOST)
        assert b"".join(unpacker.feed(packed[at : at + step]) for at in range(0, len(packed), step)) == b"{}"
        unpacker.finish()
    unpacker = Unpacker("gzip", MOST)
    unpacker.feed(packed[:30])
    with pytest.raises(zlib.error, match="breaks off"):
        unpacker.finish()
