"""A page that is too large for one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.cli.pages import page_files as files
from talm_sim.cli.pages.page_files import page_files
from tests.cli.pages.written import Seen


def run_of(name: str, episodes: int) -> dict[str, Any]:
    lines = [{"id": f"s{number}", "scenario": f"s{number}", "query": "q"} for number in range(episodes)]
    return {"id": name, "episodes": lines, "tables": [1], "breakdowns": [1], "asked": {"counts": [], "items": [], "more": 0}}


def index_of(sizes: list[int]) -> dict[str, Any]:
    """An index of two runs with as many episodes, all of them compared."""
    pairs = [{"scenario": f"s{number}", "episodes": [f"s{number}"] * 2} for number in range(len(sizes))]
    compared = [{"names": ["a", "b"], "places": [0, 1], "reason": "", "tables": [1], "about": ["x"], "pairs": pairs}]
    runs = [run_of("a", len(sizes)), run_of("b", len(sizes))]
    return {"title": "t", "blocks": [1], "papers": [1], "definitions": [1], "runs": runs, "compared": compared}


def transcripts_of(sizes: list[int]) -> list[dict[str, Any]]:
    return [{f"s{number}": {"answer": letter * size} for number, size in enumerate(sizes)} for letter in "ab"]


def test_a_small_page_is_one_file() -> None:
    ((name, text),) = page_files(Path("p.html"), index_of([3, 4]), transcripts_of([3, 4]))
    assert name == Path("p.html") and Seen(text.decode("utf-8")).transcripts == transcripts_of([3, 4])


@given(st.lists(st.integers(0, 20_000), min_size=8, max_size=30))
def test_parts_hold_every_transcript_once_with_its_pair_and_are_not_too_large(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LARGEST", 110_000)
        main, *parts = page_files(Path("new/p.html"), index_of(sizes), transcripts_of(sizes))
    if not parts:
        assert len(main[1]) <= 110_000
        return
    assert [name for name, _ in parts] == [Path(f"new/p-{number}.html") for number in range(1, len(parts) + 1)]
    whole = Seen(main[1].decode("utf-8"))
    assert whole.transcripts is None and whole.index["blocks"] == [1]
    found: list[list[str]] = [[], []]
    for name, text in parts:
        assert len(text) <= 110_000
        seen = Seen(text.decode("utf-8"))
        assert seen.index["part"]["main"] == "p.html" and seen.index["blocks"] == []
        for place, run in enumerate(seen.index["runs"]):
            assert [line["id"] for line in run["episodes"]] == [*seen.transcripts[place]]
            found[place] += seen.transcripts[place]
        assert [pair["scenario"] for one in seen.index["compared"] for pair in one["pairs"]] == [*seen.transcripts[0]]
        held = [line["id"] for line in whole.index["runs"][0]["episodes"] if line["file"] == name.name]
        assert held == [*seen.transcripts[0]]
    assert found == [[f"s{number}" for number in range(len(sizes))]] * 2
