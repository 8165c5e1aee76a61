"""A run's judges: checked and given a model before anything is run, then let over the stored episodes, each verdict committed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from talm_sim.config import RunConfig, Scope, Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.judges.base import Earlier, Judge, JudgeContext, OpenVote, Pair, no_recording
from talm_sim.judges.registry import in_order, judge_class, load_instructions
from talm_sim.models.base import Model
from talm_sim.models.registry import in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport, current_player
from talm_sim.runs import rows
from talm_sim.runs.events import JudgeProgress, OnEvent, ignore_events
from talm_sim.runs.store import RunStore
from talm_sim.types import Episode, Scenario

__all__ = ["Grader", "OpenModel", "check_judges", "judge_run", "judge_traffic", "open_grader", "score"]

OpenModel = Callable[..., Model]
"""Opens a model by what `talm_sim.models.registry.open_model` takes."""


@dataclass(frozen=True, slots=True)
class Grader:
    """The model of a run's judges, and where its votes are recorded."""

    model: Model | None = None
    """None where the user named none."""
    open_vote: OpenVote = no_recording


def check_judges(names: Iterable[str], config: RunConfig) -> None:
    """See that judges are there and have the model and the wording they need, before anything is run.

    Args:
        names: The judges.
        config: Says whether there is a model, and which prompt file is the user's.

    Raises:
        PrerequisiteError: A judge is unknown or lacks its model, or the prompt file is broken.
    """
    load_instructions(config.prompts)
    for name in names:
        try:
            needs = judge_class(name).needs
        except PrerequisiteError as err:
            raise PrerequisiteError(f"--judge: {err}") from None
        if "model" in needs and config.judge_model is None:
            raise PrerequisiteError(f"judge '{name}' needs a model: add --judge-model PROVIDER/NAME.")


@asynccontextmanager
async def open_grader(
    config: RunConfig, library: CassetteLibrary, scenarios: Iterable[Scenario], opened_by: OpenModel | None = None
) -> AsyncIterator[Grader]:
    """Open the judges' model, once for a whole run: entered before the first episode, left after the last verdict.

    Args:
        config: Resolved.
        library: Where votes are recorded.
        scenarios: Those of the run.
        opened_by: Opens the model where several runs share it, and closes it in its own time; without it, it is closed at the end.

    Raises:
        PrerequisiteError: The model can be neither replayed nor asked live.
    """
    if config.judge_model is None:
        yield Grader()
        return
    traffic = judge_traffic(config, library, scenarios)
    try:
        model = (opened_by or open_model)(
            config.judge_model,
            transport_factory=None if traffic is None else RecordingTransport,
            max_retries=config.max_retries,
            max_connections=config.max_connections,
            timeout=config.timeout,
            constrained=config.model_copy(update={"model": config.judge_model, "tool_format": "auto"}).constrained,
            replay=traffic is Traffic.REPLAY,
        )
    except PrerequisiteError as err:
        flag = f"--judge-model {config.judge_model}: "
        raise PrerequisiteError(flag + str(err).removeprefix(flag)) from None
    try:
        yield Grader(model, _votes(config.judge_model, library, traffic))
    finally:
        if opened_by is None:
            await model.aclose()


def judge_traffic(config: RunConfig, library: CassetteLibrary, scenarios: Iterable[Scenario]) -> Traffic | None:
    """Traffic of the judges' model: as the agent's, for replay must not reach the network; None for a model in process.

    Raises:
        PrerequisiteError: The agent's model is replayed, and the judges' was not recorded.
    """
    model = config.judge_model
    assert model is not None
    if in_process(model):
        return None
    if config.models in (Traffic.LIVE, Traffic.RECORD):
        return config.models
    # Not the split's groups: one without scenarios has no recording.
    if library.has_model(model, {scenario.group for scenario in scenarios}):
        return Traffic.REPLAY
    if config.models is None:
        return Traffic.LIVE
    raise PrerequisiteError(f"--judge-model {model}: was not recorded, and this run is replayed; judge it live: talm-sim judge RUN --live.")


def _votes(model: str, library: CassetteLibrary, traffic: Traffic | None) -> OpenVote:
    """Puts the recording of one vote in place, beside the recordings of the judges' model."""
    if traffic is None or traffic is Traffic.LIVE:
        return no_recording

    @contextmanager
    def open_vote(digest: str, episode: Episode, vote: int) -> Iterator[None]:
        player = library.open_model(model, episode.scenario_id, episode.group, episode.epoch, vote, digest, traffic)
        token = current_player.set(player)
        try:
            yield
        finally:
            current_player.reset(token)
            player.save()

    return open_vote


