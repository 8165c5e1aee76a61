"""Which of a question's options may read its prompt from vLLM's prefix cache without losing a log-probability of their own.

vLLM caches whole blocks of tokens. What lies inside the cached part of a request is not computed again, so its log-probabilities are not
known (older engines return garbage there, newer ones nothing). The first token of an option is predicted at the last token of the prompt: a
cached part that reaches past the token before that spoils the option. It can, because options that begin alike fill a block alike, and because
a prompt that ends with a block is one whole block more to those that come second. Such an option gets a cache of its own: another `cache_salt`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CachePlan", "common_prefix_length", "plan_cache"]


@dataclass(frozen=True, slots=True)
class CachePlan:
    """How the requests of a question share what vLLM caches.

    Attributes:
        shared: Tokens of the prompt that a request of its own encodes first, in whole blocks; 0 where there is nothing to share.
            So no option pays for the prompt, and its log-probabilities, which nobody wants, are never computed.
        groups: For each option the number of its cache; 0 is the one that holds the shared tokens.
    """

    shared: int
    groups: tuple[int, ...]


def plan_cache(prompt: int, options: Sequence[Sequence[int]], block: int) -> CachePlan:
    """Plan the caches of a question.

    Args:
        prompt: Tokens of the prompt; 1 or more.
        options: Tokens of each option.
        block: Tokens a block of the cache holds.

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
    """Whether blocks that the prompt and `first` fill could be read for `second` beyond the last token but one of the prompt."""
    return (prompt + common_prefix_length(first, second)) // block * block >= prompt


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Tokens that two texts begin with alike.

    >>> common_prefix_length([1, 2, 3], [1, 2, 4, 5])
    2
    """
    return next((place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), min(len(first), len(second)))
