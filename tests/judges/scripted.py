"""A grader that says what it is told to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from talm_sim.judges.base import JudgeContext, prompt_key
from talm_sim.models.base import GenerationSettings
from talm_sim.types import ModelTurn, ToolSpec


@dataclass
class ScriptedModel:
    """Answers with the given texts in order, and keeps what it was asked; an exception in the list is raised."""

    answers: Iterator[str | Exception]
    name: str = "test/scripted"
    asked: list[list[BaseMessage]] = field(default_factory=list)
    settings: list[GenerationSettings] = field(default_factory=list)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        assert not tools
        self.asked.append(list(messages))
        self.settings.append(settings)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return ModelTurn(raw_text=answer, text=answer)

    async def aclose(self) -> None:
        return None

    @property
    def questions(self) -> list[str]:
        """User messages, one a conversation."""
        return [str(messages[-1].content) for messages in self.asked]


def scripted(*answers: str | Exception, name: str = "test/scripted") -> ScriptedModel:
    """A model with these answers."""
    return ScriptedModel(iter(answers), name)


def grading(judge: str, model: ScriptedModel, instructions: str = "Grade.", **more: Any) -> JudgeContext:
    """What a judge called `judge` is opened with."""
    return JudgeContext(model, {prompt_key(judge): instructions}, **more)
