"""The judge of explanations: to which answers it applies, what its model is shown, how its word is read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import JudgeContext
from talm_sim.models.base import GenerationSettings
from talm_sim.tasks.awareness.explanation import ExplanationJudge
from talm_sim.types import ModelTurn, Scenario, Termination, ToolSpec, Verdict
from tests.tables import labelled
from tests.tasks.awareness.crafted import answered, family, turn

COMPLETE, REPLACED, REMOVED = family(1)
REASON = "Decision: No\nExplanation: the city is not given."


class Grader:
    """Says one thing and keeps what it was shown."""

    name = "test/grader"

    def __init__(self, says: str | Exception) -> None:
        self.says = says
        self.shown: list[list[BaseMessage]] = []
        self.settings: list[GenerationSettings] = []

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.shown.append(list(messages))
        self.settings.append(settings)
        if isinstance(self.says, Exception):
            raise self.says
        return ModelTurn(raw_text=self.says, text=self.says)

    async def aclose(self) -> None: ...


async def judged(scenario: Scenario, said: str, grader: Grader, **more: Termination) -> Verdict:
    return await ExplanationJudge(JudgeContext(model=grader))(answered(scenario, turn(said), **more), scenario)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [(COMPLETE, REASON), (REMOVED, "Decision: Yes\nExplanation: all is there."), (REPLACED, "Who knows?")],
)
async def test_only_a_right_no_has_an_explanation_to_judge(scenario: Scenario, said: str) -> None:
    grader = Grader("Correct")
    verdict = await judged(scenario, said, grader)
    assert (verdict.value, grader.shown) == (None, [])


async def test_the_model_sees_four_balanced_examples_then_conversation_tools_and_explanation() -> None:
    grader = Grader("Correct. The city is missing.")
    verdict = await judged(REMOVED, REASON, grader)
    assert (verdict.value, verdict.label) == (True, "correct")
    ((system, *rest),) = grader.shown
    assert "Correct" in system.text and "Wrong" in system.text
    labels = [message.text.split(".")[0] for message in rest if isinstance(message, AIMessage)]
    assert sorted(labels) == ["Correct", "Correct", "Wrong", "Wrong"] and len(rest) == 9
    asked = rest[-1].text
    assert "the city is not given." in asked and "Decision" not in asked
    assert "User: Book me a room for 2025-05-01." in asked and REMOVED.shown_tools[1] in asked
    (settings,) = grader.settings
    assert (settings.temperature, settings.choices) == (0.0, ("Correct", "Wrong"))


@labelled
async def test_its_word_is_read(reply: str, value: bool | None) -> None:
    assert (await judged(REPLACED, REASON, Grader(reply))).value is value


async def test_a_bare_no_explains_nothing() -> None:
    grader = Grader("Correct")
    verdict = await judged(REMOVED, "No.", grader)
    assert (verdict.value, verdict.explanation, grader.shown) == (False, "there is no explanation", [])


def test_without_a_model_it_says_what_is_missing() -> None:
    with pytest.raises(PrerequisiteError, match="judge 'explanation' needs a model: add --judge-model"):
        ExplanationJudge(JudgeContext())
