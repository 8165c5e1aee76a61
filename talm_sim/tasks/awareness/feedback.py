"""Three conditions that differ in what a model learns from a call it made before (the study's appendix B.2, Table 5).

- `removed-failed`: part of the user's words is gone; the call lacked what they said and failed. A No is right.
- `removed-invented`: the same words are gone; the call was made all the same, with values nobody had said, and succeeded. A No is right.
- `complete-failed`: nothing is gone; the same call lacked the same value and failed. A Yes is right.

The failed call is the same in both: only the conversation tells the two apart.

A successful call returns what it returned in the source: what stands with the gold call (API-Bank), or behind the same call in another
conversation of the data set; `{"status": "success"}` where neither is known. No source has the result of the call without its argument: that
error is ours.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from talm_sim.config import parse_limit
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.dialogue import ATTEMPT, as_text, dialogue
from talm_sim.tasks.awareness.data import COMPLETE
from talm_sim.types import GoldCall, JsonObject, Scenario, Turn

CONDITIONS = ("removed-failed", "removed-invented", "complete-failed")
_SUCCESS = json.dumps({"status": "success"})
_DRAWN = 100
"""Removed instances that are drawn, as in the study."""


def conditions(pool: Sequence[Scenario], seed: int, limit: str | None) -> list[Scenario]:
    """Make the conditions of removed instances drawn by seed."""
    originals = {one.id: one for one in pool if one.group == COMPLETE}
    results = _results(pool)
    usable = []
    for one in sorted((one for one in pool if one.group == "removed"), key=lambda one: one.id):
        original = originals.get(one.base_in_language)
        call = _call_of_removed(one, original) if original else None
        if original and call:
            known = results.get(_key(original, call.name, call.arguments), set())
            result = call.result if call.result is not None else min(known) if len(known) == 1 else _SUCCESS
            usable.append((one, original, call, result))
    if not usable:
        raise PrerequisiteError(
            "protocol feedback needs removed instances whose originals have a gold call with arguments, and the data has none; "
            "choose split removed or all of other --scenarios, or another --protocol."
        )
    random.Random(seed).shuffle(usable)
    start, stop = parse_limit(limit)
    made = [_make_three(*one) for one in usable[:_DRAWN][start:stop]]
    return [three[place] for place in range(len(CONDITIONS)) for three in made]


def _call_of_removed(removed: Scenario, original: Scenario) -> GoldCall | None:
    """Return the gold call that the removed words are needed for; None if no gold call has arguments."""
    calls = [call for call in original.gold_calls if call.arguments]
    names = [one.name for one in removed.missing]
    return next((call for call in calls if not call.arguments.keys().isdisjoint(names)), calls[0] if calls else None)


def _key(scenario: Scenario, tool: str, arguments: JsonObject) -> tuple[str, str, str]:
    return scenario.source.name, tool, json.dumps(arguments, sort_keys=True)


def _results(pool: Sequence[Scenario]) -> dict[tuple[str, str, str], set[str]]:
    """Return the results of the calls within the conversations, by data set, tool and arguments."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for scenario in pool:
        said = dialogue(scenario)
        answers = {one.get("tool_call_id"): str(one["content"]) for one in said if one["role"] == "tool"}
        for call in (call for one in said for call in one.get("tool_calls", ()) if call["id"] in answers):
            found.setdefault(_key(scenario, call["name"], call.get("arguments", {})), set()).add(answers[call["id"]])
    return found


def _make_three(removed: Scenario, original: Scenario, call: GoldCall, result: str) -> tuple[Scenario, Scenario, Scenario]:
    gone = _unsaid_arguments(removed, original, call)
    short = {name: value for name, value in call.arguments.items() if name not in gone}
    error = json.dumps({"error": f"missing required argument{'s' if len(gone) > 1 else ''}: {', '.join(gone)}"}, ensure_ascii=False)
    failed = _attempt(GoldCall(name=call.name, arguments=short), error, failed=True)
    invented = _attempt(call, result, failed=False)
    return (
        _append_attempt(removed, failed, CONDITIONS[0]),
        _append_attempt(removed, invented, CONDITIONS[1]),
        _append_attempt(original, failed, CONDITIONS[2]),
    )


def _unsaid_arguments(removed: Scenario, original: Scenario, call: GoldCall) -> list[str]:
    """Return the names of the arguments that the removed words gave: the known ones, otherwise those no longer said, otherwise the first."""
    if known := [one.name for one in removed.missing if one.name in call.arguments]:
        return known
    before, after = (as_text(dialogue(one)).casefold() for one in (original, removed))
    gone = [one for one, value in call.arguments.items() if str(value).casefold() in before and str(value).casefold() not in after]
    return gone or [next(iter(call.arguments))]


def _attempt(call: GoldCall, result: str, *, failed: bool) -> Turn:
    made: dict[str, Any] = {"id": "attempt-1", "name": call.name, "arguments": dict(call.arguments)}
    return Turn(
        messages=(
            {"role": "assistant", "content": "", "tool_calls": [made], "part": ATTEMPT},
            {"role": "tool", "content": result, "tool_call_id": "attempt-1", "part": ATTEMPT, "failed": failed},
        )
    )


def _append_attempt(scenario: Scenario, attempt: Turn, condition: str) -> Scenario:
    of = f"{scenario.base}.{condition}" if scenario.source.translation_of else ""
    source = scenario.source.model_copy(update={"base": scenario.base, "translation_of": of})
    return scenario.model_copy(
        update={"id": f"{scenario.base_in_language}.{condition}", "group": condition, "turns": (*scenario.turns, attempt), "source": source}
    )
