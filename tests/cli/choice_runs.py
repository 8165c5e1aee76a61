"""Runs of task `when2call` made by hand, for whoever shows them."""

from __future__ import annotations

from talm_sim.cli.blocks import ChoiceBlock
from talm_sim.judges.choices import BEHAVIOURS, ChoiceSummary, summarize_choices
from talm_sim.types import Behaviour, Choice, Episode, Option, OptionScore, Scenario, Termination, Turn, Verdict

__all__ = ["COUNTS", "block", "choice_episode", "choice_scenario", "counted"]

COUNTS = ((0, 0, 0, 0), (2, 30, 5, 1), (0, 12, 20, 3), (4, 9, 7, 11))
"""A matrix; every third row of its last class shows no tools."""
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
        option_scores=scores if chosen else (),
        termination=Termination.ANSWERED,
    )


def counted(*, judged: bool = False) -> list[ChoiceSummary]:
    """The summary of a run with the matrix `COUNTS`; judged, every tenth answer is unparsed."""
    cells = [(gold, chosen) for i, gold in enumerate(BEHAVIOURS) for j, chosen in enumerate(BEHAVIOURS) for _ in range(COUNTS[i][j])]
    rows = [choice_scenario(str(n), gold, tools=gold is not Behaviour.CANNOT_ANSWER or n % 3 > 0) for n, (gold, _) in enumerate(cells)]
    episodes = [choice_episode(row.id, None if judged else chosen) for row, (_, chosen) in zip(rows, cells, strict=True)]
    said = [
        Verdict(episode_id=str(n), judge="behaviour", value=True, label="unparsed" if n % 10 == 9 else chosen.value)
        for n, (_, chosen) in enumerate(cells)
    ]
    return summarize_choices(episodes, rows, said if judged else [])


def block(title: str = "hf/tiny", *notes: str, judged: bool = False) -> ChoiceBlock:
    """That run, ready to be shown."""
    return ChoiceBlock(title, counted(judged=judged), notes)
