"""`hf/<directory, name or hub id>`: a model run in this process by transformers, on CPU or GPU.

It scores and continues prompts to the letter, and acts in agent loops: in the tools' form of its own chat template, or in the constrained
format, where decoding is held to the schema.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings, Model
from talm_sim.models.chat import Completion
from talm_sim.models.constrained import ANSWER_CHARS, ConstrainedModel
from talm_sim.models.local.batching import Worker
from talm_sim.models.local.decoding import JsonGrammars, Limits, Written, end_tokens, write
from talm_sim.models.local.engine import Engine, HFOptions, load_engine, read_options
from talm_sim.models.local.prompting import Rendering, chat_template_of, read_rendering, render, template_messages
from talm_sim.models.local.reading import reading_of
from talm_sim.models.local.scoring import Question, Scorer, encode_question, encode_text, finite
from talm_sim.models.local.tool_text import read_tool_calls
from talm_sim.models.messages import model_turns_in, openai_tools
from talm_sim.models.parsing import clean, split_reasoning
from talm_sim.models.request import ModelRequest
from talm_sim.types import JsonObject, ModelTurn, Precision, ToolSpec, Usage

if TYPE_CHECKING:
    from talm_sim.models.local.decoding import Grammar

__all__ = ["HFModel", "open_hf", "size_of"]

TOKEN_BUDGET = 32_768
"""Most padded tokens scored together; `size_of` says how many more an option's logits are worth."""
GPU_BATCH = 8


def open_hf(request: ModelRequest) -> Model:
    """Open `hf/<model>`; see `HFOptions` for its `-M` options."""
    rendering, rest = read_rendering(request.name, request.options, request.created)
    options = read_options(request.name, rest)
    if request.replay:
        raise PrerequisiteError(f"{request.name}: runs on this machine and has no recorded traffic; run it with --live.")
    return HFModel(load_engine(request.name, request.model, options), options, rendering, constrained=request.constrained)


