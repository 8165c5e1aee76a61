"""The deterministic judge: it passes an episode if every required fact is in the final answer, and no gold call is missing."""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.common.json_values import read_result, same_value, value_at
from talm_sim.judges.base import Judge
from talm_sim.judges.prompts import messages_to_user
from talm_sim.language.facts.claims import read_last
from talm_sim.language.facts.given import read_value
from talm_sim.language.facts.readings import Reading
from talm_sim.language.facts.statements import AnswerText
from talm_sim.types import Episode, Fact, Facts, GoldCall, Measured, MissingKind, Scenario, ToolEvent, Verdict


class ReferenceJudge(Judge):
    """Passes an episode by its scenario's required facts and gold calls. It does not apply to a scenario without facts (imported outputs)."""

    name = "reference"
    rules = 8
    measure = Measured(
        name="reference", head="Reference", about="the answer contains every required fact, and every gold call was made", better="higher"
    )

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        value, explanation = self.judge(episode, scenario)
        left_open = value is None and episode.termination.completed and isinstance(scenario.target, Facts)
        return self.verdict(episode, value, explanation).model_copy(update={"left_open": left_open})

    def judge(self, episode: Episode, scenario: Scenario) -> tuple[bool | None, str]:
        """Return the verdict's value and what decided it."""
        if not episode.termination.completed:
            return None, f"not judged: the episode ended in {episode.termination.value}"
        if not isinstance(scenario.target, Facts):
            return None, "not applicable: the scenario has no reference facts"
        facts = scenario.target.required
        read = _read_facts(episode, scenario, facts)
        lacking = [f"fact '{fact.name}' ({fact.value}) is not in the answer" for fact, one in read.items() if not (one.claim or one.unsure)]
        events = episode.tool_events
        for index, call in enumerate(scenario.gold_calls):
            tried = [event for event in events if is_gold_call(scenario, index, event)]
            equal = sum(_is_same(call, other) for other in scenario.gold_calls[: index + 1])  # each of equal calls is to be made
            if (made := sum(event.ok for event in tried)) < equal:
                lacking.append(
                    f"gold call {_format_call(call)} {f'was made {made:,} of {equal:,} times' if made else _explain_failed_call(tried)}"
                )
        if lacking:
            return False, "; ".join(lacking)
        if unsure := [f"fact '{fact.name}' ({fact.value}): {one.unsure}" for fact, one in read.items() if one.unsure]:
            return None, f"undecided: {'; '.join(unsure)}"
        return True, f"all facts ({len(facts)}) are in the answer and all gold calls ({len(scenario.gold_calls)}) were made"


def _read_facts(episode: Episode, scenario: Scenario, facts: Sequence[Fact]) -> dict[Fact, Reading]:
    """Return what an episode's answer says of each fact: its values, or else its words."""
    request = user_text(scenario)
    if episode.values is not None:
        return {fact: read_value(episode.values, fact, facts, request, scenario.language) for fact in facts}
    texts = [AnswerText(text, request, facts, scenario.language) for text in messages_to_user(episode, scenario)]
    known = "\n".join([*(str(event.result) for event in episode.tool_events), *(f"{one.value} {' '.join(one.accepted)}" for one in facts)])
    return {fact: read_last(fact, texts, known) for fact in facts}


def user_text(scenario: Scenario) -> str:
    """Return what the user said, and would say if asked."""
    said = [message["content"] for turn in scenario.turns for message in turn.messages if message["role"] == "user"]
    return "\n".join([*said, *(one.human_answer or "" for one in scenario.missing)])


def is_gold_call(scenario: Scenario, index: int, event: ToolEvent) -> bool:
    """Return whether a tool event means a gold call, whether it worked or not: the same tool, with the gold arguments among its own.

    A value may also be written in another way (`ISK` for the krona of Iceland) if the call returned every fact of the gold call, in its place.
    Not so an argument that is missing from the request: what the agent guesses is not the user's value.

    Args:
        scenario: Whose gold call it is.
        index: Which one.
        event: The call that was made.
    """
    gold = scenario.gold_calls[index]
    if event.name != gold.name:
        return False
    others = {name for name, value in gold.arguments.items() if name not in event.arguments or not same_value(value, event.arguments[name])}
    if not others:
        return True
    missing = {one.name for one in scenario.missing if one.kind is MissingKind.ARGUMENT}
    if not event.ok or others & missing or not isinstance(scenario.target, Facts):
        return False
    facts = [fact for fact in scenario.target.required if fact.call == index and fact.pointer]
    result = read_result(event.result)
    return any(map(_is_telling, facts)) and all(same_value(fact.value, value_at(result, fact.pointer)) for fact in facts)


def _is_telling(fact: Fact) -> bool:
    """Return whether a call with other arguments would hardly return the fact by chance."""
    return not isinstance(fact.value, bool) and len(str(fact.value)) > 2


def _explain_failed_call(tried: Sequence[ToolEvent]) -> str:
    """Explain a gold call that never worked: whether the agent tried it at all."""
    if not tried:
        return "was not made"
    errors = ", ".join(dict.fromkeys(event.error for event in tried if event.error))
    often = "and failed" if len(tried) == 1 else f"{len(tried):,} times and failed each time"
    return f"was made {often}{f' ({errors})' if errors else ''}"


def _is_same(one: GoldCall, other: GoldCall) -> bool:
    return one.name == other.name and same_value(one.arguments, other.arguments)


def _format_call(call: GoldCall) -> str:
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
