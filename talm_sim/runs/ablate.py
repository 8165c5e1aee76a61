"""A grid of runs as one tidy table: how the metrics change when one or more fields are varied."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.common.digests import digest
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs.api import AGAIN, Contact, blocking, check_size, resume_with, start_run
from talm_sim.runs.budget import Spending, within_budget
from talm_sim.runs.build import Built, build, plan
from talm_sim.runs.events import OnEvent, listening
from talm_sim.runs.files.manifest import dataset_digest
from talm_sim.runs.python_words import phrase_errors_for_python
from talm_sim.runs.resolve import configure
from talm_sim.runs.stored_run import StoredRun
from talm_sim.runs.tables import frame
from talm_sim.tasks import Job
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.shared import Shared
from talm_sim.types.measures import summary_table

if TYPE_CHECKING:
    import pandas

__all__ = ["Ablation", "Cell", "ablate", "ablate_async"]


_HOW = ("max_episodes", "max_connections", "max_retries", "timeout", "fail_fast")


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the grid, and its run."""

    values: dict[str, Any]
    """The varied fields and their values in this cell."""
    run: StoredRun


@dataclass(frozen=True, slots=True)
class Ablation:
    """A grid that was run. A budget may have kept some cells from being started, which are missing, or from being finished."""

    cells: tuple[Cell, ...]

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record per cell and group: the varied fields, then the metrics with their intervals."""
        return [_table_values(cell.values) | row for cell in self.cells for row in cell.run.summary_records()]

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_records` as a pandas frame.

        Raises:
            PrerequisiteError: pandas is not installed.
        """
        return frame(self.to_records())

    def _repr_html_(self) -> str:
        fields = list(dict.fromkeys(field for cell in self.cells for field in cell.values))
        rows = [
            ([str(_table_values(cell.values).get(field, "")) for field in fields], one) for cell in self.cells for one in cell.run.summary()
        ]
        return summary_table(rows, fields)


@phrase_errors_for_python
async def ablate_async(
    base: RunConfig | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    *,
    name: str = "ablation",
    on_event: OnEvent | None = None,
    progress: bool | None = None,
    large: bool = False,
    **options: Any,
) -> Ablation:
    """Run every combination of the values in `over`, and return one table.

    Each cell is a run named after its content, `<name>-<digest>`. On a second call, finished cells are read and interrupted ones continue;
    failed episodes of either are tried again.

    Args:
        base: What all cells share; the default is `RunConfig()`.
        over: Fields of `RunConfig` with the values to try, for example `{"human": ["none", "recorded"], "perturb": ["", "http-500"]}`. A
            list field takes a list or a single item; "" and None mean an empty list.
        name: Prefix of the runs' names.
        on_event: Receives the progress events of every cell's run.
        progress: Whether to show progress; by default it is shown in a notebook, unless `on_event` is given.
        large: Whether the run of a cell may have more than 100,000 episodes.
        **options: Fields that replace those of `base`.

    Raises:
        PrerequisiteError: A field or value is wrong, or a cell replays a model that was not recorded with its settings; checked before any run.
    """
    if not isinstance(over, Mapping | None) or over == {}:
        raise PrerequisiteError(f"ablate: over={over!r} varies nothing; give each field its values, as in over={{'epochs': [1, 2]}}.")
    grid = dict(over or {})
    first = configure(base, options)
    for field, values in grid.items():
        _check_field(first, field, values)
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    async with AsyncExitStack() as stack:
        # What cells share is opened once, and a cell stays as it was planned.
        listen = stack.enter_context(listening(on_event, progress))
        spending = stack.enter_context(within_budget(first.config, listen))
        contact = Contact(listen, spending=spending)
        shared = await stack.enter_async_context(Shared())
        planned = [(values, await _plan_cell(first, values, name, shared, stack, spending, large=large)) for values in combinations]
        cells = []
        played: dict[str, StoredRun] = {}
        for cell_values, cell in planned:
            if spending is not None and not _is_done(cell.path) and spending.stops():
                spending.leave("cells", 1)
                continue
            try:
                stored = await _run_cell(cell, shared, played, contact)
            except PrerequisiteError as err:
                raise PrerequisiteError(f"cell {_label(cell_values)}: {err}") from None
            cells.append(Cell(cell_values, stored))
            if _is_whole(stored):
                played.setdefault(cell.episodes, stored)
        return Ablation(tuple(cells))


