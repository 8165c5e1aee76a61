"""`talm-sim export`: write recordings and training sets, a run as traces or as a baseline, and a run in another form (`export NAME RUN`)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.commands.training_rows import command as training_rows
from talm_sim.cli.parsing.lazy import WholeGroup
from talm_sim.cli.parsing.shared_arguments import command_line, plugin_option, run_argument, run_dir_option, warn_unclosed
from talm_sim.cli.terminal.text import count, safe_text
from talm_sim.errors import PrerequisiteError, line_to_copy

if TYPE_CHECKING:
    from talm_sim.exchange.exports.episode_spans import Trace
    from talm_sim.tasks import Task

_PLUGINS = plugin_option(
    click.Command("export", add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
)
"""Reads `--plugin` alone: a plugin may bring the very command whose option it is."""


class _Exports(WholeGroup):
    """The commands written here, and one for each exporter that a task brings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help page."""
        from talm_sim.exchange.exports import GENERAL_EXPORTERS
        from talm_sim.tasks.registry import list_exporters

        return sorted({*self.commands, *GENERAL_EXPORTERS, *list_exporters()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command; None for an unknown name."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        from talm_sim.exchange.exports import GENERAL_EXPORTERS
        from talm_sim.tasks.registry import list_exporters

        takes = list_exporters().get(cmd_name, [])
        return _run_exporter(cmd_name, takes) if takes or cmd_name in GENERAL_EXPORTERS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as Click does, after the plugins that a command names are imported."""
        if args[0] not in self.commands:
            _PLUGINS.make_context(args[0], args[1:], parent=ctx, resilient_parsing=ctx.resilient_parsing)
        return super().resolve_command(ctx, args)


@click.group(cls=_Exports)
def command() -> None:
    """Export a stored run, recordings or training sets for other tools."""


command.add_command(training_rows)


def _run_exporter(name: str, tasks: Sequence[Task[Any]]) -> click.Command:
    """Make the command that writes a run in the form called `name`; a task's own exporter goes before one for all tasks."""
    from talm_sim.exchange.exports import GENERAL_EXPORTERS, find_general_exporter
    from talm_sim.tasks.registry import find_exporter

    general = name in GENERAL_EXPORTERS
    said = getdoc(find_general_exporter(name) if general else find_exporter(name, tasks[0])) or ""
    whose = "any task" if general else f"task {' or '.join(task.name for task in tasks)}"

    @click.command(name, help=said.partition("\n\nRaises:")[0].partition("\n\nArgs:")[0], epilog=f"RUN is of {whose}.")
    @run_argument
    @run_dir_option
    @plugin_option
    @click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Directory to write.")
    @click.option("--force", is_flag=True, help="Overwrite existing files.")
    def export_run(run: str, run_dir: Path, out: Path, force: bool) -> None:
        from talm_sim.store.stored_run import load_run

        stored = load_run(run, run_dir)
        with stored.at_once():
            if not stored.closed:
                warn_unclosed(stored.path, imported=stored.imported)
            try:
                own = not general or name in stored.job.task.exporters
                made = (find_exporter(name, stored.job.task) if own else find_general_exporter(name))(stored)
            except PrerequisiteError as err:
                raise PrerequisiteError(str(err) if str(err).startswith(f"{stored.path}: ") else f"{stored.path}: {err}") from None
        _write_files(out, made.files, force=force)
        click.echo(out)
        for line in (f"{count(len(made.files), 'file')} written", *made.notes):
            click.echo(safe_text(line), err=True)

    return export_run


