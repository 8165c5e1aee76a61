"""`talm-sim show RUN:EPISODE`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.parsing.shared_arguments import json_option, list_table, plugin_option, print_json, run_dir_option, warn_unclosed
from talm_sim.cli.report.transcript import stored_transcript
from talm_sim.cli.terminal.console import print_page, stdout
from talm_sim.cli.terminal.text import one_line, safe_text
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.person import PEOPLE, person_of
from talm_sim.store.files.manifest import LATEST
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Verdict

_FAULTS = {"failed": "Failed", "fired": "Faults"}
"""Calls that failed, and faults that fired: columns of the list if there are any."""
_OUTCOME = "outcome"
_WORDS = {True: "pass", False: "fail", None: "-"}


@click.command()
@click.argument("episode", metavar="[RUN[:EPISODE]]", default=LATEST, shell_complete=completer_for("episode"))
@run_dir_option
@plugin_option
@json_option
@click.option("--full", is_flag=True, help="Show long prompts, questions and tool results in full.")
@click.option("--no-pager", is_flag=True, help="Print what is longer than the terminal at once.")
def command(episode: str, run_dir: Path, as_json: bool, full: bool, no_pager: bool) -> None:
    """Print one episode as a transcript.

    It shows the query, what was missing, the awareness questions and answers, the prompt, every turn with its tool calls and questions,
    the perturbations, the final answer and the verdicts. With RUN alone, the run's episodes are listed; without RUN, those of the newest.
    The list says how each ended, its outcome, its calls, how many failed, the faults that fired, and its verdicts; waiting episodes are last.
    Identical turns and calls are printed once unless --full is given. What is longer than the terminal is shown by PAGER's program.
    """
    stored, episode_id = _find(episode, run_dir)
    with stored.at_once():
        if not stored.closed:
            warn_unclosed(stored.path, imported=stored.imported)
        if not episode_id:
            _print_episodes(stored, as_json, paged=not no_pager)
        else:
            _print_episode(stored, episode_id, as_json, full=full, paged=not no_pager)


def _print_episode(stored: StoredRun, episode_id: str, as_json: bool, *, full: bool, paged: bool) -> None:
    found = stored.episode(episode_id)
    if as_json:
        scenario = next((item for item in stored.scenarios() if item.id == found.scenario_id), None)
        verdicts = [verdict for verdict in stored.verdicts_of_all() if verdict.episode_id == found.id]
        said = [verdict.model_dump(mode="json") for verdict in verdicts]
        comments = [one.model_dump() for one in stored.comments(found.id)]
        query = scenario.query if scenario else None
        print_json({"episode": found.model_dump(mode="json"), "verdicts": said, "query": query, "comments": comments})
        return
    print_page(stored_transcript(stored, found, full=full), paged=paged)


def _fit(lines: Sequence[Mapping[str, Any]], columns: dict[str, str], own: Iterable[str]) -> Iterator[RenderableType]:
    """Return the list; if it is too broad, what is the same in all lines is said below it, and then judges and faults are left out."""
    alike = [key for key in ("termination", *own) if len({str(line[key]) for line in lines}) == 1]
    left_out: list[str] = []
    room = stdout().width

    def width() -> int:
        cells = ([*head.split("\n"), *(str(line[key]) for line in lines)] for key, head in columns.items())
        return sum(max(map(cell_len, one)) + 2 for one in cells) - 2

    if len(lines) > 1 and width() > room:
        columns = {key: head.replace("-", "-\n", 1) if key.startswith("judge ") else head for key, head in columns.items()}
        while alike and width() > room:
            key = alike.pop()
            left_out.insert(0, f"{columns.pop(key)}: {'(nothing)' if lines[0][key] == '' else lines[0][key]}")
    unseen = [key for key in columns if key.startswith("judge ") or key in _FAULTS] if _OUTCOME in columns else []
    narrow = [columns.pop(key).replace("-\n", "-") for key in unseen if width() > room]
    yield list_table(lines, columns)
    if left_out:
        yield Text(f"\nin all episodes: {safe_text(', '.join(left_out))}", style="dim")
    if narrow:
        yield Text(f"\nnot shown, as the terminal is narrow: {safe_text(', '.join(narrow))}", style="dim")


def _find(text: str, run_dir: Path) -> tuple[StoredRun, str]:
    """Split RUN:EPISODE at the first colon that ends a run's name; a path may hold others."""
    parts = text.split(":")
    for end in range(1, len(parts) + 1):
        try:
            return load_run(":".join(parts[:end]), run_dir), ":".join(parts[end:])
        except PrerequisiteError:
            continue
    return load_run(parts[0], run_dir), ""


