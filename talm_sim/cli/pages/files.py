"""A page as files: one if it is not too large, else one with tables and index, and the transcripts in others beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from talm_sim.cli.pages.rendering import data_size, render_page

__all__ = ["page_files"]

LARGEST: Final = 4 * 2**20
"""Bytes of a file."""

_Episodes = list[list[dict[str, Any]]]
"""Lines of the index, run by run."""


def page_files(page: Path, index: Mapping[str, Any], transcripts: Sequence[Mapping[str, Any]] | None) -> list[tuple[Path, bytes]]:
    """Return the files of a page, its own first.

    Args:
        page: The page's file. The others are called `NAME-1.html` and so on, beside it.
        index: What `build_index` returned.
        transcripts: Of each run, its transcripts by episode; None to write none.
    """
    whole = render_page(index, transcripts).encode("utf-8")
    if len(whole) <= LARGEST or transcripts is None:
        return [(page, whole)]
    part = {"number": 10_000, "of": 10_000, "main": page.name}
    frame = len(render_page(_within(index, [[] for _ in transcripts], part), [{} for _ in transcripts]).encode("utf-8"))
    parts = list(_split(index, transcripts, LARGEST - frame))
    names = [f"{page.stem}-{number}{page.suffix}" for number in range(1, len(parts) + 1)]
    found = []
    for number, (name, lines) in enumerate(zip(names, parts, strict=True), 1):
        for line in (line for run in lines for line in run):
            line["file"] = name
        held = [{line["id"]: of[line["id"]] for line in run} for run, of in zip(lines, transcripts, strict=True)]
        part = {"number": number, "of": len(parts), "main": page.name}
        text = render_page(_within(index, lines, part), held)
        found.append((page.with_name(name), text.encode("utf-8")))
    main = render_page({**index, "part": {"whole": True, "files": names}}, None)
    return [(page, main.encode("utf-8")), *found]


def _within(index: Mapping[str, Any], lines: _Episodes, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the index of one part: its episodes, and the pairs of which it has both."""
    ids = [{line["id"] for line in run} for run in lines]
    less = {"tables": [], "breakdowns": [], "asked": {"counts": [], "items": [], "more": 0}}
    runs = [{**run, **less, "episodes": own} for run, own in zip(index["runs"], lines, strict=True)]
    compared = []
    for one in index["compared"]:
        pairs = [pair for pair in one["pairs"] if all(name in ids[place] for name, place in zip(pair["episodes"], one["places"], strict=True))]
        if pairs:
            compared.append({**one, "tables": [], "about": [], "pairs": pairs})
    return {**index, "blocks": [], "papers": [], "definitions": [], "runs": runs, "compared": compared, "part": dict(part)}


def _split(index: Mapping[str, Any], transcripts: Sequence[Mapping[str, Any]], room: int) -> Iterator[_Episodes]:
    """Yield the lines of each part: all runs' episodes of a scenario together, as many scenarios as there is room for, but at least one."""
    by_scenario: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, run in enumerate(index["runs"]):
        for line in run["episodes"]:
            by_scenario.setdefault(line["scenario"], []).append((place, line))
    pairs = _pair_sizes(index)
    part: _Episodes = [[] for _ in transcripts]
    taken = 0
    for scenario, lines in by_scenario.items():
        size = pairs.get(scenario, 0) + sum(data_size(line) + data_size(transcripts[place][line["id"]]) + 200 for place, line in lines)
        if taken and taken + size > room:
            yield part
            part, taken = [[] for _ in transcripts], 0
        taken += size
        for place, line in lines:
            part[place].append(line)
    yield part


def _pair_sizes(index: Mapping[str, Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for one in index["compared"]:
        for pair in one["pairs"]:
            sizes[pair["scenario"]] = sizes.get(pair["scenario"], 0) + data_size(pair)
    return sizes
