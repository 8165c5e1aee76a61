"""The card next to a file of training rows: where they come from, what is in them, what was left out, and how they were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.tasks.training.examples import Example, TrainingSet
from talm_sim.types import JsonObject

__all__ = ["RowSource", "make_card"]

_LONGEST_LIST = 20
"""Ids that are listed per reason."""


@dataclass(frozen=True, slots=True)
class RowSource:
    """Something that rows were made from.

    Attributes:
        kind: `scenarios`, `run` or `own rows`.
        name: The file or run as the user named it.
        sha256: Digest of the file; of a run, of its scenarios.
        given: How many scenarios, episodes or rows it has.
        more: What else is known of it: the model of a run.
    """

    kind: str
    name: str
    sha256: str
    given: int
    more: JsonObject


def make_card(made: TrainingSet, written: Sequence[Example], sources: Sequence[RowSource], **settings: Any) -> JsonObject:
    """Return the card.

    Args:
        made: The set, with what was left out.
        written: The examples of the rows that were written.
        sources: What they were made from.
        settings: What else decided the rows: command, seed, balance, template.
    """
    kept = TrainingSet(made.kind, [*written])
    by_source = Counter(one.source for one in written)
    by_class = Counter((one.source, one.action) for one in written)
    origins = Counter((one.source, one.scenario.source.licence, one.scenario.source.url) for one in written)
    return {
        "made_by": "talm-sim",
        "kind": made.kind,
        **settings,
        "rows": len(written),
        "counts": kept.counts(),
        "shares": [
            {
                "source": name,
                "rows": number,
                "share": round(number / len(written), 4),
                "classes": {action: count for (source, action), count in sorted(by_class.items()) if source == name},
            }
            for name, number in by_source.items()
        ],
        "licences": [
            {"source": name, "licence": licence or "not stated", "url": url, "rows": number} for (name, licence, url), number in origins.items()
        ],
        "sources": [{"kind": one.kind, "name": one.name, "sha256": one.sha256, "given": one.given, **one.more} for one in sources],
        "left_out": [{"why": why, "number": len(ids), "ids": ids[:_LONGEST_LIST]} for why, ids in made.left_out.items()],
    }
