"""Build a run: open and try its job and its judges' model, and make what runs one episode with its recordings in place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from talm_sim.agent.checkpoints import memory_saver
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import NotRecordedError, PrerequisiteError, did_you_mean, format_names, line_to_copy, on_command_line, suggest_nearest
from talm_sim.models.registry import has_traffic, in_process
from talm_sim.recordings import model_folder
from talm_sim.recordings.packing import ignored_in
from talm_sim.runs.engines.engine_checks import check_elsewhere
from talm_sim.runs.engines.run_shard import check_shard, cut_scenarios, scenarios_of_shard
from talm_sim.runs.judging import check_judges, open_grader
from talm_sim.runs.resolve import RECORDINGS
from talm_sim.runs.runner import Built, Runner
from talm_sim.scenarios.load import select
from talm_sim.store.files.manifest import RunManifest, wording_digests
from talm_sim.tasks import AgentOptions, Job, Opened, PersonOptions, Recorded
from talm_sim.tasks.acting.person_model import settle_person
from talm_sim.tasks.keys import are_alike, differences, has_earlier_schedule, recorded_settings, recording_key
from talm_sim.tasks.shared import Shared
from talm_sim.types import Episode, Scenario, Termination

MANY = 100_000
"""A run of more episodes than this needs an explicit confirmation."""


class Plan(NamedTuple):
    """A run of which every value is decided, and nothing is opened."""

    job: Job[Any]
    scenarios: list[Scenario]
    """What is run, in order; of a shard, the whole it is cut from, so that all shards decide alike."""

    def check_size(self) -> None:
        """Refuse a run of very many episodes, which is a slip more often than meant, before anything is made for each."""
        config = self.job.config
        scenarios = self.scenarios if config.shard is None else scenarios_of_shard(self.scenarios, config.shard)
        if (episodes := len(scenarios) * config.epochs) > MANY:
            wanted = f"--epochs {config.epochs}: this would be a run of {episodes:,} episodes"
            raise PrerequisiteError(f"{wanted}; choose fewer, or in Python pass large=True.")


def plan(job: Job[Any], shared: Shared, *, large: bool = True) -> Plan:
    """Read the scenarios, decide every automatic value that needs no model, and see that the judges are there."""
    if job.config.shard is not None:
        check_shard(job)
    if job.config.on is not None:
        check_elsewhere(job)
    scenarios = _choose_scenarios(job, shared)
    first = {scenario.group: scenario.id for scenario in reversed(scenarios)}
    known = job.config.scenarios is None or job.config.cassettes is not None
    _check_cassettes(job.config)
    without_tools = frozenset(first) - {scenario.group for scenario in scenarios if scenario.tools}
    job = settle_automatic(job, Recorded(shared.library(job.config.cassettes, job.task.recorded_in), first, known, without_tools))
    planned = Plan(check_judges(job), scenarios)
    if (job.config.gate or job.config.baseline) and not on_command_line.get():
        raise PrerequisiteError("gate: a run ends before its gates are checked; call talm_sim.check_gates(run, gates, baseline).")
    if not large:
        planned.check_size()
    return planned


def settle_automatic(job: Job[Any], recorded: Recorded) -> Job[Any]:
    """Decide the automatic values: the model is replayed where a recording is found; the rest is the task's affair."""
    models, tools = job.config.models, job.config.tools
    if tools not in (None, models) and not isinstance(job.options, AgentOptions):
        raise PrerequisiteError(f"tools {tools}: task {job.task.name} executes no tools; leave it out.")
    if in_process(job.config.model):
        models = None
    elif models is None:
        models = Traffic.REPLAY if recorded.model(job.config.model) else Traffic.LIVE
    said = job.config
    job = job.task.settle(job.having(models=models), recorded)
    if isinstance(job.options, PersonOptions) and ":" in job.options.human:
        job = settle_person(job, said.models, said.tools, recorded.library)
    if Traffic.RECORD in (job.config.models, job.config.tools) and job.config.cassettes is None:
        return job.having(cassettes=RECORDINGS)
    return job


def _choose_scenarios(job: Job[Any], shared: Shared) -> list[Scenario]:
    """Return the job's scenarios: those of its split, narrowed to the named ids or tools, and then to the limit."""
    config, task = job.config, job.task
    if not (config.scenario or config.category):
        return task.load(job)
    scenarios = task.load(job.having(limit=None))
    if config.scenario:
        known = {scenario.id: scenario for scenario in scenarios}
        for name in config.scenario:
            if name not in known:
                several = did_you_mean(name, known) if "," in name and {*name.split(",")} <= {*known} else ""
                hint = several or suggest_nearest(name, [*known]) or f" See: talm-sim scenarios list --task {task.name}"
                raise PrerequisiteError(f"--scenario: no scenario '{name}' in {task.searched(job)}.{hint}")
        scenarios = [scenario for scenario in scenarios if scenario.id in config.scenario]
    if config.category:
        of = task.categories(scenarios, job, Recorded(shared.library(config.cassettes, task.recorded_in), {}, known=False))
        found = sorted({category for categories in of.values() for category in categories})
        for name in config.category:
            if name not in found:
                hint = did_you_mean(name, found) if found else f" Task {task.name} has no tool categories; leave out category."
                raise PrerequisiteError(f"category: no scenario of category '{name}' in {task.searched(job)}.{hint}")
        scenarios = [scenario for scenario in scenarios if not of.get(scenario.id, frozenset()).isdisjoint(config.category)]
    return select(scenarios, list(dict.fromkeys(scenario.group for scenario in scenarios)), config.limit) if config.limit else scenarios


