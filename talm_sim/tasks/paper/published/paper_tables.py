"""Read published tables from `tables.toml`: facts with the section and table they stand in; captions and notes are ours."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from talm_sim.common.toml_files import packaged_toml
from talm_sim.errors import PrerequisiteError, did_you_mean, pip_install
from talm_sim.types import FrozenModel

if TYPE_CHECKING:
    import pandas

Figure = int | float | None
_LEFT_OUT = "-"
_PER = {"percent": 100}
"""What a figure is divided by to be a share, by its table's unit."""


class Misprint(FrozenModel):
    """A figure that is printed wrong."""

    row: tuple[str, ...]
    """The row's keys."""
    column: str
    printed: int | float
    right: int | float | None = None
    """What should stand there; None where that is not known."""
    why: str


class PublishedRow(FrozenModel):
    """One row of figures, as printed."""

    keys: tuple[str, ...]
    """What names it, as the table's `keys` say: a model, a setting."""
    values: dict[str, Figure]
    """Column to figure; None where the paper leaves it out."""


class AbsentTable(FrozenModel):
    """A table of a paper that is not in the data."""

    paper: str
    table: str
    section: str
    caption: str
    why: str


class PublishedTable(FrozenModel):
    """One table of a paper."""

    paper: str
    """Id of the paper, as `fail-talms`."""
    name: str
    """What the paper's data set or system is called."""
    citation: str
    table: str
    """Its number in the paper; a word where it has none."""
    section: str
    caption: str
    data: str
    """What the figures are over."""
    unit: Literal["share", "percent", "count", "number"]
    n: int | None = None
    """Rows of data behind each row of the table, where that is known and one number."""
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    misprints: tuple[Misprint, ...] = ()
    rows: tuple[PublishedRow, ...]

    def __repr__(self) -> str:
        """Return one line about the table, without its many rows."""
        return f"PublishedTable({self.name}, Table {self.table}: {self.caption}; {len(self.rows)} rows; to_pandas() shows them)"

    def to_records(self) -> list[dict[str, Any]]:
        """Return a flat object for each row, as printed: its keys, then its figures."""
        return [{**dict(zip(self.keys, row.keys, strict=True)), **row.values} for row in self.rows]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas frame.

        Raises:
            PrerequisiteError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise PrerequisiteError(f"pandas is not installed: {pip_install('pandas')}.") from None
        return pandas.DataFrame.from_records(self.to_records())

    def row(self, *keys: str) -> PublishedRow:
        """Return the row of these keys.

        Raises:
            KeyError: There is none.
        """
        for row in self.rows:
            if row.keys == keys:
                return row
        raise KeyError(f"{self.paper}, Table {self.table}: no row {keys}")

    def misprint(self, row: PublishedRow, column: str) -> Misprint | None:
        """Return the misprint known of a figure; None for a sound one."""
        return next((one for one in self.misprints if one.row == row.keys and one.column == column), None)

    def share(self, row: PublishedRow, column: str) -> float | None:
        """Return a figure as a share between 0 and 1, a misprint corrected if it can be; None if there is no figure."""
        wrong = self.misprint(row, column)
        value = wrong.right if wrong is not None and wrong.right is not None else row.values[column]
        return None if value is None else value / _PER.get(self.unit, 1)


def published(paper: str, table: str | int) -> PublishedTable:
    """Return one table of a paper.

    Args:
        paper: `fail-talms`, `incomplete-conditions`, `when2call` or `when-not-to-call`.
        table: Its number, or the word that names it.

    Raises:
        PrerequisiteError: It is not there; the message says why where that is known.
    """
    every = {(one.paper, one.table): one for one in list_published()}
    if isinstance(found := every.get((paper, str(table))), PublishedTable):
        return found
    if found is not None:
        raise PrerequisiteError(f"{paper}, Table {table} is not in the data: {found.why}.")
    papers = list(dict.fromkeys(name for name, _ in every))
    if paper not in papers:
        raise PrerequisiteError(f"no published tables of '{paper}'.{did_you_mean(paper, papers)}")
    known = [name for of, name in every if of == paper and isinstance(every[of, name], PublishedTable)]
    raise PrerequisiteError(f"{paper} has no Table '{table}'. Known: {', '.join(known)}.")


@cache
def list_published() -> tuple[PublishedTable | AbsentTable, ...]:
    """List every table of the four papers, those that are not in the data as well, paper by paper."""
    document = packaged_toml("talm_sim.tasks.paper.published", "tables.toml")
    papers = {paper.pop("id"): paper for paper in document["paper"]}
    tables = [_table(one, papers[one["paper"]]) for one in document["table"]]
    absent = [AbsentTable(**one) for one in document["absent"]]
    order = list(papers)
    return tuple(sorted((*tables, *absent), key=lambda one: (order.index(one.paper), _number(one.table))))


def _table(values: dict[str, Any], paper: dict[str, str]) -> PublishedTable:
    keys, columns = values["keys"], values["columns"]
    rows = []
    for cells in values["rows"]:
        figures = [None if cell == _LEFT_OUT else cell for cell in cells[len(keys) :]]
        rows.append(PublishedRow(keys=tuple(cells[: len(keys)]), values=dict(zip(columns, figures, strict=True))))
    return PublishedTable(**{**values, **paper, "rows": tuple(rows)})


def _number(table: str) -> tuple[int, str]:
    return (int(table), "") if table.isdigit() else (99, table)
