"""Sides of a comparison made by hand: rows, and the columns that a run of them would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.comparison.compared_rows import Column, Side
from talm_sim.types import Measure, Row

PASS = Measure(name="pass_rate", head="PR", better="higher")


def one_row(scenario: str, value: Any = True, *, epoch: int = 1, group: str = "perfect", base: str = "", **more: Any) -> Row:
    values = {"pass_rate": value} if not isinstance(value, Mapping) else dict(value)
    name = f"{scenario}.{group}" + (f"@{epoch}" if epoch > 1 else "")
    return Row(**{"episode": name, "scenario": scenario, "base": base or scenario, "group": group, "epoch": epoch, "values": values, **more})


def rows_of(*values: Any, group: str = "perfect", start: int = 0, base: str = "") -> list[Row]:
    """One row per value; of a list, one per epoch."""
    return [
        one_row(f"{group}-{number}", value, epoch=epoch, group=group, base=base and f"{base}-{number}")
        for number, given in enumerate(values, start)
        for epoch, value in enumerate(given if isinstance(given, list) else [given], 1)
    ]


def made_side(rows: Sequence[Row], name: str = "a", *, measures: Sequence[Measure] = (PASS,), **more: Any) -> Side:
    columns = []
    for group in dict.fromkeys(row.group for row in rows):
        for measure in measures:
            own = (row.values.get(measure.name) for row in rows if row.group == group and row.scored)
            values = [float(value) for value in own if value is not None]
            value = sum(values) / len(values) if values else None
            columns.append(Column(group=group, measure=measure if measure.value is not None else measure.model_copy(update={"value": value})))
    known: dict[str, Any] = {
        "name": name,
        "label": f"model-{name}",
        "task": "talm",
        "judges": {"reference": "v1"},
        "judged": {"reference": tuple(dict.fromkeys(row.group for row in rows))},
        "scoring": {"exact": False},
        "settings": {"model": "sim/some", "seed": 0},
        "version": "1",
        "texts": {row.scenario: "text" for row in rows},
        "rows": tuple(rows),
        "columns": tuple(columns),
    }
    return Side(**{**known, **more})


def write_baseline(side: Side, file: Path) -> str:
    file.write_text("\n".join(side.lines()) + "\n", encoding="utf-8")
    return str(file)
