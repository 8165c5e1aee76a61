"""`run.json`, the description of a run: written once, when the run is created, together with its scenarios; never changed."""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from operator import not_
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from talm_sim.common.digests import digest
from talm_sim.common.plain_files import read_bytes
from talm_sim.common.typed_options import fault_of
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, format_names, full_name, suggest_nearest
from talm_sim.store.files.database import DATABASE, check_regular
from talm_sim.store.files.sealing import stamp_of
from talm_sim.types import Scenario
from talm_sim.types.base import canonical_form

__all__ = [
    "DATASET_DIGITS",
    "LATEST",
    "MANIFEST",
    "RunManifest",
    "base_of",
    "check_name",
    "control_name",
    "dataset_digest",
    "describe_run",
    "find_run",
    "new_run_ids",
    "read_manifest",
    "run_names",
    "stamp_in",
    "unique_prefix",
    "wording_digests",
]

MANIFEST = "run.json"
"""Name of the file below the run's directory."""
_LARGEST = 8 * 2**20
"""Bytes of a `run.json`, many times what any has; it may come from elsewhere."""
_TIME = 15
"""Characters of the time that begins a run's name."""
FORMAT = 6
"""The number is raised whenever the files of a run are read in another way."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
DATASET_DIGITS = 16
"""Characters of a digest of scenarios."""
LATEST = "latest"
"""Names the newest run."""
_CONTROL = re.compile(r"(.+)\.sim-[a-z]+")
"""Name of a control that was run beside another run; see `control_name`."""
_OF_COMMAND = {"run_id": None, "budget": "", "prices": None, "name": ""}
"""What a run is not: its name is its directory's, a budget limits one command, and the person's name is kept with the answers."""
_PACKAGES = ("talm-sim", "langgraph", "langchain-core", "openai", "anthropic", "vcrpy")


class RunManifest(BaseModel):
    """The description of a run, and of what made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    """Number of the form of the run's files; a version reads one."""
    config: RunConfig
    """The configuration with every automatic value resolved. Budget, prices and the person's name belong to the command and are not kept."""
    dataset_digest: str
    """Digest of the scenarios, in order."""
    wording: dict[str, str] = Field(default_factory=dict)
    """Digests of all texts that the model reads, by the name that messages use."""
    weights: dict[str, str] = Field(default_factory=dict, exclude_if=not_)
    """Of a model with an adapter: digests of its weights (`base`) and of the `adapter`."""
    brought: dict[str, str] = Field(default_factory=dict)
    """Extensions that the run uses (`judge short`), with how each was loaded (`--plugin MODULE`)."""
    created: str
    """UTC, ISO 8601."""
    command: str = ""
    """The command line or call that made the run."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of Python and of the packages that matter to the results."""
    notes: dict[str, str] = Field(default_factory=dict)
    """What else a reader should know, for example where an imported run comes from."""

    @field_validator("config", mode="before")
    @classmethod
    def _leave_out_workers(cls, config: Any) -> Any:
        """Read what earlier versions wrote: how many processes played the run."""
        return {name: value for name, value in config.items() if name != "workers"} if isinstance(config, dict) else config


def dataset_digest(scenarios: Sequence[Scenario]) -> str:
    """Digest of the scenarios a run holds, in order: runs compare only where it is equal."""
    return digest([canonical_form(scenario) for scenario in scenarios], DATASET_DIGITS)


