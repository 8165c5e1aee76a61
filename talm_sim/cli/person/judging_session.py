"""`talm-sim judge --judge person` as a whole: what is judged and by whom, and what is printed and written at the end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.arguments import INTERRUPTED, command_line, print_json, short_name
from talm_sim.cli.person.by_key import Keyboard
from talm_sim.cli.person.judging import judge_items
from talm_sim.cli.person.label_files import labels_csv, read_labels
from talm_sim.cli.report.files import write_file
from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import count, strip_control
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.runs.people.agreement import agreements
from talm_sim.runs.people.alone import find_alone
from talm_sim.runs.people.ballot import choose_question, find_people, open_ballot, sample_of, shown_digests
from talm_sim.runs.stored_run import StoredRun, load_run
from talm_sim.tasks import PersonQuestion

__all__ = ["find_run", "let_judge", "print_agreement", "take_labels", "write_labels"]


def find_run(run: str | None, scenarios: Path | None, run_dir: Path, task: str) -> StoredRun:
    """Return the run that people judge, or that of scenarios which nothing was played on."""
    if run is not None:
        return load_run(run, run_dir)
    stored = find_alone(scenarios, run_dir, task=task, command=command_line())
    click.echo(f"run of these scenarios alone: {strip_control(str(stored.path))}", err=True)
    return stored


def let_judge(
    stored: StoredRun,
    question: PersonQuestion,
    name: str,
    *,
    size: int | None,
    seed: int | None,
    reviews: int | None,
    settle: bool,
    plain: bool,
) -> int:
    """Let a person judge at the terminal; return the exit code."""
    console, interrupted = stderr(), False
    plain = plain or console.is_dumb_terminal
    with closing(open_ballot(stored, question, name, size=size, seed=seed, reviews=reviews, settle=settle)) as ballot:
        try:
            with Keyboard(console, plain=plain) as keyboard:
                judge_items(ballot, console, keyboard, plain=plain)
        except KeyboardInterrupt:
            interrupted = True
            click.echo("\ninterrupted; all verdicts are kept", err=True)
        given, left = ballot.given, len(ballot.items) - ballot.given
    run = short_name(stored.path)
    click.echo(f"{given:,} of {count(given + left, 'item')} judged", err=True)
    if left:
        who = ("--settle",) if settle else ("--name", name)
        asked: tuple[str, ...] = ("--question", question.name) if question.name != choose_question(stored).name else ()
        asked += () if reviews is None else ("--reviews", str(reviews))
        click.echo(f"continue with: {line_to_copy('talm-sim', 'judge', run, '--judge', 'person', *who, *asked)}", err=True)
    else:
        click.echo(f"see how far people and judges agree: {line_to_copy('talm-sim', 'report', run)}", err=True)
    return INTERRUPTED if interrupted else 0


def take_labels(stored: StoredRun, question: PersonQuestion, file: Path, name: str, *, size: int | None, seed: int | None) -> None:
    """Keep the labels of a file, all or none of each person."""
    sample = sample_of(stored, question, size, seed)
    labels, empty = read_labels(file, question, sample, find_people(stored, question), shown_digests(stored, question, sample), name)
    for who, given in labels.items():
        with closing(open_ballot(stored, question, who)) as ballot:
            ballot.give_all(given)
    taken = ", ".join(f"{count(len(given), 'label')} of {who}" for who, given in labels.items()) or "no new label"
    click.echo(f"taken: {taken}" + (f"; {count(empty, 'line')} without a label" if empty else ""), err=True)


def write_labels(stored: StoredRun, question: PersonQuestion, file: Path, *, size: int | None, seed: int | None) -> None:
    """Write the labels that people gave, and a line for each episode that nobody judged; to standard output if the file is `-`."""
    to_output = str(file) == "-"
    if not to_output and file.exists():
        raise PrerequisiteError(f"--labels-out {file}: exists; name another file.")
    sample = sample_of(stored, question, size, seed)
    data = labels_csv(sample, find_people(stored, question), shown_digests(stored, question, sample))
    if to_output:
        click.echo(data, nl=False)
    else:
        write_file(file, data)


def print_agreement(stored: StoredRun, question: PersonQuestion) -> None:
    """Print, as JSON, who judged how many and how far they agree; nothing is drawn for it."""
    people = find_people(stored, question)
    found: dict[str, Any] = {"run": stored.id, "question": question.name, "asks": question.asks, "sample": None, "judged": {}}
    if people is not None:
        sample = people.sample
        with stored.at_once():
            records = [one.record(question) for one in agreements(stored, people)]
        found |= {
            "sample": {"seed": sample.seed, "episodes": len(sample.episodes), "of": sum(sample.sizes.values()), "strata": sample.sizes},
            "judged": {name: sum(name in said for said in people.said.values()) for name in people.names},
            "disputed": people.disputed(),
            "settled": sorted(people.settled),
            "undecided": people.undecided(),
            "agreement": records,
        }
    print_json(found)
