"""Run a making: bounded, resumable, and with the same result however often it was interrupted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.scenarios.making.outcome import Made, MakingSource
from talm_sim.scenarios.making.state import FixedSettings, open_state, write_lines

ITEMS, REJECTED, REPORT = "items.jsonl", "rejected.jsonl", "report.json"
_MOST_FAILURES = 5
"""Sources that may fail in a row: with more, the fault is the provider's and not theirs."""
_FORESEEN = (ProviderError, CassetteMissError, PrerequisiteError)
OpenTape = Callable[[str], AbstractContextManager[object]]
"""Puts the recording of a source in place, given its id."""
OnProgress = Callable[[int, int, Made | None], None]
"""Receives how many sources are finished, of how many, and the last outcome; None for those that were finished before."""


class MakesOutcome(Protocol):
    """A maker of one outcome from one source."""

    @property
    def noun(self) -> str:
        """What messages call a source."""

    @property
    def outcome(self) -> type[Made]:
        """Return the outcome of a source."""

    async def make(self, source: Any) -> Made:
        """Make what can be made of one source."""

    def report(self, sources: Sequence[Any], outcomes: Mapping[str, Any], begun: FixedSettings) -> dict[str, Any]:
        """Count what was made, given what was finished or failed by source id."""


async def make_all(
    maker: MakesOutcome,
    sources: Sequence[MakingSource],
    folder: Path,
    begun: FixedSettings,
    *,
    max_connections: int,
    open_tape: OpenTape = lambda source: nullcontext(),
    on_begin: Callable[[Sequence[MakingSource]], None] = lambda waiting: None,
    on_progress: OnProgress = lambda done, total, outcome: None,
) -> dict[str, Any]:
    """Make something of each source, continuing where an earlier call ended, and write the folder's files; return the report."""
    with open_state(folder, begun, sources, maker.outcome) as state:
        waiting = [source for source in sources if source.id not in state.finished or state.finished[source.id].failed]
        done = len(sources) - len(waiting)
        on_begin(waiting)
        on_progress(done, len(sources), None)
        gate = asyncio.Semaphore(max_connections)
        in_a_row = 0

        async def work(source: MakingSource) -> None:
            nonlocal done, in_a_row
            async with gate:
                outcome = await _outcome(source, maker, open_tape)
                state.add(outcome)
            in_a_row = in_a_row + 1 if outcome.failed else 0
            if in_a_row == _MOST_FAILURES:
                raise ProviderError(f"{_MOST_FAILURES} {maker.noun}s failed in a row, most recently with: {outcome.failed}")
            done += not outcome.failed
            on_progress(done, len(sources), outcome)

        try:
            async with asyncio.TaskGroup() as group:
                for source in waiting:
                    group.create_task(work(source))
            if in_a_row and not done:
                raise ProviderError(f"every {maker.noun} failed, most recently with: {state.finished[waiting[-1].id].failed}")
        except (ProviderError, BaseExceptionGroup) as failed:  # not except*, from which older releases of Python raise a group
            if isinstance(first := _first_failure(failed), _FORESEEN):
                raise PrerequisiteError(_explain_failure(first, done)) from None
            raise
        finally:
            report = maker.report(sources, state.finished, state.begun)
            _write(folder, [state.finished[source.id] for source in sources if source.id in state.finished], report)
    return report


async def _outcome(source: MakingSource, maker: MakesOutcome, open_tape: OpenTape) -> Made:
    """Return the outcome of a source; a provider's failure on one must not block the others."""
    try:
        with open_tape(source.id):
            return await maker.make(source)
    except ProviderError as err:
        return maker.outcome(source=source.id, digest=source.digest, failed=_summarize_error(err))


def _first_failure(failed: BaseException) -> BaseException:
    """Return the first failure; of several, the unforeseen one: it is a bug, and must be seen."""
    if not isinstance(failed, BaseExceptionGroup):
        return failed
    all_of_them = [_first_failure(one) for one in failed.exceptions]
    return next((one for one in all_of_them if not isinstance(one, _FORESEEN)), all_of_them[0])


def _explain_failure(first: BaseException, done: int) -> str:
    said = _summarize_error(first)
    if isinstance(first, CassetteMissError):
        said = f"{said.removesuffix('.')}; add --live, or use the settings of the recording"
    return f"{said} ({done} finished and kept; run the same command to continue)"


def _summarize_error(err: BaseException) -> str:
    return " ".join(str(err).split())[:500]


def _write(folder: Path, outcomes: Sequence[Made], report: dict[str, Any]) -> None:
    """Write what the finished sources gave, in order: equal states give equal bytes."""
    try:
        write_lines(folder / ITEMS, (row for outcome in outcomes for row in outcome.rows))
        write_lines(folder / REJECTED, (one for outcome in outcomes for one in outcome.rejected))
        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
        (folder / REPORT).write_text(text, encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{folder}: cannot be written: {err.strerror}; choose another --out.") from None
