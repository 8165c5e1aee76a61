"""How much of each of BFCL's subsets a run covers: rows with an outcome, of all that the subset has in the version of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from talm_sim.tasks.base import RunView
from talm_sim.tasks.refusal.bfcl import SUBSETS
from talm_sim.tasks.refusal.bfcl.subsets import Version, rows_of
from talm_sim.tasks.refusal.trees import Reach
from talm_sim.types import Row, Scenario

__all__ = ["reach_of"]

_OUTCOMES = ("ast", "h_s", "relevance")
_VERSIONS: Mapping[str, Version] = {"BFCL v3": "v3", "BFCL v4": "v4"}
"""Of the data, by the source that BFCL's own rows name."""


def reach_of(rows: Sequence[Row], run: RunView) -> dict[str, Reach]:
    """Count, of each subset, the rows that were judged.

    Args:
        rows: Those of one language.
        run: What they are of; a row that it planned and that has no outcome, or not in every epoch, is not counted.
    """
    languages = {row.labels["language"] for row in rows}
    planned = [one for one in run.scenarios() if one.group in SUBSETS and one.language in languages]
    judged = Counter(row.scenario for row in rows if row.scored and any(row.values.get(name) is not None for name in _OUTCOMES))
    outcomes = Counter(one.group for one in planned if judged[one.id] >= run.job.config.epochs)
    counts = Counter(one.group for one in planned)
    version = _version(planned, counts)
    return {name: Reach(outcomes[name], max(rows_of(subset, version), counts[name])) for name, subset in SUBSETS.items()}


def _version(planned: Sequence[Scenario], counts: Mapping[str, int]) -> Version:
    """The version of the data; of a translation, which does not name it, the one whose rows of the two subsets that differ were planned."""
    named = {_VERSIONS.get(one.source.name) for one in planned}
    if len(named) == 1 and (version := named.pop()):
        return version
    irrelevance, relevance = (SUBSETS[name] for name in ("live_irrelevance", "live_relevance"))
    if counts[relevance.name] == rows_of(relevance, "v3"):
        return "v3"
    return "v3" if counts[irrelevance.name] == rows_of(irrelevance, "v3") and not counts[relevance.name] else "v4"
