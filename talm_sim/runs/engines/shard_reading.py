"""Read the shards of a run, and check that they are all of one run, whole, and each there once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.common.shard import Shard, read_shard
from talm_sim.config import RunConfig, Scope, spell
from talm_sim.errors import PrerequisiteError, format_names, line_to_copy
from talm_sim.store.files import stored_documents
from talm_sim.store.files.database import DATABASE, connect_reader, explain_errors
from talm_sim.store.files.lease import owner_of
from talm_sim.store.files.manifest import stamp_in
from talm_sim.store.files.parts import SHARD, MergedShard, ShardFacts
from talm_sim.store.files.sealing import check_fits, rows
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Measure, ToolSpec

_ELSEWHERE = frozenset({"shard", "scenarios", "prompts"})
"""Options that may differ: the number of the part, and the places of files whose content is compared."""
_ALIKE = "only shards of one run can be merged."


@dataclass(frozen=True)
class StoredShard:
    """A shard that can be merged."""

    run: StoredRun
    part: Shard
    facts: ShardFacts
    options: Mapping[str, Any]
    """Those that must be the same in all shards of a run."""
    judged: Mapping[str, Any]
    """The small facts that the judges left; empty if it was not judged."""
    first_measure: Measure | None
    tools: Mapping[str, ToolSpec]
    scenarios: Mapping[int, str]
    """The ids of its scenarios, by their places in the whole."""
    threads: frozenset[str]
    """Under what names its checkpoints keep the episodes that wait."""
    entry: MergedShard

    @property
    def path(self) -> Path:
        """The run's directory."""
        return self.run.path


def read_shards(runs: Sequence[StoredRun]) -> list[StoredShard]:
    """Read all shards of a run, and return them in the order of their numbers."""
    found = sorted((_read(run) for run in runs), key=lambda one: one.part)
    for before, after in pairwise(found):
        _check_alike(found[0], after)
        if before.part == after.part:
            raise PrerequisiteError(f"shard {after.part} is given twice: {before.path} and {after.path}; leave one out.")
    _check_whole(found)
    return found


