"""Play a grid of runs into one tidy table: how the metrics change when one or more fields are varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.ablation.grid import PlannedCell, combine, is_whole, naming_cell, plan_cell, table_values
from talm_sim.runs.api import Contact, blocking, resume_with, start_run
from talm_sim.runs.budget import Spending, within_budget
from talm_sim.runs.engines.driver import run_elsewhere
from talm_sim.runs.events import OnEvent, listening
from talm_sim.runs.plan import build
from talm_sim.runs.resolve import configure
from talm_sim.runs.runner import Built
from talm_sim.store.python_words import phrase_errors_for_python
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.tidy_tables import frame
from talm_sim.tasks import Job
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
    """The cells; the values of the last option change fastest."""
    over: dict[str, tuple[Any, ...]]
    """The options that were varied, with their values."""

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record per cell and group: the varied fields, then the metrics with their intervals."""
        return [table_values(cell.values) | row for cell in self.cells for row in cell.run.summary_records()]

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_records` as a pandas frame."""
        return frame(self.to_records())

    def _repr_html_(self) -> str:
        fields = list(dict.fromkeys(field for cell in self.cells for field in cell.values))
        rows = [([str(table_values(cell.values).get(field, "")) for field in fields], one) for cell in self.cells for one in cell.run.summary()]
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
            list field takes a list or a single item, and `model_options` a mapping or `KEY=VALUE`; "" and None mean none.
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
    combinations = combine(first, grid)
    for field in grid.keys() & options.keys():
        raise PrerequisiteError(f"ablate: {field}={options[field]!r} fixes what over={{{field!r}: ...}} varies; leave one of them out.")
    async with AsyncExitStack() as stack:
        # What cells share is opened once, and a cell stays as it was planned.
        listen = stack.enter_context(listening(on_event, progress))
        spending = stack.enter_context(within_budget(first.config, listen))
        contact = Contact(listen, spending=spending)
        shared = await stack.enter_async_context(Shared())
        planned = [await _prepare(first, values, name, shared, stack, spending, large=large) for values in combinations]
        cells = []
        played: dict[str, StoredRun] = {}
        for values, ready in zip(combinations, planned, strict=True):
            if spending is not None and not _is_done(ready.cell.path) and spending.stops():
                spending.leave("cells", 1)
                continue
            with naming_cell(values):
                stored = await _run_cell(ready, shared, played, contact)
            cells.append(Cell(values, stored))
            if is_whole(stored):
                played.setdefault(ready.cell.episodes, stored)
        return Ablation(tuple(cells), {field: tuple(values) for field, values in grid.items()})


ablate = blocking(ablate_async)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A cell that can be run: its plan, and what was built for it unless it has been started before."""

    cell: PlannedCell
    built: Built | None


async def _prepare(
    first: Job[Any], values: Mapping[str, Any], name: str, shared: Shared, stack: AsyncExitStack, spending: Spending | None, *, large: bool
) -> _Ready:
    with naming_cell(values):
        cell = plan_cell(first, values, name, shared, large=large)
        if spending is not None and not _is_done(cell.path):
            spending.check(cell.job.config)
        built = None if cell.path.exists() else await stack.enter_async_context(build(cell.job, cell.scenarios, shared))
    return _Ready(cell, built)


async def _run_cell(ready: _Ready, shared: Shared, played: dict[str, StoredRun], contact: Contact) -> StoredRun:
    """Run a cell; one that differs from a finished cell only in how it is judged takes over that cell's episodes, and is judged."""
    # Two cells may be the same run, as different values can mean the same.
    cell = ready.cell
    if ready.built is not None and not cell.path.exists():
        before = played.get(cell.episodes)
        if cell.job.config.on is not None and before is None:
            return await run_elsewhere(cell.job.config, cell.job, cell.scenarios, contact.on_event, again=True)
        return await start_run(replace(ready.built, job=ready.built.job.having(on=None), played=before), contact)
    stored = StoredRun(cell.path)
    if _is_done(cell.path):
        return stored
    # However the cell was started, it continues as the grid is called now.
    how = {name: getattr(cell.job.config, name) for name in _HOW}
    return await resume_with(shared, stored, contact, **how)


def _is_done(path: Path) -> bool:
    """Return whether nothing is left to do for the cell with this directory: it was run as a whole, and judged."""
    if not path.exists():
        return False
    stored = StoredRun(path)
    return stored.judged and not stored.unjudged and is_whole(stored)
