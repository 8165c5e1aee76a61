"""The `preference` judge of split `no-tools`: is the answer at least as good as the one given with tools?"""

from __future__ import annotations

from collections.abc import Callable

from talm_sim.digests import derived_seed
from talm_sim.errors import ContextOverflowError
from talm_sim.judges.base import JudgeContext, OpenVote, judge_digest, no_recording
from talm_sim.judges.grader import ask_grader
from talm_sim.judges.labels import opening_label
from talm_sim.judges.pairing import PerfectPairs
from talm_sim.judges.prompts import JudgePrompts, show
from talm_sim.models.base import Model
from talm_sim.types import Episode, Scenario, Verdict

__all__ = ["PreferenceJudge", "config_digest", "open_judge"]

_LABELS = {"win": r"wins?|won", "tie": r"tied?|draw", "lose": r"loses?|lost|loss"}
_SCORES = {"win": 2, "tie": 1, "lose": 0}
"""The published `win_rate`: 2 a win of the answer without tools, 1 a tie, 0 a loss."""

_RULES = 1


def open_judge(context: JudgeContext) -> PreferenceJudge:
    """Build the judge for a run."""
    assert context.model is not None
    return PreferenceJudge(context.model, context.prompts.preference, context.pairs, context.passed, context.open_vote)


def config_digest(model: str, prompts: JudgePrompts) -> str:
    """Digest of the judge's configuration."""
    return judge_digest(PreferenceJudge.name, _RULES, model, prompts.preference)


class PreferenceJudge:
    """Compares a no-tools answer with the answer of the paired `perfect` episode.

    Rules taken from the published outputs: an answer that does not pass by itself is not compared and counts as lost (their `win_rate` 0,
    "skipped due to pass_rate of 0"); a tie is enough (`win_rate` >= 1 is a pass).

    Rule of our own: the published comparison shows the no-tools answer first, always. Graders favour a position (Zheng et al., "Judging
    LLM-as-a-Judge", NeurIPS 2023, section 3.4), so both orders are asked and their scores averaged: a win in one order and a loss in the
    other is a tie. A comparison that can be read in only one order is left open (None).
    """

    name = "preference"

    def __init__(
        self,
        model: Model,
        instructions: str,
        pairs: PerfectPairs[Episode],
        passed: Callable[[str], bool | None],
        open_vote: OpenVote = no_recording,
    ) -> None:
        """Set up the judge.

        Args:
            model: The grader.
            instructions: Its system message.
            pairs: The `perfect` episodes to compare with.
            passed: Whether an episode, named by its id, passed by itself; None where no pass judge decided.
            open_vote: Enters the setting of a vote; vote 1 shows the no-tools answer first, vote 2 second.
        """
        self.model = model
        self.instructions = instructions
        self.pairs = pairs
        self.passed = passed
        self.open_vote = open_vote
        self.config_digest = judge_digest(self.name, _RULES, model.name, instructions)

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode; it applies to group `no-tools` alone."""
        known = self._without_asking(episode, scenario)
        if isinstance(known, tuple):
            return self._verdict(episode, *known)
        scores: list[int] = []
        for vote, answers in enumerate(((episode.answer, known.answer), (known.answer, episode.answer)), start=1):
            try:
                label = await self._ask(episode, scenario, vote, answers)
            except ContextOverflowError:
                return self._verdict(episode, None, "not compared: the answers are longer than the judge's context")
            if label is None:
                return self._verdict(episode, None, f"undecided: the comparison in order {vote} could not be read")
            scores.append(_SCORES[label] if vote == 1 else 2 - _SCORES[label])
        mean = sum(scores) / 2
        outcome = "win" if mean > 1 else "tie" if mean == 1 else "lose"
        said = f"{outcome} against the answer with tools (win rate {mean:g} of 2; shown first {scores[0]}, shown second {scores[1]})"
        return self._verdict(episode, mean >= 1, said, tuple(score >= 1 for score in scores))

    def _without_asking(self, episode: Episode, scenario: Scenario) -> tuple[bool | None, str] | Episode:
        """The verdict where no comparison is needed or possible, else the episode to compare with."""
        if episode.group != "no-tools":
            return None, "not applicable: only no-tools answers are compared"
        if not episode.termination.completed:
            return None, f"not judged: the episode ended in {episode.termination.value}"
        passed = self.passed(episode.id)
        if not passed:
            # None stays None: without a pass verdict nobody knows whether there is something to compare.
            return (
                passed,
                "not compared: no judge decided whether the answer passes"
                if passed is None
                else "not compared: the answer itself does not pass",
            )
        pair = self.pairs.of(scenario.base, episode.epoch)
        if pair is None:
            return None, "not applicable: there is no paired perfect episode"
        return pair if pair.answer.strip() else (True, "win: the paired perfect episode gave no answer")

    async def _ask(self, episode: Episode, scenario: Scenario, vote: int, answers: tuple[str, str]) -> str | None:
        sections = [("Request", scenario.query), ("Answer 1", answers[0]), ("Answer 2", answers[1])]
        question = show("Compare answer 1 with answer 2. Start with Win, Tie or Lose.", sections)
        with self.open_vote(self.config_digest, episode, vote):
            seed = derived_seed(episode.id, vote)
            return opening_label(await ask_grader(self.model, self.instructions, question, ("Win", "Tie", "Lose"), seed), _LABELS)

    def _verdict(self, episode: Episode, value: bool | None, explanation: str, votes: tuple[bool, ...] = ()) -> Verdict:
        return Verdict(
            episode_id=episode.id,
            judge=self.name,
            judge_config_digest=self.config_digest,
            value=value,
            votes=votes,
            explanation=explanation,
        )
