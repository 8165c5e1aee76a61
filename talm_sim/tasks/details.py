"""What a task keeps of an episode in `Episode.details`, as a model of its own."""

from __future__ import annotations

from typing import Self

from pydantic import ValidationError

from talm_sim.errors import PrerequisiteError
from talm_sim.types import Episode
from talm_sim.types.base import FrozenModel

__all__ = ["EpisodeDetails"]


class EpisodeDetails(FrozenModel):
    """The base of such models; all fields have defaults, as an episode may have no details."""

    @classmethod
    def of(cls, episode: Episode) -> Self:
        """Read an episode.

        Raises:
            PrerequisiteError: Its details are something else.
        """
        try:
            return cls.model_validate(episode.details)
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(map(str, ("details", *first["loc"])))
            raise PrerequisiteError(f"episode '{episode.id}' is damaged: {where}: {first['msg']}; restore the run from a copy.") from None
