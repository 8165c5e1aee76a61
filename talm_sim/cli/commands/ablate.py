"""`talm-sim ablate --over FIELD=V1,V2`."""

from __future__ import annotations

import json
from typing import Any

import click

from talm_sim.cli.arguments import json_option
from talm_sim.cli.options import ConfigCommand, config_options, load_config
from talm_sim.config import RunConfig
from talm_sim.errors import did_you_mean

__all__ = ["command", "parse_axis"]


_EXAMPLES = """\b
Examples:
  talm-sim ablate --over human=none,recorded --split underspecified
  talm-sim ablate --over perturb=,http-500,timeout --model sim/oracle
  talm-sim ablate --over 'perturb=["", "http-500:p=0.5,times=1"]'
"""


@click.command(cls=ConfigCommand, epilog=_EXAMPLES)
@click.option("--over", "axes", multiple=True, required=True, metavar="FIELD=V1,V2,...", help="Option to vary and its values; repeatable.")
@click.option("--name", default="ablation", show_default=True, metavar="NAME", help="Begins the names of the runs.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, one line a cell and group.")
@config_options(without=("run_id", "controls"))
def command(*, axes: tuple[str, ...], name: str, as_json: bool, as_csv: bool, **options: Any) -> int:
    """Run a grid of settings and print one table.

    Every combination of the values given with --over is a run of its own; called again, finished ones are read and interrupted ones go on.
    An empty value stands for none. Values that hold commas are written as a JSON list.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    over = dict(parse_axis(axis) for axis in axes)
    config = load_config(options)
    from talm_sim.cli.session import ablate_session

    return ablate_session(config, over, name, "json" if as_json else "csv" if as_csv else "table")


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """Read `FIELD=V1,V2,...` or `FIELD=[JSON list]`.

    >>> parse_axis("turn-limit=3,5")
    ('turn_limit', ['3', '5'])

    Raises:
        click.UsageError: It is neither, or there is no such field.
    """
    field, equals, values = text.partition("=")
    field = field.strip().replace("-", "_")
    if not equals:
        raise click.UsageError(f"--over: '{text}' is no FIELD=V1,V2,...")
    if field not in RunConfig.model_fields:
        raise click.UsageError(f"--over: unknown option '{field.replace('_', '-')}'.{did_you_mean(field, RunConfig.model_fields)}")
    if not values.startswith("["):
        return field, values.split(",")
    try:
        return field, list(json.loads(values))
    except json.JSONDecodeError as err:
        raise click.UsageError(f"--over {field}: not a JSON list ({err.msg} at column {err.colno}).") from None