ablate = blocking(ablate_async)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A cell that can be run: its directory, and what was built for it unless it has been started before."""

    job: Job[Any]
    path: Path
    built: Built | None
    episodes: str
    """Return a digest of what its episodes depend on: cells that differ only in how they are judged have the same."""


async def _plan_cell(
    first: Job[Any],
    values: Mapping[str, Any],
    name: str,
    shared: Shared,
    stack: AsyncExitStack,
    spending: Spending | None,
    *,
    large: bool,
) -> _Plan:
    """Return the job of a cell, named after its content and, if it has not been started, built."""
    try:
        job = configure(first.config, {field: _as_value(first, field, value) for field, value in values.items()})
        job, scenarios = plan(job, shared)
        generation = job.values(Scope.GENERATION) | {"prompts": recording_key(job)}
        content = {  # the dataset names the scenarios
            "generation": {name: value for name, value in generation.items() if name not in {"scenario", "category"}},
            "dataset": dataset_digest(scenarios),
        }
        job = job.having(run_id=f"{name}-{digest({**content, 'scoring': job.values(Scope.SCORING)})}")
        path = job.config.run_dir / str(job.config.run_id)
        if not (large or path.exists()):
            check_size(job, scenarios)
        if spending is not None and not _is_done(path):
            spending.check(job.config)
        built = None if path.exists() else await stack.enter_async_context(build(job, scenarios, shared))
    except PrerequisiteError as err:
        raise PrerequisiteError(f"cell {_label(values)}: {err}") from None
    return _Plan(job, path, built, digest(content))


async def _run_cell(planned: _Plan, shared: Shared, played: dict[str, StoredRun], contact: Contact) -> StoredRun:
    """Run a cell; one that differs from a finished cell only in how it is judged takes over that cell's episodes, and is judged."""
    # Two cells may be the same run, as different values can mean the same.
    if planned.built is not None and not planned.path.exists():
        return await start_run(replace(planned.built, played=played.get(planned.episodes)), contact)
    stored = StoredRun(planned.path)
    if _is_done(planned.path):
        return stored
    # However the cell was started, it continues as the grid is called now.
    how = {name: getattr(planned.job.config, name) for name in _HOW}
    return await resume_with(shared, stored, contact, **how)


def _is_done(path: Path) -> bool:
    """Return whether nothing is left to do for the cell with this directory: it was run as a whole, and judged."""
    if not path.exists():
        return False
    stored = StoredRun(path)
    return stored.judged and not stored.unjudged and _is_whole(stored)


def _is_whole(stored: StoredRun) -> bool:
    """Return whether every episode has ended in a way that is not tried again."""
    return stored.finished == stored.total and not stored.terminations.keys() & set(AGAIN)


def _check_field(job: Job[Any], field: str, values: Sequence[Any]) -> None:
    known = [name for name in (*RunConfig.model_fields, *type(job.options).model_fields) if name != "options"]
    if field not in known:
        raise PrerequisiteError(f"ablate: unknown field '{field}'.{did_you_mean(str(field), known)}")
    if isinstance(values, str | Mapping) or not isinstance(values, Collection) or not len(values):
        raise PrerequisiteError(f"ablate: give '{field}' a list of values, for example [{values!r}, ...].")
    if job.scope_of(field) is Scope.OPERATIONAL:
        raise PrerequisiteError(f"ablate: '{field}' changes how a run is executed, not its results; vary another field.")


def _as_value(job: Job[Any], field: str, value: Any) -> Any:
    fields = RunConfig.model_fields if field in RunConfig.model_fields else type(job.options).model_fields
    if isinstance(fields[field].default, tuple) and (value is None or isinstance(value, str)):
        return (value,) if value else ()
    return value


def _label(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{field}={value}" for field, value in _table_values(values).items()) or "(the only one)"


def _table_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Write values as a table holds them: lists and paths as text."""
    shown: dict[str, Any] = {}
    for field, value in values.items():
        if isinstance(value, Path):
            shown[field] = str(value)
        elif isinstance(value, list | tuple):
            shown[field] = " ".join(map(str, value))
        else:
            shown[field] = value
    return shown
