"""`talm-sim report RUN...`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from talm_sim.cli.gate_output import Gating
from talm_sim.cli.parsing.field_options import config_options
from talm_sim.cli.parsing.lazy import completer_for, prices_option
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_csv, print_json, run_dir_option, warn_unclosed
from talm_sim.cli.report.against_paper import print_against
from talm_sim.cli.report.blocks import block_of, judge_hint, reading_together, summary_records, title_of
from talm_sim.cli.report.layout import Block, merge_paper_rows
from talm_sim.cli.report.markdown import markdown
from talm_sim.cli.report.people_agreement import people_blocks
from talm_sim.cli.report.power_table import power_options, print_power
from talm_sim.cli.report.printed_screen import print_screens
from talm_sim.cli.report.report_files import check_page_name, write_file
from talm_sim.cli.report.result_table import print_table
from talm_sim.cli.terminal.text import count
from talm_sim.comparison.by_model import model_table
from talm_sim.comparison.by_tool import tool_table
from talm_sim.runs.prices import Price
from talm_sim.store.stored_run import StoredRun, load_run

By = Literal["model", "tool"]
"""What a row of the table is about."""

_FOR_CI = ("gate", "baseline", "junit", "summary")


@config_options(*_FOR_CI)
@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completer_for("run"))
@run_dir_option
@plugin_option
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--all", "every", is_flag=True, help="Print every table.")
@click.option("--rows", is_flag=True, help="Print one line per episode instead of per group, for --csv (or --json).")
@click.option("--by-model", is_flag=True, help="Print one row per model, with each task's headline figures.")
@click.option("--by-tool", is_flag=True, help="Print one row per tool: whether it was called when it was needed.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a Markdown table.")
@click.option(
    "--html", "page", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write a page: tables, and every transcript."
)
@click.option("--no-transcripts", is_flag=True, help="With --html: leave the episodes out.")
@prices_option
@power_options
@click.option("--against", type=click.Choice(["paper"]), help="Print a line per figure that the paper publishes, too.")
@click.option("-q", "--quiet", is_flag=True, help="Print no legend and no hints.")
def command(
    *,
    runs: tuple[str, ...],
    run_dir: Path,
    as_json: bool,
    as_csv: bool,
    every: bool,
    rows: bool,
    by_model: bool,
    by_tool: bool,
    as_markdown: bool,
    page: Path | None,
    no_transcripts: bool,
    prices: Mapping[str, Price] | None,
    power: str | None,
    n: int | None,
    drop: float | None,
    against: str | None,
    quiet: bool,
    **gates: Any,
) -> int:
    """Print the table of stored runs, or write it as a page.

    Several runs are printed one below the other; with --by-model, runs of one model are joined in one row. Without RUN, the newest is
    printed. Below each rate is its 95 % Wilson interval, and n is the number of episodes it covers.
    """
    by: By | None = "model" if by_model else "tool" if by_tool else None
    _check_forms(click.get_current_context().params, by)
    if page is not None:
        check_page_name(page)
    gating = Gating(gates, run_dir)
    stored = [load_run(run, run_dir) for run in runs or (None,)]
    with reading_together(stored):
        for item in stored:
            if not item.closed:
                warn_unclosed(item.path, imported=item.imported)
        if power is not None:
            print_power(stored, power, n=n, drop=drop, as_json=as_json, as_csv=as_csv)
            return 0
        if page is not None:
            _write_page(stored, by, click.get_current_context().params)
        if page is None or as_json or as_csv or as_markdown or rows:
            _print(stored, by, click.get_current_context().params)
        gating.check(stored)
        return gating.conclude(stored, lambda: _blocks(stored, None, against, prices))


def _print(stored: Sequence[StoredRun], by: By | None, given: Mapping[str, Any]) -> None:
    against, quiet = given["against"], given["quiet"]
    if given["as_json"] or given["as_csv"] or given["rows"]:
        records = _records(stored, by, against, rows=given["rows"])
        (print_json if given["as_json"] else print_csv)(records if given["as_json"] else [*map(_spell_counts, records)])
        return
    blocks = _blocks(stored, by, against, given["prices"])
    if given["as_markdown"]:
        click.echo(markdown(blocks, explained=not quiet))
        return
    if given["every"] or by is not None or given["prices"] is not None:
        print_table(blocks, explained=not quiet)
    elif against is not None:
        print_against(blocks[: len(stored)], explained=not quiet)
        print_table(blocks[len(stored) :])
    else:
        print_screens(stored, blocks)
    for hint in judge_hint(stored[0]) if len(stored) == 1 and by is None and not quiet else ():
        click.echo(f"\n{hint}", err=True)


def _check_forms(given: Mapping[str, Any], by: By | None) -> None:
    data = [name for name in ("as_json", "as_csv", "as_markdown") if given[name]]
    if len(data) > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other.")
    if given["rows"] and given["as_markdown"]:
        raise click.UsageError("--rows needs --csv or --json.")
    if given["prices"] is not None and (given["as_json"] or given["as_csv"] or given["rows"]):
        raise click.UsageError("--prices works with the table, --markdown and --html; --rows has the tokens per episode.")
    _check_other_tables(given, by)


def _check_other_tables(given: Mapping[str, Any], by: By | None) -> None:
    """Refuse what does not go with a table of another kind."""
    if given["by_model"] and given["by_tool"]:
        raise click.UsageError("--by-model and --by-tool exclude each other.")
    if by is not None and (given["rows"] or given["prices"] is not None):
        raise click.UsageError(f"--by-{by} prints a table of its own; leave out {'--rows' if given['rows'] else '--prices'}.")
    if given["no_transcripts"] and given["page"] is None:
        raise click.UsageError("--no-transcripts needs --html.")
    if by == "tool" and given["against"] is not None:
        raise click.UsageError("--by-tool: no paper publishes figures per tool; leave out --against.")
    if given["power"] is None and (given["n"] is not None or given["drop"] is not None):
        raise click.UsageError("--n and --drop need --power.")
    others = ("rows", "as_markdown", "page", "prices", "against", "by_model", "by_tool", *_FOR_CI)
    if given["power"] is not None and any(given[name] not in (None, False, ()) for name in others):
        raise click.UsageError("--power prints a table of its own; of the other forms it has --json and --csv.")


def _records(runs: Sequence[StoredRun], by: By | None, against: str | None, *, rows: bool) -> list[dict[str, Any]]:
    """Return the table that is asked for as flat data."""
    if by is not None:
        return _records_by(by, runs, against)
    return [record for run in runs for record in run.to_records()] if rows else summary_records(runs, against)


def _blocks(runs: Sequence[StoredRun], by: By | None, against: str | None, prices: Mapping[str, Price] | None) -> list[Block]:
    """Return the blocks of the table that is asked for."""
    if by == "model":
        return _blocks_by(by, runs, against)
    blocks = _blocks_by(by, runs, against) if by else [block_of(one, against=against, prices=prices) for one in runs]
    return [*_disambiguate(blocks, runs), *(people_blocks(runs) if by is None else ())]


def _write_page(runs: Sequence[StoredRun], by: By | None, given: Mapping[str, Any]) -> None:
    """Write the page; all its files are made before the first is written."""
    from talm_sim.cli.pages.index import build_index, build_transcripts
    from talm_sim.cli.pages.page_files import page_files  # not at the top: a table needs none

    shown = not given["no_transcripts"]
    blocks = _blocks(runs, by, given["against"], given["prices"])
    index = build_index(runs, blocks=blocks, prices=given["prices"], transcripts=shown)
    for file, data in page_files(given["page"], index, [build_transcripts(run) for run in runs] if shown else None):
        write_file(file, data)


def _disambiguate(blocks: Sequence[Block], runs: Sequence[StoredRun]) -> list[Block]:
    """Return the blocks, with the run's name after a title that several share."""
    times = Counter(block.title for block in blocks)
    return [
        replace(block, title=f"{block.title} [{run.id}]") if times[block.title] > 1 else block for block, run in zip(blocks, runs, strict=True)
    ]


