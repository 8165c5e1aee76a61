"""The `explanation` judge: is the reason right that a model gives for a No? (appendix B.4 of the study of incomplete conditions)."""

from __future__ import annotations

from functools import cache

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from talm_sim.common.toml_files import packaged_toml
from talm_sim.errors import ContextOverflowError
from talm_sim.judges.base import Judge
from talm_sim.judges.prompts import opening_label, show
from talm_sim.scenarios.dialogue import as_text, dialogue
from talm_sim.tasks.awareness.decision import read_decision
from talm_sim.types import Episode, Measured, Scenario, Verdict, YesNo

_LABELS = {"correct": r"correct", "wrong": r"wrong|incorrect"}
_CHOICES = ("Correct", "Wrong")
_QUESTION = "Is the reason the assistant gave right? Start with Correct or Wrong."
_MAX_NEW_TOKENS = 256
_TEXTS = packaged_toml("talm_sim.tasks.awareness", "explanation.toml")
"""The instructions and the solved examples."""


class ExplanationJudge(Judge):
    """Lets a model say whether an explanation names what is missing; it passes where it does.

    Only instances from which something was taken away, and which were rightly answered No, have an explanation to judge; to others it does not
    apply. The model is shown four solved examples, two of each label, and asked once, at temperature 0. A reply that begins with neither
    word leaves it undecided.
    """

    name = "explanation"
    measure = Measured(name="explanation", head="Explanation", about="a right No has the right reason, as a model judges", better="higher")
    needs = frozenset({"model"})
    instructions = _TEXTS["instructions"].strip()

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if not isinstance(scenario.target, YesNo) or not episode.termination.completed:
            return self.verdict(episode, None, "not judged: there is no answer to a Yes/No question")
        decision = read_decision(episode.answer)
        if scenario.target.gold != "no" or decision.said != "no":
            return self.verdict(episode, None, f"not judged: {decision.said} was said where {scenario.target.gold} is right")
        if not decision.explanation:
            return self.verdict(episode, False, "there is no explanation", label="wrong")
        messages = [SystemMessage(self.instructions), *_examples(), HumanMessage(self._question(scenario, decision.explanation))]
        settings = self.settings(episode, temperature=0.0, max_new_tokens=_MAX_NEW_TOKENS, choices=_CHOICES)
        try:
            with self.vote(episode):
                reply = await self.reply(episode, messages, settings)
        except ContextOverflowError:
            return self.verdict(episode, None, "not judged: the material is longer than the judge's context")
        if (label := opening_label(reply, _LABELS)) is None:
            return self.verdict(episode, None, f"undecided: the judge said neither word: {reply[:200]!r}")
        return self.verdict(episode, label == "correct", " ".join(reply.split())[:200], label=label)

    def _question(self, scenario: Scenario, explanation: str) -> str:
        return _format_question(as_text(dialogue(scenario)), "\n".join(scenario.shown_tools) or "(none)", explanation)


def _format_question(conversation: str, tools: str, explanation: str) -> str:
    return show(_QUESTION, [("Conversation", conversation), ("APIs", tools), ("The assistant's explanation", explanation)])


@cache
def _examples() -> tuple[BaseMessage, ...]:
    messages: list[BaseMessage] = []
    for one in _TEXTS["example"]:
        messages.append(HumanMessage(_format_question(one["conversation"].strip(), one["tools"].strip(), one["explanation"])))
        messages.append(AIMessage(f"{one['label']}. {one['why']}"))
    return tuple(messages)
