"""One schedule for all arms of a comparison: what one agent meets does not depend on what else it did, or on what another did."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.tools_env.perturbations.base import is_drawn, share_of
from talm_sim.tools_env.perturbations.options import PerturbationSpec
from talm_sim.types import ToolEvent
from tests.tools_env.perturbations.stock import TOOLS, play

Calls = Sequence[tuple[str, Mapping[str, Any]]]
KINDS = (
    "http-500",
    "timeout",
    "connection-reset",
    "malformed-body",
    "empty-result",
    "http-403",
    "renamed-field",
    "null-field",
    "renamed-argument",
)
"""Six transient kinds and, from `http-403` on, permanent ones."""


def hits(events: Sequence[ToolEvent]) -> dict[tuple[str, str, int], tuple[int, ...]]:
    """Return which perturbations fired on each call, by the tool, the arguments and how often that very call was made before."""
    made: Counter[tuple[str, str]] = Counter()
    found = {}
    for event in events:
        same = (event.name, json.dumps(event.arguments, sort_keys=True))
        found[*same, made[same]] = tuple(log.place for log in event.perturbations if log.fired)
        made[same] += 1
    return found


def arms(draw: random.Random) -> tuple[list[tuple[str, dict[str, Any]]], list[tuple[str, dict[str, Any]]]]:
    """Return the calls of two agents: the second makes those of the first in another order, and more."""

    def call() -> tuple[str, dict[str, Any]]:
        size = draw.choice((None, 1, 2))
        return draw.choice(TOOLS), {"item": draw.choice("abc"), **({} if size is None else {"size": size})}

    first = [call() for _ in range(draw.randint(1, 6))]
    second = [*first, *(call() for _ in range(draw.randint(1, 5)))]
    draw.shuffle(second)
    return first, second


def play_now(perturb: Sequence[str], calls: Calls, **options: Any) -> list[ToolEvent]:
    return asyncio.run(play(perturb, calls, **options))


def test_pairs_of_arms_meet_the_same_faults() -> None:
    async def compare() -> Counter[str]:
        counts: Counter[str] = Counter()
        for number in range(250):
            draw = random.Random(number)
            first, second = arms(draw)
            kind, low = draw.choice(KINDS), draw.choice((0.1, 0.4, 0.5, 0.8))
            high = min(1.0, low + 0.1)
            place: dict[str, Any] = {"id": f"s{number}", "seed": draw.randrange(9), "epoch": draw.randint(1, 3)}
            one = hits(await play((f"{kind}:p={low}",), first, **place))
            other = hits(await play((f"{kind}:p={low}",), second, **place))
            more = hits(await play((f"{kind}:p={high}",), second, **place))
            assert one.keys() <= other.keys() == more.keys()
            assert {call: other[call] for call in one} == one
            assert {call for call, fired in other.items() if fired} <= {call for call, fired in more.items() if fired}
            counts.update(calls=len(one), fired=sum(map(bool, one.values())))
            counts.update({kind: sum(map(bool, one.values())), "only with the higher p": sum(map(bool, more.values()))})
        return counts

    counts = asyncio.run(compare())
    assert counts["calls"] > 750
    assert 0.3 < counts["fired"] / counts["calls"] < 0.6
    assert all(counts[kind] > 5 for kind in KINDS)


@given(
    after=st.none() | st.integers(0, 6),
    times=st.none() | st.integers(0, 6),
    call=st.none() | st.integers(1, 8),
    p=st.sampled_from([None, 0.2, 0.7]),
    kind=st.sampled_from(["http-500", "http-403"]),
    order=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=16),
)
@settings(max_examples=150, deadline=None)
def test_call_after_and_times_count_the_calls_of_each_tool_and_narrow_what_is_drawn(
    after: int | None, times: int | None, call: int | None, p: float | None, kind: str, order: list[str]
) -> None:
    options = {"after": after, "times": times, "call": call, "p": p}

    def written(*names: str) -> str:
        return ",".join(f"{name}={options[name]}" for name in names if options[name] is not None)

    def fired(text: str) -> list[bool]:
        events = play_now((f"{kind}:{text}".rstrip(":"),), [(tool, {"item": "a"}) for tool in order])
        return [bool(event.perturbations[0].fired) for event in events]

    made: Counter[str] = Counter()
    within = []
    for tool in order:
        made[tool] += 1
        number, first = made[tool], (after or 0) + 1
        within.append(number >= first and (times is None or number < first + times) and call in (None, number))
    drawn = fired(written("p"))
    assert fired(written("after", "times", "call", "p")) == [one and chance for one, chance in zip(within, drawn, strict=True)]


def test_a_seed_of_its_own_replaces_the_runs() -> None:
    calls = [("stock", {"item": item}) for item in "abcdefgh"] * 4
    fixed = [hits(play_now(("http-500:p=0.5,seed=3",), calls, seed=seed)) for seed in (0, 3, 8)]
    assert fixed[0] == fixed[1] == fixed[2] == hits(play_now(("http-500:p=0.5",), calls, seed=3))
    assert fixed[0] != hits(play_now(("http-500:p=0.5",), calls, seed=0))


def test_two_of_one_kind_draw_for_themselves_and_other_kinds_change_nothing() -> None:
    calls = [("stock", {"item": item}) for item in "abcdefghij"] * 20
    alone = hits(play_now(("malformed-body:p=0.5",), calls))
    beside = hits(play_now(("slow", "malformed-body:p=0.5", "empty-result:p=0.5", "malformed-body:p=0.5"), calls))
    first, second = ([place in fired for fired in beside.values()] for place in (1, 3))
    assert first == [bool(fired) for fired in alone.values()]
    assert 60 < sum(one == two for one, two in zip(first, second, strict=True)) < 140


def test_shares_are_those_of_the_digest_and_even() -> None:
    """Ten thousand draws against SHA-256 as Python has it, and against an even spread: chi-square over 20 bins, 19 degrees of freedom."""
    bins: Counter[int] = Counter()
    for number in range(10_000):
        parts = [0, f"s{number % 100}@1", "http-500", 0, "stock", number]
        share = share_of(*parts)
        text = json.dumps(parts, separators=(",", ":"))
        assert share == int(hashlib.sha256(text.encode()).hexdigest()[:13], 16) / 2**52
        bins[int(share * 20)] += 1
    chi_square = sum((bins[place] - 500) ** 2 / 500 for place in range(20))
    assert chi_square < 43.8  # the .999 quantile
    fired = sum(share_of("even", number) < 0.4 for number in range(10_000))
    assert abs(fired - 4000) < 4 * (10_000 * 0.4 * 0.6) ** 0.5


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("http-500", False),
        ("http-500:p=1", False),
        ("http-500:p=1.0,tool=t,times=2", False),
        ("http-500:p=.9", True),
        ("http-500:times=2", True),
        ("http-500:p=x", True),
    ],
)
def test_what_the_schedule_decides(text: str, drawn: bool) -> None:
    assert is_drawn(PerturbationSpec.parse(text)) is drawn
