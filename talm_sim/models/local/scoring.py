"""How likely are the options of a question? The prompt is encoded once, and all options see its key-value cache (When2Call, sections 2 and 3).

The last token of the prompt and an option without its last token are what predicts the option. Where a model's attention allows it, the options
of a question stand one after another in one row, each blind to the others and at its own positions: no padding, no copy of the cache, and the
output head sees these tokens only. Other models get one row an option, the cache repeated.

Prompts begin alike: with the same instructions, often with the same tools. A question scored alone goes on from what the one before it left in
the cache, as far as their prompts agree (`Scorer`).

Text becomes tokens as in lm-evaluation-harness, so that the figures can be compared: trailing white space of the prompt belongs to the option,
prompt and option are tokenized together and split where the prompt's own tokens end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.models.base import Continuation

if TYPE_CHECKING:
    import torch

__all__ = ["Question", "Scorer", "encode_question", "encode_text", "is_packable"]

WINDOW = 256
"""Most waiting questions that are looked through for a prompt that begins alike."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question in tokens."""

    prompt: tuple[int, ...]
    options: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Tokens the model is fed."""
        return len(self.prompt) + sum(map(len, self.options))


def encode_text(tokenizer: Any, text: str) -> list[int]:
    """Tokens of a text with the tokenizer's own special tokens, but no second opening one where the text brings it along."""
    opening = _opening_token(tokenizer)
    begun = opening is not None and text.startswith(tokenizer.decode([opening]))
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False) if begun else tokenizer.encode(text)
    return tokens


def encode_question(tokenizer: Any, prompt: str, options: Sequence[str], *, max_length: int | None, name: str) -> Question:
    """Tokens of a prompt and of its options.

    Args:
        tokenizer: Of transformers.
        prompt: To the letter.
        options: To the letter, as they continue the prompt.
        max_length: The model's context in tokens; None where it has no bound.
        name: Of the model, for messages.

    Raises:
        ContextOverflowError: The prompt with its longest option is longer than the context.
        ProviderError: An option is empty.
    """
    if not options or not all(options):
        raise ProviderError(f"{name}: an option is empty; there is nothing to score.")
    context = prompt.rstrip()
    space = prompt[len(context) :]
    if context:
        opening = encode_text(tokenizer, context)
        encoded = [_after(tokenizer, context, len(opening), space + option) for option in options]
    else:
        token = _opening_token(tokenizer)
        if token is None:
            raise ProviderError(f"{name}: an empty prompt cannot be scored, since the tokenizer has neither an opening nor a closing token.")
        opening = [token]
        encoded = [tokenizer.encode(space + option, add_special_tokens=False) for option in options]
    question = Question(tuple(opening), tuple(map(tuple, encoded)))
    # The last token of an option is predicted, never fed.
    longest = len(question.prompt) + max(map(len, question.options)) - 1
    if max_length is not None and longest > max_length:
        raise ContextOverflowError(
            f"{name}: the prompt with its longest option has {longest} tokens, the context {max_length}; nothing was cut."
        )
    return question


def _after(tokenizer: Any, context: str, start: int, option: str) -> list[int]:
    tokens = encode_text(tokenizer, context + option)[start:]
    # An option can melt into the prompt's last token; then its own tokens follow the prompt.
    rest: list[int] = tokens or tokenizer.encode(option, add_special_tokens=False)
    return rest


def _opening_token(tokenizer: Any) -> int | None:
    token: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    return token


def is_packable(model: Any) -> bool:
    """Whether options may share a row, and a prompt what was read of the last one.

    Positions are rotary and turn at one speed whatever the length, every layer sees the whole context, and the mask is taken as given.
    """
    from transformers.cache_utils import DynamicCache, DynamicLayer

    config = model.config.get_text_config()
    plain = all(type(layer) is DynamicLayer for layer in DynamicCache(config=config).layers)
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope] if "rope_type" in rope else [one for one in rope.values() if isinstance(one, dict)]
    # What these wrote into the cache for a long prompt is wrong for a short one.
    fixed = bool(kinds) and not any(one.get("rope_type") in {"dynamic", "longrope"} for one in kinds)
    return plain and fixed and config._attn_implementation == "sdpa"


class Scorer:
    """Scores questions in two passes: the prompts, then the options.

    Args:
        model: A causal language model of transformers.
        packed: Whether the options of a question share a row; see `is_packable`.
    """

    def __init__(self, model: Any, *, packed: bool) -> None:
        self._model = model
        self._packed = packed
        self._kept: tuple[int, ...] = ()
        self._cache: Any = None

    def score(self, questions: Sequence[Question]) -> list[list[Continuation]]:
        """Score the options of some questions.

        Args:
            questions: Prompts are padded on the left to the longest.

        Returns:
            For each question its options, in their order.
        """
        import torch

        prompts = [question.prompt[:-1] for question in questions]
        with torch.inference_mode():
            kept, cache, self._kept, self._cache = self._kept, self._cache, (), None
            if len(questions) == 1 and self._packed and cache is not None:
                seen = _read_on(self._model, cache, kept, prompts[0])
            else:
                del cache
                cache, seen = _read_prompts(self._model, prompts, self._packed)
            rows = _rows(questions, self._packed)
            logprobs = _token_logprobs(self._model, questions, rows, cache, seen, self._packed)
            if len(questions) == 1 and self._packed:
                _cut(cache, len(prompts[0]))
                self._kept, self._cache = prompts[0], cache
        scores: list[list[Continuation]] = [[] for _ in questions]
        for row, values in zip(rows, logprobs, strict=True):
            ends = list(accumulate(map(len, row.options)))
            for start, end in zip([0, *ends], ends, strict=False):
                scores[row.question].append(Continuation(float(values[start:end].sum()), end - start))
        return scores

    def nearest(self, questions: Sequence[Question]) -> int:
        """Index of the question whose prompt begins most like the last one scored alone; the first of equals."""
        if not self._kept:
            return 0
        agreeing = [_agreeing(self._kept, question.prompt) for question in questions[:WINDOW]]
        return agreeing.index(max(agreeing))


