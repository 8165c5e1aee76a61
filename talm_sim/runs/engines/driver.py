"""Have an engine play a run's shards, and merge them into the run."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from talm_sim.common.budgets import Budget, divide_budget, read_budget
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import OutOfBudgetError, PrerequisiteError, line_to_copy
from talm_sim.models.registry import has_traffic, in_process
from talm_sim.runs.engines.base import Engine, Order, Played, open_engine, read_on
from talm_sim.runs.engines.engine_checks import modules_to_load
from talm_sim.runs.engines.merge_shards import merge_shards
from talm_sim.runs.events import BudgetSpent, OnEvent, PartSpent, RunFinished, RunStarted, ShardsProgress
from talm_sim.runs.plan import plan
from talm_sim.runs.resolve import configure, override
from talm_sim.store.files.manifest import dataset_digest
from talm_sim.store.kept_shards import KeptShards, ShardPlan, keep_shards, read_plan
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import Job, PersonOptions
from talm_sim.tasks.acting.person_model import person_model
from talm_sim.tasks.judge_names import judge_names
from talm_sim.tasks.shared import Shared
from talm_sim.types import Scenario
from talm_sim.version import __version__

_LOOK_S: Final = 0.2
_OF_COMMAND: Final = frozenset(
    {"on", "run_id", "run_dir", "gate", "baseline", "junit", "summary", "against", "controls", "display", "quiet", "log_level", "name"}
)
"""Options of the command, which the shards do not have."""
_NOT_KEPT: Final = _OF_COMMAND - {"on"} | {"budget", "prices"}
_CODE: Final = ("plugin", "agent", "tools_from")


async def run_elsewhere(
    given: RunConfig, job: Job[Any], scenarios: Sequence[Scenario], on_event: OnEvent, *, command: str = "", again: bool = False
) -> StoredRun:
    """Play a run by the engine of its `on`, and return it, merged.

    Raises:
        OutOfBudgetError: The budget is spent, and the shards are kept.
    """
    modules = modules_to_load(job, scenarios, judge_names(job))
    with closing(open_engine(str(job.config.on))) as engine:
        of = read_on(str(job.config.on)).shards or min(engine.room, len({scenario.base for scenario in scenarios}))
        config = json.loads(given.model_dump_json(exclude_unset=True, exclude={*_NOT_KEPT}))
        begun = ShardPlan(version=__version__, shards=of, scenarios=dataset_digest(scenarios), config=config, command=command)
        kept = keep_shards(begun, job, scenarios, again=again)
        elsewhere = _Elsewhere(engine, kept, job, on_event, command)
        try:
            await elsewhere.play(given.model_copy(update={"plugin": modules}))
        finally:
            kept.remove_unless_begun()
    stored = await asyncio.to_thread(_merge, kept, command, job.config.max_connections)
    ends = {end.value: number for end, number in stored.terminations.items()}
    on_event(RunFinished(stored.id, stored.finished, stored.total, 0, ends, time.monotonic() - elsewhere.began))
    return stored


async def resume_elsewhere(run: Path, overrides: Mapping[str, Any], shared: Shared, on_event: OnEvent) -> StoredRun:
    """Continue a run of which there are shards only, as `run_elsewhere` plays it."""
    kept = read_plan(run)
    assert kept is not None
    given = kept.given(run)
    if _code_words(overrides) != _code_words({**given.options, "plugin": given.plugin}):
        raise PrerequisiteError(f"{run}: talm-sim does not start what a stored run names; continue with: {_resume_command(given, run)}")
    overrides = {name: value for name, value in overrides.items() if name != "run_dir"}
    otherwise = "start a new run with `talm-sim run` instead."
    job = override(configure(given, {}, look_up=False), overrides, {Scope.OPERATIONAL}, verb="resume", otherwise=otherwise)
    planned, scenarios = plan(job, shared)
    return await run_elsewhere(job.config, planned, scenarios, on_event, command=kept.command, again=True)


def _resume_command(config: RunConfig, run: Path) -> str:
    """Return the command that continues a run; it names the code of the user's, because a stored run starts none by itself."""
    words = _code_words({**config.options, "plugin": config.plugin})
    limits = (("--budget", config.budget), ("--prices", config.budget and config.prices))
    return line_to_copy("talm-sim", "resume", str(run), *words, *(str(word) for pair in limits if pair[1] for word in pair))


