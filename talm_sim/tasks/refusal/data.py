"""Load the scenarios of a run: our own, the user's, or BFCL's."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.load import select
from talm_sim.tasks.refusal.bfcl import SINGLE_TURN, load_bfcl
from talm_sim.tasks.refusal.bfcl.rows import is_row
from talm_sim.tasks.refusal.bfcl.subsets import V3_NAMES
from talm_sim.tasks.registry import read_line
from talm_sim.types import Calls, Scenario

if TYPE_CHECKING:
    from talm_sim.tasks.base import Job
    from talm_sim.tasks.refusal.tool_wording import RefusalOptions

log = logging.getLogger(__name__)
_TRANSLATION = "bfcl_single_turn_"
NOT_NATIVE = "talm-sim (translation, not written or read by native speakers)"
"""Source of our own rows in other languages than English."""


def load(job: Job[RefusalOptions]) -> list[Scenario]:
    """Load the scenarios of a job: language by language, and within each subset by subset or group by group."""
    config, options = job.config, job.options
    subsets, languages = _names(options.subset), _names(options.language)
    if options.bfcl is not None and config.scenarios is not None:
        raise PrerequisiteError("--bfcl and --scenarios both say where the rows are; leave one out.")
    if (subsets or options.bfcl) and config.split != "all":
        raise PrerequisiteError(
            f"--split {config.split}: selects our own scenarios, but --subset and --bfcl select BFCL's rows; use one or the other."
        )
    file = None if config.scenarios is None else Path(str(local_file(config.scenarios)))
    if file is not None and not _is_translation(file):
        groups = subsets or [*job.groups, *(SINGLE_TURN if config.split == "all" else ())]
        return _choose(job.task.read(groups, config.scenarios), groups, languages, config.limit, str(file))
    if file is None and not subsets and options.bfcl is None:
        return _choose(job.task.read(job.groups), job.groups, languages, config.limit)
    if config.split != "all":
        raise PrerequisiteError(
            f"--split {config.split}: selects our own scenarios, but {file} contains BFCL's rows; choose them with --subset."
        )
    place = file or options.bfcl
    subsets, languages = _available_parts(place, subsets, languages)
    found = load_bfcl(place, subsets, languages)
    for note in found.notes:
        log.warning("%s", note)
    return _choose(found.scenarios, subsets, languages, config.limit, str(place or "BFCL's data"))


def read_case(line: Any, where: str, task: str) -> Scenario:
    """Read a line of a scenario file."""
    scenario = read_line(line, where, task)
    if not isinstance(scenario.target, Calls):
        raise PrerequisiteError(
            f'{where}: target: names no calls; task {task} needs {{"type": "calls", "expected": "calls", "any" or "none", ...}}.'
        )
    if any(message["role"] == "assistant" for message in scenario.turns[-1].messages[-1:]):
        raise PrerequisiteError(f"{where}: turns: the conversation ends with the assistant; end it with the user, or with a tool's result.")
    if (scenario.target.expected == "calls") != bool(scenario.target.accepted):
        raise PrerequisiteError(
            f'{where}: target.accepted: must list the accepted calls if `expected` is "calls", and must be empty otherwise.'
        )
    return scenario


def _choose(
    scenarios: Sequence[Scenario], groups: Sequence[str], languages: Sequence[str], limit: str | None, file: str = ""
) -> list[Scenario]:
    there = list(dict.fromkeys(one.language for one in scenarios))
    for language in languages:
        if language not in there:
            known = f" (it has {', '.join(there)})" if there else ""
            raise PrerequisiteError(f"--language {language}: {file or 'the packaged data'} has no rows in this language{known}.")
    wanted = languages or there or [""]
    of = [[one for one in scenarios if one.language == language] for language in wanted]
    return [one for rows in of for one in select(rows, groups, limit, file, "refusal")]


def _is_translation(file: Path) -> bool:
    """Return whether a file has rows of a translated BFCL, by its first line; a fault in one is reported when it is read."""
    _, first = next(iter(json_lines(file)), ("", None))
    return is_row(first)


def _available_parts(place: Path | None, subsets: Sequence[str], languages: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the subsets and languages to read: those asked for, otherwise all that a translation has; BFCL's own files are English."""
    if place is not None and place.is_file():
        rows = [line for _, line in json_lines(place) if isinstance(line, dict)]
        known = [name for name in SINGLE_TURN if any(row.get("subset") in (name, V3_NAMES.get(name, name)) for row in rows)]
        spoken = list(dict.fromkeys(name for row in rows if isinstance(name := row.get("language"), str)))
        return list(subsets or known or SINGLE_TURN), list(languages or spoken or ["en"])
    files = sorted(place.glob(f"{_TRANSLATION}*.jsonl")) if place is not None and place.is_dir() else []
    return list(subsets or SINGLE_TURN), list(languages or [file.stem.removeprefix(_TRANSLATION) for file in files] or ["en"])


def _names(text: str) -> list[str]:
    return text.split(",") if text else []
