"""Every check lets a good text pass and stops a bad one, and none ever raises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.tasks.when2call.making import item_checks as checks, question_checks
from talm_sim.tasks.when2call.making.faulty_wording import find_placeholder
from talm_sim.tasks.when2call.making.item_checks import OPTION_CHECKS, failures
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.question_checks import QUESTION_CHECKS, refers_to_nothing_unsaid
from talm_sim.types import Behaviour, GoldCall
from tests.growth import check_growth
from tests.tables import labelled, read_table
from tests.tasks.when2call.making.toys import GOOD, MISSING, QUESTION, item, lacking, source, spec

PLAIN, LACKING = item(), lacking()
BEYOND = item(Behaviour.CANNOT_ANSWER, GOOD["unanswerable"])
ITEMS = {"PLAIN": PLAIN, "LACKING": LACKING, "BEYOND": BEYOND}


@labelled
def test_a_check_tells_a_good_text_from_a_bad_one(check: str, item: str, good: str, bad: str) -> None:
    tells = getattr(checks if hasattr(checks, check) else question_checks, check)
    assert tells(good, ITEMS[item]) == ""
    reason = tells(bad, ITEMS[item])
    assert reason and "\n" not in reason


def test_every_check_in_use_is_shown_both_sides_above() -> None:
    shown = {row["check"] for row in read_table(__file__, "a_check_tells_a_good_text_from_a_bad_one")}
    used = {check.__name__ for table in (OPTION_CHECKS, QUESTION_CHECKS) for row in table.values() for check in row}
    assert used == shown


def test_an_empty_text_fails_for_being_empty_alone() -> None:
    assert failures("  ", PLAIN, OPTION_CHECKS[Behaviour.CANNOT_ANSWER]) == [("says_something", "it is empty")]


def test_a_schema_that_is_none_is_read_for_its_required_parameters() -> None:
    odd = spec().model_copy(update={"parameters": {"type": "dict", "properties": {}, "required": ["amount"]}})
    one = Item(source(spec=odd, call=GoldCall(name="convert_money", arguments={})), Behaviour.TOOL_CALL, QUESTION)
    assert checks.call_is_complete('{"name": "convert_money", "arguments": {}}', one) == "it lacks 'amount'"
    assert checks.call_is_complete('{"name": "convert_money", "arguments": {"amount": 1}}', one) == ""


@labelled
def test_a_broken_schema_of_the_data_raises_nothing_and_nothing_is_fetched_for_it(schema: dict[str, object], tmp_path: Path) -> None:
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text('{"not": {}}')
    given = {key: elsewhere.as_uri() if value == "FILE" else value for key, value in schema.items()}
    one = Item(replace(source(), spec=spec().model_copy(update={"parameters": given})), Behaviour.TOOL_CALL, QUESTION)
    assert checks.call_is_complete('{"name": "convert_money", "arguments": {}}', one) == "it lacks 'amount'"
    assert checks.call_is_complete('{"name": "convert_money", "arguments": {"amount": 1}}', one) == ""


WORDS = ["which", "that", "API", "250", "francs", "?", "!", "[", "{", "please", "I'm", "Oslo"]
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(text=TEXTS, question=TEXTS)
def test_no_check_raises_whatever_a_model_writes(text: str, question: str) -> None:
    for gold in (Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER):
        one = Item(source(), gold, question, MISSING if gold is Behaviour.REQUEST_FOR_INFO else None)
        for table in (OPTION_CHECKS, QUESTION_CHECKS):
            for row in table.values():
                for name, reason in failures(text, one, row):
                    assert name and reason


@pytest.mark.parametrize("piece", ["[", "[a] ["])
def test_a_gap_is_looked_for_in_step_with_the_length(piece: str) -> None:
    check_growth(find_placeholder, lambda size: piece * (size // len(piece)), 2**15)
    assert find_placeholder("How much is [amount] in [ francs?") == "[amount]"


def test_what_a_question_refers_to_is_looked_for_in_step_with_its_length() -> None:
    check_growth(lambda text: refers_to_nothing_unsaid(text, BEYOND), lambda size: f"The x {'tell that x ' * (size // 12)}", 2**15)


@pytest.mark.parametrize(
    ("text", "unsaid"),
    [("Is the flight late, and that flight too?", ""), ("Is it late for that flight?", "that flight"), ("She said that flight is late.", "")],
)
def test_what_was_said_before_may_be_referred_to(text: str, unsaid: str) -> None:
    assert unsaid in refers_to_nothing_unsaid(text, BEYOND) and bool(unsaid) is bool(refers_to_nothing_unsaid(text, BEYOND))