def _agreeing(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(cache: Any, length: int) -> None:
    """Forget what a cache holds beyond a length."""
    for layer in cache.layers:
        if layer.keys is not None and layer.keys.numel():
            layer.keys, layer.values = layer.keys[..., :length, :], layer.values[..., :length, :]


def _read_on(model: Any, cache: Any, kept: tuple[int, ...], prompt: tuple[int, ...]) -> torch.Tensor:
    """Bring a cache from one prompt to another, reading only what differs; returns which positions are real: all."""
    import torch

    start = _agreeing(kept, prompt)
    _cut(cache, start)
    if start < len(prompt):
        tokens = torch.tensor([prompt[start:]], device=model.device)
        model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return torch.ones((1, len(prompt)), dtype=torch.bool, device=model.device)


@dataclass(frozen=True, slots=True)
class _Row:
    """Options that are scored in one row of the second pass."""

    question: int
    options: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        return sum(map(len, self.options))


def _rows(questions: Sequence[Question], packed: bool) -> list[_Row]:
    if packed:
        return [_Row(number, question.options) for number, question in enumerate(questions)]
    return [_Row(number, (option,)) for number, question in enumerate(questions) for option in question.options]


def _read_prompts(model: Any, prompts: Sequence[tuple[int, ...]], packed: bool) -> tuple[Any, torch.Tensor]:
    """Fill a cache with prompts padded on the left.

    Returns:
        The cache, and which of its positions are real: booleans (prompts, longest prompt).
    """
    import torch
    from transformers.cache_utils import DynamicCache

    cache = DynamicCache(config=model.config.get_text_config())
    width = max(map(len, prompts))
    tokens = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts], dtype=torch.long, device=model.device)
    lengths = torch.tensor([[len(prompt)] for prompt in prompts], device=model.device)
    place = torch.arange(width, device=model.device)
    seen = place >= width - lengths
    if width == 0:
        return cache, seen
    mask = None
    if not bool(seen.all()):
        mask = seen.long()
        if packed:
            # Padding sees itself, lest its softmax is over nothing.
            mask = ((place[:, None] >= place) & seen[:, None, :] | torch.eye(width, dtype=torch.bool, device=model.device))[:, None]
    positions = (place - (width - lengths)).clamp(min=0)
    model(input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return cache, seen


def _token_logprobs(
    model: Any, questions: Sequence[Question], rows: Sequence[_Row], cache: Any, seen: torch.Tensor, packed: bool
) -> list[torch.Tensor]:
    """Log-probability of every option token, one tensor a row."""
    import torch

    width = max(row.length for row in rows)
    tokens = torch.zeros((len(rows), width), dtype=torch.long)
    positions = torch.zeros((len(rows), width), dtype=torch.long)
    # Which option a token belongs to; padding belongs to options of its own.
    owner = torch.arange(width).repeat(len(rows), 1) + width
    for number, row in enumerate(rows):
        prompt = questions[row.question].prompt
        fed = [token for option in row.options for token in (prompt[-1], *option[:-1])]
        tokens[number, : len(fed)] = torch.tensor(fed)
        positions[number, : len(fed)] = torch.tensor([len(prompt) - 1 + step for option in row.options for step in range(len(option))])
        owner[number, : len(fed)] = torch.tensor([which for which, option in enumerate(row.options) for _ in option])
    tokens, positions, owner = tokens.to(model.device), positions.to(model.device), owner.to(model.device)
    if packed:
        order = torch.arange(width, device=model.device)
        among = (owner[:, :, None] == owner[:, None, :]) & (order[:, None] >= order)
        mask = torch.cat([seen[:, None, :].expand(-1, width, -1), among], dim=-1)[:, None]
    else:
        select = torch.tensor([row.question for row in rows], device=model.device)
        if seen.shape[1]:
            cache.batch_select_indices(select)
        mask = torch.cat([seen[select], owner < width], dim=-1).long()
    logits = model(input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True).logits
    return [_chosen(logits[number, : row.length], row) for number, row in enumerate(rows)]


def _chosen(logits: torch.Tensor, row: _Row) -> torch.Tensor:
    import torch

    targets = torch.tensor([token for option in row.options for token in option], device=logits.device)
    # Not logsumexp: on CPU it is nearer the truth by 6e-6 a token, which over long options sets the figures apart from everybody else's.
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    return logprobs.gather(-1, targets[:, None])[:, 0].double().cpu()
