"""What the user and a reader of a run should know of its agent and its tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from talm_sim.config import Traffic
from talm_sim.errors import format_names
from talm_sim.tasks.base import Job
from talm_sim.tasks.hidden_tools import BUILDS
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from talm_sim.agent.own.agents import OwnAgent
    from talm_sim.tools_env.toolbox import Tools

__all__ = ["STARTS_AGAIN", "AgentNotes"]

STARTS_AGAIN = "an episode that still waits when this command ends starts again on resume, with new tools; answers are kept"
"""What the user of tools that an episode has for itself should know, where a question may stay open."""


class AgentNotes:
    """What there is to say of a run's agent and tools.

    Args:
        own: The user's own agent; None for ours.
        job: The final job.
        tools: The tools of the run.
        left_out: How many scenarios are not run, since the agent would not miss what they take away.
        waits: Whether a question may stay open.

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
        return (*_warn_of_unexecuted(scenarios, self._tools), *_warn_of_shared(scenarios, self._tools, self._epochs))


def _notices(own: OwnAgent | None, job: Job[Any], *, waits: bool, state: bool) -> tuple[str, ...]:
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


def _warn_of_shared(scenarios: Sequence[Scenario], tools: Tools, epochs: int) -> tuple[str, ...]:
    """That episodes can see what others changed, where tools may let them."""
    named = Counter(name for scenario in scenarios for name in set(scenario.tools))
    shared = [name for name in tools.shared_tools() if named[name] * epochs > 1]
    if not shared:
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
