"""A grid of runs as one tidy table: what changes in the metrics when one thing, or several, are varied."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.config import RunConfig, Scope, scope_of
from talm_sim.digests import digest
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs.api import prepare, resume_async, run_async, to_completion
from talm_sim.runs.events import OnEvent, ignore_events
from talm_sim.runs.judging import open_grader
from talm_sim.runs.manifest import dataset_digest
from talm_sim.runs.parts import open_parts
from talm_sim.runs.resolve import configure
from talm_sim.runs.stored import StoredRun
from talm_sim.runs.tables import frame
from talm_sim.runs.wiring import check_recorded

if TYPE_CHECKING:
    import pandas

__all__ = ["Ablation", "Cell", "ablate", "ablate_async"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the grid, and its run."""

    values: dict[str, Any]
    """Field to the value it has here."""
    run: StoredRun


@dataclass(frozen=True, slots=True)
class Ablation:
    """A finished grid."""

    cells: tuple[Cell, ...]

    def to_records(self) -> list[dict[str, Any]]:
        """One flat row for each cell and group: the varied fields, then the metrics with their intervals."""
        return [_shown(cell.values) | row for cell in self.cells for row in cell.run.summary_records()]

    def to_pandas(self) -> pandas.DataFrame:
        """`to_records` as a pandas frame.

        Raises:
            PrerequisiteError: pandas is not installed.
        """
        return frame(self.to_records())


def ablate(
    base: RunConfig | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    *,
    name: str = "ablation",
    on_event: OnEvent = ignore_events,
    **options: Any,
) -> Ablation:
    """Run every combination of the values in `over`, and return one table.

    Each cell is a run named after its content, `<name>-<digest>`: called again, finished cells are read and interrupted ones go on.

    Args:
        base: What all cells share; the defaults without it.
        over: Field of `RunConfig` to the values it takes, e.g. `{"human": ["none", "recorded"], "perturb": ["", "http-500"]}`. A list field
            takes a list, or a single item; "" and None stand for an empty one.
        name: Begins the names of the runs.
        on_event: Told of the progress of every cell's run.
        **options: Fields in place of those of `base`.

    Raises:
        PrerequisiteError: A field or value is wrong, or a cell replays a model that was not recorded so; known before anything runs.
    """
    return to_completion(ablate_async(base, over, name=name, on_event=on_event, **options))


async def ablate_async(
    base: RunConfig | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    *,
    name: str = "ablation",
    on_event: OnEvent = ignore_events,
    **options: Any,
) -> Ablation:
    """`ablate`, on the running event loop."""
    shared = configure(base, options)
    grid = dict(over or {})
    for field, values in grid.items():
        _check_field(field, values)
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    planned = [(values, await _planned(shared, values, name)) for values in combinations]
    cells = [Cell(values, await _run_cell(config, on_event)) for values, config in planned]
    return Ablation(tuple(cells))


async def _planned(shared: RunConfig, values: Mapping[str, Any], name: str) -> RunConfig:
    """The configuration of a cell, named after its content and, where it was not begun before, checked for all it needs."""
    try:
        final, scenarios, library = await prepare(configure(shared, {field: _as_value(field, value) for field, value in values.items()}))
        content = {
            "generation": final.fields_of(Scope.GENERATION) | {"prompts": final.generation_digest()},
            "scoring": final.fields_of(Scope.SCORING),
            "dataset": dataset_digest(scenarios),
        }
        named: RunConfig = final.model_copy(update={"run_id": f"{name}-{digest(content)}"})
        async with open_grader(named, library, scenarios):
            if not _directory(named).exists():
                async with open_parts(named, library) as parts:
                    parts.check(scenarios)
                    await check_recorded(parts, scenarios)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"cell {_label(values)}: {err}") from None
    return named


async def _run_cell(config: RunConfig, on_event: OnEvent) -> StoredRun:
    path = _directory(config)
    if not path.exists():
        return await run_async(config, on_event=on_event)
    stored = StoredRun(path)
    if stored.finished == stored.total and stored.judged:
        return stored
    return await resume_async(path, on_event=on_event, max_episodes=config.max_episodes, max_connections=config.max_connections)


def _directory(config: RunConfig) -> Path:
    assert config.run_id is not None
    return config.run_dir / config.run_id


def _check_field(field: str, values: Sequence[Any]) -> None:
    if field not in RunConfig.model_fields:
        raise PrerequisiteError(f"ablate: unknown field '{field}'.{did_you_mean(field, RunConfig.model_fields)}")
    if isinstance(values, str) or not values:
        raise PrerequisiteError(f"ablate: give '{field}' a list of values, such as [{values!r}, ...].")
    if scope_of(field) is Scope.OPERATIONAL:
        raise PrerequisiteError(f"ablate: '{field}' changes how a run is carried out, not what comes out; vary another field.")


def _as_value(field: str, value: Any) -> Any:
    if isinstance(RunConfig.model_fields[field].default, tuple) and (value is None or isinstance(value, str)):
        return (value,) if value else ()
    return value


def _label(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{field}={value}" for field, value in _shown(values).items()) or "(the only one)"


def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as a table holds them: lists and paths as text."""
    shown: dict[str, Any] = {}
    for field, value in values.items():
        if isinstance(value, Path):
            shown[field] = str(value)
        elif isinstance(value, list | tuple):
            shown[field] = " ".join(map(str, value))
        else:
            shown[field] = value
    return shown
