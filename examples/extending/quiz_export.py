"""Writes a run of task `capitals` as a sheet of questions and answers."""

import json

from talm_sim import RunView
from talm_sim.extend import Exported


def export_quiz(run: RunView) -> Exported:
    """Write a run as questions with answers, one file per group."""
    queries = {scenario.id: scenario.query for scenario in run.scenarios()}
    files: dict[str, str] = {}
    for group in run.job.groups:
        lines = [{"question": queries[one.scenario_id], "answer": one.answer} for one in run.episodes(group)]
        files[f"sheets/{group}.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines)
    return Exported(files, notes=(f"{len(queries)} questions",))
