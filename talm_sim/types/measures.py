"""The types of results: verdicts, rates, rows, measures, summaries. Every table and page is made of these alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal

from pydantic import Field, model_validator

from talm_sim.types.base import FrozenModel
from talm_sim.types.episodes import Episode
from talm_sim.types.pages import html_table
from talm_sim.types.scenarios import Scenario
from talm_sim.types.written_figures import format_figure_with_interval

_MeasureKind = Literal["rate", "score", "number"]
"""`rate`: a share k / n with its 95 % interval; `score`: a value between 0 and 1 with an interval; `number`: a value alone."""
Better = Literal["higher", "lower", "neither"]
"""Which of two values of a measure is the better one; `neither`: it depends on what a reader wants, or nobody says."""
MeasurePlace = Literal["outcome", "column", "line", "matrix", "hidden"]
"""Where a screen shows it: a bar of the outcomes, a column of the table, a line below the row, beside a row of a matrix, or nowhere (data still
has it).
"""
_LATEST = 253_402_300_799
"""The last second of the year 9999."""
UNPARSED = "unparsed"
"""Label of an answer that fits no class: it counts as wrong, and belongs to no class."""


class Outcome(FrozenModel):
    """One way in which an episode of a task may end. An episode has one, so that the outcomes of a group add up to its scored episodes."""

    name: str
    """Key in `--json`, `--csv` and gates."""
    words: str
    """What a table calls it, after "the agent"."""
    kind: Literal["good", "neutral", "bad"] = "neutral"
    about: str = ""
    """When an episode has it, in a sentence."""
    advice: str = ""
    """What to do about it, in a sentence."""

    @property
    def better(self) -> Better:
        """Whether more or fewer such episodes are better."""
        return {"good": "higher", "neutral": "neither", "bad": "lower"}[self.kind]  # type: ignore[return-value]


class Row(FrozenModel):
    """What one episode counts as: the flat, documented row that every number of a run is computed from."""

    episode: str
    scenario: str
    base: str
    """Id shared by the scenario and the variants derived from it: rows of two groups or runs are paired by it."""
    epoch: int = 1
    group: str
    not_scored: str = ""
    """Why the episode is not in the rates (its termination, or `not judged`); empty if it is."""
    outcome: str = Field(default="", exclude_if=lambda outcome: not outcome)
    """Name of the `Outcome` that it came to, one of its task's; empty where the task does not say, or it is not scored."""
    silent: bool = Field(default=False, exclude_if=lambda silent: not silent)
    """Whether it is scored, and the model gave no answer: wrong where one was due, and left out where the absence of something is good."""
    remarks: Mapping[str, int] = Field(default_factory=dict, exclude_if=lambda remarks: not remarks)
    """Those of the episode; see `Episode.remarks`."""
    values: dict[str, bool | int | float | None] = Field(default_factory=dict)
    """What this episode adds to each measure. A measure that is absent, or None, does not apply to this episode: it is not in its n."""
    labels: dict[str, str] = Field(default_factory=dict)
    """What the episode was labelled as, for example `gold` and `chosen`; matrices and class scores are counted from these."""
    why: dict[str, str] = Field(default_factory=dict)
    """Why this episode has no value for a measure, if that needs saying."""

    @property
    def scored(self) -> bool:
        """Whether the episode is in the rates."""
        return not self.not_scored

    @classmethod
    def of(cls, episode: Episode, scenario: Scenario | None, **more: Any) -> Row:
        """Make the row of an episode; it is not scored if something outside the agent ended the episode. `more` replaces fields."""
        end = episode.termination
        known = {
            "episode": episode.id,
            "scenario": episode.scenario_id,
            "base": scenario.base if scenario else episode.scenario_id,
            "epoch": episode.epoch,
            "group": episode.group,
            "not_scored": "" if end.completed else end.value,
            "silent": end.completed and episode.gave_no_answer,
            "remarks": episode.remarks,
        }
        return cls(**{**known, **more})


