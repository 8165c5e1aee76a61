"""Rows and episodes of task `when2call` made by hand, for whoever stores them."""

from __future__ import annotations

from talm_sim.tasks.when2call.scored import OptionScore, Scored
from talm_sim.types import Behaviour, Choice, Episode, Option, Scenario, Termination, Turn

_OPTIONS = tuple(Option(behaviour=one, text=f"{one.value}.") for one in Behaviour)


def choice_scenario(name: str, gold: Behaviour, *, tools: bool = True) -> Scenario:
    """A row with this gold behaviour."""
    turn = Turn(messages=({"role": "user", "content": "What is the time?"},))
    shown = ('{"name": "clock"}',) if tools else ()
    target = Choice(gold=gold, options=_OPTIONS)
    return Scenario(id=name, task="when2call", group=gold.value, turns=(turn,), shown_tools=shown, target=target)


def choice_episode(name: str, chosen: Behaviour | None) -> Episode:
    """An episode that finds this option likeliest; a free answer where there is none."""
    scores = tuple(OptionScore(behaviour=one, logprob=-float(one is not chosen), tokens=1, size=1) for one in Behaviour)
    return Episode(
        id=name,
        scenario_id=name,
        group="g",
        model="m/m",
        answer="" if chosen else "x",
        details=Scored(option_scores=scores).model_dump(mode="json") if chosen else {},
        termination=Termination.ANSWERED,
    )
