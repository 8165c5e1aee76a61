"""Find what depends on a fault: the required facts behind the struck calls, and the values that were injected in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.common.json_values import leaves, read_json, same_value, value_at
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.reference import is_gold_call
from talm_sim.language.leaks import mentions
from talm_sim.types import Episode, Fact, HumanEvent, MissingKind, PerturbationLog, Scenario, ToolEvent

_MOST_LEAVES = 200
"""Values of an answer without facts that are compared."""
_LONG = 200
"""Characters of a value that no answer repeats as one."""
_ACTS = re.compile(
    r"(?:^|_)(?:book|cancel|create|send|delete|remove|update|set|order|reserve|pay|transfer|submit|add|schedule|register|write|save|post"
    r"|refund|move|rename|close|open|start|stop|place|subscribe|unsubscribe|upload|change|edit)(?:_|$)"
)
"""Names of tools that do something, so that an answer can claim that it was done."""


@dataclass(frozen=True, slots=True)
class Stake:
    """A value that the answer needs and that the fault may have changed.

    Attributes:
        fact: The value.
        injected: Values that stood in its place.
        required: Whether the scenario requires it; otherwise it is a part of a struck answer of a scenario without facts.
    """

    fact: Fact
    injected: tuple[Fact, ...] = ()
    required: bool = True


@dataclass(frozen=True, slots=True)
class Stakes:
    """The values that depend on one fault.

    Attributes:
        stakes: The values.
        facts: All facts of the scenario, and what stands for them where it has none.
        tools: Names of the struck tools.
        undone: Name of a struck tool that does something and never did it; empty where there is none.
        all_needed: Whether a right answer has all the values, or one suffices.
    """

    stakes: tuple[Stake, ...]
    facts: tuple[Fact, ...]
    tools: tuple[str, ...]
    undone: str = ""
    all_needed: bool = True

    @property
    def needed(self) -> bool:
        """Whether anything rests on the fault."""
        return bool(self.stakes or self.undone)


_Hit = tuple[ToolEvent, PerturbationLog]
"""A struck call, and what the fault did to it."""


def find_stakes(episode: Episode, scenario: Scenario, log: PerturbationLog, place: int) -> Stakes | None:
    """Return what rests on a fault that the agent met; None where nobody can know.

    Args:
        episode: What happened.
        scenario: Its facts say what is right; without any, the undamaged answer of a struck call does.
        log: What the fault did in the episode.
        place: Its place among the perturbations.
    """
    hits = [(event, one) for event in episode.tool_events for one in event.perturbations if one.place == place and one.seen]
    required = scenario.facts
    undone = _undone(episode, hits)
    tools = tuple(dict.fromkeys(event.name for event, _ in hits)) or _tools_of(log, scenario)
    if not required:
        parts = tuple(_parts_of(episode, hits))
        return Stakes(parts, tuple(part.fact for part in parts), tools, undone, all_needed=False) if parts or undone else None
    found = _of_calls(scenario, required, hits) if hits else _of_tools(scenario, required, log)
    return Stakes(tuple(found), required, tools, undone if found else "")


def _of_calls(scenario: Scenario, required: Sequence[Fact], hits: Sequence[_Hit]) -> Iterator[Stake]:
    """Yield the facts that rest on struck calls, each with what was injected for it."""
    gold = scenario.gold_calls
    struck = {index for index in range(len(gold)) if any(is_gold_call(scenario, index, event) for event, _ in hits)}
    # Calls that mean no gold call are tries at those of the same tool.
    tried = {event.name for event, _ in hits if not any(is_gold_call(scenario, index, event) for index in range(len(gold)))}
    struck |= {index for index, call in enumerate(gold) if call.name in tried}
    for fact in required:
        injected = tuple(_injected(fact, hits, gold))
        rests = fact.call is not None and fact.call in struck and not _is_untouched(fact, hits, gold)
        if rests or injected:
            yield Stake(fact, injected)


def _is_untouched(fact: Fact, hits: Sequence[_Hit], gold: Sequence[Any]) -> bool:
    """Return whether each damaged answer that the fact is read from still has its value in its place."""
    own = [log for event, log in hits if fact.call is not None and fact.call < len(gold) and gold[fact.call].name == event.name]
    read = [value_at(read_json(log.injected), fact.pointer) if log.replaced is not None and fact.pointer else None for log in own]
    return bool(read) and all(_is_value(value) and _is_same(value, fact) and type(value) is type(fact.value) for value in read)


def _injected(fact: Fact, hits: Sequence[_Hit], gold: Sequence[Any]) -> Iterator[Fact]:
    """Yield the values that struck answers gave in place of a fact's own."""
    for event, log in hits:
        given, clean = read_json(log.injected), read_json(log.replaced)
        if given is None or log.replaced is None:
            continue
        own = fact.call is not None and fact.call < len(gold) and gold[fact.call].name == event.name
        value = value_at(given, fact.pointer) if own and fact.pointer else None
        if value is None and not own:  # an answer that contradicts another tool's
            key = fact.pointer.rsplit("/", 1)[-1]
            value = next((leaf for path, leaf in leaves(given) if key and not key.isdigit() and path[-1:] == (key,)), None)
            value = None if value is not None and _holds(clean, key) else value
        if _is_value(value) and not _is_same(value, fact):
            yield fact.model_copy(update={"value": value, "accepted": (), "call": None, "pointer": ""})


