"""Compare the tool calls of an episode with the gold calls of its scenario, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from talm_sim.tasks.options import AgentOptions, TaskOptions
from talm_sim.types import Episode, Scenario, Termination, ToolSpec


class MadeCall(NamedTuple):
    """A call that an episode made."""

    name: str
    failed: bool | None = None
    """Whether it failed; None if the task executes no calls."""
    exists: bool = True
    """Whether there is a tool of this name."""


class WantedCall(NamedTuple):
    """The fate of a gold call. Exactly one of three is true: its tool was called, another one was in its place, or none was."""

    name: str
    called: bool
    right: bool = False
    """Whether the call had the gold arguments."""
    instead: str = ""
    """The tool that was called in its place."""


@dataclass(frozen=True, slots=True)
class EpisodeCalls:
    """The gold calls of an episode's scenario, and the calls that the episode made.

    Attributes:
        wanted: The tool of each gold call.
        made: The calls, in the order in which they were made.
        is_right: Whether a call, by its index in `made`, has the arguments of the gold call with an index in `wanted`; both are of one tool.
    """

    wanted: Sequence[str]
    made: Sequence[MadeCall]
    is_right: Callable[[int, int], bool]

    def outcomes(self) -> list[WantedCall]:
        """Return what became of each gold call, in their order.

        A call belongs to one gold call at most: calls with the right arguments first, then other calls of the tool. A gold call without any
        takes the first call left of a tool that the scenario does not want at all; another call of a wanted tool is a repetition.
        """
        right: dict[int, bool] = {}
        taken: set[int] = set()
        for exact in (True, False):
            for gold, tool in enumerate(self.wanted):
                found = (place for place, one in enumerate(self.made) if one.name == tool and place not in taken)
                place = None if gold in right else next((one for one in found if not exact or self.is_right(gold, one)), None)
                if place is not None:
                    taken.add(place)
                    right[gold] = exact
        others = iter([one.name for one in self.made if one.name not in self.wanted])
        return [
            WantedCall(tool, True, right[gold]) if gold in right else WantedCall(tool, False, instead=next(others, ""))
            for gold, tool in enumerate(self.wanted)
        ]


def agent_calls(episode: Episode, scenario: Scenario, options: TaskOptions, seed: int) -> EpisodeCalls | None:
    """Return the calls of an episode whose agent acts; None if it does not, or was only asked awareness questions.

    A gold call of a tool that was hidden from the agent is not wanted.
    """
    from talm_sim.judges.reference import is_gold_call  # not at the top: a help page needs no judges

    if not isinstance(options, AgentOptions) or episode.termination is Termination.ASSESSED:
        return None
    hidden = _hidden_tools(scenario, episode.epoch, options.perturb, seed) if scenario.gold_calls else frozenset()
    gold, events = [index for index, call in enumerate(scenario.gold_calls) if call.name not in hidden], episode.tool_events
    made = [MadeCall(event.name, not event.ok, event.error != "unknown_tool") for event in events]
    tools = [scenario.gold_calls[index].name for index in gold]
    return EpisodeCalls(tools, made, lambda wanted, place: is_gold_call(scenario, gold[wanted], events[place]))


def _hidden_tools(scenario: Scenario, epoch: int, perturb: Sequence[str], seed: int) -> frozenset[str]:
    """Return the tools that the scenario names and that its perturbations, or the run's, take out of sight."""
    from talm_sim.tools_env.perturbations import narrow_tools, open_perturbations, real_name  # not at the top: not every table needs them

    texts, offered = (*scenario.perturbations, *perturb), {name: ToolSpec(name=name) for name in scenario.tools}
    perturbations = open_perturbations(texts, seed=seed, episode=f"{scenario.id}@{epoch}")
    left = narrow_tools(perturbations, list(offered.values()), offered)
    return frozenset(offered) - {real_name(perturbations, tool.name) for tool in left}
