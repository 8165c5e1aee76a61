"""`talm-sim ablate --over FIELD=V1,V2`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.parsing.options import ConfigCommand, collect, parse_config
from talm_sim.cli.parsing.shared_arguments import INTERRUPTED, OUT_OF_BUDGET, command_line, json_option, print_csv, print_json
from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.config import RunConfig
    from talm_sim.runs.ablation.play_grid import Ablation
    from talm_sim.runs.prices import Price

_EXAMPLES = """\b
Examples:
  talm-sim ablate --over human=none,recorded --split underspecified
  talm-sim ablate --over perturb=,http-500,timeout --model sim/oracle
  talm-sim ablate --over 'perturb=["", "http-500:p=0.5,times=1"]'
  talm-sim ablate --grid grid.toml --dry-run
"""
_WITHOUT = ("run_id", "name", "controls", "against", "gate", "baseline", "junit", "summary")


@click.command(cls=ConfigCommand, epilog=_EXAMPLES, without=_WITHOUT)
@click.option("--over", "axes", multiple=True, metavar="FIELD=V1,V2,...", help="Option to vary and its values; repeatable.")
@click.option("--grid", type=click.Path(path_type=Path), metavar="F.toml", help="TOML file with a table [grid] of options and values.")
@click.option("--name", default="ablation", show_default=True, metavar="NAME", help="Prefix of the runs' names.")
@click.option("--dry-run", is_flag=True, help="Print the requests and cost, per cell and together; run nothing.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values: a line per cell and group.")
def command(
    *,
    axes: tuple[str, ...],
    grid: Path | None,
    name: str,
    dry_run: bool,
    as_json: bool,
    as_csv: bool,
    **options: Any,
) -> int:
    """Run a grid of settings and print one matrix: a line each.

    Every combination of the values given with --over and --grid is a separate run. If you run the same command again, finished runs are read
    and interrupted ones continue. An empty value means none. Write values that contain commas as a JSON list.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    if not axes and grid is None:
        raise click.UsageError("Missing option '--over' (or '--grid').")
    given = _read_axes(axes)
    config = parse_config(options)
    if config.gate or config.baseline or config.junit or config.summary:
        raise click.UsageError("gate, baseline, junit and summary are for one run; check those of a grid with: talm-sim report RUN --gate GATE")
    from talm_sim.runs.prices import prices_of

    over = _read_factors(given, grid, config)
    _refuse_fixed(over, collect(options), given)
    prices = prices_of(config)
    if dry_run:
        from talm_sim.cli.shown_forecast import print_grid_forecast
        from talm_sim.runs.ablation.grid_forecast import forecast_grid

        with _naming(grid):
            found = forecast_grid(config, over, prices, name=name)
        form = "json" if as_json or config.display == "json" else "csv" if as_csv else "table"
        return print_grid_forecast(found, priced=prices is not None, form=form)
    from talm_sim.cli.run_session import watching
    from talm_sim.cli.terminal.streams import until_reader_leaves
    from talm_sim.runs.ablation.play_grid import ablate
    from talm_sim.store.causes import is_lost

    # A person cannot sit at every cell: questions of a terminal run stay open in its store.
    with watching(config, again=command_line()) as session, _naming(grid):
        done = ablate(config, over, name=name, on_event=session.display)
    if session.interrupted:
        return INTERRUPTED
    with until_reader_leaves():
        if as_json or as_csv:
            (print_json if as_json else print_csv)(done.to_records())
        else:
            _print_matrix(done, prices)
    if session.spent is not None:
        from talm_sim.cli.progress.budget_lines import left_over

        click.echo(f"the budget is spent: {left_over(session.spent)}. Continue with: {command_line()}", err=True)
        return OUT_OF_BUDGET
    return int(any(one.failed or one.crashed or is_lost(one, one.rows()) for one in (cell.run for cell in done.cells)))


