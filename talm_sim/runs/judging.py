"""Where a run's judges are put together, and what they are told to work with."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from talm_sim.config import RunConfig, Scope, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import Judge, JudgeContext, OpenVote, no_recording
from talm_sim.judges.pairing import PerfectPairs, perfect_episodes
from talm_sim.judges.prompts import load_judge_prompts
from talm_sim.judges.registry import default_judges, judge_config_digest, open_judge
from talm_sim.models.base import Model
from talm_sim.models.registry import in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport, current_player
from talm_sim.runs import rows
from talm_sim.runs.events import OnEvent
from talm_sim.runs.scoring import score
from talm_sim.runs.store import RunStore
from talm_sim.runs.stored import load_run
from talm_sim.types import Episode, Scenario

__all__ = ["check_judges", "judge_run", "judge_traffic"]


async def check_judges(config: RunConfig, library: CassetteLibrary, scenarios: Iterable[Scenario]) -> None:
    """See that the judges of a resolved `config` are there and their model opens, before anything of `scenarios` is run.

    Raises:
        PrerequisiteError: A judge is unknown, or its model can be neither replayed nor asked live.
    """
    load_judge_prompts(config.prompts)
    for name in default_judges(config):
        try:
            judge_config_digest(name, config)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"--judge: {err}") from None
    if config.judge_model is not None:
        try:
            model = _open_model(config, judge_traffic(config, library, scenarios))
        except PrerequisiteError as err:
            flag = f"--judge-model {config.judge_model}: "
            raise PrerequisiteError(flag + str(err).removeprefix(flag)) from None
        await model.aclose()
    if config.paired_run is not None:
        load_run(config.paired_run, config.run_dir)


def judge_traffic(config: RunConfig, library: CassetteLibrary, scenarios: Iterable[Scenario]) -> Traffic | None:
    """Traffic of the judge's model: as the agent's, for replay must not reach the network; None for a judge in process.

    Raises:
        PrerequisiteError: The agent's model is replayed, and the judge's was not recorded.
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


async def judge_run(store: RunStore, config: RunConfig, library: CassetteLibrary, on_event: OnEvent) -> int:
    """Judge the finished episodes of a run with the judges of a resolved `config`, and note them as the run's.

    Returns:
        How many verdicts failed.
    """
    async with _open_judges(store, config, library) as judges:
        failed = await score(store, judges, max_at_once=config.max_connections, on_event=on_event)
        # What others published of an imported run cannot be judged again, so it stays.
        published = [(name, digest) for name, digest in rows.judges(store.reader) or () if name.startswith("published")]
        now = [(judge.name, judge.config_digest) for judge in judges]
        await store.set_meta({"judges": [*published, *now], "scoring": config.fields_of(Scope.SCORING)})
    return failed


@asynccontextmanager
async def _open_judges(store: RunStore, config: RunConfig, library: CassetteLibrary) -> AsyncIterator[list[Judge]]:
    async with AsyncExitStack() as stack:
        names = default_judges(config)
        model: Model | None = None
        open_vote: OpenVote = no_recording
        if config.judge_model is not None:
            traffic = judge_traffic(config, library, store.scenarios())
            model = _open_model(config, traffic)
            stack.push_async_callback(model.aclose)
            open_vote = _votes(config, library, traffic)
        pairs: PerfectPairs[Episode] = PerfectPairs()
        if "preference" in names:
            paired = load_run(config.paired_run, config.run_dir).episodes("perfect") if config.paired_run else None
            pairs = perfect_episodes(paired or rows.episodes(store.reader, "perfect"))
        # An answer passes by itself as the last judge before the comparison said, which is the one with a model.
        before = [(name, judge_config_digest(name, config)) for name in reversed(names) if name != "preference"]
        context = JudgeContext(load_judge_prompts(config.prompts), model, open_vote, pairs, _passed(store.reader, before))
        yield [open_judge(name, context) for name in names]


def _open_model(config: RunConfig, traffic: Traffic | None) -> Model:
    assert config.judge_model is not None
    as_agent = config.model_copy(update={"model": config.judge_model, "tool_format": "auto"})
    return open_model(
        config.judge_model,
        transport_factory=None if traffic is None else RecordingTransport,
        max_retries=config.max_retries,
        max_connections=config.max_connections,
        timeout=config.timeout,
        constrained=as_agent.constrained,
        replay=traffic is Traffic.REPLAY,
    )


def _votes(config: RunConfig, library: CassetteLibrary, traffic: Traffic | None) -> OpenVote:
    """Puts the recording of one vote in place, beside the recordings of the judge's model."""
    if traffic is None or traffic is Traffic.LIVE:
        return no_recording
    model = config.judge_model
    assert model is not None

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


def _passed(conn: sqlite3.Connection, judges: list[tuple[str, str]]) -> Callable[[str], bool | None]:
    """Whether an episode passed by itself, as the first of `judges` that decided it said."""

    def passed(episode_id: str) -> bool | None:
        for judge, digest in judges:
            verdict = rows.verdict(conn, episode_id, judge, digest)
            if verdict is not None and verdict.value is not None:
                return verdict.value
        return None

    return passed
