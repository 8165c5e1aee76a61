"""Run, resume and judge: the package's verbs. The core is async; `run`, `resume` and `judge` wrap it for plain scripts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from talm_sim.agent.prompts import load_prompts
from talm_sim.agent.templates import list_templates
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import Pair
from talm_sim.judges.pairing import perfect_episodes
from talm_sim.judges.registry import default_judges
from talm_sim.models.registry import in_process
from talm_sim.recordings import CassetteLibrary
from talm_sim.runs import rows
from talm_sim.runs.batch import Ask, BatchCounts, run_batch
from talm_sim.runs.events import OnEvent, RunFinished, RunStarted, ignore_events
from talm_sim.runs.judging import Grader, check_judges, judge_run, open_grader
from talm_sim.runs.manifest import create_run, find_run, fresh_run_id
from talm_sim.runs.parts import Parts, open_parts
from talm_sim.runs.resolve import configure, overridden, resolve
from talm_sim.runs.store import RunStore
from talm_sim.runs.stored import StoredRun, load_run
from talm_sim.runs.wiring import check_recorded, open_runner
from talm_sim.scenarios.load import load_scenarios
from talm_sim.scenarios.when2call import rough_length
from talm_sim.types import Scenario

__all__ = ["judge", "judge_async", "prepare", "resume", "resume_async", "run", "run_async", "to_completion"]

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
        **options: Fields of `RunConfig`, in place of those of `config`.

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
    final, scenarios, library = await prepare(configure(config, options))
    # Everything that can be missing is opened before the run exists, so a failed start leaves nothing behind.
    async with open_grader(final, library, scenarios) as grader, open_parts(final, library) as parts:
        parts.check(scenarios)
        await check_recorded(parts, scenarios)
        final = parts.config
        run_id = final.run_id or fresh_run_id(final.run_dir, final)
        directory = create_run(final.run_dir, run_id, final, scenarios, tools=parts.tools_of(scenarios), command=command)
        return await _session(StoredRun(directory), parts, grader, on_event=on_event, ask=ask, wait=wait)


async def prepare(wanted: RunConfig) -> tuple[RunConfig, list[Scenario], CassetteLibrary]:
    """Resolve a configuration and find out, before anything runs, what it lacks.

    Returns:
        The configuration with every automatic value decided, its scenarios, and the recordings it uses.

    Raises:
        PrerequisiteError: A scenario, prompt, judge or recording it needs is not there.
    """
    load_prompts(wanted.prompts)
    library = CassetteLibrary(wanted.cassettes)
    scenarios = load_scenarios(wanted.groups, wanted.scenarios, wanted.limit, wanted.task)
    if wanted.task == "when2call":
        scenarios = _in_scoring_order(scenarios)
    final = resolve(wanted, library, sorted({scenario.group for scenario in scenarios}))
    if final.cassettes != wanted.cassettes:
        library = CassetteLibrary(final.cassettes)
    _check_judges(final)
    return final, scenarios, library


def _in_scoring_order(scenarios: list[Scenario]) -> list[Scenario]:
    """Long prompts first: where memory does not suffice, that is known at once.

    Those that show the same tools stand together: their prompts begin alike, and a local model reads on from there.
    """
    longest: dict[tuple[str, ...], int] = {}
    for scenario in scenarios:
        longest[scenario.shown_tools] = max(rough_length(scenario), longest.get(scenario.shown_tools, 0))
    return sorted(scenarios, key=lambda one: (-longest[one.shown_tools], one.shown_tools, -rough_length(one)))


def resume(run: Path | str, *, on_event: OnEvent = ignore_events, ask: Ask | None = None, wait: bool = False, **overrides: Any) -> StoredRun:
    """Go on with a run: unfinished episodes start again, waiting ones continue with the answers given meanwhile.

    Args:
        run: The run's directory, or its name in `runs/`.
        on_event: As in `run`.
        ask: As in `run`.
        wait: As in `run`.
        **overrides: Operational fields of `RunConfig`, for this session only.

    Raises:
        PrerequisiteError: There is no such run, another process runs it, or an override would make it another experiment.
    """
    return to_completion(resume_async(run, on_event=on_event, ask=ask, wait=wait, **overrides))


async def resume_async(
    run: Path | str, *, on_event: OnEvent = ignore_events, ask: Ask | None = None, wait: bool = False, **overrides: Any
) -> StoredRun:
    """`resume`, on the running event loop."""
    stored = _open(run, overrides)
    if "imported" in stored.manifest.notes:
        raise PrerequisiteError(f"resume: {stored.path} was imported; there is nothing to run.")
    config = overridden(stored.config, overrides, {Scope.OPERATIONAL}, verb="resume", otherwise="start a new run with `talm-sim run` instead.")
    load_prompts(config.prompts)
    if config.generation_digest() != stored.manifest.generation_digest:
        own = [str(config.prompts)] if config.prompts else []
        own += [config.template] if config.template not in list_templates() else []
        changed = " or ".join(own) or f"{stored.path}: run.json, or a wording built into talm-sim,"
        raise PrerequisiteError(f"resume: {changed} has changed since the run began; restore it, or start a new run.")
    library = CassetteLibrary(config.cassettes)
    _check_judges(config)
    async with open_grader(config, library, stored.scenarios()) as grader, open_parts(config, library) as parts:
        return await _session(stored, parts, grader, on_event=on_event, ask=ask, wait=wait)


def judge(run: Path | str, *, on_event: OnEvent = ignore_events, **scoring: Any) -> StoredRun:
    """Judge a stored run again; its episodes stay as they are.

    Args:
        run: The run's directory, or its name in `runs/`.
        on_event: Told of progress.
        **scoring: Scoring fields of `RunConfig` (`judge`, `judge_model`, `paired_run`), kept with the run; operational ones are for this
            session only.

    Raises:
        PrerequisiteError: There is no such run, another process runs it, or a judge lacks something.
    """
    return to_completion(judge_async(run, on_event=on_event, **scoring))


async def judge_async(run: Path | str, *, on_event: OnEvent = ignore_events, **scoring: Any) -> StoredRun:
    """`judge`, on the running event loop."""
    stored = _open(run, scoring)
    config = overridden(
        stored.config, scoring, {Scope.SCORING, Scope.OPERATIONAL}, verb="judge", otherwise="that is not for a judge to change."
    )
    library = CassetteLibrary(config.cassettes)
    _check_judges(config)
    async with open_grader(config, library, stored.scenarios()) as grader, RunStore.open(stored.path) as store:
        await _judge(store, config, grader, on_event)
    return stored


def _check_judges(config: RunConfig) -> None:
    check_judges(default_judges(config), config)
    if config.paired_run is not None:
        load_run(config.paired_run, config.run_dir)


async def _judge(store: RunStore, config: RunConfig, grader: Grader, on_event: OnEvent) -> None:
    def pairs() -> Pair:
        paired = load_run(config.paired_run, config.run_dir).episodes("perfect") if config.paired_run else None
        found = perfect_episodes(paired or rows.episodes(store.reader, "perfect"))
        return lambda episode, scenario: found.of(scenario.base, episode.epoch)

    await judge_run(store, config, default_judges(config), grader, pairs=pairs, on_event=on_event)


async def _session(stored: StoredRun, parts: Parts, grader: Grader, *, on_event: OnEvent, ask: Ask | None, wait: bool) -> StoredRun:
    """One stretch of a run in this process: episodes, then judges."""
    started = time.monotonic()
    config = parts.config
    async with RunStore.open(stored.path) as store:
        async with open_runner(parts, store) as runner:
            on_event(_started(stored, config, store))
            counts = await run_batch(store, runner, epochs=config.epochs, max_episodes=parts.in_flight, on_event=on_event, ask=ask, wait=wait)
        await _judge(store, config, grader, on_event)
    on_event(_finished(stored, counts, time.monotonic() - started))
    return stored


def _open(run: Path | str, options: dict[str, Any]) -> StoredRun:
    return StoredRun(find_run(run, Path(options.get("run_dir") or "runs")))


def _started(stored: StoredRun, config: RunConfig, store: RunStore) -> RunStarted:
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
        human=config.human,
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
