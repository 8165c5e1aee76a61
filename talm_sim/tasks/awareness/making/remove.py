"""Remove parts of what a user says without a model (section 3.2): the words that say an argument's value are cut out.

It needs gold arguments: without them nobody knows which words a call needs. Everything made so says `rules` in its target's `made_by`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.language.question_words import content_stems, name_stems
from talm_sim.scenarios.item_tools import parameters_of, required_of, spec_of
from talm_sim.tasks.awareness.making.cutting import cut, find_unnatural
from talm_sim.tasks.awareness.making.replace import Skipped
from talm_sim.tasks.awareness.making.value_spellings import gives_value_away, spans_of
from talm_sim.types import GoldCall, JsonObject, Missing, MissingKind, Scenario, Turn, YesNo

BY_PEOPLE = "people"
"""Who changed the words, in `made_by`, if no model and no rule did."""


@dataclass(frozen=True, slots=True)
class _Removal:
    """The result of cutting out one argument's words: the changed turns, and what is missing from them."""

    turns: tuple[Turn, ...]
    missing: Missing


def remove_by_rules(scenario: Scenario, seed: int) -> Scenario | Skipped:
    """Cut out what the user said about one argument that a gold call requires; of several such arguments, one is drawn at random.

    An argument is only cut if all mentions of it are in the user's own words and no broken sentence is left: one that the assistant
    repeats, or that a result contains, would still be known.
    """
    if not isinstance(target := scenario.target, YesNo) or target.gold != "yes":
        return Skipped(scenario.id, "it is no complete scenario")
    if not scenario.gold_calls:
        return Skipped(scenario.id, "it has no gold arguments")
    if scenario.turns[-1].messages[-1]["role"] != "user":
        return Skipped(scenario.id, "it ends with a result, not with the user")
    reasons: list[str] = []
    found: list[_Removal] = []
    specs = {str(spec.get("name")): spec for spec in map(spec_of, scenario.shown_tools)}
    for call in scenario.gold_calls:
        for name in call.arguments:
            if isinstance(one := _removal(scenario, call, name, specs.get(call.name, {})), str):
                reasons.append(one)
            else:
                found.append(one)
    if not found:
        # The nearest miss says most.
        return Skipped(scenario.id, min(reasons, key=_REASONS.index, default="its calls have no arguments"))
    drawn = random.Random(derive_seed(seed, scenario.id, "removal")).choice(found)
    return make_removed_scenario(scenario, drawn.turns, [drawn.missing], "rules")


_BROKEN = "cutting the words of its arguments leaves broken sentences"
_KNOWN = "its arguments can still be read elsewhere in the conversation"
_UNSAID = "the user says none of its arguments outright"
_OPTIONAL = "its calls require no argument"
_REASONS = [_BROKEN, _KNOWN, _UNSAID, _OPTIONAL]


def make_removed_scenario(original: Scenario, turns: tuple[Turn, ...], missing: Sequence[Missing], made_by: str) -> Scenario:
    """Return the variant of a complete scenario in which some of what the user said is gone."""
    assert isinstance(original.target, YesNo)
    return original.model_copy(
        update={
            "id": f"{original.id}.removed",
            "group": "removed",
            "turns": turns,
            "target": YesNo(gold="no", relevant=original.target.relevant, made_by=made_by),
            "missing": tuple(missing),
            "source": original.source.model_copy(update={"base": original.id}),
        }
    )


def _removal(scenario: Scenario, call: GoldCall, name: str, spec: JsonObject) -> _Removal | str:
    """Return the scenario without one argument's words, or why that is impossible."""
    value = call.arguments[name]
    if name not in required_of(spec):
        return _OPTIONAL
    schema = parameters_of(spec).get(name)
    described = str(schema.get("description", "")) if isinstance(schema, dict) else ""
    about = name_stems(name) | content_stems(described)
    turns: list[Turn] = []
    gone: list[str] = []
    for turn in scenario.turns:
        messages: list[dict[str, Any]] = []
        for message in turn.messages:
            spans = spans_of(message["content"], value) if message["role"] == "user" else []
            if spans is None:
                return _UNSAID
            if not spans:
                messages.append(message)
                continue
            left = cut(message["content"], spans, about)
            if left is None or find_unnatural(left[0], message["content"]):
                return _BROKEN
            messages.append(message | {"content": left[0]})
            gone += left[1]
        turns.append(turn.model_copy(update={"messages": tuple(messages)}))
    if not gone:
        return _UNSAID
    missing = Missing(kind=MissingKind.ARGUMENT, name=name, value=value, removed_text=" ... ".join(gone))
    if any(gives_value_away(text, value) for text in readable_texts(turns)):
        return _KNOWN
    return _Removal(tuple(turns), missing)


def readable_texts(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield every text of a conversation, calls included."""
    for turn in turns:
        for message in turn.messages:
            yield message["content"]
            yield from (json.dumps(call["arguments"], ensure_ascii=False) for call in message.get("tool_calls", ()))
