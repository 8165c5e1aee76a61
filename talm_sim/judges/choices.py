"""The metrics of task `when2call`: accuracy, macro F1, the confusion matrix and the three hallucination rates.

When2Call (Ross et al., NAACL 2025), sections 2 and 3 and appendix E. What a model chose is read from the log-probabilities of the four options,
or, where it answered freely (section 4), from the label a classifying judge gave its answer; everything after that is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal

from pydantic import Field

from talm_sim.judges.stats import wilson
from talm_sim.types import Behaviour, Choice, Episode, Rate, Record, Scenario, Termination, Verdict

__all__ = [
    "BEHAVIOURS",
    "HALLUCINATIONS",
    "UNPARSED",
    "ChoiceSummary",
    "ClassScores",
    "Matrix",
    "argmax",
    "class_scores",
    "confusion",
    "macro_f1",
    "macro_f1_interval",
    "summarize_choices",
]

BEHAVIOURS = tuple(Behaviour)
"""The four classes, in the order of a matrix's rows and columns."""
UNPARSED = "unparsed"
"""Label of an answer that no behaviour could be read from: wrong, and no class."""
HALLUCINATIONS = ("tool", "answer", "parameter")
"""Names of the three rates, in the order of the paper."""
NOT_JUDGED = "not judged"
"""What `ChoiceSummary.not_scored` counts answers under that no judge put a label on."""

Matrix = tuple[tuple[int, ...], ...]
"""Counts, one row a gold class and one column a predicted one, both in the order of `BEHAVIOURS`; a fifth column holds the unparsed."""

_JUDGES = ("behaviour-llm", "behaviour")
"""Classifying judges; the first that labelled anything counts."""
_Label = Behaviour | Literal["unparsed"]
_NO_TOOLS, _ASK, _CALL, _DIRECT = Behaviour.CANNOT_ANSWER, Behaviour.REQUEST_FOR_INFO, Behaviour.TOOL_CALL, Behaviour.DIRECT


class ClassScores(Record):
    """How one class was found: shares without a denominator are None, but F1 is 0, as the macro average needs four terms."""

    precision: float | None
    """Of the answers taken for this class, the share that was right."""
    recall: float | None
    """Of the rows of this class, the share that was found."""
    f1: float
    support: int
    """Scored rows whose gold class this is."""


class ChoiceSummary(Record):
    """Metrics over the scored rows of a run of task `when2call`."""

    group: str = "all"
    total: int
    """Finished episodes."""
    n: int
    """Scored episodes: those the rates are over."""
    not_scored: dict[str, int] = Field(default_factory=dict)
    """Why an episode is not in the rates (its termination, or `not judged`), and how many. A prompt longer than the model's context is
    `context_overflow`: skipped and counted here, never cut."""
    mode: Literal["logprob", "judge"]
    judge: str | None = None
    """In judge mode, the judge whose labels these are."""
    accuracy: Rate
    """Rows on which the gold behaviour was chosen."""
    accuracy_norm: Rate | None = None
    """The same by log-probability a byte; None in judge mode."""
    macro_f1: float | None
    """Mean F1 over all four classes, of the choice that is not normalised (section 3); None where nothing was scored."""
    macro_f1_low: float | None = None
    """Lower end of its 95 % interval (`macro_f1_interval`)."""
    macro_f1_high: float | None = None
    classes: dict[Behaviour, ClassScores]
    matrix: Matrix
    """See `Matrix`; five columns in judge mode."""
    hallucinations: dict[str, Rate]
    """`tool`, `answer` and `parameter`.

    - tool: a tool call was chosen where the gold behaviour is `cannot_answer` and no tools were shown, over all such rows. Without rows that
      show no tools this rate has no value.
    - answer: a direct answer was chosen, over the rows whose gold behaviour is not `direct`. The paper reads it off the confusion matrix
      (appendix E.1) and names no denominator; in its test set no row is `direct`, so this is the share of all scored rows.
    - parameter: a tool call was chosen where the gold behaviour is `request_for_info`, over all such rows (appendix E.1): the missing argument
      was made up.
    """
    unparsed: int = 0
    """Scored answers that no behaviour could be read from; they count as wrong."""
    notes: tuple[str, ...] = ()
    """What a reader of the rates should know."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Heads of the matrix's columns."""
        return (*BEHAVIOURS, UNPARSED)[: len(self.matrix[0])]


