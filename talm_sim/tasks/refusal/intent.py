"""The `intent` judge: did a model try to call a tool, be the call well-formed or not? (H-I in section 2 of the refusal study's README).

Read is the raw output, not what could be parsed of it: `[get_weather(city='Michigan'` is an attempt that was cut off. The question is whether
something was written in place of a call, for a system to run. docs/refusal.md lists the kinds of attempts. A mark that only calls have is none
if it is mentioned in a sentence, or holds nothing, an empty list or a sentence that declines.

What no reader takes for a call is no attempt where it is a thought, a name in prose, a call inside a sentence, a condition, an offer, an
example, a placeholder, a specification, code for a person, or data. So an answer without an attempt holds no call that can be read: H-I is
never above H-S.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from talm_sim.judges.base import Judge
from talm_sim.scenarios.item_tools import spec_of
from talm_sim.tasks.refusal.attempts.answer_text import Attempt, ShownTools
from talm_sim.tasks.refusal.attempts.find_attempt import find_in
from talm_sim.tasks.refusal.call_checks.calls_judge import calls_of
from talm_sim.types import Calls, Episode, Measured, ModelTurn, Scenario, Verdict

NO_ATTEMPT = "none"
"""Label of an answer that attempts no call; any other label is the rule by which one does."""


class IntentJudge(Judge):
    """Labels an answer with the rule by which it attempts a call, and passes it where an attempt is made just where a call is expected."""

    name = "intent"
    measure = Measured(
        name="intent", head="Intent", about="a call is attempted, well-formed or not, if and only if one is expected", better="higher"
    )
    rules = 3

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if not isinstance(scenario.target, Calls):
            return self.verdict(episode, None, "not applicable: the scenario does not say whether a call is right")
        if not episode.termination.completed:
            return self.verdict(episode, None, f"not judged: the episode ended in {episode.termination.value}")
        found = _attempt_of(episode, scenario)
        expected = scenario.target.expected != "none"
        if found is None:
            return self.verdict(episode, not expected, "no call is attempted", label=NO_ATTEMPT)
        return self.verdict(episode, expected, f"a call is attempted ({found.rule}): {found.quoted}", label=found.rule)


def _attempt_of(episode: Episode, scenario: Scenario) -> Attempt | None:
    """Return the first attempt at a call in what the model wrote, or in what the provider reported of it; None where there is none."""
    shown = _parse_shown_tools(scenario.shown_tools)
    turns = episode.model_turns or (ModelTurn(raw_text=episode.answer),)
    found = next((found for turn in turns if (found := _attempt_in(turn, shown))), None)
    if found is None and isinstance(scenario.target, Calls) and scenario.target.syntax != "python":
        calls = calls_of(episode, shown.tools, scenario.target.syntax)  # Java and JavaScript have their own reader
        return Attempt("read", 0, 0, ", ".join(call.name for call in calls)) if calls else None
    return found


def _attempt_in(turn: ModelTurn, shown: ShownTools) -> Attempt | None:
    names = [*(call.name for call in turn.tool_calls), *(call.name for call in turn.unparsable_calls)]
    return Attempt("native", 0, 0, ", ".join(names)) if names else find_in(turn.written or turn.text, shown)


@lru_cache(maxsize=1024)
def _parse_shown_tools(tools: tuple[str, ...]) -> ShownTools:
    """Return the shown tools from their JSON texts; anything else shows none. Kept, because a run asks for the same ones again."""
    specs = []
    for tool in tools:
        with suppress(ValueError):
            specs.append(spec_of(tool))
    return ShownTools.of(specs)