def _blocks_by(by: By, runs: Sequence[StoredRun], against: str | None) -> list[Block]:
    """Return what is printed: one table of all runs by model, or one per run by tool; against the paper, its rows below those of models."""
    if by == "tool":
        tables = [(run, tool_table(run)) for run in runs]
        return [
            Block(title_of(run), one.summaries, list(one.notes()), is_control=run.config.model.startswith("sim/"), rows_are="tool")
            for run, one in tables
        ]
    table = model_table(runs)
    notes, papers = list(table.notes()), table.papers() if against == "paper" else []
    if against == "paper" and not papers:
        notes.append("against paper: no published row is about these tasks and settings")
    title = f"{count(len({row.model for row in table.rows}), 'model')}, {count(len(runs), 'run')}"
    return [Block(title, table.summaries(), notes, papers=papers, rows_are="model")]


def _records_by(by: By, runs: Sequence[StoredRun], against: str | None) -> list[dict[str, Any]]:
    """Return the same as flat data; against the paper, followed by its rows, and each says where it is from."""
    if by == "tool":
        return [record for run in runs for record in tool_table(run).records(run)]
    table = model_table(runs)
    if against != "paper":
        return table.records()
    published = (record for one in merge_paper_rows(table.papers()) for record in one.records())
    return [{"source": "run", **one} for one in table.records()] + [
        {name: value for name, value in one.items() if name != "group"} for one in published
    ]


def _spell_counts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record for a table of text: an object that counts names becomes `name 2, other 1`."""
    return {
        name: ", ".join(f"{key} {number}" for key, number in value.items()) if isinstance(value, dict) else value
        for name, value in record.items()
    }
