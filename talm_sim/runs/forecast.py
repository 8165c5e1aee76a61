"""Forecast the requests of a run to its models and their cost, without running it.

Everything that a run needs is opened as it would be for the run, so that what it would refuse is refused here, before anything is priced.
Only keys and addresses may be missing, and models that run in this process are not loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from talm_sim.common.budgets import read_budget
from talm_sim.config import DEFAULT_MODEL, RunConfig, Traffic
from talm_sim.judges.registry import judge_class
from talm_sim.models.base import Model
from talm_sim.models.metering import PERSON
from talm_sim.models.registry import has_traffic, in_process
from talm_sim.recordings import CassetteLibrary
from talm_sim.runs.api import run_to_completion
from talm_sim.runs.budget import Spending
from talm_sim.runs.engines.run_shard import scenarios_of_shard
from talm_sim.runs.events import ignore_events
from talm_sim.runs.plan import build, plan
from talm_sim.runs.prices import Price, price_of
from talm_sim.runs.resolve import configure
from talm_sim.tasks import Job, Recorded
from talm_sim.tasks.acting.person_model import person_bounds, person_model, person_traffic
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.judge_names import judge_names
from talm_sim.tasks.keys import are_alike, differences, recorded_settings
from talm_sim.tasks.shared import Shared
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Scenario, ToolSpec, Usage

JUDGE_INSTRUCTIONS, JUDGE_OUTPUT = 1_000, 512
"""Most tokens of a judge's instructions, and of one of its answers."""


@dataclass(frozen=True, slots=True)
class RecordedUse:
    """The usage in a recording of the same scenarios.

    Attributes:
        input_tokens: Tokens of all requests together, as its server counted them.
        output_tokens: Tokens that it wrote, counted in the same way.
        money: Cost at the price of the model that would be asked; None if it has none.
        unlike: Settings of the recording that differ from those asked for, in words.
    """

    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    money: float | None
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The requests to one model, and their cost.

    Attributes:
        role: `agent`, `person` or `judge`.
        traffic: How it is reached: `live`, `record`, `replay`, `here` for one that runs in this process, or `own` for that of the user's
            own agent, of which nothing is known.
        bound: Requests and tokens.
        money: The most that it may cost; None without a price.
        currency: Currency of the money; empty if the prices name none.
        recorded: What a recording of the same scenarios took; None if there is none, or nobody is asked.
    """

    model: str
    role: str
    traffic: str
    bound: Bound
    money: float | None
    currency: str = ""
    recorded: RecordedUse | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of a run."""

    job: Job[Any]
    groups: Mapping[str, int]
    costs: tuple[Cost, ...]

    @property
    def episodes(self) -> int:
        """How many episodes there are in all groups and epochs."""
        return sum(self.groups.values()) * self.job.config.epochs


def forecast(config: RunConfig, prices: Mapping[str, Price] | None = None) -> Forecast:
    """Forecast a run."""
    return run_to_completion(_forecast(config, prices))


def episodes_of(config: RunConfig) -> int:
    """Return how many episodes a run would have."""
    _, scenarios = plan(configure(config, {}), Shared())
    return len(scenarios_of_shard(scenarios, config.shard)) * config.epochs


async def _forecast(config: RunConfig, prices: Mapping[str, Price] | None) -> Forecast:
    async with Unsent() as shared:
        job, scenarios = plan(configure(config, {}), shared)
        if config.budget:
            Spending(read_budget(config.budget), prices, ignore_events)  # refuses a limit of the cost without prices
        return await forecast_planned(job, scenarios_of_shard(scenarios, config.shard), shared, prices)


