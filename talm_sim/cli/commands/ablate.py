"""`talm-sim ablate --over FIELD=V1,V2`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click

from talm_sim.cli.parsing.arguments import INTERRUPTED, OUT_OF_BUDGET, command_line, json_option, print_csv, print_json
from talm_sim.cli.parsing.options import ConfigCommand, parse_config

__all__ = ["command", "parse_axis"]

_EXAMPLES = """\b
Examples:
  talm-sim ablate --over human=none,recorded --split underspecified
  talm-sim ablate --over perturb=,http-500,timeout --model sim/oracle
  talm-sim ablate --over 'perturb=["", "http-500:p=0.5,times=1"]'
"""


@click.command(cls=ConfigCommand, epilog=_EXAMPLES, without=("run_id", "controls", "against"))
@click.option("--over", "axes", multiple=True, required=True, metavar="FIELD=V1,V2,...", help="Option to vary and its values; repeatable.")
@click.option("--name", default="ablation", show_default=True, metavar="NAME", help="Prefix of the runs' names.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, one line per cell and group.")
def command(*, axes: tuple[str, ...], name: str, as_json: bool, as_csv: bool, **options: Any) -> int:
    """Run a grid of settings and print one table.

    Every combination of the values given with --over is a separate run. If you run the same command again, finished runs are read and
    interrupted ones continue. An empty value means none. Write values that contain commas as a JSON list.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    over: dict[str, list[Any]] = {}
    for field, axis in map(parse_axis, axes):
        if field in over:
            raise click.UsageError(f"--over: '{field}' is given twice; list all its values once: {field}=V1,V2")
        over[field] = axis
    config = parse_config(options)
    from talm_sim.cli.progress.budget_lines import left_over
    from talm_sim.cli.report.blocks import block_of
    from talm_sim.cli.report.table import print_table
    from talm_sim.cli.session import watching
    from talm_sim.cli.terminal.streams import until_reader_leaves
    from talm_sim.runs.ablate import ablate
    from talm_sim.runs.prices import prices_of
    from talm_sim.runs.resolve import refuse_unknown
    from talm_sim.tasks import find_task

    for field in over:
        refuse_unknown(field, find_task(config.task), "--over: ")
    prices = prices_of(config)
    # A person cannot sit at every cell: questions of a terminal run stay open in its store.
    with watching(config, again=command_line()) as session:
        done = ablate(config, over, name=name, on_event=session.display)
    if session.interrupted:
        return INTERRUPTED
    blocks = []
    for cell in done.cells:
        block = block_of(cell.run, prices=prices)
        values = ", ".join(f"{field}={_value(value)}" for field, value in cell.values.items())
        blocks.append(replace(block, title=f"{values}: {block.title}"))
    with until_reader_leaves():
        if as_json:
            print_json(done.to_records())
        elif as_csv:
            print_csv(done.to_records())
        else:
            print_table(blocks, explained=not config.quiet)
    if session.spent is not None:
        click.echo(f"the budget is spent: {left_over(session.spent)}. Continue with: {command_line()}", err=True)
        return OUT_OF_BUDGET
    return 1 if any(cell.run.failed or cell.run.crashed for cell in done.cells) else 0


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """Read `FIELD=V1,V2,...` or `FIELD=[JSON list]`.

    >>> parse_axis("turn-limit=3,5")
    ('turn_limit', ['3', '5'])

    Raises:
        click.UsageError: It is neither.
    """
    field, equals, values = text.partition("=")
    field = field.strip().replace("-", "_")
    if not equals:
        raise click.UsageError(f"--over: '{text}' is not FIELD=V1,V2,...")
    if not values.startswith("["):
        return field, values.split(",")
    try:
        return field, list(json.loads(values))
    except json.JSONDecodeError as err:
        raise click.UsageError(f"--over {field}: not a JSON list ({err.msg} at column {err.colno}).") from None


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "none")
