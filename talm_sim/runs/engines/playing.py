"""Play a shard on the node of an engine, or the rest of one that another node had begun."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from talm_sim.common.budgets import write_budget
from talm_sim.common.processes import hidden_name
from talm_sim.config import RunConfig, Scope, Traffic, scope_of
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.error_text import error_line, escape_control
from talm_sim.runs.api import KEPT, resume, run
from talm_sim.runs.engines.base import Order, Played
from talm_sim.runs.events import BudgetSpent, EpisodeFinished, RunEvent, RunStarted
from talm_sim.store.files.lease import STALE_SECONDS
from talm_sim.store.kept_shards import COUNT, MARKER
from talm_sim.store.stored_run import StoredRun
from talm_sim.version import __version__

_LOOK_S: Final = 1.0
_EVERY_S: Final = 1.0
"""Seconds between two counts that are written."""
_LONGEST: Final = 500
_OWN: Final = ("agent", "tools_from", "trust")
"""Options of a task that a run which continues does not take from its directory, because they start code."""
_SUFFIXES: Final = ("-wal", "-shm")


class _ShardProgress:
    """Writes how many episodes of a shard are finished, for the command to read. Its database is the node's while it is written."""

    def __init__(self, place: Path, name: str) -> None:
        self._file = place / f"{name}{COUNT}"
        self._written = -_EVERY_S

    def __call__(self, event: RunEvent) -> None:
        """Take an event of the shard's run."""
        if isinstance(event, RunStarted | EpisodeFinished) and time.monotonic() - self._written >= _EVERY_S:
            self._written = time.monotonic()
            with contextlib.suppress(OSError):  # nothing depends on it
                draft = self._file.with_name(hidden_name(self._file.name))
                draft.write_text(str(event.finished), encoding="ascii")
                os.replace(draft, self._file)


def play_shard(order: Order) -> Played:
    """Carry out an order; its errors are returned, so that the engine does not repeat what fails every time."""
    node = escape_control(socket.gethostname())
    shared = _is_shared(order)
    try:
        if order.version != __version__:
            raise PrerequisiteError(f"talm-sim {__version__} is installed there, and here {order.version}; install the same version.")
        if not order.name:
            return Played(node, shared)
        if os.path.isdir(order.folder):
            os.chdir(order.folder)  # where relative paths and the user's modules are meant to be
        config = _within_time(RunConfig.model_validate_json(order.config), order.until)
        if shared:
            return Played(node, shared, spent=_play(Path(order.place), order, config, counted=True))
        if Traffic.RECORD in (config.tools, config.models):
            raise PrerequisiteError("--record: this node does not see the run directory, so the recordings would be lost; use shared storage.")
        with TemporaryDirectory(prefix="talm-sim-") as place:
            spent = _play(Path(place), order, config, counted=False)
            files = [file for file in (Path(place) / order.name).iterdir() if not file.name.endswith(_SUFFIXES)]
            return Played(node, shared, {file.name: file.read_bytes() for file in files}, spent=spent)
    except PrerequisiteError as err:
        return Played(node, shared, error=str(err).partition(f" {KEPT}")[0])
    except Exception as err:
        logging.getLogger(__name__).exception("shard %s", order.name)
        return Played(node, shared, error=f"a bug: {escape_control(error_line(err, _LONGEST))}")


def _is_shared(order: Order) -> bool:
    """Return whether this machine sees the directory of the command."""
    try:
        return (Path(order.place) / MARKER).read_text(encoding="ascii") == order.token
    except (OSError, ValueError):
        return False


def _within_time(config: RunConfig, until: float | None) -> RunConfig:
    """Return the configuration with the time in its budget that the command has left."""
    if until is None:
        return config
    minutes = max((until - time.time()) / 60, 1e-9)  # a budget is above 0: this one is over before an episode starts
    return config.model_copy(update={"budget": ",".join(filter(None, (config.budget, write_budget({"minutes": minutes}))))})


def _play(place: Path, order: Order, config: RunConfig, *, counted: bool) -> BudgetSpent | None:
    """Play a shard in a directory, or what is left of it."""
    spent: list[BudgetSpent] = []
    progress: Callable[[RunEvent], None] = _ShardProgress(place, order.name) if counted else lambda event: None

    def hear(event: RunEvent) -> None:
        progress(event)
        if isinstance(event, BudgetSpent):
            spent.append(event)

    path = place / order.name
    if path.exists():
        _wait_for_owner(path)
        resume(path, failed=(), on_event=hear, **_operational(config))
    else:
        run(config, on_event=hear, command=order.command, large=True, run_dir=place, run_id=order.name)
    return spent[0] if spent else None


def _wait_for_owner(path: Path) -> None:
    """Wait until the node that began a shard counts as dead; of a dead one, nothing but its silence is known here."""
    stored, until = StoredRun(path), time.monotonic() + STALE_SECONDS + 5
    while stored.owner is not None and time.monotonic() < until:
        time.sleep(_LOOK_S)


def _operational(config: RunConfig) -> dict[str, Any]:
    """Return the options that a run which continues must be given again."""
    names = [name for name in config.model_fields_set if name != "options" and scope_of(RunConfig, name) is Scope.OPERATIONAL]
    own = {name: config.options[name] for name in _OWN if config.options.get(name)}
    return {name: getattr(config, name) for name in names} | own
