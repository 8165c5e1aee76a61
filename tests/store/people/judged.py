"""Stored runs of three tasks that people can judge, made by hand; the texts of one are hostile."""

from __future__ import annotations

from pathlib import Path

from talm_sim.store.stored_run import StoredRun
from talm_sim.types import (
    Behaviour,
    Choice,
    Episode,
    HumanEvent,
    ModelTurn,
    Option,
    Scenario,
    Source,
    Termination,
    ToolEvent,
    Turn,
    Verdict,
    YesNo,
)
from tests.runs.stored import store

MODEL = "openai-api/somewhere/secret-model-9"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31m[red]not red[/red] \u202egnp.exe\x9b5n [link=file:///etc]x[/link]"
"""What would set the title, clear the screen, colour, ask the terminal something, turn the writing around, or link."""


def said(text: str) -> tuple[Turn, ...]:
    return (Turn(messages=({"role": "user", "content": text},)),)


def talm_run(directory: Path, number: int = 20, *, name: str = "talm", hostile: str = HOSTILE, epochs: int = 1) -> StoredRun:
    """Half of the episodes are `perfect`, half `underspecified`; every third one passes, as `reference` says."""
    scenarios, episodes, verdicts = [], [], []
    for n in range(number):
        group = ("perfect", "underspecified")[n % 2]
        scenarios.append(
            Scenario(id=f"q-{n:02}.{group}", group=group, turns=said(f"Question {n}? {hostile}"), source=Source(base=f"q-{n // 2}"))
        )
    for epoch in range(1, epochs + 1):
        for n, scenario in enumerate(scenarios):
            tool = ToolEvent(turn=0, call_id="c", name="look_up", arguments={"n": n}, result=f"found {n} {hostile}", status=200, ok=True)
            asked = HumanEvent(turn=0, call_id="d", question=f"Which? {hostile}", answer="That.", responder="recorded")
            episodes.append(
                Episode(
                    id=scenario.id if epoch == 1 else f"{scenario.id}@{epoch}",
                    scenario_id=scenario.id,
                    epoch=epoch,
                    group=scenario.group,
                    model=MODEL,
                    human="recorded",
                    model_turns=(ModelTurn(text=f"Answer {n} of {epoch}. {hostile}"),),
                    events=(tool, asked),
                    answer=f"Answer {n} of {epoch}. {hostile}",
                    termination=Termination.ANSWERED,
                )
            )
            verdicts.append(Verdict(episode_id=episodes[-1].id, judge="reference", value=not n % 3, explanation="the reference's secret"))
    config = {"split": "perfect,underspecified", "model": MODEL, "models": "replay", "tools": "replay", "epochs": epochs}
    return store(directory, name, scenarios, episodes, verdicts, **config, options={"human": "recorded"})


def awareness_run(directory: Path, number: int = 20, *, name: str = "aware") -> StoredRun:
    """Every instance is a rightly answered No with an explanation."""
    scenarios = [
        Scenario(
            id=f"i-{n:02}.removed",
            task="awareness",
            group="removed",
            turns=said(f"Do it, number {n}. {HOSTILE}"),
            shown_tools=('{"name": "do_it"}',),
            target=YesNo(gold="no", relevant=("do_it",)),
            source=Source(base=f"i-{n:02}"),
        )
        for n in range(number)
    ]
    episodes = [
        Episode(
            id=one.id,
            scenario_id=one.id,
            group=one.group,
            model=MODEL,
            human="none",
            model_turns=(ModelTurn(text=f"No. Number {n} lacks a name. {HOSTILE}"),),
            answer=f"No. Number {n} lacks a name. {HOSTILE}",
            termination=Termination.ANSWERED,
        )
        for n, one in enumerate(scenarios)
    ]
    verdicts = [
        Verdict(episode_id=one.id, judge="explanation", value=n % 4 != 0, label="wrong" if n % 4 == 0 else "correct")
        for n, one in enumerate(episodes)
    ]
    config = {"task": "awareness", "split": "removed", "model": MODEL, "models": "replay"}
    return store(directory, name, scenarios, episodes, verdicts, **config, options={"protocol": "explanation"})


def when2call_run(directory: Path, number: int = 20, *, name: str = "choice") -> StoredRun:
    """The four behaviours in turn, each answered as the next one; the judge `behaviour` has labelled all."""
    four = list(Behaviour)
    scenarios, episodes, verdicts = [], [], []
    for n in range(number):
        gold, shown = four[n % 4], four[(n + n // 4) % 4]
        options = tuple(Option(behaviour=one, text=f"{one.value} text") for one in four)
        scenarios.append(
            Scenario(
                id=f"c-{n:02}", task="when2call", group=gold.value, turns=said(f"Ask {n} {HOSTILE}"), target=Choice(gold=gold, options=options)
            )
        )
        answer = f"An answer that is {shown.value.replace('_', ' ')}, number {n}. {HOSTILE}"
        episodes.append(
            Episode(
                id=f"c-{n:02}",
                scenario_id=f"c-{n:02}",
                group=gold.value,
                model=MODEL,
                human="none",
                model_turns=(ModelTurn(text=answer),),
                answer=answer,
                termination=Termination.ANSWERED,
            )
        )
        verdicts.append(Verdict(episode_id=f"c-{n:02}", judge="behaviour", value=shown == gold, label=shown.value))
    config = {"task": "when2call", "split": "all", "model": MODEL, "models": "replay"}
    return store(directory, name, scenarios, episodes, verdicts, **config, options={"mode": "judge"})
