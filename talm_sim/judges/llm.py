"""The `llm` judge: Fail-TaLMs' pass rate, graded by a model (appendix C.1)."""

from __future__ import annotations

from talm_sim.common.digests import canonical_json
from talm_sim.errors import ContextOverflowError
from talm_sim.judges.base import Judge
from talm_sim.judges.prompts import Section, default_instructions, messages_to_user, opening_label, request_sections, show, transcript
from talm_sim.types import Episode, Measured, Scenario, Verdict

_VOTES = 5
"""Graders asked at most; three that agree end the vote."""
_ENOUGH = _VOTES // 2 + 1
RETRIES = 3
"""Times that a vote is asked again after an answer that cannot be read."""
_LABELS = {"pass": r"pass(?:ed|es)?", "fail": r"fail(?:ed|s|ure)?"}


class LlmJudge(Judge):
    """Lets a model vote Pass or Fail up to five times, each in a conversation of its own, and takes the majority.

    A vote that opens with neither word is asked again up to three times; one that still cannot be read is counted in the explanation. With
    fewer than three agreeing votes after the fifth, the majority of those that could be read decides; a tie, or none, leaves the verdict open
    (None). An episode without a final answer, skipped ones among them, fails without a vote, as no grader could pass it.
    """

    name = "llm"
    measure = Measured(name="llm", head="LLM", about="majority of up to five votes", better="higher")
    needs = frozenset({"model"})
    asks = _VOTES * (1 + RETRIES)
    rules = 2
    instructions = default_instructions("llm")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if not episode.termination.completed:
            return self.verdict(episode, None, f"not judged: the episode ended in {episode.termination.value}")
        if episode.gave_no_answer or not episode.answer.strip():
            return self.verdict(episode, False, f"no final answer to grade: the episode ended in {episode.termination.value}")
        question = self._question(episode, scenario)
        votes: list[bool] = []
        unread = 0
        for vote in range(1, _VOTES + 1):
            try:
                label = await self._vote(episode, question, vote)
            except ContextOverflowError:
                return self.verdict(episode, None, "not judged: the episode is longer than the judge's context", votes=tuple(votes))
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
        return self.verdict(episode, value, f"{undecided}{passed} Pass, {failed} Fail{unreadable}", votes=tuple(votes))

    async def _vote(self, episode: Episode, question: str, vote: int) -> str | None:
        """Ask until an answer can be read; each try is recorded under a number of its own, those of the first tries being 1 to `_VOTES`."""
        for number in range(vote, _VOTES * (1 + RETRIES) + 1, _VOTES):
            label = opening_label(await self.ask(episode, question, ("Pass", "Fail"), number), _LABELS)
            if label is not None:
                return label
        return None

    def _question(self, episode: Episode, scenario: Scenario) -> str:
        sections: list[Section] = [*request_sections(scenario, episode), ("Final answer", "\n\n".join(messages_to_user(episode, scenario)))]
        if episode.values is not None:
            sections.append(("Values that it gives", canonical_json(episode.values)))
        if done := transcript(episode):
            sections.append(("Tools called and what they returned", done))
        return show("Does the final answer do what was asked? Start with Pass or Fail.", sections)