async def judge_run(
    store: RunStore,
    config: RunConfig,
    names: Iterable[str],
    grader: Grader,
    *,
    pairs: Callable[[], Pair],
    on_event: OnEvent = ignore_events,
) -> int:
    """Judge the finished episodes of a run, and note who judged it, by what configuration, and what they measure.

    Args:
        store: The run.
        config: Resolved.
        names: The judges, checked by `check_judges`.
        grader: What `open_grader` gave.
        pairs: Finds out what episodes are compared with; called where a judge compares.
        on_event: Told of progress.

    Returns:
        How many verdicts failed.
    """
    judges = _opened(store.reader, in_order(names), load_instructions(config.prompts), grader, pairs)
    failed = await score(store, judges, max_at_once=config.max_connections, on_event=on_event)
    # Verdicts that came with an imported run cannot be made again, so they stay.
    now = [*rows.imported_judges(store.reader), *((judge.name, judge.config_digest) for judge in judges)]
    measures = {judge.name: judge.measure.model_dump(mode="json") for judge in judges}
    await store.set_meta({"judges": now, "measures": measures, "scoring": config.fields_of(Scope.SCORING)})
    return failed


def _opened(
    conn: sqlite3.Connection, names: Sequence[str], instructions: dict[str, str], grader: Grader, pairs: Callable[[], Pair]
) -> list[Judge]:
    """The judges in the order in which they work, each told what those before it said."""
    classes = [judge_class(name) for name in names]
    context = JudgeContext(grader.model, instructions, grader.open_vote)
    if any("pairs" in judge.needs for judge in classes):
        context = replace(context, pair=pairs())
    judges: list[Judge] = []
    for judge in classes:
        before = [(one.name, one.config_digest) for one in reversed(judges) if "earlier" not in one.needs]
        judges.append(judge(replace(context, earlier=_earlier(conn, before))))
    return judges


def _earlier(conn: sqlite3.Connection, judges: list[tuple[str, str]]) -> Earlier:
    """Whether an episode passed by itself, as the first of `judges` that decided it said."""

    def passed(episode_id: str) -> bool | None:
        for judge, digest in judges:
            verdict = rows.verdict(conn, episode_id, judge, digest)
            if verdict is not None and verdict.value is not None:
                return verdict.value
        return None

    return passed


async def score(store: RunStore, judges: Sequence[Judge], *, max_at_once: int = 16, on_event: OnEvent = ignore_events) -> int:
    """Let each judge say what it thinks of every finished episode it has not judged yet, several episodes at once.

    A judge that fails on an episode (its model does not answer, or was not recorded) leaves an open verdict that says why, and is asked again
    next time.

    Args:
        store: The run.
        judges: In the order in which they work: a later one may read what an earlier one said.
        max_at_once: Episodes one judge looks at at once.
        on_event: Told of progress.

    Returns:
        How many verdicts failed.
    """
    failed = 0
    for judge in judges:
        failed += await _Scoring(store, judge, on_event).run(max_at_once)
    return failed


class _Scoring:
    """One judge at work."""

    def __init__(self, store: RunStore, judge: Judge, on_event: OnEvent) -> None:
        self._store = store
        self._judge = judge
        self._on_event = on_event
        self._scenarios = {scenario.id: scenario for scenario in store.scenarios()}
        self._judged = store.judged_ids(judge.name, judge.config_digest)
        self._total = len(store.finished_ids())
        self._done = len(self._judged)
        self._failed = 0

    async def run(self, max_at_once: int) -> int:
        running: set[asyncio.Task[None]] = set()
        try:
            for episode in rows.episodes(self._store.reader):
                if episode.id in self._judged:
                    continue
                if len(running) >= max_at_once:
                    running = await _progress(running)
                running.add(asyncio.create_task(self._judge_one(episode, self._scenarios[episode.scenario_id])))
            while running:
                running = await _progress(running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return self._failed

    async def _judge_one(self, episode: Episode, scenario: Scenario) -> None:
        try:
            await self._store.add_verdict(await self._judge(episode, scenario))
        except (ProviderError, CassetteMissError) as err:
            self._failed += 1
            await self._store.add_verdict(self._judge.verdict(episode, None, f"not judged: {err}"), failed=True)
        self._done += 1
        self._on_event(JudgeProgress(self._judge.name, self._done, self._total))


async def _progress(running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait until at least one is done; what it raised is raised here."""
    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    return running
