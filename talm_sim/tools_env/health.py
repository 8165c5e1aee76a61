"""Check whether tools are up, how fast they answer, and whether their answers match what their sources say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from talm_sim.schemas import Schema, limit_work
from talm_sim.tools_env.trials import CallResult, Trial
from talm_sim.types import JsonObject

_UNAUTHORISED = frozenset({401, 403, 407})


@dataclass(frozen=True, slots=True)
class ToolHealth:
    """How well a tool works.

    Attributes:
        up: Whether every call was answered; None if it was not called, or failed because of made-up arguments.
        status: What it answered, or why it did not.
        median_ms: Median milliseconds of a call; None if none was answered.
        p95_ms: Milliseconds within which 95 of 100 calls are answered; the longest of fewer than 20 calls.
        matches: Whether every answer fits the source's schema; None if there is no schema or nothing to compare, or it cannot be decided.
        arguments: What it was called with.
        made_up: The names of those arguments that neither the user nor the tool's description gave.
    """

    tool: str
    source: str
    up: bool | None
    status: str
    calls: int = 0
    failed: int = 0
    median_ms: float | None = None
    p95_ms: float | None = None
    matches: bool | None = None
    arguments: JsonObject | None = None
    made_up: tuple[str, ...] = ()


def health_of(trial: Trial, response_schema: JsonObject) -> ToolHealth:
    """Judge a tool by its calls."""
    if trial.not_called:
        return ToolHealth(trial.tool, trial.source, None, f"not called: {trial.not_called}")
    made_up = trial.example.made_up
    states = [_state(one, made_up=bool(made_up)) for one in trial.answers]
    took = [one.took_ms for one in trial.answers if one.response is not None]
    return ToolHealth(
        trial.tool,
        trial.source,
        False if False in states else None if None in states else True,
        _status(trial.answers) + (" (to made-up arguments)" if made_up and not all(one.ok for one in trial.answers) else ""),
        len(trial.answers),
        states.count(False),
        median(took) if took else None,
        sorted(took)[max(0, -(-95 * len(took) // 100) - 1)] if took else None,
        _matches(response_schema, trial.answers),
        trial.example.arguments,
        made_up,
    )


def _state(answered: CallResult, *, made_up: bool) -> bool | None:
    """Return whether a call shows the tool to be up. A tool that refuses what was made up is up; one whose code fails on it may be."""
    if answered.response is None:
        return False
    status = answered.response.status
    if status < 400:
        return answered.ok
    if not made_up or status in _UNAUTHORISED or status > 500:
        return False
    return None if status == 500 else True


def _status(answers: Sequence[CallResult]) -> str:
    """Return what was answered, each kind once with its number."""
    said = Counter(one.said or f"HTTP {one.response.status if one.response else ''}" for one in answers)
    return "; ".join(what if len(said) == 1 else f"{number} x {what}" for what, number in said.items())


def _matches(schema: JsonObject, answers: Sequence[CallResult]) -> bool | None:
    found = [one for one in answers if one.ok and one.response and one.response.body.strip()]  # a 204 has nothing to compare
    if not schema or not found:
        return None
    stated = Schema(schema)
    with limit_work():
        fits = [stated.fits(one.value()) for one in found]
    return False if False in fits else None if None in fits else True
