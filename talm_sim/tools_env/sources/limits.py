"""How much of a tool's answer is read: a compressed or endless one must not fill the memory."""

from __future__ import annotations

import zlib

__all__ = ["ACCEPTED_ENCODINGS", "MOST_BYTES", "AnswerTooLarge", "Unpacker"]

MOST_BYTES = 4_000_000
"""Of an answer, as it is sent and as it is unpacked."""
ACCEPTED_ENCODINGS = "gzip, deflate"
_EITHER = 32 + zlib.MAX_WBITS
"""The header tells gzip from deflate."""


class AnswerTooLarge(Exception):
    """An answer is longer than `MOST_BYTES`."""


class Unpacker:
    """Unpacks the body of an answer piece by piece, up to a limit.

    Args:
        encoding: The answer's `Content-Encoding`; what is neither gzip nor deflate is left as it is.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        packed = self._encoding in {"gzip", "x-gzip", "deflate"}
        self._unpack = zlib.decompressobj(_EITHER) if packed else None
        self._read = 0
        self._given = 0

    def feed(self, data: bytes) -> bytes:
        """Return what the next piece unpacks to.

        Raises:
            AnswerTooLarge: It is more than may be read.
            zlib.error: It is damaged.
        """
        self._read += len(data)
        if self._unpack is not None:
            data = self._unpacked(data)
        self._given += len(data)
        if max(self._read, self._given) > MOST_BYTES:
            raise AnswerTooLarge
        return data

    def _unpacked(self, data: bytes) -> bytes:
        assert self._unpack is not None
        most = MOST_BYTES - self._given + 1
        try:
            return self._unpack.decompress(data, most)
        except zlib.error:
            if self._encoding != "deflate" or self._read != len(data):
                raise
            # Some servers send deflate without the header that it should have.
            self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._unpack.decompress(data, most)
