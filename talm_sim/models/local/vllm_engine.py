"""vLLM in this process: scores options and continues prompts, everything that waits together. Started by the first question.

The prompt of a question is encoded once: a request of its own fills vLLM's prefix cache, from which the options read it. Cached tokens have no
log-probabilities, so `vllm_prefix` keeps the cache short of the options, and each question has a `cache_salt` of its own: equal questions and
epochs never share. What vLLM says it read from the cache is checked all the same; an option that was spoiled is scored again without the cache.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.local.scoring import Question, encode_question, encode_text
from talm_sim.models.local.vllm_options import SAMPLING_FIELDS, VllmOptions, engine_arguments, engine_environment
from talm_sim.models.local.vllm_prefix import plan_cache
from talm_sim.models.local.vllm_server import telling_line
from talm_sim.models.parsing import clean, split_reasoning
from talm_sim.types import ModelTurn, Usage

__all__ = ["Ask", "Ready", "VllmEngine"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt with options to score, or with settings by which to continue it."""

    prompt: str
    options: tuple[str, ...] = ()
    settings: GenerationSettings | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """What is asked, in tokens."""

    question: Question
    settings: GenerationSettings | None = None


@dataclass(slots=True)
class _Batch:
    """Requests of one call, and where each question's own stand among them."""

    prompts: list[dict[str, Any]] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)

    def add(self, tokens: Sequence[int], params: Any, salt: str = "") -> int:
        self.prompts.append({"prompt_token_ids": list(tokens), **({"cache_salt": salt} if salt else {})})
        self.params.append(params)
        return len(self.prompts) - 1


