"""The usage of a stored run: tokens, seconds and money as far as known, and how many episodes a limit ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.config import Traffic
from talm_sim.models.registry import has_traffic, in_process
from talm_sim.runs.prices import Price
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.acting.person_model import person_model
from talm_sim.types import Termination, Usage

_CUT_SHORT = (Termination.TURN_LIMIT, Termination.TOKEN_LIMIT, Termination.AGENT_ERROR, Termination.TOOL_ERROR)
"""Terminations that count in the rates, and that explain a low rate."""

_LEAST = 1.0
"""Seconds; a run that took less in total is not timed, because such figures are noise."""


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run used.

    Attributes:
        usage: Tokens of the agent's model, those of a judge model left out; of a replayed model, as they were recorded.
        generations: How many generations were asked for.
        replayed: Whether the model was replayed, so that nothing was spent and no time was the model's.
        seconds: Seconds of each episode, without a person's time to answer; empty if they mean nothing: for replayed models, for scripts,
            and for a run of less than a second.
        ends: How many finished episodes ended without an answer, though our machinery did not fail.
        finished: How many finished.
        money: At the given prices; None without a price.
        currency: Currency of the money; empty if the prices name none.
        unpriced: The model without a price; empty if there is none, or if no model is asked.
        judged: Whether a judge model was asked as well, which is not counted.
        played: Whether a model played the person, which is not counted either.
        unknown_ends: Turns by the provider's word for their end, where it is not known.
    """

    usage: Usage
    generations: int
    replayed: bool
    seconds: tuple[float, ...]
    ends: Mapping[Termination, int]
    finished: int
    money: float | None = None
    currency: str = ""
    unpriced: str = ""
    judged: bool = False
    played: bool = False
    unknown_ends: Mapping[str, int] = field(default_factory=dict)

    def unknown_line(self) -> str:
        """Return how many turns ended with a word that talm-sim does not know; empty if none did."""
        words = ", ".join(f"{safe_text(word)} ({number:,})" for word, number in self.unknown_ends.items())
        return f"turns that their provider ended with a word that is not known, read as a normal end: {words}" if words else ""

    def line(self) -> str:
        """Return all of it in one line; empty if nothing is known."""
        ends = [
            f"{number:,}{f' of {self.finished:,} ended' if not place else ''} at {end.value}"
            for place, (end, number) in enumerate(self.ends.items())
        ]
        return "; ".join(filter(None, (", ".join(ends), "; ".join(self._tokens()), self._time(), self._cost())))

    def record(self) -> dict[str, Any]:
        """Return the same as data."""
        money = {} if self.money is None else {"cost": self.money, "currency": self.currency}
        tokens = {name: getattr(self.usage, name) for name in ("input_tokens", "output_tokens", "uncounted")}
        times = {"seconds_median": median(self.seconds), "seconds": sum(self.seconds)} if self.seconds else {}
        return {**tokens, **times, **{end.value: number for end, number in self.ends.items()}, **money}

    def _tokens(self) -> Iterator[str]:
        usage = self.usage
        if usage.input_tokens or usage.output_tokens:
            yield f"tokens{' of the recording' if self.replayed else ''}: {usage.input_tokens:,} in, {usage.output_tokens:,} out"
        if usage.uncounted:
            yield f"{usage.uncounted:,} of {count(self.generations, 'generation')} were not counted by the server"

    def _time(self) -> str:
        return f"{_seconds(median(self.seconds))} per episode (median), {_seconds(sum(self.seconds))} together" if self.seconds else ""

    def _cost(self) -> str:
        if self.unpriced:
            return f"cost: no price is given for {safe_text(self.unpriced)}"
        if self.money is None:
            return ""
        less = [
            f"{'at least ' if self.usage.uncounted else ''}{_money(self.money)} {safe_text(self.currency)}".rstrip() + " at the given prices"
        ]
        less += ["cached tokens at the full price"] if self.usage.cached_tokens else []
        others = [*(["the person's model"] if self.played else []), *(["the judge model"] if self.judged else [])]
        less += [f"without {' and '.join(others)}"] if others else []
        return f"cost{' of the recording' if self.replayed else ''}: {', '.join(less)}"


def total_usage(stored: StoredRun, prices: Mapping[str, Price] | None = None) -> RunUsage:
    """Add up what a run used.

    Args:
        stored: The run.
        prices: Model to its price; None if none were given.
    """
    config = stored.config
    usage, generations, seconds, unknown = Usage(), 0, [], Counter[str]()
    for episode in stored.episodes():
        usage += episode.usage
        generations += len(episode.awareness) + len(episode.model_turns)
        unknown.update(turn.unknown_end for turn in episode.model_turns if turn.unknown_end)
        seconds.append(episode.elapsed_s)
    replayed = config.models is Traffic.REPLAY and has_traffic(config.model)
    timed = not (replayed or config.model.startswith("sim/")) and sum(seconds) >= _LEAST
    ends = {end: number for end, number in stored.terminations.items() if end in _CUT_SHORT}
    spent = RunUsage(usage, generations, replayed, tuple(seconds) if timed else (), ends, len(seconds), unknown_ends=unknown)
    if prices is None or usage == Usage():
        return spent
    spent = replace(spent, judged=config.judge_model is not None, played=bool(person_model(config)))
    return _add_price(spent, config.model, prices)


def _add_price(spent: RunUsage, model: str, prices: Mapping[str, Price]) -> RunUsage:
    if (price := prices.get(model)) is None:
        return spent if in_process(model) and not model.startswith("agent/") else replace(spent, unpriced=model)
    money = price.of(spent.usage.input_tokens, spent.usage.output_tokens)
    return replace(spent, money=money, currency=price.currency)


def _seconds(value: float) -> str:
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 0.95 else f"{value:.2g}"
    return f"{digits} s"


def _money(value: float) -> str:
    return f"{value:,.2f}" if value >= 0.1 or not value else f"{value:.2g}"