def _check_cassettes(config: RunConfig) -> None:
    """Check that there are recordings where the user says; without any, the run would call live services."""
    place, traffic = config.cassettes, (config.tools, config.models)
    if place is not None and Traffic.RECORD not in traffic and traffic != (Traffic.LIVE, Traffic.LIVE) and not any(place.glob("*/*")):
        raise PrerequisiteError(f"--cassettes {place}: there are no recordings there; add --record to make one, or leave it out.")


@asynccontextmanager
async def build(
    job: Job[Any], scenarios: Sequence[Scenario], shared: Shared, begun_with: RunManifest | None = None, *, answered: bool = False
) -> AsyncIterator[Built]:
    """Open a planned job, and try it: before the run exists, so that a failed start leaves nothing behind."""
    shard = job.config.shard if begun_with is None else None
    cut = None if shard is None else cut_scenarios(scenarios, shard)
    grader = await open_grader(job, scenarios, shared)
    async with job.task.open(job.having(fail_fast=False) if answered else job, shared) as opened:
        if begun_with is not None:
            _check_same(opened, begun_with)
        scenarios = opened.check(scenarios)
        _check_control(job, scenarios)
        library = shared.library(opened.job.config.cassettes, job.task.recorded_in)
        ignored = ignored_in(library.root / model_folder(job.config.model), job.config.ignore_in_prompts)
        library.ignored = library.ignored if library.ignored.patterns == ignored.patterns else ignored
        built = Built(opened.job, opened, list(scenarios if cut is None else opened.check(cut.scenarios)), grader, library, shared.facts, cut)
        await _check_recorded(built)
        yield built


def _check_control(job: Job[Any], scenarios: Sequence[Scenario]) -> None:
    """See that a control knows how to play every scenario: one that does not would print rates that say nothing."""
    name = job.config.model
    for scenario in scenarios if name.startswith("sim/") else ():
        if name.removeprefix("sim/") not in job.task.controls or job.task.control(name, scenario) is None:
            raise PrerequisiteError(f"model '{name}': task {job.task.name} has no policy for it; choose another --model.")


def _check_same(opened: Opened[Any], begun_with: RunManifest) -> None:
    """Check that the same model would read the same texts: two wordings in one run, or two models, would be two experiments."""
    for name, digest in begun_with.weights.items():
        if opened.weights.get(name) != digest:
            what = f"the {'adapter' if name == 'adapter' else 'weights'} of {opened.job.config.model_and_adapter}"
            raise PrerequisiteError(f"resume: {what} changed since the run began; restore the files, or start a new run.")
    now, file = wording_digests(opened.wording), opened.job.config.prompts
    for name, digest in begun_with.wording.items():
        if now.get(name) != digest:
            where = f"{file}: {name}" if file else name
            raise PrerequisiteError(f"resume: {where} has changed since the run began; restore it, or start a new run.")


async def _check_recorded(built: Built) -> None:
    """Check the recordings of a replayed model: play one episode of each group, and see that it was recorded with these settings.

    Other prompts, sampling or perturbations are other conversations; better said now than once for each episode.
    """
    config = built.job.config
    if config.models is not Traffic.REPLAY or not has_traffic(config.model):
        return
    _check_number_recorded(built)
    runner = Runner(built, memory_saver())
    for scenario in {scenario.group: scenario for scenario in reversed(built.scenarios)}.values():
        result = await runner(scenario, epoch=config.epochs, attempt=1)
        begun = result.model_turns or (isinstance(result, Episode) and result.awareness)
        if isinstance(result, Episode) and result.termination is Termination.REPLAY_MISS and not begun:
            known = built.library.models()
            if model_folder(config.model) not in map(model_folder, known):
                there = f"; recorded there: {format_names(known, 8)}" if known else ""
                raise NotRecordedError(f"model '{config.model}': there are no recordings of it in {built.library.root}{there}; add --live.")
            if any(has_earlier_schedule(recorded_settings(built.job), there) for there in built.library.settings(config.model).values()):
                drawn = "was recorded with an earlier schedule of faults, and p < 1 makes them fall on other calls now"
                raise NotRecordedError(f"model '{config.model}': {scenario.id} {drawn}; record it again with --record.")
            settings = _nearest_recording_settings(built)
            what = f"{scenario.id}, epoch {config.epochs}, was not recorded{settings}"
            if not settings and " differs in " in result.error:  # it names the nearest request: the settings are right, the text is another
                raise NotRecordedError(f"model '{config.model}': {what}: {result.error.rstrip('.')}; add --live, or ask as it was recorded.")
            raise NotRecordedError(f"model '{config.model}': {what}; add --live, or use the settings of the recording.")


def _check_number_recorded(built: Built) -> None:
    """Check that all packaged scenarios are recorded if some are: the package has more than comes with a recording."""
    config, key, scenarios = built.job.config, recording_key(built.job), built.scenarios
    if config.scenarios is not None or config.epochs > 1:
        return
    there = sum(built.library.has_conversation(config.model, one.id, one.group, 1, key) for one in scenarios)
    if 0 < there < len(scenarios):
        live = line_to_copy("talm-sim", "run", *built.job.task.selection(built.job), "--model", config.model, "--live")
        recorded = f"{there:,} of {len(scenarios):,} scenarios are recorded in {built.library.root}"
        raise NotRecordedError(f"model '{config.model}': {recorded}; choose fewer, or ask it live: {live}")


def _nearest_recording_settings(built: Built) -> str:
    """Return how the settings of the nearest recording of the model differ."""
    known = built.library.settings(built.job.config.model)
    if recording_key(built.job) in known:
        return ""  # only this one is missing
    here = recorded_settings(built.job)
    alike = [there for there in known.values() if are_alike(here, there)]
    nearest = min((list(differences(here, there)) for there in alike or known.values()), key=len, default=[])
    return " with these settings" + (f", but {', '.join(nearest)}" if nearest else "")
