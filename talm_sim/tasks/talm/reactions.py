"""Find what an agent does when a tool fails or something is missing: read only from the events and the final answer, for any agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talm_sim.common.json_values import read_result
from talm_sim.judges.reference import user_text
from talm_sim.judges.stats import share
from talm_sim.language.facts.given import leaves_open
from talm_sim.language.final_answer import read_final_answer
from talm_sim.language.leaks import mentions
from talm_sim.language.question_words import GENERIC, content_stems, name_stems
from talm_sim.types import AwarenessValue, Episode, HumanEvent, Measure, Missing, MissingKind, Row, Scenario, Termination, ToolEvent
from talm_sim.types.measures import Better

_MISSING = {
    "asked": ("Asked at all", "asked, by tool or in words"),
    "asked_in_words": ("Asked in words", "asked in the words of a message"),
    "declined": ("Declined", "said No, or that it cannot"),
    "went_ahead": ("Went ahead", "answered without asking or declining"),
}
_FAULT = {
    "retried": ("Retried", "called the failed tool again"),
    "recovered": ("Tool answered", "the tool answered later"),
    "told": ("Said so", "the tool never answered, and the answer says so"),
    "went_on": ("Went on", "the tool never answered, and the answer does not say so"),
}
_BETTER: Mapping[str, Better] = {
    "went_ahead": "lower",
    "recovered": "higher",
    "told": "higher",
    "went_on": "lower",
}
_TABLES = {"something missing": _MISSING, "a tool failed": _FAULT}
"""Title of a table to its columns: name to head and meaning."""
AFTER_FAULT = tuple(_FAULT)
"""Names of the columns of the second one."""
MEASURES = tuple(name for names in _TABLES.values() for name in names)
"""Names of all columns."""


def declined_first(episode: Episode) -> bool:
    """Return whether the agent declined before it tried."""
    return episode.termination is Termination.SKIPPED or any(answer.value is AwarenessValue.NO for answer in episode.awareness)


def declines_at_end(episode: Episode, scenario: Scenario) -> bool:
    """Return whether the answer declines, or gives values that say what is not known."""
    request = user_text(scenario)
    if episode.values is not None:
        return leaves_open(episode.values, scenario.facts, request, scenario.language)
    return read_final_answer(episode.answer, request).declines


def behaviour_when_missing(episode: Episode, scenario: Scenario | None, left_open: Sequence[str]) -> dict[str, bool]:
    """Return what the agent did about what was missing; empty if nothing was, or if the scenario does not say what."""
    if scenario is None or not scenario.missing:
        return {}
    in_words = bool(left_open) or any(event.by == "words" for event in episode.questions)
    answered = episode.answered
    asked = in_words or bool(episode.questions)
    declined = declined_first(episode) or (answered and not left_open and declines_at_end(episode, scenario))
    done = {"asked": asked, "asked_in_words": in_words, "declined": declined}
    return {**done, "went_ahead": answered and bool(episode.answer.strip()) and not asked and not declined}


def behaviour_after_fault(episode: Episode, scenario: Scenario | None = None) -> dict[str, bool]:
    """Return what the agent did after a tool had failed; empty if it saw no fault.

    A fault is a call that failed, unless by the agent's own mistake, or whose result a perturbation changed. An episode recovered if each
    tool that failed answered in a later turn than its last fault; otherwise, one that ended with an answer either reported the failure or
    ignored it.
    """
    if not (faults := [event for event in episode.tool_events if event.broken]):
        return {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for event in faults:
        first.setdefault(event.name, event.turn)
        last[event.name] = max(event.turn, last.get(event.name, event.turn))
    retried = any(event.turn > first[event.name] for event in episode.tool_events if event.name in first)
    answers = {event.name for event in episode.tool_events if event.ok and event.turn > last.get(event.name, event.turn)}
    recovered = answers >= last.keys()
    ended = episode.answered and bool(episode.answer.strip()) and not recovered
    told = False
    if ended and scenario is not None and episode.values is not None:
        told = declines_at_end(episode, scenario)
    elif ended:
        said = read_final_answer(episode.answer)
        # A result that was only damaged is told of by saying that nothing was found, too.
        told = said.admits_failure or (said.nothing and any(event.ok for event in faults))
    return {"retried": retried, "recovered": recovered, "told": told, "went_on": ended and not told}


def behaviour_measures(scored: Sequence[Row]) -> Iterator[Measure]:
    """Return the columns over the rows they apply to; none if they apply to no row."""
    for title, names in _TABLES.items():
        rates: Mapping[str, tuple[str, str]] = names if any(next(iter(names)) in row.values for row in scored) else {}
        for name, (head, about) in rates.items():
            rate = share(scored, name)
            yield Measure.of(rate if rate.n else None, name, head, under=title, note=about, better=_BETTER.get(name, "neither"))


def is_known_argument(missing: Missing) -> bool:
    """Return whether it is known which argument is missing, and its value."""
    return missing.kind is MissingKind.ARGUMENT and missing.value is not None


def texts_before(episode: Episode, scenario: Scenario, turn: int) -> Iterator[str]:
    """Yield the texts of the scenario's messages that came before a model turn, and the arguments of earlier calls in them."""
    user_turns = scenario.user_turns
    last = episode.model_turns[turn].user_turn if turn < len(episode.model_turns) else len(user_turns) - 1
    for message in (message for one in user_turns[: last + 1] for message in one.messages):
        yield message["content"]
        yield from (json.dumps(call.get("arguments", {}), ensure_ascii=False) for call in message.get("tool_calls", ()))


def parts_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value and all values in it, each with its name there."""
    yield name, value
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from parts_of(str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from parts_of(name, part)


def text_has_value(text: str, value: Any) -> bool:
    """Return whether a text contains a value, or every text and number of a list."""
    leaves = [part for _, part in parts_of("", value) if isinstance(part, str | int | float)]
    return bool(leaves) and all(mentions(text, leaf) for leaf in leaves)


def shows(event: ToolEvent, value: Any) -> bool:
    """Return whether the answer of a call contains a value."""
    if text_has_value(event.result, value):
        return True
    # A text may be written with escapes.
    return text_has_value(json.dumps(read_result(event.result), ensure_ascii=False), value)


def reveals(event: HumanEvent, missing: Missing) -> bool:
    """Return whether a person's answer says the value, or shares a word with what was left out that is not only the argument's name."""
    if event.declined:
        return False
    if isinstance(missing.value, bool) or text_has_value(event.answer, missing.value):
        return True
    told = content_stems(f"{missing.value} {missing.removed_text} {missing.human_answer or ''}".casefold())
    return bool((told - GENERIC - name_stems(missing.name)) & content_stems(event.answer.casefold()))
