"""The papers' tables: what must hold of their figures by themselves, and every figure found again where the papers' texts are at hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from benchmarks import published_matrices as matrices
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.stats import wilson
from talm_sim.tasks.paper.published import AbsentTable, PublishedRow, PublishedTable, list_published, published
from talm_sim.tasks.when2call.scores import macro_f1

TABLES = [one for one in list_published() if isinstance(one, PublishedTable)]
MATRICES = [published("when2call", number) for number in range(13, 20)]


def name_of(table: PublishedTable) -> str:
    return f"{table.paper}-{table.table}"


def counts(table: PublishedTable) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(row.values[column] or 0) for column in table.columns) for row in table.rows)


@pytest.mark.parametrize("table", TABLES, ids=name_of)
def test_a_table_is_whole(table: PublishedTable) -> None:
    assert table.citation and table.caption.endswith(".") and table.data and table.rows
    assert len({row.keys for row in table.rows}) == len(table.rows), "no row stands twice"
    top = {"share": 1, "percent": 100}.get(table.unit)
    for row in table.rows:
        assert (len(row.keys), tuple(row.values)) == (len(table.keys), table.columns)
        for column, value in row.values.items():
            assert value is None or value >= 0
            share = table.share(row, column)
            if top and column not in {"N"} and not column.endswith("Num"):
                assert share is None or share <= 1
    for wrong in table.misprints:
        assert table.row(*wrong.row).values[wrong.column] == wrong.printed != wrong.right and wrong.why


def test_a_table_is_printed_in_a_line_and_its_rows_are_had_as_records() -> None:
    table = published("fail-talms", 2)
    assert len(repr(table)) < 300 and "\n" not in repr(table) and "to_pandas()" in repr(table)
    records = table.to_records()
    assert len(records) == len(table.rows)
    assert list(records[0]) == [*table.keys, *table.columns]
    pandas = pytest.importorskip("pandas")
    assert list(table.to_pandas().columns) == [*table.keys, *table.columns]
    assert isinstance(table.to_pandas(), pandas.DataFrame)


def test_a_table_is_found_by_its_number_and_a_wrong_name_helps() -> None:
    assert published("fail-talms", 2) is published("fail-talms", "2")
    with pytest.raises(PrerequisiteError, match=r"^no published tables of 'failtalms'. Did you mean 'fail-talms'\?$"):
        published("failtalms", 1)
    with pytest.raises(PrerequisiteError, match=r"^fail-talms has no Table '9'. Known: 1, 2, 3, people\.$"):
        published("fail-talms", 9)
    with pytest.raises(PrerequisiteError, match=r"^when2call, Table 7 is not in the data: prompts in words, no figures\.$"):
        published("when2call", 7)
    with pytest.raises(KeyError):
        published("when2call", 3).row("nobody")
    absent = {(one.paper, one.table) for one in list_published() if isinstance(one, AbsentTable)}
    assert {("when2call", "1"), ("incomplete-conditions", "9"), ("when-not-to-call", "1 and on")} <= absent


@pytest.mark.parametrize("table", MATRICES, ids=name_of)
def test_a_matrix_sums_to_the_test_set_and_gives_the_f1_of_tables_3_and_12(table: PublishedTable) -> None:
    matrix = counts(table)
    sizes = published("when2call", 2).row("When2Call Test").values
    expected = [sizes[column] for column in table.columns]
    expected[1] = 1292 if table.table == "13" else expected[1]
    assert [sum(row) for row in matrix] == expected and sum(map(sum, matrix)) == table.n
    value = macro_f1(matrix)
    assert value is not None
    for number in (3, 12):
        results = published("when2call", number)
        row = results.row(table.rows[0].keys[0])
        assert f"{value:.3f}" == f"{results.share(row, 'F1'):.3f}"


def test_what_tables_3_and_12_print_for_llama_is_an_accuracy() -> None:
    matrix = counts(MATRICES[0])
    assert round(100 * sum(row[place] for place, row in enumerate(matrix)) / sum(map(sum, matrix)), 1) == 37.8
    for number in (3, 12):
        table = published("when2call", number)
        row = table.row("Llama 3.1 70B Instruct")
        assert (row.values["F1"], table.share(row, "F1")) == (37.8, 0.17600000000000002)


def test_unavailable_is_the_average_of_its_halves_but_for_what_is_marked() -> None:
    found = []
    for table in (published("fail-talms", 1), published("fail-talms", 2)):
        for model in dict.fromkeys(row.keys[0] for row in table.rows):
            both, one, other = (table.row(model, name) for name in ("Unavailable tools", "non-replaceable", "replaceable"))
            for column in table.columns:
                values = [table.share(row, column) for row in (both, one, other)]
                if None not in values:
                    whole, first, second = (value or 0 for value in values)
                    if abs(whole - (first + second) / 2) > 0.0051:
                        found.append((table.table, model, column))
    assert found == [("2", "Qwen-72B-Instruct", "PR"), ("2", "Qwen-72B-Instruct", "Aware")]
    marked = {(wrong.row[0], wrong.column) for wrong in published("fail-talms", 2).misprints if wrong.right is None}
    assert {(model, column) for _, model, column in found} == marked


def test_table_3_repeats_table_1_but_for_a_row_of_another_model() -> None:
    table, first = published("fail-talms", 3), published("fail-talms", 1)
    models = {"GPT-4o": "GPT4o", "LLaMa-70B": "Llama 70B"}
    settings = {"under-specified": "Under-specified", "perfect": "Perfect", "unavailable tools": "Unavailable tools"}
    for row in table.rows:
        metric, model, setting = row.keys
        there = first.row(models.get(model, model), settings.get(setting, "non-replaceable"))
        assert table.share(row, "Value") == pytest.approx(first.share(there, {"Pass Rate": "PR"}.get(metric, "Aware")))
    assert not all(map(is_wilson, table.rows)), "the note says that not all are"


def is_wilson(row: PublishedRow) -> bool:
    value, n, low, high = (row.values[column] or 0 for column in ("Value", "N", "Low", "High"))
    rate = wilson(round(value / 100 * n), int(n))
    return abs(100 * (rate.low or 0) - low) < 0.15 and abs(100 * (rate.high or 0) - high) < 0.15


def test_the_share_that_agrees_is_one_of_its_n() -> None:
    (share,) = published("fail-talms", "people").row("GPT-4o").values.values()
    assert share == round(100 * 79 / 95, 1) and published("fail-talms", "people").n == 95
    assert published("incomplete-conditions", 3).row("Human").values["Overall Acc"] == round(100 * 146 / 180, 2)


def test_sums_of_the_other_papers() -> None:
    size = published("when-not-to-call", "splits")
    assert sum(row.values["Samples"] or 0 for row in size.rows if row.keys != ("Total",)) == size.row("Total").values["Samples"] == 3641
    training = published("when-not-to-call", "training")
    assert sum(row.values["Examples"] or 0 for row in training.rows) == training.n
    for row in published("when-not-to-call", "gap").rows:
        assert (row.values["Standard"] or 0) - (row.values["Intent-based"] or 0) == pytest.approx(row.values["Gap"])
    held = published("incomplete-conditions", 1).row("# Instances").values
    assert sum(value or 0 for value in held.values()) == 1610
    for columns in (("direct", "tool_call", "request_for_info", "cannot_answer"), ("0 tools", "1 tool", "2+ tools")):
        row = published("when2call", 2).row("When2Call Test")
        assert sum(row.values[column] or 0 for column in columns) == 3652
    # Tables 3 and 12 of When2Call, and 2 and 11 of the other, print the same figures where they have the same rows.
    for paper, smaller, larger in (("when2call", 3, 12), ("incomplete-conditions", 11, 2)):
        rows = {row.keys: row for row in published(paper, larger).rows}
        same = [row for row in published(paper, smaller).rows if row.keys in rows]
        assert len(same) >= 14 and all(rows[row.keys] == row for row in same)


def test_every_accuracy_and_f1_of_the_study_has_a_whole_number_matrix() -> None:
    """Over sizes that the accuracies alone leave; with Table 1's counts as the incomplete ones, 29 of 104 have none."""
    found, lacking = [], 0
    for column, rows in matrices.columns().items():
        (n,) = matrices.sizes(rows)
        found.append(n)
        counted = matrices.table_1(column)
        assert len(rows) == 26
        for row in rows:
            assert any(matrices.matrices(*matrices.figures(row), n, n - counted)), row
            lacking += not any(matrices.matrices(*matrices.figures(row), n, counted))
    assert (found, lacking) == ([823, 910, 589, 773], 29)