def _of_tools(scenario: Scenario, required: Sequence[Fact], log: PerturbationLog) -> Iterator[Stake]:
    """Yield the facts that rest on the tools which a change of the list of tools concerns; any fault of the model concerns all."""
    tools, gold = set(_tools_of(log, scenario)), scenario.gold_calls
    lost = any(one.kind is MissingKind.TOOL and one.name in tools for one in scenario.missing)
    for fact in required:
        rests = lost if fact.call is None else fact.call < len(gold) and gold[fact.call].name in tools
        if rests or _family(log) == "model":
            yield Stake(fact)


def _tools_of(log: PerturbationLog, scenario: Scenario) -> tuple[str, ...]:
    from talm_sim.tools_env.perturbations import PerturbationSpec  # not at the top: outcomes are named where nothing is injected

    named = PerturbationSpec.parse(log.name).options.get("tool", "")
    hidden = (one.name for one in scenario.missing if one.kind is MissingKind.TOOL)
    return (named,) if named else tuple(dict.fromkeys((*scenario.tools, *hidden)))


def _family(log: PerturbationLog) -> str:
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    name = log.name.partition(":")[0]
    try:
        return PERTURBATIONS.get(name).family if name in PERTURBATIONS else "tools"
    except PrerequisiteError:  # it came with a package that is broken here
        return "tools"


def _parts_of(episode: Episode, hits: Sequence[_Hit]) -> Iterator[Stake]:
    """Yield the values of the undamaged answers of struck calls that the damaged ones do not have."""
    for event, log in hits:
        clean, given = read_json(_clean_of(episode, event, log)), read_json(log.injected)
        if clean is None:
            continue
        known, new = [*leaves(clean)][:_MOST_LEAVES], dict(leaves(given))
        kept = [value for _, value in known]
        for path, value in known:
            name = next((str(part) for part in reversed(path) if not str(part).isdigit()), "value")
            if not _is_value(value) or any(same_value(value, one) for one in event.arguments.values()):
                continue
            if (other := new.get(path)) is not None and same_value(other, value):
                continue
            wrong = [other] if _is_value(other) and not any(same_value(other, one) for one in kept) else []
            fact = Fact(name=name, value=value)
            yield Stake(fact, tuple(fact.model_copy(update={"value": one}) for one in wrong), required=False)


def _clean_of(episode: Episode, event: ToolEvent, log: PerturbationLog) -> str | None:
    """Return the answer a struck call would give without the fault: the one replaced, or that of the same call at another time."""
    if log.replaced is not None:
        return log.replaced
    same = (one for one in episode.tool_events if one.name == event.name and same_value(one.arguments, event.arguments))
    return next((one.result for one in same if one.ok and not any(other.seen for other in one.perturbations)), None)


def _undone(episode: Episode, hits: Sequence[_Hit]) -> str:
    for event, _ in hits:
        if _ACTS.search(event.name) and not event.ok and not any(one.ok for one in episode.tool_events if one.name == event.name):
            return event.name
    return ""


def value_was_read(episode: Episode, fact: Fact, request: str) -> bool:
    """Return whether a fact's value was in a result that a later prompt contained, even a broken one, or in a person's answer."""
    last = len(episode.model_turns) - 1
    told = (text for event, text in texts_read(episode, request) if isinstance(event, HumanEvent) or event.turn < last or last < 0)
    return any(text and mentions(text, fact.value, fact.accepted) for text in told)


def texts_read(episode: Episode, request: str) -> Iterator[tuple[ToolEvent | HumanEvent, str]]:
    """Yield what tools and people said, without texts that a result repeats of the call's own arguments and that nothing had said before."""
    known = [request]
    for event in episode.events:
        text = event.answer if isinstance(event, HumanEvent) else event.result
        for own in own_texts(event) if isinstance(event, ToolEvent) else ():
            if mentions(text, own) and not any(mentions(one, own) for one in known):
                text = re.sub(rf"(?<!\w){re.escape(own.strip())}(?!\w)", " ", text, flags=re.IGNORECASE)
        known.append(text)
        yield event, text


def own_texts(event: ToolEvent) -> Iterator[str]:
    """Yield the texts that a call passed, but for digits alone and what is too long to be repeated."""
    for _, own in leaves(event.arguments):
        if isinstance(own, str) and len(own) < _LONG and re.search(r"[^\W\d_]", own):
            yield own


def _holds(value: Any, key: str) -> bool:
    return any(path[-1:] == (key,) for path, _ in leaves(value))


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int | float) and str(value).strip() != ""


def _is_same(value: Any, fact: Fact) -> bool:
    if isinstance(value, bool) or isinstance(fact.value, bool):
        return value is fact.value
    texts = [str(one).strip().casefold() for one in (fact.value, *fact.accepted)]
    return same_value(value, fact.value) or str(value).strip().casefold() in texts
