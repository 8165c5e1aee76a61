"""Generate text with `model.generate`: sampled with a seed of its own, held to a JSON schema, ended where the model ends its turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError, pip_install
from talm_sim.models.base import GenerationSettings

if TYPE_CHECKING:
    import torch

_END_OF_TURN = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>", "<|end_of_turn|>")
"""Where a turn ends, by model family."""
_CHANNEL = "<|channel|>"
"""Token of channels; models that know it also end the parts of a turn with what ends the turns of others."""
SEPARATORS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_NO_NUMBERS = "{name}: its logits are not numbers; its dtype overflows: use -M dtype=float32."
_PLAIN = {"top_p": 1.0, "top_k": 0, "min_p": None, "repetition_penalty": 1.0}


class Grammar(Protocol):
    """A grammar, which says what may be written next."""

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        """Set the logits (vocabulary,) of forbidden tokens to minus infinity."""
        ...

    def accept(self, token: int) -> None:
        """Note the token that was written."""
        ...

    @property
    def done(self) -> bool:
        """Whether nothing can follow."""
        ...


@dataclass(frozen=True, slots=True)
class _DecodedTokens:
    """The tokens that were written, without the one that ended them."""

    tokens: tuple[int, ...]
    fed: int
    """Tokens generated, including the one that ended the text."""
    stop: Literal["stop", "length"]
    first: tuple[tuple[int, float], ...] = ()
    """The likeliest first tokens with their log-probabilities, as many as the settings ask for."""


@dataclass(frozen=True, slots=True)
class StopRules:
    """The marks at which a model's texts end.

    Attributes:
        ends: Tokens that end a text.
        max_length: The model's context in tokens; None where it has no bound.
        seam: Length in tokens beyond which all positions are rotated differently, so that a text is read anew; None if there is none.
    """

    name: str
    ends: frozenset[int]
    max_length: int | None = None
    seam: int | None = None


def end_tokens(named: int | list[int] | None, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a turn: those of the generation settings; if these only end the text, the family's own, too."""
    known = [*(named if isinstance(named, list) else [named]), tokenizer.eos_token_id]
    ends = {token for token in known if token is not None}
    vocabulary = tokenizer.get_added_vocab()
    if not isinstance(named, list) or len(named) < 2:
        family = [text for text in _END_OF_TURN if text in vocabulary and not (text == "<|end|>" and _CHANNEL in vocabulary)]
        ends |= {vocabulary[text] for text in family}
    return frozenset(ends)


