"""Counts of a run's episodes and requests so far, taken from its events; every display uses the same words."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from talm_sim.cli.terminal.text import one_line
from talm_sim.runs.events import EpisodeFinished, EpisodeStarted, EpisodeWaiting, RequestRetried, RunEvent, RunStarted


class Tally:
    """Counts of one run; they are reset when another run starts."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.failed = self.retried = self._read = self._written = 0
        self._ended: Counter[str] = Counter()
        self._waiting: set[str] = set()
        self._running: set[str] = set()
        self._retries: tuple[tuple[float, str], ...] = ()

    def __call__(self, event: RunEvent) -> None:
        """Count an event."""
        match event:
            case RunStarted():
                self._reset()
            case EpisodeStarted():
                self._waiting.discard(event.episode_id)
                self._running.add(event.episode_id)
            case EpisodeWaiting():
                self._running.discard(event.episode_id)
                self._waiting.add(event.episode_id)
            case EpisodeFinished():
                self._running.discard(event.episode_id)
                self.failed += event.termination.failed
                self._ended[event.termination.value] += not event.termination.failed
                self._read += event.input_tokens
                self._written += event.output_tokens
            case RequestRetried():
                self.retried += 1
                now = time.monotonic()
                kept = tuple(one for one in self._retries if one[0] > now)
                self._retries = (*kept, (now + event.wait_s, one_line(event.reason.partition(":")[0], 40)))

    def episodes(self) -> str:
        """Return the number of episodes by outcome."""
        parts = [f"{name} {number:,}" for name, number in self._ended.most_common() if number]
        counts = {"failed": self.failed, "waiting for an answer": len(self._waiting), "running": len(self._running)}
        return " · ".join([*parts, *(f"{name} {number:,}" for name, number in counts.items() if number)])

    def requests(self) -> str:
        """Return tokens, retries, and what is being waited for at this moment; safe to call from another thread."""
        return " · ".join(self._requests())

    def _requests(self) -> Iterator[str]:
        if self._read or self._written:
            yield f"tokens {_format_count(self._read)} in, {_format_count(self._written)} out"
        if self.retried:
            yield f"retried {self.retried:,}"
        now = time.monotonic()
        if waits := [one for one in self._retries if one[0] > now]:
            until, reason = min(waits)
            yield f"{len(waits):,} retrying: {reason}, {max(1, round(until - now))} s"


def _format_count(number: int) -> str:
    """Return a count in few characters.

    >>> _format_count(999), _format_count(12_345), _format_count(3_210_000)
    ('999', '12.3k', '3.2M')
    """
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"
