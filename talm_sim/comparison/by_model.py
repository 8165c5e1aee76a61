"""Put runs into one table with a row per model: the headline figures of each task, those of several tasks side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

from talm_sim.store.stored_run import StoredRun
from talm_sim.store.tidy_tables import first_measure, settings_of
from talm_sim.tasks import Beside, PaperRow, PaperRows, Task
from talm_sim.types import Measure, Summary
from talm_sim.types.written_figures import format_figure

_WHO = frozenset({"model", "adapter"})
"""Settings that are in the name of a row."""
_HEADS = {"pass_rate": "PR", "accuracy": "Acc", "ast": "AST"}
"""Heads as the headline figures have them: keys in data are made of these."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """A headline figure of one run."""

    head: str
    address: str
    measure: Measure


@dataclass(frozen=True)
class _Source:
    """A run, as a part of a row."""

    run: StoredRun

    @cached_property
    def task(self) -> Task[Any]:
        return self.run.job.task

    @cached_property
    def summaries(self) -> list[Summary]:
        return self.run.summary()

    @cached_property
    def figures(self) -> list[_Figure]:
        """The figures that the task declares and that the run has; if there is none, the first column of its table."""
        found = [(head, *one) for head, addresses in self.task.headline.items() if (one := _first_value(self.summaries, addresses))]
        if not found and (first := first_measure(self.summaries)) is not None and first.value is not None:
            group = self.summaries[0].group if len(self.summaries) == 1 else "all groups"
            found = [(_HEADS.get(first.name, first.head), f"{group}.{first.name}", first)]
        return [_Figure(head, address, one.model_copy(update={"name": _column(self.task.name, head)})) for head, address, one in found]

    def size(self, name: str) -> int:
        """Return the `n` or `total` of all groups."""
        return sum(int(getattr(one, name)) for one in self.summaries if not one.derived)


@dataclass(frozen=True, slots=True)
class _Row:
    """The runs of one row, one per task."""

    name: str
    model: str
    """The model, with your own agent if one plays it: another row is about another one."""
    sources: list[_Source]


@dataclass(frozen=True, slots=True)
class ModelTable:
    """The rows of the table."""

    rows: Sequence[_Row]
    heads: Mapping[str, str]

    def summaries(self) -> list[Summary]:
        """Return each row as a summary whose columns are the figures; `n` is the number of scored episodes of its runs."""
        return [
            Summary(
                group=row.name,
                n=sum(source.size("n") for source in row.sources),
                total=sum(source.size("total") for source in row.sources),
                measures=tuple(measures[name] for name in self.heads if name in measures),
            )
            for row in self.rows
            for measures in [dict(self._measures(row))]
        ]

    def _measures(self, row: _Row) -> Iterator[tuple[str, Measure]]:
        for source in row.sources:
            for one in source.figures:
                group, _, name = one.address.rpartition(".")
                about = f"{one.measure.note or name} (task {source.task.name}, {group})"
                where = {"head": self.heads[one.measure.name], "place": "column", "under": "", "note": about}
                yield one.measure.name, one.measure.model_copy(update=where)

    def notes(self) -> Iterator[str]:
        """Say which run each figure is from, and in which settings the runs of one task differ."""
        for row in self.rows:
            for source in row.sources:
                run, label = source.run, source.task.label(source.run)
                figures = [
                    f"{self.heads[one.measure.name]} {format_figure(one.measure)}{f' by {one.measure.by}' if one.measure.by else ''}"
                    for one in source.figures
                ]
                left = run.total - run.finished
                unfinished = f"; {left:,} of {run.total:,} episodes not finished" if left else ""
                split = f"task {source.task.name}, split {run.config.split}{f', {label}' if label else ''}"
                yield f"{row.name}: {', '.join(figures) or 'no headline figure'}; run {run.id} ({split}{unfinished})"
        yield from self._other_addresses()
        yield from self._differences()

    def _other_addresses(self) -> Iterator[str]:
        """Report columns that have another figure in some rows than in others."""
        addresses: dict[str, list[str]] = {}
        for one in (one for row in self.rows for source in row.sources for one in source.figures):
            addresses.setdefault(one.measure.name, []).append(one.address)
        for name, every in addresses.items():
            if len(set(every)) > 1:
                yield f"{self.heads[name]} is not the same figure in all rows: {', '.join(dict.fromkeys(every))}"

    def _differences(self) -> Iterator[str]:
        by_task: dict[str, list[dict[str, Any]]] = {}
        for source in (source for row in self.rows for source in row.sources):
            config, known = source.run.config, settings_of(source.run.job)
            scenarios = {"epochs": config.epochs, "scenarios": source.run.manifest.dataset_digest}
            by_task.setdefault(source.task.name, []).append({**known, **scenarios})
        for task, every in by_task.items():
            names = [name for name in every[0] if name not in _WHO and len({str(one.get(name)) for one in every}) > 1]
            if names:
                yield f"the runs of task {task} differ in: {', '.join(names)}"

    def records(self) -> list[dict[str, Any]]:
        """Return one flat record per row: the model; of each task the run, its settings, and the figures with where they are from."""
        found = []
        for row in self.rows:
            record: dict[str, Any] = {"row": row.name, "model": row.sources[0].run.config.model_and_adapter}
            for source in row.sources:
                known = {name: value for name, value in settings_of(source.run.job).items() if name not in {"task", *_WHO}}
                about = {"run": source.run.id, **known, "n": source.size("n")}
                record |= {f"{source.task.name}_{name}": value for name, value in about.items()}
                for one in source.figures:
                    values = Summary(group="", n=0, total=0, measures=(one.measure,)).record()
                    record |= {name: value for name, value in values.items() if name.startswith(one.measure.name)}
                    record[f"{one.measure.name}_of"] = one.address
            found.append(record)
        return found

    def papers(self) -> list[PaperRows]:
        """Return the published rows that the runs' tasks lay beside them, under the names of this table's columns."""
        found = []
        for source in (source for row in self.rows for source in row.sources):
            beside = source.task.beside(source.run)
            rows = self._published(source, beside) if beside else None
            found += [rows] if rows and rows.rows else []
        return found

    def _published(self, source: _Source, beside: Beside) -> PaperRows:
        columns = {one.address: one.measure.name for one in source.figures}
        printed = beside.rows(dict.fromkeys(address.rpartition(".")[0] for address in columns), source.run.config.model)
        joined = {name: column for (task, head), column in beside.joined.items() if (name := _column(task, head)) in self.heads}
        models: dict[str, PaperRow] = {}
        for row in printed.rows:
            named = {name: column for name in row.values if (column := columns.get(f"{row.group}.{name}"))}
            known = models.setdefault(row.model, PaperRow(row.model, "", beside.shares(row.model, joined)))
            values = {**known.values, **{column: row.values[name] for name, column in named.items()}}
            wrong = {**known.wrong, **{column: row.wrong[name] for name, column in named.items() if name in row.wrong}}
            models[row.model] = PaperRow(row.model, "", {name: values[name] for name in self.heads if name in values}, wrong)
        return replace(printed, rows=tuple(row for row in models.values() if row.values))


def model_table(runs: Sequence[StoredRun]) -> ModelTable:
    """Join runs by their model.

    The first run of each task is in the model's row. A further run of the same task has a row of its own: nothing is averaged. The model's
    rows then have the name of the run behind the model.
    """
    rows: list[_Row] = []
    for source in map(_Source, dict.fromkeys(runs)):
        model = _model_of(source.run)
        free = next((row for row in rows if row.model == model and source.task.name not in {one.task.name for one in row.sources}), None)
        if free is None:
            rows.append(_Row(model, model, [source]))
        else:
            free.sources.append(source)
    several = {row.model for place, row in enumerate(rows) if row.model in {one.model for one in rows[:place]}}
    named = [_Row(f"{row.model} [{', '.join(one.run.id for one in row.sources)}]", row.model, row.sources) for row in rows]
    return ModelTable([long if row.model in several else row for row, long in zip(rows, named, strict=True)], _heads(rows))


def _heads(rows: Sequence[_Row]) -> dict[str, str]:
    """Return the columns, those of one task together; a head that another task has too gets a number."""
    by_task: dict[str, dict[str, str]] = {}
    for source in (source for row in rows for source in row.sources):
        order = list(source.task.headline)
        known = by_task.setdefault(source.task.name, {})
        known |= {one.measure.name: one.head for one in source.figures}
        by_task[source.task.name] = dict(sorted(known.items(), key=lambda one: order.index(one[1]) if one[1] in order else 0))
    found: dict[str, str] = {}
    for name, head in (column for columns in by_task.values() for column in columns.items()):
        free = (head if number == 1 else f"{head} {number}" for number in count(1))
        found[name] = next(one for one in free if one not in found.values())
    return found


def _first_value(summaries: Sequence[Summary], addresses: str | tuple[str, ...]) -> tuple[str, Measure] | None:
    """Return the first of the figures that has a value, with its address."""
    for address in (addresses,) if isinstance(addresses, str) else addresses:
        group, _, name = address.rpartition(".")
        for summary in summaries:
            one = summary.measure(name) if summary.group == group else None
            if one is not None and one.value is not None:
                return address, one
    return None


def _column(task: str, head: str) -> str:
    """Return the name of a column in data.

    >>> _column("when2call", "Acc-norm")
    'when2call_acc_norm'
    """
    return "_".join([task, *"".join(sign if sign.isalnum() else " " for sign in head.lower()).split()])


def _model_of(run: StoredRun) -> str:
    model, agent = run.config.model_and_adapter, getattr(run.job.options, "agent", None)
    who = f"{model}, agent {agent}" if agent and not model.endswith(agent) else model
    return f"control: {who}" if model.startswith("sim/") else who
