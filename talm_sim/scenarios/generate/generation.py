"""The whole of a generation: bounded, resumable, and equal however often it was interrupted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.scenarios.generate.options import Settings
from talm_sim.scenarios.generate.pipeline import Outcome, make_items
from talm_sim.scenarios.generate.report import make_report
from talm_sim.scenarios.generate.sources import Dropped, SourceQuestion
from talm_sim.scenarios.generate.state import open_state, write_lines
from talm_sim.scenarios.generate.writers import Writer

__all__ = ["ITEMS", "REJECTED", "REPORT", "OnProgress", "OpenTape", "generate"]

ITEMS, REJECTED, REPORT = "items.jsonl", "rejected.jsonl", "report.json"
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
        PrerequisiteError: The folder was begun otherwise, or a model failed for good (what was finished is kept).
    """
    options = settings.options
    with open_state(options.out, settings.as_json(), command, sources) as state:
        waiting = [source for source in sources if source.id not in state.finished]
        done = len(sources) - len(waiting)
        on_progress(done, len(sources), None)
        gate = asyncio.Semaphore(options.max_connections)

        async def work(source: SourceQuestion) -> None:
            nonlocal done
            async with gate:
                with open_tape(source.id):
                    outcome = await make_items(source, writer, seed=options.seed, attempts=options.attempts, every=options.variants == "all")
                state.add(outcome)
            done += 1
            on_progress(done, len(sources), outcome)

        try:
            async with asyncio.TaskGroup() as group:
                for source in waiting:
                    group.create_task(work(source))
        except* (ProviderError, CassetteMissError, PrerequisiteError) as failed:
            raise PrerequisiteError(_why(failed, done)) from None
        finally:
            report = make_report(sources, dropped, state.finished, state.header, writer.name)
            _write(options.out, [state.finished[source.id] for source in sources if source.id in state.finished], report)
    return report


def _why(failed: BaseExceptionGroup[BaseException], done: int) -> str:
    first: BaseException = failed
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    hint = "; add --live, or keep to the settings of the recording" if isinstance(first, CassetteMissError) else ""
    return f"{' '.join(str(first).split())[:500]}{hint} ({done} finished and kept; the same command goes on)"


def _write(folder: Path, outcomes: Sequence[Outcome], report: dict[str, Any]) -> None:
    """Write what the finished source questions gave, in the order of the sources: equal states give equal bytes."""
    try:
        write_lines(folder / ITEMS, (row for outcome in outcomes for row in outcome.rows))
        write_lines(folder / REJECTED, (one for outcome in outcomes for one in outcome.rejected))
        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
        (folder / REPORT).write_text(text, encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{folder}: cannot be written: {err.strerror}; choose another --out.") from None
