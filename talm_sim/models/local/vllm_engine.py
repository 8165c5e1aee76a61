"""Run vLLM in this process: start, step and close it; its output goes to a file."""

from __future__ import annotations

import gc
import random
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.local.adapters import Adapter
from talm_sim.models.local.model import stop_between_layers
from talm_sim.models.local.vllm_loop import EngineRequest
from talm_sim.models.local.vllm_options import VllmOptions, engine_arguments
from talm_sim.types import Precision

MAX_REASON_CHARS = 240


class VllmEngine:
    """The engine of one model; a `Stepped`.

    Args:
        cpu: Whether vLLM computes on CPU.
        adapter: What is added to the weights; None for nothing.
    """

    def __init__(self, name: str, model: str, options: VllmOptions, *, cpu: bool, log: Path, adapter: Adapter | None = None) -> None:
        self.name = name
        self.closing = threading.Event()
        """Once set, a step on CPU ends at the next layer."""
        self._model, self._options, self._cpu, self._log = model, options, cpu, log
        self._llm: Any = None
        self._adapter = adapter
        self._lora: dict[str, Any] = {}
        self._failure: PrerequisiteError | ProviderError | None = None

    @property
    def config(self) -> Any:
        """The configuration vLLM made, once it has started."""
        return self._llm.vllm_config

    @property
    def precision(self) -> Precision:
        """How scores are computed, once vLLM has started."""
        known = self.config
        attention = known.attention_config.backend
        return Precision(
            dtype=str(known.model_config.dtype).removeprefix("torch."),
            batch_size=known.scheduler_config.max_num_seqs,
            attention="vllm" if attention is None else attention.name.lower(),
        )

    def start(self) -> None:
        """Load the model, unless it is loaded; what failed once fails again with the same message.

        Raises:
            ProviderError: It failed in a step: its cache may hold what was never computed, so no later number could be trusted.
        """
        if self._failure is not None:
            raise self._failure
        if self._llm is not None:
            return
        # An engine in this process seeds Python's own generator, which is not its to seed.
        state = random.getstate()
        try:
            with warnings.catch_warnings():
                # Libraries' own deprecations are not the user's business.
                warnings.simplefilter("ignore")
                self._llm = self._load()
        except Exception as err:
            self._failure = PrerequisiteError(self._in_words("does not start", err))
            raise self._failure from None
        finally:
            random.setstate(state)

    def add(self, request_id: str, request: EngineRequest) -> None:
        """Add a request."""
        salted = {"cache_salt": request.salt} if request.salt else {}
        try:
            self._llm.add_request(request_id, {"prompt_token_ids": list(request.tokens), **salted}, request.params, **self._lora)
        except Exception as err:  # a schema without a grammar, say: nothing of it has been computed
            raise ProviderError(self._in_words("refuses the request", err)) from err

    def abort(self, request_ids: Sequence[str]) -> None:
        """Drop requests."""
        if self._failure is None:
            self._llm.abort_request(list(request_ids))

    def step(self) -> Sequence[Any]:
        """Compute once, and return the outputs of the requests that ended.

        Raises:
            ProviderError: The engine failed permanently.
        """
        try:
            return [output for output in self._llm.step() if output.finished]
        except Exception as err:
            self._failure = ProviderError(self._in_words("failed", err))
            raise self._failure from err

    def close(self) -> None:
        """Free the model's memory."""
        llm, self._llm = self._llm, None
        if llm is None:
            return
        from vllm.distributed import cleanup_dist_env_and_memory

        llm.engine_core.shutdown()
        del llm
        gc.collect()
        cleanup_dist_env_and_memory()

    def _load(self) -> Any:
        from vllm.engine.arg_utils import EngineArgs
        from vllm.usage.usage_lib import UsageContext
        from vllm.v1.engine.llm_engine import LLMEngine

        arguments = EngineArgs(**engine_arguments(self._options, self._model, cpu=self._cpu, adapter=self._adapter))
        llm = LLMEngine.from_engine_args(arguments, usage_context=UsageContext.LLM_CLASS)
        if self._cpu and arguments.enforce_eager:
            llm.apply_model(lambda model: stop_between_layers(model, self.closing))
        if self._adapter is not None:
            from vllm.lora.request import LoRARequest

            self._lora = {"lora_request": LoRARequest("adapter", 1, str(self._adapter.folder.resolve()))}
            llm.add_lora(self._lora["lora_request"])  # an adapter that vLLM does not take is reported now
        return llm

    def _in_words(self, what: str, err: Exception) -> str:
        reason = " ".join(f"{type(err).__name__}: {err}".split())
        if len(reason) > MAX_REASON_CHARS:
            reason = f"{reason[: MAX_REASON_CHARS - 3]}..."
        return f"{self.name}: vLLM {what}: {reason} (log: {self._log})"
