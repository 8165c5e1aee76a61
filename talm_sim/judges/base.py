"""What every judge offers, what it may be given, and the digest that tells judges apart."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from talm_sim.digests import digest
from talm_sim.judges.pairing import PerfectPairs
from talm_sim.types import Episode, Scenario, Verdict

if TYPE_CHECKING:
    from talm_sim.judges.prompts import JudgePrompts
    from talm_sim.models.base import Model

__all__ = ["Judge", "JudgeContext", "OpenVote", "judge_digest", "no_recording"]

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


def _nothing_known(episode_id: str) -> bool | None:
    return None


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """What a judge may need; each takes its part."""

    prompts: JudgePrompts
    model: Model | None = None
    """The grader; None where the user named none."""
    open_vote: OpenVote = no_recording
    pairs: PerfectPairs[Episode] = field(default_factory=PerfectPairs)
    """The `perfect` episodes which no-tools answers are compared with."""
    passed: Callable[[str], bool | None] = _nothing_known
    """Whether an episode, named by its id, passes by itself; None where no judge has said so yet."""


def judge_digest(name: str, rules: int, model: str = "", instructions: str = "") -> str:
    """Digest of a judge's configuration.

    Args:
        name: The judge.
        rules: Version of its fixed rules, raised whenever a change of code may change a verdict.
        model: Name of its model.
        instructions: What the model is told.
    """
    return digest({"judge": name, "rules": rules, "model": model, "instructions": instructions})
