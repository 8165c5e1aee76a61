"""`--stop-after awareness`: the awareness questions are asked, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli.report.blocks import judge_hint
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import CassetteLibrary
from talm_sim.runs.api import judge, run
from talm_sim.tasks import Recorded
from talm_sim.tasks.judge_names import judge_names
from talm_sim.types import Termination
from tests.runs.recorded_world import make_world
from tests.tasks.views import job


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return make_world(tmp_path) | {"stop_after": "awareness"}


def plainly(messages: Any, tools: Any) -> str:
    return "Yes."


def test_an_episode_ends_after_the_awareness_questions(world: dict[str, Any]) -> None:
    stored = run(**world | {"split": "perfect,underspecified", "model": "sim/asker", "human": "simulated"})
    for episode in stored.episodes():
        assert episode.awareness and not (episode.model_turns or episode.events or episode.answer)
        assert episode.termination is Termination.ASSESSED
    measures = {row["group"]: row for row in stored.summary_records()}
    assert {group: (row["awareness"], row["skip"], row["unexpected"]) for group, row in measures.items()} == {
        "perfect": (1.0, 0.0, 0.0),
        "underspecified": (1.0, 0.0, None),
    }
    for row in measures.values():
        assert (row["n"], row["pass_rate"], row["interaction"]) == (4, None, None)
    assert not any({"questions", "asked", "went_ahead"} & set(row) for row in stored.to_records())
    assert not list(stored.verdicts()) and not judge_hint(stored)
    assert not any("asking:" in note for summary in stored.summary() for note in summary.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "no-tools"}, "group no-tools of task talm is asked no awareness questions; leave out "),
        ({"agent": plainly}, "stop_after: your own agent is asked no awareness questions"),
        ({"judge": ("reference",)}, "there is no answer to judge"),
        ({"judge_model": "openai/gpt-4o"}, "there is no answer to judge"),
        ({"stop_after": "tools"}, "'tools'"),
    ],
)
def test_what_cannot_be_asked_alone_is_refused(world: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        run(**world | options)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not list(world["run_dir"].glob("*"))


def test_groups_that_are_asked_nothing_are_left_out_and_no_judge_comes_later(world: dict[str, Any]) -> None:
    asked = job("talm", split="perfect,no-tools", scenarios=world["scenarios"], stop_after="awareness")
    assert {scenario.group for scenario in asked.task.load(asked)} == {"perfect"}
    assert judge_names(asked) == ()
    stored = run(**world)
    with pytest.raises(PrerequisiteError, match="there is no answer to judge"):
        judge(stored.path, judge=("reference",))


def test_only_the_questions_are_counted_beforehand(world: dict[str, Any]) -> None:
    whole = job("talm", split="perfect", scenarios=world["scenarios"], human="none")
    recorded = Recorded(CassetteLibrary(world["cassettes"]), {}, known=False)
    ends = [next(iter(one.task.bounds(one.task.load(one), one, recorded))) for one in (whole, whole.having(stop_after="awareness"))]
    assert [(bound.least, bound.most) for bound in ends] == [(2, 13), (2, 8)]
    assert ends[1].input_tokens < ends[0].input_tokens
