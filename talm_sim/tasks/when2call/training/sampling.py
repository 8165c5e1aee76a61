"""A sample of multiple-choice scenarios that stands for all of them, as the paper's subset for judging does: 100 of each class (section 4)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.types import Choice, Scenario

__all__ = ["draw_sample"]

_KEYS = ("class", "tools")
_MANY = 2
"""From so many tools on, their number counts as the same."""


def draw_sample(scenarios: Sequence[Scenario], number: int, by: str, seed: int) -> list[Scenario]:
    """Draw as many scenarios of every class, in the order given.

    Args:
        scenarios: Scenarios of task when2call.
        number: How many of each class.
        by: `class`, or `class,tools`: within a class, no, one and several tools shown keep their shares, by largest remainders.
        seed: Seed of the draw.

    Raises:
        PrerequisiteError: `by` names something else, or a class has fewer scenarios.
    """
    keys = [key.strip() for key in by.split(",")]
    for key in keys:
        if key not in _KEYS:
            raise PrerequisiteError(f"--by: '{key}' is neither class nor tools.{did_you_mean(key, _KEYS)}")
    if "class" not in keys:
        raise PrerequisiteError("--by: names no class; write class or class,tools.")
    classes: dict[str, dict[int, list[Scenario]]] = {}
    for one in scenarios:
        if not isinstance(one.target, Choice):
            raise PrerequisiteError(f"scenario '{one.id}': has no options to choose from; only scenarios of task when2call are sampled.")
        shown = min(_MANY, len(one.shown_tools)) if "tools" in keys else 0
        classes.setdefault(one.target.gold.value, {}).setdefault(shown, []).append(one)
    kept: set[str] = set()
    for name, strata in sorted(classes.items()):
        size = sum(map(len, strata.values()))
        if size < number:
            raise PrerequisiteError(f"--sample: {number} of each class are asked for, and {name} has {size}; choose at most {size}.")
        for shown, share in _shares({shown: len(members) for shown, members in strata.items()}, number).items():
            draw = random.Random(derive_seed("sample", seed, name, shown))
            kept.update(one.id for one in draw.sample(strata[shown], share))
    return [one for one in scenarios if one.id in kept]


def _shares(sizes: dict[int, int], number: int) -> dict[int, int]:
    """Divide `number` in proportion to `sizes`; what is left over goes to the largest remainders."""
    whole = sum(sizes.values())
    shares = {key: number * size // whole for key, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda key: (-(number * sizes[key] % whole), key))
    for key in by_remainder[: number - sum(shares.values())]:
        shares[key] += 1
    return shares