def _print_episodes(stored: StoredRun, as_json: bool, *, paged: bool) -> None:
    said: dict[str, list[Verdict]] = {}
    for verdict in stored.verdicts_of_all():
        said.setdefault(verdict.episode_id, []).append(verdict)
    queries = {item.id: item.query for item in stored.scenarios()}
    listed = stored.job.task.listed
    every = stored.rows()
    counted = {row.episode: {**row.values, **row.labels} for row in every}
    outcomes = {row.episode: row.outcome for row in every}
    rows: list[dict[str, Any]] = []
    for item in stored.episodes():
        row: dict[str, Any] = {
            "episode": item.id,
            "termination": item.termination.value,
            _OUTCOME: outcomes.get(item.id, ""),
            "tools": len(item.tool_events),
            "failed": sum(not event.ok for event in item.tool_events),
            "fired": sum(log.fired for log in item.perturbations),
            "questions": len(item.questions),
            "verdicts": [verdict.model_dump(mode="json", exclude={"episode_id", "judge_config_digest"}) for verdict in said.get(item.id, ())],
            "query": queries.get(item.scenario_id, ""),
        }
        own = counted.get(item.id, {})
        rows.append(row | {head.lower(): own.get(name, "") for name, head in listed.items() if name not in row})
    waiting = [
        {"episode": one.episode_id, "termination": "waiting", "verdicts": [], "query": one.query, "question": one.question}
        for one in stored.pending()
    ]
    if as_json:
        print_json(rows + waiting)
        return
    short = {
        label: head for one in stored.summary() for matrix in one.matrices for label, head in zip(matrix.columns, matrix.heads, strict=False)
    }
    shown = {name if name in {"tools", "questions"} else head.lower(): head for name, head in listed.items()}
    # People's verdicts are one column, that of what counts: a screen has no room for one per person.
    decided = [verdict for one in said.values() for verdict in one if verdict.value is not None]
    judges = dict.fromkeys(verdict.judge for verdict in decided if person_of(verdict.judge) is None)
    people = {PEOPLE: "people"} if any(PEOPLE in own for own in counted.values()) else {}
    faults = {key: head for key, head in _FAULTS.items() if any(row[key] for row in rows)}
    came = {_OUTCOME: "Outcome"} if "tools" in listed and any(row[_OUTCOME] for row in rows) else {}
    columns = {"episode": "Episode", "termination": "Ended", **came, **shown, **faults, **{f"judge {name}": name for name in judges}, **people}
    lines = [row | {key: "" if row[key] is None else short.get(row[key], row[key]) for key in shown} for row in rows]
    for line in lines:
        line.update(dict.fromkeys(columns.keys() - line.keys(), ""))
        line.update({f"judge {one['judge']}": _WORDS[one["value"]] for one in line["verdicts"]})
        said_yes = counted.get(line["episode"], {}).get(PEOPLE)
        line.update({name: _WORDS[None if said_yes is None else bool(said_yes)] for name in people})
    if not lines:
        click.echo("no episodes are finished yet", err=True)
    parts: list[RenderableType] = [*_fit(lines, columns, shown)] if lines else []
    if waiting:
        shown_waiting = [row | {"question": one_line(row["question"])} for row in waiting]
        parts += [Text(), list_table(shown_waiting, {"episode": "Waiting", "question": "Question"})]
    print_page(Group(*parts), paged=paged)
