"""Run, resume and judge. The core is async; `run`, `resume` and `judge` wrap it for plain scripts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from talm_sim.common.garbage import rare_searches
from talm_sim.common.interrupts import in_order, run_in_thread
from talm_sim.config import RunConfig, Scope, Traffic
from talm_sim.errors import PrerequisiteError, RefusedError, ToolsGoneError, did_you_mean
from talm_sim.foreign.code import directory_kept
from talm_sim.foreign.loop import is_foreign_loop, running_loop, use_foreign_loop
from talm_sim.foreign.plugins import load_plugins
from talm_sim.judges.base import Pair
from talm_sim.models.registry import has_traffic, in_process
from talm_sim.models.request_facts import SAMPLING
from talm_sim.runs.batch import Ask, run_batch
from talm_sim.runs.budget import Spending, within_budget
from talm_sim.runs.engines.run_shard import shard_facts
from talm_sim.runs.events import OnEvent, RunFinished, RunStarted, listening
from talm_sim.runs.judging import Grader, check_judges, judge_run, open_grader
from talm_sim.runs.plan import build, plan
from talm_sim.runs.resolve import configure, override
from talm_sim.runs.runner import Built, open_runner
from talm_sim.runs.tool_sources import check_sources, move_tool_objects, resume_command
from talm_sim.store.extensions import check_brought, import_agent, name_extensions
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.store import RunProgress, RunStore
from talm_sim.store.files.stored_documents import BLIND, IGNORED, LEFT_OUT, MIXED
from talm_sim.store.kept_shards import find_kept
from talm_sim.store.python_words import in_python, phrase_errors_for_python
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.store.tidy_tables import first_measure
from talm_sim.tasks import AgentOptions, Job
from talm_sim.tasks.acting.person_model import person_model
from talm_sim.tasks.shared import Shared
from talm_sim.types import Row, Summary, Termination

_P = ParamSpec("_P")
_T = TypeVar("_T")

AGAIN = (Termination.INFRASTRUCTURE_ERROR.value,)
"""Terminations that `resume` tries again by default."""
KEPT = "The run is kept; continue with:"
"""What precedes the command that continues a run, where its models or tools are gone."""


@dataclass(frozen=True, slots=True)
class Contact:
    """How a session reports to the code that started it."""

    on_event: OnEvent
    """Receives progress events."""
    ask: Ask | None = None
    """Puts a question to a person, one at a time; without it, questions stay open in the store."""
    wait: bool = False
    """Whether the session stays until all open questions are answered from elsewhere."""
    spending: Spending | None = None
    """What decides whether more may be started; None without a budget."""


def blocking(work: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """Make the plain form of `NAME_async`, called `NAME`: it takes the same arguments, and returns once the work is done."""

    @wraps(work)
    def plain(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return run_to_completion(work(*args, **kwargs))

    plain.__name__ = plain.__qualname__ = work.__name__.removesuffix("_async")
    return plain


async def run_async(
    config: RunConfig | None = None,
    /,
    *,
    on_event: OnEvent | None = None,
    progress: bool | None = None,
    ask: Ask | None = None,
    wait: bool = False,
    command: str = "",
    large: bool = False,
    **options: Any,
) -> StoredRun:
    """Run episodes over scenarios, judge them, and return the stored run.

    Args:
        config: What to run; the defaults replay the shipped recording.
        on_event: Receives progress events (`talm_sim.runs.events`).
        progress: Whether to show progress; by default it is shown in a notebook, unless `on_event` is given.
        ask: With `human="terminal"`: puts one item at a time to a person and stores the answer with `desk.answer(question.key, TEXT)`; of a
            call to approve or a form (`question.request`) with `desk.answer(question.key, decision=Decision(...))`. Without it, all stay open.
        wait: Whether to stay until all open questions are answered from elsewhere (`talm-sim answer`).
        command: The command that made the run; it is stored with the run.
        large: Whether the run may have more than 100,000 episodes.
        **options: Options, shared or of the task, that replace those of `config`.

    Raises:
        PrerequisiteError: The user must fix something; the message is one line.
    """
    with in_python(), listening(on_event, progress) as listen:
        async with Shared() as shared:
            given = configure(config, options)
            planned = plan(given, shared, large=large)
            if planned.job.config.on is not None:
                from talm_sim.runs.engines.driver import run_elsewhere  # not at the top: most runs are played here

                return await run_elsewhere(given.config, *planned, listen, command=command)
            with within_budget(planned.job.config, listen) as spending:
                async with build(*planned, shared) as built:
                    return await start_run(built, Contact(listen, ask, wait, spending), command=command)


run = blocking(run_async)


async def run_with(shared: Shared, contact: Contact, /, *, command: str = "", **options: Any) -> StoredRun:
    """Run as `run` does, in this process, with what other runs of the session opened."""
    async with build(*plan(configure(None, options), shared), shared) as built:
        return await start_run(built, contact, command=command)


async def start_run(built: Built, contact: Contact, *, command: str = "") -> StoredRun:
    """Create the run of what was built, carry it out, and judge it; `command` as of `run`."""
    job, scenarios, cut = built.job, built.scenarios, built.cut
    whole = scenarios if cut is None else cut.whole  # what the shards of a run keep of it must be the same in each
    config, tools = job.config, built.opened.tools_of(whole)
    replaceable = {tool.name: built.opened.replaceable[tool.name] for tool in tools if tool.name in built.opened.replaceable}
    described = {"wording": built.opened.wording, "weights": built.opened.weights, "notes": built.opened.notes}
    brought = name_extensions(job, whole, built.grader.judges)
    manifest = describe_run(config, scenarios, **described, brought=brought, created=job.created, command=command)
    places, shard = ((), None) if cut is None else (cut.places, shard_facts(cut, job))
    store = RunStore.create(config.run_dir, config.run_id or None, manifest, scenarios, tools, replaceable, places, shard)
    return await _session(StoredRun(config.run_dir / store.directory.name, manifest), store, built, contact)


async def resume_async(
    run: StoredRun | Path | str,
    *,
    failed: Collection[str] = AGAIN,
    on_event: OnEvent | None = None,
    progress: bool | None = None,
    ask: Ask | None = None,
    wait: bool = False,
    **overrides: Any,
) -> StoredRun:
    """Continue a run: unfinished and failed episodes start again, waiting ones continue with the answers given meanwhile.

    Args:
        run: The run, its directory, or its name in `runs/`.
        failed: Terminations (`Termination`) to try again: a finished episode that ended in one of them runs once more, and its stored record is
            deleted when the new attempt begins. If empty, all finished episodes are kept.
        on_event: As in `run`.
        progress: As in `run`.
        ask: As in `run`.
        wait: As in `run`.
        **overrides: Operational options; they apply to this session only.

    Raises:
        PrerequisiteError: There is no such run or termination, another process is running it, or an override would make it another experiment.
    """
    with in_python(), listening(on_event, progress) as listen:
        async with Shared() as shared:
            run_dir = Path(overrides.get("run_dir") or "runs")
            begun = find_kept(run, run_dir) if isinstance(run, str | os.PathLike) else None
            if begun is not None:
                from talm_sim.runs.engines.driver import resume_elsewhere

                return await resume_elsewhere(begun, overrides, shared, listen)
            stored = load_run(run, run_dir)
            return await resume_with(shared, stored, Contact(listen, ask, wait), failed=failed, **overrides)


resume = blocking(resume_async)


async def resume_with(
    shared: Shared, stored: StoredRun, contact: Contact, /, *, failed: Collection[str] = AGAIN, **overrides: Any
) -> StoredRun:
    """Continue a run as `resume` does, with what other runs of the session opened."""
    again = _terminations(failed)
    if stored.imported:
        raise PrerequisiteError(f"resume: {stored.path} was imported; there is nothing to run.")
    load_plugins(overrides.get("plugin") or ())
    check_brought(stored.manifest.brought, str(stored.path))
    overrides = move_tool_objects(overrides)
    check_sources(stored.job, overrides.get("tools_from"), str(stored.path))
    if isinstance(stored.job.options, AgentOptions):
        overrides.setdefault("trust", False)  # whether code may run is for the user to say, and not for a stored run
    job = override(stored.job, overrides, {Scope.OPERATIONAL}, verb="resume", otherwise="start a new run with `talm-sim run` instead.")
    import_agent(overrides)
    check_judges(job)
    answered = any(end.completed for end in stored.terminations)
    job = job.having(run_id=str(stored.path))
    for model, fields in stored.left_out().items():
        shared.facts[model].left_out |= SAMPLING & set(fields)
        shared.facts[model].out_of_range |= set(fields) - SAMPLING
    with within_budget(job.config, contact.on_event) as spending:
        contact = replace(contact, spending=spending or contact.spending)
        async with build(job, list(stored.scenarios()), shared, begun_with=stored.manifest, answered=answered) as built:
            store = RunStore.open(stored.path.absolute())  # an agent may move to another directory
            return await _session(stored, store, built, contact, again)


@phrase_errors_for_python
async def judge_async(
    run: StoredRun | Path | str, *, on_event: OnEvent | None = None, progress: bool | None = None, **scoring: Any
) -> StoredRun:
    """Judge a stored run again; its episodes stay as they are.

    Args:
        run: The run, its directory, or its name in `runs/`.
        on_event: Receives progress events, as in `run`.
        progress: As in `run`.
        **scoring: Scoring options (`judge`, `judge_model` and the task's own), stored with the run; operational ones last for this session.

    Raises:
        PrerequisiteError: There is no such run, another process is running it, or a judge lacks something that it needs.
    """
    stored = load_run(run, Path(scoring.get("run_dir") or "runs"))
    load_plugins(scoring.get("plugin") or ())
    check_brought(stored.manifest.brought, str(stored.path), ("task",))
    job = override(stored.job, scoring, {Scope.SCORING, Scope.OPERATIONAL}, verb="judge", otherwise="judging cannot change that.")
    named = stored.manifest.brought.keys() & {f"judge {name}" for name in job.config.judge}
    check_brought({thing: stored.manifest.brought[thing] for thing in named}, str(stored.path))
    job = check_judges(job)
    with listening(on_event, progress) as listen:
        async with Shared() as shared:
            with within_budget(job.config, listen) as spending:
                grader = await open_grader(job.having(run_id=str(stored.path)), stored.scenarios(), shared)
                async with RunStore.open(stored.path) as store:
                    await _judge(stored, store, job, grader, Contact(listen, spending=spending))
    return stored


judge = blocking(judge_async)


async def _judge(stored: StoredRun, store: RunStore, job: Job[Any], grader: Grader, contact: Contact) -> tuple[list[Row], list[Summary]]:
    """Judge, and return what the episodes count as and their summary; nothing of the two if the run it is paired with has gone."""

    def pairs() -> Pair:
        return job.task.pair(stored.judged_as(job))

    await judge_run(store, job, grader, pairs=pairs, on_event=contact.on_event, spending=contact.spending)
    rows: list[Row] = []
    summary: list[Summary] = []
    view = stored.judged_as(job)
    # The run it is paired with may have gone; the table will say so.
    with contextlib.suppress(PrerequisiteError), view.at_once(store.reader):  # in a thread: who calls `run_async` has other work on the loop
        rows = await asyncio.to_thread(view.rows)
        summary = await asyncio.to_thread(view.summary, rows)
    first = first_measure(summary)
    await store.set_meta({"first_measure": None if first is None else first.model_dump(mode="json")})
    return rows, summary


async def _session(stored: StoredRun, store: RunStore, built: Built, contact: Contact, failed: Collection[Termination] = ()) -> StoredRun:
    """Run one session: episodes, then judges. If a server refuses, or the tools are gone, the error says how to continue.

    Args:
        stored: The run.
        store: The run, open for writing; it is closed at the end.
        built: What it needs.
        contact: Whoever started it.
        failed: Ends of finished episodes that are tried again.
    """
    try:
        with rare_searches():
            return await _carry_out(stored, store, built, contact, failed)
    except (RefusedError, ToolsGoneError) as err:
        raise PrerequisiteError(f"{err} {KEPT} {resume_command(stored.job, str(stored.path))}") from None


async def _carry_out(stored: StoredRun, store: RunStore, built: Built, contact: Contact, failed: Collection[Termination]) -> StoredRun:
    started, on_event, config = time.monotonic(), contact.on_event, built.job.config
    async with store:
        if config.blind:
            await store.set_meta({BLIND: True})  # kept with the run, so that whoever answers later is not told either
        if config.tools is not stored.manifest.config.tools:
            await store.set_meta({MIXED: True})  # so that a table need not look at every episode of every run
        async with open_runner(built, store) as runner:
            progress = store.progress(failed)
            on_event(_start_event(stored, built, progress, counted=contact.spending is not None))
            ignored = built.library.ignored
            ignored.asked = ignored.matched = 0  # not what was tried before the run began
            with directory_kept():
                try:
                    counts = await run_batch(
                        store,
                        runner,
                        progress,
                        epochs=config.epochs,
                        max_episodes=built.opened.in_flight or config.max_episodes,
                        on_event=on_event,
                        ask=contact.ask if built.opened.waits else None,
                        wait=contact.wait,
                        answer_timeout=getattr(built.job.options, "answer_timeout", None),
                        spending=contact.spending,
                    )
                finally:  # also where a server ends the run: a resumed one begins with what was learnt
                    left_out = {model: sorted(said) for model, facts in built.facts.items() if (said := facts.left_out | facts.out_of_range)}
                    if left_out:
                        await store.set_meta({LEFT_OUT: left_out})
            if ignored.patterns:
                matched, asked = stored.ignored()
                await store.set_meta({IGNORED: (matched + ignored.matched, asked + ignored.asked)})
        rows, summary = await _judge(stored, store, built.job, built.grader, contact)
    elapsed = time.monotonic() - started
    on_event(RunFinished(stored.id, counts.finished, counts.total, counts.waiting, counts.terminations, elapsed))
    if summary:
        stored.keep(rows, summary, built.job)  # so that whoever prints it next need not compute it again
    return stored


def _terminations(names: Collection[str]) -> list[Termination]:
    """Return terminations by name; an unknown one raises a `PrerequisiteError`."""
    known = [end.value for end in Termination]
    for name in (names,) if isinstance(names, str) else names:
        if name not in known:
            raise PrerequisiteError(f"--failed: there is no termination '{name}'.{did_you_mean(name, [*known, 'none'])}")
    return [Termination(name) for name in names]


def _start_event(stored: StoredRun, built: Built, progress: RunProgress, *, counted: bool) -> RunStarted:
    config, opened = built.job.config, built.opened
    notes = [f"{name}: {text}" for name, text in opened.notes.items()]
    notes += [f"{model} may think for {facts.room:,} tokens beside each answer" for model, facts in built.facts.items() if facts.room]
    if counted and config.model.startswith("agent/"):
        notes.append("budget: of the models that your agent brings, only LangChain's are counted")
    models = "on this machine" if in_process(config.model) else str(config.models) if has_traffic(config.model) else "its own"
    person = person_model(config) if ":" in opened.human else ""
    reached = "" if not person else "on this machine" if in_process(person) else str(config.models)
    return RunStarted(
        run_id=stored.id,
        path=str(stored.path),
        total=len(built.scenarios) * config.epochs,
        finished=len(progress.finished),
        waiting=len(progress.paused),
        model=config.model_and_adapter,
        models=models,
        tools=_describe_tools(built.job),
        human=opened.human,
        person=person,
        person_traffic=reached,
        again=progress.again,
        notices=(*notes, *opened.notices, *opened.warnings(built.scenarios)),
    )


def _describe_tools(job: Job[Any]) -> str:
    """Describe how the tools are reached; of the user's own, say that they are replayed, and how to have them called."""
    tools, place = job.config.tools, job.config.cassettes
    if tools is Traffic.REPLAY and isinstance(job.options, AgentOptions) and job.options.tools_from:
        return f"replayed from {place} (to call them: TALM_SIM_TOOLS=live)"
    return str(tools or "none")


def run_to_completion(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a loop of its own, and return what it returns; where a loop is running, as in a notebook, in a thread of its own.

    Agents and tools of the user's run on another loop, which lives on.
    """
    if is_foreign_loop():
        work.close()
        raise PrerequisiteError("this would block the event loop of your agents and tools; use await run_async(...).")
    try:
        with use_foreign_loop():
            if running_loop() is not None:
                return run_in_thread(work)
            with in_order() as runner:
                return runner.run(work)
    except PrerequisiteError as err:
        raise err.with_traceback(None) from err.__cause__  # none of the frames is the user's
