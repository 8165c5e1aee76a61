"""`talm-sim runs list|delete|rename|merge`."""

from __future__ import annotations

import re
import time
from calendar import timegm
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from talm_sim.cli.parsing.lazy import WholeGroup, completer_for
from talm_sim.cli.parsing.shared_arguments import (
    command_line,
    confirm,
    json_option,
    plugin_option,
    print_json,
    run_argument,
    run_dir_option,
    short_name,
    warn_unclosed,
)
from talm_sim.cli.terminal.console import print_page, stdout, with_command
from talm_sim.cli.terminal.text import count, count_each, one_line, safe_text
from talm_sim.errors import format_names, line_to_copy
from talm_sim.store.files.manifest import base_of, find_run, unique_prefix
from talm_sim.store.housekeeping import controls_of, delete_run, paired_runs, rename_run
from talm_sim.store.listing import RunInfo, list_runs
from talm_sim.store.stored_run import StoredRun
from talm_sim.types.written_figures import format_figure

_AND = ", "
_RATE, _PREFIX = "rate", "prefix"
"""Keys of the rate, which follows the result if there is room for it, and of what is enough of a run's name to find it."""
_NARROWER: Sequence[tuple[str, Callable[[Mapping[str, str]], str] | None]] = (
    ("Faults", lambda row: " ".join(one.partition(":")[0] for one in row["Faults"].split())),
    ("Split", lambda row: re.sub(r",.*", f" +{row['Split'].count(',')}", row["Split"])),
    ("Model", lambda row: row["Model"].rpartition(":")[2]),
    ("Human", None),
    ("Task", None),
    ("Run", lambda row: row[_PREFIX]),
    *((head, None) for head in ("Split", "When", "Faults")),
)
"""What a narrow screen shows of a column, then the columns that it leaves out, one after the other until the rest fits."""
_RESULT = 22
"""Width that is kept for the result if it needs it; it may continue on the next line."""
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


@click.group(cls=WholeGroup)
def command() -> None:
    """The stored runs: list, delete, rename, merge."""


@command.command("list")
@run_dir_option
@plugin_option
@json_option
def list_(run_dir: Path, as_json: bool) -> None:
    """List the runs of a directory, oldest first.

    To name a run, any unique prefix of its name is enough. Its controls are listed below it. The last column shows problems and, where
    there is room, the first rate of its table, over all groups.
    """
    infos = list_runs(run_dir)
    for info in infos:
        if not info.closed:
            warn_unclosed(info.path)
    if as_json:
        print_json([_record(info) for info in infos])
        return
    if not infos:
        click.echo(f"{run_dir}: there are no runs here yet; start one with: talm-sim run --split underspecified", err=True)
        return
    names = [info.id for info in infos]
    infos.sort(key=lambda info: names.index(_base(info.id, names)))  # the sort is stable: the oldest stay first
    print_page(_table([_row(info, names) for info in infos]))


@command.command("delete")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=completer_for("run"))
@run_dir_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(runs: tuple[str, ...], run_dir: Path, yes: bool) -> None:
    """Delete runs and their controls permanently."""
    paths = list(dict.fromkeys(find_run(run, run_dir) for run in runs))
    every = list(dict.fromkeys(path for run in paths for path in (run, *controls_of(run))))
    for path, compared in paired_runs(paths).items():
        if lost := [name for name in compared if path.parent / name not in every]:
            compares = "is compared with it, and will lose its pairs" if len(lost) == 1 else "are compared with it, and will lose their pairs"
            click.echo(f"{safe_text(path.name)}: {safe_text(format_names(lost, 8))} {compares}", err=True)
    names = format_names([path.name for path in every], 8)
    confirm(f"delete {names if len(every) < 2 else f'{len(every)} runs ({names})'}?", yes)
    for path in paths:
        if path.exists():  # it may have been another one's control
            delete_run(path)
    click.echo(f"deleted: {safe_text(names)}", err=True)


@command.command("rename")
@run_argument
@click.argument("name", metavar="NAME")
@run_dir_option
def rename(run: str, name: str, run_dir: Path) -> None:
    """Rename a run and its controls."""
    path = find_run(run, run_dir)
    compared = paired_runs([path])[path]
    click.echo(rename_run(path, name))
    for other in compared:
        correct = line_to_copy("talm-sim", "judge", short_name(path.parent / other), "--paired-run", name)
        click.echo(f"{safe_text(other)} is compared with it by its old name; give it the new one with: {correct}", err=True)


