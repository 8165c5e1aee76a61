"""`talm-sim show RUN:EPISODE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from talm_sim.cli.arguments import completed, json_option, plugin_option, print_json, print_list, run_dir_option
from talm_sim.cli.console import print_page
from talm_sim.cli.transcript import transcript
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.load import StoredRun, load_run

__all__ = ["command"]


@click.command()
@click.argument("episode", metavar="RUN[:EPISODE]", shell_complete=completed("episode"))
@run_dir_option
@plugin_option
@json_option
def command(episode: str, run_dir: Path, as_json: bool) -> None:
    """Print one episode as a transcript.

    The query, what was missing, the awareness answers, every turn with its tool calls and questions, whether a perturbation fired, the
    final answer and the verdicts. With RUN alone, the run's episodes are listed.
    """
    stored, episode_id = _find(episode, run_dir)
    if not episode_id:
        _print_episodes(stored, as_json)
        return
    found = stored.episode(episode_id)
    verdicts = [verdict for verdict in stored.verdicts() if verdict.episode_id == found.id]
    if as_json:
        print_json({"episode": found.model_dump(mode="json"), "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts]})
        return
    scenario = next((item for item in stored.scenarios() if item.id == found.scenario_id), None)
    print_page(transcript(found, scenario, verdicts, list(stored.job.task.sections(found, scenario)) if scenario else []))


def _find(text: str, run_dir: Path) -> tuple[StoredRun, str]:
    """Split RUN:EPISODE at the first colon that ends a run's name; a path may hold others."""
    parts = text.split(":")
    for end in range(1, len(parts) + 1):
        try:
            return load_run(":".join(parts[:end]), run_dir), ":".join(parts[end:])
        except PrerequisiteError:
            continue
    return load_run(parts[0], run_dir), ""


def _print_episodes(stored: StoredRun, as_json: bool) -> None:
    words = {True: "pass", False: "fail", None: "-"}
    verdicts: dict[str, list[str]] = {}
    for verdict in stored.verdicts():
        verdicts.setdefault(verdict.episode_id, []).append(f"{verdict.judge} {words[verdict.value]}")
    listed = stored.job.task.listed
    counted = {row.episode: {**row.values, **row.labels} for row in stored.rows()}
    rows = []
    for item in stored.episodes():
        row: dict[str, Any] = {
            "episode": item.id,
            "termination": item.termination.value,
            "tools": len(item.tool_events),
            "questions": len(item.human_events),
            "verdicts": ", ".join(verdicts.get(item.id, [])),
        }
        own = counted.get(item.id, {})
        rows.append(row | {head.lower(): own.get(name, "") for name, head in listed.items() if name not in row})
    if as_json:
        print_json(rows)
        return
    short = {
        label: head for one in stored.summary() for matrix in one.matrices for label, head in zip(matrix.columns, matrix.heads, strict=False)
    }
    shown = {name if name in {"tools", "questions"} else head.lower(): head for name, head in listed.items()}
    columns = {"episode": "Episode", "termination": "Ended", **shown, "verdicts": "Verdicts"}
    rows = [row | {key: "" if row[key] is None else short.get(row[key], row[key]) for key in shown} for row in rows]
    print_list(rows, columns, empty="no episode is finished yet")
