"""Arguments and output shared by several commands."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table
from rich.text import Text

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.terminal.console import print_page, with_command
from talm_sim.cli.terminal.text import as_json, safe_text, spreadsheet_cell
from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.errors import PrerequisiteError, line_to_copy, quote

INTERRUPTED = 130
"""Exit code after Ctrl-C."""
OUT_OF_BUDGET = 4
"""Exit code where a budget left something undone."""

run_argument = click.argument("run", metavar="RUN", shell_complete=completer_for("run"))
"""A run's name, the beginning of it, `latest`, or its directory."""
one_run_argument = click.argument("run", metavar="[RUN]", required=False, shell_complete=completer_for("run"))
"""The same, but optional: by default the only run that the command applies to."""
run_dir_option = click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("runs"),
    envvar="TALM_SIM_RUN_DIR",
    show_envvar=True,
    show_default=True,
    help="Directory of the runs.",
)


def _load(context: click.Context, _: click.Parameter, modules: tuple[str, ...]) -> None:
    from talm_sim.foreign.plugins import load_plugins

    if context.get_parameter_source("plugin") is ParameterSource.ENVIRONMENT:
        # Click splits at white space; a run's options are split at commas.
        load_plugins(",".join(modules).split(","), "TALM_SIM_PLUGIN")
    else:
        load_plugins(modules)


plugin_option: Callable[..., Any] = click.option(
    "--plugin",
    multiple=True,
    metavar="MODULE",
    expose_value=False,
    is_eager=True,
    envvar="TALM_SIM_PLUGIN",
    callback=_load,
    help="Python module to import first; repeatable.",
)
"""Modules that register tasks, judges, perturbations, responders or models."""


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
scenarios_option = click.option(
    "--scenarios", "file", type=click.Path(path_type=Path), metavar="FILE", help="JSONL file of scenarios to use instead of the bundled ones."
)


def task_option(default: str, about: str = "Task of the scenarios.") -> Callable[..., Any]:
    """Return the option that names a task."""
    return click.option("--task", metavar="NAME", shell_complete=completer_for("task"), default=default, show_default=True, help=about)


def split_option(about: str) -> Callable[..., Any]:
    """Return the option that names groups of scenarios, all of them by default."""
    complete = completer_for("split", several=True)
    return click.option("--split", metavar="SPLIT", shell_complete=complete, default="all", show_default=True, help=about)


sources_option = click.option(
    "--tools-from",
    multiple=True,
    metavar="SOURCE",
    shell_complete=completer_for("tools_from"),
    help="Your tools instead of the built-in ones, [NAME=]KIND:PLACE; repeatable.",
)
trust_option = click.option("--trust", is_flag=True, help="Run a tool folder's code, in a sandbox.")


def short_name(path: Path) -> str:
    """Return how to name a run on a command line: a unique prefix if it is in the default directory, else its path."""
    from talm_sim.store.files.manifest import run_names, unique_prefix

    # What is left of a name without a time would not be recognized.
    dated = re.match(r"\d{8}-\d{6}", path.name)
    looked_in = path.parent == Path(os.environ.get("TALM_SIM_RUN_DIR", "runs"))
    name = (unique_prefix(path.name, run_names(path.parent)) if dated else path.name) if looked_in else str(path)
    if name.startswith("-"):  # which would be read as an option
        return f"./{path}"
    return name


def warn_unclosed(path: Path, *, imported: bool = False) -> None:
    """Say that the process that wrote a run last was killed: the run can be read, and continuing it repairs it."""
    verb = "judge" if imported else "resume"
    name = short_name(path)
    click.echo(with_command(f"{safe_text(name)}: was not closed properly: {verb} it with", line_to_copy("talm-sim", verb, name)), err=True)


def print_json(value: Any) -> None:
    """Print a value as indented JSON on standard output."""
    click.echo(as_json(value, indent=2))


def print_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as comma-separated values; the columns are those of the first one and what others add."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(spreadsheet_cell, columns))
    writer.writerows([spreadsheet_cell(record.get(column, "")) for column in columns] for record in records)
    click.echo(text.getvalue(), nl=False)


def print_list(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, empty: str, broadest: int = 0) -> None:
    """Print rows as a plain table, by each column's key and head, or only a line on standard error if there are none."""
    if not rows:
        click.echo(empty, err=True)
        return
    print_page(list_table(rows, columns, broadest=broadest))


def list_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, broadest: int = 0) -> Table:
    """Return rows as a plain table; see `print_list`."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, head in enumerate(columns.values(), start=1):
        last = number == len(columns)
        table.add_column(Text(safe_text(head)), overflow="fold", no_wrap=number == 1 and not broadest, ratio=1 if last else None)
    if broadest:
        key, head = next(iter(columns.items()))
        table.columns[0].width = min(broadest, max(len(safe_text(text)) for text in (head, *(str(row[key]) for row in rows))))
    for row in rows:
        table.add_row(*(Text(safe_text(str(row[key]))) for key in columns))
    return table


def command_line() -> str:
    """Return the command as it was typed, to be stored with its results."""
    hider = Hider.from_environment(credentials_in_environment())
    return " ".join(quote(hider.text(word)) for word in ("talm-sim", *sys.argv[1:]))


def confirm(question: str, yes: bool, instead: str = "--yes") -> None:
    """Ask for confirmation at a terminal; elsewhere, an option is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise PrerequisiteError(f"{question} There is no terminal to ask at; add {instead}.")
    if not click.confirm(safe_text(question), err=True):
        raise click.Abort
