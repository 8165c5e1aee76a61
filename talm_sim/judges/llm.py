"""The `llm` judge: Fail-TaLMs' pass rate, graded by a model (appendix C.1)."""

from __future__ import annotations

from talm_sim.digests import derived_seed
from talm_sim.errors import ContextOverflowError
from talm_sim.judges.base import JudgeContext, OpenVote, judge_digest, no_recording
from talm_sim.judges.grader import ask_grader
from talm_sim.judges.labels import opening_label
from talm_sim.judges.prompts import JudgePrompts, Section, show, transcript
from talm_sim.models.base import Model
from talm_sim.types import Episode, Scenario, Verdict

__all__ = ["VOTES", "LlmJudge", "config_digest", "open_judge"]

VOTES = 5
"""Graders asked at most; three that agree end the vote."""
_ENOUGH = VOTES // 2 + 1
_LABELS = {"pass": r"pass(?:ed|es)?", "fail": r"fail(?:ed|s|ure)?"}
_RULES = 1


def open_judge(context: JudgeContext) -> LlmJudge:
    """Build the judge for a run."""
    assert context.model is not None
    return LlmJudge(context.model, context.prompts.llm, context.open_vote)


def config_digest(model: str, prompts: JudgePrompts) -> str:
    """Digest of the judge's configuration."""
    return judge_digest(LlmJudge.name, _RULES, model, prompts.llm)


class LlmJudge:
    """Lets a model vote Pass or Fail up to five times, each in a conversation of its own, and takes the majority.

    A vote that opens with neither word is no vote: it is counted in the explanation and not asked again. With fewer than three agreeing votes
    after the fifth, the majority of those that could be read decides; a tie, or none, leaves the verdict open (None). An episode without a
    final answer, skipped ones among them, fails without a vote, as no grader could pass it.
    """

    name = "llm"

    def __init__(self, model: Model, instructions: str, open_vote: OpenVote = no_recording) -> None:
        self.model = model
        self.instructions = instructions
        self.open_vote = open_vote
        self.config_digest = judge_digest(self.name, _RULES, model.name, instructions)

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if not episode.termination.completed:
            return self._verdict(episode, None, f"not judged: the episode ended in {episode.termination.value}")
        if not episode.answer.strip():
            return self._verdict(episode, False, f"no final answer to grade: the episode ended in {episode.termination.value}")
        question = self._question(episode, scenario)
        votes: list[bool] = []
        unread = 0
        for vote in range(1, VOTES + 1):
            try:
                with self.open_vote(self.config_digest, episode, vote):
                    raw = await ask_grader(self.model, self.instructions, question, ("Pass", "Fail"), derived_seed(episode.id, vote))
            except ContextOverflowError:
                return self._verdict(episode, None, "not judged: the episode is longer than the judge's context", votes)
            label = opening_label(raw, _LABELS)
            if label is None:
                unread += 1
                continue
            votes.append(label == "pass")
            if max(votes.count(True), votes.count(False)) == _ENOUGH:
                break
        passed, failed = votes.count(True), votes.count(False)
        unreadable = f", {unread} unreadable" if unread else ""
        value = None if passed == failed else passed > failed
        undecided = "undecided: " if value is None else ""
        return self._verdict(episode, value, f"{undecided}{passed} Pass, {failed} Fail{unreadable}", votes)

    def _question(self, episode: Episode, scenario: Scenario) -> str:
        sections: list[Section] = [("Request", scenario.query), ("Final answer", episode.answer)]
        done = transcript(episode)
        if done:
            sections.append(("Tools called and what they returned", done))
        return show("Does the final answer do what was asked? Start with Pass or Fail.", sections)

    def _verdict(self, episode: Episode, value: bool | None, explanation: str, votes: list[bool] | None = None) -> Verdict:
        return Verdict(
            episode_id=episode.id,
            judge=self.name,
            judge_config_digest=self.config_digest,
            value=value,
            votes=tuple(votes or ()),
            explanation=explanation,
        )
