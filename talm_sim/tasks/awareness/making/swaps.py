"""Replace the APIs of a whole source: how often may one API replace another?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from talm_sim.tasks.awareness.making.checks import check_manipulated
from talm_sim.tasks.awareness.making.pool import Pool
from talm_sim.tasks.awareness.making.replace import Skipped, Swap, replace_tools
from talm_sim.types import Scenario, YesNo

__all__ = ["replace_all"]

_MOST_ALIKE = 0.05
"""Largest share of all replacements that one swap may be: a model could learn a frequent one."""
_FEW = 5
"""How often a swap may occur even if there are few replacements."""


def replace_all(scenarios: Iterable[Scenario], pool: Pool) -> dict[str, Scenario | Skipped]:
    """Swap the needed APIs of each scenario, so that no swap is more than a twentieth of all (but any may occur five times).

    What comes after the last time a swap may occur takes the next nearest API.

    Args:
        scenarios: All scenarios, in a fixed order: the result for one depends on those before it.
        pool: Where substitutes come from.

    Returns: The results by id.
    """
    first = {one.id: (one, replace_tools(one, pool)) for one in scenarios}
    most = max(_FEW, int(_MOST_ALIKE * sum(_passes_checks(*pair, pool) for pair in first.values())))
    made: Counter[Swap] = Counter()
    found: dict[str, Scenario | Skipped] = {}
    for id_, (scenario, changed) in first.items():
        used_up = {swap for swap, times in made.items() if times >= most}
        if not used_up.isdisjoint(_swaps(changed)):
            changed = replace_tools(scenario, pool, used_up=used_up)  # noqa: PLW2901
        found[id_] = changed
        if _passes_checks(scenario, changed, pool):
            made.update(_swaps(changed))
    return found


def _passes_checks(scenario: Scenario, changed: Scenario | Skipped, pool: Pool) -> bool:
    """Return whether something was made that no check rejects."""
    return isinstance(changed, Scenario) and all(one.review for one in check_manipulated(scenario, changed, pool))


def _swaps(changed: Scenario | Skipped) -> list[Swap]:
    return list(changed.target.swapped.items()) if isinstance(changed, Scenario) and isinstance(changed.target, YesNo) else []
