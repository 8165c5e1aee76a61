"""Decide when to try a failed request again, and after how long."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RequestRetried:
    """A model request failed and is sent again after a wait."""

    model: str
    reason: str
    """What went wrong, in a line without credentials."""
    wait_s: float
    number: int
    """The number of this retry, counted from 1."""


on_retry: ContextVar[Callable[[RequestRetried], None] | None] = ContextVar("on_retry", default=None)
"""Receives every retry before its wait; set by what shows progress, for the work it starts."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter, below what the server asks for.

    Attributes:
        max_retries: Times a failed request is tried again.
        first_wait: Upper bound of the first wait, in seconds; it doubles with every retry.
        longest_wait: Upper bound of any wait of our own choosing, in seconds.
        patience: What the waits of one request may take together, in seconds; a server that asks for more has failed permanently.
        sleep: Waits; replaced in tests.
        now: Unix time in seconds; replaced in tests.
        chance: A number in [0, 1); replaced in tests.
    """

    max_retries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0
    patience: float = 600.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random

    def wait_before(self, retry: int, headers: Mapping[str, str], waited: float = 0.0) -> float | None:
        """Return the seconds to wait before retry number `retry` (from 1), `waited` seconds after the first waits; None for no retry.

        A server's own figure is obeyed, with up to one first wait on top: otherwise everyone it turned away would return at the same moment.
        """
        if retry > self.max_retries:
            return None
        left = self.patience - waited
        if (asked := retry_after(headers, self.now())) is None:
            return min(left, self.chance() * min(self.longest_wait, self.first_wait * 2.0 ** min(retry - 1, 60)))
        return None if asked > left else min(left, asked + self.chance() * self.first_wait)


def is_retryable(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether another attempt may succeed; a server that says so itself in `x-should-retry` is believed."""
    told = headers.get("x-should-retry")
    if told in {"true", "false"}:
        return told == "true"
    return status in {408, 409, 429} or 500 <= status < 600


def is_retryable_code(code: str) -> bool:
    """Return the same for an HTTP status that is a text in an answer."""
    return len(code) == 3 and code.isdecimal() and is_retryable(int(code), {})


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds the server asks to wait: `retry-after-ms`, or `retry-after` as seconds or as an HTTP date.

    >>> retry_after({"retry-after": "2"}, now=0.0), retry_after({"retry-after-ms": "150"}, now=0.0), retry_after({}, now=0.0)
    (2.0, 0.15, None)
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if (seconds := _number(text)) is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
