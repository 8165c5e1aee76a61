"""`talm-sim import fail-talms`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from talm_sim.cli.parsing.arguments import command_line, run_dir_option
from talm_sim.cli.terminal.text import count
from talm_sim.errors import PrerequisiteError, line_to_copy

__all__ = ["command"]


@click.group()
def command() -> None:
    """Import published results as runs."""


@command.command("fail-talms")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@run_dir_option
@click.option("--scenarios-to", type=click.Path(path_type=Path), metavar="FILE", help="Write the release's queries as scenarios (JSONL).")
@click.option("--tools-to", type=click.Path(path_type=Path), metavar="FILE", help="Write the release's tool schemas as ToolSpecs (JSON).")
def fail_talms(directory: Path, run_dir: Path, scenarios_to: Path | None, tools_to: Path | None) -> None:
    """Import the published outputs of Fail-TaLMs as runs.

    DIR is the release's root or its `outputs`. One run is created for each model, human setting and grading. `report` prints the runs, and
    `judge` scores their answers again. With --scenarios-to or --tools-to, only those files are written.
    """
    from talm_sim.runs.importing import import_fail_talms
    from talm_sim.tasks.talm.published import read_queries, read_tools
    from talm_sim.tasks.talm.recovered import recovered_lines

    if scenarios_to is not None:
        queries = read_queries(directory)
        _write(scenarios_to, "".join(query.model_dump_json() + "\n" for query in queries))
        click.echo(f"{scenarios_to}: {count(len(queries), 'scenario')}", err=True)
        for line in recovered_lines(queries):
            click.echo(f"  {line}", err=True)
    if tools_to is not None:
        specs = read_tools(directory)
        _write(tools_to, json.dumps([spec.model_dump(mode="json") for spec in specs], indent=1, ensure_ascii=False) + "\n")
        click.echo(f"{tools_to}: {count(len(specs), 'tool')}", err=True)
    if scenarios_to is None and tools_to is None:
        runs = import_fail_talms(directory, run_dir, command=command_line())
        for run in runs:
            click.echo(run.path)
        click.echo(f"{count(len(runs), 'run')} imported. Print one: {line_to_copy('talm-sim', 'report', str(runs[0].path))}", err=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be written ({err.strerror}).") from None