@command.command("merge")
@click.argument("out", metavar="OUT")
@click.argument("shards", metavar="SHARD...", nargs=-1, required=True, shell_complete=completer_for("run"))
@click.option("--cassettes", type=click.Path(path_type=Path), metavar="DIR", help="Merge the recordings of the shards into DIR.")
@run_dir_option
@plugin_option
def merge(out: str, shards: tuple[str, ...], cassettes: Path | None, run_dir: Path) -> None:
    """Merge the shards of a run (run --shard I/N) into the run OUT.

    All shards must be given, in any order. Their controls are merged as well. The merged run is a run like any other: episodes, verdicts,
    open questions and answers come along. The shards stay as they are.
    """
    from talm_sim.runs.engines.merge_shards import merge_shards

    merged = merge_shards(Path(out), shards, cassettes, run_dir=run_dir, command=command_line())
    run, name = merged.run, short_name(merged.run.path)
    for made in (run, *merged.controls):
        click.echo(made.path)
    waiting = f", {count_each(run.open_items)} open" if run.open_items else ""
    click.echo(f"{count(len(shards), 'shard')} merged: {count(run.finished, 'episode')}{waiting}", err=True)
    if cassettes is not None:
        click.echo(f"{cassettes}: {count(merged.recordings, 'file')} written", err=True)
    for model in merged.left_out:
        click.echo(f"not merged: control {safe_text(model)}, which only some shards have", err=True)
    if not run.judged:
        click.echo(
            with_command("the shards were not all judged by the same judges; judge it with", line_to_copy("talm-sim", "judge", name)), err=True
        )
    click.echo(with_command("print its table", line_to_copy("talm-sim", "report", name)), err=True)


def _record(info: RunInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "path": str(info.path),
        "created": info.created,
        "task": info.task,
        "model": info.model,
        "agent": info.agent or None,
        "perturb": list(info.perturb),
        "split": info.split,
        "human": info.human,
        "finished": info.finished,
        "failed": info.failed,
        "total": info.total,
        "waiting": info.waiting,
        "rate": info.rate and info.rate.model_dump(mode="json", include={"name", "head", "value", "low", "high", "k", "n"}),
        "shards": [one.model_dump() for one in info.shards],
        "pid": info.owner.pid if info.owner else None,
        "problem": info.problem,
    }


def _row(info: RunInfo, names: Sequence[str]) -> dict[str, str]:
    prefix = _short_run_name(info.id, names)
    obvious = "unfinished" if info.waiting else "done"  # what follows shows it
    state = info.state.removeprefix(obvious).removeprefix(_AND)
    rate = (
        "" if info.rate is None else _count_not_scored(info.path) if info.rate.value is None else f"{info.rate.head} {format_figure(info.rate)}"
    )
    row = {
        "Run": prefix if re.match(r"\d{8}-\d{6}|  ", prefix) else info.id,
        "When": _format_age(info.created),
        "Task": info.task,
        "Model": _player(info),
        "Faults": " ".join(info.perturb),
        "Split": info.split,
        "Human": info.human,
        "Done": f"{info.finished}/{info.total}",
        "Result": one_line(state, 300),
        _RATE: rate,
        _PREFIX: prefix,
    }
    return {head: safe_text(value) for head, value in row.items()}


def _player(info: RunInfo) -> str:
    """Return who played: the user's own agent and the model it was given, or the model alone."""
    model = " + ".join(name.rpartition("/")[2] for name in (info.model, info.adapter) if name)
    return model if info.agent in ("", model) else f"{info.agent} {model}"


def _table(rows: Sequence[dict[str, str]]) -> Table:
    """Make one line per run; a narrow screen leaves out what is less important, and of a result that still does not fit the rate."""
    heads = [head for head in rows[0] if head not in (_RATE, _PREFIX) and (head != "Faults" or any(row[head] for row in rows))]
    whole, steps = [_AND.join(filter(None, (row["Result"], row[_RATE]))) for row in rows], iter(_NARROWER)
    while (room := _room(heads, rows)) < min(_RESULT, max(map(cell_len, whole))) and (step := next(steps, None)):
        head, shorten = step
        if shorten is None:
            heads = [one for one in heads if one != head]
        else:
            rows = [{**row, head: shorten(row)} for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for head in heads:
        table.add_column(head, no_wrap=head != "Result", overflow="fold" if head in ("Run", "Result") else "ellipsis")
    for row, result in zip(rows, whole, strict=True):
        fitting = result if cell_len(result) <= room or not row["Result"] else row["Result"]
        table.add_row(*(Text(fitting if head == "Result" else row[head]) for head in heads))
    return table


def _room(heads: Sequence[str], rows: Sequence[Mapping[str, str]]) -> int:
    """Return how many columns the screen has left for the result."""
    taken = sum(max(len(head), *(cell_len(row[head]) for row in rows)) + 1 for head in heads if head != "Result")
    return stdout().width - taken


def _count_not_scored(path: Path) -> str:
    """Say how many episodes count for no rate without having failed: they did not fit into their model's context."""
    left = sum(number for end, number in StoredRun(path).terminations.items() if not end.completed and not end.failed)
    return f"{left:,} not scored" if left else ""


def _base(name: str, names: Sequence[str]) -> str:
    """Return the run a control belongs to; for another run, its own name."""
    base = base_of(name)
    return base if base in names else name


def _short_run_name(name: str, names: Sequence[str]) -> str:
    """Return a prefix that finds the run, at least the time its name starts with; for a control, what follows its run's name."""
    base = _base(name, names)
    if base != name:
        return f"  {name.removeprefix(base)}"
    return unique_prefix(name, names)


def _format_age(created: str) -> str:
    """Return how long ago a time (ISO 8601, UTC) was, in the largest unit that fits; empty if it is not a time."""
    try:
        seconds = max(0.0, time.time() - timegm(time.strptime(created, "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return ""
    unit, size = next((one for one in _UNITS if seconds >= one[1]), _UNITS[-1])
    return f"{seconds // size:.0f} {unit}"
