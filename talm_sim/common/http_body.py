"""Read the body of an HTTP answer within a limit: a compressed or endless one must not fill the memory."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable

ACCEPTED_ENCODINGS = "gzip, deflate"
_EITHER = 32 + zlib.MAX_WBITS
"""Setting of zlib by which the header distinguishes gzip from deflate."""
_GZIP = b"\x1f\x8b"
_MOST_MEMBERS = 100
"""Files that one gzip may be made of; each costs time, and may be empty."""
_YIELD_EVERY = 64
"""Pieces of one answer after which others on the loop get their turn: a server may send it byte by byte."""


class AnswerTooLarge(Exception):
    """An answer is longer than may be read."""


async def read_body(pieces: AsyncIterable[bytes], encoding: str, most: int) -> AsyncGenerator[bytes]:
    """Yield the pieces of a body, decompressed; see `Unpacker`."""
    unpacker, count = Unpacker(encoding, most), 0
    async for piece in pieces:
        yield unpacker.feed(piece)
        count += 1
        if count % _YIELD_EVERY == 0:
            await asyncio.sleep(0)
    unpacker.finish()


class Unpacker:
    """Decompresses the body of an answer piece by piece, up to a limit.

    Args:
        encoding: The answer's `Content-Encoding`; what is neither gzip nor deflate is left as it is.
        most: Bytes, as sent and as unpacked.
    """

    def __init__(self, encoding: str, most: int) -> None:
        self._encoding = encoding.strip().lower()
        packed = self._encoding in {"gzip", "x-gzip", "deflate"}
        self._unpack = zlib.decompressobj(_EITHER) if packed else None
        self._most = most
        self._members = 1
        self._read = 0
        self._given = 0

    def feed(self, data: bytes) -> bytes:
        """Return the decompressed next piece.

        Raises:
            AnswerTooLarge: It is more than may be read.
            zlib.error: It is damaged.
        """
        self._read += len(data)
        if self._unpack is not None:
            data = self._decompress(data)
        self._given += len(data)
        if max(self._read, self._given) > self._most:
            raise AnswerTooLarge
        return data

    def finish(self) -> None:
        """Check that nothing is missing at the end.

        Raises:
            zlib.error: It breaks off.
        """
        if self._unpack is not None and self._read and not self._unpack.eof:
            raise zlib.error("breaks off")

    def _decompress(self, data: bytes) -> bytes:
        assert self._unpack is not None
        most = self._most - self._given + 1
        try:
            found = self._unpack.decompress(data, most)
        except zlib.error:
            if self._encoding != "deflate" or self._read != len(data):
                raise
            # Some servers send deflate without the header that it should have.
            self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
            found = self._unpack.decompress(data, most)
        while self._unpack.eof and len(found) < most and (rest := self._unpack.unused_data.lstrip(b"\0")).startswith(_GZIP):
            self._members += 1
            if self._members > _MOST_MEMBERS:
                raise zlib.error("is made of too many")
            self._unpack = zlib.decompressobj(_EITHER)
            found += self._unpack.decompress(rest, most - len(found))
        return found
