"""`run.json`: what a run is. Written once, when the run is created, together with its scenarios; never changed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import re
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from talm_sim.common.digests import digest
from talm_sim.common.plain_files import read_bytes
from talm_sim.common.processes import hidden_name, sweep
from talm_sim.common.typed_options import fault_of
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, RunExistsError, did_you_mean, full_name, line_to_copy
from talm_sim.runs.files.database import DATABASE, TooLargeError, check_regular, check_size, create_database, fold, pack
from talm_sim.runs.files.sealing import insert_row, seal, stamp_of
from talm_sim.types import Scenario, ToolSpec

__all__ = [
    "LATEST",
    "MANIFEST",
    "RunManifest",
    "base_of",
    "check_name",
    "control_name",
    "create_run",
    "dataset_digest",
    "find_run",
    "new_run_ids",
    "read_manifest",
    "run_names",
    "stamp",
    "unique_prefix",
    "wording_digests",
]

MANIFEST = "run.json"
"""Name of the file below the run's directory."""
_LARGEST = 8 * 2**20
"""Bytes of a `run.json`, many times what any has; it may come from elsewhere."""
_TIME = 15
"""Characters of the time that begins a run's name."""
FORMAT = 4
"""The number is raised whenever the files of a run are read in another way."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
LATEST = "latest"
"""Names the newest run."""
_CONTROL = re.compile(r"(.+)\.sim-[a-z]+")
"""Name of a control that was run beside another run; see `control_name`."""
_PACKAGES = ("talm-sim", "langgraph", "langchain-core", "openai", "anthropic", "vcrpy")


class RunManifest(BaseModel):
    """What a run is and what made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    config: RunConfig
    """The configuration with every automatic value resolved, and without `run_id`: a run's name is its directory's."""
    dataset_digest: str
    wording: dict[str, str] = Field(default_factory=dict)
    """Digests of all texts that the model reads, by the name that messages use."""
    brought: dict[str, str] = Field(default_factory=dict)
    """Extensions that the run uses (`judge short`), with how each was loaded (`--plugin MODULE`)."""
    created: str
    """UTC, ISO 8601."""
    command: str = ""
    """The command line or call that made the run."""
    versions: dict[str, str] = Field(default_factory=dict)
    notes: dict[str, str] = Field(default_factory=dict)
    """What else a reader should know, for example where an imported run comes from."""


def dataset_digest(scenarios: Sequence[Scenario]) -> str:
    """Digest of the scenarios a run holds, in order: runs compare only where it is equal."""
    return digest([scenario.model_dump(mode="json") for scenario in scenarios], 16)


