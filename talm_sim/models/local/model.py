"""A model that runs on this machine, whichever library runs it: a `Model` and a `TextModel`.

It scores and continues prompts to the letter, and acts in agent loops: in the tools' form of its own chat template, or in the constrained
format, where decoding is held to the schema.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, Protocol

from langchain_core.messages import BaseMessage

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.chat import Completion
from talm_sim.models.constrained import ANSWER_CHARS, ConstrainedModel
from talm_sim.models.local.prompting import Rendering, chat_template_of, render, template_messages
from talm_sim.models.local.tool_text import read_tool_calls
from talm_sim.models.messages import model_turns_in, openai_tools
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import JsonObject, ModelTurn, ToolSpec, Usage

__all__ = ["LocalEngine", "LocalModel", "Text", "stop_between_layers"]


@dataclass(frozen=True, slots=True)
class Text:
    """What a model wrote, its marks such as the one that opens a tool call included, without the token that ended it."""

    text: str
    stop: Literal["stop", "length"]
    usage: Usage


class LocalEngine(Protocol):
    """What runs a model: prompts in, scores and text out."""

    name: str
    """The model's `provider/name`."""
    tokenizer: Any
    """Of transformers."""
    batch_size: int
    """Questions that are scored together."""

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is; see `TextModel.score`."""
        ...

    async def write(self, prompt: str, settings: GenerationSettings, schema: JsonObject | None = None) -> Text:
        """Continue a prompt, held to a JSON schema where one is given.

        Raises:
            ContextOverflowError: The prompt leaves no room for an answer.
        """
        ...

    async def aclose(self) -> None:
        """Free what the model holds, also in the middle of a long prompt."""
        ...


class LocalModel:
    """A model on this machine.

    Args:
        engine: What runs it.
        rendering: What conversations are rendered with.
        constrained: Whether agent turns are constrained actions.
        answer_chars: Longest answer of these, in characters; None for that format's own.
    """

    def __init__(
        self, engine: LocalEngine, rendering: Rendering | None = None, *, constrained: bool = False, answer_chars: int | None = None
    ) -> None:
        self.name, self.batch_size = engine.name, engine.batch_size
        self.engine = engine
        self._rendering = rendering or Rendering()
        self.chat_template = chat_template_of(engine.tokenizer, self._rendering)
        chat = _SchemaChat(engine, self._rendering.without_thought())
        self._actor = ConstrainedModel(chat, answer_chars=answer_chars or ANSWER_CHARS) if constrained else None

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`; see `TextModel.score`."""
        return await self.engine.score(prompt, options)

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue `prompt` until the model ends its turn; see `TextModel.complete`."""
        written = await self.engine.write(prompt, settings)
        text, thought = split_reasoning(written.text)
        return ModelTurn(raw_text=written.text, text=text, reasoning=thought, stop=written.stop, usage=written.usage)

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation through the chat template; see `TextModel.render_chat`."""
        return self._render(list(messages), [{"type": "function", "function": tool} for tool in tools])

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`.

        Raises:
            PrerequisiteError: The model's chat template takes no tools, or not these messages.
        """
        if self._actor is not None:
            return await self._actor.generate(messages, tools, settings)
        wire = template_messages(messages)
        prompt = self._render(wire, openai_tools(tools))
        if tools and prompt == self._render(wire, []):
            raise PrerequisiteError(
                f"{self.name}: its chat template shows the model no tools; use --tool-format constrained, "
                "or -M chat_template=FILE with one that does."
            )
        written = await self.engine.write(prompt, settings)
        rest, thought = split_reasoning(written.text)
        text, calls, broken = read_tool_calls(rest, model_turns_in(messages)) if tools else (rest, (), ())
        called = bool(calls or broken) and written.stop == "stop"
        return ModelTurn(
            raw_text=written.text,
            text=text,
            reasoning=thought,
            tool_calls=calls,
            unparsable_calls=broken,
            stop="tool_calls" if called else written.stop,
            usage=written.usage,
        )

    async def aclose(self) -> None:
        """Free what the model holds."""
        await self.engine.aclose()

    def _render(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
        return render(self.engine.tokenizer, messages, tools, self.name, self._rendering)


class _SchemaChat:
    """The model as the constrained tool format sees it: its action is all it writes, so no thought comes before it."""

    def __init__(self, engine: LocalEngine, rendering: Rendering) -> None:
        self.name = engine.name
        self._engine, self._rendering = engine, rendering

    async def complete(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Completion:
        prompt = render(self._engine.tokenizer, messages, [], self.name, self._rendering)
        written = await self._engine.write(prompt, settings, fields["response_format"]["json_schema"]["schema"])
        return Completion(text=written.text, reasoning="", calls=(), stop=written.stop, logprobs=None, usage=written.usage)

    async def aclose(self) -> None:
        """Leave the engine open: the model closes it."""


def stop_between_layers(model: Any, closing: threading.Event) -> None:
    """Let a pass of a torch module end at the next layer once `closing` is set: a long prompt may take minutes on CPU, and Ctrl-C must not."""
    import torch

    def stop(*_: Any) -> None:
        if closing.is_set():
            raise ProviderError("the model was closed.")

    # The outermost list is the layers'; those inside them are experts or heads.
    stacks = [(name.count("."), module) for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
    for layer in min(stacks, key=itemgetter(0), default=(0, ()))[1]:
        layer.register_forward_pre_hook(stop)
