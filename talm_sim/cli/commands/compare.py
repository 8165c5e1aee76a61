"""`talm-sim compare RUN RUN...`."""

from __future__ import annotations

from pathlib import Path

import click

from talm_sim.cli.parsing.arguments import completer_for, json_option, plugin_option, print_csv, print_json, run_dir_option
from talm_sim.cli.report.comparison import comparison_lines, comparison_markdown
from talm_sim.cli.terminal.console import stdout
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.compare import Comparison, compare, find_divergences
from talm_sim.runs.sides import is_baseline
from talm_sim.runs.stored_run import StoredRun, load_run
from talm_sim.types.steps import Divergence

__all__ = ["command"]


@click.command()
@click.argument("first", metavar="RUN", shell_complete=completer_for("side"))
@click.argument("others", metavar="RUN...", nargs=-1, required=True, shell_complete=completer_for("side"))
@run_dir_option
@plugin_option
@click.option("--common", is_flag=True, help="Compare the scenarios that both have, where the sets differ.")
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="Only this measure; repeatable.")
@click.option("--all", "every", is_flag=True, help="Print the tables below the first one, too.")
@click.option("--flips", is_flag=True, help="List each scenario that flipped, and the first step at which the two transcripts differ.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, one line per group and measure.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables.")
@click.option("-q", "--quiet", is_flag=True, help="Print no legend.")
def command(
    *,
    first: str,
    others: tuple[str, ...],
    run_dir: Path,
    common: bool,
    measures: tuple[str, ...],
    every: bool,
    flips: bool,
    as_json: bool,
    as_csv: bool,
    as_markdown: bool,
    quiet: bool,
) -> None:
    """Compare runs with the first one: differences, intervals, tests and flips.

    RUN is a stored run or a baseline's file. The runs need the same scenarios, task, judges and scoring options. RUN:GROUP RUN:GROUP
    compares two groups, such as perfect and underspecified, over scenarios of one base.
    """
    if as_json + as_csv + as_markdown > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other.")
    found = [compare(first, other, common=common, measures=measures, run_dir=run_dir) for other in others]
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    elif as_csv:
        print_csv([record for one in found for record in one.to_records()])
    elif as_markdown:
        click.echo("\n\n".join(map(comparison_markdown, found)))
    else:
        console = stdout()
        for number, (one, other) in enumerate(zip(found, others, strict=True)):
            if number:
                console.print()
            divergences = _divergences(first, other, run_dir, _flipped(one)) if flips else None
            for line in comparison_lines(one, every=every, flips=divergences, explained=not quiet):
                console.print(line, soft_wrap=True)


def _flipped(one: Comparison) -> list[str]:
    return [name for flips in one.flips for name in (*flips.improved, *flips.regressed)]


def _divergences(first: str, other: str, run_dir: Path, scenarios: list[str]) -> dict[str, Divergence]:
    """Return where the transcripts of flipped scenarios first differ.

    Raises:
        PrerequisiteError: A side is a baseline or a group.
    """
    runs: list[StoredRun] = []
    for name in (first, other):
        if is_baseline(name):
            raise PrerequisiteError(f"--flips: {name} is a baseline, which has no transcripts; name the run.")
        try:
            runs.append(load_run(name, run_dir))
        except PrerequisiteError:
            raise PrerequisiteError(f"--flips: {name} is a group; transcripts of two groups differ from the first step on.") from None
    return find_divergences(runs[0], runs[1], scenarios)
