"""`talm-sim compare RUN RUN...`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from talm_sim.cli.parsing.arguments import completer_for, json_option, plugin_option, print_csv, print_json, run_dir_option
from talm_sim.cli.report.blocks import block_of
from talm_sim.cli.report.comparison import comparison_lines, comparison_markdown, comparison_section
from talm_sim.cli.report.files import check_page_name, write_file
from talm_sim.cli.report.run_facts import run_facts
from talm_sim.cli.terminal.console import stdout
from talm_sim.cli.terminal.text import strip_control
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.compare import Comparison, compare
from talm_sim.runs.divergences import find_divergences
from talm_sim.runs.gating import check_compared
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
@click.option("--gate", "gates", multiple=True, metavar="[GROUP.]MEASURE", help="End with 1 if this is worse than in the first; repeatable.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, one line per group and measure.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables.")
@click.option(
    "--html", "page", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page with the runs and comparisons."
)
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
    gates: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    as_markdown: bool,
    page: Path | None,
    quiet: bool,
) -> int:
    """Compare runs with the first one: differences, intervals, tests and flips.

    RUN is a stored run or a baseline's file. The runs need the same scenarios, task, judges and scoring options. RUN:GROUP RUN:GROUP
    compares two groups, such as perfect and underspecified, over scenarios of one base, with the gap in success. Of a run with a person to
    ask and one without, it says what each question added.
    """
    if as_json + as_csv + as_markdown > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other.")
    if page is not None:
        check_page_name(page)
    results = check_compared(first, others, gates, run_dir, common=common) if gates else []
    found = [compare(first, other, common=common, measures=measures, run_dir=run_dir) for other in others]
    if page is not None:
        _write_page(page, (first, *others), found, run_dir)
    elif as_json:
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
    for other, checked in zip(others, results, strict=False):
        for result in checked:
            click.echo(strip_control(f"{other}: {result.line}"), err=True)
    return int(any(not result.passed for checked in results for result in checked))


def _write_page(page: Path, names: Sequence[str], found: Sequence[Comparison], run_dir: Path) -> None:
    """Write the page: the runs, then each comparison, with the first step that differs in flipped scenarios of two runs."""
    from talm_sim.cli.report.page import make_page  # not at the top: a table needs none

    runs: dict[str, StoredRun] = {}
    for name in names:
        with suppress(PrerequisiteError):  # a baseline or a group has no transcripts to compare
            runs[name] = load_run(name, run_dir)
    sections = []
    for one, other in zip(found, names[1:], strict=True):
        whole = names[0] in runs and other in runs
        sections.append(comparison_section(one, find_divergences(runs[names[0]], runs[other], _flipped(one)) if whole else None))
    text = make_page([block_of(run) for run in runs.values()], [run_facts(run) for run in runs.values()], sections)
    write_file(page, text.encode("utf-8"))


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
