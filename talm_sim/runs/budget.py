"""Track what a command has spent of its budget, and whether it may start more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from talm_sim.common.budgets import Budget, read_budget
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import Count, Meter, current_meter
from talm_sim.models.registry import has_traffic
from talm_sim.runs.events import BudgetReached, BudgetSpent, OnEvent, PartSpent
from talm_sim.runs.prices import Price, price_of, prices_of
from talm_sim.tasks.acting.person_model import person_model
from talm_sim.types import Usage


class Spending:
    """The spending of a command against its budget. It is asked before anything starts that may ask a model."""

    def __init__(self, budget: Budget, prices: Mapping[str, Price] | None, on_event: OnEvent) -> None:
        if budget.cost is not None and prices is None:
            raise PrerequisiteError("--budget cost: needs the prices of the models; add --prices FILE.")
        self._limits: dict[str, float] = {name: limit for name, limit in budget.model_dump().items() if limit is not None}
        self.meter = Meter(self._admit) if self._limits.keys() - {"minutes"} else None
        self._prices = dict(prices or {})
        self._on_event = on_event
        self._began = time.monotonic()
        self._stopped = False
        self._left: Counter[str] = Counter()

    def stops(self, in_flight: int = 0) -> bool:
        """Return whether a limit is reached, so that nothing more may start; the first time, report it."""
        spent = self._spent()
        reached = tuple(name for name, limit in self._limits.items() if spent[name] >= limit)
        if reached and not self._stopped:
            self._stopped = True
            self._on_event(BudgetReached(reached, in_flight))
        return bool(reached)

    def leave(self, what: str, number: int) -> None:
        """Note that so many of something were left, if a limit was reached."""
        if self._stopped and number > 0:
            self._left[what] += number

    def check(self, config: RunConfig) -> None:
        """Check that the models of a run that is continued later have prices, if they need them."""
        if config.models in (Traffic.LIVE, Traffic.RECORD):
            for model in filter(None, (config.model, config.judge_model, person_model(config))):
                self._admit(model)

    def report(self) -> BudgetSpent:
        """Return what was spent."""
        parts = [
            PartSpent(part, model, one.requests, one.usage.input_tokens, one.usage.output_tokens, one.bounded, self._cost(model, one.usage))
            for (part, model), one in sorted(self._counts().items())
        ]
        currency = next((price.currency for price in self._prices.values()), "")
        return BudgetSpent(self._limits, self._spent(), tuple(parts), currency, dict(self._left))

    def _spent(self) -> dict[str, float]:
        counts = self._counts().items()
        return {
            "requests": sum(one.requests for _, one in counts),
            "tokens": sum(one.usage.input_tokens + one.usage.output_tokens for _, one in counts),
            "cost": sum(self._cost(model, one.usage) for (_, model), one in counts),
            "minutes": (time.monotonic() - self._began) / 60,
        }

    def _counts(self) -> Mapping[tuple[str, str], Count]:
        return {} if self.meter is None else {place: replace(one) for place, one in dict(self.meter.counts).items()}

    def _cost(self, model: str, usage: Usage) -> float:
        """Return what tokens cost; a model in this process costs nothing unless it has a price."""
        return self._prices[model].of(usage.input_tokens, usage.output_tokens) if model in self._prices else 0.0

    def _admit(self, model: str) -> None:
        if "cost" in self._limits and has_traffic(model):
            price_of(model, self._prices)


@contextmanager
def within_budget(config: RunConfig, on_event: OnEvent) -> Iterator[Spending | None]:
    """Count what the models of the block are asked, and report it at its end.

    Yields:
        What decides whether anything more may start; None without a budget.
    """
    if not config.budget:
        yield None
        return
    spending = Spending(read_budget(config.budget), prices_of(config), on_event)
    token = current_meter.set(spending.meter)
    try:
        yield spending
    finally:
        current_meter.reset(token)
    on_event(spending.report())
