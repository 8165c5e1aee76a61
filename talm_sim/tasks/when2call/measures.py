"""The metrics of task `when2call`: accuracy, macro F1, the confusion matrix and the three hallucination rates.

When2Call (Ross et al., NAACL 2025), sections 2 and 3 and appendix E. What a model chose is read from the log-probabilities of the four options,
or, where it answered freely (section 4), from the label a classifying judge gave its answer; everything after that is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from talm_sim.judges.stats import share
from talm_sim.tasks.base import RunView
from talm_sim.tasks.outcomes import NO_ANSWER
from talm_sim.tasks.reasoning import decision_matrix, reasoning_measures, reasoning_values
from talm_sim.tasks.row_figures import Figure
from talm_sim.tasks.when2call.outcomes import outcome_of
from talm_sim.tasks.when2call.scored import Scored
from talm_sim.tasks.when2call.scores import BEHAVIOURS, DECISIONS, Cells, class_scores, confusion, macro_f1, macro_f1_interval
from talm_sim.types import UNPARSED, Behaviour, Choice, Episode, Matrix, Measure, Precision, Row, Scenario, Summary, Verdict
from talm_sim.types.measures import MeasurePlace

_NOT_JUDGED = "not judged"
"""What `Summary.not_scored` counts answers under that no judge put a label on."""
JUDGES = ("behaviour-llm", "behaviour-llm-first-call", "behaviour")
"""Classifying judges; the first that labelled anything, or was asked, counts."""
GROUP = "all"
"""The rows of all gold behaviours are measured together."""
_UNSETTLED = 1.2
"""Nats by which the score of an option was seen to change with its batch in half precision."""
_HALLUCINATIONS = {
    "tool": "tool call where no tools are shown",
    "answer": "direct answer",
    "parameter": "tool call where information is missing",
}
"""The three rates, in the order of the paper, and what each counts. An answer that never came is in none: silence made nothing up.

- tool: a tool call was chosen where the gold behaviour is `cannot_answer` and no tools were shown, over all such rows. Without rows that show
  no tools this rate has no value.
- answer: a direct answer was chosen, over the rows whose gold behaviour is not `direct`. The paper reads it off the confusion matrix (appendix
  E.1) and names no denominator; in its test set no row is `direct`, so this is the share of all scored rows.
- parameter: a tool call was chosen where the gold behaviour is `request_for_info`, over all such rows (appendix E.1): the missing argument was
  made up.
"""
_NORM, _MACRO = "right by log-probability per byte", "mean F1 of all four classes; a class without rows counts as 0"
_SHORT = {Behaviour.REQUEST_FOR_INFO: "request", Behaviour.CANNOT_ANSWER: "cannot"}
_NO_TOOLS, _ASK, _CALL, _DIRECT = Behaviour.CANNOT_ANSWER, Behaviour.REQUEST_FOR_INFO, Behaviour.TOOL_CALL, Behaviour.DIRECT


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a run's classifying judge, and how often the other one agrees."""

    judge: str | None
    of: Mapping[str, str]
    """A behaviour, or `unparsed`, by episode id."""
    notes: tuple[str, ...] = ()


def rows(run: RunView) -> Iterator[Row]:
    """Return what each finished episode counts as, in the order of the plan.

    Values: `accuracy`; `accuracy_norm` by log-probability a byte, in mode logprob; `<name>_hallucination` where the row is one it is over.
    Labels: `gold`, `chosen` and, in mode logprob, `chosen_per_byte`; in mode judge, `judge`.
    """
    items = {one.id: (one, one.target) for one in run.scenarios() if isinstance(one.target, Choice)}
    scored_options = run.job.options.mode == "logprob"  # once, because a stored run reads its job from the file
    kind = run.job.options.reasoning
    labels = Labels(None, {}) if scored_options else labels_of(run)
    for episode in run.episodes():
        if episode.scenario_id in items:
            scenario, target = items[episode.scenario_id]
            row = _row(episode, scenario, target, labels, scored_options=scored_options)
            yield _with_thought(row, kind, episode) if row.scored else row


def labels_of(run: RunView) -> Labels:
    """Read the classifying judges' labels; of one judge's several verdicts on an episode the last counts."""
    usable = {episode.id for episode in run.episodes() if episode.termination.completed}
    return _labels(run.verdicts(), usable)