@contextmanager
def open_shard(shard: StoredShard) -> Iterator[sqlite3.Connection]:
    """Open the database of a shard as it was when it was read."""
    with _reading(shard.path) as conn:
        if _digest_seal(conn) != shard.entry.seal:
            raise PrerequisiteError(f"{shard.path}: has changed since the merge began; merge again.")
        yield conn


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Read the database of a run, all of it as it is at one moment."""
    try:
        with closing(connect_reader(path)) as conn, explain_errors(path):
            conn.execute("BEGIN")
            yield conn
    except PrerequisiteError as err:
        text = str(err)
        raise PrerequisiteError(text if str(path) in text else f"{path}: {text}") from None


def _digest_seal(conn: sqlite3.Connection) -> str:
    return digest(stored_documents.meta(conn, "seal", dict[str, Any]), 32)


def _read(run: StoredRun) -> StoredShard:
    path, config = run.path, run.manifest.config
    if config.shard is None:
        raise PrerequisiteError(f"{path}: is not a shard; shards are run with --shard I/N.")
    job = run.job
    options = job.values(Scope.GENERATION, Scope.SCORING) | {name: str(getattr(config, name)) for name in ("tools", "models")}
    with _reading(path) as conn:
        again = line_to_copy("talm-sim", "resume", str(path))
        if (owner := owner_of(conn)) is not None and owner.alive:
            raise PrerequisiteError(f"{path}: is being run by process {owner.pid} on {owner.host}; wait for it, then merge again.")
        if not check_fits(conn, stamp_in(path), owned=False):
            raise PrerequisiteError(f"{path}: was not closed properly; continue with: {again}")
        if (facts := stored_documents.meta(conn, SHARD, ShardFacts)) is None or facts.part != config.shard:
            raise PrerequisiteError(f"{path}: its {DATABASE} does not say that it is shard {config.shard}; restore both files from a copy.")
        waiting = {row[0]: row[3] for row in rows(conn, "waiting")}
        finished = [name for (name,) in conn.execute("SELECT id FROM episodes")]
        scenarios = dict(conn.execute("SELECT position, id FROM scenarios"))
        if lacking := len(scenarios) * config.epochs - len({*finished, *waiting}):
            what = f"{lacking:,} of {len(scenarios) * config.epochs:,} episodes neither finished nor wait for a person"
            raise PrerequisiteError(f"{path}: {what}; continue with: {again}")
        entry = MergedShard(
            name=run.id,
            part=config.shard,
            status="waiting" if waiting else "finished",
            created=run.manifest.created,
            rows=len(finished),
            ids=digest(sorted({*finished, *waiting})),
            size=(path / DATABASE).stat().st_size,
            seal=_digest_seal(conn),
        )
        return StoredShard(
            run=run,
            part=read_shard(config.shard),
            facts=facts,
            options={name: value for name, value in options.items() if name not in _ELSEWHERE},
            judged=_judged(conn),
            first_measure=stored_documents.meta(conn, "first_measure", Measure),
            tools={tool.name: tool for tool in stored_documents.meta(conn, "tools", list[ToolSpec]) or ()},
            scenarios=scenarios,
            threads=frozenset(f"{name}#{attempt}" for name, attempt in waiting.items()),
            entry=entry,
        )


def _judged(conn: sqlite3.Connection) -> dict[str, Any]:
    found = {key: stored_documents.meta(conn, key, Any) for key in ("judges", "measures", "scoring")}
    return {} if found["judges"] is None else found


def _check_alike(first: StoredShard, other: StoredShard) -> None:
    """Refuse a shard of another run."""
    here, there = f"{other.path}:", f"in {first.path}"
    if first.part.of != other.part.of:
        raise PrerequisiteError(f"{here} is shard {other.part}, and {first.path} is {first.part}; {_ALIKE}")
    theirs, ours = first.run.manifest, other.run.manifest
    for name in sorted({*theirs.versions, *ours.versions}):
        if theirs.versions.get(name) != ours.versions.get(name):
            made = f"was made with {name} {ours.versions.get(name, 'of no version')}, and {first.path} with {theirs.versions.get(name, 'none')}"
            raise PrerequisiteError(f"{here} {made}; run one of them again, so that all have the same versions.")
    for name in dict.fromkeys((*first.options, *other.options)):
        before, after = (_words(one.options.get(name)) for one in (first, other))
        if before != after:
            flag = spell(name, RunConfig, type(first.run.job.options))
            scoring = name in first.run.job.values(Scope.SCORING)
            fix = f"judge both alike: {line_to_copy('talm-sim', 'judge', str(other.path))} {flag} ..." if scoring else _ALIKE
            raise PrerequisiteError(f"{here} {flag} is {after}, and {there} {before}; {fix}")
    if (first.facts.dataset, first.facts.scenarios) != (other.facts.dataset, other.facts.scenarios):
        raise PrerequisiteError(f"{here} was cut from other scenarios than {first.path}; {_ALIKE}")
    for what, before_by_name, after_by_name in (
        ("the text of", theirs.wording, ours.wording),
        ("the digest of the", theirs.weights, ours.weights),
        ("the origin of", theirs.brought, ours.brought),
        ("the description of tool", first.tools, other.tools),
    ):
        for name in sorted({*before_by_name, *after_by_name}):
            if before_by_name.get(name) != after_by_name.get(name):
                raise PrerequisiteError(f"{here} {what} {name} is another one than {there}; {_ALIKE}")


def _check_whole(shards: Sequence[StoredShard]) -> None:
    """Refuse a run whose scenarios are not all there, each once."""
    facts, parts = shards[0].facts, shards[0].part.of
    seen: dict[int | str, StoredShard] = {}
    for shard in shards:
        for place, name in shard.scenarios.items():
            for before in (seen.setdefault(place, shard), seen.setdefault(name, shard)):
                if before is not shard:
                    raise PrerequisiteError(f"scenario '{name}' is in {before.path} and in {shard.path}; {_ALIKE}")
    if missing := facts.scenarios - sum(len(shard.scenarios) for shard in shards):
        there = {shard.part.part for shard in shards}
        lacking = [str(Shard(part, parts)) for part in range(1, parts + 1) if part not in there]
        which = f"shard{'s' * (len(lacking) > 1)} {format_names(lacking, 8)}"
        what = f"{missing:,} of {facts.scenarios:,} scenarios are missing"
        raise PrerequisiteError(f"{what}: give {which} as well." if lacking else f"{what} in the shards; run them again.")


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = [f"{key}={one}" for key, one in value.items()]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return "none" if value in (None, "") else f"'{str(value)[:60]}'"