async def forecast_planned(
    job: Job[Any], scenarios: Sequence[Scenario], shared: Unsent, prices: Mapping[str, Price] | None, left: Sequence[Scenario] | None = None
) -> Forecast:
    """Forecast a run that is planned.

    Args:
        job: Its job.
        scenarios: Its scenarios.
        shared: What other runs of the session opened.
        prices: Model to its price.
        left: The scenario of each episode that is still to be run; by default, each scenario once per epoch. Every episode is judged.
    """
    opened: dict[str, ToolSpec] = {}
    if not _needs_loading(job.config):
        async with build(job, scenarios, shared) as built:
            job = built.job
            opened = {tool.name: tool for tool in built.opened.tools_of(scenarios)}
    config = job.config
    groups = {group: sum(one.group == group for one in scenarios) for group in dict.fromkeys(one.group for one in scenarios)}
    library = shared.library(config.cassettes, job.task.recorded_in)
    recorded = Recorded(library, {}, known=False, opened=opened)
    whole = sum(job.task.bounds(scenarios, job, recorded), Bound()).times(config.epochs)
    agent = whole if left is None else sum(job.task.bounds(left, job, recorded), Bound())
    costs = [_agent_cost(job, scenarios if left is None else (), agent, library, prices)]
    asks = sum(judge_class(name).asks for name in judge_names(job) if "model" in judge_class(name).needs)
    if config.judge_model is not None and asks:
        episodes = len(scenarios) * config.epochs
        read = whole.last + episodes * JUDGE_INSTRUCTIONS
        bound = Bound(0, asks * episodes, asks * read, int(asks * episodes * config.judge_sampling.get("max_new_tokens", JUDGE_OUTPUT)))
        traffic = "here" if in_process(config.judge_model) else str(config.models if config.models is Traffic.REPLAY else Traffic.LIVE)
        costs.append(Cost(config.judge_model, "judge", traffic, bound, *_money(config.judge_model, traffic, bound, prices)))
    if person := person_model(config):
        played = scenarios if left is None else left
        bound = sum(person_bounds(played, job), Bound()).times(config.epochs if left is None else 1)
        traffic = str(person_traffic(job, person, library) or "here").replace(Traffic.RECORD, Traffic.LIVE)
        costs.insert(1, Cost(person, PERSON, traffic, bound, *_money(person, traffic, bound, prices)))
    return Forecast(job, groups, tuple(costs))


class Unsent(Shared):
    """Opens what a run needs, except keys and addresses, and writes nothing."""

    async def model(self, config: RunConfig, created: datetime | None = None) -> Model:
        """Open a model that will not be asked."""
        if not in_process(config.model) and config.model != DEFAULT_MODEL:  # the default one has only a recording
            config = config.model_copy(update={"models": Traffic.REPLAY})
        return await super().model(config, created)

    async def tools(self, config: RunConfig, sources: tuple[str, ...] = (), *, trusted: bool = False, person: bool = False) -> Tools:
        """Open tools that will not be called."""
        if config.tools is Traffic.RECORD:
            config = config.model_copy(update={"tools": Traffic.LIVE})
        return await super().tools(config, sources, trusted=trusted, person=person)


def _needs_loading(config: RunConfig) -> bool:
    """Return whether a model takes more than its name to be opened: weights, or a user's function, which may ask for a key."""
    named = (config.model, config.judge_model or "", person_model(config))
    return any(model.partition("/")[0] in {"hf", "vllm", "langchain"} for model in named)


def _agent_cost(
    job: Job[Any], scenarios: Sequence[Scenario], bound: Bound, library: CassetteLibrary, prices: Mapping[str, Price] | None
) -> Cost:
    model = job.config.model
    traffic = "here" if in_process(model) else str(job.config.models) if has_traffic(model) else "own"
    bound = Bound() if traffic == "own" else bound
    money, currency = _money(model, traffic, bound, prices)
    recorded = _recorded_spending(job, scenarios, library, (prices or {}).get(model)) if traffic in {Traffic.LIVE, Traffic.RECORD} else None
    return Cost(model, "agent", traffic, bound, money, currency, recorded)


def _recorded_spending(job: Job[Any], scenarios: Sequence[Scenario], library: CassetteLibrary, price: Price | None) -> RecordedUse | None:
    """Return what the nearest recording of the same scenarios took, perhaps of another model, for as many epochs as there would be."""
    here = recorded_settings(job)
    known: list[tuple[list[str], str, str]] = []
    for model in dict.fromkeys((job.config.model, *library.models())):
        for digest, there in library.settings(model).items():
            if are_alike(here, there):
                known.append((list(differences(here, {**there, "model": here["model"]})), model, digest))
    for unlike, model, digest in sorted(known, key=lambda one: len(one[0])):
        if spent := library.recorded_usage(model, ((one.id, one.group) for one in scenarios), digest):
            return _add_up_usage(model, spent, job.config.epochs, price, unlike)
    return None


def _add_up_usage(model: str, requests: Iterable[Usage], epochs: int, price: Price | None, unlike: Iterable[str]) -> RecordedUse | None:
    counted = list(requests)
    if any(one.uncounted for one in counted):
        return None
    asked, written = (epochs * sum(getattr(one, name) for one in counted) for name in ("input_tokens", "output_tokens"))
    return RecordedUse(model, epochs * len(counted), asked, written, price.of(asked, written) if price else None, tuple(unlike))


def _money(model: str, traffic: str, bound: Bound, prices: Mapping[str, Price] | None) -> tuple[float | None, str]:
    """Return what a model may cost, and in what currency; nothing if nobody is asked, None if no prices are given."""
    if traffic in {"here", "replay"}:
        return 0.0, ""
    if prices is None or traffic == "own":
        return None, ""
    price = price_of(model, prices)
    return price.of(bound.input_tokens, bound.output_tokens), price.currency