class VllmEngine:
    """The engine of one model. Every method but `close` is called by the thread that owns it.

    Args:
        name: The model's `provider/name`, for messages.
        model: Directory or hub id.
        options: The user's.
        tokenizer: Of transformers; made by the caller, so that text becomes tokens as for other local models.
        cpu: Whether vLLM computes on CPU.
        log: What vLLM says goes here.
        reuse: Whether the options of a question read the prompt from the cache; False computes everything for each, to compare.
    """

    def __init__(self, name: str, model: str, options: VllmOptions, tokenizer: Any, *, cpu: bool, log: Path, reuse: bool = True) -> None:
        self.name = name
        self._model, self._options, self._tokenizer, self._cpu, self._log, self.reuse = model, options, tokenizer, cpu, log, reuse
        self._llm: Any = None
        self._failure: PrerequisiteError | None = None
        self._length = 0
        self._block = 0

    def prepare(self, asked: Ask) -> tuple[Ready, int]:
        """Turn a question into tokens, once the engine has started.

        Raises:
            PrerequisiteError: The engine does not start.
            ContextOverflowError: The prompt with its longest option does not fit, or leaves no room for an answer.
            ProviderError: An option is empty.
        """
        self.start()
        if asked.settings is not None:
            tokens = encode_text(self._tokenizer(), asked.prompt)
            question = Question(tuple(tokens), ())
        else:
            question = encode_question(self._tokenizer(), asked.prompt, asked.options, max_length=None, name=self.name)
        longest = len(question.prompt) + max(map(len, question.options), default=0)
        # vLLM keeps room for one token more than it reads.
        if longest + 1 > self._length:
            what = "the prompt" if asked.settings is not None else "the prompt with its longest option"
            raise ContextOverflowError(f"{self.name}: {what} has {longest} tokens, the context {self._length}; nothing was cut.")
        return Ready(question, asked.settings), question.size

    def answer(self, asked: Sequence[Ready]) -> list[list[Continuation] | ModelTurn]:
        """Answer questions together.

        Returns:
            For each its scores, one an option, or the turn that continues it.

        Raises:
            ProviderError: The engine failed.
        """
        batch = _Batch()
        for one in asked:
            places = self._add_options(batch, one.question) if one.settings is None else [self._add_turn(batch, one, one.settings)]
            batch.places.append(places)
        outputs = self._generate(batch)
        self._mend(asked, batch, outputs)
        return [
            self._turn(one, outputs[places[0]])
            if one.settings is not None
            else [_continuation(outputs[place], option) for place, option in zip(places, one.question.options, strict=True)]
            for one, places in zip(asked, batch.places, strict=True)
        ]

    def start(self) -> None:
        """Load the model; a start that failed fails again in the same words.

        Raises:
            PrerequisiteError: vLLM does not start.
        """
        if self._failure is not None:
            raise self._failure
        if self._llm is not None:
            return
        is_directory = Path(self._model).is_dir()
        for variable, value in engine_environment(self._options, cpu=self._cpu, is_directory=is_directory).items():
            os.environ.setdefault(variable, value)
        self._log_to_file()
        # An engine in this process seeds Python's own generator, which is not its to seed.
        state = random.getstate()
        try:
            with warnings.catch_warnings():
                # Libraries' own deprecations are not the user's business.
                warnings.simplefilter("ignore")
                self._llm = self._load()
        except Exception as err:
            reason = telling_line(f"{type(err).__name__}: {err}".partition("\n")[0])
            self._failure = PrerequisiteError(f"{self.name}: vLLM does not start: {reason} (log: {self._log})")
            raise self._failure from None
        finally:
            random.setstate(state)
        config = self._llm.llm_engine.vllm_config
        self._length = config.model_config.max_model_len
        self._block = config.cache_config.block_size

    def close(self) -> None:
        """Free the model's memory."""
        llm, self._llm = self._llm, None
        if llm is None:
            return
        from vllm.distributed import cleanup_dist_env_and_memory

        llm.llm_engine.engine_core.shutdown()
        del llm
        gc.collect()
        cleanup_dist_env_and_memory()

    def _load(self) -> Any:
        from vllm import LLM

        return LLM(**engine_arguments(self._options, self._model, cpu=self._cpu), use_tqdm_on_load=False, disable_log_stats=True)

    def _log_to_file(self) -> None:
        """Have vLLM, its workers too, write to a file: by itself it writes to standard output, which is for data."""
        # What it says before it has read its configuration.
        logging.getLogger("vllm").addHandler(logging.NullHandler())
        if "VLLM_LOGGING_CONFIG_PATH" in os.environ:
            return
        self._log.parent.mkdir(parents=True, exist_ok=True)
        logger = {"handlers": ["file"], "level": "INFO", "propagate": False}
        config = {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"plain": {"format": "%(levelname)s %(asctime)s [%(name)s] %(message)s"}},
            "handlers": {"file": {"class": "logging.FileHandler", "filename": str(self._log), "formatter": "plain", "encoding": "utf-8"}},
            "loggers": {"vllm": logger},
        }
        _remove_logs_of_the_dead(self._log.parent)
        path = self._log.with_suffix(".json")
        path.write_text(json.dumps(config), encoding="utf-8")
        os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(path)

    def _add_options(self, batch: _Batch, question: Question) -> list[int]:
        plan = plan_cache(len(question.prompt), question.options, self._block)
        salt = uuid.uuid4().hex
        if plan.shared and self.reuse:
            batch.add(question.prompt[: plan.shared], _params(), f"{salt}-0")
        return [
            batch.add([*question.prompt, *option], _scoring_params(reuse=self.reuse), f"{salt}-{group}")
            for option, group in zip(question.options, plan.groups, strict=True)
        ]

    def _add_turn(self, batch: _Batch, asked: Ready, settings: GenerationSettings) -> int:
        room = self._length - len(asked.question.prompt)
        sampling = {key: value for key, value in {**self._options.request, **settings.options}.items() if key in SAMPLING_FIELDS}
        params = _params(
            temperature=settings.temperature,
            max_tokens=min(settings.max_new_tokens, room),
            seed=settings.seed,
            detokenize=True,
            # What the model wrote includes marks such as the one that opens a tool call.
            skip_special_tokens=False,
            **sampling,
        )
        return batch.add(asked.question.prompt, params)

    def _generate(self, batch: _Batch) -> list[Any]:
        try:
            outputs: list[Any] = self._llm.generate(batch.prompts, batch.params, use_tqdm=False)
        except Exception as err:
            reason = telling_line(f"{type(err).__name__}: {err}".partition("\n")[0])
            raise ProviderError(f"{self.name}: vLLM failed: {reason} (log: {self._log})") from err
        return outputs

    def _mend(self, asked: Sequence[Ready], batch: _Batch, outputs: list[Any]) -> None:
        """Score again, without the cache, what the cache spoiled in spite of the plan."""
        again, places = _Batch(), []
        for one, own in zip(asked, batch.places, strict=True):
            for place, option in zip(own, one.question.options, strict=False):
                if _is_spoiled(outputs[place], len(one.question.prompt), option):
                    again.add([*one.question.prompt, *option], _scoring_params(reuse=False))
                    places.append(place)
        if places:
            for place, output in zip(places, self._generate(again), strict=True):
                outputs[place] = output

    def _turn(self, asked: Ready, output: Any) -> ModelTurn:
        written = output.outputs[0]
        raw = clean(written.text)
        text, reasoning = split_reasoning(raw)
        return ModelTurn(
            raw_text=raw,
            text=text,
            reasoning=reasoning,
            stop="length" if written.finish_reason == "length" else "stop",
            usage=Usage(
                input_tokens=len(asked.question.prompt),
                output_tokens=len(written.token_ids),
                cached_tokens=output.num_cached_tokens or 0,
            ),
        )


def _remove_logs_of_the_dead(folder: Path) -> None:
    """Remove the logs of engines whose process has ended."""
    for path in folder.glob("engine-*"):
        pid = path.stem.removeprefix("engine-")
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, ValueError):
            path.unlink(missing_ok=True)
        except PermissionError:
            continue


def _params(**fields: Any) -> Any:
    from vllm import SamplingParams

    return SamplingParams(**{"temperature": 0.0, "max_tokens": 1, "detokenize": False, **fields})


def _scoring_params(*, reuse: bool) -> Any:
    return _params(prompt_logprobs=0, flat_logprobs=True, skip_reading_prefix_cache=not reuse)


def _is_spoiled(output: Any, prompt: int, option: Sequence[int]) -> bool:
    """Whether the cached part of a request reached past the last token but one of its prompt."""
    known = output.prompt_logprobs
    return (output.num_cached_tokens or 0) >= prompt or known is None or len(known) < len(option)


def _continuation(output: Any, option: Sequence[int]) -> Continuation:
    # Counted from the end: engines differ in whether they keep a place for each cached token.
    known = output.prompt_logprobs
    first = len(known) - len(option)
    return Continuation(sum(known[first + place][token].logprob for place, token in enumerate(option)), len(option))
