"""The package's own scenarios of task `talm` as complete scenarios of task `awareness`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from talm_sim.tasks.awareness.making.loaded import LoadedSource, SourceProblem, complete_scenario
from talm_sim.types import Scenario, ToolSpec

__all__ = ["from_talm"]


def from_talm(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> LoadedSource:
    """Turn scenarios in which nothing is missing into scenarios of task `awareness`.

    Args:
        scenarios: Any scenarios; only those of group `perfect` are taken.
        specs: The tools they name.

    Returns:
        One scenario for each, with the tools offered and all its gold calls, under the id `<id>.complete`.
    """
    found: list[Scenario] = []
    problems: list[SourceProblem] = []
    for scenario in (one for one in scenarios if one.group == "perfect"):
        where = f"scenario '{scenario.id}'"
        unknown = [name for name in scenario.tools if name not in specs]
        if unknown:
            problems.append(SourceProblem(where, f"tools: there is no specification of '{unknown[0]}'; correct the name."))
            continue
        shown = [{key: getattr(specs[name], key) for key in ("name", "category", "description", "parameters")} for name in scenario.tools]
        said = [message for turn in scenario.turns for message in turn.messages]
        needed = [call.tool for call in scenario.gold_calls]
        try:
            found.append(complete_scenario(f"{scenario.id}.complete", said, shown, needed, scenario.source, scenario.gold_calls))
        except ValueError as err:
            problems.append(SourceProblem(where, str(err)))
    return LoadedSource(tuple(found), tuple(problems))
