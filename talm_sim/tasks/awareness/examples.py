"""Solved examples before a question (few-shot): two originals and two manipulated instances, drawn by seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.dialogue import EXAMPLE
from talm_sim.tasks.awareness.data import gold_of
from talm_sim.tasks.awareness.protocols import AskingStyle, question
from talm_sim.types import Scenario, Turn

__all__ = ["add_examples"]

_EACH = 2


def add_examples(scenarios: Sequence[Scenario], pool: Sequence[Scenario], way: AskingStyle, seed: int) -> list[Scenario]:
    """Put solved examples before each scenario's conversation.

    They are kept with the scenario, so that a run that is resumed or read again has them whatever becomes of the file. They are drawn
    anew for each original, and its manipulated instances have the same ones. No example comes from the same original, and no two share
    one.

    Args:
        scenarios: The scenarios.
        pool: Where examples are drawn from: all of the data, so that a limit changes none.
        way: How an example is asked.
        seed: Seed of the draw.

    Raises:
        PrerequisiteError: The pool has too few.
    """
    of_gold = {gold: sorted((one for one in pool if gold_of(one) == gold), key=lambda one: one.id) for gold in ("yes", "no")}
    return [_prepend_examples(scenario, _draw_examples(scenario, of_gold, seed), way) for scenario in scenarios]


def _draw_examples(scenario: Scenario, of_gold: Mapping[str, Sequence[Scenario]], seed: int) -> list[Scenario]:
    draw = random.Random(derive_seed(seed, scenario.base, "examples"))
    taken = {scenario.base}
    found: list[Scenario] = []
    for gold in ("yes", "no"):
        order = list(of_gold[gold])
        draw.shuffle(order)
        for one in order:
            if one.base not in taken and sum(gold_of(other) == gold for other in found) < _EACH:
                taken.add(one.base)
                found.append(one)
    if len(found) < 2 * _EACH:
        raise PrerequisiteError(
            f"scenario {scenario.id}: protocol few-shot needs {_EACH} originals and {_EACH} manipulated instances of other sources as "
            f"examples, and the data has {len(found)}; give more --scenarios, or another --protocol."
        )
    draw.shuffle(found)
    return found


def _prepend_examples(scenario: Scenario, examples: Sequence[Scenario], way: AskingStyle) -> Scenario:
    shown: list[dict[str, Any]] = []
    for one in examples:
        shown.append({"role": "user", "content": question(way, one), "part": EXAMPLE, "from": one.id})
        shown.append({"role": "assistant", "content": gold_of(one).capitalize(), "part": EXAMPLE})
    return scenario.model_copy(update={"turns": (Turn(messages=tuple(shown)), *scenario.turns)})
