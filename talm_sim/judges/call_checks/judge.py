"""Judge `calls`: the calls of an answer are the right ones, by the checks of this package."""

from __future__ import annotations

import json
from collections.abc import Sequence

from talm_sim.judges.base import Judge
from talm_sim.judges.call_checks.calls import check_calls
from talm_sim.judges.call_checks.source_calls import read_source_calls
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import Calls, Episode, JsonObject, Measured, Scenario, ToolCall, Verdict

__all__ = ["CallsJudge", "calls_of", "not_checked", "tools_of"]


class CallsJudge(Judge):
    """Passes an episode whose calls are those of the scenario's target; its label is the first fault."""

    name = "calls"
    measure = Measured(name="calls", head="Calls", about="the right functions are called with right arguments, or none where none fits")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        reason = not_checked(episode, scenario)
        if reason:
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Calls)
        tools = tools_of(scenario)
        checked = check_calls(calls_of(episode, tools, scenario.target.syntax), scenario.target, tools)
        return self.verdict(episode, checked.outcome, checked.words, label=checked.error or "")


def not_checked(episode: Episode, scenario: Scenario) -> str:
    """Why the calls of an episode are not checked; empty where they are."""
    if not isinstance(scenario.target, Calls):
        return "not applicable: the scenario's target is no calls"
    if not episode.termination.completed:
        return f"not judged: the episode ended in {episode.termination.value}"
    return ""


def tools_of(scenario: Scenario) -> list[JsonObject]:
    """The specifications of the functions shown."""
    return [tool for tool in map(json.loads, scenario.shown_tools) if isinstance(tool, dict)]


def calls_of(episode: Episode, tools: Sequence[JsonObject], syntax: str) -> tuple[ToolCall, ...]:
    """The calls of an answer: what the model's provider reported, else what stands in the text.

    Args:
        episode: The episode.
        tools: What the text's reader knows the types of values from.
        syntax: The language the functions are of. Calls written in Java or JavaScript are read as such.
    """
    if not episode.model_turns:
        return ()
    turn = episode.model_turns[-1]
    if turn.tool_calls or turn.unparsable_calls:
        return turn.tool_calls
    text = split_reasoning(turn.raw_text)[0]
    source = read_source_calls(text) if syntax != "python" else ()
    return source or read_calls(text, tools).calls
