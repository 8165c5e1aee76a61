"""Find what is wrong with a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from talm_sim.errors import PrerequisiteError
from talm_sim.types import Scenario, ToolSpec


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one scenario, and how to fix it."""

    scenario: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.what}; {self.fix}"


def lacking_tools(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> Iterator[Problem]:
    """Return the tools that scenarios offer and that are not there, and the gold calls to tools that they do not offer."""
    for scenario in scenarios:
        for name in scenario.tools:
            if name not in specs:
                yield Problem(scenario.id, f"there is no tool '{name}'", "correct the name or add the tool")
        for call in scenario.gold_calls:
            if call.name not in scenario.tools:
                yield Problem(scenario.id, f"gold call '{call.name}' is not among its tools", "add it to `tools`")


def check_facts(scenarios: Sequence[Scenario]) -> None:
    """See that there are values to give, and that their facts' names tell them apart.

    Raises:
        PrerequisiteError: They do not, or there are none.
    """
    if not any(one.facts for one in scenarios):
        raise PrerequisiteError("answer: no scenario has facts, so there are no values to give; leave out --answer values.")
    for scenario in scenarios:
        if len(names := [fact.name for fact in scenario.facts]) > len({*names}):
            raise PrerequisiteError(f"scenario {scenario.id}: two of its facts have one name; rename one, or leave out --answer values.")
