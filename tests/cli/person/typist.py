"""A person at a terminal, for whoever asks one."""

from __future__ import annotations

import asyncio

KEPT = "<kept>"


class Typist:
    """A person who types these lines, and then leaves, or `stays` and sits still; `KEPT` takes what the line begins with."""

    def __init__(self, *typed: str, interactive: bool = True, edited: bool = True, stays: bool = False) -> None:
        self.interactive = interactive
        self.edited = edited
        self.prompts: list[tuple[str, str]] = []
        self.keys: list[str] = []
        self.dropped = 0
        self._typed = list(typed)
        self._stays = stays

    async def read(self, prompt: str, *, remember: bool = True, keys: str = "", begun: str = "") -> str | None:
        self.prompts.append((prompt, begun))
        self.keys.append(keys)
        if self._stays and not self._typed:
            await asyncio.get_running_loop().create_future()
        line = self._typed.pop(0) if self._typed else None
        return begun if line == KEPT else line

    def clear(self) -> None:
        """Nothing was typed before."""

    async def drop(self) -> str:
        self.dropped += 1
        return ""

    def close(self) -> None:
        """Hold nothing."""
