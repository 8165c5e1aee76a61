"""Silence is never a success: an answer that becomes silence, is cut off before a word, or is lost betters no figure of any task."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

import talm_sim
from talm_sim.judges.base import JudgeContext
from talm_sim.judges.registry import judge_class
from talm_sim.store.tidy_tables import add_judge_values, summary_with
from talm_sim.tasks import Job
from talm_sim.tasks.judge_names import judge_names
from talm_sim.types import Episode, Measure, ModelTurn, Row, Scenario, Termination, ToolSpec, Usage
from tests.tasks.views import View

AS_BFCL = {"h_s", "h_s_bfcl", "irr"}
"""The columns that credit silence, and say so."""
RUNS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "talm": ("talm", "oracle eager cautious", {"human": "none", "perturb": ("http-500:times=2",)}),
    "talm, asked": ("talm", "oracle eager asker", {"human": "simulated"}),
    "awareness": ("awareness", "oracle eager cautious", {}),
    "awareness, implicit": ("awareness", "oracle eager cautious", {"protocol": "implicit"}),
    "when2call": ("when2call", "oracle eager cautious asker", {"mode": "judge"}),
    "refusal": ("refusal", "oracle eager cautious", {}),
}
Figures = Mapping[tuple[str, str], Measure]


class Played:
    """The packaged scenarios of a task as each control plays them; a run mixes their episodes, so that right and wrong ones are in it."""

    def __init__(self, task: str, controls: str, options: Mapping[str, Any]) -> None:
        self.by_control: list[dict[str, Episode]] = []
        for control in controls.split():
            with TemporaryDirectory() as place:
                run = talm_sim.run(task=task, model=f"sim/{control}", limit="2", run_dir=place, progress=False, **options)
                self.by_control.append({one.scenario_id: one for one in run.episodes()})
                self.job: Job[Any] = run.job
                self.scenarios: list[Scenario] = [*run.scenarios()]
                self.tools: dict[str, ToolSpec] = run.tools()

    def mixed(self, draw: random.Random) -> list[Episode]:
        return [draw.choice(self.by_control)[one.id] for one in self.scenarios]

    def figures(self, episodes: Sequence[Episode]) -> tuple[Figures, list[Row]]:
        """Every measure of the run's table, by group and name, judged anew."""
        job, scenarios = self.job, {one.id: one for one in self.scenarios}
        context = JudgeContext(tools=self.tools, options=job.options, calls_as=job.task.calls_as(job))
        judges = [judge_class(name)(context) for name in judge_names(job)]
        said = [asyncio.run(judge(one, scenarios[one.scenario_id])) for judge in judges for one in episodes]
        own = {judge.name: judge.measure for judge in judges if judge.name not in job.task.own_judges}
        view = View(job, episodes, self.scenarios, said, self.tools)
        rows = add_judge_values(view.rows(), own, [one for one in said if one.judge in own])
        found = [summary_with(one, rows, own, job) for one in job.task.summarize(rows, view)]
        return {(one.group, measure.name): measure for one in found for measure in one.measures}, rows


@cache
def played(name: str) -> Played:
    return Played(*RUNS[name])


def silent(episode: Episode) -> Episode:
    """It thinks in its last message, and says nothing."""
    last = ModelTurn(raw_text="<think>Hm.</think>", reasoning="Hm.", usage=Usage(output_tokens=9))
    return _ending(episode, last)


def cut_off(episode: Episode) -> Episode:
    """Its last message is cut off within the thought, and so is each answer before it."""
    turn = ModelTurn(raw_text="<think>Hm", reasoning="Hm", stop="length", usage=Usage(output_tokens=9))
    answers = tuple(one.model_copy(update={"value": "unparsed", "raw": "<think>Hm"}) for one in episode.awareness)
    return _ending(episode.model_copy(update={"awareness": answers, "model_turns": (turn,) * len(episode.model_turns)}), turn)


def _ending(episode: Episode, turn: ModelTurn) -> Episode:
    turn = turn.model_copy(update={"user_turn": episode.model_turns[-1].user_turn if episode.model_turns else 0})
    changes = {"model_turns": (*episode.model_turns[:-1], turn), "answer": "", "termination": Termination.ANSWERED}
    return episode.model_copy(update=changes)


def lost(end: Termination) -> Callable[[Episode], Episode]:
    return lambda episode: episode.model_copy(update={"termination": end, "answer": "", "error": "the server is down"})


KINDS = [silent, cut_off, lost(Termination.INFRASTRUCTURE_ERROR), lost(Termination.BLOCKED)]


@pytest.mark.parametrize("name", RUNS)
@settings(max_examples=5, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32), change=st.sampled_from(KINDS))
def test_what_is_not_said_betters_nothing(name: str, seed: int, change: Callable[[Episode], Episode]) -> None:
    """No figure is better than with the answer and than without it: at most, what is not said is left out. What is lost is in none."""
    draw, run = random.Random(seed), played(name)
    episodes = run.mixed(draw)
    place = draw.randrange(len(episodes))
    before, _ = run.figures(episodes)
    without, _ = run.figures([*episodes[:place], KINDS[-1](episodes[place]), *episodes[place + 1 :]])
    changed = change(episodes[place])
    after, rows = run.figures([*episodes[:place], changed, *episodes[place + 1 :]])
    row = next(one for one in rows if one.episode == changed.id)
    assert row.scored or not row.silent
    outcomes = {one.name: one.kind for one in run.job.task.outcomes}
    assert outcomes.get(row.outcome) == (None if row.not_scored else "bad") and not (row.scored and run.job.task.succeeded(row))
    for key, new in after.items():
        if new.better == "neither" or new.place == "outcome" or key[1] in AS_BFCL or new.value is None:
            continue
        known = [one.value for table in (before, without) if (one := table.get(key)) is not None and one.value is not None]
        best = (max if new.better == "higher" else min)(known, default=0.0 if new.better == "higher" else 1.0)
        assert (new.value <= best + 1e-9) if new.better == "higher" else (new.value >= best - 1e-9), (key, known, new.value)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("change", [lambda one: silent(cut_off(one)), *KINDS[1:3]])
def test_who_never_answers_earns_nothing(name: str, change: Callable[[Episode], Episode]) -> None:
    run = played(name)
    found, rows = run.figures([change(one) for one in run.by_control[0].values()])
    good = {one.name for one in run.job.task.outcomes if one.kind == "good"}
    assert not good & {row.outcome for row in rows} and not any(map(run.job.task.succeeded, rows))
    for key, one in found.items():
        if one.better == "higher" and key[1] not in AS_BFCL:
            assert not one.value, (key, one.value)


@pytest.mark.parametrize("name", RUNS)
def test_who_is_silent_where_it_would_be_wrong_is_no_better_than_who_answers(name: str) -> None:
    run = played(name)
    before, rows = run.figures([*run.by_control[1].values()])
    wrong = {row.episode for row in rows if run.job.task.succeeded(row) is False}
    after, _ = run.figures([silent(one) if one.id in wrong else one for one in run.by_control[1].values()])
    assert wrong
    for key, one in after.items():
        if key[1] in run.job.task.success and key[1] not in AS_BFCL:
            assert (one.value, one.n) == (before[key].value, before[key].n), key
