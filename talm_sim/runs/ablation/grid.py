"""The grid of an ablation: the options it varies, its cells, and what each of them would run."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.common.toml_files import read_toml
from talm_sim.common.typed_options import split_options
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs.api import AGAIN
from talm_sim.runs.plan import plan
from talm_sim.runs.resolve import configure, refuse_unknown
from talm_sim.store.files.manifest import dataset_digest
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import Job, Task
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.shared import Shared
from talm_sim.types import Scenario

_MOST_CELLS = 10_000
_TABLE = "grid"
_FORM = 'write a table [grid] with a list of values per option, for example human = ["none", "simulated"].'


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell whose scenarios are read and whose automatic values are decided."""

    values: Mapping[str, Any]
    """The varied options and their values."""
    job: Job[Any]
    scenarios: Sequence[Scenario]
    path: Path
    """Directory of its run, which need not exist."""
    episodes: str
    """Digest of what its episodes depend on: cells that differ only in how they are judged have the same."""


def read_grid(file: Path, task: Task[Any]) -> dict[str, list[Any]]:
    """Read a file with a table `[grid]`: options, shared or the task's own, each with a list of values."""
    document = read_toml(file, "--grid")
    if not isinstance(table := document.pop(_TABLE, None), dict) or not table:
        raise PrerequisiteError(f"{file}: {_FORM}")
    if (key := next(iter(document), None)) is not None:
        raise PrerequisiteError(f"{file}: unknown key '{key}'; only the table [grid] is read here, and other options belong in --config.")
    found: dict[str, list[Any]] = {}
    spelt: dict[str, str] = {}
    for key, values in table.items():
        name = key.replace("-", "_")
        if name == task.name:
            raise PrerequisiteError(f"{file}: write the options of task {name} into [{_TABLE}] itself, not into [{_TABLE}.{key}].")
        refuse_unknown(name, task, f"{file}: ", spelt=lambda name: f"{_TABLE}.{name}")
        if name in spelt:
            raise PrerequisiteError(f"{file}: {_TABLE}.{key} is set twice, as '{spelt[name]}' and '{key}'; leave one out.")
        if not isinstance(values, list) or not values:
            raise PrerequisiteError(f"{file}: {_TABLE}.{key}: write a list of values, for example {key} = [VALUE, VALUE].")
        found[name], spelt[name] = values, key
    return found


def combine(first: Job[Any], over: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the values of each cell; the values of the last option change fastest."""
    if first.config.shard is not None or "shard" in over:
        raise PrerequisiteError("ablate: a cell plays all scenarios, and --shard takes a part of them; leave out --shard.")
    if first.config.on is not None and first.config.budget:
        raise PrerequisiteError("ablate: --budget counts what one process spends; leave out --budget, or leave out --on.")
    for field, values in over.items():
        _check_field(first, field, values)
    if (cells := prod(map(len, over.values()))) > _MOST_CELLS:
        raise PrerequisiteError(
            f"ablate: this grid has {cells:,} cells; the most is {_MOST_CELLS:,}. Vary fewer options, or give fewer values."
        )
    return [dict(zip(over, values, strict=True)) for values in itertools.product(*over.values())]


def plan_cell(first: Job[Any], values: Mapping[str, Any], name: str, shared: Shared, *, large: bool) -> PlannedCell:
    """Return a cell with the job of its run, which is named after its content."""
    job = configure(first.config, {field: _as_value(first, field, value) for field, value in values.items()})
    job, scenarios = planned = plan(job, shared)
    generation = job.values(Scope.GENERATION) | {"prompts": recording_key(job)}
    content = {  # the dataset names the scenarios
        "generation": {name: value for name, value in generation.items() if name not in {"scenario", "category", "shard"}},
        "dataset": dataset_digest(scenarios),
    }
    job = job.having(run_id=f"{name}-{digest({**content, 'scoring': job.values(Scope.SCORING)})}")
    path = job.config.run_dir / str(job.config.run_id)
    if not (large or path.exists()):
        planned.check_size()
    return PlannedCell(values, job, scenarios, path, digest(content))


def is_whole(stored: StoredRun) -> bool:
    """Return whether every episode has ended in a way that is not tried again."""
    return stored.finished == stored.total and not stored.terminations.keys() & set(AGAIN)


@contextmanager
def naming_cell(values: Mapping[str, Any]) -> Iterator[None]:
    """Let the errors of the block name the cell."""
    try:
        yield
    except PrerequisiteError as err:
        raise PrerequisiteError(f"cell {cell_label(values)}: {err}") from None


def cell_label(values: Mapping[str, Any]) -> str:
    """Return the name of a cell: its options with their values.

    >>> cell_label({"human": "none", "perturb": ["a", "b"], "judge": [], "strict": False})
    'human=none, perturb=a b, judge=none, strict=False'
    """
    return ", ".join(f"{field}={'none' if value in ('', None) else value}" for field, value in table_values(values).items()) or "(the only one)"


def table_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as a table has them; see `_table_value`."""
    return {field: _table_value(value) for field, value in values.items()}


def _table_value(value: Any) -> Any:
    """Return a value as a table has it: lists, mappings and paths as text, all else as it is."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _check_field(job: Job[Any], field: str, values: Sequence[Any]) -> None:
    known = [name for name in (*RunConfig.model_fields, *type(job.options).model_fields) if name != "options"]
    if field not in known:
        raise PrerequisiteError(f"ablate: unknown field '{field}'.{did_you_mean(str(field), known)}")
    if isinstance(values, str | Mapping) or not isinstance(values, Collection) or not len(values):
        raise PrerequisiteError(f"ablate: give '{field}' a list of values, for example [{values!r}, ...].")
    if job.scope_of(field) is Scope.OPERATIONAL:
        raise PrerequisiteError(f"ablate: '{field}' changes how a run is executed, not its results; vary another field.")


def _as_value(job: Job[Any], field: str, value: Any) -> Any:
    """Return a value as its option takes it: a single item for a list, `KEY=VALUE` for a mapping, nothing for an option that is left out."""
    fields = RunConfig.model_fields if field in RunConfig.model_fields else type(job.options).model_fields
    if isinstance(default := fields[field].default, tuple) and (value is None or isinstance(value, str)):
        return (value,) if value else ()
    if isinstance(default, dict) and (value is None or isinstance(value, str)):
        return split_options([value] if value else (), f"{field}: ")
    return None if default is None and value == "" else value