def summarize(rows: Sequence[Row], run: RunView) -> list[Summary]:
    """Add all rows up together."""
    mode = run.job.options.mode
    scored = [row for row in rows if row.scored]
    matrix = confusion(
        [Behaviour(row.labels["gold"]) for row in scored], [row.labels["chosen"] for row in scored], with_unparsed=mode == "judge"
    )
    limits = macro_f1_interval(matrix, _repeats(scored)) or (None, None)
    columns = (*BEHAVIOURS, UNPARSED)[: len(matrix[0])]
    heads = tuple(_SHORT.get(column, str(column)) for column in columns)  # type: ignore[call-overload]
    per_byte = share(scored, "accuracy_norm") if mode == "logprob" else None
    measures = [
        Measure.of(share(scored, "accuracy"), "accuracy", "Accuracy", note="right", better="higher"),
        Measure.of(per_byte, "accuracy_norm", "Accuracy per byte", note=_NORM, better="higher"),
        Measure(
            name="macro_f1", head="Macro F1", kind="score", value=macro_f1(matrix), low=limits[0], high=limits[1], note=_MACRO, better="higher"
        ),
        *(
            Measure.of(
                share(scored, f"{name}_hallucination"),
                f"{name}_hallucination",
                name,
                place="line",
                under="hallucinations",
                note=note,
                better="lower",
            )
            for name, note in _HALLUCINATIONS.items()
        ),
        *reasoning_measures(rows, run.job.options.reasoning),
        *_class_measures(matrix),
    ]
    summary = Summary.of(
        GROUP,
        rows,
        facts={
            "unparsed": sum(row.labels["chosen"] == UNPARSED for row in scored),
            "mode": mode,
            "judge": next((row.labels["judge"] for row in rows if "judge" in row.labels), None),
            **_precision(run),
        },
        measures=tuple(measures),
        matrices=(
            Matrix(
                name="confusion",
                rows=tuple(map(str, BEHAVIOURS)),
                columns=tuple(map(str, columns)),
                counts=matrix,
                heads=heads,
            ),
            *decision_matrix(rows, "chosen", tuple(map(str, columns)), heads),
        ),
        notes=tuple(_precision_notes(run)),
    )
    return [summary]


def figure(group: str, measure: str) -> Figure | None:
    """Return how the macro F1 is computed; all else is a mean of values."""
    return _macro_f1_figure if measure == "macro_f1" else None


