"""The paper's quality list: a rule or the judge for every row; and the checks on texts with a known fault, and on the published rows."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from talm_sim.cli import main
from talm_sim.tasks.when2call.making.item_checks import KINDS, NONE, OPTION_CHECKS, FaultKind, failures, judge_choices, judged_kinds, read_fault
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.pipeline import make_items
from talm_sim.tasks.when2call.making.question_checks import QUESTION_CHECKS
from talm_sim.tasks.when2call.making.review import alarms_of_row
from talm_sim.tasks.when2call.published import read_rows, row_of
from talm_sim.types import Behaviour
from tests.models.loopback import Answer, Seen, chat_answer, loopback
from tests.tables import labelled
from tests.tasks.when2call.making.toys import GOOD, QUESTION, Teller, item, lacking, source

REMOVED = Item(source(), Behaviour.CANNOT_ANSWER, QUESTION, removed=True)
BEYOND = item(Behaviour.CANNOT_ANSWER, "Which bank in Oslo is open now?")


def test_every_row_has_a_rule_in_use_or_the_judge() -> None:
    used = {check.__name__ for table in (OPTION_CHECKS, QUESTION_CHECKS) for row in table.values() for check in row}
    assert len(KINDS) == len({kind.name for kind in KINDS}) == 20
    assert {kind.check for kind in KINDS if kind.check} <= used
    asked = {kind.name for one in (lacking(), BEYOND, REMOVED, item()) for kind in judged_kinds(one)}
    assert asked == {kind.name for kind in KINDS if not kind.check}
    assert len(asked) == 13


def test_the_judge_is_asked_for_faults_that_an_item_can_have() -> None:
    assert [kind.name for kind in judged_kinds(REMOVED)] == ["tool_can_answer"]
    assert judged_kinds(item()) == ()
    assert judge_choices(REMOVED) == ('{"fault": "none"}', '{"fault": "tool_can_answer"}')
    assert "unrelated" in {kind.name for kind in judged_kinds(BEYOND)}


@labelled
def test_an_answer_names_one_fault_of_the_item_or_is_unreadable(reply: str, named: str | None) -> None:
    found = read_fault(reply, lacking())
    assert (found.name if isinstance(found, FaultKind) else found) == named


@given(st.text(max_size=80) | st.lists(st.sampled_from(['{"fault":', '"none"', "}", "{", "vague", '"'])).map("".join))
def test_whatever_is_written_is_read_or_unreadable(reply: str) -> None:
    found = read_fault(reply, lacking())
    assert found is None or found == NONE or found in judged_kinds(lacking())


@labelled
async def test_a_fault_costs_the_item_and_an_unreadable_answer_is_counted(says: str, given_up: list[str], judged: dict[str, int]) -> None:
    outcome = await make_items(source(), Teller({"judge": says}), seed=0, unable="removed")
    assert (outcome.given_up, outcome.judged) == (given_up, judged)
    assert [(one["check"], one["item"]) for one in outcome.rejected] == [
        (kind.name, kind_item) for kind_item in given_up for kind in KINDS if f'"{kind.name}"' in says
    ]
    assert {row["correct_answer"] for row in outcome.rows} == {"tool_call", "request_for_info", "cannot_answer"} - set(given_up)


def _answer(seen: Seen) -> Answer:
    """A writer that answers plainly, and a judge that finds a fault of one kind of item and writes nothing readable of the other."""
    system, user = seen.body["messages"][0]["content"], seen.body["messages"][-1]["content"]
    if "tool_can_answer" in user:
        return chat_answer('```json\n{"fault": "tool_can_answer"}\n```')
    if "asks_for_format" in user:
        return chat_answer("I see none.")
    if "as if you knew" in system:
        return chat_answer("The holiday is on 5 May 2030.")
    return chat_answer("Which year do you mean?" if "Ask them" in system or "ask them" in system else "I'm sorry, but I can't find that out.")


def test_a_model_behind_a_server_judges(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "none")
    command = ["scenarios", "generate", "--out", str(tmp_path / "made"), "--limit", "1-4", "--tool-use", "call", "--live"]
    with loopback(chat_answer("")) as server:
        server.reply = _answer
        monkeypatch.setenv("TEST_BASE_URL", server.url)
        assert main((*command, "--model", "openai-api/test/toy", "--judge", "model", "--max-connections", "1")) == 0
    said = capsys.readouterr()
    report = json.loads((tmp_path / "made/report.json").read_text())
    judged = report["judged"]
    assert judged["read"] > 0
    assert f"the judge answered on {sum(judged.values())} items; {judged['unreadable']} of its answers could not be read" in said.out + said.err
    rejected = [json.loads(line) for line in (tmp_path / "made/rejected.jsonl").read_text().splitlines()]
    assert len([one for one in rejected if one["check"] == "tool_can_answer"]) == judged["read"]
    assert report["items"]["cannot_answer"]["made"] == 0
    system, shown = next(
        (m[0]["content"], m[-1]["content"]) for m in (seen.body["messages"] for seen in server.seen) if "Faults:" in m[-1]["content"]
    )
    assert '{"fault": "none"}' in system
    assert "tool_can_answer: the question that cannot be served can be served with a tool that is shown" in shown
    assert "I'm sorry, but I can't find that out." in shown and "Request: " in shown and '{"name": ' in shown


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
