"""The deterministic judge: every required fact is in the final answer, and no gold call is missing."""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.common.json_values import same_value
from talm_sim.facts.statements import AnswerText, stated_last
from talm_sim.judges.base import Judge
from talm_sim.judges.user_messages import messages_to_user
from talm_sim.types import Episode, Facts, GoldCall, Measured, Scenario, ToolEvent, Verdict

__all__ = ["ReferenceJudge", "gold_call_made", "is_gold_call", "user_text"]


class ReferenceJudge(Judge):
    """Passes an episode by its scenario's required facts and gold calls. It does not apply to a scenario without facts (imported outputs)."""

    name = "reference"
    rules = 4
    measure = Measured(name="reference", head="Ref", about="the required facts stand in the answer, no gold call is missing", better="higher")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        return self.verdict(episode, *self.judge(episode, scenario))

    def judge(self, episode: Episode, scenario: Scenario) -> tuple[bool | None, str]:
        """Return the verdict's value and what decided it."""
        if not episode.termination.completed:
            return None, f"not judged: the episode ended in {episode.termination.value}"
        if not isinstance(scenario.target, Facts):
            return None, "not applicable: the scenario has no reference facts"
        facts = scenario.target.required
        request = user_text(scenario)
        texts = [AnswerText(text, request, facts) for text in messages_to_user(episode, scenario)]
        lacking = [f"fact '{fact.name}' ({fact.value}) is not in the answer" for fact in facts if not stated_last(fact, texts)]
        events = episode.tool_events
        unmade = [call for call in scenario.gold_calls if not any(gold_call_made(call, event) for event in events)]
        lacking += [f"gold call {_format_call(call)} {_explain_failed_call(call, events)}" for call in unmade]
        if lacking:
            return False, "; ".join(lacking)
        return True, f"all facts ({len(facts)}) stand in the answer and all gold calls ({len(scenario.gold_calls)}) were made"


def user_text(scenario: Scenario) -> str:
    """Return what the user said, and would say if asked."""
    said = [message["content"] for turn in scenario.turns for message in turn.messages if message["role"] == "user"]
    return "\n".join([*said, *(one.human_answer or "" for one in scenario.missing)])


def gold_call_made(gold: GoldCall, event: ToolEvent) -> bool:
    """Return whether a tool event is the gold call: it worked, it is the same tool, and the gold arguments are among its own."""
    return event.ok and is_gold_call(gold, event)


def is_gold_call(gold: GoldCall, event: ToolEvent) -> bool:
    """Return whether a tool event means the gold call, whether it worked or not: the same tool, and the gold arguments among its own."""
    return event.name == gold.tool and all(
        name in event.arguments and same_value(value, event.arguments[name]) for name, value in gold.arguments.items()
    )


def _explain_failed_call(gold: GoldCall, events: Sequence[ToolEvent]) -> str:
    """Explain a gold call that never worked: whether the agent tried it at all."""
    tried = [event for event in events if is_gold_call(gold, event)]
    if not tried:
        return "was not made"
    errors = ", ".join(dict.fromkeys(event.error for event in tried if event.error))
    often = "and failed" if len(tried) == 1 else f"{len(tried):,} times and failed each time"
    return f"was made {often}{f' ({errors})' if errors else ''}"


def _format_call(call: GoldCall) -> str:
    return f"{call.tool}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
