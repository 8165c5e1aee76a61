"""What every judge is given."""

from __future__ import annotations

from contextlib import nullcontext

from talm_sim.common.digests import derive_seed
from talm_sim.judges.base import Judge, JudgeContext
from talm_sim.types import Episode, Measured, Scenario, Verdict
from tests.judges.scripted import scripted
from tests.tasks.refusal.crafted import answered, case


class Asks(Judge):
    """Asks a model, once or three times."""

    name = "asks"
    measure = Measured(name="asked", head="Asked", about="the model says yes")
    needs = frozenset({"model"})
    instructions = "Say Yes or No."

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        words = [await self.ask(episode, "Well?", ("Yes", "No")), await self.ask(episode, "Well?", ("Yes", "No"), vote=2)]
        return self.verdict(episode, words == ["Yes", "No"])


async def test_a_judge_that_counts_no_votes_asks_for_the_first() -> None:
    """A recording holds each vote by its number, counted from 1: by another number it would not be found again."""
    votes: list[int] = []

    def open_vote(config_digest: str, episode: Episode, vote: int) -> nullcontext[None]:
        votes.append(vote)
        return nullcontext()

    model = scripted("Yes", "No")
    scenario = case("a")
    verdict = await Asks(JudgeContext(model, open_vote=open_vote))(answered(scenario), scenario)
    assert verdict.value and votes == [1, 2]
    assert [one.seed for one in model.settings] == [derive_seed("a", 1), derive_seed("a", 2)]
