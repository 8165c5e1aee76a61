"""`talm-sim export training`: rows for training, from scenarios or from a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.parsing.shared_arguments import command_line, plugin_option, run_dir_option, warn_unclosed
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.models.local.tokenizer_only import TokenizerOnly
    from talm_sim.store.stored_run import StoredRun
    from talm_sim.training.lessons.lesson import Lessons
    from talm_sim.training.lessons.training_examples import TrainingSet
    from talm_sim.training.lessons.writing import RowSource, RowWriter, Write, WrittenRows
    from talm_sim.types import JsonObject

_TRL, _TASK = "trl", "when2call"


@click.command("training")
@click.argument("given", metavar="RUN|FILE", shell_complete=completer_for("run", files=True))
@click.option("--kind", type=click.Choice(["sft", "preference"]), required=True, help="Right answers, or each with a wrong one.")
@click.option("--format", "form", type=click.Choice([_TRL, "when2call"]), default=_TRL, show_default=True, help="Format to write.")
@click.option("--out", type=click.Path(path_type=Path), metavar="F", required=True, help="JSONL file to write; its card is F's .card.json.")
@click.option("--task", metavar="NAME", shell_complete=completer_for("task"), default=_TASK, show_default=True, help="Task of FILE.")
@click.option(
    "--model", metavar="P/N", shell_complete=completer_for("model"), help="Model to train: hf/DIR. Its tokenizer writes and counts the texts."
)
@click.option("-M", "model_options", multiple=True, metavar="K=V", help="Option of that model: chat_template=FILE; repeatable.")
@click.option(
    "--template",
    metavar="NAME|FILE",
    shell_complete=completer_for("template", files=True),
    default="auto",
    show_default=True,
    help="Prompt style for tools and calls, or a file.",
)
@click.option("--prompts", type=click.Path(path_type=Path), metavar="FILE", help="TOML file with prompt texts, as for run; of FILE.")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="Leave out rows that have more tokens; needs --model.")
@click.option("--balance", metavar="SHARES", default="natural", show_default=True, help="Shares of classes; when2call has paper and calls.")
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Random seed.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@run_dir_option
@plugin_option
def command(given: str, out: Path, **options: Any) -> None:
    """Write training rows from scenarios, or from the answers of a run.

    FILE is a JSONL file, as `run --scenarios` reads it, or hub:OWNER/DATASET[:FILE]; the right answers are the scenarios' own. Of a RUN, the
    answers that are right become rows of kind sft; for kind preference, each wrong answer is paired with a right one to the same scenario.

    Each row has a prompt and an answer in the very texts that the task puts to a model: name the model that will be trained. --format
    when2call writes the form of When2Call's published sets instead. A card is written next to F: sources, licences and shares, settings,
    and what was left out and why.
    """
    from talm_sim.recordings.shared_files import write_atomically
    from talm_sim.training.lessons.writing import make_card

    beside = out.with_suffix(".card.json")
    _check_options(out, beside, options)
    found = _find(given, options)
    written, settings = _write(found, options)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written.rows).encode()
    card = make_card(
        found.made,
        written.examples,
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


def _check_options(out: Path, beside: Path, options: Mapping[str, Any]) -> None:
    for path in (out, beside):
        if path.exists() and not options["force"]:
            raise PrerequisiteError(f"{path}: exists; choose another --out, or add --force to overwrite it.")
    if options["max_tokens"] is not None and options["model"] is None:
        raise PrerequisiteError("--max-tokens: needs the tokenizer that counts them; add --model hf/DIR.")
    useless = "--model" if options["model"] is not None else "--template" if options["template"] != "auto" else ""
    if options["form"] != _TRL and useless:
        raise PrerequisiteError(f"--format {options['form']}: is written without {useless}; leave it out, or use --format {_TRL}.")


@dataclass(slots=True)
class _Found:
    """What rows are made from: a set that is made, how it is written, and what the card says of its sources."""

    task: str
    made: TrainingSet
    write: Write
    sources: list[RowSource]
    settings: JsonObject


def _find(given: str, options: Mapping[str, Any]) -> _Found:
    from talm_sim.scenarios.hub import is_on_hub

    place = Path(given)
    is_file = place.is_file() or place.suffix == ".jsonl" or is_on_hub(place)
    return _from_file(place, options) if is_file else _from_run(given, options)


def _from_file(file: Path, options: Mapping[str, Any]) -> _Found:
    from talm_sim.config import RunConfig
    from talm_sim.scenarios.hub import local_file
    from talm_sim.tasks.registry import find_lessons, job_of
    from talm_sim.training.lessons.writing import RowSource, fit_scenarios

    name = options["task"]
    lessons, balance = find_lessons(name)(options["prompts"]), options["balance"]
    if options["prompts"] is not None and not lessons.reads_prompts:
        raise PrerequisiteError(f"--prompts {options['prompts']}: no text of a file is part of the rows of task {name}; leave it out.")
    if balance not in lessons.balances:
        raise PrerequisiteError(f"--balance {balance}: task {name} has {' and '.join(lessons.balances)}.")
    write, settings = _writer(name, lessons, options)
    job = job_of(RunConfig(task=name, scenarios=file, split="all"))
    read = job.task.load(job)
    made = fit_scenarios(read, lambda some: lessons.of_scenarios(some, options["kind"], seed=options["seed"], balance=balance), write)
    digest = hashlib.sha256(local_file(file, job.task.hub_file).read_bytes()).hexdigest()
    return _Found(name, made, write, [RowSource("scenarios", str(file), digest, len(read), {})], settings)


def _from_run(run: str, options: Mapping[str, Any]) -> _Found:
    from talm_sim.store.stored_run import load_run
    from talm_sim.tasks.reasoning import ReasoningOptions, instruct, thought_text
    from talm_sim.tasks.registry import find_lessons
    from talm_sim.training.lessons.outputs import PlayedRun
    from talm_sim.training.lessons.writing import RowSource, fit_examples

    source_of = click.get_current_context().get_parameter_source
    for name in ("task", "balance", "prompts"):
        if source_of(name) is not ParameterSource.DEFAULT:
            raise PrerequisiteError(f"--{name}: concerns a FILE of scenarios, and '{run}' is a run, which has its own; leave it out.")
    stored = load_run(run, options["run_dir"])
    with stored.at_once():
        if not stored.closed:
            warn_unclosed(stored.path, imported=stored.imported)
        job = stored.job
        lessons = find_lessons(job.task.name)(job.config.prompts)
        text = thought_text(job) if isinstance(job.options, ReasoningOptions) else ""
        write, settings = _writer(job.task.name, lessons, options)
        try:
            parts = (stored.scenarios(), stored.episodes(), stored.rows(), job.task.succeeded)
            played = PlayedRun(f"run {stored.id}", *parts, lambda scenario: instruct(scenario, text))
            made = lessons.of_run(played, options["kind"], seed=options["seed"])
        except PrerequisiteError as err:
            raise PrerequisiteError(f"{stored.path}: {err}") from None
        source = RowSource("run", stored.id, stored.manifest.dataset_digest, stored.finished, _about(stored))
    return _Found(job.task.name, fit_examples(made, _cleaned(write)), _cleaned(write), [source], settings)


def _about(stored: StoredRun) -> JsonObject:
    """Return what the card says of a run; a control is no language model."""
    model = stored.config.model
    return {"model": f"control: {model}" if model.startswith("sim/") else model, "imported": stored.imported}


def _cleaned(write: Write) -> Write:
    """Hide what looks like a credential: a run's texts come from elsewhere, and leave the project here."""
    from talm_sim.exchange.exports.safe_texts import Cleaner

    def clean(made: TrainingSet) -> WrittenRows:
        written, cleaner = write(made), Cleaner()
        written.rows = [cleaner.value(row) for row in written.rows]
        return written

    return clean


