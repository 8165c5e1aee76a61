"""The checks on texts with a known fault, and on the published rows, where almost none may speak."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from talm_sim.tasks.when2call.making.checks import OPTION_CHECKS, failures
from talm_sim.tasks.when2call.making.items import without_tool
from talm_sim.tasks.when2call.making.quality import KINDS, FaultKind
from talm_sim.tasks.when2call.making.question_checks import QUESTION_CHECKS
from talm_sim.tasks.when2call.making.review import alarms_of_row
from talm_sim.tasks.when2call.making.sources import tool_spec, tool_text
from talm_sim.tasks.when2call.published import read_rows, row_of
from talm_sim.types import Behaviour
from tests.tasks.when2call.making.toys import GOOD, item, lacking

PROBES: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "probes.toml").read_text(encoding="utf-8"))
OPTION_OF = {"follow-up": Behaviour.REQUEST_FOR_INFO, "direct answer": Behaviour.DIRECT, "refusal": Behaviour.CANNOT_ANSWER}
TRUE_FAULTS = {
    "call_is_complete": 1,
    "direct_has_no_disclaimer": 1,
    "direct_is_short": 2,
    "is_changed": 1,
    "is_the_text_alone": 1,
    "keeps_the_rest": 1,
    "leaks_nothing": 4,
    "refusal_asks_nothing": 1,
    "refusal_is_short": 2,
    "refusal_stays_with_the_question": 4,
}
"""Alarms on published rows that name what is there, by hand: the request still says the value, the refusal names what only it names."""


def _finds(kind: FaultKind, text: str) -> bool:
    if kind.part in OPTION_OF:
        behaviour = OPTION_OF[kind.part]
        found = failures(text, item() if behaviour is Behaviour.DIRECT else lacking(), OPTION_CHECKS[behaviour])
    else:
        one = lacking(text) if kind.part == "question that lacks a value" else item(Behaviour.CANNOT_ANSWER, text)
        found = failures(text, one, QUESTION_CHECKS[one.gold])
    return kind.check in {name for name, _ in found}


def test_there_are_five_probes_of_every_kind() -> None:
    assert {name: len(texts) for name, texts in PROBES.items()} == {kind.name: 5 for kind in KINDS}
    assert len({text for texts in PROBES.values() for text in texts}) == 100


def test_rules_find_nine_of_ten_of_the_faults_that_they_look_for() -> None:
    missed = [(kind.name, text) for kind in KINDS if kind.check for text in PROBES[kind.name] if not _finds(kind, text)]
    looked_for = 5 * sum(bool(kind.check) for kind in KINDS)
    assert len(missed) <= 0.1 * looked_for, missed


def test_rules_pass_what_is_right() -> None:
    texts = {"follow-up": GOOD["request_for_info/lacking"], "direct answer": GOOD["direct"], "refusal": GOOD["cannot_answer"]}
    texts |= {"question that lacks a value": lacking().question, "question that cannot be served": GOOD["unanswerable"]}
    assert not [kind.name for kind in KINDS if kind.check and _finds(kind, texts[kind.part])]


@pytest.mark.bench_data
def test_few_published_rows_are_called_wrong(bench_data: Path) -> None:
    rows = [row_of(one) for one in read_rows(bench_data / "when2call" / "when2call_sample.jsonl")]
    alarms = [(row["uuid"], check) for row in rows for check, _ in alarms_of_row(row)]
    by_check = Counter(check for _, check in alarms)
    false = by_check - Counter(TRUE_FAULTS)
    assert sum(false.values()) <= 0.05 * len(rows), by_check
    assert "the row does not say" not in str(by_check)


@pytest.mark.bench_data
def test_the_shown_tools_of_published_rows_are_rebuilt_by_taking_the_fitting_tool_away(bench_data: Path) -> None:
    lines = (bench_data / "when2call" / "when2call_sample.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["correct_answer"] == "cannot_answer"]
    assert len(rows) == 51
    for row in rows:
        texts = {tool_spec(json.loads(text)).name: text for text in row["orig_tools"]}
        kept = without_tool([tool_spec(json.loads(text)) for text in row["orig_tools"]], json.loads(row["answers"]["tool_call"])["name"])
        assert [texts[spec.name] for spec in kept] == row["tools"]
        assert len(kept) == len(row["orig_tools"]) - 1
        assert all(json.loads(tool_text(spec))["name"] in texts for spec in kept)
