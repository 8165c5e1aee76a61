"""Arguments and output shared by several commands."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from talm_sim.cli.text import clean

__all__ = ["command_line", "json_option", "print_json", "print_list", "run_argument", "run_dir_option"]

Command = TypeVar("Command", bound=Callable[..., Any])

run_argument = click.argument("run", metavar="RUN")
"""A run's name or directory."""
run_dir_option = click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("runs"),
    envvar="TALM_SIM_RUN_DIR",
    show_envvar=True,
    show_default=True,
    help="Directory that holds runs.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(value: Any) -> None:
    """Print a value as indented JSON on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_list(console: Console, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, empty: str) -> None:
    """Print rows as a plain table; nothing but a line of talk where there are none.

    Args:
        console: Standard output.
        rows: One mapping a line.
        columns: Key in the rows to head of the column; the last column takes the rest of the line.
        empty: What to say where there is no row.
    """
    if not rows:
        click.echo(empty, err=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, head in enumerate(columns.values(), start=1):
        table.add_column(head, overflow="fold", no_wrap=number == 1, ratio=1 if number == len(columns) else None)
    for row in rows:
        table.add_row(*(Text(clean(str(row[key]))) for key in columns))
    console.print(table)


def command_line() -> str:
    """The command as it was typed, to be stored with what it makes."""
    return shlex.join(["talm-sim", *sys.argv[1:]])
