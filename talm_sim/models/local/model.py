"""The base class of models that run on this machine, whichever library runs them: a `Model` and a `TextModel`.

It scores and continues raw prompts, and acts in agent loops: in the tools' form of its own chat template, or in the constrained
format, where decoding is held to the schema.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from operator import itemgetter
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from talm_sim.errors import ProviderError
from talm_sim.models.answers import top_tokens
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.constrained import ANSWER_CHARS, ConstrainedModel
from talm_sim.models.endings import Answer
from talm_sim.models.formats import ParsedText, read_calls
from talm_sim.models.local.adapters import Weights
from talm_sim.models.local.prompting import (
    Rendering,
    chat_template_of,
    check_tools_shown,
    render,
    render_whole,
    template_messages,
    warn_unread_form,
)
from talm_sim.models.parsing import replace_surrogates, split_reasoning
from talm_sim.models.wire_messages import model_turns_in, openai_tools
from talm_sim.types import JsonObject, ModelTurn, Precision, TokenLogprob, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class Text:
    """What a model wrote, including marks such as the one that opens a tool call, but not the token that ended it."""

    text: str
    tokens: tuple[int, ...]
    stop: Literal["stop", "length"]
    usage: Usage
    first: tuple[TokenLogprob, ...] = ()
    """The likeliest first tokens, before any sampling option; only if they were asked for, and no schema held the text."""


class LocalModel(ABC):
    """A model on this machine; what runs it says how to score and how to write."""

    precision: Precision | None = None
    """How scores are computed, known once there are any."""
    weights = Weights()
    """What is known of the weights if an adapter was added to them."""

    def __init__(
        self, name: str, tokenizer: Any, rendering: Rendering | None, *, batch_size: int, constrained: bool, answer_chars: int | None
    ) -> None:
        self.name, self.tokenizer, self.batch_size = name, tokenizer, batch_size
        self._rendering = rendering or Rendering()
        self._told = False
        self.chat_template = chat_template_of(tokenizer, self._rendering)
        self._actor = ConstrainedModel(_SchemaChat(self), answer_chars=answer_chars or ANSWER_CHARS) if constrained else None

    @abstractmethod
    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`; see `TextModel.score`."""

    @abstractmethod
    async def write(self, prompt: str, settings: GenerationSettings, schema: JsonObject | None = None) -> Text:
        """Continue a prompt, held to a JSON schema if one is given."""

    @abstractmethod
    async def aclose(self) -> None:
        """Free what the model holds, also in the middle of a long prompt."""

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue `prompt` until the model ends its turn; see `TextModel.complete`."""
        written = await self.write(prompt, settings)
        text, thought = split_reasoning(written.text)
        return ModelTurn(
            raw_text=written.text, text=text, reasoning=thought, first_tokens=written.first, stop=written.stop, usage=written.usage
        )

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation through the chat template; see `TextModel.render_chat`."""
        wrapped = [{"type": "function", "function": tool} for tool in tools]
        return render(self.tokenizer, list(messages), wrapped, self.name, self._rendering.without_thought())

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        if self._actor is not None:
            return await self._actor.generate(messages, tools, settings)
        wire = template_messages(messages)
        prompt = render_whole(self.tokenizer, wire, openai_tools(tools), self.name, self._rendering)
        if tools:
            bare = render_whole(self.tokenizer, wire, [], self.name, self._rendering)
            fix = "use --tool-format constrained, or -M chat_template=FILE with one that does"
            check_tools_shown(prompt, bare, (tool.name for tool in tools), f"{self.name}: its chat template", fix)
        if tools and not self._told:
            self._told = True
            warn_unread_form(self.tokenizer, self.name, self._rendering)
        written = await self.write(prompt, settings)
        rest, thought = split_reasoning(written.text)
        shown = [{"name": tool.name, "parameters": tool.parameters} for tool in tools]
        read = read_calls(rest, shown, model_turns_in(messages)) if tools else ParsedText(rest)
        called = bool(read.calls or read.unparsable) and written.stop == "stop"
        return ModelTurn(
            raw_text=written.text,
            text=read.text,
            reasoning=thought,
            tool_calls=read.calls,
            unparsable_calls=read.unparsable,
            first_tokens=written.first,
            stop="tool_calls" if called else written.stop,
            usage=written.usage,
        )


class _SchemaChat:
    """The model as the constrained tool format sees it."""

    def __init__(self, model: LocalModel) -> None:
        self.name = model.name
        self._model = model

    async def chat(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Answer:
        # The action is all that is written, so no thought comes before it.
        prompt = self._model.render_chat(messages, ())
        written = await self._model.write(prompt, settings, fields["response_format"]["json_schema"]["schema"])
        return Answer(written.text, word=written.stop, usage=written.usage)

    async def aclose(self) -> None:
        """Leave the model open, which closes itself."""


def decode_top_tokens(tokenizer: Any, logprobs: Iterable[tuple[int, float]], most: int) -> tuple[TokenLogprob, ...]:
    """Return the `most` likeliest of some tokens, given by their numbers, without the impossible ones."""
    # A probability of 1 may come out a rounding above it.
    known = [(token, min(logprob, 0.0)) for token, logprob in logprobs if logprob > -inf]
    return top_tokens((TokenLogprob(token=replace_surrogates(tokenizer.decode([token])), logprob=logprob) for token, logprob in known), most)


def stop_between_layers(model: Any, closing: threading.Event) -> None:
    """Let a pass of a torch module end at the next layer once `closing` is set: a long prompt may take minutes, and Ctrl-C must not."""
    import torch

    def stop(*_: Any) -> None:
        if closing.is_set():
            raise ProviderError("the model was closed.")

    # The outermost list is that of the layers; those inside them are experts or heads.
    stacks = [(name.count("."), module) for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
    for layer in min(stacks, key=itemgetter(0), default=(0, ()))[1]:
        layer.register_forward_pre_hook(stop)
