"""Write and read people's labels as CSV, for verdicts that are given elsewhere, for example in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from talm_sim.cli.terminal.text import one_line, spreadsheet_cell
from talm_sim.common.plain_files import LARGEST_DATA, UnfitFileError, read_text
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.store.people.kept_verdicts import PeopleVerdicts, check_person
from talm_sim.store.people.sample import Sample
from talm_sim.tasks import PersonQuestion

COLUMNS = ("episode", "name", "label", "note", "shown", "given_at", "counts")
_FILL_IN = "write the file with --labels-out, and fill in `label` and `name`"
Labels = dict[str, dict[str, tuple[str, str]]]
"""Each person to the label and the note of each episode."""


def _label_records(sample: Sample, people: PeopleVerdicts | None, shown: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield one record per verdict, and one without a label per episode that nobody judged; `counts` is the label that counts there."""
    for episode in sorted(sample.episodes):
        said = {} if people is None else people.said.get(episode, {})
        counts = verdict.label if people is not None and (verdict := people.verdict(episode)) is not None else ""
        for name, verdict in sorted(said.items()):
            given = "" if verdict.given_at is None else datetime.fromtimestamp(verdict.given_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            yield dict(zip(COLUMNS, (episode, name, verdict.label, verdict.explanation, shown[episode], given, counts), strict=True))
        if not said:
            yield {**dict.fromkeys(COLUMNS, ""), "episode": episode, "shown": shown[episode]}


def labels_csv(sample: Sample, people: PeopleVerdicts | None, shown: Mapping[str, str]) -> bytes:
    """Return the records as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([spreadsheet_cell(record[column]) for column in COLUMNS] for record in _label_records(sample, people, shown))
    return text.getvalue().encode()


def read_labels(
    file: Path, question: PersonQuestion, sample: Sample, people: PeopleVerdicts | None, shown: Mapping[str, str], name: str = ""
) -> tuple[Labels, int]:
    """Read a CSV file of labels, with a head: `episode`, `label`, `shown`, and where they are there `name` and `note`.

    Returns:
        The labels that are new, and how many of its lines have none.
    """
    try:
        text = read_text(file, LARGEST_DATA, "utf-8-sig")
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{file}: is not UTF-8; save it as CSV in UTF-8.") from None
    except (UnfitFileError, OSError) as err:
        raise PrerequisiteError(f"{file}: cannot be read: {err.strerror}.") from None
    return parse_labels(text, file, question, sample, people, shown, name)


def parse_labels(
    text: str, file: Path, question: PersonQuestion, sample: Sample, people: PeopleVerdicts | None, shown: Mapping[str, str], name: str = ""
) -> tuple[Labels, int]:
    """Parse what such a file contains; see `read_labels`."""
    meant = {key: label for known in question.labels.items() for key, label in ((known[0], known[1]), (known[1].lower(), known[1]))}
    found: Labels = {}
    empty = 0
    for where, record in _records(file, text):
        label = meant.get(record["label"].strip().lower())
        if not record["label"].strip():
            empty += 1
            continue
        if label is None:
            raise PrerequisiteError(f"{where}: label: '{one_line(record['label'], 40)}' is none of {', '.join(question.labels.values())}.")
        who = record.get("name", "").strip() or name
        if not who or (name and who != name):
            fix = (
                f"is of '{one_line(who, 40)}', not of --name {name}"
                if who
                else "says of nobody whose label it is; add a column `name`, or --name NAME"
            )
            raise PrerequisiteError(f"{where}: {fix}.")
        try:
            check_person(who)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"{where}: {str(err).removeprefix('--')}") from None
        episode = _episode(record["episode"], where, sample)
        _check_shown(record["shown"].strip(), shown[episode], where, episode)
        before = None if people is None else people.said.get(episode, {}).get(who)
        if before is not None and before.label != label:
            raise PrerequisiteError(
                f"{where}: {who} has judged '{one_line(episode, 60)}' already: {before.label}; take that back first, or leave out the line."
            )
        if episode in found.setdefault(who, {}):
            raise PrerequisiteError(f"{where}: has a second label by {who} of '{one_line(episode, 60)}'.")
        if before is None:
            found[who][episode] = label, one_line(record.get("note", ""), 1_000)
    return {who: labels for who, labels in found.items() if labels}, empty


def _episode(text: str, where: str, sample: Sample) -> str:
    name = text if text in sample.episodes else text.removeprefix("'")  # as a spreadsheet was kept from reading a formula
    if name not in sample.episodes:
        raise PrerequisiteError(f"{where}: episode: '{one_line(name, 60)}' is not one that people judge.{did_you_mean(name, sample.episodes)}")
    return name


def _check_shown(given: str, own: str, where: str, episode: str) -> None:
    """Refuse a label of anything but what people are shown of this run's episode."""
    if given != own:
        what = "was given to something else than this run's episode or question" if given else "does not say what was judged"
        raise PrerequisiteError(f"{where}: shown: the label of '{one_line(episode, 60)}' {what}; {_FILL_IN}.")


def _records(file: Path, text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each line with its place."""
    first = text.partition("\n")[0]
    reader: csv.DictReader[str] = csv.DictReader(io.StringIO(text), delimiter=";" if ";" in first and "," not in first else ",", strict=True)
    heads = _reading(file, reader, lambda: list(reader.fieldnames or ()))
    lacking = [head for head in ("episode", "label", "shown") if head not in heads]
    if lacking or len({*heads}) < len(heads):
        if lacking == ["shown"]:
            raise PrerequisiteError(f"{file}:1: has no column 'shown', so it may be of another run; {_FILL_IN}.")
        fix = f"has no column '{lacking[0]}'" if lacking else "names a column twice"
        raise PrerequisiteError(f"{file}:1: {fix}; {_FILL_IN}.")
    while (record := _reading(file, reader, lambda: next(reader, None))) is not None:
        where = f"{file}:{reader.line_num}"
        if None in record or None in record.values():
            raise PrerequisiteError(f"{where}: has {'more' if None in record else 'fewer'} cells than the head.")
        yield where, record


def _reading(file: Path, reader: csv.DictReader[str], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except csv.Error as err:
        raise PrerequisiteError(f"{file}:{reader.reader.line_num}: is not CSV ({err}).") from None
