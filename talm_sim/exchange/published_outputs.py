"""Import published outputs as runs, so that they can be printed, read and judged like your own."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from talm_sim.common.processes import sweep
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.store.files import stored_documents
from talm_sim.store.files.database import connect_reader, explain_errors
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.records import write_episode, write_verdict
from talm_sim.store.files.sealing import insert_row
from talm_sim.store.files.store import create_run, write_first_measure
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.tidy_tables import first_measure
from talm_sim.tasks import find_task, job_of
from talm_sim.tasks.talm.published import PublishedRun, coinciding_grades, read_outputs


def import_fail_talms(directory: Path, run_dir: Path = Path("runs"), *, command: str = "") -> list[StoredRun]:
    """Import the published outputs of Fail-TaLMs: one run for each model, human setting and grading.

    Returns:
        The runs, named `fail-talms-<model>`. A run that already exists, complete and with the same outputs, is left as it is, so a killed
        call can be repeated.
    """
    if not (published := read_outputs(directory)):
        raise PrerequisiteError(f"{directory}: no outputs of Fail-TaLMs (outputs/<Setting>/<model>/answers.json) below it.")
    names = {run.name: "fail-talms-" + re.sub(r"[^A-Za-z0-9._-]+", "-", run.name) for run in published}
    agreement = _agreement_notes(published)
    notes = {run.name: _origin(run) | agreement.get(run.name, {}) for run in published}
    places = {run.name: run_dir / names[run.name] for run in published}
    there = {run.name for run in published if places[run.name].exists()}
    for run in published:
        if run.name in there and not _is_import_of(StoredRun(places[run.name]), run, notes[run.name]):
            path = places[run.name]
            delete = line_to_copy("talm-sim", "runs", "delete", str(path))
            raise PrerequisiteError(
                f"{path}: is not a run of what {directory} contains now; choose another --run-dir, or delete it with: {delete}"
            )
    sweep(run_dir)
    for run in published:
        if run.name not in there:
            _write(run, run_dir, names[run.name], notes[run.name], command)
        _keep_first_measure(places[run.name])
    return [StoredRun(path) for path in places.values()]


def _is_import_of(stored: StoredRun, run: PublishedRun, notes: dict[str, str]) -> bool:
    """Return whether a run contains what would be imported, apart from later verdicts."""
    with closing(connect_reader(stored.path)) as conn, explain_errors(stored.path):
        imported = stored_documents.imported_judges(conn)
        said = {(verdict.episode_id, verdict.judge): verdict for verdict in stored_documents.verdicts(conn, imported)}
        return (
            stored.manifest.notes == notes
            and list(stored_documents.scenarios(conn)) == run.scenarios
            and {episode.id: episode for episode in stored_documents.episodes(conn)} == {episode.id: episode for episode in run.episodes}
            and said == {(verdict.episode_id, verdict.judge): verdict for verdict in run.verdicts}
        )


def _origin(run: PublishedRun) -> dict[str, str]:
    notes = {"imported": "Fail-TaLMs, published outputs", "graded by": "a person" if run.grading == "human" else "GPT-4o"}
    asked = sum(len(episode.human_events) for episode in run.episodes)
    marked = f"{asked - run.unreadable_marks} of {asked} questions; the marks of the rest are neither 0 nor 1"
    return notes | ({"marked as appropriate or not": marked} if run.unreadable_marks else {})


def _agreement_notes(published: list[PublishedRun]) -> dict[str, dict[str, str]]:
    """Return notes for the human-graded runs, by name: how many grades agree with the automatic ones, and what that does not show."""
    notes: dict[str, dict[str, str]] = {}
    for found in coinciding_grades(published):
        text = f"{found.same} of {found.both} grades coincide with the automatically graded file, which holds another generation of the model"
        for run in published:
            if run.model == found.model and run.grading == "human":
                notes.setdefault(run.name, {})[f"coinciding grades, {found.group}"] = text
    return notes


def _write(run: PublishedRun, run_dir: Path, name: str, notes: dict[str, str], command: str) -> None:
    task = find_task(run.scenarios[0].task)
    groups = {scenario.group for scenario in run.scenarios}
    split = next(split for split, members in task.splits.items() if groups <= set(members))
    human = "none" if run.human == "none" else "recorded"
    config = RunConfig(task=task.name, split=split, model=f"fail-talms/{run.model}", run_dir=run_dir, run_id=name)
    config = job_of(config).having(human=human).config
    positions = {scenario.id: position for position, scenario in enumerate(run.scenarios)}

    def fill(conn: sqlite3.Connection) -> None:
        for episode in run.episodes:
            write_episode(conn, episode, positions[episode.scenario_id])
        for verdict in run.verdicts:
            write_verdict(conn, verdict)
        judges = sorted({(verdict.judge, verdict.judge_config_digest) for verdict in run.verdicts})
        for key, value in {"total": len(run.episodes), "judges": judges, "imported_judges": judges}.items():
            insert_row(conn, "meta", key, json.dumps(value))

    manifest = describe_run(config, run.scenarios, command=command, notes=notes)
    create_run(run_dir, name, manifest, run.scenarios, run.tools, fill=fill)


def _keep_first_measure(path: Path) -> None:
    """Keep the measure that lists of runs show, unless it is there already."""
    stored = StoredRun(path)
    first = first_measure(stored.summary()) if stored.first_measure is None else None
    if first is not None:
        write_first_measure(path, first)
