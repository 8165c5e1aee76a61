"""Mix examples with others at a given ratio: both papers train on a blend."""

from __future__ import annotations

import random
import re

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.training.examples import Example, TrainingSet

__all__ = ["mix", "read_ratio"]

NOT_DRAWN = "not drawn, to keep the ratio of --mix"
_RATIO = re.compile(r"([1-9]\d{0,3}):([1-9]\d{0,3})")


def read_ratio(text: str) -> tuple[int, int]:
    """Read a ratio of own rows to rows made here, as `2:1`.

    Raises:
        PrerequisiteError: It is none.
    """
    found = _RATIO.fullmatch(text.strip())
    if found is None:
        raise PrerequisiteError(f"--mix {text}: is no ratio; write OWN:MADE, as 2:1 for two own rows to each row that is made.")
    return int(found[1]), int(found[2])


def mix(made: TrainingSet, own: TrainingSet, ratio: tuple[int, int], seed: int) -> TrainingSet:
    """Return a set with both, as many as the scarcer of them allows.

    Args:
        made: Examples made from scenarios or a run.
        own: The user's own.
        ratio: Own examples to made ones.
        seed: Seed of the draw, and of the order.

    Raises:
        PrerequisiteError: There are too few, or two of them have the same id.
    """
    unit = min(len(own.examples) // ratio[0], len(made.examples) // ratio[1])
    if unit == 0:
        raise PrerequisiteError(
            f"--mix {ratio[0]}:{ratio[1]}: needs at least {ratio[0]} own rows and {ratio[1]} made; there are {len(own.examples)} and "
            f"{len(made.examples)}."
        )
    mixed = TrainingSet(made.kind, left_out={why: [*ids] for why, ids in made.left_out.items()})
    for why, ids in own.left_out.items():
        mixed.leave_out(why, *ids)
    for part, size in ((own, unit * ratio[0]), (made, unit * ratio[1])):
        kept = _draw(part.examples, size, seed)
        mixed.examples += kept
        drawn = {one.id for one in kept}
        mixed.leave_out(NOT_DRAWN, *(one.id for one in part.examples if one.id not in drawn))
    twice = len(mixed.examples) - len({one.id for one in mixed.examples})
    if twice:
        raise PrerequisiteError(f"--with: {twice} of its rows have the id of a row that is made here; give them others.")
    mixed.shuffle(seed)
    return mixed


def _draw(examples: list[Example], size: int, seed: int) -> list[Example]:
    kept = set(random.Random(derive_seed("mixed", seed)).sample(range(len(examples)), size))
    return [one for place, one in enumerate(examples) if place in kept]