# --- against the texts ---------------------------------------------------------------------------------------------------------------------

Line = tuple[str, list[float | None]]
"""What a line of a paper's text must hold: a label, and these figures beside each other; None is a dash."""
NUMBER = re.compile(r"(?<![\w.])-(?=\s|$)|\d[\d,]*(?:\.\d+)?")
GOLD = {"direct": "Direct answer", "tool_call": "Tool call", "request_for_info": "Follow-up question", "cannot_answer": "Unable to answer"}
MARKS = {
    "utterance removed, call failed": "\\checkmark\t\\checkmark",
    "utterance removed, call succeeded": "\\checkmark\t\t",
    "complete, call failed": "\t\\checkmark",
}
HEADS = {
    "main": "Model Lang Baseline",
    "splits": "Paper evaluation split",
    "training": "Source Examples Share",
    "gap": "Language Standard Intent",
}
IN_TEXT = {
    "fail-talms": ("In §3.4 we propose to use model-based evaluation", "95 examples"),
    "incomplete-conditions": ("To further verify the reliability of Judge LLM", "100 randomly sampled instances"),
}
"""How the paragraphs begin that have figures of people's agreement, and what they are over."""


@pytest.fixture
def texts(bench_data: Path) -> dict[str, list[str]]:
    folder = bench_data.parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"{folder}: the papers' texts are not there")
    return {paper: (folder / f"{paper}.txt").read_text(encoding="utf-8").splitlines() for paper in {table.paper for table in TABLES}}