@dataclass(frozen=True, slots=True)
class _Row:
    """What the metrics keep of one scored episode."""

    gold: Behaviour
    chosen: _Label
    normalised: Behaviour | None
    tools: bool
    """Whether any tools were shown."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """What the classifying judge of a run said, and what the other one thinks of it."""

    judge: str | None
    of: Mapping[str, _Label]
    notes: tuple[str, ...]


def argmax(values: Sequence[float]) -> int:
    """Return the index of the largest value, of several the first.

    >>> argmax([-3.0, -1.0, -1.0])
    1

    Raises:
        ValueError: There are no values.
    """
    return max(range(len(values)), key=values.__getitem__)


def confusion(golds: Sequence[Behaviour], predicted: Sequence[Behaviour | str], *, with_unparsed: bool = False) -> Matrix:
    """Count gold against predicted behaviours; see `Matrix`.

    Args:
        golds: What is right, row by row.
        predicted: What was chosen; a label that is no behaviour counts as unparsed.
        with_unparsed: Whether there is a fifth column, for the unparsed.

    Raises:
        ValueError: The two have not the same length, or a label is no behaviour and there is no column for it.
    """
    counts = Counter(zip(golds, (BEHAVIOURS.index(one) if one in BEHAVIOURS else len(BEHAVIOURS) for one in predicted), strict=True))
    if not with_unparsed and any(column == len(BEHAVIOURS) for _, column in counts):
        raise ValueError("a predicted label is no behaviour; give the matrix a column for the unparsed.")
    return tuple(tuple(counts[gold, column] for column in range(len(BEHAVIOURS) + with_unparsed)) for gold in BEHAVIOURS)


def class_scores(matrix: Matrix) -> dict[Behaviour, ClassScores]:
    """Precision, recall and F1 of each class. An unparsed answer lowers the recall of its gold class and no precision."""
    found = {}
    for place, behaviour in enumerate(BEHAVIOURS):
        right, support, taken = matrix[place][place], sum(matrix[place]), sum(row[place] for row in matrix)
        found[behaviour] = ClassScores(
            precision=right / taken if taken else None,
            recall=right / support if support else None,
            f1=2 * right / (support + taken) if support + taken else 0.0,
            support=support,
        )
    return found


def macro_f1(matrix: Matrix) -> float | None:
    """Plain mean of the F1 of all four classes, a class without rows and choices counting as 0; None for an empty matrix."""
    if not any(map(sum, matrix)):
        return None
    return sum(scores.f1 for scores in class_scores(matrix).values()) / len(BEHAVIOURS)


def macro_f1_interval(matrix: Matrix, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return an interval for the macro F1 by the delta method over the matrix as one multinomial draw (Takahashi et al. 2022).

    Where the method knows no spread (nothing right, everything right, no rows) there is none: an interval of no width would read as proof.

    Args:
        matrix: Counts.
        confidence: Coverage of the interval.
    """
    n = sum(map(sum, matrix))
    value = macro_f1(matrix)
    if value is None:
        return None
    scores = list(class_scores(matrix).values())
    sizes = [sum(matrix[k]) + sum(row[k] for row in matrix) for k in range(len(BEHAVIOURS))]
    # A class's F1 is 2 right / size: how much one more row in a cell changes it, times n.
    slope = [one.f1 * n / size if size else 0.0 for one, size in zip(scores, sizes, strict=True)]
    first = second = 0.0
    for i, row in enumerate(matrix):
        for j, cell in enumerate(row):
            if i == j:
                change = 2 * n / sizes[i] - 2 * slope[i] if sizes[i] else 0.0
            else:
                change = -slope[i] - (slope[j] if j < len(BEHAVIOURS) else 0.0)
            first += cell / n * change / len(BEHAVIOURS)
            second += cell / n * (change / len(BEHAVIOURS)) ** 2
    variance = (second - first * first) / n
    if variance <= 1e-15:
        return None
    half = NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(variance)
    return max(0.0, value - half), min(1.0, value + half)


