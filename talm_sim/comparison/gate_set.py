"""All gates of a command: those with a bound, and those against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.common.gate import Gate, read_gate
from talm_sim.comparison.baselines import check_against, check_scenarios, find_targets
from talm_sim.comparison.bounded_gates import GateResult, check_bounds, check_names
from talm_sim.comparison.compared_rows import Side, find_side
from talm_sim.errors import NotComparableError, OptionError, PrerequisiteError, format_names, line_to_copy
from talm_sim.store.python_words import in_python
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.tasks import Job
from talm_sim.types import Scenario

_LEAK = "person_leak"


class Gates:
    """Gates that were read, and the baseline of those without a bound.

    Args:
        texts: The gates as they were written; each counts once.
        baseline: A run, or a file that `talm-sim export baseline` wrote; empty for none.
        run_dir: Directory of the runs.
    """

    def __init__(self, texts: Sequence[str], baseline: str | Path | StoredRun = "", run_dir: Path = Path("runs")) -> None:
        gates = _read_gates(texts)
        self._bounded = [gate for gate in gates if gate.sign]
        relative = [gate for gate in gates if not gate.sign]
        self._baseline = _find_baseline(baseline, run_dir) if baseline else None
        if relative and self._baseline is None:
            text = relative[0].text
            raise OptionError(
                "--gate", f"'{text}' has no number: write {text}>=NUMBER, or set what it is compared with: TALM_SIM_BASELINE=RUN|FILE"
            )
        self._targets = [] if self._baseline is None else find_targets(relative, self._baseline)

    def __bool__(self) -> bool:
        return bool(self._bounded or self._baseline)

    def check_plan(self, job: Job[Any], scenarios: Sequence[Scenario]) -> None:
        """Check, before a run, that its table will have what the gates name, and that it is of the baseline's scenarios."""
        check_names(self._bounded, job, scenarios)
        if self._baseline is not None:
            check_scenarios(self._baseline, job, scenarios)

    def check(self, run: StoredRun) -> list[GateResult]:
        """Check all gates on a run: those with a bound, those against the baseline, then that its simulated person gave nothing away."""
        found = check_bounds(run, self._bounded) if self._bounded else []
        found += check_against(self._baseline, Side.of_run(run), self._targets) if self._baseline is not None else []
        named = any(gate.name.rpartition(".")[2] == _LEAK for gate in self._bounded)
        found += _check_leaks(run) if self and not named else []
        return found + (_check_past(run) if self else [])


def check_gates(
    run: StoredRun | Path | str, gates: Sequence[str] | str = (), baseline: str | Path | StoredRun = "", *, run_dir: Path = Path("runs")
) -> list[GateResult]:
    """Check what a run's measures must reach.

    Args:
        run: The run, its name or its directory.
        gates: `[GROUP.]MEASURE>=NUMBER` or `<=NUMBER`; without a number, the measure must not be worse than the baseline's.
        baseline: A run, or a file that `talm-sim export baseline` wrote.
        run_dir: Directory of the runs.

    Raises:
        PrerequisiteError: There is no such run, group or measure.
        NotComparableError: The run and the baseline cannot be compared.
    """
    with in_python():
        return Gates([gates] if isinstance(gates, str) else gates, baseline, run_dir).check(load_run(run, run_dir))


def check_compared(
    first: str | Path, others: Sequence[str | Path], gates: Sequence[str], run_dir: Path, *, common: bool = False
) -> list[list[GateResult]]:
    """Check, for `talm-sim compare`, that measures of each further run are not worse than the first one's."""
    read = _read_gates(gates)
    for gate in read:
        if gate.sign:
            raise OptionError(
                "--gate", f"'{gate.text}': compare takes gates without a number; check one run with: talm-sim report RUN --gate '{gate.text}'"
            )
    (before, *after), groups = zip(*(find_side(one, run_dir) for one in (first, *others)), strict=True)
    if any(groups):
        raise OptionError("--gate", "is for runs, not for groups of them; name the group in the gate: GROUP.MEASURE")
    targets = find_targets(read, before)
    return [check_against(before, one, targets, common=common) for one in after]


def _check_leaks(run: StoredRun) -> list[GateResult]:
    """Return a missed gate if the simulated person gave away what no question was about: the other gates measure the person, too."""
    from talm_sim.agent.person.model_person import ASKED_FOR  # not at the top: reading a run needs no langchain

    rows = [row for row in run.rows() if row.scored and _LEAK in row.values]
    leaks = [row.episode for row in rows if row.values[_LEAK]]
    if not leaks or ASKED_FOR.get(getattr(run.job.options, "persona", "none")) == "leak":
        return []
    said = f"the simulated person gave away what no question was about in {len(leaks):,} of {len(rows):,} episodes: {format_names(leaks, 3)}"
    return [GateResult(f"{_LEAK}<=0", passed=False, found=said, value=len(leaks) / len(rows), n=len(rows))]


def tools_past(run: StoredRun) -> list[str]:
    """Return the names of a graph's own tools that were called, and that the run's environment does not have."""
    return sorted({what.removeprefix("past ") for row in run.rows() for what in row.remarks if what.startswith("past ")})


def _check_past(run: StoredRun) -> list[GateResult]:
    """Return a missed gate if tools ran past the environment: no fault met them, and nothing of them is recorded."""
    past = tools_past(run)
    said = f"ran past the environment, live and unrecorded: {format_names(past, 3)}"
    return [GateResult("tools_past<=0", passed=False, found=said, value=float(len(past)), n=len(run.rows()))] if past else []


def _read_gates(texts: Sequence[str]) -> list[Gate]:
    try:
        return list(dict.fromkeys(map(read_gate, texts)))
    except ValueError as err:
        raise OptionError("--gate", str(err)) from None


def _find_baseline(baseline: str | Path | StoredRun, run_dir: Path) -> Side:
    file = None if isinstance(baseline, StoredRun) else Path(baseline)
    if file is not None and file.suffix == ".jsonl" and not file.exists():
        made = line_to_copy("talm-sim", "export", "baseline", "RUN", str(file))
        raise PrerequisiteError(f"baseline: there is no file '{file}'; make it with: {made}")
    try:
        # What is no directory is not a run: of a pipe or a device, the reader says so.
        side, group = find_side(baseline, run_dir) if file is None or file.is_dir() or not file.exists() else (Side.of_file(file), "")
    except NotComparableError as err:
        raise NotComparableError(f"baseline: {err}") from None
    except PrerequisiteError as err:
        raise PrerequisiteError(f"baseline: {err}") from None
    if group:
        raise PrerequisiteError(f"baseline {baseline}: leave out the group; a gate names one: --gate {group}.MEASURE.")
    return side
