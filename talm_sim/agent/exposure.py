"""Find the faults that an agent met: the changed text must be in a prompt that was sent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from talm_sim.common.json_values import read_json
from talm_sim.types import Event, HumanEvent, ModelTurn, PerturbationLog, ToolEvent

Prompts = Literal["all", "handed", "unknown"]
"""Which prompts of an agent are known: `all`, as the agent is ours; those of the model that was `handed` to the user's agent; or none."""


def settle_exposure(
    events: Sequence[Event], turns: Sequence[ModelTurn], logs: Sequence[PerturbationLog], prompts: Prompts, *, asked: bool, injected: str = ""
) -> tuple[tuple[Event, ...], tuple[PerturbationLog, ...]]:
    """Take back the hits that the agent never met, and add up what each perturbation did in the episode.

    Args:
        events: What happened; a hit counts as seen so far if the changed result was given to the agent.
        turns: Generations of the agent's model, in order.
        logs: What each perturbation did besides to the list of tools, or in generations that failed; one for each perturbation of the
            episode. What it did in others is in their turns.
        prompts: Which prompts are known. Where none is, what the agent's code was given counts as seen.
        asked: Whether the agent was asked awareness questions, which show the list of tools.
        injected: The fault that the agent let pass, so that it ended the episode.
    """
    settled = tuple(_settle(event, turns, prompts, injected) if isinstance(event, ToolEvent) else event for event in events)
    prompted = bool(turns) or asked or prompts == "unknown"
    # An injected error was met by the agent itself, whatever its model saw.
    found = [log if prompted or log.injected is not None else log.model_copy(update={"seen": 0}) for log in logs]
    for one in (*turns, *settled):
        for log in () if isinstance(one, HumanEvent) else one.perturbations:
            found[log.place] = _add(found[log.place], log)
    return settled, tuple(found)


def _settle(event: ToolEvent, turns: Sequence[ModelTurn], prompts: Prompts, injected: str) -> ToolEvent:
    if prompts == "unknown" or not any(log.seen for log in event.perturbations):
        return event
    if not event.ok and any(log.name == injected for log in event.perturbations):
        return event
    later = turns[event.turn + 1 :]
    if later and (prompts == "all" or any(_holds(turn.raw_prompt, event) for turn in later)):
        return event
    return event.model_copy(update={"perturbations": tuple(log.model_copy(update={"seen": 0}) for log in event.perturbations)})


def _holds(prompt: str, event: ToolEvent) -> bool:
    """Return whether a prompt contains a result, or the message of an error, however the agent wrote it: as JSON, or as Python shows it."""
    failure = read_json(event.result) if not event.ok else None
    result = failure["error"] if isinstance(failure, dict) and isinstance(failure.get("error"), str) else event.result
    return any(_bare(written) in _bare(prompt) for written in (result, json.dumps(result)))


def _bare(text: str) -> str:
    return re.sub(r"null\b", "none", re.sub(r"[\s\\\"']+", "", text.casefold()))


def _add(total: PerturbationLog, log: PerturbationLog) -> PerturbationLog:
    counts = ("armed", "fired", "seen", "not_applicable")
    return total.model_copy(update={name: getattr(total, name) + getattr(log, name) for name in counts})