@pytest.mark.bench_data
def test_every_figure_stands_beside_its_rows_name_in_the_paper(texts: dict[str, list[str]]) -> None:
    found: Counter[str] = Counter()
    for table in TABLES:
        text, (start, end) = texts[table.paper], window(table, texts[table.paper])
        place = start
        for label, figures in lines_of(table):
            at = next((number for number in range(place, end) if label in text[number] and holds(text[number], figures)), None)
            assert at is not None, f"{name_of(table)}: {label} {figures} is not in lines {place} to {end}"
            place = at + 1
            found[table.paper] += sum(figure is not None for figure in figures)
    stored = Counter({paper: 0 for paper in found})
    for table in TABLES:
        stored[table.paper] += sum(value is not None for row in table.rows for value in row.values.values())
    assert found == stored
    assert found.total() == sum(stored.values()) >= 1100


def window(table: PublishedTable, text: list[str]) -> tuple[int, int]:
    """The lines a table may stand in: around its caption; where captions stand before and after, by its place among its kind."""
    if table in MATRICES:
        starts = [number for number, line in enumerate(text) if line.startswith("| Direct answer ")]
        assert len(starts) == len(MATRICES)
        start = starts[MATRICES.index(table)]
        return start, start + 4
    caption = IN_TEXT[table.paper][0] if table.table == "people" else HEADS.get(table.table, f"Table {table.table}:")
    (at,) = (number for number, line in enumerate(text) if line.startswith(caption))
    return max(0, at - 40), min(len(text), at + 40)


def holds(line: str, figures: list[float | None]) -> bool:
    there = [None if one == "-" else float(one.replace(",", "")) for one in NUMBER.findall(line)]
    return any(there[start : start + len(figures)] == figures for start in range(len(there) - len(figures) + 1))


def lines_of(table: PublishedTable) -> Iterator[Line]:
    """The lines of a paper's text that a table was read from, in their order."""
    rows, paper = list(table.rows), table.paper
    if (paper, table.table) == ("when-not-to-call", "main"):  # one line a model and language, the variants beside each other
        for model, language, _ in (row.keys for row in rows if row.keys[2] == "Baseline"):
            yield f"{model} {language}", [value for row in rows if row.keys[:2] == (model, language) for value in row.values.values()]
    elif paper == "fail-talms" and table.table in {"1", "2"}:
        models = list(dict.fromkeys(row.keys[0] for row in rows))
        for three in (models[:3], models[3:]):
            for setting in dict.fromkeys(row.keys[1] for row in rows):
                yield setting, [value for model in three for value in table.row(model, setting).values.values()]
    elif "prompt" in table.keys:  # one line a measure, one column a model
        for _, same in groupby(rows, key=lambda row: row.keys[:2]):
            yield from transposed(table, list(same))
    elif table.table == "people":
        yield IN_TEXT[paper][1], [value for row in rows for value in row.values.values()]
    elif paper == "incomplete-conditions" and table.table in {"4", "5", "6", "7", "8", "10"}:
        yield from turned(table)
    else:
        for row in rows:
            label = GOLD[row.keys[1]] if table in MATRICES else MARKS.get(row.keys[0], row.keys[-1])
            label = {"unavailable tools (non-replaceable)": "LLaMa-70B unavailable tools (non-replaceable)"}.get(label, label)
            figures: list[float | None] = [value for value in row.values.values() if value is not None]
            yield (label if paper != "when-not-to-call" else " ".join(row.keys)), figures


def turned(table: PublishedTable) -> Iterator[Line]:
    """Lines of tables whose rows or columns are models there."""
    rows = list(table.rows)
    if table.table in {"4", "7"}:  # one line a model, the manipulations beside each other
        for model in dict.fromkeys(row.keys[1] for row in rows):
            yield model, [value for row in rows if row.keys[1] == model for value in row.values.values()]
        return
    for name, same in groupby(rows, key=lambda row: row.keys[0]):
        own = list(same)
        if table.table == "6":  # one line a measure, one column a model
            yield from ((column, [row.values[column] for row in own]) for column in table.columns)
        else:  # one column a model; in Tables 8 and 10 with two figures in one cell
            yield MARKS.get(name, "Yes Ratio"), [value for row in own for value in row.values.values()]


def transposed(table: PublishedTable, rows: list[PublishedRow]) -> Iterator[Line]:
    ways = list(dict.fromkeys(row.keys[2] for row in rows))
    for column in table.columns:
        for way in ways:
            yield f"\t{way}\t", [row.values[column] for row in rows if row.keys[2] == way]
