"""What is checked before a run of an acting task begins: that its scenarios can be played, and what its user should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.scenarios.problems import Problem
from talm_sim.tasks.base import Job
from talm_sim.types import MissingKind, Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.own.agents import OwnAgent
    from talm_sim.tools_env.environment import Environment
    from talm_sim.tools_env.toolbox import Tools

__all__ = [
    "BUILDS",
    "can_hide_missing",
    "check_tools",
    "lacking_tools",
    "notices",
    "run_notes",
    "tools_of",
    "visible_hidden_tools",
    "warn_of_shared",
]

BUILDS = "hand over a function (tools) -> graph that builds it"
"""How an agent comes to see what is offered, and nothing else."""


def notices(own: OwnAgent | None, job: Job[Any], *, waits: bool, state: bool) -> tuple[str, ...]:
    """What the user of an agent or of tools of their own should know.

    Args:
        own: The agent.
        job: Final.
        waits: Whether a question may stay open.
        state: Whether episodes have tools of their own.
    """
    traffic = {Traffic.REPLAY: "only its tools are replayed", Traffic.RECORD: "only its tools are recorded"}
    recorded = traffic.get(job.config.tools or Traffic.LIVE, "nothing is recorded")
    said = [f"agent {own.name}: if it asks a model, that is live; {recorded}"] if own and not own.takes_model else []
    if waits and own:
        said.append(f"agent {own.name}: an episode that still waits when this command ends starts again on resume; answers are kept")
    elif waits and state:
        said.append("an episode that still waits when this command ends starts again on resume, with new tools; answers are kept")
    return tuple(said)


def warn_of_shared(scenarios: Sequence[Scenario], tools: Tools, epochs: int) -> tuple[str, ...]:
    """That episodes can see what others changed, where tools may let them."""
    named = Counter(name for scenario in scenarios for name in set(scenario.tools))
    shared = [name for name in tools.shared_tools() if named[name] * epochs > 1]
    if not shared:
        return ()
    what = f"{format_names(shared, 3)} may change data, and {'all episodes share it' if len(shared) == 1 else 'all episodes share them'}"
    return (f'{what}: one may see what another did; see "State" in docs/tools.md',)


def lacking_tools(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> Iterator[Problem]:
    """Tools that scenarios offer and that are not there, and gold calls to tools that they do not offer."""
    for scenario in scenarios:
        for name in scenario.tools:
            if name not in specs:
                yield Problem(scenario.id, f"there is no tool '{name}'", "correct the name or add the tool")
        for call in scenario.gold_calls:
            if call.tool not in scenario.tools:
                yield Problem(scenario.id, f"gold call '{call.tool}' is not among its tools", "add it to `tools`")


def visible_hidden_tools(scenario: Scenario, own: OwnAgent | None, offered: Collection[str]) -> list[str]:
    """The tools that a scenario takes away and that the agent's model sees all the same, as they are built into it.

    Args:
        scenario: Without tools, it takes all away.
        own: The agent; None for our graph, which sees what is offered.
        offered: Names of the tools that are left.
    """
    if own is None:
        return []
    gone = {scenario.missing.name} if scenario.missing and scenario.missing.kind is MissingKind.TOOL else set()
    return sorted(({*scenario.tools} | gone if scenario.tools else own.built_in) & own.built_in - {*offered})


def can_hide_missing(scenario: Scenario, own: OwnAgent) -> bool:
    """Whether the agent misses all that the scenario itself takes away."""
    from talm_sim.tools_env.perturbations import open_perturbations  # not at the top: a table needs no environment

    left = [ToolSpec(name=name) for name in scenario.tools]
    for perturbation in open_perturbations(scenario.perturbations, seed=0, episode=scenario.id):
        left = perturbation.narrow(left, {})
    return not visible_hidden_tools(scenario, own, [tool.name for tool in left])


def run_notes(own: OwnAgent | None, job: Job[Any], left_out: int) -> dict[str, str]:
    """What a reader of the run should know of an agent whose tools are built into it.

    Args:
        own: The agent.
        job: Final.
        left_out: Scenarios that are not run, as it would not miss what they take away.
    """
    said = {}
    if own is not None and own.built_in and job.options.human != "none":
        said["ask_human not offered"] = "compiled graph"
    if left_out:
        scenarios = f"{left_out:,} scenario{' that takes' if left_out == 1 else 's that take'} away a tool"
        said["left out"] = f"{scenarios} which the model of a compiled graph still sees; {BUILDS}"
    return said


def check_tools(scenarios: Sequence[Scenario], environment: Environment, job: Job[Any], own: OwnAgent | None) -> None:
    """See that the tools of every scenario are there, and out of the agent's sight where they should be.

    Raises:
        PrerequisiteError: A scenario names a tool or perturbation that is not there, or hides a tool that is built into the agent.
    """
    if not environment.specs and any(scenario.tools for scenario in scenarios):
        where = job.config.cassettes or "the shipped recordings"
        raise PrerequisiteError(f"{where}: no tools are recorded there; choose another --cassettes, or add --tools live.")
    for scenario in scenarios:
        unknown = next((name for name in scenario.tools if name not in environment.specs), None)
        if unknown is not None and (whose := _whose(job)):
            raise PrerequisiteError(f"scenario {scenario.id}: no tool '{unknown}' among {whose}")
        try:
            offered = [tool.name for tool in environment.open(scenario).tools]
        except PrerequisiteError as err:  # the run's own were looked at when the environment was made
            raise PrerequisiteError(f"scenario {scenario.id}: perturbations: {str(err).removeprefix('--perturb ')}") from None
        hidden = visible_hidden_tools(scenario, own, offered)
        if hidden and own is not None:
            still = f"the model of {own.name}, a compiled graph, still sees {'it' if len(hidden) == 1 else 'them'}"
            raise PrerequisiteError(f"scenario {scenario.id} takes {format_names(hidden, 3)} away, but {still}; {BUILDS}.")


def _whose(job: Job[Any]) -> str:
    """Of a run with its own scenarios or its own tools, but not both: whose tools there are, and the option that brings the others."""
    own, theirs = job.config.scenarios, job.options.tools_from
    if own is not None and not theirs:
        return f"the built-in ones; name the tools {own} was written for: --tools-from [NAME=]KIND:PLACE."
    if own is None and theirs:
        wanted = "write scenarios for yours: talm-sim scenarios init --tools-from ... --out FILE, and add --scenarios FILE."
        return f"yours, which the packaged scenarios do not know; {wanted}"
    return ""


def tools_of(scenarios: Sequence[Scenario], environment: Environment) -> list[ToolSpec]:
    """The environment's tools that `scenarios` name, missing ones included."""
    named = {name for scenario in scenarios for name in (*scenario.tools, *(call.tool for call in scenario.gold_calls))}
    named |= {scenario.missing.name for scenario in scenarios if scenario.missing}
    return [spec for name, spec in sorted(environment.specs.items()) if name in named]
