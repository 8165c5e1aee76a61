"""Score how likely the options of a question are; see When2Call, sections 2 and 3.

Where a model allows it (`reading`), the prompt is encoded once and all its options continue from its key-value cache: the last token of
the prompt and an option without its last token are what predicts the option. Otherwise each option is read in one pass with its prompt,
without a cache.

Prompts begin alike: with the same instructions, often with the same tools. A question scored alone continues from what the previous one
left in the cache, as far as their prompts agree (`Scorer`).

Text becomes tokens as in lm-evaluation-harness, so that the figures can be compared: trailing white space of the prompt belongs to the option,
prompt and option are tokenized together and split where the prompt's own tokens end.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from talm_sim.errors import ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.base import Continuation
from talm_sim.models.local.score_reading import Reading

if TYPE_CHECKING:
    import torch

NEAR, NEAR_HALF = 1e-3, 0.5
"""Largest difference between two passes for the same option, in nats: in single precision, and in half."""
WINDOW = 256
"""Most waiting questions that are searched for a prompt that begins alike."""


@dataclass(frozen=True, slots=True)
class ScoringQuestion:
    """A question in tokens."""

    prompt: tuple[int, ...]
    options: tuple[tuple[int, ...], ...]

    @property
    def longest(self) -> int:
        """Tokens of the longest option."""
        return max(map(len, self.options))

    @property
    def fed(self) -> int:
        """Tokens of the prompt with its longest option; the last one is predicted, never fed."""
        return len(self.prompt) + self.longest - 1


def encode_text(tokenizer: Any, text: str) -> list[int]:
    """Encode a text with the tokenizer's own special tokens, but without a second opening one if the text has it already."""
    opening = _opening_token(tokenizer)
    begun = opening is not None and text.startswith(tokenizer.decode([opening]))
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False) if begun else tokenizer.encode(text)
    return tokens


