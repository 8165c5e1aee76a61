"""Merge the shards of a run into one ordinary run, which every command reads like any other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest_each
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.judges.stats import pool_rates
from talm_sim.recordings.merge_recordings import merge_recordings
from talm_sim.runs.engines.shard_reading import StoredShard, open_shard, read_shards
from talm_sim.store.files import stored_documents
from talm_sim.store.files.comments import add_comments
from talm_sim.store.files.manifest import DATASET_DIGITS, RunManifest, check_name
from talm_sim.store.files.parts import LEDGER
from talm_sim.store.files.sealing import copy_rows, insert_row
from talm_sim.store.files.store import create_run, write_first_measure
from talm_sim.store.housekeeping import controls_of
from talm_sim.store.people.sample import KEY as PEOPLE, Sample, kept_samples
from talm_sim.store.python_words import in_python
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.store.tidy_tables import first_measure
from talm_sim.types import Measure, Rate
from talm_sim.types.base import canonical_form

__all__ = ["Merged", "merge_runs", "merge_shards"]

_COPIED = ("attempts", "episodes", "verdicts", "waiting", "questions", "answers")
"""Tables whose rows are copied as they are, after the scenarios."""


@dataclass(frozen=True)
class Merged:
    """The result of a merge."""

    run: StoredRun
    controls: tuple[StoredRun, ...]
    """Those merged from the controls beside the shards."""
    left_out: tuple[str, ...]
    """Models of controls that only some shards have."""
    recordings: int
    """How many files of recordings were written."""


def merge_runs(
    out: Path | str, shards: Iterable[StoredRun | Path | str], cassettes: Path | str | None = None, *, run_dir: Path | str = "runs"
) -> StoredRun:
    """Merge the shards of a run, and the controls beside them, into one run.

    Args:
        out: Name of the run in `run_dir`, or its directory.
        shards: All shards, in any order: runs, their directories, or their names in `run_dir`.
        cassettes: Directory to merge the shards' recordings into.
        run_dir: Directory of the runs.

    Returns:
        The run, with the episodes, verdicts, open questions, answers and comments of all shards. Its `shards` lists them.

    Raises:
        PrerequisiteError: A shard is missing, is given twice, is unfinished, in use or damaged, or belongs to another run; `out` exists; or
            two recordings have different answers to one request.
    """
    with in_python():
        return merge_shards(Path(out), shards, None if cassettes is None else Path(cassettes), run_dir=Path(run_dir)).run


def merge_shards(
    out: Path, shards: Iterable[StoredRun | Path | str], cassettes: Path | None = None, *, run_dir: Path, command: str = "", **settings: Any
) -> Merged:
    """Merge as `merge_runs` does, and say what was merged besides; `command` and `settings` of the configuration are stored with the run."""
    place = run_dir / out if len(out.parts) < 2 else out
    check_name(place.name, "runs merge")
    _check_free(place)
    found = read_shards([load_run(one, run_dir) for one in shards])
    places = {name: [paths.get(name) for paths in map(_controls, found)] for one in found for name in _controls(one)}
    controls = {name: read_shards([StoredRun(path) for path in paths if path]) for name, paths in places.items() if all(paths)}
    for name in controls:
        _check_free(place.with_name(place.name + name))
    recordings = _merge_cassettes(found, cassettes)
    settings |= {} if cassettes is None else {"cassettes": cassettes}
    run = _write(place, found, settings, command)
    made = [_write(place.with_name(place.name + name), one, settings, command) for name, one in sorted(controls.items())]
    left_out = sorted(name.removeprefix(".").replace("-", "/", 1) for name in places.keys() - controls.keys())
    return Merged(run, tuple(made), tuple(left_out), recordings)


def _controls(shard: StoredShard) -> dict[str, Path]:
    """Return the controls beside a shard, by what follows its name."""
    return {path.name.removeprefix(shard.path.name): path for path in controls_of(shard.path)}


def _check_free(place: Path) -> None:
    if place.exists():
        delete = line_to_copy("talm-sim", "runs", "delete", str(place))
        raise PrerequisiteError(f"{place}: a run of this name exists; choose another name, or delete it with: {delete}")


def _merge_cassettes(shards: Sequence[StoredShard], target: Path | None) -> int:
    """Merge the recordings of the shards; return how many files were written."""
    places = dict.fromkeys(shard.run.manifest.config.cassettes for shard in shards)
    own = [one for one in places if one is not None]
    if target is None:
        if len(places) > 1:
            raise PrerequisiteError(f"the shards have recordings of their own, for example in {own[0]}: add --cassettes DIR to merge them.")
        return 0
    if not own:
        raise PrerequisiteError(f"--cassettes {target}: the shards have no recordings of their own; leave it out.")
    for one in own:
        if not one.is_dir():
            raise PrerequisiteError(f"--cassettes {target}: the shards' recordings in {one} are not there; merge where they are.")
    return merge_recordings(own, target)


def _write(place: Path, shards: Sequence[StoredShard], settings: Mapping[str, Any], command: str) -> StoredRun:
    """Write the merged run, whole or not at all."""
    # The words of a measure may be those of an earlier version.
    judged = [{**shard.judged, "measures": sorted(shard.judged.get("measures") or ())} for shard in shards]
    agreed = shards[0].judged if all(one == judged[0] for one in judged) else {}
    pooled = _pool_first_measures(shards) if agreed else None

    def fill(conn: sqlite3.Connection) -> None:
        _copy(shards, conn, "scenarios")
        _check_scenarios(conn, shards)
        _copy(shards, conn, *_COPIED)
        facts = {LEDGER: [shard.entry.model_dump() for shard in shards], **agreed, **_facts(shards)}
        if pooled is not None:
            facts["first_measure"] = pooled.model_dump(mode="json")
        for key, value in facts.items():
            insert_row(conn, "meta", key, json.dumps(value))

    def finish(draft: Path) -> None:
        _copy_checkpoints(shards, draft)
        add_comments(draft, [comment for shard in shards for comment in shard.run.comments()])
        if agreed and pooled is None:
            _keep_first_measure(draft)

    tools = list(shards[0].tools.values())
    manifest = _manifest(place, shards, settings, command)
    return StoredRun(create_run(place.parent, place.name, manifest, (), tools, fill=fill, finish=finish), manifest)


def _copy(shards: Sequence[StoredShard], conn: sqlite3.Connection, *tables: str) -> None:
    for shard in shards:
        with open_shard(shard) as source:
            for table in tables:
                copy_rows(source, conn, table)


def _check_scenarios(conn: sqlite3.Connection, shards: Sequence[StoredShard]) -> None:
    """See that the scenarios together are those that were cut."""
    if digest_each(map(canonical_form, stored_documents.scenarios(conn)), DATASET_DIGITS) != shards[0].facts.dataset:
        raise PrerequisiteError(f"{shards[0].path} and the other shards do not contain the scenarios that were cut; run them again.")


def _manifest(place: Path, shards: Sequence[StoredShard], settings: Mapping[str, Any], command: str) -> RunManifest:
    first = shards[0].run
    blind = any(shard.run.manifest.config.blind for shard in shards)
    update = {"shard": None, "run_dir": place.parent, "blind": blind, **settings}
    notes: dict[str, str] = {}
    for shard in shards:
        for name, text in shard.run.manifest.notes.items():
            notes[name] = text if notes.get(name, text) == text else f"{notes[name]}; {text}"
    return first.manifest.model_copy(
        update={
            "config": first.manifest.config.model_copy(update=update),
            "dataset_digest": shards[0].facts.dataset,
            "created": min(shard.run.manifest.created for shard in shards),
            "command": command,
            "notes": notes,
        }
    )


def _facts(shards: Sequence[StoredShard]) -> dict[str, Any]:
    flags = dict.fromkeys((stored_documents.BLIND, stored_documents.MIXED), False)
    replaceable: dict[str, Any] = {}
    samples: dict[str, Sample] = {}
    for shard in shards:
        with open_shard(shard) as conn:
            flags = {key: value or bool(stored_documents.meta(conn, key, bool)) for key, value in flags.items()}
            replaceable = (stored_documents.meta(conn, stored_documents.REPLACEABLE, dict[str, Any]) or {}) | replaceable
            for question, sample in kept_samples(conn).items():
                samples[question] = _join_samples(samples.get(question), sample, shard)
    left_out = {model: fields for shard in shards for model, fields in shard.run.left_out().items()}
    found: dict[str, Any] = {stored_documents.LEFT_OUT: left_out} if left_out else {}
    ignored = [shard.run.ignored() for shard in shards]
    if any(asked for _, asked in ignored):
        found[stored_documents.IGNORED] = [sum(one) for one in zip(*ignored, strict=True)]
    found |= {key: True for key, value in flags.items() if value}
    if replaceable:
        found[stored_documents.REPLACEABLE] = replaceable
    if samples:
        found[PEOPLE] = {question: sample.model_dump(mode="json") for question, sample in samples.items()}
    return found


def _join_samples(known: Sample | None, sample: Sample, shard: StoredShard) -> Sample:
    """Add the episodes that people judge in a shard. They were drawn in it alone, so its strata stay apart."""

    def apart(of: Mapping[str, str]) -> dict[str, str]:
        return {episode: f"{name}, shard {shard.part}" for episode, name in of.items()}

    sizes = {f"{name}, shard {shard.part}": size for name, size in sample.sizes.items()}
    before = known or Sample(seed=sample.seed, sizes={}, episodes={})
    episodes, left = {**before.episodes, **apart(sample.episodes)}, {**before.left, **apart(sample.left)}
    return Sample(seed=before.seed, sizes={**before.sizes, **sizes}, episodes=episodes, left=left)


def _copy_checkpoints(shards: Sequence[StoredShard], draft: Path) -> None:
    """Copy what the episodes that wait need to go on."""
    if waiting := [shard for shard in shards if shard.threads]:
        from talm_sim.agent.checkpoints import copy_checkpoints  # not at the top: they import LangGraph
        from talm_sim.runs.runner import CHECKPOINTS

        copy_checkpoints([(shard.path / CHECKPOINTS, shard.threads) for shard in waiting], draft / CHECKPOINTS)


def _pool_first_measures(shards: Sequence[StoredShard]) -> Measure | None:
    """Return the measure that lists of runs show, if it is a share: counted anew, it would take longer than all else.

    A base is in one shard, so the shards are separate samples, as groups are.
    """
    found = [one for shard in shards if (one := shard.first_measure) is not None and one.kind == "rate"]
    if len(found) < len(shards) or len({(one.name, one.head) for one in found}) > 1:
        return None
    rate = pool_rates(one.rate() for one in found)
    same = len({one.model_copy(update=dict.fromkeys(Rate.model_fields)) for one in found}) == 1
    return found[0].model_copy(update=rate.model_dump()) if same else Measure.of(rate, found[0].name, found[0].head)


def _keep_first_measure(draft: Path) -> None:
    """Keep the measure that lists of runs show, counted over the whole run."""
    first = None
    with suppress(PrerequisiteError):  # the run that it is paired with may be elsewhere
        first = first_measure(StoredRun(draft).summary())
    if first is not None:
        write_first_measure(draft, first)
