"""Limit how much of an MCP server's answers is read: the client itself has no limit."""

from __future__ import annotations

from typing import Final

__all__ = ["TOO_LARGE", "Counts", "is_too_large"]

TOO_LARGE: Final = "talm-sim: answer too large"
_OF_THE_CLIENT: Final = "Server-sent event exceeded the "
_BRACKETS: Final = 100_000
_COMMAS: Final = 1_000_000


def is_too_large(message: str) -> bool:
    """Return whether the client's error says that an answer was too large."""
    return TOO_LARGE in message or _OF_THE_CLIENT in message


class Counts:
    """Counts the lists, objects and values of JSON: the client needs a hundred times more memory for each than the text does."""

    def __init__(self) -> None:
        self._brackets = self._commas = 0

    def exceed(self, piece: bytes) -> bool:
        """Count those of the next piece; return whether there are more than may be read."""
        self._brackets += piece.count(b"[") + piece.count(b"{")
        self._commas += piece.count(b",")
        return self._brackets > _BRACKETS or self._commas > _COMMAS
