"""Draw the episodes that people judge: once by seed, as many of each group and outcome as of any other, and kept with the run."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated

from pydantic import Field, model_validator

from talm_sim.common.digests import digest
from talm_sim.store.files import stored_documents
from talm_sim.types import FrozenModel

KEY = "people"
"""Key of the small fact about a run that has its samples, by the question's key."""
_Size = Annotated[int, Field(ge=1)]


class Sample(FrozenModel):
    """The episodes of a run that people judge, of one question."""

    seed: int
    sizes: dict[str, _Size]
    """How many episodes each stratum has; a stratum is a group with an outcome."""
    episodes: dict[str, str]
    """Id of each episode that was drawn, to its stratum."""

    @model_validator(mode="after")
    def _holds_its_strata(self) -> Sample:
        drawn = Counter(self.episodes.values())
        if any(number > self.sizes.get(stratum, 0) for stratum, number in drawn.items()):
            raise ValueError("more episodes were drawn from a stratum than it has")
        return self

    @property
    def whole(self) -> bool:
        """Whether it is all that could be drawn."""
        return len(self.episodes) == sum(self.sizes.values())


def kept_samples(conn: sqlite3.Connection) -> dict[str, Sample]:
    """Return the samples of a run, by the question's key."""
    return stored_documents.meta(conn, KEY, dict[str, Sample]) or {}


def draw(pool: Mapping[str, str], seed: int, size: int | None, kept: Collection[str] = ()) -> Sample:
    """Draw episodes, as many from each stratum as from any other as long as it has some.

    A larger sample of the same pool, seed and `kept` holds every smaller one.
    """
    strata: dict[str, list[str]] = {}
    for episode in sorted(pool, key=lambda one: digest([seed, one], 32)):
        strata.setdefault(pool[episode], []).append(episode)
    sizes = {stratum: len(of) for stratum, of in sorted(strata.items())}
    found = [episode for episode in kept if episode in pool]
    taken = Counter(pool[episode] for episode in found)
    left = {stratum: [episode for episode in reversed(of) if episode not in set(found)] for stratum, of in strata.items()}
    while len(found) < (len(pool) if size is None else min(size, len(pool))):
        stratum = min((one for one, of in left.items() if of), key=lambda one: (taken[one], digest([seed, one], 32)))
        found.append(left[stratum].pop())
        taken[stratum] += 1
    return Sample(seed=seed, sizes=sizes, episodes={episode: pool[episode] for episode in found})


def weights(sample: Sample, judged: Iterable[str]) -> dict[str, float]:
    """Return how many episodes of the run each judged one stands for: those of its stratum, divided by how many of them were judged."""
    of = {episode: sample.episodes[episode] for episode in judged}
    number = Counter(of.values())
    return {episode: sample.sizes[stratum] / number[stratum] for episode, stratum in of.items()}
