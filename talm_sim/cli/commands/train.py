"""`talm-sim train METHOD FILE`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.parsing.shared_arguments import json_option, print_json
from talm_sim.cli.terminal.text import count, duration_words
from talm_sim.errors import line_to_copy

if TYPE_CHECKING:
    from talm_sim.training import Forecast, Job, Step

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_TEXT = click.Path(path_type=str, dir_okay=False, exists=True)
_OVERRIDES = ("learning_rate", "epochs", "batch", "max_length", "seed", "dtype")
_SILENCE_S = 30.0
"""Seconds after which a line is printed where there is no bar."""

_NOT_KEPT = "no checkpoint was written yet; the same command begins again"


@click.command()
@click.argument("method", type=click.Choice(["sft", "dpo", "rpo"]), metavar="sft|dpo|rpo")
@click.argument("file", type=_FILE, metavar="FILE")
@click.option("--model", required=True, metavar="hf/DIR", shell_complete=completer_for("base"), help="The model to train an adapter for.")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder of the adapter; continues what is there.")
@click.option("--from", "start", type=click.Path(path_type=Path), metavar="ADAPTER", help="Adapter of an earlier stage, merged first.")
@click.option("--recipe", default="study", metavar="NAME|FILE", show_default=True, shell_complete=completer_for("recipe"), help="The settings.")
@click.option("--learning-rate", type=float, metavar="X", help="Learning rate, in place of the recipe's.")
@click.option("--epochs", type=int, metavar="N", help="How often each row is read, in place of the recipe's.")
@click.option("--batch", type=int, metavar="N", help="Rows per step, in place of the recipe's.")
@click.option("--max-length", type=int, metavar="N", help="Most tokens of a row, in place of the recipe's; a longer row is refused.")
@click.option("--seed", type=int, metavar="N", help="Seed of weights and order, in place of the recipe's.")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), help="Type of the passes, in place of the recipe's; weights are float32.")
@click.option("--chat-template", type=_TEXT, metavar="FILE", help="Instead of the model's own, for rows with messages.")
@click.option("--threads", type=int, metavar="N", help="CPU threads.")
@click.option("--checkpoint", type=click.FloatRange(0), default=5.0, show_default=True, metavar="MIN", help="Minutes between checkpoints.")
@click.option("--dry-run", is_flag=True, help="Only measure what the training would take.")
@json_option
def command(method: Any, file: Path, model: str, out: Path, recipe: str, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Train an adapter (LoRA) on a file of rows: sft, dpo or rpo.

    FILE is what `talm-sim export training` writes. The same command continues a training that was stopped or killed, and ends with the same
    weights. Use the adapter with: talm-sim run --task TASK --model hf/DIR -M lora=OUT. This needs the extra `train`.

    \b
    sft  learns the answers
    dpo  learns to prefer the chosen answer to the rejected one
    rpo  the same, as strongly as rewards of 1 and 0 say (When2Call)
    """  # noqa: D301  # Click's mark, not an escape
    from talm_sim.training import Job, forecast, read_recipe, train, whole_checkpoints

    overrides = {key: given[key] for key in _OVERRIDES if given[key] is not None}
    settings = read_recipe(recipe, method, overrides)
    job = Job(method, file, model, out, settings, given["start"], given["chat_template"], given["threads"], given["checkpoint"] * 60)
    values = ", ".join(f"{key} {getattr(settings, key)}" for key in settings.open)
    note = f"recipe {recipe}: the paper does not state these, so their values are talm-sim's: {values}" if values else ""
    if dry_run:
        _print_forecast(forecast(job), job, note, as_json=as_json)
        return 0
    try:
        with _progress(note) as report:
            trained = train(job, report)
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may have gone
            kept = f"checkpoints are kept in {out}; run the same command to continue"
            click.echo(f"interrupted; {kept if whole_checkpoints(out) else _NOT_KEPT}", err=True)
        raise
    base = f"hf/{out / 'base'}" if job.start else model
    if as_json:
        print_json({"adapter": str(out), "base": base, "trained": trained})
    else:
        click.echo(out)
    done = "" if trained else "was finished before; "
    line = line_to_copy("talm-sim", "run", "--live", "--task", _task_of(file), "--model", base, "-M", f"lora={out}")
    click.echo(f"{done}use it: {line}", err=True)
    return 0


def _task_of(file: Path) -> str:
    """Return the task that rows were made from, as their card says; TASK if there is none."""
    from talm_sim.common.plain_files import LARGEST_DOCUMENT, read_text
    from talm_sim.tasks.registry import list_tasks

    try:
        task = json.loads(read_text(file.with_suffix(".card.json"), LARGEST_DOCUMENT))["task"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "TASK"
    return task if task in list_tasks() else "TASK"


def _print_forecast(found: Forecast, job: Job, note: str, *, as_json: bool) -> None:
    if note:
        click.echo(note, err=True)
    if as_json:
        names = ("rows", "tokens", "longest", "steps", "together", "tokens_per_s", "hours", "memory", "disk")
        print_json({name: getattr(found, name) for name in names})
        return
    epochs = count(job.recipe.epochs, "epoch")
    click.echo(
        f"{count(found.rows, 'row')}, {epochs}, {count(found.steps, 'step')}; {found.tokens:,} tokens, at most {found.longest:,} in a text"
    )
    click.echo(f"about {duration_words(found.hours * 3600)} at {found.tokens_per_s:,.0f} tokens per second, measured on the longest rows")
    click.echo(
        f"memory {found.memory / 1e9:.1f} GB at its peak, measured with {found.together} of the longest rows; disk {found.disk / 1e6:,.0f} MB"
    )
    click.echo("nothing was trained", err=True)


@contextmanager
def _progress(note: str) -> Iterator[Callable[[Step], None]]:
    """Show a bar with the time left on a terminal, otherwise a line now and then; before either, a note."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from talm_sim.cli.terminal.console import say, stderr

    console = stderr()

    def begin() -> None:
        if note:
            say(console, note)

    if console.is_terminal:
        columns = (TextColumn("steps"), BarColumn(bar_width=None), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        bar = Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console, transient=True)
        task = bar.add_task("", total=None)

        def move(step: Step) -> None:
            if step.loss is None:  # not earlier: errors about what is missing are printed without a bar
                begin()
                bar.start()
            bar.update(task, completed=step.number, total=step.total, description="" if step.loss is None else f"loss {step.loss:.4f}")

        try:
            yield move
        finally:
            if bar.live.is_started:
                bar.stop()
        return
    began, first, said = time.monotonic(), 0, 0.0

    def line(step: Step) -> None:
        nonlocal began, first, said
        now = time.monotonic()
        if step.loss is None:
            begin()
            began, first, said = now, step.number, now
            console.print(f"{count(step.total, 'step')}, {step.number} finished before", soft_wrap=True)
        elif now - said >= _SILENCE_S or step.number == step.total:
            said = now
            seconds = (now - began) / (step.number - first) * (step.total - step.number)
            left = f"; about {duration_words(seconds)} left" if seconds else ""
            console.print(f"[{step.number}/{step.total}] loss {step.loss:.4f}{left}", soft_wrap=True)

    yield line
