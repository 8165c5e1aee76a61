"""What it was worth: verdicts, and the rates over them."""

from __future__ import annotations

from pydantic import Field

from talm_sim.types.base import FrozenModel

__all__ = ["UNPARSED", "Rate", "Verdict"]

_LATEST = 253_402_300_799
"""The last second of the year 9999."""
UNPARSED = "unparsed"
"""Label of an answer that fits no class: it counts as wrong, and belongs to no class."""


class Verdict(FrozenModel):
    """What one judge says of one episode."""

    episode_id: str
    judge: str
    judge_config_digest: str = ""
    value: bool | None
    """None: the judge does not apply to this episode, or could not decide (see `explanation`)."""
    label: str = ""
    """The class that a classifying judge gave the answer: a `Behaviour`, or `unparsed`; empty for judges that do not classify."""
    labels: dict[str, str] = Field(default_factory=dict, exclude_if=lambda labels: not labels)
    """Of a judge that labels several things in an episode: each one's label. `fault` labels each perturbation, by its name."""
    flags: dict[str, bool] = Field(default_factory=dict, exclude_if=lambda flags: not flags)
    """What such a judge notes of the whole episode besides its labels."""
    votes: tuple[bool, ...] = ()
    explanation: str = ""
    basis: str = ""
    """For a judge that depends on other episodes or judges, a digest of those; if it has changed, the judge is asked again."""
    given_at: float | None = Field(None, ge=0, le=_LATEST, exclude_if=lambda given_at: given_at is None)
    """When a person gave it, in seconds since 1970; None for a program's."""


class Rate(FrozenModel):
    """A share with its Wilson 95 % interval; `value`, `low` and `high` are None for n = 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None
