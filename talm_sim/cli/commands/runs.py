"""`talm-sim runs list`."""

from __future__ import annotations

from pathlib import Path

import click

from talm_sim.cli.arguments import json_option, plugin_option, print_json, print_list, run_dir_option
from talm_sim.runs.load import list_runs

__all__ = ["command"]


@click.group()
def command() -> None:
    """The stored runs: list."""


@command.command("list")
@run_dir_option
@plugin_option
@json_option
def list_(run_dir: Path, as_json: bool) -> None:
    """List the runs of a directory, oldest first."""
    infos = list_runs(run_dir)
    if as_json:
        print_json(
            [
                {
                    "id": info.id,
                    "path": str(info.path),
                    "created": info.created,
                    "model": info.model,
                    "split": info.split,
                    "human": info.human,
                    "finished": info.finished,
                    "failed": info.failed,
                    "total": info.total,
                    "waiting": info.waiting,
                    "pid": info.owner.pid if info.owner else None,
                    "problem": info.problem,
                }
                for info in infos
            ]
        )
        return
    rows = [{"id": info.id, "done": f"{info.finished}/{info.total}", "human": info.human, "state": info.state} for info in infos]
    columns = {"id": "Run", "done": "Done", "human": "Human", "state": "State"}
    print_list(rows, columns, empty=f"{run_dir} holds no run; start one with: talm-sim run --split underspecified")