def _code_words(options: Mapping[str, Any]) -> list[str]:
    words = []
    for name in _CODE:
        value = options.get(name) or ()
        words += [word for one in ((value,) if isinstance(value, str) else value) for word in (f"--{name.replace('_', '-')}", str(one))]
    return words + ["--trust"] * bool(options.get("trust"))


def _merge(kept: KeptShards, command: str, connections: int) -> StoredRun:
    paths = [kept.path(number) for number in kept.sizes]
    stored = merge_shards(kept.run, paths, run_dir=kept.run.parent, command=command, max_connections=connections).run
    kept.remove()
    return stored


class _Elsewhere:
    """One command that has shards played."""

    def __init__(self, engine: Engine, kept: KeptShards, job: Job[Any], on_event: OnEvent, command: str) -> None:
        self.began = time.monotonic()
        self._engine = engine
        self._kept = kept
        self._job = job
        self._on_event = on_event
        self._command = command
        self._budget = read_budget(job.config.budget) if job.config.budget else None
        self._spent: list[BudgetSpent] = []
        self._failed: dict[int, str] = {}
        self._counted = -1

    async def play(self, config: RunConfig) -> None:
        """Play the shards that are not done, each as `config` says."""
        due = [number for number in self._kept.sizes if not self._kept.is_done(number)]
        orders = self._orders(config, due)
        look = await self._look() if due else None
        self._on_event(self._start_event(look, due))
        self._engine.submit(orders)
        left = set(due)
        while left:
            for number in self._engine.status():
                left.discard(number)
                await self._collect(number, len(left))
            self._report(len(left))
            await asyncio.sleep(_LOOK_S if left else 0)
        if self._budget is not None:
            self._on_event(spent := _add_up(self._budget, self._spent, time.monotonic() - self.began))
            if spent.left and not self._failed:
                done = f"{self._kept.count():,} of {sum(self._kept.sizes.values()):,} episodes are finished, all kept"
                raise OutOfBudgetError(f"the budget is spent: {done}. {self._again()}")
        if self._failed:
            number, error = next(iter(sorted(self._failed.items())))
            which = (
                f"{len(self._failed):,} of {len(self._kept.sizes):,} shards failed, for example {self._kept.part(number)}{error.rstrip('.')}"
            )
            kept = "The others are kept. " if len(self._failed) < len(self._kept.sizes) else ""
            raise PrerequisiteError(f"{which}. {kept}{self._again()}")

    async def _look(self) -> Played:
        """Have a node see whether it shares the run directory."""
        self._engine.submit({0: self._order()})
        while 0 not in self._engine.status():
            await asyncio.sleep(_LOOK_S)
        played = await asyncio.to_thread(self._engine.collect, 0)
        if played.error:
            raise PrerequisiteError(f"--on {self._job.config.on}: node {played.node}: {played.error}")
        return played

    def _order(self, **shard: Any) -> Order:
        place = str(self._kept.place.absolute())
        return Order(place, self._kept.token, os.getcwd(), __version__, command=self._command, **shard)

    def _orders(self, config: RunConfig, due: Sequence[int]) -> Mapping[int, Order]:
        budgets, until = [""] * len(due), None
        if self._budget is not None and due:
            try:
                budgets = divide_budget(self._budget, len(due))
            except ValueError as err:
                raise PrerequisiteError(f"--budget: {err} shards; play fewer.") from None
            until = None if self._budget.minutes is None else time.time() + 60 * self._budget.minutes
        orders, most = {}, self._job.config.max_connections
        for place, (number, budget) in enumerate(zip(due, budgets, strict=True)):
            connections = max(1, most // len(due) + (place < most % len(due)))
            own = config.model_copy(update={"shard": self._kept.part(number), "budget": budget, "max_connections": connections})
            text = own.model_dump_json(exclude_unset=True, exclude=set(_OF_COMMAND))
            orders[number] = self._order(name=self._kept.path(number).name, config=text, until=until)
        return orders

    async def _collect(self, number: int, left: int) -> None:
        error, node = "", ""
        try:
            played = await asyncio.to_thread(self._engine.collect, number)
            node, error = played.node, played.error and f" on {played.node}: {played.error}"
            if played.files:
                await asyncio.to_thread(self._kept.put, number, played.files)
            if played.spent is not None:
                self._spent.append(played.spent)
            unfinished = not self._kept.is_done(number) and not (played.spent and played.spent.left)
            if unfinished and not error:
                error = f" on {node}: ended, but it is not in {self._kept.path(number)}"
        except PrerequisiteError as err:
            error = f": {err}"
        if error:
            self._failed[number] = error
        self._report(left, self._kept.part(number), node, error.removeprefix(f" on {node}").removeprefix(": "))

    def _report(self, left: int, shard: str = "", node: str = "", error: str = "") -> None:
        count = self._kept.count()
        if shard or count != self._counted:
            self._counted = count
            self._on_event(ShardsProgress(count, sum(self._kept.sizes.values()), len(self._kept.sizes), left, shard, node, error))

    def _again(self) -> str:
        return f"Continue with: {_resume_command(self._job.config, self._kept.run)}"

    def _start_event(self, look: Played | None, due: Sequence[int]) -> RunStarted:
        config, options, kept = self._job.config, self._job.options, self._kept
        person = person_model(config)
        where = "are finished already"
        if look is not None:
            seen, fetched = f"are played in {kept.place}, which node {look.node} sees", "are fetched from their nodes when they are finished"
            where = seen if look.shared else fetched
        shards = (
            f"{len(kept.sizes):,} shards" if len(kept.sizes) == kept.of else f"{len(kept.sizes):,} of {kept.of:,} shards (the others are empty)"
        )
        connections = max(1, config.max_connections // max(1, len(due)))
        each = f", each with {connections:,} of {config.max_connections:,} connections" if has_traffic(config.model) and due else ""
        notices = [f"{shards} {where}{each}"]
        if due and self._budget is not None:
            divided = {name: limit for name, limit in self._budget.model_dump(exclude_none=True).items() if name != "minutes"}
            parts = ", ".join(f"{name}={limit:g}" for name, limit in divided.items())
            notices += [f"budget: {parts} is divided evenly among {len(due):,} shards"] if parts else []
        return RunStarted(
            run_id=kept.run.name,
            path=str(kept.run),
            total=sum(kept.sizes.values()),
            finished=kept.count(),
            waiting=0,
            model=config.model_and_adapter,
            models="on this machine" if in_process(config.model) else str(config.models) if has_traffic(config.model) else "its own",
            tools=str(config.tools or "none"),
            human=options.human if isinstance(options, PersonOptions) else "none",
            person=person,
            person_traffic="" if not person else "on this machine" if in_process(person) else str(config.models),
            notices=tuple(notices),
            continues=_resume_command(self._job.config, self._kept.run),
        )


def _add_up(budget: Budget, spent: Sequence[BudgetSpent], elapsed: float) -> BudgetSpent:
    """Return what the shards spent together, and what their budgets left."""
    limits = budget.model_dump(exclude_none=True)
    total = {name: sum(one.spent[name] for one in spent) for name in ("requests", "tokens", "cost")} | {"minutes": elapsed / 60}
    parts: dict[tuple[str, str], PartSpent] = {}
    for part in (part for one in spent for part in one.parts):
        before = parts.get((part.part, part.model))
        parts[part.part, part.model] = part if before is None else _join(before, part)
    left: Counter[str] = Counter()
    for one in spent:
        left.update(one.left)
    return BudgetSpent(limits, total, tuple(parts.values()), next((one.currency for one in spent if one.currency), ""), dict(left))


def _join(one: PartSpent, other: PartSpent) -> PartSpent:
    sums = (getattr(one, name) + getattr(other, name) for name in ("requests", "input_tokens", "output_tokens", "bounded", "cost"))
    return PartSpent(one.part, one.model, *sums)
