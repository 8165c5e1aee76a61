"""Tidy tables: episodes as flat rows, judges' own measures and labels beside a task's, and pandas frames if pandas is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.judges.repeats import outcomes_of, repeat_measures, repeat_notes
from talm_sim.judges.stats import pool_rates, share
from talm_sim.store.files.comments import Comment
from talm_sim.tasks import Job, RunView
from talm_sim.tasks.outcomes import BY_SUCCESS, NO_ANSWER, outcome_measures
from talm_sim.types import AwarenessKind, Episode, LabelMeasured, Matrix, Measure, Measured, Row, Scenario, Summary, ToolSpec, Verdict

if TYPE_CHECKING:
    import pandas

_SETTINGS = ("agent", "human", "perturb", "tools_from")
"""Tasks' own options that describe the conditions under which an agent acted."""
_MOST_THINGS = 8
"""Rows of a matrix: each scenario may have a mask of its own."""


def episode_record(episode: Episode, asked: Iterable[AwarenessKind] = ()) -> dict[str, Any]:
    """Return what happened in one episode, as a flat row."""
    tools, people = episode.tool_events, episode.questions
    said = {answer.kind: answer.value.value for answer in reversed(episode.awareness)}
    return {
        "episode": episode.id,
        "scenario": episode.scenario_id,
        "group": episode.group,
        "epoch": episode.epoch,
        "attempt": episode.attempt,
        "model": episode.model,
        "human": episode.human,
        "termination": episode.termination.value,
        "completed": episode.termination.completed,
        **{f"awareness_{kind.value}": said.get(kind) for kind in asked},
        "model_turns": len(episode.model_turns),
        "tool_calls": len(tools),
        "tool_failures": sum(not event.ok for event in tools),
        "human_calls": len(people),
        "perturbations_fired": sum(log.fired for log in episode.perturbations),
        "input_tokens": episode.usage.input_tokens,
        "output_tokens": episode.usage.output_tokens,
        "elapsed_s": episode.elapsed_s,
        "answer": episode.answer,
        "error": episode.error,
    }


def episode_records(name: str, run: RunView, counted: Iterable[Row]) -> list[dict[str, Any]]:
    """Return one flat row per episode; see `StoredRun.to_records`."""
    said: dict[str, dict[str, bool | str | None]] = {}
    for verdict in run.verdicts():
        said.setdefault(verdict.episode_id, {})[verdict.judge] = verdict.value if verdict.labels else verdict.label or verdict.value
    judges = sorted({judge for values in said.values() for judge in values})
    rows = {row.episode: row for row in counted}
    columns = list(dict.fromkeys(name for row in rows.values() for name in (*row.values, *row.labels)))
    settings, tools, task = settings_of(run.job), run.tools(), run.job.task
    named = any(row.outcome for row in rows.values())
    questions = {kind for group in task.splits["all"] for kind in task.questions(group)}
    asked = [kind for kind in AwarenessKind if kind in questions]
    category = {scenario.id: _category_of(scenario, tools) for scenario in run.scenarios()}
    found = []
    for episode in run.episodes():
        record = {"run": name} | episode_record(episode, asked)
        record |= {column: value for column, value in settings.items() if column not in record}
        record |= {"tools": episode.tools or settings["tools"], "category": category.get(episode.scenario_id, "")}
        row = rows.get(episode.id)
        values = {**row.values, **row.labels} if row else {}
        record |= {"outcome": row.outcome if row else ""} if named else {}
        record |= {column: values.get(column) for column in columns}
        found.append(record | {judge: said.get(episode.id, {}).get(judge) for judge in judges})
    return found


def add_comment_texts(records: Sequence[dict[str, Any]], comments: Sequence[Comment]) -> list[dict[str, Any]]:
    """Add a column with what readers wrote on each episode, one comment per line; no column if nobody wrote anything."""
    said: dict[str, list[str]] = {}
    for one in comments:
        said.setdefault(one.episode_id, []).append(f"{one.attribution}: {one.text}")
    return [{**record, **({"comments": "\n".join(said.get(record["episode"], ()))} if said else {})} for record in records]


