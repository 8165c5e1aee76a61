"""The prefix cache never reaches an option: a cache that keeps every block it ever saw is played against the plan."""

from __future__ import annotations

from hypothesis import given, strategies as st

from talm_sim.models.local.vllm_jobs import CachePlan, common_prefix_length, plan_cache

TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=20)


class Cache:
    """Whole blocks by what stands before and in them, under each salt, as an engine keeps them."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.kept: set[tuple[int, tuple[int, ...]]] = set()

    def read(self, group: int, tokens: list[int]) -> int:
        """Tokens read from the cache by a request, whose own blocks are then kept; its last token is always computed."""
        ends = range(self.block, len(tokens) + 1, self.block)
        found = 0
        for end in ends:
            if (group, tuple(tokens[:end])) not in self.kept or end >= len(tokens):
                break
            found = end
        self.kept.update((group, tuple(tokens[:end])) for end in ends)
        return found


def played(prompt: list[int], options: list[list[int]], block: int, order: list[int]) -> tuple[CachePlan, dict[int, int]]:
    """The plan, and how many tokens each option reads when the options arrive in `order`."""
    plan = plan_cache(len(prompt), options, block)
    cache = Cache(block)
    if plan.shared:
        cache.read(0, prompt[: plan.shared])
    return plan, {index: cache.read(plan.groups[index], prompt + options[index]) for index in order}


@given(prompt=TOKENS, options=st.lists(TOKENS, min_size=1, max_size=6), block=st.integers(1, 8), data=st.data())
def test_no_option_loses_a_logprob_whatever_the_order(prompt: list[int], options: list[list[int]], block: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(options))))
    plan, read = played(prompt, options, block, order)
    # The first token of an option is predicted at the last token of the prompt, which must therefore be computed.
    assert all(count < len(prompt) for count in read.values())
    assert plan.shared < len(prompt)
    assert plan.shared % block == 0


@given(prompt=TOKENS, options=st.lists(TOKENS, min_size=1, max_size=6), block=st.integers(1, 8))
def test_options_share_the_prompt_unless_that_would_spoil_one(prompt: list[int], options: list[list[int]], block: int) -> None:
    plan, read = played(prompt, options, block, list(range(len(options))))
    assert all(count == plan.shared for index, count in read.items() if plan.groups[index] == 0)
    room = -len(prompt) % block
    if room and all(common_prefix_length(one, other) < room for place, one in enumerate(options) for other in options[:place]):
        assert set(plan.groups) == {0}


def test_one_cache_for_all_would_lose_logprobs() -> None:
    """What the plan is for: without it both cases read beyond the prompt."""
    for prompt, options in (([1] * 8, [[2, 3], [4]]), ([1] * 7, [[2, 2, 3], [2, 2, 4]])):
        cache = Cache(4)
        one_cache = [cache.read(0, prompt + option) for option in options]
        assert max(one_cache) >= len(prompt)
        _, read = played(prompt, options, 4, [0, 1])
        assert max(read.values()) < len(prompt)


def test_equal_options_do_not_share_a_block_of_their_own() -> None:
    assert plan_cache(5, [[1, 2, 3], [1, 2, 3], [9]], block=4) == CachePlan(4, (0, 1, 0))
