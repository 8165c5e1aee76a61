"""Draw the episodes that people judge: once by seed, at random within each verdict of the run's judge, and kept with the run."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import Field, model_validator

from talm_sim.common.digests import digest
from talm_sim.store.files import stored_documents
from talm_sim.store.people.labelled_rate import Member
from talm_sim.types import FrozenModel

KEY = "people"
"""Key of the small fact about a run that has its samples, by the question's key."""
LEAST = 20
"""Of each stratum, so many are drawn before any other has more, or all of it."""
_Size = Annotated[int, Field(ge=1)]


class Sample(FrozenModel):
    """The episodes of a run that people judge, of one question."""

    seed: int
    sizes: dict[str, _Size]
    """How many episodes each stratum has; a stratum is what the run's judge said when the sample was drawn: passed, failed or undecided."""
    episodes: dict[str, str]
    """Id of each episode that was drawn, to its stratum."""
    left: dict[str, str] = Field(default_factory=dict)
    """Id of each other episode that could have been drawn, to its stratum; earlier versions did not keep them."""

    @model_validator(mode="after")
    def _holds_its_strata(self) -> Sample:
        drawn = Counter(self.known.values())
        if any(number > self.sizes.get(stratum, 0) for stratum, number in drawn.items()):
            raise ValueError("more episodes were drawn from a stratum than it has")
        return self

    @property
    def whole(self) -> bool:
        """Whether it is all that could be drawn."""
        return len(self.episodes) == sum(self.sizes.values())

    @property
    def known(self) -> dict[str, str]:
        """Id of each episode of the pool to its stratum; of a sample of an earlier version, of those drawn."""
        return {**self.episodes, **self.left}

    @property
    def is_known(self) -> bool:
        """Whether all of the pool is known."""
        return len(self.known) == sum(self.sizes.values())

    def strata(self) -> dict[str, dict[str, float]]:
        """Return how many episodes each stratum has, how many were drawn, and the chance that each of it had to be drawn."""
        drawn = Counter(self.episodes.values())
        return {one: {"of": size, "drawn": drawn[one], "chance": drawn[one] / size} for one, size in self.sizes.items()}

    def members(self, bases: Mapping[str, str], values: Mapping[str, bool]) -> list[Member]:
        """Return those of the pool that have a base, with the labels that were given."""
        known = self.known
        number = Counter(known.values())
        weight = {stratum: self.sizes[stratum] / number[stratum] for stratum in number}
        return [Member(bases[one], of, weight[of], values.get(one)) for one, of in known.items() if one in bases]


def kept_samples(conn: sqlite3.Connection) -> dict[str, Sample]:
    """Return the samples of a run, by the question's key."""
    return stored_documents.meta(conn, KEY, dict[str, Sample]) or {}


def draw(pool: Mapping[str, str], seed: int, size: int | None, kept: Collection[str] = ()) -> Sample:
    """Draw episodes at random: as many from each stratum as from any other until each has `LEAST` or all it has, then in proportion.

    A larger sample of the same pool, seed and `kept` holds every smaller one.
    """
    strata: dict[str, list[str]] = {}
    for episode in sorted(pool, key=lambda one: digest([seed, one], 32)):
        strata.setdefault(pool[episode], []).append(episode)
    sizes = {stratum: len(of) for stratum, of in sorted(strata.items())}
    found = [episode for episode in kept if episode in pool]
    taken = Counter(pool[episode] for episode in found)
    gone = {*found}
    left = {stratum: [episode for episode in reversed(of) if episode not in gone] for stratum, of in strata.items()}

    def turn(stratum: str) -> tuple[bool, float, str]:
        number = taken[stratum]
        return number >= LEAST, number if number < LEAST else number / sizes[stratum], digest([seed, stratum], 32)

    while len(found) < (len(pool) if size is None else min(size, len(pool))):
        stratum = min((one for one, of in left.items() if of), key=turn)
        found.append(left[stratum].pop())
        taken[stratum] += 1
    others = {episode: stratum for stratum, of in left.items() for episode in reversed(of)}
    return Sample(seed=seed, sizes=sizes, episodes={episode: pool[episode] for episode in found}, left=others)
