"""Look up the calls of an episode for assertions: which arguments they had, what struck them, and how that was labelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from talm_sim.cli.terminal.text import one_line
from talm_sim.common.json_values import same_value
from talm_sim.judges.fault_verdicts import FaultJudge, FaultLabel
from talm_sim.models.base import ASK_HUMAN
from talm_sim.store.stored_run import StoredRun
from talm_sim.tools_env.perturbations import narrow_tools, open_perturbations
from talm_sim.types import Episode, Scenario, ToolEvent, ToolSpec, Verdict

INVENTED = frozenset({FaultLabel.PROPAGATED, FaultLabel.FABRICATED})
"""Labels of an answer that gives a wrong value, or claims a success that is none."""


def is_call(event: object, tool: str) -> bool:
    """Return whether an event is a call of a tool, or of any if none is named."""
    return isinstance(event, ToolEvent) and tool in ("", event.name)


def has_arguments(event: ToolEvent, arguments: Mapping[str, Any], *, exact: bool) -> bool:
    """Return whether a call has these arguments, by `same_value`; with `exact` it has no others."""
    if exact and event.arguments.keys() != arguments.keys():
        return False
    return all(name in event.arguments and same_value(value, event.arguments[name]) for name, value in arguments.items())


def format_arguments(arguments: Mapping[str, Any]) -> str:
    """Write arguments on one line, as a test writes them."""
    return ", ".join(f"{name}={one_line(repr(value))}" for name, value in arguments.items())


def kind_of(perturbation: str) -> str:
    """Return the name of a perturbation without its options."""
    return perturbation.partition(":")[0]


def changed_what_agent_saw(event: ToolEvent, perturbation: str) -> bool:
    """Return whether a perturbation, as it was given or by its name alone, changed what the agent saw of a call."""
    return any(log.seen and perturbation in (log.name, kind_of(log.name)) for log in event.perturbations)


def was_struck(event: ToolEvent) -> bool:
    """Return whether a perturbation changed what the agent saw of a call."""
    return any(log.seen for log in event.perturbations)


def why_nothing_struck(episodes: Iterable[Episode]) -> str:
    """Return advice for a fault that skips tools that may change data, to be added to a message; empty if none of them was called."""
    events = (event for episode in episodes for event in episode.tool_events)
    kept = sorted({event.name for event in events if any(log.withheld for log in event.perturbations)})
    return f" ({', '.join(kept)} may change data: declare what only reads, or pass writing=True)" if kept else ""


def permanently_failed(episode: Episode) -> list[ToolEvent]:
    """Return the last call of each tool whose last call failed."""
    last = {event.name: event for event in episode.tool_events}
    return [event for event in last.values() if not event.ok]


def names_not_offered(episode: Episode, scenario: Scenario, specs: Mapping[str, ToolSpec], seed: int) -> list[str]:
    """Return the names that an episode called but did not offer, each once: made-up ones, and hidden tools.

    The turns say more than the events: an agent's own code may answer a call of an unknown tool, so that it never comes to ours.

    Args:
        episode: What happened.
        scenario: What the episode was about.
        specs: The tools of the run, by name.
        seed: Of the run: a perturbation that hides tools may do so by chance.
    """
    tools = [specs[name] for name in scenario.tools]
    given = [log.name for log in episode.perturbations]
    tools = narrow_tools(open_perturbations(given, seed=seed, episode=f"{scenario.id}@{episode.epoch}"), tools, specs)
    offered = {tool.name for tool in tools} | ({ASK_HUMAN} if episode.human != "none" else set())
    called: list[str] = []
    for turn in episode.model_turns:
        called += [call.name for call in turn.tool_calls] + [call.name for call in turn.unparsable_calls]
    return [name for name in dict.fromkeys(called) if name not in offered]


class FaultLabels:
    """What an agent did with each fault of a run."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        return {verdict.episode_id: verdict for verdict in self._stored.verdicts() if verdict.judge == FaultJudge.name}

    def of(self, episode: Episode) -> dict[str, str]:
        """Return the label of each perturbation of an episode, in their order; empty where none was judged."""
        verdict = self._verdicts.get(episode.id)
        return dict(verdict.labels) if verdict else {}

    def why(self, episode: Episode) -> str:
        """Return what decided the labels, as a failed test says it."""
        return f"judge fault: {self._verdicts[episode.id].explanation}"

    def of_calls(self, episode: Episode, calls: Iterable[ToolEvent], perturbation: str = "") -> set[str]:
        """Return the labels of the perturbations that the agent met in some calls; of all, or of one as it was given or by its name alone."""
        every = [*self.of(episode).values()]
        places = {log.place for event in calls for log in event.perturbations if log.seen and perturbation in ("", log.name, kind_of(log.name))}
        return {every[place] for place in places if place < len(every)}
