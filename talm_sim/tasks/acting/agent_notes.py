"""Notes for the user and readers of a run about its agent and tools, and what a run may not ask of the user's own agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.config import DEFAULT_MODEL, Traffic
from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.tasks.base import Job
from talm_sim.tasks.keys import AnyJob
from talm_sim.types import MissingKind, Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.own.agents import OwnAgent
    from talm_sim.tools_env.toolbox import Tools

JobT = TypeVar("JobT", bound=AnyJob)


def own_agent(job: AnyJob) -> OwnAgent | None:
    """Return the user's own agent; None where ours plays."""
    if job.options.agent is None:
        return None
    from talm_sim.agent.own.agents import find_agent

    return find_agent(job.options.agent)


def settle_own_agent(job: JobT) -> JobT:
    """Return the job, without a model where the agent takes none."""
    if (own := own_agent(job)) is None or own.takes_model:
        return job
    refuse_model_faults(job.options.perturb, own)
    name, named = f"agent/{own.name}", job.config.model
    if named not in (DEFAULT_MODEL, name):
        raise PrerequisiteError(
            f"--model {named}: agent {own.name} takes no model; leave out --model, or give the agent's function a parameter 'model'."
        )
    return job.having(model=name, models=None)


def refuse_model_faults(texts: Sequence[str], own: OwnAgent) -> None:
    """Check that no fault of the model is to be injected where the agent asks models of its own."""
    from talm_sim.tools_env.perturbations import PERTURBATIONS, parse_perturbation

    for spec in map(parse_perturbation, texts):
        if PERTURBATIONS.get(spec.name).family == "model":
            fix = f"leave it out, or give the function of {own.name} a parameter 'model' and use that."
            raise PrerequisiteError(f"--perturb {spec}: your agent takes no model; {fix}")


BUILDS = "hand over a function (tools) -> graph that builds it"
"""How an agent comes to see what is offered, and nothing else."""


def visible_hidden_tools(scenario: Scenario, own: OwnAgent, offered: Collection[str]) -> list[str]:
    """Return the tools that a scenario takes away and that the agent's model still sees, because they are built into it."""
    gone = {one.name for one in scenario.missing if one.kind is MissingKind.TOOL}
    return sorted(({*scenario.tools} | gone if scenario.tools else own.built_in) & own.built_in - {*offered})


def can_hide_missing(scenario: Scenario, own: OwnAgent) -> bool:
    """Return whether the agent misses all that the scenario itself takes away."""
    from talm_sim.tools_env.perturbations import narrow_tools, open_perturbations  # not at the top: a table needs no environment

    perturbations = open_perturbations(scenario.perturbations, seed=0, episode=scenario.id)
    left = narrow_tools(perturbations, [ToolSpec(name=name) for name in scenario.tools], {})
    return not visible_hidden_tools(scenario, own, [tool.name for tool in left])  # under a new name it would be another tool


STARTS_AGAIN = "episodes still waiting at the end restart on resume, with new tools; your answers are kept"
"""What the user of tools that an episode has for itself should know, where a question may stay open."""


class AgentNotes:
    """The notes on a run's agent and tools.

    Attributes:
        notes: What a reader of the stored run should know, by name.
        notices: What the user should know before the run.
    """

    def __init__(self, own: OwnAgent | None, job: Job[Any], tools: Tools, left_out: int, *, waits: bool) -> None:
        self._tools, self._epochs = tools, job.config.epochs
        self.notes = _run_notes(own, job, left_out) | _network_note(tools)
        self.notices = (*_notices(own, job, waits=waits, state=tools.keep_state), *_nothing_guarded(job, tools))

    def warnings(self, scenarios: Sequence[Scenario]) -> tuple[str, ...]:
        """Return what the user should know of the tools that these scenarios name."""
        return (*_warn_of_unexecuted(scenarios, self._tools), *warn_of_shared(scenarios, self._tools, self._epochs))


def _notices(own: OwnAgent | None, job: Job[Any], *, waits: bool, state: bool) -> tuple[str, ...]:
    """Return what a user with an agent or tools of their own should know."""
    traffic = {Traffic.REPLAY: "only its tools are replayed", Traffic.RECORD: "only its tools are recorded"}
    recorded = traffic.get(job.config.tools or Traffic.LIVE, "nothing is recorded")
    said = [f"agent {own.name}: if it calls a model itself, the call is live; {recorded}"] if own and not own.takes_model else []
    if waits and own:
        said.append(f"agent {own.name}: episodes still waiting at the end restart on resume; your answers are kept")
    elif waits and state:
        said.append(STARTS_AGAIN)
    silent = [group for group in job.groups if not job.task.questions(group)] if job.options.stop_after is not None else []
    if silent:
        said.append(f"--stop-after {job.options.stop_after}: leaves out {', '.join(silent)}, which is asked no awareness questions")
    return tuple(said)


def _nothing_guarded(job: Job[Any], tools: Tools) -> Iterator[str]:
    """Say that nothing waits for approval, since every tool only reads."""
    if not job.options.approve:
        return
    from talm_sim.tools_env.guarded import guarded_tools  # not at the top: a help page needs no tools

    if not guarded_tools(job.options.approve, tools):
        yield f"approve {job.options.approve}: every tool of this run is declared read-only, so that no call waits for a person"


def warn_of_shared(scenarios: Sequence[Scenario], tools: Tools, epochs: int) -> tuple[str, ...]:
    """Warn that episodes can see what others changed, if tools may let them."""
    named = Counter(name for scenario in scenarios for name in set(scenario.tools))
    if not (shared := [name for name in tools.shared_tools() if named[name] * epochs > 1]):
        return ()
    what = f"{format_names(shared, 3)} may change data, and {'all episodes share it' if len(shared) == 1 else 'all episodes share them'}"
    return (f'{what}: one may see what another did; see "State" in docs/tools.md',)


def _network_note(tools: Tools) -> dict[str, str]:
    """Name the sources whose sandboxed code the user gave a network: it may answer something else tomorrow."""
    named = tools.networked()
    return {"network=on": f"the sandboxed code of {format_names(named, 3)} can reach the network"} if named else {}


def _warn_of_unexecuted(scenarios: Sequence[Scenario], tools: Tools) -> Iterator[str]:
    """Name the tools of the scenarios that nothing executes, once for each reason."""
    named = dict.fromkeys(name for scenario in scenarios for name in scenario.tools)
    for why, names in tools.unexecuted(named).items():
        yield f"cannot be executed here, so that calls fail: {format_names(names, 8)} ({why})"


def _run_notes(own: OwnAgent | None, job: Job[Any], left_out: int) -> dict[str, str]:
    """Return what a reader of the run should know of an agent whose tools are built into it."""
    said = {}
    if own is not None and own.takes_model:
        settings = job.settings()
        of = "" if settings.temperature is None else f"temperature {settings.temperature:g}, "
        said["the run sets, for the model that the agent is handed"] = f"{of}{settings.max_new_tokens:,} tokens a turn, the seed"
    if own is not None and job.options.tool_errors == "text":
        said["tool errors"] = "a tool that fails answers the agent with a text (--tool-errors text)"
    if own is not None and own.built_in and job.options.human != "none":
        said["ask_human not offered"] = "compiled graph"
    if left_out:
        scenarios = f"{left_out:,} scenario{' that takes' if left_out == 1 else 's that take'} away a tool"
        said["left out"] = f"{scenarios} which the model of a compiled graph still sees; {BUILDS}"
    return said
