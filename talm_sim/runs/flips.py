"""What became of each scenario from one run to another: passed or failed in both, improved or regressed."""

from __future__ import annotations

from collections.abc import Iterable

from talm_sim.runs.differences import Paired
from talm_sim.tasks import find_task
from talm_sim.types import FrozenModel, Measure, Row

__all__ = ["Flips", "list_flips"]


class Flips(FrozenModel):
    """What became of the scenarios of one group, by whether their episodes succeeded; of several epochs, by how many did."""

    group: str
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    both_passed: tuple[str, ...]
    both_failed: tuple[str, ...]
    as_often: tuple[str, ...]
    """Some epochs succeeded, in both runs as many."""


def list_flips(paired: Paired, judged: Measure | None = None) -> Iterable[Flips]:
    """Yield what flipped: by whether episodes succeeded, or by what a measure of people says of them."""
    task = find_task(paired.first.task)

    def succeeded(row: Row) -> bool | None:
        if judged is None:
            return task.succeeded(row)
        value = row.values.get(judged.name)
        return None if value is None else bool(value)

    groups: dict[str, dict[str, list[str]]] = {}
    for pair in paired.pairs:
        shares = []
        for rows in (pair.first, pair.second):
            known = [one for row in rows if (one := succeeded(row)) is not None]
            shares.append(sum(known) / len(known) if known else None)
        before, after = shares
        if before is None or after is None:
            continue
        if before != after:
            kind = "improved" if after > before else "regressed"
        else:
            kind = {1.0: "both_passed", 0.0: "both_failed"}.get(before, "as_often")
        groups.setdefault(pair.group, {}).setdefault(kind, []).append(pair.name)
    kinds = [name for name in Flips.model_fields if name != "group"]
    for group, found in groups.items():
        yield Flips(group=group, **{kind: tuple(found.get(kind, ())) for kind in kinds})
