"""Cut one shard of a run: the scenarios that fall into it, and the facts of the whole that let shards merge into one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.common.shard import part_of, read_shard
from talm_sim.errors import EmptyShardError, PrerequisiteError
from talm_sim.store.files.manifest import dataset_digest
from talm_sim.store.files.parts import ShardFacts
from talm_sim.tasks import Job
from talm_sim.types import Scenario


@dataclass(frozen=True, slots=True)
class Cut:
    """The scenarios of a shard, and where they are in the whole."""

    scenarios: Sequence[Scenario]
    """Those of the shard, in the order of the whole."""
    places: Sequence[int]
    """The place of each in the whole, from 0."""
    whole: Sequence[Scenario]


def check_shard(job: Job[Any]) -> None:
    """Refuse options that are about the whole run, of which a shard sees a part."""
    config = job.config
    for flag, value in (("--gate", config.gate), ("baseline", config.baseline)):
        if value:
            raise PrerequisiteError(f"{flag}: is about a whole run; with --shard {config.shard}, give it to `report` of the merged run.")
    if getattr(job.options, "ask_limit_run", None) is not None:
        raise PrerequisiteError(f"ask_limit_run: counts the questions of a whole run; with --shard {config.shard}, use ask_limit.")


def scenarios_of_shard(scenarios: Sequence[Scenario], shard: str | None) -> Sequence[Scenario]:
    """Return the scenarios that fall into a shard, in their order; all of them if there is no shard."""
    return scenarios if shard is None else cut_scenarios(scenarios, shard).scenarios


def cut_scenarios(scenarios: Sequence[Scenario], shard: str) -> Cut:
    """Cut a shard out of a run. Scenarios of one base fall into one shard, whatever other scenarios there are."""
    part, parts = read_shard(shard)
    places = [place for place, scenario in enumerate(scenarios) if part_of(scenario.base, parts) == part]
    if not places:
        raise EmptyShardError(
            f"shard {shard} has none of the {len(scenarios):,} scenarios; nothing was run, and the merge needs nothing of it."
        )
    return Cut([scenarios[place] for place in places], places, scenarios)


def shard_facts(cut: Cut, job: Job[Any]) -> ShardFacts:
    """Return what a shard keeps of the whole."""
    gold: dict[str, list[dict[str, Any]]] = {}
    if getattr(job.options, "perturb", ()) or any(scenario.perturbations for scenario in cut.scenarios):
        from talm_sim.tasks.acting.recoveries import gold_arguments  # not at the top: a run without faults needs none

        gold = {tool: [dict(one) for one in every] for tool, every in gold_arguments(cut.whole).items()}
    return ShardFacts(part=str(job.config.shard), scenarios=len(cut.whole), dataset=dataset_digest(cut.whole), gold=gold)
