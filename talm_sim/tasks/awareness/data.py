"""Read and check the instances of a run, and keep related ones together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talm_sim.config import parse_limit
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.awareness.making.loaded import fault_in
from talm_sim.tasks.registry import read_line
from talm_sim.types import Scenario, YesNo

COMPLETE = "complete"
MANIPULATED = ("replaced", "removed")
_GOLD = {COMPLETE: "yes", **dict.fromkeys(MANIPULATED, "no")}


def read_instance(line: Any, where: str, task: str) -> Scenario:
    """Read a line as an instance: a conversation that waits for the AI, the tools there are, and whether they serve."""
    scenario = read_line(line, where, task)
    if not isinstance(scenario.target, YesNo):
        raise PrerequisiteError(
            f'{where}: target: is not a Yes or No; task {task} needs {{"type": "servable", "gold": "yes" or "no", "relevant": [TOOL, ...]}}.'
        )
    if _GOLD.get(scenario.group) != scenario.target.gold:
        groups = " or ".join(name for name, gold in _GOLD.items() if gold == scenario.target.gold)
        raise PrerequisiteError(f"{where}: group: is '{scenario.group}' with gold '{scenario.target.gold}'; write {groups}.")
    if fault := fault_in(scenario):
        raise PrerequisiteError(f"{where}: {fault}")
    return scenario


def gold_of(scenario: Scenario) -> str:
    """Return what is right: `yes` or `no`."""
    return scenario.target.gold if isinstance(scenario.target, YesNo) else ""


def choose(pool: Sequence[Scenario], groups: Sequence[str], limit: str | None) -> list[Scenario]:
    """Choose the instances of some groups: manipulated ones within the limit, each once, and with `complete` the originals they come from.

    If nothing in these groups is manipulated, the originals themselves are chosen, within the limit. Beside manipulated instances, an
    original without one is left out, as it would upset the balance.
    """
    start, stop = parse_limit(limit)
    manipulated = [one for name in groups if name != COMPLETE for one in [one for one in pool if one.group == name][start:stop]]
    originals = [one for one in pool if one.group == COMPLETE] if COMPLETE in groups else []
    if not manipulated:
        return originals[start:stop]
    wanted = {one.base_in_language for one in manipulated}
    return [*(one for one in originals if one.id in wanted), *manipulated]
