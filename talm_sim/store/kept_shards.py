"""Keep the shards that an engine plays for one run in a hidden directory beside the run, until they are merged."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from talm_sim.common.plain_files import UnfitFileError, read_text
from talm_sim.common.processes import hidden_name, sweep
from talm_sim.common.shard import part_of
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, RunExistsError, line_to_copy
from talm_sim.store.files.manifest import check_name, new_run_ids
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import Job
from talm_sim.types import Scenario

MARKER: Final = "here"
"""Name of the file whose content says that a node sees the directory."""
_PLAN: Final = "plan.json"
_SHARDS: Final = ".shards"
COUNT: Final = ".count"
"""Ending of the file that says how many episodes of a shard are finished."""
_LARGEST: Final = 2**20


@dataclass(frozen=True)
class KeptShards:
    """The shards of one run.

    Attributes:
        token: What the file `MARKER` in it contains.
        of: How many shards the run is cut into.
        sizes: The number of episodes of each shard that has any, by its number; the largest first, because one that is begun last ends last.
    """

    run: Path
    place: Path
    token: str
    of: int
    sizes: Mapping[int, int]
    _done: dict[int, int] = field(default_factory=dict)

    def part(self, number: int) -> str:
        """Return the number of a shard as `--shard` takes it."""
        return f"{number}/{self.of}"

    def path(self, number: int) -> Path:
        """Return the directory of a shard."""
        return self.place / f"shard-{number}-of-{self.of}"

    def is_done(self, number: int) -> bool:
        """Return whether a shard is there, whole and judged."""
        with contextlib.suppress(PrerequisiteError):
            stored = StoredRun(self.path(number))
            if stored.finished == self.sizes[number] and stored.closed and stored.owner is None and stored.judged and not stored.unjudged:
                self._done[number] = stored.finished
        return number in self._done

    def count(self) -> int:
        """Return how many episodes are finished, as far as it is known here."""
        return sum(self._done[number] if number in self._done else self._count(number) for number in self.sizes)

    def _count(self, number: int) -> int:
        path = self.path(number)
        with contextlib.suppress(OSError, ValueError):
            return int(read_text(path.with_name(f"{path.name}{COUNT}"), _LARGEST, "ascii"))
        return 0

    def put(self, number: int, files: Mapping[str, bytes]) -> None:
        """Write a shard that was fetched from its node, whole or not at all."""
        path = self.path(number)
        draft = self.place / hidden_name(path.name)
        try:
            draft.mkdir()
            for name, content in files.items():
                (draft / Path(name).name).write_bytes(content)
            shutil.rmtree(path, ignore_errors=True)
            os.rename(draft, path)
        except OSError as err:
            shutil.rmtree(draft, ignore_errors=True)
            raise PrerequisiteError(
                f"{path}: cannot be written ({err.strerror or err}); free disk space, then run the command again."
            ) from None

    def remove_unless_begun(self) -> None:
        """Remove the directory if it contains no shard."""
        if not any(self.path(number).exists() for number in self.sizes):
            self.remove()

    def remove(self) -> None:
        """Remove the directory, at once as others see it."""
        grave = self.place.with_name(hidden_name(self.run.name))
        with contextlib.suppress(OSError):  # what is left is removed by a later command
            os.rename(self.place, grave)
            shutil.rmtree(grave)


class ShardPlan(BaseModel):
    """The plan of a run in shards, as the file `plan.json` beside the shards has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    """The version of talm-sim."""
    shards: int = Field(ge=1)
    scenarios: str
    """Digest of what is run, all of it."""
    config: dict[str, Any]
    """The configuration as it was given, without what belongs to the command."""
    command: str

    def given(self, run: Path) -> RunConfig:
        """Return the configuration of the run with this directory."""
        try:
            return RunConfig.model_validate_json(json.dumps({**self.config, "run_dir": str(run.parent), "run_id": run.name}))
        except ValueError:
            raise _damaged(run) from None


def find_kept(run: Path | str, run_dir: Path) -> Path | None:
    """Return the directory that a run will have of which there are shards only; None if there are none, or the run exists."""
    path = Path(run)
    path = run_dir / path if len(path.parts) < 2 else path
    return path if path.name and (_place_of(path) / _PLAN).is_file() and not path.exists() else None


def kept_runs(run_dir: Path) -> list[Path]:
    """Return the directories that runs will have of which there are shards only."""
    names = (path.parent.name[1:].removesuffix(_SHARDS) for path in run_dir.glob(f".*{_SHARDS}/{_PLAN}"))
    return [path for name in sorted(names) if (path := find_kept(name, run_dir)) is not None]


def read_plan(run: Path) -> ShardPlan | None:
    """Read what was begun of a run; None if nothing was."""
    try:
        return ShardPlan.model_validate_json(read_text(_place_of(run) / _PLAN, _LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, UnfitFileError, ValueError):
        raise _damaged(run) from None


def keep_shards(plan: ShardPlan, job: Job[Any], scenarios: Sequence[Scenario], *, again: bool) -> KeptShards:
    """Make the directory of a run's shards, or find the one of a command that was interrupted.

    Raises:
        RunExistsError: A run of this name exists, or was begun.
    """
    run = _free_place(job, again=again)
    place, before = _place_of(run), read_plan(run)
    for what, same in () if before is None else (("version of talm-sim", "version"), ("set of scenarios", "scenarios")):
        if getattr(before, same) != getattr(plan, same):
            raise PrerequisiteError(f"{run}: was begun with another {what}; choose another --run-id, or delete {place}.")
    token = secrets.token_hex(16)
    try:
        sweep(run.parent)
        place.mkdir(parents=True, exist_ok=True)
        if before is None:
            _write(place / _PLAN, plan.model_dump_json(indent=2))
        _write(place / MARKER, token)
    except OSError as err:
        raise PrerequisiteError(f"{run.parent}: cannot be written ({err.strerror or err}); choose another --run-dir.") from None
    of, epochs = (before or plan).shards, job.config.epochs
    sizes: dict[int, int] = {}
    for scenario in scenarios:
        number = part_of(scenario.base, of)
        sizes[number] = sizes.get(number, 0) + epochs
    return KeptShards(run, place, token, of, dict(sorted(sizes.items(), key=lambda one: (-one[1], one[0]))))


def _free_place(job: Job[Any], *, again: bool) -> Path:
    """Return the directory of a run that does not exist."""
    config = job.config
    if config.run_id is None:
        places = (config.run_dir / name for name in new_run_ids(config))
        return next(one for one in places if not one.exists() and not _place_of(one).exists())
    check_name(config.run_id, "--run-id")
    run = config.run_dir / config.run_id
    if run.exists() or (not again and (_place_of(run) / _PLAN).exists()):
        command = line_to_copy("talm-sim", "resume", str(run))
        raise RunExistsError(f"{run}: a run of this name exists; choose another --run-id, or continue it with: {command}")
    return run


def _place_of(run: Path) -> Path:
    return run.with_name(f".{run.name}{_SHARDS}")


def _damaged(run: Path) -> PrerequisiteError:
    place = _place_of(run)
    return PrerequisiteError(f"{place / _PLAN}: is damaged; choose another --run-id, or delete {place}.")


def _write(path: Path, text: str) -> None:
    draft = path.with_name(hidden_name(path.name))
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
