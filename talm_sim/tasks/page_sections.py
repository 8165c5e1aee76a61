"""Parts of an episode's page that several tasks show, and what a task keeps of an episode in `Episode.details`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from pydantic import ValidationError

from talm_sim.errors import PrerequisiteError
from talm_sim.types import Episode, Line, Missing, Section
from talm_sim.types.base import FrozenModel


class EpisodeDetails(FrozenModel):
    """The base of the models in `Episode.details`; all fields have defaults, as an episode may have no details."""

    @classmethod
    def of(cls, episode: Episode) -> Self:
        """Read an episode."""
        try:
            return cls.model_validate(episode.details)
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(map(str, ("details", *first["loc"])))
            raise PrerequisiteError(f"episode '{episode.id}' is damaged: {where}: {first['msg']}; restore the run from a copy.") from None


def missing_section(*missing: Missing, more: Callable[[Missing], str] = lambda _: "") -> Section:
    """Return what was taken away, a line for each blocker, and a faint line below it with what `more` says of it."""
    lines: list[tuple[Line, ...]] = []
    for one in missing:
        removed = f" (removed: “{shorten(one.removed_text)}”)" if one.removed_text else ""
        lines.append((Line(text=f"{one.kind.value} {one.name}{removed}"),))
        lines += [(Line(text=said, style="faint"),)] if (said := more(one)) else []
    return Section(title="Missing", lines=tuple(lines))


def shorten(text: str, width: int = 200) -> str:
    """Return the text on one line of at most `width` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