class HFModel:
    """A model of transformers behind a thread of its own: a `Model` and a `TextModel`.

    Args:
        engine: The model, loaded.
        options: The user's options.
        rendering: What conversations are rendered with.
        constrained: Whether agent turns are constrained actions.
    """

    def __init__(self, engine: Engine, options: HFOptions, rendering: Rendering | None = None, *, constrained: bool = False) -> None:
        from accelerate.utils.memory import should_reduce_batch_size

        self.name = engine.name
        self._rendering = rendering or Rendering()
        self.chat_template = chat_template_of(engine.tokenizer, self._rendering)
        self._engine = engine
        self._sampling = options.sampling
        self._closing = threading.Event()
        _stop_between_layers(engine.model, self._closing)
        reading = reading_of(engine.model)
        self._limits = Limits(self.name, end_tokens(engine.model, engine.tokenizer), engine.max_length, reading.seam)
        # What a model's author would sample by is not what was asked for.
        engine.model.generation_config = type(engine.model.generation_config)()
        self._grammars: JsonGrammars | None = None
        scorer = Scorer(engine.model, reading)
        if not reading.tested:
            scorer.check(self.name)
        self.batch_size = options.batch_size or (GPU_BATCH if engine.on_gpu else 1)
        self._worker = Worker(
            self._prepare,
            scorer.score,
            batch_size=self.batch_size,
            budget=TOKEN_BUDGET,
            first=scorer.nearest,
            too_much=should_reduce_batch_size,
            name=engine.name,
        )
        self.precision = Precision(dtype=engine.dtype, batch_size=self.batch_size, attention=engine.model.config._attn_implementation)
        self._actor: ConstrainedModel | None = None
        if constrained:
            self._actor = ConstrainedModel(_SchemaChat(self), answer_chars=options.answer_chars or ANSWER_CHARS)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`; see `TextModel.score`."""
        return finite(await self._worker.ask((prompt, tuple(options))), self.name)

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue `prompt` until the model ends its turn; see `TextModel.complete`."""
        raw, written, fed = await self.write(prompt, settings)
        text, thought = split_reasoning(raw)
        return ModelTurn(raw_text=raw, text=text, reasoning=thought, stop=written.stop, usage=_usage(fed, written))

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation through the tokenizer's own chat template; see `TextModel.render_chat`."""
        wrapped = [{"type": "function", "function": tool} for tool in tools]
        return render(self._engine.tokenizer, list(messages), wrapped, self.name, self._rendering.without_thought())

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`.

        Raises:
            PrerequisiteError: The model's chat template takes no tools, or not these messages.
        """
        if self._actor is not None:
            return await self._actor.generate(messages, tools, settings)
        wire, shown = template_messages(messages), openai_tools(tools)
        prompt = render(self._engine.tokenizer, wire, shown, self.name, self._rendering)
        if tools and prompt == render(self._engine.tokenizer, wire, [], self.name, self._rendering):
            raise PrerequisiteError(f"{self.name}: its chat template shows the model no tools; use --tool-format constrained.")
        raw, written, fed = await self.write(prompt, settings)
        rest, thought = split_reasoning(raw)
        text, calls, broken = read_tool_calls(rest, model_turns_in(messages)) if tools else (rest, (), ())
        called = bool(calls or broken) and written.stop == "stop"
        return ModelTurn(
            raw_text=raw,
            text=text,
            reasoning=thought,
            tool_calls=calls,
            unparsable_calls=broken,
            stop="tool_calls" if called else written.stop,
            usage=_usage(fed, written),
        )

    async def write(self, prompt: str, settings: GenerationSettings, schema: JsonObject | None = None) -> tuple[str, Written, int]:
        """Continue a prompt, held to a JSON schema where one is given.

        Returns:
            The text, the same in tokens, and the number of tokens of the prompt.
        """
        return await self._worker.run(lambda cancelled: self._write(prompt, settings, schema, cancelled))

    async def aclose(self) -> None:
        """End the thread, also in the middle of a long prompt."""
        self._closing.set()
        await self._worker.aclose()

    def _prepare(self, asked: tuple[str, tuple[str, ...]]) -> tuple[Question, int]:
        engine = self._engine
        question = encode_question(engine.tokenizer, *asked, max_length=engine.max_length, name=self.name)
        return question, size_of(question, self._vocabulary)

    @property
    def _vocabulary(self) -> int:
        """Width of the model's logits."""
        width: int = self._engine.model.config.get_text_config().vocab_size
        return width

    def _write(
        self, prompt: str, settings: GenerationSettings, schema: JsonObject | None, cancelled: Callable[[], bool]
    ) -> tuple[str, Written, int]:
        engine = self._engine
        tokens = encode_text(engine.tokenizer, prompt)
        grammar: Grammar | None = None
        if schema is not None:
            # Made when first needed: scoring a weak model needs no grammar.
            self._grammars = self._grammars or JsonGrammars(engine.tokenizer, self._vocabulary)
            grammar = self._grammars.of(schema)
        written = write(engine.model, tokens, settings, self._limits, sampling=self._sampling, grammar=grammar, cancelled=cancelled)
        # Special tokens are kept: some models write their calls with them.
        return clean(engine.tokenizer.decode(written.tokens, skip_special_tokens=False)), written, len(tokens)


class _SchemaChat:
    """The model as the constrained tool format sees it."""

    def __init__(self, model: HFModel) -> None:
        self.name = model.name
        self._model = model

    async def complete(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Completion:
        prompt = self._model.render_chat(messages, ())
        text, written, fed = await self._model.write(prompt, settings, fields["response_format"]["json_schema"]["schema"])
        return Completion(text=text, reasoning="", calls=(), stop=written.stop, logprobs=None, usage=_usage(fed, written))

    async def aclose(self) -> None:
        """Leave the model open: it closes itself."""


def size_of(question: Question, vocabulary: int) -> int:
    """Tokens of a question, an option's counting for as many as its logits weigh: of a large vocabulary they are the larger part."""
    return len(question.prompt) + len(question.options) * question.longest * max(1, vocabulary // TOKEN_BUDGET)


def _usage(fed: int, written: Written) -> Usage:
    return Usage(input_tokens=fed, output_tokens=written.fed)


def _stop_between_layers(model: Any, closing: threading.Event) -> None:
    """Let a pass end at the next layer once the model is closed: a long prompt may take minutes on CPU, and Ctrl-C must not wait for it."""
    import torch

    def stop(*_: Any) -> None:
        if closing.is_set():
            raise ProviderError("the model was closed.")

    # The outermost list is the layers'; those inside them are experts or heads.
    stacks = [(name.count("."), module) for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)]
    for layer in min(stacks, key=itemgetter(0), default=(0, ()))[1]:
        layer.register_forward_pre_hook(stop)
