"""Let a person judge a run at the terminal: an episode, a question, a key; blind to other verdicts, the model's name and the group."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from talm_sim.cli.parsing.shared_arguments import INTERRUPTED, command_line, print_json, short_name
from talm_sim.cli.person.by_key import Keyboard, Step, go_through
from talm_sim.cli.person.label_files import labels_csv, read_labels
from talm_sim.cli.person.question_page import FittedPage
from talm_sim.cli.report.report_files import write_file
from talm_sim.cli.terminal.console import say, stderr, with_command
from talm_sim.cli.terminal.text import clip, count, one_line, safe_text
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.store.people.alone import find_alone
from talm_sim.store.people.ballot import Ballot, GivenElsewhereError, choose_question, find_people, open_ballot, sample_of, shown_digests
from talm_sim.store.people.people_agreement import agreements, rate_of
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import PersonQuestion
from talm_sim.types import Verdict

_MOST = 100_000
"""Characters of a text that can be read here."""
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Characters that take no column on one terminal and one on another, and mean nothing in a word."""
_STEPS: dict[str, Step] = {"s": "skip", "u": "undo", "q": "quit"}
_LINES = 3
"""Rows that the question, its keys and a message take, besides the line that is typed."""


def _judge_items(ballot: Ballot, console: Console, keyboard: Keyboard, *, plain: bool = False) -> None:
    """Let a person judge what they have not judged yet; skipped items come once more at the end."""
    sitting = _Sitting(ballot, console, keyboard, plain=plain)
    console.print("Every verdict is saved at once: stop whenever you like and continue later.", style="dim")
    go_through(ballot.waiting(), sitting.decide_on, ballot.undo, sitting.say)


class _Sitting:
    """One person and their items."""

    def __init__(self, ballot: Ballot, console: Console, keyboard: Keyboard, *, plain: bool) -> None:
        self._ballot = ballot
        self._console = console
        self._keyboard = keyboard
        self._plain = plain
        labels = ballot.question.labels
        # In capitals the keys of a long label would be searched for: each stands before its label.
        self._choices = ", ".join(f"{key} {label.replace('_', ' ')}" for key, label in labels.items())
        self._keys = "".join((*labels, *_STEPS, "m#"))

    def decide_on(self, item: str) -> Step:
        """Show an item and let the person decide; one that they judged elsewhere, or enough others did meanwhile, is passed over."""
        self._ballot.catch_up()
        if (there := self._ballot.verdict(item)) is not None:
            return self._pass_over(there)
        if not self._ballot.is_wanted(item):
            return "done"
        labels, note = self._ballot.question.labels, ""
        page = self._page(item)
        self._console.print()
        page.show()
        self._console.print(Text(self._ballot.question.asks, style="bold"))
        more = "m more; " if page.pages > 1 else ""
        self._console.print(Text(f"{more}s skip; u undo; # add a note; q stop", style="dim"))
        while True:
            if (key := self._keyboard.press(f"{self._choices} > ", self._keys)) is None or key in _STEPS:
                return "quit" if key is None else _STEPS[key]
            if key in labels:
                try:
                    self._ballot.give(item, labels[key], note)
                except GivenElsewhereError as err:
                    return self._pass_over(err.verdict)
                self.say(f"saved: {labels[key].replace('_', ' ')}{f' ({one_line(note, 60)})' if note else ''}")
                return "done"
            if key == "m":
                page.show_more()
            elif key == "#":
                note = one_line(self._keyboard.read("note: ") or "", 1_000)
            else:
                self.say(f"Type one of {', '.join(self._keys)}.")

    def _pass_over(self, there: Verdict) -> Step:
        self.say(f"already judged elsewhere as {self._ballot.name or 'settled'}: {there.label.replace('_', ' ')}; that verdict stays")
        return "done"

    def say(self, text: str) -> None:
        """Print a line."""
        say(self._console, text, "dim")

    def _page(self, item: str) -> FittedPage:
        ballot = self._ballot
        # Neither the episode's name nor its place in the run: they may say the group.
        number = ballot.items.index(item) + 1
        parts = [(one_line(title, 60), [Text(shown_text(text))]) for title, text in ballot.material(item)]
        titles = [title for title, _ in parts]
        further = len(Text(ballot.question.asks).wrap(self._console, self._console.width)) - 1
        title = f"{number} of {len(ballot.items)}, {ballot.given} judged"
        return FittedPage(self._console, title, parts, matters=(titles[-1], *titles[:-1]), more="m", around=_LINES + further, plain=self._plain)


def shown_text(text: str) -> str:
    """Return a text as a person reads it here: nothing in it acts, and one that is far too long is cut."""
    text = _INVISIBLE.sub("", safe_text(text)).strip()
    left = len(text) - _MOST
    return text if left <= 0 else f"{clip(text, _MOST)}\n({count(left, 'more character')})"


def run_of_scenarios(scenarios: Path | None, run_dir: Path, task: str) -> StoredRun:
    """Return the run of scenarios which nothing was played on."""
    stored = find_alone(scenarios, run_dir, task=task, command=command_line())
    click.echo(f"run of these scenarios alone: {safe_text(str(stored.path))}", err=True)
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
                _judge_items(ballot, console, keyboard, plain=plain)
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
        click.echo(with_command("continue with", line_to_copy("talm-sim", "judge", run, "--judge", "person", *who, *asked)), err=True)
    else:
        click.echo(with_command("see how far people and judges agree", line_to_copy("talm-sim", "report", run)), err=True)
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
            rate, missing = rate_of(stored, people)
        found |= {
            "sample": {"seed": sample.seed, "episodes": len(sample.episodes), "of": sum(sample.sizes.values()), "strata": sample.strata()},
            "rate": {"value": rate.value, "low": rate.low, "high": rate.high, "labels": rate.n, "without_labels": missing},
            "open": len(sample.episodes) - len(people.said),
            "judged": {name: sum(name in said for said in people.said.values()) for name in people.names},
            "disputed": people.disputed(),
            "settled": sorted(people.settled),
            "undecided": people.undecided(),
            "agreement": records,
        }
    print_json(found)
