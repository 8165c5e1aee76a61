"""Make scenarios: from which sources, by which model, and from which recordings its answers come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from talm_sim.config import Traffic, parse_limit
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.models.base import Model
from talm_sim.models.registry import in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport
from talm_sim.runs.resolve import RECORDINGS
from talm_sim.scenarios.making.options import RULES, MakingOptions
from talm_sim.scenarios.making.run_maker import OnProgress, OpenTape, make_all
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Maker

GROUP = "generate"
"""Group under which conversations of a writing model are recorded."""
_RECORDED = (Traffic.REPLAY, Traffic.RECORD)
_OnLive = Callable[[Path | None, Bound], None]
"""Called before a model is asked, with the directory of the recordings (None if nothing is recorded) and what the requests may cost."""


def bound_of(maker: Maker[Any, Any, Any]) -> tuple[int, Bound]:
    """Return how many sources there are and what writing may cost, including finished sources; no model is asked."""
    _check_model(maker.options)
    sources = _sources(maker)
    return len(sources), sum(map(maker.bound, sources), Bound())


async def make_scenarios(
    task: str,
    maker: Maker[Any, Any, Any],
    *,
    command: str = "",
    on_live: _OnLive = lambda recorded, bound: None,
    on_progress: OnProgress = lambda done, total, outcome: None,
) -> dict[str, Any]:
    """Make scenarios, or continue where an earlier call ended; return the report."""
    options: MakingOptions = maker.options
    _check_model(options)
    sources = _sources(maker)
    library = CassetteLibrary(options.cassettes or (RECORDINGS if options.traffic is Traffic.RECORD else None), task)
    traffic = _traffic(options, library)
    conversations = options.conversations(maker.wording)

    def announce(waiting: Sequence[Any]) -> None:
        if traffic in (Traffic.LIVE, Traffic.RECORD):
            on_live(library.root if traffic is Traffic.RECORD else None, sum(map(maker.bound, waiting), Bound()))

    try:
        maker.open(sources, partial(_open_model, options, traffic))
        return await make_all(
            maker,
            sources,
            options.out,
            FixedSettings(task, options.settings(maker.wording), command, maker.rules),
            max_connections=options.max_connections,
            open_tape=_tapes(library, options.model, conversations, traffic),
            on_begin=announce,
            on_progress=on_progress,
        )
    finally:
        await maker.aclose()


def _sources(maker: Maker[Any, Any, Any]) -> Sequence[Any]:
    options: MakingOptions = maker.options
    start, stop = parse_limit(options.limit)
    if not (sources := maker.load()[start:stop]):
        lost = maker.dropped
        within = f" within --limit {options.limit}" if options.limit else ""
        why = f" (the first of {len(lost)} dropped: {lost[0].id}, {lost[0].reason})" if lost else ""
        raise PrerequisiteError(f"{options.file or 'the packaged scenarios'}: no {maker.noun}{within}{why}.")
    return sources


def _check_model(options: MakingOptions) -> None:
    if options.model.startswith("sim/") and not options.by_rules:
        raise PrerequisiteError(f"--model {options.model}: is a control that plays scenarios; to write without a model, use {RULES}.")
    if options.by_rules and options.prompts is not None:
        raise PrerequisiteError(f"--prompts {options.prompts}: {RULES} has no prompts to replace; leave it out, or choose another --model.")


def _traffic(options: MakingOptions, library: CassetteLibrary) -> Traffic | None:
    """Return where the model's answers come from; None if there is no model."""
    if options.by_rules:
        return None
    if in_process(options.model):
        if options.traffic in _RECORDED:
            raise PrerequisiteError(f"--{options.traffic}: {options.model} runs in this process and has no traffic to record; leave it out.")
        return Traffic.LIVE
    if options.traffic is not None:
        return options.traffic
    return Traffic.REPLAY if library.has_model(options.model, (GROUP,)) else Traffic.LIVE


def _open_model(options: MakingOptions, traffic: Traffic | None, *, constrained: bool = False) -> Model:
    try:
        return open_model(
            options.model,
            transport_factory=RecordingTransport if traffic in _RECORDED else None,
            max_connections=options.max_connections,
            options=options.model_options,
            constrained=constrained,
            replay=traffic is Traffic.REPLAY,
        )
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--model: {err}") from None


def _tapes(library: CassetteLibrary, model: str, conversations: str, traffic: Traffic | None) -> OpenTape:
    """Return a context manager that puts the recording of one source's conversations in place."""

    @contextmanager
    def open_tape(source: str) -> Iterator[None]:
        with library.conversation(model, source, GROUP, 1, 0, conversations, traffic) as player:
            misses = player.misses if player else []
            try:
                yield
            except ProviderError:
                if not misses:  # otherwise a client library passed the miss off as a network failure
                    raise
        if misses:
            raise CassetteMissError(misses[0])

    return open_tape
