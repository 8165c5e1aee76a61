"""What a generation made, what it gave up, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from talm_sim.scenarios.making.outcome import DroppedSource, count_sources
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.when2call.making.pipeline import ItemOutcome
from talm_sim.tasks.when2call.making.sources import SourceQuestion
from talm_sim.types import Behaviour

__all__ = ["make_report"]

_GOLDS = (Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)


def make_report(
    sources: Sequence[SourceQuestion], dropped: Sequence[DroppedSource], outcomes: Mapping[str, ItemOutcome], begun: FixedSettings, writer: str
) -> dict[str, Any]:
    """Count what became of `sources`.

    Args:
        sources: The source questions asked for.
        dropped: What gave no source question.
        outcomes: What was finished, by source id, or failed.
        begun: Settings, command and version of the rules.
        writer: Name of the writer, as in the rows.
    """
    done, counts = count_sources(sources, outcomes)
    rows = [row for outcome in done for row in outcome.rows]
    rejected = [one for outcome in done for one in outcome.rejected]
    return {
        "sources": {
            **counts,
            "dropped": _count_values(outcome.dropped for outcome in done if outcome.dropped),
            "not_derived": [{"id": one.id, "reason": one.reason} for one in dropped],
        },
        "items": {
            gold.value: {
                "made": len({row["source_id"] for row in rows if row["correct_answer"] == gold.value}),
                "rejected": sum(gold.value in outcome.given_up for outcome in done),
                "not_tried": _count_values(outcome.not_tried[gold.value] for outcome in done if gold.value in outcome.not_tried),
            }
            for gold in _GOLDS
        },
        "rows": {
            "total": len(rows),
            "correct_answer": _count_values(row["correct_answer"] for row in rows),
            "tools_shown": _count_values(_tool_count_label(row) for row in rows),
            "tool_use": _count_values(row["tool_use"] for row in rows),
        },
        "judged": {name: sum(outcome.judged.get(name, 0) for outcome in done) for name in ("read", "unreadable")},
        "rejected_texts": {
            "total": len({(one["source"], one["item"], one["text_of"], one["attempt"]) for one in rejected}),
            "why": [
                {"item": item, "text_of": text_of, "check": check, "count": count}
                for (item, text_of, check), count in sorted(
                    Counter((one["item"], one["text_of"], one["check"]) for one in rejected).items(), key=lambda entry: (-entry[1], entry[0])
                )
            ],
        },
        "licence": _licence(sources),
        "provenance": {"writer": writer, "command": begun.command, "rules": begun.rules, **begun.settings},
    }


def _tool_count_label(row: Mapping[str, Any]) -> str:
    return "2+" if len(row["tools"]) > 1 else str(len(row["tools"]))


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _licence(sources: Sequence[SourceQuestion]) -> str:
    names = sorted({source.licence or "none stated" for source in sources})
    return f"{', '.join(names)} (source questions); what a model wrote is subject to that model's terms"
