"""Scenarios from JSONL: the packaged ones, or a user's file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import ValidationError

from talm_sim.config import parse_limit
from talm_sim.errors import PrerequisiteError
from talm_sim.types import Scenario

__all__ = ["load_scenarios", "packaged_data"]


def packaged_data() -> Traversable:
    """Directory of the packaged scenarios of task `talm`: one `<group>.jsonl` a group."""
    return files("talm_sim.scenarios") / "data" / "talm"


def load_scenarios(groups: Sequence[str], file: Path | None = None, limit: str | None = None) -> list[Scenario]:
    """Read the scenarios of some groups.

    Args:
        groups: Groups to read, in the order wanted.
        file: The user's own JSONL file in place of the packaged data; lines of other groups are passed over.
        limit: `N` or `A-B`: which scenarios of each group, counted from 1.

    Raises:
        PrerequisiteError: The file cannot be read, a line is broken (the message names file and line), two scenarios share an id, or
            nothing is left to run.
    """
    sources = [packaged_data() / f"{group}.jsonl" for group in groups] if file is None else [file]
    read = [scenario for source in sources for scenario in _read(source)]
    start, stop = parse_limit(limit)
    chosen: list[Scenario] = []
    for group in groups:
        chosen += [scenario for scenario in read if scenario.group == group][start:stop]
    if not chosen:
        within = f" within limit {limit}" if limit else ""
        raise PrerequisiteError(f"{file or packaged_data()}: no scenario of group {' or '.join(groups)}{within}.")
    return chosen


def _read(source: Traversable) -> list[Scenario]:
    """Read a whole file; every line is checked, also those nobody asked for."""
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{source}: cannot be read: {err.strerror}; give a JSONL file with one scenario a line.") from None
    except UnicodeDecodeError as err:
        raise PrerequisiteError(f"{source}: is not UTF-8 text (byte {err.start}); save it as UTF-8.") from None
    scenarios: list[Scenario] = []
    lines: dict[str, int] = {}
    for number, scenario in _parse(text, str(source)):
        if scenario.id in lines:
            raise PrerequisiteError(f"{source}:{number}: id '{scenario.id}' was used on line {lines[scenario.id]} already; ids must be unique.")
        lines[scenario.id] = number
        scenarios.append(scenario)
    return scenarios


def _parse(text: str, source: str) -> Iterator[tuple[int, Scenario]]:
    # Not splitlines(): JSON strings may hold line separators such as U+2028 unescaped.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, Scenario.model_validate(json.loads(line))
        except json.JSONDecodeError as err:
            raise PrerequisiteError(f"{source}:{number}: not JSON ({err.msg} at column {err.colno}); write one scenario a line.") from None
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the line"
            raise PrerequisiteError(f"{source}:{number}: {where}: {first['msg'].removeprefix('Value error, ')}; mend this field.") from None
