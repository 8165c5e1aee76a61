"""Solved examples that go before a question (few-shot): two originals and two manipulated instances, drawn by seed.

They are of the data set and the manipulation under test, as the study's are (appendix A.1).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.dialogue import EXAMPLE, part_of
from talm_sim.tasks.awareness.data import COMPLETE, MANIPULATED, gold_of
from talm_sim.tasks.awareness.protocols import AskingStyle, question
from talm_sim.types import Scenario, Turn

__all__ = ["add_examples", "manipulation_shown"]

_EACH = 2
_Known = Mapping[tuple[str, str], Sequence[Scenario]]
"""Instances by data set and group."""


def add_examples(scenarios: Sequence[Scenario], pool: Sequence[Scenario], way: AskingStyle, seed: int) -> list[Scenario]:
    """Put solved examples before each scenario's conversation.

    They are kept with the scenario, so that a run that goes on, or is read again, has them whatever becomes of the file. They are drawn anew
    for each original; it and what was made of it have the same ones. None is of the same original, nor are two of them. Where the data has
    several manipulations, each original is asked once per manipulation made of it, behind examples of that one.

    Args:
        scenarios: The scenarios.
        pool: Where examples are drawn from: all of the data, so that a limit changes none.
        way: How an example is asked.
        seed: Seed of the draw.

    Raises:
        PrerequisiteError: The pool has too few.
    """
    known: dict[tuple[str, str], list[Scenario]] = {}
    for one in sorted(pool, key=lambda one: one.id):
        known.setdefault((one.source.name, one.group), []).append(one)
    tested = [name for name in MANIPULATED if any(name == group for _, group in known)]
    made = {(one.base, one.group) for one in scenarios}
    found: list[Scenario] = []
    for scenario in scenarios:
        names = [name for name in tested if (scenario.base, name) in made] if scenario.group == COMPLETE else [scenario.group]
        for name in names or tested[:1] or [COMPLETE]:
            shown = _prepend_examples(scenario, _draw_examples(scenario, name, known, seed), way)
            several = scenario.group == COMPLETE and len(tested) > 1
            found.append(_as_copy(shown, name) if several else shown)
    return found


def manipulation_shown(scenario: Scenario) -> str:
    """The manipulation that an instance's examples show; empty where it has none."""
    return next((str(one["shows"]) for one in part_of(scenario, EXAMPLE) if "shows" in one), "")


def _as_copy(scenario: Scenario, manipulation: str) -> Scenario:
    of = f"{scenario.original}.beside-{manipulation}" if scenario.source.translation_of else ""
    source = scenario.source.model_copy(update={"base": scenario.base, "translation_of": of})
    return scenario.model_copy(update={"id": f"{scenario.id}.beside-{manipulation}", "source": source})


def _draw_examples(scenario: Scenario, manipulation: str, known: _Known, seed: int) -> list[Scenario]:
    draw = random.Random(derive_seed(seed, scenario.base, "examples"))
    taken = {scenario.base}
    found: list[Scenario] = []
    for gold in ("yes", "no"):
        order = list(known.get((scenario.source.name, COMPLETE if gold == "yes" else manipulation), ()))
        draw.shuffle(order)
        for one in order:
            if one.base not in taken and sum(gold_of(other) == gold for other in found) < _EACH:
                taken.add(one.base)
                found.append(one)
    if len(found) < 2 * _EACH:
        source = f" of data set '{scenario.source.name}'" if scenario.source.name else ""
        raise PrerequisiteError(
            f"scenario {scenario.id}: protocol few-shot needs {_EACH} originals and {_EACH} {manipulation} instances of other originals"
            f"{source} as examples, and the data has {len(found)}; give more --scenarios, or another --protocol."
        )
    draw.shuffle(found)
    return found


def _prepend_examples(scenario: Scenario, examples: Sequence[Scenario], way: AskingStyle) -> Scenario:
    shown: list[dict[str, Any]] = []
    for one in examples:
        kind = {} if one.group == COMPLETE else {"shows": one.group}
        shown.append({"role": "user", "content": question(way, one), "part": EXAMPLE, "from": one.id, **kind})
        shown.append({"role": "assistant", "content": gold_of(one).capitalize(), "part": EXAMPLE})
    return scenario.model_copy(update={"turns": (Turn(messages=tuple(shown)), *scenario.turns)})