@command.command("baseline")
@run_argument
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@run_dir_option
@plugin_option
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def baseline(run: str, file: Path, run_dir: Path, force: bool) -> None:
    """Write what later runs are compared with, as a file to commit.

    FILE is JSON Lines: a line about the run (task, judges, options, versions), then one per episode with its values. It has no text of
    scenarios or answers. Use it with: talm-sim report RUN --baseline FILE.
    """
    from talm_sim.comparison.baselines import FEWEST_EPOCHS
    from talm_sim.comparison.compared_rows import Side
    from talm_sim.recordings.shared_files import write_atomically
    from talm_sim.store.stored_run import load_run

    if file.exists() and not force:
        raise PrerequisiteError(f"{file}: exists; name another file, or add --force to overwrite it.")
    side = Side.of_run(load_run(run, run_dir))
    write_atomically(file, "".join(f"{line}\n" for line in side.lines()).encode())
    click.echo(file)
    click.echo(f"{count(len(side.rows), 'episode')} of {count(len(side.texts), 'scenario')}", err=True)
    if side.epochs < FEWEST_EPOCHS:
        said = f"{count(side.epochs, 'epoch')}: a lucky baseline makes equal runs look worse; make it of a run with --epochs {FEWEST_EPOCHS}"
        click.echo(f"warning: {said} or more", err=True)


@command.command("cassettes")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("cassettes-export"),
    show_default=True,
    help="Directory to write.",
)
@click.option(
    "--from", "source", type=click.Path(path_type=Path), metavar="DIR", help="Directory of packed recordings. Default: the bundled ones."
)
def cassettes(target: Path, source: Path | None) -> None:
    """Unpack recordings into JSON cassettes that plain vcrpy can read."""
    from talm_sim.recordings import export, shipped_cassettes

    source = source or shipped_cassettes()
    if not (written := export(source, target)):
        raise PrerequisiteError(f"{source}: contains no packed recordings.")
    click.echo(target)
    replay = line_to_copy("talm-sim", "run", "--replay", "--cassettes", str(target))
    click.echo(f"{count(len(written), 'file')} written; replay them with: {replay}", err=True)


