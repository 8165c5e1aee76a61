"""Finds, for each accuracy and F1 that the study of incomplete conditions prints, the confusion matrices of whole numbers that round to both.

Usage: python benchmarks/published_matrices.py

The study does not say over how many instances its figures are. Of all sizes up to 1,000 each column's accuracies leave one (twice that fits
too). It is smaller than twice Table 1's number of instances. With that number as the complete ones every figure has a matrix; with it as the
manipulated ones, as the text reads, many have none.
"""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.tasks.paper.published import PublishedRow, published

PAPER = "incomplete-conditions"
HALF = 0.005 + 1e-9
"""Of the last digit that is printed, in percent."""
Matrix = tuple[int, int, int, int]
"""Right Noes, missed Noes, wrong Noes, right Yeses."""
Column = tuple[str, str]
"""A manipulation and a source."""


def columns() -> dict[Column, list[PublishedRow]]:
    """The rows of Tables 2 and 11 by what they are over, each once."""
    found: dict[Column, dict[tuple[str, ...], PublishedRow]] = {}
    for table in (2, 11):
        for row in published(PAPER, table).rows:
            found.setdefault((row.keys[0], row.keys[1]), {})[row.keys] = row
    return {column: list(rows.values()) for column, rows in found.items()}


def figures(row: PublishedRow) -> tuple[float, float]:
    """Accuracy and F1, in percent."""
    return float(row.values["Acc"] or 0), float(row.values["F1"] or 0)


def sizes(rows: list[PublishedRow], most: int = 1000) -> list[int]:
    """Numbers of instances over which every accuracy is a whole number of right answers; below 300 nearly any accuracy is."""
    return [n for n in range(300, most) if all(any(_rights(figures(row)[0], n)) for row in rows)]


def matrices(accuracy: float, f1: float, n: int, incomplete: int) -> Iterator[Matrix]:
    """Matrices over `n` instances, so many of them incomplete, that round to both figures; every answer is a Yes or a No."""
    complete = n - incomplete
    for right in _rights(accuracy, n):
        for hits in range(max(0, right - complete), min(incomplete, right) + 1):
            wrong = complete - (right - hits)
            if abs(200 * hits / (incomplete + hits + wrong) - f1) <= HALF:
                yield hits, incomplete - hits, wrong, right - hits


def _rights(accuracy: float, n: int) -> Iterator[int]:
    """Numbers of right answers that round to an accuracy."""
    middle = round(accuracy * n / 100)
    return (k for k in (middle - 1, middle, middle + 1) if 0 <= k <= n and abs(100 * k / n - accuracy) <= HALF)


def table_1(column: Column) -> int:
    """How many instances Table 1 counts there."""
    return int(published(PAPER, 1).row("# Instances").values[", ".join(column)] or 0)


def others(table: int, part: str) -> list[tuple[float, float]]:
    """Accuracies and F1 of a manipulation in Table 4 (free answers) or 6 (Llama 2)."""
    return [figures(row) for row in published(PAPER, table).rows if row.keys[0] == part]


def main() -> None:
    """Print the list."""
    for column, rows in columns().items():
        (n, *_) = sizes(rows)
        counted = table_1(column)
        for incomplete, reading in ((n - counted, "the complete ones"), (counted, "the manipulated ones")):
            lacking = [row for row in rows if not any(matrices(*figures(row), n, incomplete))]
            print(f"{', '.join(column)}: n = {n}, Table 1's {counted} as {reading}: {len(rows) - len(lacking)} of {len(rows)} have a matrix")
            for row in lacking:
                print(f"  none: {', '.join(row.keys[2:])}: {figures(row)}")
        for row in rows:
            hits, missed, wrong, right = next(matrices(*figures(row), n, n - counted))
            print(f"  {', '.join(row.keys[2:])}: {figures(row)}: Noes {hits} right, {wrong} wrong; Yeses {right} right, {missed} wrong")
    human = published(PAPER, 3).rows[0].values
    for part, n in (("API Replacement", 90), ("Utterance Removal", 90), ("Overall", 180)):
        accuracy, f1 = float(human[f"{part} Acc"] or 0), float(human[f"{part} F1"] or 0)
        found_any = any(any(matrices(accuracy, f1, n, incomplete)) for incomplete in range(1, n))
        print(f"people, {part}, n = {n}: {(accuracy, f1)}: {'a matrix is found' if found_any else 'none'}")
    for part, n, counted in (("API Replacement", 823, 423), ("Utterance Removal", 589, 304)):
        for table, pairs in ((4, others(4, part)), (6, others(6, part))):
            fitting = sum(any(matrices(*pair, n, n - counted)) for pair in pairs)
            print(f"Table {table}, {part}, APIBank's n = {n}: {fitting} of {len(pairs)} have a matrix")


if __name__ == "__main__":
    main()
