"""The gates of a command and the files that a CI server reads: checked before anything runs, printed and written at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.progress.display import JsonDisplay
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.report_files import write_file
from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.comparison.bounded_gates import GateResult
from talm_sim.comparison.gate_set import Gates
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.store.causes import is_lost
from talm_sim.store.stored_run import StoredRun


class Gating:
    """The gates that a command checks, and the files that it writes for CI.

    Raises:
        NotComparableError: The baseline cannot be compared with anything.
    """

    def __init__(self, options: Mapping[str, Any], run_dir: Path) -> None:
        self._gates = Gates(options.get("gate") or (), options.get("baseline") or "", run_dir)
        self._junit: Path | None = options.get("junit")
        self._summary: Path | None = options.get("summary")
        self._results: list[list[GateResult]] = []
        self._error: PrerequisiteError | None = None
        for flag, file in self._files().items():
            if file.is_dir():
                raise PrerequisiteError(f"{flag} {file}: is a directory; name a file.")
        if self._junit is not None and self._junit == self._summary:
            raise PrerequisiteError(f"summary {self._summary}: is the file of junit; name another one.")

    def check_plan(self, config: RunConfig) -> None:
        """Check, before a run, that its table will have what the gates name.

        Raises:
            NotComparableError: It is not of the baseline's task or scenarios.
        """
        if self._gates:
            from talm_sim.runs.plan import plan
            from talm_sim.runs.resolve import configure
            from talm_sim.tasks.shared import Shared

            job, scenarios = plan(configure(config, {}), Shared())
            self._gates.check_plan(job, scenarios)

    def check(self, runs: Sequence[StoredRun], *, as_event: bool = False) -> None:
        """Check the gates on each run; a gate that names nothing is an error of `conclude`, after the table is printed."""
        try:
            self._results = [self._gates.check(run) for run in runs] if self._gates else []
        except PrerequisiteError as err:
            self._error = err
        if as_event and self._gates:
            JsonDisplay.write({"event": "gates", "gates": [one.record() for results in self._results for one in results]})

    def conclude(self, runs: Sequence[StoredRun], blocks: Callable[[], Sequence[Block]], code: int = 0) -> int:
        """Print a line per gate, and write the files.

        Returns:
            The exit code: with gates, 1 if one is missed, an episode failed or is not finished, or the user's agent raised an error.
        """
        gates = [one for results in self._results for one in results]
        for run, results in zip(runs, self._results, strict=False):
            named = f"{run.id}: " if len(runs) > 1 else ""
            for one in results:
                click.echo(safe_text(f"{named}{one.line}"), err=True)
        faults = _faults(runs, gates) if self._gates else []
        verdict = ", ".join(faults) or (f"{count(len(gates), 'gate')} passed" if gates else "")
        if self._gates and self._error is None:
            click.echo(verdict, err=True)
        self._write(runs, blocks, gates, verdict)
        if self._error is not None:
            raise self._error
        return max(code, int(bool(faults)))  # a budget that is spent has a code of its own

    def _write(self, runs: Sequence[StoredRun], blocks: Callable[[], Sequence[Block]], gates: Sequence[GateResult], verdict: str) -> None:
        made: dict[Path, bytes] = {}
        if self._junit is not None:
            from talm_sim.cli.report.junit import junit_xml

            made[self._junit] = junit_xml(runs, gates)
        if self._summary is not None:
            from talm_sim.cli.report.markdown import job_summary

            made[self._summary] = job_summary(blocks(), gates, verdict).encode()
        for file, data in made.items():
            write_file(file, data)

    def _files(self) -> dict[str, Path]:
        return {flag: file for flag, file in (("junit", self._junit), ("summary", self._summary)) if file is not None}


def _faults(runs: Sequence[StoredRun], gates: Sequence[GateResult]) -> list[str]:
    """Return what makes the command end with 1, in words."""
    missed, failed, crashed = (sum(not one.passed for one in gates), sum(run.failed for run in runs), sum(run.crashed for run in runs))
    unfinished, lost = sum(run.total - run.finished for run in runs), any(is_lost(run, run.rows()) for run in runs)
    return [
        *([f"{missed:,} of {len(gates):,} gates missed"] if missed else []),
        *([f"{count(failed, 'episode')} failed"] if failed else []),
        *([f"the agent raised an error in {count(crashed, 'episode')}"] if crashed else []),
        *([f"{count(unfinished, 'episode')} not finished"] if unfinished else []),
        *(["too few answers or verdicts came"] if lost else []),
    ]