def _print_matrix(done: Ablation, prices: Mapping[str, Price] | None) -> None:
    """Print a line per cell, or per cell and group, the episode to look at first, and with prices what each cell took."""
    from talm_sim.cli.parsing.shared_arguments import short_name
    from talm_sim.cli.report.outcome_matrix import COLUMN_OF, Situation, counts_in_words, matrix_lines, worst
    from talm_sim.cli.report.printed_screen import print_lines
    from talm_sim.cli.report.run_usage import total_usage
    from talm_sim.errors import line_to_copy
    from talm_sim.runs.ablation.grid import cell_label
    from talm_sim.store.result_screen import group_words, step_lines
    from talm_sim.types import Line

    groups = list(dict.fromkeys(one.group for cell in done.cells for one in cell.run.episodes()))
    words = {group: group_words(done.cells[0].run.job.task, group) for group in groups}
    faults = [getattr(cell.run.job.options, "perturb", ()) for cell in done.cells]
    blocks = [
        (cell_label(cell.values), [Situation(words[group], cell.run, (group,), struck) for group in groups])
        for cell, struck in zip(done.cells, faults, strict=True)
    ]
    if len(groups) < 2:
        cells = [Situation(cell_label(cell.values), cell.run, (*groups,), struck) for cell, struck in zip(done.cells, faults, strict=True)]
        blocks = [(f"{', '.join(words.values())}: {len(cells):,} cells", cells)]
    found = [one for _, situations in blocks for one in situations]
    known = all(row.outcome in COLUMN_OF for one in found for row in one.rows if row.scored)
    bad, names = worst(found, 1) if known else [], [short_name(cell.run.path) for cell in done.cells]
    steps = [("see one episode", line_to_copy("talm-sim", "show", f"{short_name(one.run.path)}:{row.episode}")) for one, row in bad]
    steps += [("compare two", line_to_copy("talm-sim", "compare", *names[:2]))] if len(names) > 1 else []
    steps += [("every table", line_to_copy("talm-sim", "report", *names[:1], "--all"))]
    took = [(cell_label(cell.values), total_usage(cell.run, prices).line()) for cell in done.cells if prices is not None]
    print_lines(matrix_lines(blocks) if known else counts_in_words(blocks))
    print_lines((Line(text=f"  {label}: "), Line(text=said, style="faint")) for label, said in took)
    print_lines([(), *(line for what, command in steps for line in step_lines(what, command, 15))])


def _read_axes(axes: Sequence[str]) -> dict[str, list[Any]]:
    over: dict[str, list[Any]] = {}
    for field, axis in map(_parse_axis, axes):
        if field in over:
            raise click.UsageError(f"--over: '{field}' is given twice; list all its values once: {field}=V1,V2")
        over[field] = axis
    return over


def _read_factors(given: Mapping[str, list[Any]], grid: Path | None, config: RunConfig) -> dict[str, list[Any]]:
    """Return the options to vary: those of the file, then those of the command line, whose names are checked here."""
    from talm_sim.runs.ablation.grid import read_grid
    from talm_sim.runs.resolve import refuse_unknown
    from talm_sim.tasks import find_task

    task = find_task(config.task)
    for field in given:
        refuse_unknown(field, task, "--over: ")
    over = {} if grid is None else read_grid(grid, task)
    for field in given.keys() & over.keys():
        raise PrerequisiteError(f"{grid}: grid.{field} is given with --over, too; leave one out.")
    return {**over, **given}


def _refuse_fixed(over: Mapping[str, Sequence[Any]], fixed: Mapping[str, Any], typed: Mapping[str, Any]) -> None:
    """Refuse an option that is varied and given for all cells as well: no cell would have that value."""
    from talm_sim.runs.ablation.grid import table_values

    for field, value in table_values({name: fixed[name] for name in over if name in fixed}).items():
        varied = f"--over {field}={','.join(map(str, over[field]))}" if field in typed else f"{field} in the [grid] of --grid"
        raise PrerequisiteError(f"--{field.replace('_', '-')} {value} fixes what {varied} varies; leave one of them out.")


@contextmanager
def _naming(grid: Path | None) -> Iterator[None]:
    """Let errors in the values of a grid file name the file."""
    try:
        yield
    except PrerequisiteError as err:
        if grid is None or not str(err).startswith(("cell ", "ablate: ")):
            raise
        raise PrerequisiteError(f"{grid}: {str(err).removeprefix('ablate: ')}") from None


def _parse_axis(text: str) -> tuple[str, list[Any]]:
    """Read `FIELD=V1,V2,...` or `FIELD=[JSON list]`.

    >>> _parse_axis("turn-limit=3,5")
    ('turn_limit', ['3', '5'])
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
