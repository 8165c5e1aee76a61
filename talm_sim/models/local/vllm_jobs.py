"""Turn jobs into requests to vLLM: options to score, text to write.

The prompt of a question is encoded once: a request of its own fills vLLM's prefix cache, from which the options read it. Cached tokens
have no log-probabilities, so the cache ends before the options, and each question has its own `cache_salt`: equal questions and epochs
never share. What vLLM says it read from the cache is still checked; an option that was spoiled is scored again without the cache.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.local.decoding import SEPARATORS, end_tokens
from talm_sim.models.local.model import Text, decode_top_tokens
from talm_sim.models.local.scoring import encode_question, encode_text, refuse_infinite
from talm_sim.models.local.vllm_engine import VllmEngine
from talm_sim.models.local.vllm_loop import EngineRequest, Job
from talm_sim.models.local.vllm_options import SAMPLING
from talm_sim.models.parsing import replace_surrogates
from talm_sim.types import JsonObject, Usage


def score(engine: VllmEngine, tokenizer: Any, prompt: str, options: Sequence[str], *, reuse: bool = True) -> Job[list[Continuation]]:
    """Say how likely each option is as the continuation of a prompt; without `reuse`, each is computed whole, to compare."""
    question = encode_question(tokenizer, prompt, options, max_length=None, name=engine.name)
    length = len(question.prompt)
    _check_room(engine, "the prompt with its longest option", length + max(map(len, question.options)))
    plan = plan_cache(length, question.options, engine.config.cache_config.block_size)
    salt = uuid.uuid4().hex
    first = [EngineRequest(question.prompt[: plan.shared], _params(), f"{salt}-0")] if plan.shared and reuse else []
    full = [(*question.prompt, *option) for option in question.options]
    outputs = yield [
        *first,
        *(EngineRequest(tokens, _scoring_params(reuse=reuse), f"{salt}-{group}") for tokens, group in zip(full, plan.groups, strict=True)),
    ]
    found = list(outputs[len(first) :])
    spoiled = [place for place, option in enumerate(question.options) if _is_spoiled(found[place], length, option)]
    if spoiled:
        again = yield [EngineRequest(full[place], _scoring_params(reuse=False)) for place in spoiled]
        for place, output in zip(spoiled, again, strict=True):
            found[place] = output
    return refuse_infinite([_continuation(output, option) for output, option in zip(found, question.options, strict=True)], engine.name)


def write(
    engine: VllmEngine, tokenizer: Any, prompt: str, settings: GenerationSettings, schema: JsonObject | None, sampling: Mapping[str, Any]
) -> Job[Text]:
    """Continue a prompt until the model ends its turn."""
    tokens = encode_text(tokenizer, prompt)
    _check_room(engine, "the prompt", len(tokens))
    room = engine.config.model_config.max_model_len - len(tokens)
    ends = _end_tokens(engine, tokenizer)
    fields = {**sampling, **settings.options}
    for key in fields:
        if key not in SAMPLING:
            raise ProviderError(f"{engine.name}: cannot sample with '{key}'; it knows {', '.join(SAMPLING)}.")
    if schema is not None:
        fields["structured_outputs"] = _grammar_for(schema)
    fields |= {"temperature": settings.own_temperature, "max_tokens": min(settings.max_new_tokens, room), "seed": settings.seed}
    (output,) = yield [EngineRequest(tokens, _params(**fields, stop_token_ids=sorted(ends), logprobs=settings.alternatives))]
    written = output.outputs[0]
    if not math.isfinite(written.cumulative_logprob):
        raise ProviderError(f"{engine.name}: what it wrote has no finite log-probability; its dtype overflows: use -M dtype=float32.")
    # The token that was written is listed, too, even if it is not one of the likeliest.
    first = [(token, one.logprob) for token, one in written.logprobs[0].items() if one.rank <= settings.alternatives]
    made = tuple(written.token_ids)
    text = made[:-1] if made and made[-1] in ends else made
    return Text(
        # Special tokens are kept: some models write their calls with them.
        replace_surrogates(tokenizer.decode(text, skip_special_tokens=False)),
        text,
        "length" if written.finish_reason == "length" else "stop",
        Usage(input_tokens=len(tokens), output_tokens=len(made), cached_tokens=output.num_cached_tokens or 0),
        decode_top_tokens(tokenizer, first, settings.alternatives),
    )


def _check_room(engine: VllmEngine, what: str, tokens: int) -> None:
    length = engine.config.model_config.max_model_len
    # vLLM keeps room for one more token than it reads.
    if tokens + 1 > length:
        raise ContextOverflowError(f"{engine.name}: {what} has {tokens} tokens, the context {length}; nothing was cut.")


def _params(**fields: Any) -> Any:
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import RequestOutputKind

    known = {"temperature": 0.0, "max_tokens": 1, "detokenize": False, "output_kind": RequestOutputKind.FINAL_ONLY}
    try:
        return SamplingParams(**{**known, **fields})
    except VLLMValidationError as err:
        raise ProviderError(f"vLLM refuses the sampling: {' '.join(str(err).split())[:200]}") from None


def _scoring_params(*, reuse: bool) -> Any:
    return _params(prompt_logprobs=0, flat_logprobs=True, skip_reading_prefix_cache=not reuse)


def _grammar_for(schema: JsonObject) -> Any:
    """Return the grammar by which `hf/` models are held to the same schema."""
    from vllm.sampling_params import StructuredOutputsParams

    return StructuredOutputsParams(json={**schema, "x-guidance": SEPARATORS})


def _end_tokens(engine: VllmEngine, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a turn."""
    return end_tokens(engine.config.model_config.try_get_generation_config().get("eos_token_id"), tokenizer)


