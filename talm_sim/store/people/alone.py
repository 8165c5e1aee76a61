"""Let people judge scenarios that no model plays: they get a run in which nothing was played, so that all that works on runs works there."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.store.files.manifest import dataset_digest, describe_run
from talm_sim.store.files.records import write_episode
from talm_sim.store.files.store import create_run
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import find_task, job_of
from talm_sim.tasks.registry import task_of_file
from talm_sim.types import Episode, Termination

ALONE = "scenarios alone: people judge them, and no model was run"
"""The note of such a run."""
MODEL = "people/alone"
"""What stands in place of its model."""


def find_alone(file: Path | None, run_dir: Path = Path("runs"), *, task: str = "", command: str = "") -> StoredRun:
    """Return the run of a file's scenarios; it is made when people begin, and found again by what the file contains."""
    if file is not None and not task and not file.is_file():
        raise PrerequisiteError(
            f"--scenarios {file}: there is no such file; give a JSONL file of scenarios, or name the --task that reads this."
        )
    found = find_task(task or (task_of_file(file)[1] if file is not None else ""))
    config = RunConfig(task=found.name, split="all", model=MODEL, scenarios=file, run_dir=run_dir)
    job = job_of(config)
    if all(question.needs_episode for question in found.person_questions(job)):
        what = f"--scenarios {file}: of task {found.name}" if file else f"--task {found.name}: of this task"
        raise PrerequisiteError(f"{what}, people judge episodes: run it, then: talm-sim judge RUN --judge person --name NAME")
    scenarios = found.load(job)
    said = found.name if file is None else file.name.partition(":")[2] or file.stem
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", said).strip("-.") or "scenarios"
    name = f"people-{stem[:60]}-{dataset_digest(scenarios)[:8]}"
    if (run_dir / name).exists():
        return StoredRun(run_dir / name)

    def fill(conn: sqlite3.Connection) -> None:
        for position, scenario in enumerate(scenarios):
            nothing = Episode(
                id=scenario.id,
                scenario_id=scenario.id,
                group=scenario.group,
                model=MODEL,
                human="none",
                termination=Termination.CANCELLED,
                error="no model was run",
            )
            write_episode(conn, nothing, position)

    manifest = describe_run(config, scenarios, command=command, notes={"imported": ALONE})
    return StoredRun(create_run(run_dir, name, manifest, scenarios, fill=fill))