class LabelMeasured(FrozenModel):
    """Declare one label of a judge that labels several things in an episode, such as each of its faults."""

    name: str
    """As in `Verdict.labels`."""
    head: str
    """Head of its column: whole words, as short as they can be."""
    about: str
    """What it says, in a few words."""
    better: Better = "neither"
    counted: bool = True
    """Whether an episode with it is in the n of the shares; if not, it is counted beside them."""
    place: Literal["column", "line", "hidden"] = "hidden"
    """Whether its share has a column of its own; its counts are in the matrix in any case."""

    @classmethod
    def of(cls, name: str, head: str, about: str, **more: Any) -> LabelMeasured:
        """Make a label; `more` are its other fields."""
        return cls(name=name, head=head, about=about, **more)


class Measured(FrozenModel):
    """Declare what a judge measures: the share of the episodes it decided that it said yes to."""

    name: str
    """Key in `--json` and `--csv`, as `short_answer`."""
    head: str
    """Head of its column: whole words, as short as they can be."""
    about: str
    """What a yes says of an episode, in a few words."""
    better: Better = "neither"
    """Whether more or fewer such episodes are better; a comparison calls no difference an improvement without it."""
    labels: tuple[LabelMeasured, ...] = ()
    """Of a judge that labels several things in an episode: its labels, in the order of a table. Their shares are of the episodes with a
    counted label, and a matrix counts them for each thing.
    """
    flags: tuple[LabelMeasured, ...] = ()
    """What such a judge notes of a whole episode besides its labels; see `Verdict.flags`."""
    place: Literal["column", "hidden"] = "hidden"
    """Of a judge that labels: whether the share of its yeses is a column of that table, the first."""
    title: str = ""
    """Title of the table of the labels' shares."""
    things: str = ""
    """What is labelled, in the plural."""