def summarize_choices(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    verdicts: Iterable[Verdict],
    *,
    mode: Literal["logprob", "judge"] | None = None,
) -> list[ChoiceSummary]:
    """Compute the metrics of a run of task `when2call`: one summary, over all its rows together.

    Args:
        episodes: Finished episodes; read once, so a generator over a store will do.
        scenarios: Their scenarios; those whose target is a `Choice` count.
        verdicts: What the judges said. In judge mode `behaviour-llm` counts where it labelled anything, else `behaviour`, else another judge
            that labels, the first by name; of one judge's several verdicts on an episode the last counts.
        mode: How the model was asked; by default read off the episodes: any with option scores make it `logprob`.
    """
    items = {scenario.id: (scenario.target, bool(scenario.shown_tools)) for scenario in scenarios if isinstance(scenario.target, Choice)}
    kept = [_Seen.of(episode, items[episode.scenario_id]) for episode in episodes if episode.scenario_id in items]
    if mode is None:
        mode = "logprob" if any(seen.scored for seen in kept) or not kept else "judge"
    labels = _labels(verdicts, {seen.id for seen in kept if seen.usable}) if mode == "judge" else _Labels(None, {}, ())
    not_scored: Counter[str] = Counter()
    rows: list[_Row] = []
    repeats = 0
    for seen in kept:
        chosen = seen.chosen if mode == "logprob" else labels.of.get(seen.id)
        if not seen.usable or chosen is None:
            not_scored[seen.termination if mode == "logprob" or not seen.usable else NOT_JUDGED] += 1
            continue
        repeats += seen.repeat
        rows.append(_Row(seen.gold, chosen, seen.normalised if mode == "logprob" else None, seen.tools))
    notes = list(labels.notes)
    if repeats:
        notes.append(f"{repeats:,} of {len(rows):,} episodes repeat a row; the intervals take all as independent")
    return [_summary(rows, mode, len(kept), not_scored, labels.judge, notes)]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is kept of an episode until its judge is known."""

    id: str
    termination: str
    usable: bool
    repeat: bool
    gold: Behaviour
    tools: bool
    scored: bool
    chosen: Behaviour | None
    normalised: Behaviour | None

    @classmethod
    def of(cls, episode: Episode, item: tuple[Choice, bool]) -> _Seen:
        """Read an episode."""
        end, scores = episode.termination, episode.option_scores
        return cls(
            id=episode.id,
            termination=end.value,
            usable=end.completed and end is not Termination.CONTEXT_OVERFLOW,
            repeat=episode.epoch > 1,
            gold=item[0].gold,
            tools=item[1],
            scored=bool(scores),
            chosen=scores[argmax([one.logprob for one in scores])].behaviour if scores else None,
            normalised=scores[argmax([one.per_byte for one in scores])].behaviour if scores else None,
        )


def _labels(verdicts: Iterable[Verdict], ids: set[str]) -> _Labels:
    said: dict[str, dict[str, _Label]] = {}
    for verdict in verdicts:
        if verdict.label and verdict.episode_id in ids:
            label: _Label = Behaviour(verdict.label) if verdict.label in BEHAVIOURS else "unparsed"
            said.setdefault(verdict.judge, {})[verdict.episode_id] = label
    order = [name for name in (*_JUDGES, *sorted(set(said) - set(_JUDGES))) if name in said]
    if not order:
        return _Labels(None, {}, ("no judge has labelled these answers",) if ids else ())
    judge, *others = order
    notes = []
    for other in others:
        both = said[judge].keys() & said[other].keys()
        same = sum(said[judge][one] == said[other][one] for one in both)
        notes.append(f"judge {other} gives the same label to {same:,} of {len(both):,} answers")
    return _Labels(judge, said[judge], tuple(notes))


def _summary(
    rows: Sequence[_Row], mode: Literal["logprob", "judge"], total: int, not_scored: Counter[str], judge: str | None, notes: Sequence[str]
) -> ChoiceSummary:
    matrix = confusion([row.gold for row in rows], [row.chosen for row in rows], with_unparsed=mode == "judge")
    limits = macro_f1_interval(matrix)
    return ChoiceSummary(
        total=total,
        n=len(rows),
        not_scored=dict(sorted(not_scored.items())),
        mode=mode,
        judge=judge,
        accuracy=_share(row.gold == row.chosen for row in rows),
        accuracy_norm=_share(row.gold == row.normalised for row in rows) if mode == "logprob" else None,
        macro_f1=macro_f1(matrix),
        macro_f1_low=limits[0] if limits else None,
        macro_f1_high=limits[1] if limits else None,
        classes=class_scores(matrix),
        matrix=matrix,
        hallucinations={
            "tool": _share(row.chosen is _CALL for row in rows if row.gold is _NO_TOOLS and not row.tools),
            "answer": _share(row.chosen is _DIRECT for row in rows if row.gold is not _DIRECT),
            "parameter": _share(row.chosen is _CALL for row in rows if row.gold is _ASK),
        },
        unparsed=sum(row.chosen == UNPARSED for row in rows),
        notes=tuple(notes),
    )


def _share(hits: Iterable[bool]) -> Rate:
    values = list(hits)
    return wilson(sum(values), len(values))
