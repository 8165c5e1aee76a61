"""Show a paper's rows beside a run's: which published table, and which of its rows are about the run's groups and model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from talm_sim.tasks.paper.published import Misprint, PublishedTable, published

_DATE = re.compile(r"(?<!\d)(?:20\d\d-?\d\d-?\d\d|\d\d-\d\d|\d{4})(?![\d.a-z])")
_REVISION = re.compile(r":\d+$|(?<![a-z])v\d+(?:\.\d+)*")
"""What follows the name of a model that is served (`-v1:0`), and revisions (`-v0.2`)."""
_DASHED_VERSION = re.compile(r"(?<![\d.])(\d)-(\d)(?![\da-z.])")
_PART = re.compile(r"\d+x\d+b|\d+(?:\.\d+)*[a-z]*|[a-z]+")
_VERSION = re.compile(r"\d+(?:\.\d+)*")
_TUNED = frozenset({"instruct", "chat", "it"})
_SILENT = re.compile(r"instruct|chat|it|latest|hf|meta|mistralai|anthropic|\d+k")
"""Parts of a run's name that do not tell two published models apart; any other part, such as `mini` or `awq`, makes it another model."""
_UNSAID = {"llama": {"3.1"}, "qwen": {"2", "2.5"}}
"""Versions that a name without one may mean: Llama of 405B, which is in the same table, is 3.1."""


def recognise(model: str, published: Iterable[str]) -> str | None:
    """Return the published model that a run's model is; None where not exactly one fits.

    >>> recognise("anthropic/claude-3-5-sonnet-20240620", ["GPT4o", "Claude-3.5-sonnet"])
    'Claude-3.5-sonnet'
    """
    own = _parts(model.rstrip("/").rpartition("/")[2])
    found = [name for name in dict.fromkeys(published) if _fits(own, _parts(name))]
    return found[0] if len(found) == 1 else None


def _parts(name: str) -> frozenset[str]:
    plain = _REVISION.sub("", _DATE.sub("", name.lower().replace("_", "-")))
    parts = _PART.findall(_DASHED_VERSION.sub(r"\1.\2", plain))
    return frozenset("turbo" if part == "t" else part for part in parts)


def _fits(own: frozenset[str], published: frozenset[str]) -> bool:
    versions = {part for part in own if _VERSION.fullmatch(part)}
    # A full name without "instruct" is that of a base model; a short one leaves it out.
    wanted = published if versions else published - _TUNED
    if not wanted <= own:
        return False
    further = {part for part in own - published if not _SILENT.fullmatch(part)}
    if not any(_VERSION.fullmatch(part) for part in published):
        further -= {version for version in versions if any(version in _UNSAID.get(part, ()) for part in published)}
    return not further


OTHER = "different scenarios and models; for orientation only"
"""What is said of a run whose scenarios are not the paper's."""
_MOST = 6
"""Rows shown below a table on a screen or page; data has them all."""


def compare_own(rows: str) -> str:
    """Return what is said of a run whose scenarios are the paper's own: which of them were run."""
    return f"run here: {rows}; the models are the paper's"