class Measure(FrozenModel):
    """One number of a summary, with what it rests on."""

    name: str
    """Key in `--json` and `--csv`."""
    head: str
    """Its name in a table."""
    kind: _MeasureKind = "rate"
    place: MeasurePlace = "column"
    under: str = ""
    """For a line or a column, the title of the group of lines or the table it belongs to; the first table has none. For a number beside a
    matrix, its row of the matrix.
    """
    value: int | float | None = None
    """None if there is no value: a table shows a dash. A count stays an integer, in data as well."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    k: int | None = None
    """For a rate: how many of `n`."""
    n: int | None = None
    """For a rate: its trials. For a score below the first table: how many of whatever it is over, as its title says."""
    episodes: int | None = Field(default=None, exclude_if=lambda episodes: episodes is None)
    """For a column below the first table whose `n` counts something else: how many episodes it is over."""
    note: str = ""
    """What it counts, in a few words."""
    better: Better = "neither"
    """Which of two values is better; a comparison calls no difference an improvement without it."""
    by_ratio: bool = Field(default=False, exclude_if=lambda by_ratio: not by_ratio)
    """For a number: whether a comparison also says how many times as large the second value is."""
    undecided: int | None = Field(default=None, exclude_if=lambda undecided: undecided is None)
    """For a rate: how many episodes beside its n its judge could not decide; None where it decided all."""
    least: float | None = Field(default=None, exclude_if=lambda least: least is None)
    """Its value if all of these had failed."""
    most: float | None = Field(default=None, exclude_if=lambda most: most is None)
    """Its value if all of these had passed."""
    by: str = ""
    """For a column: the judge it is from, or `no judge`; it is shown below the head if all groups agree."""

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.head)}</b> {format_figure_with_interval(self)}" + (f" <small>{escape(self.note)}</small>" if self.note else "")

    def rate(self) -> Rate:
        """Return the measure as a rate; it must be one."""
        return Rate(k=self.k or 0, n=self.n or 0, value=self.value, low=self.low, high=self.high)

    @classmethod
    def of(cls, rate: Rate | None, name: str, head: str, *, undecided: int = 0, **more: Any) -> Measure:
        """Make a measure from a rate; None keeps the place without a value. `undecided` gives it the range that these episodes leave open."""
        known = {} if rate is None else rate.model_dump()
        if rate is not None and undecided:
            ends = (rate.k / (rate.n + undecided), (rate.k + undecided) / (rate.n + undecided))
            known |= {"undecided": undecided, "least": ends[0], "most": ends[1]}
        return cls(name=name, head=head, kind="rate", **known, **more)


class Matrix(FrozenModel):
    """Counts of one label against another."""

    name: str
    rows: tuple[str, ...]
    """Labels down: what is right."""
    columns: tuple[str, ...]
    """Labels across: what was found. There may be more than rows, for example one for answers without a readable label."""
    counts: tuple[tuple[int, ...], ...]
    """One tuple per row."""
    heads: tuple[str, ...] = ()
    """Words for `columns`, of at most nine characters each, for narrow screens; `columns` themselves if there are none."""
    axes: tuple[str, str] = ("gold", "predicted")
    """What the rows are, and what the columns are."""


class Series(FrozenModel):
    """One line of values of a curve, one per bin."""

    name: str
    values: tuple[int | float | None, ...]
    """Values; None for a bin without any."""


class Curve(FrozenModel):
    """Values over a range that is cut into bins: a plot shows it, and a screen as bars."""

    name: str
    """Key in `--json` and `--csv`."""
    title: str
    kind: Literal["histogram", "reliability"] = "histogram"
    """`histogram`: counts, each series a colour of its own; `reliability`: a share, the mean of x, and the count of each bin, in this order."""
    x: str
    """The quantity of the range."""
    y: str
    """The quantity of the values."""
    edges: tuple[float, ...]
    """Ends of the bins, one more than there are bins; a bin includes its lower end, the last one both."""
    series: tuple[Series, ...]

    @model_validator(mode="after")
    def _one_value_a_bin(self) -> Curve:
        if any(len(one.values) != len(self.edges) - 1 for one in self.series):
            raise ValueError(f"curve {self.name}: a series has another number of values than there are bins")
        return self


class Summary(FrozenModel):
    """The totals of the episodes of one group."""

    group: str
    n: int
    """Scored episodes: those the measures are over."""
    total: int
    """Finished episodes."""
    not_scored: dict[str, int] = Field(default_factory=dict)
    """How many episodes are not scored, by reason."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Further data about the group, such as which judge decided; in the order of the record's keys."""
    measures: tuple[Measure, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the numbers should know."""
    derived: bool = False
    """Whether it repeats the episodes of other groups, as an average over two: nothing is counted twice."""

    @classmethod
    def of(cls, group: str, rows: Sequence[Row], **more: Any) -> Summary:
        """Make the summary of a group's rows; `more` are its other fields, among them the measures."""
        left = Counter(row.not_scored for row in rows if not row.scored)
        return cls(group=group, n=len(rows) - left.total(), total=len(rows), not_scored=dict(sorted(left.items())), **more)

    def _repr_html_(self) -> str:
        return summary_table([((), self)])

    def measures_in(self, place: MeasurePlace) -> list[Measure]:
        """Return the measures shown in a place."""
        return [one for one in self.measures if one.place == place]

    def measure(self, name: str) -> Measure | None:
        """Return the measure called `name`; None if there is none."""
        return next((measure for measure in self.measures if measure.name == name), None)

    def record(self) -> dict[str, Any]:
        """Return the summary as one flat row of data.

        `group`, `total`, `n`, `not_scored` (how many), the facts; a rate as `<name>`, `<name>_low`, `<name>_high`, `<name>_k`, `<name>_n`, and
        with undecided episodes `<name>_undecided`, `<name>_least`, `<name>_most`; a score without `_k`, and without `_n` if it has none, a
        number as `<name>` alone; each cell of a matrix as `<row>_as_<column>`; each value of a curve as `<curve>_<series>_<bin>`, bins counted
        from 1.
        """
        row: dict[str, Any] = {"group": self.group, "total": self.total, "n": self.n, "not_scored": sum(self.not_scored.values()), **self.facts}
        for one in self.measures:
            row[one.name] = one.value
            if one.kind != "number":
                row |= {f"{one.name}_low": one.low, f"{one.name}_high": one.high}
            if one.kind == "rate":
                row |= {f"{one.name}_k": one.k, f"{one.name}_n": one.n}
            elif one.n is not None:
                row[f"{one.name}_n"] = one.n
            if one.undecided is not None:
                row |= {f"{one.name}_undecided": one.undecided, f"{one.name}_least": one.least, f"{one.name}_most": one.most}
        for matrix in self.matrices:
            for gold, counts in zip(matrix.rows, matrix.counts, strict=True):
                row |= {f"{gold}_as_{found}": count for found, count in zip(matrix.columns, counts, strict=True)}
        for curve in self.curves:
            for series in curve.series:
                key = f"{curve.name}_{_key(series.name)}"
                row |= {f"{key}_{place}": value for place, value in enumerate(series.values, 1)}
        return row


def _key(words: str) -> str:
    """Return words as a key of data: small letters, joined by underscores."""
    return "_".join("".join(sign if sign.isalnum() else " " for sign in words.lower()).split())


def columns(summaries: Iterable[Summary], under: str = "") -> dict[str, Measure]:
    """Return the columns that a table of these needs, by the measure's name: each as the first group that has it.

    Args:
        summaries: The groups.
        under: The table's title; the first table has none.
    """
    return tables(summaries).get(under, {})


def tables(summaries: Iterable[Summary]) -> dict[str, dict[str, Measure]]:
    """Return the tables that these need: title to columns; the first, without a title, then the others by title."""
    found: dict[str, dict[str, Measure]] = {}
    for summary in summaries:
        for one in summary.measures_in("column"):
            found.setdefault(one.under, {}).setdefault(one.name, one)
    return {title: found[title] for title in sorted(found)}


def summary_table(summaries: Sequence[tuple[Sequence[str], Summary]], fields: Sequence[str] = ()) -> str:
    """Return summaries as the rows of an HTML table.

    Args:
        summaries: Each with the cells that precede it.
        fields: Heads of those cells.
    """
    every = {name: one for table in tables(summary for _, summary in summaries).values() for name, one in table.items()}
    rows = []
    for before, summary in summaries:
        left = sum(summary.not_scored.values())
        size = f"{summary.n:,}" + (f" (+{left:,} not scored)" if left else "")
        rows.append([*before, summary.group, size, *(format_figure_with_interval(summary.measure(name)) for name in every)])
    heads = {**dict.fromkeys(fields, ""), "group": "", "n": "scored episodes", **{one.head: one.note for one in every.values()}}
    return html_table(heads, rows)


class Verdict(FrozenModel):
    """What one judge says of one episode."""

    episode_id: str
    judge: str
    judge_config_digest: str = ""
    value: bool | None
    """None: the judge does not apply to this episode, or could not decide (see `explanation`)."""
    label: str = ""
    """The class that a classifying judge gave the answer: a `Behaviour`, or `unparsed`; empty for judges that do not classify."""
    labels: dict[str, str] = Field(default_factory=dict, exclude_if=lambda labels: not labels)
    """Of a judge that labels several things in an episode: each one's label. `fault` labels each perturbation, by its name."""
    flags: dict[str, bool] = Field(default_factory=dict, exclude_if=lambda flags: not flags)
    """What such a judge notes of the whole episode besides its labels."""
    votes: tuple[bool, ...] = ()
    explanation: str = ""
    asked: bool = Field(default=False, exclude_if=lambda asked: not asked)
    """Whether a model was asked for it; such a verdict without a value is undecided, and the judge is asked again."""
    left_open: bool = Field(default=False, exclude_if=lambda left_open: not left_open)
    """Whether rules that apply could not decide it: a model or a person may."""
    basis: str = ""
    """For a judge that depends on other episodes or judges, a digest of those; if it has changed, the judge is asked again."""
    given_at: float | None = Field(None, ge=0, le=_LATEST, exclude_if=lambda given_at: given_at is None)
    """When a person gave it, in seconds since 1970; None for a program's."""

    @property
    def undecided(self) -> bool:
        """Whether a model was asked, and could not decide: its answer could not be read, or did not come."""
        return self.asked and self.value is None


class Rate(FrozenModel):
    """A share with its Wilson 95 % interval; `value`, `low` and `high` are None for n = 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None
