"""The `preference` judge of split `no-tools`: is the answer at least as good as the one given with tools?"""

from __future__ import annotations

from talm_sim.errors import ContextOverflowError
from talm_sim.judges.base import Judge
from talm_sim.judges.prompts import default_instructions, opening_label, request_sections, show
from talm_sim.types import Episode, Measured, Scenario, Verdict

_LABELS = {"win": r"wins?|won", "tie": r"tied?|draw", "lose": r"loses?|lost|loss"}
_SCORES = {"win": 2, "tie": 1, "lose": 0}
"""The published `win_rate`: 2 a win of the answer without tools, 1 a tie, 0 a loss."""


class PreferenceJudge(Judge):
    """Compares a no-tools answer with the answer of the paired `perfect` episode.

    Rules taken from the published outputs: an answer that does not pass by itself is not compared and counts as lost (their `win_rate` 0,
    "skipped due to pass_rate of 0"); a tie is enough (`win_rate` >= 1 is a pass).

    Rule of our own: the published comparison shows the no-tools answer first, always. Graders favour a position (Zheng et al., "Judging
    LLM-as-a-Judge", NeurIPS 2023, section 3.4), so both orders are asked (vote 1 shows the no-tools answer first, vote 2 second) and their
    scores averaged: a win in one order and a loss in the other is a tie. A comparison that can be read in only one order is left open (None).
    """

    name = "preference"
    measure = Measured(name="preference", head="Preference", about="no worse than the answer given with tools", better="higher")
    needs = frozenset({"model", "pairs", "earlier"})
    asks = 2
    rules = 2
    asking = 1
    instructions = default_instructions("preference")

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode; it applies to group `no-tools` alone."""
        if isinstance(known := self._settle_without_model(episode, scenario), tuple):
            return self.verdict(episode, *known)
        scores: list[int] = []
        for vote, answers in enumerate(((episode.answer, known.answer), (known.answer, episode.answer)), start=1):
            try:
                label = await self._ask(episode, scenario, vote, answers)
            except ContextOverflowError:
                return self.verdict(episode, None, "not compared: the answers are longer than the judge's context")
            if label is None:
                return self.verdict(episode, None, f"undecided: the comparison in order {vote} could not be read")
            scores.append(_SCORES[label] if vote == 1 else 2 - _SCORES[label])
        mean = sum(scores) / 2
        outcome = "win" if mean > 1 else "tie" if mean == 1 else "lose"
        said = f"{outcome} against the answer with tools (win rate {mean:g} of 2; shown first {scores[0]}, shown second {scores[1]})"
        return self.verdict(episode, mean >= 1, said, votes=tuple(score >= 1 for score in scores))

    def _settle_without_model(self, episode: Episode, scenario: Scenario) -> tuple[bool | None, str] | Episode:
        """Return the verdict if no comparison is needed or possible, otherwise the episode to compare with."""
        if episode.group != "no-tools":
            return None, "not applicable: only no-tools answers are compared"
        if not episode.termination.completed:
            return None, f"not judged: the episode ended in {episode.termination.value}"
        if not (passed := self.context.earlier(episode.id)):
            # None stays None: without a pass verdict nobody knows whether there is something to compare.
            return (
                passed,
                "not compared: no judge decided whether the answer passes"
                if passed is None
                else "not compared: the answer itself does not pass",
            )
        if (pair := self.context.pair(episode, scenario)) is None:
            return None, "not applicable: there is no paired perfect episode"
        if pair.gave_no_answer:
            return None, "not applicable: the model gave no answer in the paired perfect episode"
        return pair if pair.answer.strip() else (True, "win: the paired perfect episode gave no answer")

    async def _ask(self, episode: Episode, scenario: Scenario, vote: int, answers: tuple[str, str]) -> str | None:
        sections = [*request_sections(scenario), ("Answer 1", answers[0]), ("Answer 2", answers[1])]
        question = show("Compare answer 1 with answer 2. Start with Win, Tie or Lose.", sections)
        return opening_label(await self.ask(episode, question, ("Win", "Tie", "Lose"), vote), _LABELS)
