"""`talm-sim import fail-talms|traces`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from talm_sim.cli.parsing.lazy import WholeGroup
from talm_sim.cli.parsing.shared_arguments import command_line, plugin_option, run_dir_option, scenarios_option, split_option, task_option
from talm_sim.cli.terminal.console import with_command
from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, format_names, line_to_copy

if TYPE_CHECKING:
    from talm_sim.exchange.traces.import_traces import ImportedTraces


@click.group(cls=WholeGroup)
def command() -> None:
    """Import published results, or traces of an agent, as runs."""


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
    from talm_sim.exchange.published_outputs import import_fail_talms
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
        click.echo(
            with_command(f"{count(len(runs), 'run')} imported. Print one", line_to_copy("talm-sim", "report", str(runs[0].path))), err=True
        )


@command.command("traces")
@click.argument("traces_file", type=click.Path(path_type=Path), metavar="FILE")
@scenarios_option
@task_option(str(RunConfig.model_fields["task"].default))
@split_option("Groups of scenarios that the traces may belong to.")
@click.option("--run-id", metavar="NAME", help="Name of the run. Default: traces- and the file's name.")
@run_dir_option
@plugin_option
def traces(traces_file: Path, file: Path | None, task: str, split: str, run_id: str | None, run_dir: Path) -> None:
    """Import traces of an agent that ran elsewhere as a run.

    FILE contains OTLP/JSON spans (OpenTelemetry's conventions for generative AI, OpenInference, OpenLLMetry, AI SDK, ADK), an export of
    Langfuse, or messages of a framework, a trace or a message per line. A trace belongs to the scenario that its attribute or metadata
    talm_sim.scenario.id names, or whose request is its first user message. Other traces are imported without a scenario. Judge the run with
    `judge`.
    """
    from talm_sim.exchange.traces.import_traces import import_traces

    done = import_traces(traces_file, run_dir, task=task, split=split, scenarios=file, run_id=run_id, command=command_line())
    click.echo(done.run.path)
    for line in _lines(done):
        click.echo(safe_text(line), err=True)


def _lines(done: ImportedTraces) -> Iterator[str]:
    """Yield what became of the traces: which scenario they belong to, and what is not read or not scored."""
    found, file = done.matching, done.file
    matched = f"{found.by_id:,} by id, {found.by_request:,} by request, {found.unmatched:,} without a scenario"
    judge = line_to_copy("talm-sim", "judge", str(done.run.path))
    yield f"{count(done.run.total, 'trace')} imported: {matched}. Judge: {judge}"
    if found.unknown:
        names = format_names([one[:60] for one in found.unknown], 3)
        yield f"  {count(found.unknown.total(), 'trace')} of unknown scenarios ({names}): give --scenarios FILE, --task or another --split"
    if found.shared:
        yield f"  {count(found.shared, 'trace')} whose request several scenarios share: choose a --split, or set talm_sim.scenario.id"
    if found.reworded:
        yield f"  {count(found.reworded, 'trace')} matched by id whose request is in other words than the scenario's"
    for end, number in done.not_scored.items():
        yield f"  {count(number, 'episode')} not scored: {end.value}"
    if done.unanswered:
        yield f"  {count(done.unanswered, 'tool call')} without a result in the file"
    if file.silent:
        yield f"  {count(len(file.silent), 'trace')} left out: no span contains a message (first: {file.silent[0]})"
    yield from (f"  left out: {one}" for one in file.too_large[:3])
    if (more := len(file.too_large) - 3) > 0:
        yield f"  left out: {count(more, 'more trace')} above a limit"
    if file.unread:
        kinds = format_names([f"{kind[:40]} {number:,}" for kind, number in file.unread.most_common()], 4)
        yield f"  {count(file.unread.total(), 'item')} of kinds that are not read ({kinds})"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be written ({err.strerror}).") from None
