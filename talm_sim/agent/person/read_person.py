"""Read a person's answers in an episode: how much they said, which missing things, any pushback and, if simulated, their mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from talm_sim.agent.person.faults import PersonFault, find_faults, told_things
from talm_sim.agent.person.knowledge import Knowledge
from talm_sim.types import Episode, HumanEvent

_RECORDED = re.compile(r"recorded \((.*)\)", re.DOTALL)
_PUSHES_BACK = re.compile(
    r"\bwhy (?:do|would|should|must|is|are|does|on earth)\b|\bwhat for\b|\bwhat does (?:that|it|this) have to do\b|\bnone of your\b"
    r"|\byour job\b|\b(?:do|must) i (?:really )?(?:have to|need to)\b|\bi (?:have|need) to spell\b"
    r"|\b(?:find|look) (?:it )?(?:out )?(?:another way|yourself)\b|\byou (?:could|should) have\b|\bi['\u2019]?d rather (?:not|you)\b"
    r"|\bi would rather\b|\bstop asking\b|\bnot (?:going to )?tell(?:ing)? you\b|\bi (?:will not|won['\u2019]?t) (?:answer|say|tell)\b"
    r"|\bjust do it\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer to a question of an episode.

    Attributes:
        event: The question with its answer.
        words: How many words the answer has.
        told: The missing things that it gives, by name.
        unasked: Whether it gives one of them that no question so far asked for.
        pushes_back: Whether it asks why, or refuses.
        faults: What is wrong with it, the gravest first; empty for the answer of a real person, whom nothing binds to the scenario.
    """

    event: HumanEvent
    words: int
    told: tuple[str, ...]
    unasked: bool
    pushes_back: bool
    faults: tuple[PersonFault, ...]


def is_simulated(responder: str) -> bool:
    """Return whether a responder is a simulated person, now or when its answers were recorded.

    >>> is_simulated("model:openai/gpt-4o"), is_simulated("recorded (simulated)"), is_simulated("terminal")
    (True, True, False)
    """
    inner = _RECORDED.fullmatch(responder)
    return is_simulated(inner[1]) if inner else responder == "simulated" or responder.startswith("model:")


def read_answers(episode: Episode, known: Callable[[HumanEvent], Knowledge]) -> Iterator[ReadAnswer]:
    """Read the answers to an episode's questions, in order; calls to approve and forms are decided by rule and are not read."""
    asked: list[str] = []
    earlier: list[str] = []
    for event in episode.questions:
        asked.append(event.question)
        knowledge = known(event)
        found = () if event.declined else tuple(find_faults(event.answer, asked, knowledge, earlier))
        told = () if event.declined else tuple(told_things(event.answer, knowledge))
        unasked = any(fault.kind == "leak" for fault in found)
        pushes_back = event.declined == "skip" or (not event.declined and bool(_PUSHES_BACK.search(event.answer)))
        yield ReadAnswer(event, len(event.answer.split()), told, unasked, pushes_back, found if is_simulated(event.responder) else ())
        earlier.append(event.answer)
