"""A model that reads of tools in a system message and writes its calls as text, so that it can act without native tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from talm_sim.agent.graph import prompt_text
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, Model, ScenarioModel
from talm_sim.models.formats import FORMATS, CallToWrite, read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.models.wire_messages import model_turns_in, text_of
from talm_sim.tasks.refusal.prompts import CHAT
from talm_sim.tasks.refusal.tool_wording import TOLD, insert_tools
from talm_sim.types import ModelTurn, ToolSpec

_FORMS = {"injected": "hermes", "pythonic": "pythonic"}
"""Template to the form in which it asks for calls."""


def acting_model(model: Model, template: str, text: str) -> Model:
    """Return a model as it acts by a template; a control calls natively whatever the template."""
    if template == CHAT or isinstance(model, ScenarioModel):
        return model
    if template not in TOLD:
        known = ", ".join((CHAT, *TOLD))
        raise PrerequisiteError(
            f"template '{template}': writes single requests, and BFCL's multi-turn rows are conversations; give one of {known}."
        )
    return PromptedModel(model, template, text)


class PromptedModel:
    """A model that writes its calls as text; attributes are those of `Model`.

    The system message shows the tools that are offered now, so that a tool that arrives later is in it from then on. What the model called is
    written again as it was asked to write it, and results are told by the user.
    """

    def __init__(self, model: Model, template: str, text: str) -> None:
        self.name = model.name
        self._model = model
        self._form = FORMATS[_FORMS[template]]
        self._text = text

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        shown = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in tools]
        system = SystemMessage(insert_tools(self._text, "\n".join(json.dumps(one, ensure_ascii=False) for one in shown)))
        turn = await self._model.generate([system, *self._written(messages)], (), settings)
        if turn.tool_calls or turn.unparsable_calls:
            return turn
        number = model_turns_in(messages)
        read = read_calls(split_reasoning(turn.raw_text)[0], shown, number)
        found = {"text": read.text, "tool_calls": read.calls, "unparsable_calls": read.unparsable}
        called = bool(read.calls or read.unparsable) and turn.stop == "stop"
        told = {} if number else {"raw_prompt": prompt_text([system, *cast("Sequence[AnyMessage]", messages)])}
        return turn.model_copy(update={**found, **told, "stop": "tool_calls" if called else turn.stop})

    def _written(self, messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
        results: list[str] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                told = json.dumps({"name": message.name, "content": text_of(message)}, ensure_ascii=False)
                results.append(f"<tool_response>\n{told}\n</tool_response>")
                continue
            if results and not isinstance(message, HumanMessage):
                yield HumanMessage("\n".join(results))
                results = []
            if isinstance(message, HumanMessage):
                yield HumanMessage("\n".join([*results, text_of(message)]))
                results = []
            else:
                yield self._said(message) if isinstance(message, AIMessage) else message
        if results:
            yield HumanMessage("\n".join(results))

    def _said(self, message: AIMessage) -> AIMessage:
        calls = [CallToWrite(call["name"], call["args"]) for call in message.tool_calls]
        broken = [str(call["args"] or "") for call in message.invalid_tool_calls]
        return AIMessage("\n".join(filter(None, (text_of(message), self._form.write(calls) if calls else "", *broken))))

    async def aclose(self) -> None:
        """Leave the model open, which whoever opened it closes."""
