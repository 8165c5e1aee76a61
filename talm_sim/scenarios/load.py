"""Scenarios from JSONL: the packaged ones, a user's file, or When2Call's published rows."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from talm_sim.config import parse_limit
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.when2call import TASK, LineKind, kind_of, scenario_of
from talm_sim.types import Choice, Scenario

__all__ = ["load_scenarios", "packaged_data"]


def packaged_data(task: str = "talm") -> Traversable:
    """Directory of a task's packaged scenarios (JSONL); of task `talm`, one `<group>.jsonl` a group."""
    return files("talm_sim.scenarios") / "data" / task


def load_scenarios(groups: Sequence[str], file: Path | None = None, limit: str | None = None, task: str = "talm") -> list[Scenario]:
    """Read the scenarios of some groups.

    Args:
        groups: Groups to read, in the order wanted.
        file: The user's own JSONL file in place of the packaged data; lines of other groups are passed over. For task `when2call` also a
            file as published, or `hub:OWNER/DATASET[:FILE]`.
        limit: `N` or `A-B`: which scenarios of each group, counted from 1.
        task: The task they belong to.

    Raises:
        PrerequisiteError: The file cannot be read, a line is broken or of another task (the message names file and line), two scenarios
            share an id, or nothing is left to run.
    """
    sources = _packaged(groups, task) if file is None else [local_file(file)]
    read = [scenario for source in sources for scenario in _read(source, task)]
    start, stop = parse_limit(limit)
    chosen: list[Scenario] = []
    for group in groups:
        chosen += [scenario for scenario in read if scenario.group == group][start:stop]
    if not chosen:
        within = f" within limit {limit}" if limit else ""
        what = f"no scenario of group {' or '.join(groups)}{within}"
        if file is None:
            raise PrerequisiteError(
                f"the packaged scenarios of task {task} hold {what}; choose another --split or --limit, or give --scenarios FILE."
            )
        raise PrerequisiteError(f"{file}: {what}.")
    return chosen


def _packaged(groups: Sequence[str], task: str) -> list[Traversable]:
    folder = packaged_data(task)
    if task == "talm":
        return [folder / f"{group}.jsonl" for group in groups]
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".jsonl")] if folder.is_dir() else []
    if not found:
        raise PrerequisiteError(f"no scenarios of task {task} come with this package; give a file: --scenarios FILE.")
    return sorted(found, key=lambda entry: entry.name)


def _read(source: Traversable, task: str) -> list[Scenario]:
    """Read a whole file; every line is checked, also those nobody asked for."""
    scenarios: list[Scenario] = []
    lines: dict[str, str] = {}
    for where, line in json_lines(source):
        kind = kind_of(line)
        scenario = _scenario(line, kind, where, task)
        if scenario.id in lines:
            key = "uuid" if kind is LineKind.ROW else "id"
            number = lines[scenario.id].rpartition(":")[2]
            raise PrerequisiteError(f"{where}: {key} '{scenario.id}' was used on line {number} already; {key}s must be unique.")
        lines[scenario.id] = where
        scenarios.append(scenario)
    return scenarios


def _scenario(line: Any, kind: LineKind, where: str, task: str) -> Scenario:
    if kind in {LineKind.SFT, LineKind.PREFERENCE}:
        raise PrerequisiteError(f"{where}: holds {kind.value}, which nothing can be measured on; give scenarios or When2Call's test rows.")
    if kind is LineKind.ROW:
        if task != TASK:
            raise PrerequisiteError(f"{where}: holds {kind.value}; add --task {TASK} to run it.")
        return scenario_of(line, where)
    if not isinstance(line, dict):
        raise PrerequisiteError(f"{where}: is no JSON object; write one scenario a line.")
    try:
        scenario = Scenario.model_validate(line)
    except ValidationError as err:
        first = err.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the line"
        raise PrerequisiteError(f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}; mend this field.") from None
    if scenario.task != task:
        raise PrerequisiteError(f"{where}: task: is '{scenario.task}', not '{task}'; run it with --task {scenario.task}, or mend this field.")
    if task == TASK:
        _check_choice(scenario, where)
    return scenario


def _check_choice(scenario: Scenario, where: str) -> None:
    if not isinstance(scenario.target, Choice):
        raise PrerequisiteError(f"{where}: target: is no choice; a scenario of task {TASK} needs one, with options and the gold behaviour.")
    if scenario.group != scenario.target.gold:
        raise PrerequisiteError(f"{where}: group: is '{scenario.group}'; write the gold behaviour '{scenario.target.gold}'.")