def settings_of(job: Job[Any]) -> dict[str, Any]:
    """Return what distinguishes a run from others, as flat columns, with its task's own options. A list is one text with spaces."""
    config, options = job.config, job.options
    own = dict.fromkeys((*_SETTINGS, *job.task.named_by))
    return {
        "task": config.task,
        "split": config.split,
        "model": config.model,
        **({"adapter": config.model_options["lora"]} if "lora" in config.model_options else {}),
        **{name: _as_text(getattr(options, name)) for name in own if hasattr(options, name)},
        "tools": config.tools and config.tools.value,
        "seed": config.seed,
        "temperature": job.settings().temperature,
    }


def _category_of(scenario: Scenario, tools: Mapping[str, ToolSpec]) -> str:
    """Return the categories of a scenario's tools, with spaces between; empty if none is known."""
    return " ".join(sorted({tools[name].category for name in scenario.tools if name in tools and tools[name].category}))


def _as_text(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def add_judge_values(rows: Iterable[Row], judges: Mapping[str, Measured], verdicts: Iterable[Verdict]) -> list[Row]:
    """Add to each row what judges with a measure of their own said of its episode."""
    if not judges:
        return list(rows)
    said: dict[str, dict[str, bool | float | None]] = {}
    labels: dict[str, dict[str, str]] = {}
    for verdict in verdicts:
        if (measure := judges.get(verdict.judge)) is not None:
            said.setdefault(verdict.episode_id, {}).update({measure.name: verdict.value, **_label_values(verdict, measure)})
            labels.setdefault(verdict.episode_id, {}).update({f"{verdict.judge} {thing}": label for thing, label in verdict.labels.items()})
    found = []
    for row in rows:
        more = {"values": {**row.values, **said.get(row.episode, {})}, "labels": {**row.labels, **labels.get(row.episode, {})}}
        found.append(row.model_copy(update=more))
    return found


def summary_with(summary: Summary, rows: Sequence[Row], judges: Mapping[str, Measured], job: Job[Any]) -> Summary:
    """Add a column for each judge with a measure of its own and, of several epochs, what they say together.

    A row without episodes of its own, such as an average of groups, gets a dash in place of a judge's measure, and nothing of epochs.
    """
    group = [row for row in rows if row.group == summary.group]
    own: list[Measure] = []
    matrices = [*summary.matrices]
    for judge, measure in judges.items():
        if measure.labels:
            own += [] if summary.derived else _label_measures(group, judge, measure)
            matrices += [] if summary.derived else _label_matrix(group, judge, measure)
            continue
        rate = None if summary.derived else share(group, measure.name)
        own.append(Measure.of(rate, measure.name, measure.head, note=measure.about, by=judge, better=measure.better))
    notes: list[str] = []
    epochs = job.config.epochs
    if epochs > 1 and group and not summary.derived:
        scenarios = outcomes_of(group, job.task.succeeded)
        own += repeat_measures(scenarios, epochs)
        notes = repeat_notes(scenarios, epochs)
    every = job.task.outcomes or (*BY_SUCCESS, NO_ANSWER)
    outcomes = () if summary.derived else outcome_measures(group, job.task.expected(summary.group, job) or BY_SUCCESS, every)
    return summary.model_copy(
        update={"measures": (*outcomes, *summary.measures, *own), "matrices": tuple(matrices), "notes": (*summary.notes, *notes)}
    )


def frame(records: Sequence[dict[str, Any]]) -> pandas.DataFrame:
    """Return records as a pandas frame."""
    try:
        import pandas
    except ImportError:
        raise PrerequisiteError(f"pandas is not installed: {pip_install('pandas')}.") from None
    return pandas.DataFrame.from_records(list(records))


def first_measure(summaries: Sequence[Summary]) -> Measure | None:
    """Return the first column of a table, as a rate over all groups in which it is a rate; None if there is no column."""
    found = [next(iter(summary.measures_in("column")), None) for summary in summaries if not summary.derived]
    if not (measures := [one for one in found if one is not None]) or len(measures) == 1:
        return measures[0] if measures else None
    alike = [one for one in measures if one.kind == "rate" and one.name == measures[0].name]
    rate = pool_rates(one.rate() for one in alike)
    return Measure.of(rate, measures[0].name, measures[0].head) if alike else None


def label_measure(judge: str, label: LabelMeasured) -> str:
    """Return the name of a label's share."""
    return f"{judge}_{label.name}"


def _label_values(verdict: Verdict, measure: Measured) -> dict[str, bool | None]:
    """Return whether each label is among those of an episode; without a counted one, none has a value."""
    given = set(verdict.labels.values())
    if not any(label.counted and label.name in given for label in measure.labels):
        return {}
    found: dict[str, bool | None] = {label_measure(verdict.judge, label): label.name in given for label in measure.labels if label.counted}
    return found | {label_measure(verdict.judge, flag): verdict.flags.get(flag.name) for flag in measure.flags}


def _label_measures(group: Sequence[Row], judge: str, measure: Measured) -> Iterator[Measure]:
    """Yield the shares of the labels, over the scored episodes that have any counted one; none where nothing was labelled."""
    if not any(row.scored for row in _labelled(group, judge)):
        return
    under, several = measure.title, any(len(_labels_of(row, judge)) > 1 for row in group)
    whole = share(group, measure.name)
    yield Measure.of(whole, measure.name, measure.head, place=measure.place, under=under, note=measure.about, better=measure.better)
    for label in (*measure.flags, *measure.labels):
        if label.counted:
            name = label_measure(judge, label)
            rate = share(group, name)
            about = f"{label.about}{f' (any of its {measure.things})' if several and label.place == 'column' else ''}"
            yield Measure.of(rate, name, label.head, place=label.place, under=under, note=about, better=label.better)
    counted = {label.name for label in measure.labels if label.counted}
    for thing, found in _counts(group, judge).items():
        number = sum(found[name] for name in counted)
        yield Measure(name=f"{judge}_n_{thing}", head="counted", kind="number", place="matrix", under=thing, value=number)


def _label_matrix(group: Sequence[Row], judge: str, measure: Measured) -> Iterator[Matrix]:
    """Yield the matrix of things and labels over the scored episodes of a group; none where nothing was labelled."""
    if counts := _counts(group, judge):
        columns = tuple(label.name for label in measure.labels)
        yield Matrix(
            name=measure.things,
            rows=tuple(counts),
            columns=columns,
            heads=tuple(label.head for label in measure.labels),
            counts=tuple(tuple(found[name] for name in columns) for found in counts.values()),
            axes=(measure.things, "verdict"),
        )


def _counts(group: Sequence[Row], judge: str) -> dict[str, Counter[str]]:
    """Count the labels of each thing over the scored episodes; of more things than a matrix has room for, those of one kind together."""
    counts: dict[str, Counter[str]] = {}
    for row in _labelled(group, judge):
        for thing, label in _labels_of(row, judge).items() if row.scored else ():
            counts.setdefault(thing, Counter())[label] += 1
    if len(counts) <= _MOST_THINGS:
        return counts
    kinds: dict[str, Counter[str]] = {}
    for thing, found in counts.items():
        kinds.setdefault(thing.partition(":")[0], Counter()).update(found)
    return kinds


def _labelled(group: Sequence[Row], judge: str) -> list[Row]:
    return [row for row in group if _labels_of(row, judge)]


def _labels_of(row: Row, judge: str) -> dict[str, str]:
    start = f"{judge} "
    return {name.removeprefix(start): label for name, label in row.labels.items() if name.startswith(start)}