@dataclass(frozen=True, slots=True)
class Beside:
    """The published table to show beside a run's.

    Attributes:
        paper: Its paper; see `talm_sim.tasks.paper.published.published`.
        table: Its number.
        measures: A measure's name to the table's column.
        groups: The keys of a group's rows there, besides the model.
        models: The models shown if there is no room for all, the first ones first.
        about: Which of the paper's tables it is, in a word or two.
        joined: Columns of the table that are figures of other tasks, by a task's name and the head of its headline figure; they are shown where
            a run of that task is in the same row.
        compared: How the run's scenarios are related to the paper's, and what that means for a comparison.
    """

    paper: str
    table: str
    measures: Mapping[str, str]
    groups: Mapping[str, Mapping[str, str]]
    models: Sequence[str]
    about: str = ""
    compared: str = OTHER
    joined: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def shares(self, model: str, columns: Mapping[str, str]) -> dict[str, float | None]:
        """Return figures of a model's first row, as shares: each under a name, from a column."""
        table = published(self.paper, self.table)
        row = next((one for one in table.rows if dict(zip(table.keys, one.keys, strict=True))["model"] == model), None)
        return {} if row is None else {name: table.share(row, column) for name, column in columns.items()}

    def rows(self, groups: Iterable[str], model: str = "") -> PaperRows:
        """Return the table's rows about these groups, of all models, group by group; those of the run's `model` are shown first."""
        table = published(self.paper, self.table)
        found = []
        for group in groups:
            wanted = self.groups.get(group)
            for row in table.rows if wanted is not None else ():
                keys = dict(zip(table.keys, row.keys, strict=True))
                if keys == {**(wanted or {}), "model": keys["model"]}:
                    values = {name: table.share(row, column) for name, column in self.measures.items()}
                    wrong = {name: one for name, column in self.measures.items() if (one := table.misprint(row, column))}
                    found.append(PaperRow(keys["model"], group, values, wrong))
        same = recognise(model, (row.model for row in found))
        shown = dict.fromkeys([*([same] if same else []), *self.models])
        return PaperRows(table, tuple(found), tuple(shown), self.about, self.compared, (same,) if same else (), self.measures)


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A paper's figures for one model and group, as shares; a misprint is corrected if possible."""

    model: str
    group: str
    values: Mapping[str, float | None]
    """Values by the name of the measure."""
    wrong: Mapping[str, Misprint] = field(default_factory=dict)
    """What is printed wrong, by the name of the measure."""


@dataclass(frozen=True, slots=True)
class PaperRows:
    """Rows of one published table."""

    table: PublishedTable
    rows: tuple[PaperRow, ...]
    models: tuple[str, ...]
    about: str = ""
    compared: str = OTHER
    ran: tuple[str, ...] = ()
    """Those of the models that were run."""
    names: Mapping[str, str] = field(default_factory=dict)
    """A measure's name to the paper's word for it."""

    def title(self) -> str:
        """Say whose figures they are, over which data, and how far they can be compared."""
        n = f" (n = {self.table.n:,})" if self.table.n else ""
        which = f" ({self.about})" if self.about else ""
        # Figures in a paper's text have no table's number, but a place.
        in_text = not self.table.table.isdigit() and self.table.section.startswith("Appendix")
        where = self.table.section if in_text else f"Table {self.table.table}"
        who = f"published: {self.table.name} {where}{which}, {self.table.data}{n}"
        return f"{who}; {self.compared}"

    def name(self, row: PaperRow) -> str:
        """Return the name of a row: its model, and its group if there are several."""
        return row.model if len({one.group for one in self.rows}) == 1 else f"{row.model}, {row.group}"

    def few(self, most: int = _MOST) -> list[PaperRow]:
        """Return as many rows as a reader takes in: of one model or more, all groups of each."""
        groups = list(dict.fromkeys(row.group for row in self.rows))
        models = self.models[: max(1, most // max(1, len(groups)))]
        found = {(row.group, row.model): row for row in self.rows}
        return [found[group, model] for group in groups for model in models if (group, model) in found]

    def joined(self, other: PaperRows) -> PaperRows:
        """Join these rows with those of the same table that another run has beside it, each once."""
        rows = tuple({(row.group, row.model): row for row in (*self.rows, *other.rows)}.values())
        compared = self.compared if other.compared in self.compared else f"{self.compared}; {other.compared}"
        ran = tuple(dict.fromkeys((*self.ran, *other.ran)))
        models = tuple(dict.fromkeys((*ran, *self.models)))
        return replace(self, rows=rows, models=models, compared=compared, ran=ran)

    def misprints(self, most: int = _MOST) -> list[str]:
        """Say what is wrong in the rows that are shown, for the stars beside them."""
        wrong = [(row, one) for row in self.few(most) for name, one in row.wrong.items() if name in row.values]
        return [f"* {self.name(row)}: printed as {one.printed:g}, a misprint" for row, one in wrong]

    def records(self) -> list[dict[str, Any]]:
        """Return every row as flat data, marked `source: paper`."""
        return [
            {
                "source": "paper",
                "paper": self.table.paper,
                "table": self.table.table,
                "model": row.model,
                "group": row.group,
                **row.values,
                **{f"{name}_printed": one.printed for name, one in row.wrong.items()},
            }
            for row in self.rows
        ]
