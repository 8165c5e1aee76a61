"""How far queries are from published ones."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from talm_sim.scenarios.statistics import Likeness, likeness_of
from talm_sim.tasks import find_task

BENCH = Path(os.environ.get("TALM_SIM_BENCH_DATA", "absent")) / "failtalms" / "benchmark"
PUBLISHED = {"first_words": {"can": 3, "what": 1}, "lengths": {"3": 2, "5": 2}}


@pytest.mark.parametrize(
    ("queries", "first_words", "lengths"),
    [
        (["Can you help?", "Can I sit?", "can we all do it", "What is it you do"], 0.0, 0.0),
        (["Why is it so?"] * 4, 1.0, 0.5),
        (["Can you come?", "Why do we all go?"], 0.5, 0.0),
        (["I'd go", "What's up"], 1.0, 1.0),
    ],
)
def test_distances_are_those_computed_by_hand(queries: list[str], first_words: float, lengths: float) -> None:
    found = likeness_of(queries, PUBLISHED)
    assert found.first_words == pytest.approx(first_words) and found.lengths == pytest.approx(lengths)


@pytest.mark.bench_data
@pytest.mark.skipif(not BENCH.is_dir(), reason="TALM_SIM_BENCH_DATA names no directory")
@pytest.mark.parametrize(("group", "name"), [("perfect", "Original"), ("underspecified", "Underspecified")])
def test_the_counts_are_of_the_authors_own_files(group: str, name: str) -> None:
    queries = [one["query"] for one in json.loads((BENCH / name / f"all_{name}_queries.json").read_text(encoding="utf-8"))]
    published = json.loads((find_task("talm").published_queries or Path()).read_text(encoding="utf-8"))[group]
    assert sum(published["lengths"].values()) == len(queries) == {"perfect": 575, "underspecified": 599}[group]
    assert Counter(re.findall(r"[\w']+", query.lower())[0] for query in queries) == published["first_words"]
    assert likeness_of(queries, published) == Likeness(0.0, 0.0)