def write(
    model: Any,
    prompt: Sequence[int],
    settings: GenerationSettings,
    limits: StopRules,
    *,
    sampling: Mapping[str, float] | None = None,
    grammar: Grammar | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> _DecodedTokens:
    """Continue a prompt; temperature 0 takes the likeliest token, and a seed gives the same text whatever else the model writes.

    Raises:
        ContextOverflowError: The prompt leaves no room for a token.
        ProviderError: What was asked for is unknown here, or the model gives no numbers.
    """
    import torch

    room, length = settings.max_new_tokens, len(prompt)
    if limits.max_length is not None:
        room = min(room, limits.max_length - length)
    if room < 1:
        raise ContextOverflowError(f"{limits.name}: the prompt has {length} tokens and leaves no room in a context of {limits.max_length}.")
    config = _config(settings, {**(sampling or {}), **settings.options}, limits)
    # Some that bring their own cache cannot continue from it.
    config.use_cache = model._supports_default_dynamic_cache()
    guide = _Guide(length, grammar, cancelled, limits.name)
    text = torch.tensor([list(prompt)], device=model.device)
    first = room if limits.seam is None or length > limits.seam else min(room, limits.seam + 1 - length)
    with torch.inference_mode(), _seeded(settings.seed), _raw_first_logits(model, settings.alternatives) as seen:
        for leg in filter(None, (first, room - first)):
            config.max_new_tokens = leg
            text = model.generate(
                text, attention_mask=torch.ones_like(text), generation_config=config, logits_processor=[guide], stopping_criteria=[guide.stop]
            )
            tokens = tuple(text[0, length:].tolist())
            ended = tokens[-1] in limits.ends
            if ended or guide.stopped:
                break
    finished = ended or (grammar is not None and grammar.done)
    likeliest = _top_tokens(seen[0], settings.alternatives, limits.name) if seen else ()
    return _DecodedTokens(tokens[:-1] if ended else tokens, len(tokens), "stop" if finished else "length", likeliest)


def _config(settings: GenerationSettings, options: Mapping[str, Any], limits: StopRules) -> Any:
    from transformers import GenerationConfig

    for key in options:
        if key not in _PLAIN:
            raise ProviderError(f"{limits.name}: cannot sample by '{key}'; it knows {', '.join(_PLAIN)}.")
    wanted = {**_PLAIN, **options}
    ends = {"eos_token_id": sorted(limits.ends), "pad_token_id": min(limits.ends)} if limits.ends else {"pad_token_id": 0}
    if settings.own_temperature <= 0:
        return GenerationConfig(do_sample=False, repetition_penalty=wanted["repetition_penalty"], **ends)
    return GenerationConfig(do_sample=True, temperature=settings.own_temperature, **wanted, **ends)


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Use a separate state of random numbers; the library only knows that of the whole process."""
    import torch

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        if seed is None:
            torch.seed()
        else:
            torch.manual_seed(seed % 2**63)
        yield


@contextmanager
def _raw_first_logits(model: Any, alternatives: int) -> Iterator[list[torch.Tensor]]:
    """Return the model's own logits of the first token: a processor would see them after the repetition penalty."""
    seen: list[torch.Tensor] = []

    def look(module: object, arguments: object, output: Any) -> None:
        if not seen:
            seen.append(output.logits[0, -1])

    hook = model.register_forward_hook(look) if alternatives else None
    try:
        yield seen
    finally:
        if hook is not None:
            hook.remove()


def _top_tokens(logits: torch.Tensor, most: int, name: str) -> tuple[tuple[int, float], ...]:
    """Return the likeliest tokens with their log-probabilities, of logits (vocabulary,)."""
    import torch

    logprobs, tokens = torch.log_softmax(logits.float(), dim=-1).topk(min(most, len(logits)))
    if bool(torch.isnan(logprobs).any()):
        raise ProviderError(_NO_NUMBERS.format(name=name))
    return tuple(zip(tokens.tolist(), logprobs.tolist(), strict=True))


class _Guide:
    """Sees every token: keeps to a grammar, and stops where it ends or when nobody waits."""

    def __init__(self, prompt: int, grammar: Grammar | None, cancelled: Callable[[], bool], name: str) -> None:
        self._read = prompt
        self._grammar = grammar
        self._cancelled = cancelled
        self._name = name
        self.stopped = False

    def __call__(self, text: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        import torch

        if bool(torch.isnan(logits).any()):
            raise ProviderError(_NO_NUMBERS.format(name=self._name))
        if self._grammar is None or self._grammar.done:
            return logits
        return self._grammar.mask(logits[0])[None]

    def stop(self, text: torch.Tensor, scores: object) -> torch.Tensor:
        import torch

        if self._grammar is not None and not self._grammar.done:
            for token in text[0, self._read :].tolist():
                self._grammar.accept(token)
        self._read = text.shape[1]
        self.stopped = (self._grammar is not None and self._grammar.done) or self._cancelled()
        return torch.full((1,), self.stopped, device=text.device)


class JsonGrammars:
    """Grammars of JSON schemas over one tokenizer, by llguidance.

    Args:
        size: Width of the model's logits, which can exceed the vocabulary.
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
        """Return the grammar of a schema.

        Raises:
            ProviderError: The schema has a part that no grammar can express.
        """
        from llguidance import LLMatcher

        matcher = LLMatcher(self._tokens, LLMatcher.grammar_from_json_schema(json.dumps(schema), defaults=SEPARATORS))
        if matcher.is_error():
            raise ProviderError(f"the schema of the actions is not a grammar: {matcher.get_error()}")
        return _JsonGrammar(matcher)


class _JsonGrammar:
    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        import torch

        # Not llguidance's own kernel: it is compiled at its first use, and needs a C++ compiler for that.
        allowed = torch.frombuffer(bytearray(self._matcher.compute_logit_bias()), dtype=torch.uint8)[: len(logits)] != 0
        return logits.masked_fill(~allowed.to(logits.device), float("-inf"))

    def accept(self, token: int) -> None:
        self._matcher.consume_token(token)

    @property
    def done(self) -> bool:
        return bool(self._matcher.is_stopped())
