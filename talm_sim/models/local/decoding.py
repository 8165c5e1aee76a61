"""Text token by token: sampled with a seed of its own, held to a JSON schema where one is given, ended where the model ends its turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError, pip_install
from talm_sim.models.base import GenerationSettings

if TYPE_CHECKING:
    import torch

__all__ = ["SEPARATORS", "Grammar", "JsonGrammars", "Written", "end_tokens", "write"]

_END_OF_TURN = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>", "<|end_of_turn|>", "<|return|>", "<|call|>")
"""Where a turn ends, by model family: the generation settings of many models name the end of the text only."""
SEPARATORS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Grammar(Protocol):
    """What may be written next."""

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        """Set the logits (vocabulary,) of forbidden tokens to minus infinity."""
        ...

    def take(self, token: int) -> None:
        """Note what was written."""
        ...

    @property
    def done(self) -> bool:
        """Whether nothing can follow."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, in tokens without the one that ended it."""

    tokens: tuple[int, ...]
    fed: int
    """Tokens generated, the one that ended the text among them."""
    stop: Literal["stop", "length"]


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Tokens that end a turn: those of the model's generation settings, the tokenizer's, and the family's own where it knows them."""
    named = getattr(model.generation_config, "eos_token_id", None)
    ends = set(named if isinstance(named, list) else [named]) | {tokenizer.eos_token_id}
    vocabulary = tokenizer.get_added_vocab()
    ends |= {vocabulary[text] for text in _END_OF_TURN if text in vocabulary}
    return frozenset(token for token in ends if token is not None)


def write(
    model: Any,
    prompt: Sequence[int],
    settings: GenerationSettings,
    *,
    ends: frozenset[int],
    max_length: int | None,
    name: str,
    grammar: Grammar | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Written:
    """Continue a prompt.

    Args:
        model: A causal language model of transformers.
        prompt: Tokens.
        settings: Temperature 0 takes the likeliest token; a seed gives the same text whatever else the model writes.
        ends: Tokens that end the text.
        max_length: The model's context in tokens; None where it has no bound.
        name: Of the model, for messages.
        grammar: What may be written.
        cancelled: Whether nobody waits any more.

    Raises:
        ContextOverflowError: The prompt leaves no room for a token.
    """
    import torch
    from transformers.cache_utils import DynamicCache

    room = settings.max_new_tokens if max_length is None else min(settings.max_new_tokens, max_length - len(prompt))
    if room < 1:
        raise ContextOverflowError(f"{name}: the prompt has {len(prompt)} tokens and leaves no room in a context of {max_length}.")
    generator = _generator(model.device, settings.seed)
    cache = DynamicCache(config=model.config.get_text_config())
    feed = list(prompt)
    tokens: list[int] = []
    with torch.inference_mode():
        while True:
            fed = torch.tensor([feed], device=model.device)
            logits = model(input_ids=fed, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[0, -1].float()
            token = _pick(logits if grammar is None else grammar.mask(logits), settings.temperature, generator)
            if token in ends:
                return Written(tuple(tokens), len(tokens) + 1, "stop")
            tokens.append(token)
            if grammar is not None:
                grammar.take(token)
                if grammar.done:
                    return Written(tuple(tokens), len(tokens), "stop")
            if len(tokens) == room or cancelled():
                return Written(tuple(tokens), len(tokens), "length")
            feed = [token]


def _generator(device: Any, seed: int | None) -> torch.Generator:
    import torch

    generator = torch.Generator(device=device)
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed % 2**63)
    return generator


def _pick(logits: torch.Tensor, temperature: float, generator: torch.Generator) -> int:
    import torch

    if temperature <= 0:
        return int(logits.argmax())
    return int(torch.multinomial(torch.softmax(logits / temperature, dim=-1), 1, generator=generator))


class JsonGrammars:
    """Grammars of JSON schemas over one tokenizer, by llguidance.

    Args:
        tokenizer: Of transformers.
        size: Width of the model's logits, which can exceed the vocabulary.

    Raises:
        PrerequisiteError: llguidance is not installed, or cannot read the tokenizer.
    """

    def __init__(self, tokenizer: Any, size: int) -> None:
        try:
            from llguidance.hf import from_tokenizer
        except ImportError:
            raise PrerequisiteError(f"the constrained tool format of hf/ models needs llguidance: {pip_install('local')}") from None
        try:
            self._tokens = from_tokenizer(tokenizer, n_vocab=size)
        except (TypeError, ValueError) as err:
            raise PrerequisiteError(f"the constrained tool format cannot use this tokenizer: {err}") from None

    def of(self, schema: dict[str, Any]) -> Grammar:
        """The grammar of a schema.

        Raises:
            ProviderError: The schema holds what no grammar can.
        """
        from llguidance import LLMatcher

        matcher = LLMatcher(self._tokens, LLMatcher.grammar_from_json_schema(json.dumps(schema), defaults=SEPARATORS))
        if matcher.is_error():
            raise ProviderError(f"the schema of the actions is no grammar: {matcher.get_error()}")
        return _JsonGrammar(matcher)


class _JsonGrammar:
    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        import torch

        # Not llguidance's own kernel: it is compiled at its first use, and needs a C++ compiler for that.
        allowed = torch.frombuffer(bytearray(self._matcher.compute_logit_bias()), dtype=torch.uint8)[: len(logits)] != 0
        return logits.masked_fill(~allowed.to(logits.device), float("-inf"))

    def take(self, token: int) -> None:
        self._matcher.consume_token(token)

    @property
    def done(self) -> bool:
        return bool(self._matcher.is_stopped())
