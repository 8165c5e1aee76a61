"""`talm-sim compare RUN RUN...`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from talm_sim.cli.parsing.lazy import completer_for, exit_codes
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_csv, print_json, run_dir_option
from talm_sim.cli.report.comparison import comparison_lines, comparison_markdown
from talm_sim.cli.report.report_files import check_page_name, write_file
from talm_sim.cli.terminal.console import stdout
from talm_sim.cli.terminal.text import safe_text
from talm_sim.comparison.compare import Comparison, compare
from talm_sim.comparison.compared_rows import is_baseline
from talm_sim.comparison.divergences import find_divergences
from talm_sim.comparison.gate_set import check_compared
from talm_sim.errors import PrerequisiteError
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types.steps import Divergence


@click.command(epilog=exit_codes(0, 1, 2, 3, but="a gate is missed"))
@click.argument("first", metavar="RUN", shell_complete=completer_for("side"))
@click.argument("others", metavar="RUN...", nargs=-1, required=True, shell_complete=completer_for("side"))
@run_dir_option
@plugin_option
@click.option("--common", is_flag=True, help="Compare the scenarios that both have, where the sets differ.")
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="Only this measure; repeatable.")
@click.option("--all", "every", is_flag=True, help="Print the tables below the first one, too.")
@click.option("--flips", is_flag=True, help="List each scenario that flipped, and the first step at which the two transcripts differ.")
@click.option("--gate", "gates", multiple=True, metavar="[GROUP.]MEASURE", help="Exit with 1 if this measure got worse; repeatable.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, one line per group and measure.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables.")
@click.option("--html", "page", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write a page: both runs, side by side.")
@click.option("--no-transcripts", is_flag=True, help="With --html: leave the episodes out.")
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
    no_transcripts: bool,
    quiet: bool,
) -> int:
    """Compare runs with the first one: differences, intervals, tests and flips.

    RUN is a stored run or a baseline's file. The runs need the same scenarios, task, judges and scoring options. RUN:GROUP RUN:GROUP
    compares two groups, such as perfect and underspecified, over scenarios of one base, with the gap in success. If only one run
    had a person, it also says what each question gained.
    """
    _check_forms(as_json + as_csv + as_markdown, page, no_transcripts)
    results = check_compared(first, others, gates, run_dir, common=common) if gates else []
    found = [compare(first, other, common=common, measures=measures, run_dir=run_dir) for other in others]
    if page is not None:
        _write_page(page, (first, *others), found, run_dir, not no_transcripts, common, measures)
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
            divergences = _divergences(first, other, run_dir, one) if flips else None
            for line in comparison_lines(one, every=every, flips=divergences, explained=not quiet):
                console.print(line, soft_wrap=True)
    for other, checked in zip(others, results, strict=False):
        for result in checked:
            click.echo(safe_text(f"{other}: {result.line}"), err=True)
    return int(any(not result.passed for checked in results for result in checked))


def _check_forms(forms: int, page: Path | None, no_transcripts: bool) -> None:
    if forms > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other.")
    if no_transcripts and page is None:
        raise click.UsageError("--no-transcripts needs --html.")
    if page is not None:
        check_page_name(page)


def _write_page(
    page: Path, names: Sequence[str], found: Sequence[Comparison], run_dir: Path, shown: bool, common: bool, measures: Sequence[str]
) -> None:
    """Write the page: the runs, the comparisons, and the transcripts. Where all sides are runs, each can be the baseline."""
    from talm_sim.cli.pages.index import Compared, build_index, build_transcripts, compare_each
    from talm_sim.cli.pages.page_files import page_files  # not at the top: a table needs none

    runs: dict[str, StoredRun] = {}
    for name in names:
        with suppress(PrerequisiteError):  # a baseline or a group has no transcripts to compare
            runs[name] = load_run(name, run_dir)
    if len(runs) == len(names):
        known = {(names[0], other): one for other, one in zip(names[1:], found, strict=True)}

        def of(first: StoredRun, second: StoredRun) -> Comparison:
            asked = next((known[key] for key in known if (runs[key[0]], runs[key[1]]) == (first, second)), None)
            return asked or compare(first, second, common=common, measures=measures, run_dir=run_dir)

        compared = compare_each([*runs.values()], of)
    else:
        compared = [Compared((names[0], other), None, one) for other, one in zip(names[1:], found, strict=True)]
    index = build_index([*runs.values()], compared=compared, transcripts=shown)
    for file, data in page_files(page, index, [build_transcripts(run) for run in runs.values()] if shown else None):
        write_file(file, data)


def _divergences(first: str, other: str, run_dir: Path, found: Comparison) -> dict[str, Divergence]:
    """Return where the transcripts of flipped scenarios first differ."""
    runs: list[StoredRun] = []
    for name in (first, other):
        if is_baseline(name):
            raise PrerequisiteError(f"--flips: {name} is a baseline, which has no transcripts; name the run.")
        try:
            runs.append(load_run(name, run_dir))
        except PrerequisiteError:
            raise PrerequisiteError(f"--flips: {name} is a group; transcripts of two groups differ from the first step on.") from None
    flipped = [name for flips in found.flips for name in (*flips.improved, *flips.regressed)]
    return find_divergences(runs[0], runs[1], flipped, found.translated)
