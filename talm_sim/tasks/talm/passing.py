"""Decide which judge's verdict counts as passing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from talm_sim.types import Verdict

__all__ = ["PassVerdicts", "VerdictTable"]

_RAW_JUDGES = ("llm", "reference", "published")
"""Judges of an answer by itself; the first that decided anything in a group counts. `published`: the grade that came with imported outputs."""
_PREFERENCES = ("preference", "published-preference")


@dataclass(frozen=True, slots=True)
class PassVerdicts:
    """Verdicts on passing, for the episodes of one group."""

    judge: str | None
    values: Mapping[str, bool]
    """Episode id to whether it passed; episodes left open by the judge are not in it."""
    reason: str = ""
    """Why there is no judge, if there is none."""
    raw_judge: str | None = None
    """The judge of the answers by themselves, if a comparison decides."""
    raw: Mapping[str, bool] | None = None


class VerdictTable:
    """Verdicts by judge and episode."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._values: dict[str, dict[str, Verdict]] = {}
        for verdict in verdicts:
            self._values.setdefault(verdict.judge, {})[verdict.episode_id] = verdict

    def passes(self, group: str, ids: Sequence[str]) -> PassVerdicts:
        """Choose the judge for the completed episodes `ids` of a group, and return what it said of them."""
        raw_judge = self._first_judge(_RAW_JUDGES, ids)
        judge = self._first_judge(_PREFERENCES, ids) if group == "no-tools" else None
        judge = judge or raw_judge
        if judge is None:
            return PassVerdicts(None, {}, reason=self._reason(ids))
        values = self._decided_values(judge, ids)
        if judge == raw_judge or raw_judge is None:
            return PassVerdicts(judge, values)
        return PassVerdicts(judge, values, raw_judge=raw_judge, raw=self._decided_values(raw_judge, ids))

    def _decided_values(self, judge: str, ids: Iterable[str]) -> dict[str, bool]:
        said = self._values.get(judge, {})
        return {one: verdict.value for one in ids if (verdict := said.get(one)) is not None and verdict.value is not None}

    def _first_judge(self, judges: Iterable[str], ids: Sequence[str]) -> str | None:
        return next((judge for judge in judges if self._decided_values(judge, ids)), None)

    def _reason(self, ids: Iterable[str]) -> str:
        """Return the first explanation of a judge that decided nothing."""
        wanted = set(ids)
        for judge in sorted({*_RAW_JUDGES, *_PREFERENCES} & set(self._values)):
            for one, verdict in self._values[judge].items():
                if one in wanted:
                    return f"{judge}: {verdict.explanation or 'no decision'}"
        return "no judge has run" if wanted else "no completed episode"
