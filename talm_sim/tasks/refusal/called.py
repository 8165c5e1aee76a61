"""Compare the calls in an answer with the right ones, one by one, for the table by tool."""

from __future__ import annotations

from talm_sim.judges.reference import is_gold_call
from talm_sim.tasks.calls import EpisodeCalls, MadeCall
from talm_sim.tasks.refusal.call_checks.arguments import check_call
from talm_sim.tasks.refusal.call_checks.calls import find_tool
from talm_sim.tasks.refusal.call_checks.judge import calls_of, tools_of
from talm_sim.tasks.refusal.tools import functions
from talm_sim.tasks.refusal.turns.play import acts
from talm_sim.types import Calls, Episode, Scenario

__all__ = ["called"]


def called(episode: Episode, scenario: Scenario) -> EpisodeCalls | None:
    """Return the right calls and those in the answer, as judge `calls` reads them; None if the scenario says nothing of calls.

    Where the model acts, these are the right calls of all turns and those that were executed. Elsewhere no call is executed, so none fails.
    Where no call is right, or any is, no tool is wanted.
    """
    if acts(scenario):
        events, gold = episode.tool_events, scenario.gold_calls
        made_here = [MadeCall(event.name, not event.ok, event.error != "unknown_tool") for event in events]
        return EpisodeCalls([one.tool for one in gold], made_here, lambda wanted, place: is_gold_call(scenario, wanted, events[place]))
    if not isinstance(scenario.target, Calls):
        return None
    tools, syntax, accepted = tools_of(scenario), scenario.target.syntax, scenario.target.accepted
    made = calls_of(episode, tools, syntax)
    names = {one["name"] for one in functions(scenario.shown_tools)}

    def is_right(wanted: int, place: int) -> bool:
        right = accepted[wanted]
        return check_call(made[place], right, find_tool(right.name, tools), syntax).outcome

    return EpisodeCalls([one.name for one in accepted], [MadeCall(call.name, exists=call.name in names) for call in made], is_right)
