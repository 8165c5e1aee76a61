"""The whole of a generation: bounded, resumable, and equal however often it was interrupted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.scenarios.generate.options import GenerateOptions, Settings
from talm_sim.scenarios.generate.pipeline import Outcome, make_items
from talm_sim.scenarios.generate.report import make_report
from talm_sim.scenarios.generate.sources import Dropped, SourceQuestion
from talm_sim.scenarios.generate.state import open_state, write_lines
from talm_sim.scenarios.generate.writers import Writer

__all__ = ["ITEMS", "MOST_FAILURES", "REJECTED", "REPORT", "OnProgress", "OpenTape", "generate"]

ITEMS, REJECTED, REPORT = "items.jsonl", "rejected.jsonl", "report.json"
MOST_FAILURES = 5
"""Source questions that may fail in a row: then it is not they that the provider cannot answer."""
OpenTape = Callable[[str], AbstractContextManager[object]]
"""Puts the recording of a source question in place, given its id."""
OnProgress = Callable[[int, int, Outcome | None], None]
"""Hears of source questions: how many are finished, of how many, and what became of the last one; None where they were finished before."""


async def generate(
    sources: Sequence[SourceQuestion],
    dropped: Sequence[Dropped],
    writer: Writer,
    settings: Settings,
    *,
    command: str,
    open_tape: OpenTape = lambda source: nullcontext(),
    on_progress: OnProgress = lambda done, total, outcome: None,
) -> dict[str, Any]:
    """Generate items, go on where an earlier call ended, and write the folder's files.

    Args:
        sources: The source questions.
        dropped: What gave no source question, for the report.
        writer: Writes the texts.
        settings: What decides the texts; its options say where the files go and how many source questions are in work at once.
        command: The command line.
        open_tape: Puts the recording of a source question in place.
        on_progress: Hears of finished source questions: how many, of how many, and the outcome.

    Returns:
        The report.

    Raises:
        PrerequisiteError: The folder was begun otherwise, or the model failed for every source question, or for `MOST_FAILURES` in a row; what
            was finished is kept.
    """
    options = settings.options
    with open_state(options.out, settings.as_json(), command, sources) as state:
        waiting = [source for source in sources if source.id not in state.finished or state.finished[source.id].failed]
        done = len(sources) - len(waiting)
        on_progress(done, len(sources), None)
        gate = asyncio.Semaphore(options.max_connections)
        in_a_row = 0

        async def work(source: SourceQuestion) -> None:
            nonlocal done, in_a_row
            async with gate:
                outcome = await _outcome(source, writer, options, open_tape)
                state.add(outcome)
            in_a_row = in_a_row + 1 if outcome.failed else 0
            if in_a_row == MOST_FAILURES:
                raise ProviderError(f"{MOST_FAILURES} source questions failed in a row, the last one so: {outcome.failed}")
            done += not outcome.failed
            on_progress(done, len(sources), outcome)

        try:
            async with asyncio.TaskGroup() as group:
                for source in waiting:
                    group.create_task(work(source))
            if in_a_row and not done:
                raise ProviderError(f"every source question failed, the last one so: {state.finished[waiting[-1].id].failed}")
        except* (ProviderError, CassetteMissError, PrerequisiteError) as failed:
            raise PrerequisiteError(_why(failed, done)) from None
        finally:
            report = make_report(sources, dropped, state.finished, state.header, writer.name)
            _write(options.out, [state.finished[source.id] for source in sources if source.id in state.finished], report)
    return report


async def _outcome(source: SourceQuestion, writer: Writer, options: GenerateOptions, open_tape: OpenTape) -> Outcome:
    """What becomes of a source question; one that the provider fails on must not stand in the way of the others."""
    try:
        with open_tape(source.id):
            return await make_items(source, writer, seed=options.seed, attempts=options.attempts, every=options.variants == "all")
    except ProviderError as err:
        return Outcome(source.id, source.digest, failed=_one_line(err))


def _why(failed: BaseExceptionGroup[BaseException], done: int) -> str:
    first: BaseException = failed
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    hint = "; add --live, or keep to the settings of the recording" if isinstance(first, CassetteMissError) else ""
    return f"{_one_line(first)}{hint} ({done} finished and kept; the same command goes on)"


def _one_line(err: BaseException) -> str:
    return " ".join(str(err).split())[:500]


def _write(folder: Path, outcomes: Sequence[Outcome], report: dict[str, Any]) -> None:
    """Write what the finished source questions gave, in the order of the sources: equal states give equal bytes."""
    try:
        write_lines(folder / ITEMS, (row for outcome in outcomes for row in outcome.rows))
        write_lines(folder / REJECTED, (one for outcome in outcomes for one in outcome.rejected))
        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
        (folder / REPORT).write_text(text, encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{folder}: cannot be written: {err.strerror}; choose another --out.") from None
