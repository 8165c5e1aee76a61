"""What a run would ask of its models, and what that may cost; nothing is run for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.judges.registry import judge_class
from talm_sim.models.registry import in_process
from talm_sim.runs.build import plan
from talm_sim.runs.judging import judge_names
from talm_sim.runs.resolve import configure
from talm_sim.tasks import Job, Recorded
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.shared import Shared
from talm_sim.toml_files import read_toml

__all__ = ["Cost", "Forecast", "Price", "forecast", "read_prices"]

JUDGE_INSTRUCTIONS, JUDGE_OUTPUT = 1_000, 512
"""Tokens of a judge's instructions, and of one of its answers, at most."""


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens, in the currency of the file."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What is asked of one model.

    Attributes:
        model: Its name.
        role: `agent` or `judge`.
        traffic: How it is reached: `live`, `record`, `replay`, `here` for one that runs in this process, or `own` for that of the user's own
            agent, of which nothing can be told.
        bound: Requests and tokens.
        money: At most; None where it has no price.
    """

    model: str
    role: str
    traffic: str
    bound: Bound
    money: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would be run.

    Attributes:
        job: With every automatic value that needs no model.
        groups: Group to its number of scenarios.
        costs: A line a model.
    """

    job: Job[Any]
    groups: Mapping[str, int]
    costs: tuple[Cost, ...]

    @property
    def episodes(self) -> int:
        """Of all groups and epochs."""
        return sum(self.groups.values()) * self.job.config.epochs


def forecast(config: RunConfig, prices: Mapping[str, Price] | None = None) -> Forecast:
    """See what a run would be; as when it begins, all that needs no model, key or address is looked up.

    Args:
        config: What would be run.
        prices: Model to its price.

    Raises:
        PrerequisiteError: Something a run needs is not there, or a model that is asked has no price.
    """
    shared = Shared()
    job, scenarios = plan(configure(config, {}), shared)
    config = job.config
    groups = {group: sum(one.group == group for one in scenarios) for group in dict.fromkeys(one.group for one in scenarios)}
    bounds = job.task.bounds(scenarios, job, Recorded(shared.library(config.cassettes, job.task.recorded_in), {}, known=False))
    agent = sum(bounds, Bound()).times(config.epochs)
    traffic = "here" if in_process(config.model) else str(config.models or "own")
    bound = Bound() if traffic == "own" else agent
    costs = [Cost(config.model, "agent", traffic, bound, _money(config.model, traffic, bound, prices))]
    asks = sum(judge_class(name).asks for name in judge_names(job) if "model" in judge_class(name).needs)
    if config.judge_model is not None and asks:
        episodes = len(scenarios) * config.epochs
        read = agent.last + episodes * JUDGE_INSTRUCTIONS
        bound = Bound(0, asks * episodes, asks * read, asks * episodes * JUDGE_OUTPUT)
        traffic = "here" if in_process(config.judge_model) else str(config.models if config.models is Traffic.REPLAY else Traffic.LIVE)
        costs.append(Cost(config.judge_model, "judge", traffic, bound, _money(config.judge_model, traffic, bound, prices)))
    return Forecast(job, groups, tuple(costs))


def read_prices(file: Path) -> dict[str, Price]:
    """Read a price file: TOML with a line a model, `"openai/gpt-4o" = {input = 2.5, output = 10}`, for a million tokens.

    Raises:
        PrerequisiteError: It cannot be read, or a line is not written so.
    """
    prices: dict[str, Price] = {}
    for model, entry in read_toml(file, "--prices").items():
        numbers = [entry.get(key) for key in ("input", "output")] if isinstance(entry, dict) and len(entry) == 2 else []
        found = [float(one) for one in numbers if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one < float("inf")]
        if len(found) != 2:
            raise PrerequisiteError(f'{file}: {model}: write the price of a million tokens: "{model}" = {{input = 2.5, output = 10}}')
        prices[model] = Price(*found)
    return prices


def _money(model: str, traffic: str, bound: Bound, prices: Mapping[str, Price] | None) -> float | None:
    """What a model may cost; nothing where nobody is asked, None where no prices are given."""
    if traffic in {"here", "replay"}:
        return 0.0
    if prices is None or traffic == "own":
        return None
    if model not in prices:
        hint = did_you_mean(model, prices) or " It holds none."
        raise PrerequisiteError(f"--prices: no price of {model}.{hint}")
    price = prices[model]
    return (bound.input_tokens * price.input + bound.output_tokens * price.output) / 1e6