@command.command("when2call")
@click.argument("scenarios", type=click.Path(path_type=Path), metavar="SCENARIOS")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="JSONL file to write; its data card is FILE's .card.json."
)
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Random seed of --sample.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Use N scenarios of each class.")
@click.option("--by", metavar="KEYS", default="class", show_default=True, help="Draw --sample by class, or by class,tools.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def when2call(scenarios: Path, out: Path, seed: int, sample: int | None, by: str, force: bool) -> None:
    """Write multiple-choice scenarios in the form of When2Call's published test set.

    SCENARIOS is a JSONL file of scenarios or of When2Call's test rows, or hub:OWNER/DATASET[:FILE]. A data card is written next to FILE:
    sources and licences, settings and counts. For training rows, see `export training`.
    """
    from talm_sim.recordings.shared_files import write_atomically
    from talm_sim.scenarios.hub import local_file
    from talm_sim.tasks import find_task
    from talm_sim.tasks.when2call.published import TASK, row_of
    from talm_sim.tasks.when2call.training.sets import draw_sample

    beside = out.with_suffix(".card.json")
    _refuse_existing((out, beside), force=force)
    task = find_task(TASK)
    found = local_file(scenarios, task.hub_file)
    read = task.read(task.splits["all"], found)
    chosen = draw_sample(read, sample, by, seed) if sample else read
    text = "".join(json.dumps(row_of(one), ensure_ascii=False) + "\n" for one in chosen).encode()
    origins = Counter((one.source.name, one.source.licence, one.source.url) for one in chosen)
    card = {
        "made_by": "talm-sim",
        "command": command_line(),
        "sources": [{"file": str(scenarios), "sha256": hashlib.sha256(found.read_bytes()).hexdigest()}],
        "origins": [{"name": name, "licence": licence, "url": url, "rows": number} for (name, licence, url), number in origins.items()],
        "sample": sample,
        "by": by if sample else None,
        "seed": seed,
        "rows": len(chosen),
        "right": Counter(one.group for one in chosen),
        "sha256": hashlib.sha256(text).hexdigest(),
    }
    write_atomically(out, text)
    write_atomically(beside, (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    click.echo(out)
    click.echo(f"{count(len(chosen), 'row')} of {count(len(read), 'scenario')}; card: {beside}", err=True)


@command.command("lm-eval")
@click.argument("scenarios", type=click.Path(path_type=Path), metavar="[SCENARIOS]", required=False)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Directory to write; lm_eval's --include_path.")
@click.option("--template", default="auto", show_default=True, metavar="NAME|FILE", help="Prompt style for tools and calls, or a file.")
@click.option("--tokenizer", metavar="DIR", help="Of the model; templates chat and auto write prompts by it. Without it, auto is default.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def lm_eval(scenarios: Path | None, out: Path, template: str, tokenizer: str | None, force: bool) -> None:
    """Write task when2call as a task of lm-evaluation-harness.

    SCENARIOS is a JSONL file of scenarios or of When2Call's test rows, or hub:OWNER/DATASET[:FILE]; without it the bundled ones are written.
    """
    from talm_sim.models.base import TextModel
    from talm_sim.models.registry import open_model
    from talm_sim.scenarios.hub import local_file
    from talm_sim.tasks import find_task
    from talm_sim.tasks.templates import load_template
    from talm_sim.tasks.when2call.harness import HARNESS_TASK, harness_files
    from talm_sim.tasks.when2call.published import TASK

    task = find_task(TASK)
    read = task.read(task.splits["all"], None if scenarios is None else local_file(scenarios, task.hub_file))
    served = open_model("openai-api/lm-eval/model", replay=True, options={"tokenizer": tokenizer}) if tokenizer else None
    style = load_template(template, served if isinstance(served, TextModel) else None)
    _write_files(out, harness_files(read, style), force=force)
    click.echo(out)
    click.echo(f"task {HARNESS_TASK}: {count(len(read), 'row')}, template {style.name}", err=True)


def _refuse_endpoint(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError("--endpoint is gone: write a file with --out, and let the collector's receiver `otlpjsonfile` read it.")


@command.command("otel")
@run_argument
@run_dir_option
@plugin_option
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="File to write, with one trace per line.")
@click.option("--endpoint", hidden=True, expose_value=False, is_eager=True, callback=_refuse_endpoint)
@click.option("--content/--no-content", default=False, show_default=True, help="Include what was said, called and returned.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def otel(run: str, run_dir: Path, out: Path, content: bool, force: bool) -> None:
    """Write a run of any task as OpenTelemetry traces.

    Each episode is a trace in the conventions for generative AI: the agent, and below it model turns, tool calls and questions. Verdicts are
    events. The ids depend on the run alone: a second export is the same trace. RUN can be a run of any task.
    """
    from talm_sim.exchange.exports.episode_spans import traces
    from talm_sim.recordings.shared_files import write_atomically
    from talm_sim.store.stored_run import load_run

    stored = load_run(run, run_dir)
    _refuse_existing([out], force=force)
    with stored.at_once():
        if not stored.closed:
            warn_unclosed(stored.path, imported=stored.imported)
        number = Counter[str]()
        write_atomically(out, _trace_lines(traces(stored, content=content), number))
    click.echo(out)
    click.echo(f"{count(number['spans'], 'span')} of {count(number['episodes'], 'episode')} written", err=True)
    if not content:
        click.echo("without what was said, called and returned; add --content for it", err=True)


def _trace_lines(found: Iterable[Trace], number: Counter[str]) -> Iterator[bytes]:
    """Yield a line for each trace, and count them."""
    for trace in found:
        number.update(episodes=1, spans=trace.spans)
        yield f'{{"resourceSpans":[{trace.text}]}}\n'.encode()


def _refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    for path in paths:
        if path.exists() and not force:
            raise PrerequisiteError(f"{path}: exists; choose another --out, or add --force to overwrite it.")


def _write_files(out: Path, files: Mapping[str, str | bytes], *, force: bool) -> None:
    """Write files below a folder, or none of them if one is there already and may not be overwritten."""
    from talm_sim.recordings.shared_files import write_atomically

    _refuse_existing((out / name for name in files), force=force)
    for name, content in files.items():
        write_atomically(out / name, content.encode() if isinstance(content, str) else content)
