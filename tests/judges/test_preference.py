from __future__ import annotations

import pytest

from talm_sim.errors import ContextOverflowError
from talm_sim.judges.preference import PreferenceJudge
from talm_sim.tasks.talm.task import TalmTask
from talm_sim.types import Episode, Scenario, Source, Termination, Turn, Verdict
from tests.judges.scripted import ScriptedModel, grading, scripted
from tests.tasks.views import View, job

SCENARIO = Scenario(
    id="s-1.no-tools", group="no-tools", turns=(Turn(messages=({"role": "user", "content": "How high?"},)),), source=Source(base="s-1")
)


def episode(answer: str, group: str = "no-tools", epoch: int = 1, termination: Termination = Termination.ANSWERED) -> Episode:
    scenario = "s-1" if group == "perfect" else "s-1.no-tools"
    return Episode(
        id=f"{scenario}@{epoch}", scenario_id=scenario, group=group, epoch=epoch, model="m/m", answer=answer, termination=termination
    )


async def judge(model: ScriptedModel, *perfect: Episode, passed: bool | None = True, judged: Episode | None = None) -> Verdict:
    pair = TalmTask().pair(View(job("talm"), perfect))
    context = grading("preference", model, pair=pair, earlier=lambda episode_id: passed)
    return await PreferenceJudge(context)(judged or episode("without"), SCENARIO)


@pytest.mark.parametrize(
    ("first", "second", "value", "outcome"),
    [
        ("Win", "Lose", True, "win"),
        ("Tie", "Lose", True, "win"),
        ("Tie", "Tie", True, "tie"),
        ("Win", "Win", True, "tie"),
        ("Lose", "Lose", True, "tie"),
        ("Tie", "Win", False, "lose"),
        ("Lose", "Win", False, "lose"),
    ],
)
async def test_both_orders_are_asked_and_a_favoured_position_cancels(first: str, second: str, value: bool, outcome: str) -> None:
    model = scripted(first, second)
    verdict = await judge(model, episode("with", "perfect"))
    assert verdict.value is value
    assert verdict.explanation.startswith(outcome)
    assert model.questions[0].index("without") < model.questions[0].index("with\n")
    assert model.questions[1].index("with\n") < model.questions[1].index("without")


async def test_an_answer_that_does_not_pass_is_not_compared() -> None:
    verdict = await judge(scripted(), episode("with", "perfect"), passed=False)
    assert verdict.value is False and "does not pass" in verdict.explanation


async def test_nothing_is_said_without_a_pass_verdict_a_pair_or_a_finished_episode() -> None:
    assert (await judge(scripted(), episode("with", "perfect"), passed=None)).value is None
    assert "no paired perfect episode" in (await judge(scripted())).explanation
    broken = episode("with", "perfect", termination=Termination.REPLAY_MISS)
    assert (await judge(scripted(), broken)).value is None
    unfinished = episode("", termination=Termination.CANCELLED)
    assert (await judge(scripted(), episode("with", "perfect"), judged=unfinished)).value is None


async def test_it_applies_to_no_tools_alone() -> None:
    verdict = await judge(scripted(), episode("with", "perfect"), judged=episode("x", "perfect"))
    assert verdict.value is None and verdict.explanation.startswith("not applicable")


async def test_a_pair_without_an_answer_is_a_win() -> None:
    assert (await judge(scripted(), episode("", "perfect", termination=Termination.SKIPPED))).value is True


@pytest.mark.parametrize("votes", [("?",), ("Win", "Winner: answer 2"), ("Win", ContextOverflowError("long"))])
async def test_a_comparison_in_one_order_only_is_left_open(votes: tuple[str | Exception, ...]) -> None:
    assert (await judge(scripted(*votes), episode("with", "perfect"))).value is None