def _macro_f1_figure(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
    cells: dict[tuple[int, int], list[int]] = {}
    for place, row in enumerate(rows):
        if row.scored:
            chosen = row.labels["chosen"]
            column = BEHAVIOURS.index(Behaviour(chosen)) if chosen in BEHAVIOURS else len(BEHAVIOURS)
            cells.setdefault((BEHAVIOURS.index(Behaviour(row.labels["gold"])), column), []).append(place)

    def value(times: Sequence[int]) -> float | None:
        counts = {cell: sum(map(times.__getitem__, places)) for cell, places in cells.items()}
        columns = range(len(BEHAVIOURS) + 1)
        return macro_f1(tuple(tuple(counts.get((row, column), 0) for column in columns) for row in range(len(BEHAVIOURS))))

    return value


def _row(episode: Episode, scenario: Scenario, target: Choice, labels: Labels, *, scored_options: bool) -> Row:
    gold, end = target.gold, episode.termination
    scored = Scored.of(episode)
    chosen: str | None = scored.chosen if scored_options else labels.of.get(episode.id)
    row = Row.of(episode, scenario, group=GROUP, labels={"gold": gold.value})
    # A prompt longer than the model's context is skipped and counted, never cut: there is no answer to it.
    if not end.completed or chosen is None:
        judged = {"judge": labels.judge} if labels.judge else {}
        why = end.value if scored_options or not end.completed else _NOT_JUDGED
        return row.model_copy(update={"not_scored": why, "labels": row.labels | judged})
    values: dict[str, bool | float | None] = {"accuracy": chosen == gold}
    found = {"chosen": str(chosen)}
    if scored_options:
        values["accuracy_norm"] = scored.chosen_per_byte == gold
        found["chosen_per_byte"] = str(scored.chosen_per_byte)
    elif labels.judge:
        found["judge"] = labels.judge
    if gold is _NO_TOOLS and not scenario.shown_tools and not row.silent:
        values["tool_hallucination"] = chosen == _CALL
    if gold is not _DIRECT and not row.silent:
        values["answer_hallucination"] = chosen == _DIRECT
    if gold is _ASK and not row.silent:
        values["parameter_hallucination"] = chosen == _CALL
    outcome = NO_ANSWER.name if row.silent else outcome_of(gold, str(chosen))
    return row.model_copy(update={"values": values, "labels": row.labels | found, "outcome": outcome})


def _with_thought(row: Row, kind: str, episode: Episode) -> Row:
    """Return a row with what is measured of the thought: each decision is for one behaviour."""
    right, done = ({DECISIONS[Behaviour(said)]} if said in BEHAVIOURS else set() for said in (row.labels["gold"], row.labels["chosen"]))
    values, labels = reasoning_values(kind, episode, right, done)
    return row.model_copy(update={"values": {**row.values, **values}, "labels": {**row.labels, **labels}})


def _class_measures(matrix: tuple[tuple[int, ...], ...]) -> Iterator[Measure]:
    for behaviour, scores in class_scores(matrix).items():
        for name, value in scores.model_dump().items():
            place: MeasurePlace = "hidden" if name == "support" else "matrix"
            head = "F1" if name == "f1" else name
            yield Measure(name=f"{name}_{behaviour}", head=head, kind="number", place=place, under=behaviour.value, value=value)


def _repeats(scored: Sequence[Row]) -> list[Cells]:
    """Return the cells of the matrix that the epochs of each scenario are in."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in scored:
        column = BEHAVIOURS.index(Behaviour(row.labels["chosen"])) if row.labels["chosen"] in BEHAVIOURS else len(BEHAVIOURS)
        found.setdefault(row.scenario, []).append((BEHAVIOURS.index(Behaviour(row.labels["gold"])), column))
    return list(found.values())


def _precision(run: RunView) -> dict[str, str]:
    """Return how the scores were computed, if that is known: for a run that was resumed differently, both."""
    known = {Scored.of(episode).precision for episode in run.episodes()} - {None}
    return {name: ", ".join(sorted({str(getattr(one, name)) for one in known})) for name in Precision.model_fields} if known else {}


def _precision_notes(run: RunView) -> Iterator[str]:
    scored = (Scored.of(episode) for episode in run.episodes())
    halves = [one for one in scored if one.option_scores and one.precision is not None and one.precision.half]
    if close := sum(_margin(one) < _UNSETTLED for one in halves):
        dtype = " and ".join(sorted({one.precision.dtype for one in halves if one.precision}))
        yield (
            f"{close:,} of {len(halves):,} rows are decided by less than {_UNSETTLED} nat, by which a score in {dtype} can move with what is "
            "computed beside it: -M dtype=float32 settles them, else -M batch_size=1 makes them repeatable"
        )


def _margin(scored: Scored) -> float:
    best = sorted((one.logprob for one in scored.option_scores), reverse=True)
    return best[0] - best[1] if len(best) > 1 else inf


def _labels(verdicts: Iterable[Verdict], ids: set[str]) -> Labels:
    said: dict[str, dict[str, str]] = {}
    for verdict in verdicts:
        if verdict.judge in JUDGES and (verdict.label or verdict.undecided) and verdict.episode_id in ids:
            own = said.setdefault(verdict.judge, {})  # of a judge that was asked and decided nothing, too: no other takes its place
            if verdict.label:
                own[verdict.episode_id] = verdict.label if verdict.label in BEHAVIOURS else UNPARSED
    if not (order := [name for name in JUDGES if name in said]):
        return Labels(None, {}, ("no judge has labelled these answers",) if ids else ())
    judge, *others = order
    notes = []
    for other in others:
        both = said[judge].keys() & said[other].keys()
        same = sum(said[judge][one] == said[other][one] for one in both)
        notes += [f"judge {other} gives the same label to {same:,} of {len(both):,} answers"] if both else []
    return Labels(judge, said[judge], tuple(notes))
