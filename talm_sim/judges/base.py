"""What every judge offers, and where the recording of a vote is put in place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from talm_sim.types import Episode, Scenario, Verdict

__all__ = ["Judge", "OpenVote", "no_recording"]

OpenVote = Callable[[str, Episode, int], AbstractContextManager[object]]
"""Enters the setting of one vote: (judge config digest, episode, vote counted from 1). A run puts the vote's recording in place here."""


class Judge(Protocol):
    """Says of one episode what it was worth."""

    name: str
    config_digest: str
    """Digest of all that decides the verdicts: equal digests, comparable verdicts."""

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode.

        Raises:
            ProviderError: The judge's model failed for good.
            CassetteMissError: A replay met an unrecorded vote.
        """
        ...


def no_recording(config_digest: str, episode: Episode, vote: int) -> AbstractContextManager[object]:
    """The setting of a vote that is asked live and not recorded."""
    return nullcontext()