def encode_question(tokenizer: Any, prompt: str, options: Sequence[str], *, max_length: int | None, name: str) -> ScoringQuestion:
    """Encode a prompt and its options.

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
        encoded = [_option_tokens(tokenizer, context, len(opening), space + option) for option in options]
    else:
        token = _opening_token(tokenizer)
        if token is None:
            raise ProviderError(f"{name}: an empty prompt cannot be scored, since the tokenizer has neither an opening nor a closing token.")
        opening = [token]
        encoded = [tokenizer.encode(space + option, add_special_tokens=False) for option in options]
    question = ScoringQuestion(tuple(opening), tuple(map(tuple, encoded)))
    if max_length is not None and question.fed > max_length:
        raise ContextOverflowError(
            f"{name}: the prompt with its longest option has {question.fed} tokens, the context {max_length}; nothing was cut."
        )
    return question


def _option_tokens(tokenizer: Any, context: str, start: int, option: str) -> list[int]:
    tokens = encode_text(tokenizer, context + option)[start:]
    # An option can melt into the prompt's last token; then its own tokens follow the prompt.
    rest: list[int] = tokens or tokenizer.encode(option, add_special_tokens=False)
    return rest


def _opening_token(tokenizer: Any) -> int | None:
    token: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    return token


def refuse_infinite(scores: list[Continuation], name: str) -> list[Continuation]:
    """Return scores as they are.

    Raises:
        ProviderError: One is not a number, for example after an overflow of half precision; it cannot be compared.
    """
    if not all(isfinite(one.logprob) for one in scores):
        raise ProviderError(f"{name}: the log-probability of an option is not a finite number; its dtype overflows: use -M dtype=float32.")
    return scores


class Scorer:
    """Scores questions by one model."""

    def __init__(self, model: Any, reading: Reading) -> None:
        self._model = model
        self._reading = reading
        self._kept: tuple[int, ...] = ()
        self._cache: Any = None

    def score(self, questions: Sequence[ScoringQuestion]) -> list[list[Continuation]]:
        """Score the options of some questions.

        Returns:
            For each question its options, in their order.
        """
        import torch

        seam = self._reading.seam
        shared = [one for one in questions if self._reading.shared and (seam is None or one.fed <= seam)]
        with torch.inference_mode():
            together = iter(self._score_continuations(shared)) if shared else iter(())
            return [next(together) if one in shared else self._read_whole(one) for one in questions]

    def check(self, name: str) -> None:
        """Compare a short question, its options read together, with passes of one option each: no token may see what follows it."""
        question = ScoringQuestion((3, 4, 5, 6), ((7,), (5, 4, 3, 7, 6)))
        try:
            together = self.score([question])[0]
            alone = [self.score([replace(question, options=(option,))])[0][0] for option in question.options]
        except Exception as err:  # a model's own code may fail in any way
            raise PrerequisiteError(f"{name}: it fails on a short text: {type(err).__name__}: {str(err)[:150]}") from err
        kind, half = self._model.config.get_text_config().model_type, self._model.dtype.itemsize < 4
        difference = max(abs(one.logprob - other.logprob) for one, other in zip(together, alone, strict=True))
        if difference > (NEAR_HALF if half else NEAR):  # a score that is not a number is reported where it is computed
            raise PrerequisiteError(
                f"{name}: a token's log-probability depends on later tokens (difference {difference:.2g}); models of type '{kind}' are refused."
            )

    def most_similar_prompt(self, questions: Sequence[ScoringQuestion]) -> int:
        """Return the index of the question whose prompt begins most like the last one scored alone; of equals, the first."""
        if not self._kept:
            return 0
        agreeing = [_common_prefix_length(self._kept, question.prompt) for question in questions[:WINDOW]]
        return agreeing.index(max(agreeing))

    def _read_whole(self, question: ScoringQuestion) -> list[Continuation]:
        """Run one pass per option from the first token on, padded on the right, which no earlier token sees.

        Options on different sides of a seam never share a pass: the longest text decides how all positions are rotated.
        """
        import torch

        rows = [(*question.prompt, *option[:-1]) for option in question.options]
        seam = self._reading.seam
        groups = [range(len(rows))] if seam is None else [range(at, at + 1) for at in range(len(rows))]
        scores = []
        for group in groups:
            tokens = torch.tensor(_pad([rows[at] for at in group]), device=self._model.device)
            keep = tokens.shape[1] - len(question.prompt) + 1
            logits = self._model(input_ids=tokens, **self._reading.arguments(keep)).logits[:, -keep:]
            scores += [_continuation(values, question.options[at]) for values, at in zip(logits, group, strict=True)]
        return scores

    def _score_continuations(self, questions: Sequence[ScoringQuestion]) -> list[list[Continuation]]:
        """Score all prompts in one pass, then all options in one, each continuing from its prompt's cache."""
        import torch

        device = self._model.device
        prompts = [question.prompt[:-1] for question in questions]
        cache, seen = self._read_prompts(prompts)
        owners = [at for at, question in enumerate(questions) for _ in question.options]
        options = [option for question in questions for option in question.options]
        tokens = torch.tensor(
            _pad([(questions[at].prompt[-1], *option[:-1]) for at, option in zip(owners, options, strict=True)]), device=device
        )
        # On CPU: the layers of a model may be on several devices.
        select = torch.tensor(owners)
        starts = torch.tensor([len(prompts[at]) for at in owners], device=device)
        steps = torch.arange(tokens.shape[1], device=device)
        fed = steps < torch.tensor([[len(option)] for option in options], device=device)
        mask = torch.cat([seen[select], fed], dim=-1).long()
        # Padding is at the first position: further on, it could lie beyond the last one, or beyond a seam.
        positions = (starts[:, None] + steps) * fed
        logits = self._model(
            input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=_rows_of(cache, select), use_cache=True
        ).logits
        scores: list[list[Continuation]] = [[] for _ in questions]
        for at, option, values in zip(owners, options, logits, strict=True):
            scores[at].append(_continuation(values, option))
        return scores

    def _read_prompts(self, prompts: Sequence[tuple[int, ...]]) -> tuple[Any, torch.Tensor]:
        """Bring prompts into a cache: several padded on the left, a single one from where it differs from the last.

        Returns:
            The cache, and which of its positions are real: booleans (prompts, longest prompt).
        """
        import torch
        from transformers.cache_utils import DynamicCache

        device, width = self._model.device, max(map(len, prompts))
        kept, cache, self._kept, self._cache = self._kept, self._cache, (), None
        start = _common_prefix_length(kept, prompts[0]) if len(prompts) == 1 else 0
        if start:
            if start < len(kept):
                cache.crop(start - len(kept))
        else:
            cache = DynamicCache(config=self._model.config.get_text_config())
        lengths = torch.tensor([[len(prompt)] for prompt in prompts], device=device)
        place = torch.arange(width, device=device)
        seen = place >= width - lengths
        if start < width:
            tokens = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=device)[:, start:]
            positions = (place - (width - lengths)).clamp(min=0)[:, start:]
            mask = None if bool(seen.all()) else seen.long()
            self._model(input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1)
        if len(prompts) == 1 and self._reading.continued:
            self._kept, self._cache = prompts[0], cache
        return cache, seen


def _common_prefix_length(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how many tokens two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _rows_of(cache: Any, select: torch.Tensor) -> Any:
    """Return rows of a cache as a separate cache: writing to it leaves the first unchanged."""
    rows = copy(cache)
    rows.layers = [copy(layer) for layer in cache.layers]
    if cache.get_seq_length():
        rows.batch_select_indices(select)
    return rows


def _pad(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    return [[*row, *[0] * (width - len(row))] for row in rows]


def _continuation(logits: torch.Tensor, option: tuple[int, ...]) -> Continuation:
    import torch

    targets = torch.tensor(option, device=logits.device)
    # Not logsumexp: on CPU it is nearer the truth by 6e-6 a token, which over long options sets the figures apart from everybody else's.
    logprobs = torch.log_softmax(logits[: len(option)].float(), dim=-1)
    return Continuation(float(logprobs.gather(-1, targets[:, None]).double().sum()), len(option))
