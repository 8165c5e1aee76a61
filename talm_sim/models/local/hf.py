"""`hf/<directory, name or hub id>`: a model that transformers runs in this process, on CPU or GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from talm_sim.common.typed_options import read_options
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings, Model
from talm_sim.models.local.batching import Worker
from talm_sim.models.local.decoding import JsonGrammars, StopRules, end_tokens, write
from talm_sim.models.local.engine import Engine, HFOptions, load_engine
from talm_sim.models.local.model import LocalModel, Text, decode_top_tokens, stop_between_layers
from talm_sim.models.local.prompting import Rendering
from talm_sim.models.local.score_reading import reading_of
from talm_sim.models.local.scoring import Scorer, ScoringQuestion, encode_question, encode_text, refuse_infinite
from talm_sim.models.parsing import replace_surrogates
from talm_sim.models.request import ModelRequest
from talm_sim.types import JsonObject, Precision, Usage

if TYPE_CHECKING:
    from talm_sim.models.local.decoding import Grammar

TOKEN_BUDGET = 32_768
"""Most padded tokens scored together; `size_of` says how many more an option's logits are worth."""
_GPU_BATCH = 8


def open_hf(request: ModelRequest) -> Model:
    """Open `hf/<model>`; see `HFOptions` for its `-M` options."""
    options = read_options(request.options, HFOptions, request.name, "-M ")
    if request.replay:
        raise PrerequisiteError(f"{request.name}: runs on this machine and has no recorded traffic; run it with --live.")
    engine = load_engine(request.name, request.model, options)
    return HFModel(engine, options, Rendering.of(options, request.created), constrained=request.constrained)


class HFModel(LocalModel):
    """A model of transformers in its own thread."""

    precision: Precision

    def __init__(self, engine: Engine, options: HFOptions, rendering: Rendering | None = None, *, constrained: bool = False) -> None:
        from accelerate.utils.memory import should_reduce_batch_size

        batch_size = options.batch_size or (_GPU_BATCH if engine.on_gpu else 1)
        super().__init__(
            engine.name, engine.tokenizer, rendering, batch_size=batch_size, constrained=constrained, answer_chars=options.answer_chars
        )
        self._engine = engine
        self.weights = engine.weights
        self._sampling = options.sampling
        self._closing = threading.Event()
        stop_between_layers(engine.model, self._closing)
        reading = reading_of(engine.model)
        self._limits = StopRules(
            self.name, end_tokens(engine.model.generation_config.eos_token_id, engine.tokenizer), engine.max_length, reading.seam
        )
        # The model author's sampling is not what was asked for.
        engine.model.generation_config = type(engine.model.generation_config)()
        self._grammars: JsonGrammars | None = None
        scorer = Scorer(engine.model, reading)
        if not reading.tested:
            scorer.check(self.name)
        self._worker = Worker(
            self._prepare,
            scorer.score,
            batch_size=batch_size,
            budget=TOKEN_BUDGET,
            first=scorer.most_similar_prompt,
            too_much=should_reduce_batch_size,
            name=engine.name,
        )
        self.precision = Precision(dtype=engine.dtype, batch_size=batch_size, attention=engine.model.config._attn_implementation)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`; see `TextModel.score`."""
        return refuse_infinite(await self._worker.ask((prompt, tuple(options))), self.name)

    async def write(self, prompt: str, settings: GenerationSettings, schema: JsonObject | None = None) -> Text:
        """Continue a prompt; see `LocalModel.write`."""
        return await self._worker.run(lambda cancelled: self._write(prompt, settings, schema, cancelled))

    async def aclose(self) -> None:
        """End the thread, also in the middle of a long prompt."""
        self._closing.set()
        await self._worker.aclose()

    def _prepare(self, asked: tuple[str, tuple[str, ...]]) -> tuple[ScoringQuestion, int]:
        engine = self._engine
        question = encode_question(engine.tokenizer, *asked, max_length=engine.max_length, name=self.name)
        return question, size_of(question, self._vocabulary)

    @property
    def _vocabulary(self) -> int:
        """Return the width of the model's logits."""
        width: int = self._engine.model.config.get_text_config().vocab_size
        return width

    def _write(self, prompt: str, settings: GenerationSettings, schema: JsonObject | None, cancelled: Callable[[], bool]) -> Text:
        engine = self._engine
        tokens = encode_text(engine.tokenizer, prompt)
        grammar: Grammar | None = None
        if schema is not None:
            # Made when first needed: scoring a weak model needs no grammar.
            self._grammars = self._grammars or JsonGrammars(engine.tokenizer, self._vocabulary)
            grammar = self._grammars.of(schema)
        written = write(engine.model, tokens, settings, self._limits, sampling=self._sampling, grammar=grammar, cancelled=cancelled)
        # Special tokens are kept: some models write their calls with them.
        text = replace_surrogates(engine.tokenizer.decode(written.tokens, skip_special_tokens=False))
        first = decode_top_tokens(engine.tokenizer, written.first, settings.alternatives)
        return Text(text, written.tokens, written.stop, Usage(input_tokens=len(tokens), output_tokens=written.fed), first)


def size_of(question: ScoringQuestion, vocabulary: int) -> int:
    """Return the tokens of a question; an option's count for as many as its logits weigh, which are the larger part with a large vocabulary."""
    return len(question.prompt) + len(question.options) * question.longest * max(1, vocabulary // TOKEN_BUDGET)
