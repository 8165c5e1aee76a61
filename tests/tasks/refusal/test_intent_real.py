"""The rule of docs/refusal.md on texts of real models, which are read where they are and never kept here: labels by id alone."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.refusal.intent import find_attempt

LABELS = Path(__file__).parent / "intent" / "real.jsonl"
"""`MODEL/CATEGORY/NUMBER` of a published output; `before` those labelled before the rule last changed, `after` those labelled then.

Half of these hold a call in prose, half only look so. `last` are those labelled when the rule was done, and not looked at for it.
"""
SUBSETS = {
    "relevance": "irrelevance",
    "simple": "simple_python",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
}
"""Their categories, by the name that BFCL's data have today."""


@pytest.fixture(scope="module")
def results() -> Path:
    """Results of 2024-08-11 in a clone of github.com/HuanzhiMao/BFCL-Result; the test is skipped where TALM_TEST_BFCL_RESULT names none."""
    folder = Path(os.environ.get("TALM_TEST_BFCL_RESULT") or "-") / "2024-08-11" / "result"
    if not folder.is_dir():
        pytest.skip("TALM_TEST_BFCL_RESULT names no clone of github.com/HuanzhiMao/BFCL-Result")
    return folder


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _output(results: Path, model: str, category: str, number: int) -> str:
    for line in _lines(results / model / f"gorilla_openfunctions_v1_test_{category}_result.json"):
        if line.get("idx", str(line.get("id")).rpartition("_")[2]) in (number, str(number)):
            said = line["result"]
            return str(said[0] if isinstance(said, list) else said)
    raise AssertionError(f"{model} has no output {number} of {category}")


@pytest.mark.parametrize(("sets", "calls", "others"), [(("before", "after"), 120, 120), (("last",), 57, 19)])
def test_real_texts_are_told_apart(
    sets: tuple[str, ...], calls: int, others: int, results: Path, bfcl_v4: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [one for one in _lines(LABELS) if one["labelled"] in sets]
    assert Counter(one["attempt"] for one in labels) == {True: calls, False: others} and len({one["id"] for one in labels}) == calls + others
    shown = {category: _lines(bfcl_v4 / "bfcl_eval" / "data" / f"BFCL_v4_{subset}.json") for category, subset in SUBSETS.items()}
    seen, wrong = Counter[tuple[bool, bool]](), []
    for one in labels:
        model, category, number = one["id"].split("/")
        text, tools = _output(results, model, category, int(number)), shown[category][int(number)]["function"]
        found = find_attempt(text, tools) is not None
        assert found or not read_calls(split_reasoning(text)[0], tools).calls, one["id"]
        seen[one["attempt"], found] += 1
        if found != one["attempt"]:
            wrong.append(one["id"])
    recall = seen[True, True] / (seen[True, True] + seen[True, False])
    precision = seen[True, True] / (seen[True, True] + seen[False, True])
    with capsys.disabled():
        print(f"\nintent on {len(labels)} real texts: precision {precision:.3f}, recall {recall:.3f}; wrong: {wrong or 'none'}")
    assert recall >= 0.95 and precision >= 0.97, wrong
