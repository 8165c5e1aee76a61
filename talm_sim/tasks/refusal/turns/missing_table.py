"""The table of the turns that lack something: what each row adds to it, its columns, and the count of each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from talm_sim.judges.stats import share
from talm_sim.tasks.refusal.turns.missing_turn import MISSING_RIGHT, MissingLabel, MissingTurn, read_missing_turn
from talm_sim.tasks.refusal.turns.row_person import INTERACTION
from talm_sim.types import Episode, Matrix, Measure, Row, Scenario, Summary, Verdict
from talm_sim.types.measures import Better

_TITLE = "the missing turn"
_COLUMNS: Mapping[str, tuple[str, str, Better]] = {
    MISSING_RIGHT.name: (MISSING_RIGHT.head, MISSING_RIGHT.about, MISSING_RIGHT.better),
    "missing_looked": ("Looked", "called a shown function that left the state as it was", "neither"),
    "missing_named": ("Named", "a right answer names what is missing", "higher"),
    "missing_done": ("Done", "once it was given, the right calls were made", "higher"),
    INTERACTION: ("Asked a person", "the person was asked something, of the rows in which one can be asked", "neither"),
    "missing_passed": ("Passed by BFCL", "of the rows that are wrong in column Right, BFCL's own check passes", "neither"),
}
NAMES = (*_COLUMNS,)
HEADS = {name: head for name, (head, _, _) in _COLUMNS.items()}
_PREFIX = "multi_turn_"
_LABEL_HEADS = {
    MissingLabel.NOT_SHOWN: "unshown",
    MissingLabel.ACTED_IN_PART: "in part",
    MissingLabel.SAID_IT_CANNOT: "cannot",
    MissingLabel.OTHER_TEXT: "other",
}


def missing_values(episode: Episode, scenario: Scenario, verdict: Verdict | None, passed: bool | None) -> tuple[dict[str, bool], str]:
    """Return what an episode adds to the table, and its label; nothing if the judge labelled no turn of it."""
    found = read_missing_turn(episode, scenario) if verdict is not None and verdict.label else None
    if verdict is None or found is None:
        return {}, ""
    # A row that passes did in each turn what the right calls do, if by other calls.
    values = {"missing_looked": found.looked, "missing_done": found.done or passed is True}
    if verdict.value is not None:
        values[MISSING_RIGHT.name] = verdict.value
    if found.named is not None:
        values["missing_named"] = found.named
    if verdict.value is False and passed is not None:
        values["missing_passed"] = passed
    return values, verdict.label


def missing_measures(rows: Sequence[Row], *, asked: bool) -> Iterator[Measure]:
    """Return the columns of the table; none if no row has such a turn."""
    if not any("missing_looked" in row.values for row in rows):
        return
    for name, (head, about, better) in _COLUMNS.items():
        rate = share(rows, name)
        if name == INTERACTION and not asked:
            continue
        yield Measure.of(rate if rate.n else None, name, head, under=_TITLE, note=about, better=better)


def missing_matrix(rows: Sequence[Row]) -> Iterator[Matrix]:
    """Return how often each label was given in each subset."""
    own = [row for row in rows if row.scored and row.labels.get("missing")]
    counts = Counter((row.labels["subset"], row.labels["missing"]) for row in own)
    subsets = tuple(dict.fromkeys(row.labels["subset"] for row in own))
    labels = tuple(one.value for one in MissingLabel)
    if counts:
        cells = tuple(tuple(counts[subset, label] for label in labels) for subset in subsets)
        heads = tuple(_LABEL_HEADS.get(one, one.value) for one in MissingLabel)
        yield Matrix(
            name="missing turn",
            rows=tuple(one.removeprefix(_PREFIX) for one in subsets),
            columns=labels,
            counts=cells,
            heads=heads,
            axes=("subset", "label"),
        )


def missing_lines(found: MissingTurn) -> list[str]:
    """Return what the page of an episode says of the turn."""
    right = {True: "right", False: "wrong", None: "neither right nor wrong"}[found.right]
    lines = [f"{found.label.replace('_', ' ')}: {right}"]
    if found.looked:
        lines.append("calls left the state as it was")
    if found.named is not None:
        lines.append("names what is missing" if found.named else "does not name what is missing")
    return [*lines, f"then the right calls were {'' if found.done else 'not '}all made"]


def missing_note(summaries: Sequence[Summary]) -> Iterator[str]:
    """Return in how many rows a person was asked, and what BFCL's own check says of the rows whose turn is wrong."""
    for summary in summaries:
        if (one := summary.measure(INTERACTION)) is not None and one.n:
            yield f"asked a person: a question was put in {one.k:,} of the {one.n:,} rows of {summary.group}"
    found = [one for summary in summaries if (one := summary.measure("missing_passed")) is not None]
    wrong, passed = sum(one.n or 0 for one in found), sum(one.k or 0 for one in found)
    if wrong:
        yield f"the missing turn is wrong in {wrong:,} row{'' if wrong == 1 else 's'}; BFCL's own check passes {passed:,} of these {wrong:,}"
