"""Run, resume and judge: the package's verbs. The core is async; `run`, `resume` and `judge` wrap it for plain scripts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from talm_sim.config import RunConfig, Scope
from talm_sim.errors import PrerequisiteError
from talm_sim.models.registry import in_process
from talm_sim.plugins import load_plugins
from talm_sim.runs.batch import Ask, BatchCounts, run_batch
from talm_sim.runs.build import Built, build, open_runner, plan
from talm_sim.runs.desk import BLIND
from talm_sim.runs.events import OnEvent, RunFinished, RunStarted, ignore_events
from talm_sim.runs.extensions import brought, check_brought
from talm_sim.runs.judging import Grader, check_judges, judge_names, judge_run, open_grader
from talm_sim.runs.load import StoredRun
from talm_sim.runs.manifest import create_run, find_run, fresh_run_id
from talm_sim.runs.resolve import configure, overridden
from talm_sim.runs.store import RunStore
from talm_sim.tasks import Job
from talm_sim.tasks.shared import Shared

__all__ = ["begin", "judge", "judge_async", "resume", "resume_async", "resume_with", "run", "run_async", "to_completion"]

_T = TypeVar("_T")


def run(
    config: RunConfig | None = None,
    /,
    *,
    on_event: OnEvent = ignore_events,
    ask: Ask | None = None,
    wait: bool = False,
    command: str = "",
    **options: Any,
) -> StoredRun:
    """Run episodes over scenarios, judge them, and return the stored run.

    Args:
        config: What to run; the defaults replay the shipped recording.
        on_event: Told of progress (`talm_sim.runs.events`).
        ask: With `human="terminal"`: puts a question to a person, one at a time. Without it, questions stay open in the store.
        wait: Whether to stay until all open questions are answered from elsewhere (`talm-sim answer`).
        command: Stored with the run as what made it.
        **options: Options, shared ones or the task's own, in place of those of `config`.

    Raises:
        PrerequisiteError: The user must mend something; the message is one line.
    """
    return to_completion(run_async(config, on_event=on_event, ask=ask, wait=wait, command=command, **options))


async def run_async(
    config: RunConfig | None = None,
    /,
    *,
    on_event: OnEvent = ignore_events,
    ask: Ask | None = None,
    wait: bool = False,
    command: str = "",
    **options: Any,
) -> StoredRun:
    """`run`, on the running event loop."""
    async with Shared() as shared:
        job, scenarios = plan(configure(config, options), shared)
        async with build(job, scenarios, shared) as built:
            return await begin(built, on_event=on_event, ask=ask, wait=wait, command=command)


async def begin(built: Built, *, on_event: OnEvent = ignore_events, ask: Ask | None = None, wait: bool = False, command: str = "") -> StoredRun:
    """Create the run of what was built, carry it out, and judge it; arguments as of `run`."""
    job, scenarios = built.job, built.scenarios
    directory = create_run(
        job.config.run_dir,
        job.config.run_id or fresh_run_id(job.config.run_dir, job.config),
        job.config,
        scenarios,
        tools=built.opened.tools_of(scenarios),
        wording=built.opened.wording,
        brought=brought(job, scenarios, judge_names(job)),
        command=command,
    )
    return await _session(StoredRun(directory), built, on_event=on_event, ask=ask, wait=wait)


def resume(run: Path | str, *, on_event: OnEvent = ignore_events, ask: Ask | None = None, wait: bool = False, **overrides: Any) -> StoredRun:
    """Go on with a run: unfinished episodes start again, waiting ones continue with the answers given meanwhile.

    Args:
        run: The run's directory, or its name in `runs/`.
        on_event: As in `run`.
        ask: As in `run`.
        wait: As in `run`.
        **overrides: Operational options, for this session only.

    Raises:
        PrerequisiteError: There is no such run, another process runs it, or an override would make it another experiment.
    """
    return to_completion(resume_async(run, on_event=on_event, ask=ask, wait=wait, **overrides))


async def resume_async(
    run: Path | str, *, on_event: OnEvent = ignore_events, ask: Ask | None = None, wait: bool = False, **overrides: Any
) -> StoredRun:
    """`resume`, on the running event loop."""
    async with Shared() as shared:
        return await resume_with(shared, _open(run, overrides), on_event=on_event, ask=ask, wait=wait, **overrides)


async def resume_with(
    shared: Shared, stored: StoredRun, *, on_event: OnEvent = ignore_events, ask: Ask | None = None, wait: bool = False, **overrides: Any
) -> StoredRun:
    """`resume`, with what other runs of the session opened."""
    if stored.imported:
        raise PrerequisiteError(f"resume: {stored.path} was imported; there is nothing to run.")
    load_plugins(overrides.get("plugin") or ())
    check_brought(stored.manifest.brought, str(stored.path))
    job = overridden(stored.job, overrides, {Scope.OPERATIONAL}, verb="resume", otherwise="start a new run with `talm-sim run` instead.")
    check_judges(job)
    async with build(job, list(stored.scenarios()), shared, begun_with=stored.manifest.wording) as built:
        return await _session(stored, built, on_event=on_event, ask=ask, wait=wait)


def judge(run: Path | str, *, on_event: OnEvent = ignore_events, **scoring: Any) -> StoredRun:
    """Judge a stored run again; its episodes stay as they are.

    Args:
        run: The run's directory, or its name in `runs/`.
        on_event: Told of progress.
        **scoring: Scoring options (`judge`, `judge_model` and the task's own), kept with the run; operational ones are for this session only.

    Raises:
        PrerequisiteError: There is no such run, another process runs it, or a judge lacks something.
    """
    return to_completion(judge_async(run, on_event=on_event, **scoring))


async def judge_async(run: Path | str, *, on_event: OnEvent = ignore_events, **scoring: Any) -> StoredRun:
    """`judge`, on the running event loop."""
    stored = _open(run, scoring)
    load_plugins(scoring.get("plugin") or ())
    check_brought(stored.manifest.brought, str(stored.path), ("task",))
    job = overridden(stored.job, scoring, {Scope.SCORING, Scope.OPERATIONAL}, verb="judge", otherwise="that is not for a judge to change.")
    named = {f"judge {name}" for name in job.config.judge}
    check_brought({thing: origin for thing, origin in stored.manifest.brought.items() if thing in named}, str(stored.path))
    check_judges(job)
    async with Shared() as shared:
        grader = await open_grader(job, stored.scenarios(), shared)
        async with RunStore.open(stored.path) as store:
            await _judge(stored, store, job, grader, on_event)
    return stored


async def _judge(stored: StoredRun, store: RunStore, job: Job[Any], grader: Grader, on_event: OnEvent) -> None:
    await judge_run(store, job, grader, pairs=lambda: job.task.pair(stored.judged_as(job)), on_event=on_event)


async def _session(stored: StoredRun, built: Built, *, on_event: OnEvent, ask: Ask | None, wait: bool) -> StoredRun:
    """One stretch of a run in this process: episodes, then judges."""
    started = time.monotonic()
    async with RunStore.open(stored.path) as store:
        if built.job.config.blind:
            await store.set_meta({BLIND: True})  # kept with the run, so that whoever answers later is not told either
        async with open_runner(built, store) as runner:
            on_event(_started(stored, built, store))
            counts = await run_batch(
                store,
                runner,
                epochs=built.job.config.epochs,
                max_episodes=built.opened.in_flight,
                on_event=on_event,
                ask=ask if built.opened.waits else None,
                wait=wait,
            )
        await _judge(stored, store, built.job, built.grader, on_event)
    on_event(_finished(stored, counts, time.monotonic() - started))
    return stored


def _open(run: Path | str, options: dict[str, Any]) -> StoredRun:
    return StoredRun(find_run(run, Path(options.get("run_dir") or "runs")))


def _started(stored: StoredRun, built: Built, store: RunStore) -> RunStarted:
    config = built.job.config
    models = "on this machine" if in_process(config.model) else str(config.models)
    return RunStarted(
        run_id=stored.id,
        path=str(stored.path),
        total=stored.total,
        finished=stored.finished,
        waiting=len(store.paused()),
        model=config.model,
        models=models,
        tools=str(config.tools or "none"),
        human=built.opened.human,
    )


def _finished(stored: StoredRun, counts: BatchCounts, elapsed: float) -> RunFinished:
    return RunFinished(stored.id, counts.finished, counts.total, counts.waiting, counts.terminations, elapsed)


def to_completion(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a loop of its own, and return what it returns.

    Raises:
        PrerequisiteError: A loop is running already, as in a notebook.
    """
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        work.close()
        raise PrerequisiteError("an event loop is running already: await the function whose name ends in _async instead.")
    return asyncio.run(work)
