"""Stored runs made by hand, of any task."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.config import RunConfig
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.records import write_episode, write_verdict
from talm_sim.store.files.sealing import insert_row
from talm_sim.store.files.store import create_run
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Episode, Scenario, Verdict


def store(
    directory: Path, name: str, scenarios: Sequence[Scenario], episodes: Sequence[Episode], verdicts: Sequence[Verdict] = (), **config: Any
) -> StoredRun:
    """Write a run that is finished as far as its episodes go."""

    def fill(conn: sqlite3.Connection) -> None:
        for position, item in enumerate(episodes):
            write_episode(conn, item, position)
        for verdict in verdicts:
            write_verdict(conn, verdict, failed=verdict.undecided)
        insert_row(conn, "meta", "judges", json.dumps(sorted({(one.judge, one.judge_config_digest) for one in verdicts})))

    made = RunConfig(**config)
    return StoredRun(create_run(directory, name, describe_run(made, scenarios), scenarios, fill=fill))