def wording_digests(texts: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each text that the model reads; equal digests mean equal texts."""
    return {name: digest(text) for name, text in texts.items()}


def new_run_ids(config: RunConfig) -> Iterator[str]:
    """Names made of time (UTC), model and split, one after the other: of two runs begun in one second, in any process, one takes the second."""
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", config.model.rpartition("/")[2]).strip("-.") or "model"
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{model[:60]}-{config.split.replace(',', '-')[:40]}"
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


def create_run(
    run_dir: Path,
    run_id: str | None,
    config: RunConfig,
    scenarios: Sequence[Scenario],
    *,
    tools: Sequence[ToolSpec] = (),
    wording: Mapping[str, str] | None = None,
    brought: Mapping[str, str] | None = None,
    created: datetime | None = None,
    command: str = "",
    notes: Mapping[str, str] | None = None,
    fill: Callable[[sqlite3.Connection], None] | None = None,
) -> Path:
    """Create a run with its scenarios, whole or not at all.

    Args:
        run_dir: Directory that holds runs; made where it is missing.
        run_id: The run's name; None for a fresh one.
        config: With every automatic value resolved.
        scenarios: What is run, in order.
        tools: The tools they name, kept so that the run can be read and judged without them.
        wording: The texts the model is told, by what a message calls each.
        brought: See `RunManifest.brought`.
        created: When, in UTC; now by default.
        command: What made the run.
        notes: See `RunManifest.notes`.
        fill: Writes what the run holds from the start, within the transaction that creates it.

    Returns:
        The run's directory.

    Raises:
        RunExistsError: The name is taken.
        PrerequisiteError: It is no name, the directory cannot be written, or there is no scenario.
    """
    _check_new(run_id, scenarios)
    manifest = RunManifest(
        config=config.model_copy(update={"run_id": None}),
        dataset_digest=dataset_digest(scenarios),
        wording=wording_digests(wording or {}),
        brought=dict(brought or {}),
        created=(created or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=command,
        versions=_versions(),
        notes=dict(notes or {}),
    )
    for name in new_run_ids(config) if run_id is None else ():
        with contextlib.suppress(RunExistsError):
            return _install_run(run_dir / name, manifest, scenarios, tools, fill)
    return _install_run(run_dir / str(run_id), manifest, scenarios, tools, fill)


def check_name(run_id: str, place: str) -> None:
    """Refuse what cannot name a run.

    Raises:
        PrerequisiteError: It is no name, or means another run; begins with `place`.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise PrerequisiteError(f"{place}: '{run_id}' is not a run name: use letters, digits, '.', '_' and '-', at most 128.")
    if run_id == LATEST:
        raise PrerequisiteError(f"{place}: '{LATEST}' always means the newest run; choose another name.")


def _check_new(run_id: str | None, scenarios: Sequence[Scenario]) -> None:
    if run_id is not None:
        check_name(run_id, "--run-id")
    if not scenarios:
        raise PrerequisiteError("nothing to run: --split and --limit select no scenario.")
    twice = [name for name, count in Counter(scenario.id for scenario in scenarios).items() if count > 1]
    if twice:
        raise PrerequisiteError(f"scenario '{twice[0]}' is used twice; ids must be unique.")


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
        config = manifest.config.model_copy(update={"plugin": ()})
    except ValidationError as err:
        first = err.errors()[0]
        raise PrerequisiteError(f"{path}: {'.'.join(map(str, first['loc'])) or 'document'}: {fault_of(first)}") from None
    return manifest.model_copy(update={"config": config})


def stamp(directory: Path) -> str:
    """What the run's seal is to say of its `run.json`.

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
        run: Its directory, its name in `run_dir`, a prefix of that name, or `latest`: the newest run that is not a control of another.
        run_dir: Directory of the runs.

    Raises:
        PrerequisiteError: There is no such run, or several names begin with the prefix.
    """
    path = Path(run)
    if (path / MANIFEST).is_file():
        return path
    where = run_dir if len(path.parts) < 2 else path.parent
    if (where / path.name / MANIFEST).is_file():
        return where / path.name
    names = run_names(where)
    if path.name == LATEST and names:
        return where / newest_run(where, names)
    found = full_name(path.name, names, "runs")
    if found is not None:
        return where / found
    if not names:
        named = "" if path.name == LATEST else f"{run}: no such run. "
        raise PrerequisiteError(f"{named}{where}: there are no runs here yet; start one with: talm-sim run --split underspecified")
    raise PrerequisiteError(f"{run}: no such run.{did_you_mean(path.name, names[-8:])}")


def run_names(run_dir: Path) -> list[str]:
    """Names of the runs in a directory, sorted; half-written ones are hidden, one that lost a file of its two is not."""
    found = {file.parent.name for name in (MANIFEST, DATABASE) for file in run_dir.glob(f"*/{name}")}
    return sorted(name for name in found if not name.startswith("."))


def unique_prefix(name: str, names: Sequence[str]) -> str:
    """As much of a run's name as finds it among `names`, and no less than the time that begins it."""
    for size in range(_TIME, len(name)):
        fitting = [other for other in names if other.startswith(name[:size])]
        if all(other == name or other.startswith(f"{name}.") for other in fitting):
            return name[:size]
    return name


def control_name(run_id: str, model: str) -> str:
    """What the run of a control model is called that stands beside a run, as `first.sim-oracle` beside `first`."""
    return f"{run_id}.{model.replace('/', '-')}"


def base_of(name: str) -> str:
    """The run that a control stands beside, by its name; empty for the name of any other run."""
    control = _CONTROL.fullmatch(name)
    return control[1] if control else ""


def newest_run(run_dir: Path, names: Sequence[str]) -> str:
    """The newest of some runs, controls aside where there is another."""

    def made(name: str) -> tuple[bool, str, int]:
        try:
            document, written = json.loads(_read(run_dir / name)), (run_dir / name / MANIFEST).stat().st_mtime_ns
            created = str(document["created"])
        except (PrerequisiteError, OSError, ValueError, LookupError, TypeError, RecursionError):
            return False, "", 0
        # Whole seconds are stored; what came later within one was written later.
        return not base_of(name), created, written

    return max(names, key=made)


def _install_run(
    target: Path,
    manifest: RunManifest,
    scenarios: Sequence[Scenario],
    tools: Sequence[ToolSpec],
    fill: Callable[[sqlite3.Connection], None] | None,
) -> Path:
    """Write a run beside its place and rename it into it, so that a kill leaves a whole run or a hidden leftover, never half a run."""
    if target.exists():
        again = line_to_copy("talm-sim", "resume", str(target))
        raise RunExistsError(f"{target}: a run of this name exists; choose another --run-id, or continue it with: {again}")
    sweep(target.parent)
    draft = target.parent / hidden_name(target.name)
    try:
        draft.mkdir(parents=True)
        _write(draft, manifest, scenarios, tools, fill)
        os.rename(draft, target)
    except (OSError, sqlite3.OperationalError) as err:
        shutil.rmtree(draft, ignore_errors=True)
        if target.exists():
            raise RunExistsError(f"{target}: a run of this name exists; choose another --run-id.") from None
        reason = err.strerror if isinstance(err, OSError) else err
        raise PrerequisiteError(f"{target.parent}: cannot be written ({reason}); choose another --run-dir.") from None
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def _write(
    directory: Path,
    manifest: RunManifest,
    scenarios: Sequence[Scenario],
    tools: Sequence[ToolSpec],
    fill: Callable[[sqlite3.Connection], None] | None,
) -> None:
    text = f"{manifest.model_dump_json(indent=2)}\n".encode()
    with closing(create_database(directory)) as conn:
        conn.execute("BEGIN")
        for position, item in enumerate(scenarios):
            try:
                insert_row(conn, "scenarios", position, item.id, item.group, body=pack(item.model_dump_json()))
            except TooLargeError as err:
                raise PrerequisiteError(f"scenario '{item.id}': {err}; make it smaller.") from None
        described = json.dumps([tool.model_dump(mode="json") for tool in tools])
        try:
            check_size(described.encode())
        except TooLargeError as err:
            raise PrerequisiteError(f"the description of {len(tools):,} tools {err}; use fewer tools.") from None
        insert_row(conn, "meta", "tools", described)
        if fill is not None:
            fill(conn)
        seal(conn, stamp_of(text))
        conn.execute("COMMIT")
        fold(conn)
    (directory / MANIFEST).write_bytes(text)
    for name in (DATABASE, MANIFEST):
        with (directory / name).open("rb") as file:
            os.fsync(file.fileno())


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
