"""Load scenarios from JSONL: the packaged ones, or a user's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from talm_sim.common.typed_options import fault_of
from talm_sim.config import parse_limit
from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.turns import fault_in_messages, fault_in_tools
from talm_sim.types import Scenario

FORMAT = "see talm-sim scenarios show --format"
"""Document that describes the format of a line."""
_ReadLine = Callable[[Any, str, str], Scenario]
"""Turns a parsed line into a scenario of a task, given file and line for messages, and the task."""


def read_scenario(line: Any, where: str, task: str) -> Scenario:
    """Read a line as a scenario."""
    if not isinstance(line, dict):
        raise PrerequisiteError(f"{where}: is not a JSON object; write one scenario per line.")
    try:
        scenario = Scenario.model_validate(line)
    except ValidationError as err:
        first = err.errors()[0]
        place = first["loc"]
        if place[:1] == ("missing",) and not isinstance(line["missing"], list):
            place = ("missing", *place[2:])
        key = ".".join(str(part) for part in place) or "the line"
        raise PrerequisiteError(f"{where}: {key}: {fault_of(first).rstrip('.')}; correct this field: {FORMAT}") from None
    if scenario.task != task:
        raise PrerequisiteError(
            f"{where}: task: is '{scenario.task}', not '{task}'; run it with --task {scenario.task}, or correct this field."
        )
    fault = fault_in_messages(scenario.turns) or fault_in_tools(scenario)
    if fault:
        raise PrerequisiteError(f"{where}: {fault}")
    return scenario


def load_scenarios(
    groups: Sequence[str],
    file: Path | None = None,
    limit: str | None = None,
    *,
    task: str,
    data: Traversable | None = None,
    hub_file: str = "",
    read: _ReadLine = read_scenario,
) -> list[Scenario]:
    """Read the scenarios of some groups.

    Args:
        groups: Groups to read, in the order wanted.
        file: The user's own JSONL file in place of the packaged data, or `hub:OWNER/DATASET[:FILE]`; lines of other groups are skipped.
        limit: `N` or `A-B`: which scenarios of each group, counted from 1.
        task: The task they belong to.
        data: Folder of its packaged scenarios: one `<group>.jsonl` per group.
        hub_file: The file of a dataset on the hub that is read where `file` names none.
        read: Reads a line; a task whose data has a form of its own gives its reader.
    """
    if file is None:
        scenarios = [one for source in _packaged_files(groups, task, data) for one in _read_packaged(source, task, read)]
    else:
        scenarios = _read(local_file(file, hub_file), task, read)
    if file is not None and not scenarios:
        raise PrerequisiteError(f"{file}: is empty; write one scenario per line: {FORMAT}")
    return select(scenarios, groups, limit, str(file or ""), task)


def select(scenarios: Sequence[Scenario], groups: Sequence[str], limit: str | None = None, file: str = "", task: str = "") -> list[Scenario]:
    """Choose the scenarios of some groups, in that order, and of each those within `limit`; arguments are those of `load_scenarios`.

    Raises:
        PrerequisiteError: Nothing is left to run.
    """
    start, stop = parse_limit(limit)
    chosen: list[Scenario] = []
    for group in groups:
        chosen += [scenario for scenario in scenarios if scenario.group == group][start:stop]
    if not chosen:
        within = f" within limit {limit}" if limit else ""
        what = f"no scenario of group {' or '.join(groups)}{within}"
        if not file:
            of = f" of task {task}" if task else ""
            raise PrerequisiteError(f"the packaged scenarios{of} contain {what}; choose another --split or --limit, or give --scenarios FILE.")
        there = [*dict.fromkeys(scenario.group for scenario in scenarios)]
        raise PrerequisiteError(f"{file}: {what}; its groups: {format_names(there, 8)}.")
    return chosen


def _packaged_files(groups: Sequence[str], task: str, folder: Traversable | None) -> list[Traversable]:
    if folder is None:
        raise PrerequisiteError(f"the package has no scenarios for task {task}; give a file with --scenarios FILE.")
    return [file for group in groups if (file := folder / f"{group}.jsonl").is_file()]


def _read_packaged(source: Traversable, task: str, read: _ReadLine) -> Sequence[Scenario]:
    """Read a packaged file, once in a process while it stays as it is: scenarios are frozen, and to read all takes longer than a short run."""
    if not isinstance(source, Path):
        return _read(source, task, read)  # it is in an archive
    state = source.stat()
    return _kept(source, state.st_mtime_ns, state.st_size, task, read)


@lru_cache(64)
def _kept(source: Path, changed: int, size: int, task: str, read: _ReadLine) -> tuple[Scenario, ...]:
    return tuple(_read(source, task, read))


def _read(source: Traversable, task: str, read: _ReadLine) -> list[Scenario]:
    """Read a whole file; every line is checked, even if it is not needed."""
    scenarios: list[Scenario] = []
    lines: dict[str, str] = {}
    for where, line in json_lines(source):
        scenario = read(line, where, task)
        if scenario.id in lines:
            key = "id" if "id" in line else "uuid"
            number = lines[scenario.id].rpartition(":")[2]
            raise PrerequisiteError(f"{where}: {key} '{scenario.id}' is also used on line {number}; {key}s must be unique.")
        lines[scenario.id] = where
        scenarios.append(scenario)
    return scenarios
