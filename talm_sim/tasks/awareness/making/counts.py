"""Count what a manipulation of scenarios made, rejected and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from talm_sim.scenarios.making.outcome import DroppedSource, count_sources
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.awareness.making.manipulation import ManipulationOutcome, Original
from talm_sim.tasks.awareness.making.options import GROUPS

__all__ = ["count_manipulated"]


def count_manipulated(
    sources: Sequence[Original],
    dropped: Sequence[DroppedSource],
    outcomes: Mapping[str, ManipulationOutcome],
    begun: FixedSettings,
    writer: str,
) -> dict[str, Any]:
    """Count the outcomes of `sources`.

    Args:
        sources: The complete scenarios asked for.
        dropped: Parts of the source that could not be used.
        outcomes: What was finished, by scenario id, or failed.
        begun: Settings, command and version of the rules.
        writer: Who removed words.
    """
    done, counts = count_sources(sources, outcomes)
    rows = [row for outcome in done for row in outcome.rows]
    rejected = [one for outcome in done for one in outcome.rejected]
    return {
        "sources": {
            **counts,
            "not_usable": [{"where": one.id, "reason": one.reason} for one in dropped],
        },
        "manipulations": {group: _of_group(group, done, rows) for group in str(begun.settings["manipulation"]).split(",") if group in GROUPS},
        "rejected": _count_by_check((group, check) for _, group, check in {(one["source"], one["group"], one["check"]) for one in rejected}),
        "to_read": _count_by_check((group, check) for outcome in done for group, checks in outcome.to_read.items() for check in checks),
        "for_a_person": [
            {"id": f"{outcome.source}.{group}", "words": "; ".join(f"{check}: {words}" for check, words in checks.items())}
            for outcome in done
            for group, checks in outcome.to_read.items()
        ],
        "rows": {"total": len(rows), **_count_values(row["group"] for row in rows)},
        "licence": ", ".join(sorted({row.get("source", {}).get("licence") or "none stated" for row in rows})),
        "provenance": {"writer": writer, "command": begun.command, "rules": begun.rules, **begun.settings},
    }


def _of_group(group: str, done: Sequence[ManipulationOutcome], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kept = sum(row["group"] == group for row in rows)
    rejected = sum(group in outcome.given_up for outcome in done)
    skipped = _count_values(outcome.skipped[group] for outcome in done if group in outcome.skipped)
    return {
        "made": kept + rejected,
        "rejected": rejected,
        "kept": kept,
        "to_read": sum(group in one.to_read for one in done),
        "skipped": skipped,
    }


def _count_by_check(found: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    counted = sorted(Counter(found).items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"group": group, "check": check, "count": count} for (group, check), count in counted]


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda entry: (-entry[1], entry[0])))
