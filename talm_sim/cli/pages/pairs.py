"""Runs side by side: each with each as the baseline, by `compare`'s own figures, and the pairs of episodes with the first step that differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from talm_sim.cli.pages.cleaning import PageTexts
from talm_sim.cli.pages.tables import section_data
from talm_sim.cli.report.comparison import comparison_section, excerpts
from talm_sim.errors import NotComparableError, PrerequisiteError
from talm_sim.runs.compare import Comparison, compare
from talm_sim.runs.divergences import find_divergences
from talm_sim.runs.stored_run import StoredRun
from talm_sim.types import Episode
from talm_sim.types.steps import Divergence

__all__ = ["Compared", "compare_each", "compared_data"]

_MOST: Final = 4
"""Runs each of which can be the baseline; of more, only the first."""
KINDS: Final = ("improved", "regressed", "both_failed", "both_passed", "as_often")


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with its places on the page.

    Attributes:
        names: What the two sides are called, the baseline first.
        places: The runs' places among those of the page; None for a baseline's file or a group.
        found: The comparison; None if the two cannot be compared.
        reason: Why they cannot.
    """

    names: tuple[str, str]
    places: tuple[int, int] | None
    found: Comparison | None
    reason: str = ""


def compare_each(runs: Sequence[StoredRun], how: Callable[[StoredRun, StoredRun], Comparison] = compare) -> list[Compared]:
    """Compare each run with each other one; of many runs, each with the first alone."""
    found = []
    for first in range(len(runs) if len(runs) <= _MOST else 1):
        for second in range(len(runs)):
            if first == second:
                continue
            names = (runs[first].id, runs[second].id)
            try:
                found.append(Compared(names, (first, second), how(runs[first], runs[second])))
            except (NotComparableError, PrerequisiteError) as err:
                found.append(Compared(names, (first, second), None, str(err)))
    return found


def compared_data(one: Compared, runs: Sequence[StoredRun], texts: PageTexts) -> dict[str, Any]:
    """Return a comparison as data of a page."""
    data: dict[str, Any] = {"names": list(one.names), "places": one.places, "reason": one.reason}
    if one.found is None:
        return {**texts.value(data), "pairs": []}
    data |= section_data(comparison_section(one.found))
    return {**texts.value(data), "pairs": _pairs(one.found, runs[one.places[0]], runs[one.places[1]], texts) if one.places else []}


def _pairs(found: Comparison, first: StoredRun, second: StoredRun, texts: PageTexts) -> list[dict[str, Any]]:
    """Return each pair of scenarios with an outcome in both: what became of it, and where its transcripts part."""
    kinds = {name: (flips.group, kind) for flips in found.flips for kind in KINDS for name in getattr(flips, kind)}
    parted = find_divergences(first, second, kinds, found.translated)
    played = [_ids(run.episodes()) for run in (first, second)]
    pairs = []
    for name, (group, kind) in kinds.items():
        divergence = parted.get(name)
        epoch = 1 if divergence is None else divergence.epoch
        ids = [of.get((one, epoch), "") for of, one in zip(played, (name, found.translated.get(name, name)), strict=True)]
        if all(ids):
            pairs.append({"scenario": name, "group": group, "kind": kind.replace("_", " "), "episodes": ids, **_parting(divergence)})
    return [texts.value(pair) for pair in pairs]


def _ids(episodes: Any) -> Mapping[tuple[str, int], str]:
    every: Sequence[Episode] = list(episodes)
    return {(one.scenario_id, one.epoch): one.id for one in every}


def _parting(divergence: Divergence | None) -> dict[str, Any]:
    return {} if divergence is None else {"step": divergence.number, "excerpts": excerpts(divergence)}
