"""A generation of items, built and run: what it reads, who writes, where the answers come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from talm_sim.config import Traffic, parse_limit
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.models.base import Model
from talm_sim.models.registry import in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport, current_player
from talm_sim.runs.resolve import RECORDINGS
from talm_sim.scenarios.generate import (
    RULES,
    GenerateOptions,
    ModelWriter,
    RuleWriter,
    Settings,
    SourceQuestion,
    Writer,
    generate,
    load_writer_prompts,
    source_questions,
)
from talm_sim.scenarios.generate.generation import OnProgress, OpenTape
from talm_sim.scenarios.generate.prompts import WriterPrompts
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.load import load_scenarios
from talm_sim.scenarios.when2call import TASK, LineKind, kind_of
from talm_sim.tasks import find_task
from talm_sim.types import Behaviour, Scenario

__all__ = ["GROUP", "OnLive", "generate_items"]

GROUP = "generate"
"""Group under which conversations of a writing model are recorded."""
_RECORDED = (Traffic.REPLAY, Traffic.RECORD)
OnLive = Callable[[Path | None], None]
"""Hears that a model is about to be asked, and below which directory its answers are recorded, if they are."""


async def generate_items(
    options: GenerateOptions,
    *,
    command: str = "",
    on_live: OnLive = lambda recorded: None,
    on_progress: OnProgress = lambda done, total, outcome: None,
) -> dict[str, Any]:
    """Make multiple-choice items from scenarios, or go on where an earlier call ended.

    Args:
        options: What is asked for.
        command: The command line, kept with what it makes.
        on_live: Hears that a model is about to be asked.
        on_progress: Hears of finished source questions.

    Returns:
        The report.

    Raises:
        PrerequisiteError: Something is missing or wrong; the message says what to mend.
    """
    _check_model(options)
    sources, dropped = source_questions(_scenarios(options.file), CassetteLibrary().tool_specs())
    start, stop = parse_limit(options.limit)
    chosen = sources[start:stop]
    if not chosen:
        why = f" (the first of {len(dropped)} dropped: {dropped[0].id}, {dropped[0].reason})" if dropped else ""
        raise PrerequisiteError(f"{options.file or 'the packaged scenarios'}: no source question within --limit {options.limit}{why}.")
    library = CassetteLibrary(options.cassettes or (RECORDINGS if options.traffic is Traffic.RECORD else None))
    traffic = _traffic(options, library)
    prompts = None if options.by_rules else load_writer_prompts(options.prompts)
    settings = Settings(options, prompts.digest if prompts else "")
    writer = _writer(options, prompts, sources, traffic)
    try:
        if traffic in (Traffic.LIVE, Traffic.RECORD):
            on_live(library.root if traffic is Traffic.RECORD else None)
        tapes = _tapes(library, settings, traffic)
        return await generate(chosen, dropped, writer, settings, command=command, open_tape=tapes, on_progress=on_progress)
    finally:
        await writer.aclose()


def _check_model(options: GenerateOptions) -> None:
    if options.model.startswith("sim/") and not options.by_rules:
        raise PrerequisiteError(f"--model {options.model}: is a control that plays scenarios; the writer without a model is {RULES}.")
    if options.by_rules and options.prompts is not None:
        raise PrerequisiteError(f"--prompts {options.prompts}: {RULES} has no wordings to replace; leave it out, or choose another --model.")


def _scenarios(file: Path | None) -> list[Scenario]:
    """The scenarios with gold calls: plain ones, or multiple-choice items, whichever the first line of `file` is."""
    groups = ("perfect", "underspecified")
    if file is None:
        return load_scenarios(groups)
    _, first = next(json_lines(local_file(file)), ("", None))
    if kind_of(first) is LineKind.ROW or _is_item(first):
        return find_task(TASK).read((Behaviour.TOOL_CALL.value,), file)
    return load_scenarios(groups, file)


def _is_item(line: Any) -> bool:
    target = line.get("target") if isinstance(line, dict) else None
    return isinstance(target, dict) and target.get("type") == "choice"


def _traffic(options: GenerateOptions, library: CassetteLibrary) -> Traffic | None:
    """Where the model's answers come from; None where there is no model."""
    if options.by_rules:
        return None
    if in_process(options.model):
        if options.traffic in _RECORDED:
            raise PrerequisiteError(f"--{options.traffic}: {options.model} runs in this process and has no traffic to record; leave it out.")
        return Traffic.LIVE
    if options.traffic is not None:
        return options.traffic
    return Traffic.REPLAY if library.has_model(options.model, (GROUP,)) else Traffic.LIVE


def _writer(options: GenerateOptions, prompts: WriterPrompts | None, sources: Sequence[SourceQuestion], traffic: Traffic | None) -> Writer:
    if prompts is None:
        return RuleWriter(sources, options.seed)
    model = _opened(options, traffic, constrained=False)
    labeller = _opened(options, traffic, constrained=True) if options.constrained else model
    return ModelWriter(model, labeller, prompts, options)


def _opened(options: GenerateOptions, traffic: Traffic | None, *, constrained: bool) -> Model:
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


def _tapes(library: CassetteLibrary, settings: Settings, traffic: Traffic | None) -> OpenTape:
    """Puts the recording of one source question's conversations in place."""
    if traffic is None or traffic is Traffic.LIVE:
        return lambda source: nullcontext()

    @contextmanager
    def open_tape(source: str) -> Iterator[None]:
        player = library.open_model(settings.options.model, source, GROUP, 1, 0, settings.digest, traffic)
        token = current_player.set(player)
        try:
            yield
        except ProviderError:
            if not player.misses:  # else a client library passed the miss off as a failure of the network
                raise
        finally:
            current_player.reset(token)
            player.save()
        if player.misses:
            raise CassetteMissError(player.misses[0])

    return open_tape
