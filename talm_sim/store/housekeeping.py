"""Rename or delete a stored run, together with its controls."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from talm_sim.common.processes import hidden_name, sweep
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.store.files.manifest import base_of, check_name, run_names
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import PairedOptions


def controls_of(path: Path) -> list[Path]:
    """Return the runs of the control models beside a run."""
    return [path.parent / name for name in run_names(path.parent) if base_of(name) == path.name]


def paired_runs(paths: Sequence[Path]) -> dict[Path, list[str]]:
    """Return, for each of the given runs, the names of the runs beside it that are compared with it."""
    found: dict[Path, list[str]] = {path: [] for path in paths}
    for folder in {path.parent for path in paths}:
        meant = {spelt: path for path in paths if path.parent == folder for spelt in (Path(path.name), path)}
        for name in run_names(folder):
            with contextlib.suppress(PrerequisiteError):  # one that cannot be read is compared with nothing
                options = StoredRun(folder / name).job.options
                if isinstance(options, PairedOptions) and options.paired_run in meant:
                    found[meant[options.paired_run]].append(name)
    return found


def delete_run(path: Path) -> None:
    """Delete a run and its controls."""
    for one in (every := [*controls_of(path), path]):
        _check_free(one)
    sweep(path.parent)
    for one in every:
        grave = one.parent / hidden_name(one.name)  # hidden at once, so that a kill leaves no half run in sight
        with _explain_errors(one):
            os.rename(one, grave)
            shutil.rmtree(grave)


def rename_run(path: Path, name: str) -> Path:
    """Rename a run and its controls; return the new path."""
    check_name(name, "runs rename")
    moves = [(one, path.parent / f"{name}{one.name.removeprefix(path.name)}") for one in (*controls_of(path), path)]
    for one, target in moves:
        _check_free(one)
        StoredRun(one).closed  # noqa: B018 - says what is damaged
        if target.exists():
            delete = line_to_copy("talm-sim", "runs", "delete", str(target))
            raise PrerequisiteError(f"{target}: a run of this name exists; choose another name, or delete it with: {delete}")
    done: list[tuple[Path, Path]] = []
    try:
        for one, target in moves:
            _rename(one, target)
            done.append((one, target))
    except PrerequisiteError:
        for one, target in reversed(done):
            _rename(target, one)
        raise
    return moves[-1][1]


def _rename(one: Path, target: Path) -> None:
    with _explain_errors(one):
        os.rename(one, target)


def _check_free(path: Path) -> None:
    owner = None
    with contextlib.suppress(PrerequisiteError):  # nothing can be running a damaged run
        owner = StoredRun(path).owner
    if owner is not None:
        raise PrerequisiteError(f"{path}: is being run by process {owner.pid} on {owner.host}; wait for it or stop it, then try again.")


@contextlib.contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be changed ({err.strerror or err}); check who may write there.") from None