def _writer(task: str, lessons: Lessons, options: Mapping[str, Any]) -> tuple[Write, JsonObject]:
    """Return what writes the rows, and what the card says of it."""
    from talm_sim.training.lessons.writing import WrittenRows, write_rows

    if options["form"] != _TRL:
        if options["form"] not in lessons.published:
            raise PrerequisiteError(f"--format {options['form']}: no such set was published for task {task}; use --format {_TRL}.")
        published = lessons.published[options["form"]]
        return lambda made: WrittenRows([published(one) for one in made.examples], [*made.examples]), {}
    model = _tokenizer(options)
    writer: RowWriter = lessons.writer(model, options["template"])
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in writer.source.items()}
    settings: JsonObject = {"template": writer.template, "wording": digests, "model": options["model"], "max_tokens": options["max_tokens"]}
    write = partial(write_rows, writer=writer, measure=None if model is None else model.count_tokens, most=options["max_tokens"])
    return write, settings


def _tokenizer(options: Mapping[str, Any]) -> TokenizerOnly | None:
    from talm_sim.common.typed_options import split_options

    given = split_options(options["model_options"], "-M ")
    if options["model"] is None:
        if given:
            raise PrerequisiteError("-M: is an option of the model; add --model hf/DIR.")
        return None
    from talm_sim.models.local.tokenizer_only import open_tokenizer

    return open_tokenizer(options["model"], given)


def _write(found: _Found, options: Mapping[str, Any]) -> tuple[WrittenRows, JsonObject]:
    """Write all rows; return them with what the card says of how."""
    written = found.write(found.made)
    lengths = {"longest_row_tokens": written.longest, "merged_with_prompt": written.merged} if options["model"] is not None else {}
    return written, found.settings | lengths


def _report(card: JsonObject, beside: Path) -> None:
    classes = ", ".join(f"{number:,} {name}" for name, number in card["counts"]["right"].items())
    click.echo(f"{count(card['rows'], 'row')}: {classes}; card: {beside}", err=True)
    if len(card["shares"]) > 1:
        shares = ", ".join(f"{one['rows']:,} from {one['source']} ({one['share']:.0%})" for one in card["shares"])
        click.echo(one_line(f"sources: {shares}", 300), err=True)
    for one in card["left_out"]:
        ids = ", ".join(one["ids"][:3]) + ", …" * (one["number"] > 3)
        click.echo(one_line(f"left out {one['number']:,}: {one['why']} ({ids})", 300), err=True)
    if card.get("merged_with_prompt"):
        what = f"{count(card['merged_with_prompt'], 'answer')} whose first letters share a token with the end of the prompt"
        click.echo(f"warning: {what}; choose a --template whose prompt ends in a new line", err=True)
