"""`talm-sim export training`: rows for training, from scenarios or a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.parsing.arguments import command_line, completer_for, plugin_option
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.models.local.tokenizer_only import TokenizerOnly
    from talm_sim.tasks.training.card import RowSource
    from talm_sim.tasks.training.examples import TrainingSet
    from talm_sim.tasks.training.lessons import Lessons
    from talm_sim.types import JsonObject

__all__ = ["command"]

_TRL = "trl"


@click.command("training")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--kind", type=click.Choice(["sft", "preference"]), required=True, help="Right answers, or each with a wrong one.")
@click.option("--format", "form", type=click.Choice([_TRL, "when2call"]), default=_TRL, show_default=True, help="Format to write.")
@click.option("--out", type=click.Path(path_type=Path), metavar="F", required=True, help="JSONL file to write; its card is F's .card.json.")
@click.option("--task", metavar="NAME", shell_complete=completer_for("task"), default="when2call", show_default=True, help="Task of FILE.")
@click.option("--model", metavar="P/N", help="Model to train: hf/DIR. Its tokenizer writes and counts the texts.")
@click.option("-M", "model_options", multiple=True, metavar="K=V", help="Option of that model: chat_template=FILE; repeatable.")
@click.option("--template", metavar="NAME|FILE", default="auto", show_default=True, help="Prompt style for tools and calls, or a file.")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="Leave out rows that have more tokens; needs --model.")
@click.option("--balance", metavar="SHARES", default="natural", show_default=True, help="Shares of the classes; when2call: paper, calls.")
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Random seed.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@plugin_option
def command(file: Path, out: Path, **options: Any) -> None:
    """Write training rows from scenarios.

    FILE is a JSONL file, as `run --scenarios` reads it. Each row has a prompt and an answer in the very texts that the task puts to the
    model and scores: give the model that will be trained. --format when2call writes the form of When2Call's published sets instead.
    A card is written next to F: sources and licences, counts, settings, and what was left out and why.
    """
    from talm_sim.recordings.files import write_atomically
    from talm_sim.tasks.training.card import make_card

    beside = out.with_suffix(".card.json")
    _check_options(out, beside, options)
    found = _from_file(file, options)
    rows, examples, settings = _write(found, options)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    card = make_card(
        found.made,
        examples,
        found.sources,
        task=found.task,
        format=options["form"],
        **settings,
        command=command_line(),
        seed=options["seed"],
        balance=options["balance"],
        sha256=hashlib.sha256(text).hexdigest(),
    )
    write_atomically(out, text)
    write_atomically(beside, (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    click.echo(out)
    _report(card, beside)


@dataclass(frozen=True, slots=True)
class _Found:
    task: str
    lessons: Lessons
    made: TrainingSet
    sources: list[RowSource]


def _check_options(out: Path, beside: Path, options: Mapping[str, Any]) -> None:
    for path in (out, beside):
        if path.exists() and not options["force"]:
            raise PrerequisiteError(f"{path}: exists; choose another --out, or add --force to overwrite it.")
    if options["max_tokens"] is not None and options["model"] is None:
        raise PrerequisiteError("--max-tokens: needs the tokenizer that counts them; add --model hf/DIR.")
    if options["form"] != _TRL and (options["model"] is not None or options["template"] != "auto"):
        raise PrerequisiteError(f"--format {options['form']}: has no prompts, so --model and --template do nothing; leave them out.")


def _from_file(file: Path, options: Mapping[str, Any]) -> _Found:
    from talm_sim.scenarios.hub import local_file
    from talm_sim.tasks.registry import find_lessons, find_task
    from talm_sim.tasks.training.card import RowSource

    task = find_task(options["task"])
    lessons = find_lessons(task.name)
    _check_lessons(task.name, lessons, options)
    local = local_file(file, task.hub_file)
    read = task.read(task.groups("all"), local)
    made = lessons.of_scenarios(read, options["kind"], seed=options["seed"], balance=options["balance"])
    return _Found(task.name, lessons, made, [RowSource("scenarios", str(file), hashlib.sha256(local.read_bytes()).hexdigest(), len(read), {})])


def _check_lessons(task: str, lessons: Lessons, options: Mapping[str, Any]) -> None:
    if options["balance"] not in lessons.balances:
        raise PrerequisiteError(f"--balance {options['balance']}: task {task} has {' and '.join(lessons.balances)}.")
    if options["form"] != _TRL and options["form"] not in lessons.published:
        raise PrerequisiteError(f"--format {options['form']}: no such set was published for task {task}; use --format {_TRL}.")


def _write(found: _Found, options: Mapping[str, Any]) -> tuple[list[JsonObject], Any, JsonObject]:
    """Return the rows, their examples, and what the card says of how they were written."""
    from talm_sim.tasks.training.writing import write_rows

    if options["form"] != _TRL:
        write = found.lessons.published[options["form"]]
        return [write(one) for one in found.made.examples], found.made.examples, {}
    model = _tokenizer(options)
    writer = found.lessons.writer(model, options["template"])
    written = write_rows(found.made, writer, model.count_tokens if model else None, options["max_tokens"])
    found.made.examples = written.examples
    found.made.refuse_empty("what was given")
    settings: JsonObject = {"template": writer.template, "wording": _digests(writer.source), "model": options["model"]}
    if model is not None:
        texts = ((row["prompt"], row[key]) for row in written.rows for key in ("completion", "chosen", "rejected") if key in row)
        merged = sum(not model.splits_cleanly(*pair) for pair in texts)
        settings |= {"longest_row_tokens": written.longest, "merged_with_prompt": merged, "max_tokens": options["max_tokens"]}
    return written.rows, written.examples, settings


def _tokenizer(options: Mapping[str, Any]) -> TokenizerOnly | None:
    from talm_sim.cli.parsing.options import split_options
    from talm_sim.models.local.tokenizer_only import open_tokenizer

    given = split_options(options["model_options"], "-M ")
    if options["model"] is None:
        if given:
            raise PrerequisiteError("-M: is an option of the model; add --model hf/DIR.")
        return None
    return open_tokenizer(options["model"], given)


def _digests(source: Mapping[str, str]) -> dict[str, str]:
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in source.items()}


def _report(card: JsonObject, beside: Path) -> None:
    """Say what was written, and what was not."""
    classes = ", ".join(f"{number:,} {name}" for name, number in card["counts"]["right"].items())
    click.echo(f"{count(card['rows'], 'row')}: {classes}; card: {beside}", err=True)
    for one in card["left_out"]:
        click.echo(
            one_line(f"left out {one['number']:,}: {one['why']} ({', '.join(one['ids'][:3])}{', …' * (one['number'] > 3)})", 300), err=True
        )
    if card.get("merged_with_prompt"):
        said = f"{count(card['merged_with_prompt'], 'answer')} begin within a token of the prompt; choose a --template that ends in a new line"
        click.echo(f"warning: {said}", err=True)