def _is_spoiled(output: Any, prompt: int, option: Sequence[int]) -> bool:
    """Return whether the cached part of a request went past the last token but one of its prompt."""
    known = output.prompt_logprobs
    return (output.num_cached_tokens or 0) >= prompt or known is None or len(known) < len(option)


def _continuation(output: Any, option: Sequence[int]) -> Continuation:
    # Counted from the end: engines differ on whether they keep a place for each cached token.
    known = output.prompt_logprobs
    first = len(known) - len(option)
    return Continuation(sum(known[first + place][token].logprob for place, token in enumerate(option)), len(option))


@dataclass(frozen=True, slots=True)
class CachePlan:
    """How the requests of a question share what vLLM caches.

    Attributes:
        shared: Tokens of the prompt that a separate request encodes first, in whole blocks; 0 if there is nothing to share. So no option
            pays for the prompt, and its log-probabilities, which nobody wants, are never computed.
        groups: For each option the number of its cache; 0 is the one with the shared tokens.
    """

    shared: int
    groups: tuple[int, ...]


def plan_cache(prompt: int, options: Sequence[Sequence[int]], block: int) -> CachePlan:
    """Plan the caches of a question.

    >>> plan_cache(40, [[1, 2], [1, 3], [4]], block=16)
    CachePlan(shared=32, groups=(0, 0, 0))
    >>> plan_cache(48, [[1, 2], [1, 3]], block=16)
    CachePlan(shared=32, groups=(0, 1))
    """
    members: list[list[Sequence[int]]] = []
    groups: list[int] = []
    for option in options:
        fits = (number for number, group in enumerate(members) if not any(_spoils_cache(prompt, other, option, block) for other in group))
        number = next(fits, len(members))
        if number == len(members):
            members.append([])
        members[number].append(option)
        groups.append(number)
    return CachePlan((prompt - 1) // block * block, tuple(groups))


def _spoils_cache(prompt: int, first: Sequence[int], second: Sequence[int], block: int) -> bool:
    """Return whether blocks that the prompt and `first` fill could be read for `second` beyond the last token but one of the prompt."""
    return (prompt + common_prefix_length(first, second)) // block * block >= prompt


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two texts have in common at their beginning.

    >>> common_prefix_length([1, 2, 3], [1, 2, 4, 5])
    2
    """
    return next((place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), min(len(first), len(second)))