def wording_digests(texts: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each text that the model reads; equal digests mean equal texts."""
    return {name: digest(text) for name, text in texts.items()}


def new_run_ids(config: RunConfig) -> Iterator[str]:
    """Yield names made of time (UTC), model and split: of two runs begun in one second, in any process, one takes the next."""
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", config.model.rpartition("/")[2]).strip("-.") or "model"
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{model[:60]}-{config.split.replace(',', '-')[:40]}"
    name += f"-{config.shard.replace('/', 'of')}" if config.shard else ""
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


def describe_run(
    config: RunConfig,
    scenarios: Sequence[Scenario],
    *,
    wording: Mapping[str, str] | None = None,
    weights: Mapping[str, str] | None = None,
    brought: Mapping[str, str] | None = None,
    created: datetime | None = None,
    command: str = "",
    notes: Mapping[str, str] | None = None,
) -> RunManifest:
    """Describe a run that is to be created.

    Args:
        config: With every automatic value resolved.
        scenarios: What is run, in order.
        wording: The texts that the model reads, by the name that messages use.
        weights: See `RunManifest.weights`.
        brought: See `RunManifest.brought`.
        created: When the run is created, in UTC; now by default.
        command: What made the run.
        notes: See `RunManifest.notes`.

    Raises:
        PrerequisiteError: There is no scenario, or one is used twice.
    """
    if not scenarios:
        raise PrerequisiteError("nothing to run: --split and --limit select no scenario.")
    if twice := [name for name, count in Counter(scenario.id for scenario in scenarios).items() if count > 1]:
        raise PrerequisiteError(f"scenario '{twice[0]}' is used twice; ids must be unique.")
    return RunManifest(
        config=config.model_copy(update=_OF_COMMAND),
        dataset_digest=dataset_digest(scenarios),
        wording=wording_digests(wording or {}),
        weights=dict(weights or {}),
        brought=dict(brought or {}),
        created=(created or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=command,
        versions=_versions(),
        notes=dict(notes or {}),
    )


def check_name(run_id: str, place: str) -> None:
    """Refuse what cannot name a run.

    Raises:
        PrerequisiteError: It is no name, or means another run; begins with `place`.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise PrerequisiteError(f"{place}: '{run_id}' is not a run name: use letters, digits, '.', '_' and '-', at most 128.")
    if run_id == LATEST:
        raise PrerequisiteError(f"{place}: '{LATEST}' always means the newest run; choose another name.")


def read_manifest(directory: Path) -> RunManifest:
    """Read a run's `run.json`.

    Raises:
        PrerequisiteError: There is none, or it is damaged or of another format.
    """
    path = directory / MANIFEST
    text = _read(directory)
    try:
        _check_format(path, text)
        manifest = RunManifest.model_validate_json(text)
        # Nothing is imported because a run directory names it, however its configuration is used: `brought` says what to give.
        config = manifest.config.model_copy(update={"plugin": (), **_OF_COMMAND})
    except ValidationError as err:
        first = err.errors()[0]
        raise PrerequisiteError(f"{path}: {'.'.join(map(str, first['loc'])) or 'document'}: {fault_of(first)}") from None
    return manifest.model_copy(update={"config": config})


def stamp_in(directory: Path) -> str:
    """Return the stamp of the run's `run.json` for its seal.

    Raises:
        PrerequisiteError: There is none.
    """
    return stamp_of(_read(directory))


def _read(directory: Path) -> bytes:
    path = directory / MANIFEST
    check_regular(path)
    try:
        return read_bytes(path, _LARGEST)
    except OSError as err:
        raise PrerequisiteError(f"{directory}: is not a run ({MANIFEST}: {err.strerror}).") from None


def _check_format(path: Path, text: bytes) -> None:
    """Refuse a run of another format before its fields are checked."""
    try:
        document = json.loads(text)
        found, made_by = document.get("format", FORMAT), document.get("versions", {}).get("talm-sim", "an unknown version")
    except (ValueError, AttributeError, RecursionError):
        return  # the fields will say what is wrong
    if found != FORMAT:
        fix = "upgrade talm-sim" if isinstance(found, int) and found > FORMAT else "make the run again with `talm-sim run`"
        raise PrerequisiteError(f"{path}: has run format {found}, made by talm-sim {made_by}; this version reads format {FORMAT}: {fix}.")


def find_run(run: Path | str, run_dir: Path = Path("runs")) -> Path:
    """Return the directory of a run.

    Args:
        run: Its directory, its name in `run_dir`, a prefix of that name, or `latest`: the newest one that is no control beside another.
        run_dir: Directory of the runs.

    Raises:
        PrerequisiteError: There is no such run, or several names begin with the prefix.
    """
    path = Path(run)
    if os.path.isfile(path / MANIFEST):
        return path
    where = run_dir if len(path.parts) < 2 else path.parent
    if os.path.isfile(where / path.name / MANIFEST):
        return where / path.name
    names = run_names(where)
    if path.name == LATEST and names:
        return where / _newest_run(where, names)
    if (found := full_name(path.name, names, "runs")) is not None:
        return where / found
    if not names:
        named = "" if path.name == LATEST else f"{run}: no such run. "
        raise PrerequisiteError(f"{named}{where}: there are no runs here yet; start one with: talm-sim run --split underspecified")
    hint = suggest_nearest(path.name, names) or f" Known: {format_names(names[::-1], 8)}."
    raise PrerequisiteError(f"{run}: no such run.{hint}")


def run_names(run_dir: Path) -> list[str]:
    """Return the names of the runs in a directory, sorted; half-written ones are hidden, one that lost a file of its two is not."""
    found = {file.parent.name for name in (MANIFEST, DATABASE) for file in run_dir.glob(f"*/{name}")}
    return sorted(name for name in found if not name.startswith("."))


def unique_prefix(name: str, names: Sequence[str]) -> str:
    """Return as much of a run's name as finds it among `names`, and no less than the time that begins it."""
    for size in range(_TIME, len(name)):
        fitting = [other for other in names if other.startswith(name[:size])]
        if all(other == name or other.startswith(f"{name}.") for other in fitting):
            return name[:size]
    return name


def control_name(run_id: str, model: str) -> str:
    """Return the name of the control run stored beside a run, as `first.sim-oracle` beside `first`."""
    return f"{run_id}.{model.replace('/', '-')}"


def base_of(name: str) -> str:
    """Return the run that a control stands beside, by its name; empty for the name of any other run."""
    control = _CONTROL.fullmatch(name)
    return control[1] if control else ""


def _newest_run(run_dir: Path, names: Sequence[str]) -> str:
    """Return the newest of some runs; a control counts if the run that it stands beside is gone."""

    def made(name: str) -> tuple[bool, str, int]:
        try:
            document, written = json.loads(_read(run_dir / name)), (run_dir / name / MANIFEST).stat().st_mtime_ns
            created = str(document["created"])
        except (PrerequisiteError, OSError, ValueError, LookupError, TypeError, RecursionError):
            return False, "", 0
        # Whole seconds are stored; what came later within one was written later.
        return base_of(name) not in names, created, written

    return max(names, key=made)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
