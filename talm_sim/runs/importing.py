"""Published outputs as runs, so that they can be printed, read and judged like one's own."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.database import connect_writer
from talm_sim.runs.load import StoredRun
from talm_sim.runs.manifest import create_run, stamp
from talm_sim.runs.rows import put
from talm_sim.runs.sealing import seal
from talm_sim.runs.store import write_episode, write_verdict
from talm_sim.runs.tables import first_measure
from talm_sim.scenarios.fail_talms import PublishedRun, coinciding_grades, read_outputs
from talm_sim.shell_lines import line_to_copy
from talm_sim.tasks import find_task, job_of

__all__ = ["import_fail_talms"]


def import_fail_talms(directory: Path, run_dir: Path = Path("runs"), *, command: str = "") -> list[StoredRun]:
    """Import the published outputs of Fail-TaLMs: one run for each model, human setting and grading.

    Args:
        directory: The release's root, or its `outputs`.
        run_dir: Directory that holds runs.
        command: Stored with the runs as what made them.

    Returns:
        The runs, named `fail-talms-<model>`.

    Raises:
        PrerequisiteError: The directory holds no outputs, a file is broken, or a run was imported before.
    """
    published = read_outputs(directory)
    if not published:
        raise PrerequisiteError(f"{directory}: no outputs of Fail-TaLMs (outputs/<Setting>/<model>/answers.json) below it.")
    names = {run.name: "fail-talms-" + re.sub(r"[^A-Za-z0-9._-]+", "-", run.name) for run in published}
    taken = [run_dir / name for name in names.values() if (run_dir / name).exists()]
    if taken:
        delete = line_to_copy("talm-sim", "runs", "delete", str(taken[0]))
        raise PrerequisiteError(f"{taken[0]}: was imported before; choose another --run-dir, or delete it with: {delete}")
    notes = _agreement_notes(published)
    return [StoredRun(_write(run, run_dir, names[run.name], notes.get(run.name, {}), command)) for run in published]


def _agreement_notes(published: list[PublishedRun]) -> dict[str, dict[str, str]]:
    """Notes for the human-graded runs, by name: how many grades coincide with the automatic ones, and what that is not."""
    notes: dict[str, dict[str, str]] = {}
    for found in coinciding_grades(published):
        text = f"{found.same} of {found.both} grades coincide with the automatically graded file, which holds another generation of the model"
        for run in published:
            if run.model == found.model and run.grading == "human":
                notes.setdefault(run.name, {})[f"coinciding grades, {found.group}"] = text
    return notes


def _write(run: PublishedRun, run_dir: Path, name: str, notes: dict[str, str], command: str) -> Path:
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
        facts = {"total": len(run.episodes), "judges": judges, "imported_judges": judges}
        for key, value in facts.items():
            put(conn, "meta", key, json.dumps(value))

    origin = {"imported": "Fail-TaLMs, published outputs", "graded by": "a person" if run.grading == "human" else "GPT-4o"}
    path = create_run(run_dir, name, config, run.scenarios, command=command, notes=origin | notes, fill=fill)
    first = first_measure(StoredRun(path).summary())
    if first is not None:
        with closing(connect_writer(path)) as conn:
            conn.execute("BEGIN IMMEDIATE")
            put(conn, "meta", "first_measure", first.model_dump_json())
            seal(conn, stamp(path))
            conn.execute("COMMIT")
    return path
