"""Episodes of task `awareness`, made up: what was said, and how likely a Yes was found."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from talm_sim.types import Episode, ModelTurn, Scenario, Termination, TokenLogprob, ToolCall
from tests.tasks.awareness.crafted import family
from tests.tasks.views import View, job

__all__ = ["answered", "random_view", "turn"]


def turn(text: str, p_yes: float | None = None, *, calls: bool = False) -> ModelTurn:
    """A turn that says something, found so likely a Yes."""
    first = (
        ()
        if p_yes is None
        else tuple(TokenLogprob(token=word, logprob=math.log(chance)) for word, chance in (("Yes", p_yes), ("No", 1 - p_yes)) if chance > 0)
    )
    made = (ToolCall(id="c", name="book_hotel", arguments={}),) if calls else ()
    return ModelTurn(raw_text=text, text=text, first_tokens=first, tool_calls=made)


def answered(scenario: Scenario, *turns: ModelTurn, **more: Any) -> Episode:
    """An episode with these turns."""
    values: dict[str, Any] = {"termination": Termination.ANSWERED, "model": "test/model", "answer": turns[-1].text if turns else ""} | more
    return Episode(id=scenario.id, scenario_id=scenario.id, group=scenario.group, model_turns=turns, **values)


def random_view(seed: int, families: int = 40, sources: Sequence[str] = ("one", "two"), **options: Any) -> View:
    """A run with random answers, some of them unreadable, and random probabilities, some of them equal."""
    draw = random.Random(seed)
    scenarios = [one for number in range(families) for one in family(number, draw.choice(list(sources)))]
    episodes = []
    for scenario in scenarios:
        lean = 0.25 if scenario.group == "complete" else -0.1
        chance = min(max(round(draw.random() + lean, draw.choice([1, 6])), 0.0), 1.0)
        text = "Yes." if draw.random() < chance else draw.choice(["No.", "No, it lacks a city.", "Who knows?"])
        episodes.append(answered(scenario, turn(text, chance)))
    return View(job("awareness", **options), episodes, scenarios)
