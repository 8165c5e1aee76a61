"""How long a comparison of two runs takes, against its limit: 3,641 rows a side, as many as the four papers' tables have together.

    python benchmarks/comparison.py

Pass or fail, a share over three epochs and a number, each over groups of a thousand and over bases of three; then a figure that is not a
mean, the macro F1 of task `when2call`. Standard library alone; no run is read, as that is not what is measured.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from talm_sim.comparison.compare import compare_sides
from talm_sim.comparison.compared_rows import Column, Side
from talm_sim.types import Measure, Row

ROWS, MOST_SECONDS = 3_641, 5.0
CHOICES = ("direct", "tool_call", "request_for_info", "cannot_answer")


def _side(name: str, task: str, rows: Sequence[Row], measure: Measure) -> Side:
    values = [float(value) for row in rows if (value := row.values.get(measure.name)) is not None]
    mean = measure.model_copy(update={"value": sum(values) / len(values) if values else 0.5})
    return Side(
        name=name,
        label=name,
        task=task,
        judges={},
        judged={},
        scoring={},
        settings={},
        version="",
        texts={row.scenario: "" for row in rows},
        rows=tuple(rows),
        columns=tuple(Column(group=group, measure=mean) for group in dict.fromkeys(row.group for row in rows)),
    )


def _rows(seed: int, draw: Callable[[random.Random], Any], *, epochs: int = 1, variants: int = 1) -> list[Row]:
    chance = random.Random(seed)
    return [
        Row(
            episode=f"{place}@{epoch}",
            scenario=str(place),
            base=str(place // variants),
            epoch=epoch,
            group="all",
            values={"value": draw(chance)},
            labels={"gold": CHOICES[place % 4], "chosen": chance.choice(CHOICES)},
        )
        for place in range(ROWS // epochs)
        for epoch in range(1, epochs + 1)
    ]


def main() -> int:
    """Print the seconds of each comparison; 1 if one took too long."""
    number = Measure(name="value", head="value", kind="number")
    kinds: dict[str, tuple[Measure, str, Callable[[random.Random], Any], dict[str, int]]] = {
        "pass or fail": (Measure(name="value", head="value"), "talm", lambda chance: chance.random() < 0.5, {}),
        "pass or fail, bases of three": (Measure(name="value", head="value"), "talm", lambda chance: chance.random() < 0.5, {"variants": 3}),
        "share over three epochs": (Measure(name="value", head="value"), "talm", lambda chance: chance.random() < 0.5, {"epochs": 3}),
        "number": (number, "talm", lambda chance: chance.random(), {}),
        "macro F1": (Measure(name="macro_f1", head="F1", kind="score"), "when2call", lambda chance: chance.random() < 0.5, {}),
    }
    kept = True
    for what, (measure, task, draw, more) in kinds.items():
        first, second = (_side(name, task, _rows(seed, draw, **more), measure) for seed, name in enumerate("ab"))
        began = time.perf_counter()
        (found,) = compare_sides(first, second).differences
        took = time.perf_counter() - began
        kept &= took < MOST_SECONDS
        print(f"{what:32}{found.pairs or 0:8,} pairs{took:8.2f} s  p {found.p:.3f}, {found.low:.4f} to {found.high:.4f}")
    print(f"limit: {MOST_SECONDS:.0f} s each, {'kept' if kept else 'missed'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
