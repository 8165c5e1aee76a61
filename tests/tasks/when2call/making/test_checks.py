"""Every check lets a good text pass and stops a bad one, and none ever raises."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talm_sim.tasks.when2call.making import checks, question_checks
from talm_sim.tasks.when2call.making.checks import OPTION_CHECKS, Check, differs, failures
from talm_sim.tasks.when2call.making.items import Item, tool_call_text
from talm_sim.tasks.when2call.making.question_checks import QUESTION_CHECKS, refers_to_nothing_unsaid
from talm_sim.tasks.when2call.making.wording import find_placeholder
from talm_sim.types import Behaviour, GoldCall
from tests.growth import check_growth
from tests.tasks.when2call.making.toys import GOOD, MISSING, QUESTION, REWRITTEN, item, lacking, source, spec

PLAIN, LACKING = item(), lacking()
BEYOND = item(Behaviour.CANNOT_ANSWER, GOOD["unanswerable"])
LONG = "well " * 60
CALL = tool_call_text(source())

OPTIONS: list[tuple[Check, Item, str, str]] = [
    (checks.says_something, PLAIN, "Yes.", " \n"),
    (checks.is_the_text_alone, PLAIN, "You get 230 francs.", "Sure, here is the answer: 230 francs."),
    (checks.is_the_text_alone, PLAIN, "It is this: 230 francs.", "Follow-up: which one?"),
    (checks.is_the_text_alone, PLAIN, "I have one question: which?", "How much? A related request it cannot serve: How much?"),
    (checks.is_in_english, PLAIN, "You get 230 francs for it.", "Сколько это стоит сегодня в банке?"),
    (checks.is_in_english, PLAIN, "One two.", "Wieviel Franken bekommt man heute dafür bei einer Bank?"),
    (checks.speaks_of_no_tool, PLAIN, "Which currency do you mean?", "Which value should the API take?"),
    (checks.speaks_of_no_tool, PLAIN, "I can't do that.", "I can't, as convert_money is down."),
    (checks.speaks_of_no_tool, PLAIN, "I can't do that.", "Which of the parameters is it?"),
    (checks.direct_has_no_label, PLAIN, "Sure, here it is: 230 francs.", "Answer: 230 francs."),
    (checks.direct_is_short, PLAIN, "You get 230 francs.", LONG),
    (checks.follow_up_is_short, PLAIN, "Which currency?", LONG),
    (checks.refusal_is_short, PLAIN, "I can't.", "well " * 41),
    (checks.direct_asks_nothing, PLAIN, "You get 230 francs. Would you like them now?", "You get 230 francs. What is your bank?"),
    (checks.direct_asks_nothing, PLAIN, "You get 230 francs.", "Please provide the amount."),
    (checks.direct_has_no_disclaimer, PLAIN, "You get 230 francs.", "About 230 francs, but that may not be accurate."),
    (checks.direct_has_no_disclaimer, PLAIN, "You get 230 francs.", "As an AI I have no access to rates."),
    (checks.direct_has_no_disclaimer, PLAIN, "You get 230 francs.", "It is not possible to determine that."),
    (checks.direct_has_no_disclaimer, PLAIN, "You get 230 francs.", "There is no way to know this."),
    (checks.is_in_words, PLAIN, "You get {about} 230 <, or 231>.", 'You get {"name": "f", "arguments": {}}'),
    (checks.is_in_words, PLAIN, "You get 230 francs.", "<tool_call>convert</tool_call>"),
    (checks.refusal_asks_nothing, PLAIN, "I can't do that.", "I can't do that. Which city do you mean?"),
    (checks.direct_is_no_echo, PLAIN, "You get 230 francs.", "how much are 250 dollars in francs"),
    (checks.follow_up_is_a_question, LACKING, "Which currency would you like?", "The currency is the franc."),
    (checks.follow_up_asks_for_the_missing, LACKING, "Which currency should I convert it to?", "How old are you?"),
    (checks.follow_up_confirms_nothing, LACKING, "Which currency do you mean?", "You said 250 dollars, is that correct?"),
    (
        checks.follow_up_confirms_nothing,
        LACKING,
        "Into which currency should I convert the 250 dollars?",
        "Please confirm that you mean dollars.",
    ),
    (checks.refusal_declines, PLAIN, "Sorry, I'm unable to do that.", "The rate is 0.9."),
    (checks.refusal_stays_with_the_question, PLAIN, "I can't convert 250 dollars.", "I can't reach the Bundesbank."),
    (checks.refusal_stays_with_the_question, PLAIN, "I can't. Sorry about that.", "I can't know the rate of 2024."),
    (checks.call_is_complete, PLAIN, CALL, json.dumps({"name": "convert_money", "arguments": {"amount": 250}})),
    (checks.call_is_complete, PLAIN, CALL, json.dumps({"name": "get_rate", "arguments": {}})),
    (checks.call_is_complete, PLAIN, CALL, "convert_money(250)"),
]
QUESTIONS: list[tuple[Check, Item, str, str]] = [
    (question_checks.asks_something, BEYOND, REWRITTEN, "Dollars are nice."),
    (question_checks.is_changed, LACKING, REWRITTEN, QUESTION.upper()),
    (question_checks.is_not_long, LACKING, REWRITTEN, LONG),
    (question_checks.leaks_nothing, LACKING, REWRITTEN, "How much are 250 dollars in Francs, please?"),
    (question_checks.hides_the_gap, LACKING, REWRITTEN, "How much are 250 dollars in a currency not provided?"),
    (question_checks.hides_the_gap, LACKING, REWRITTEN, "How much are 250 dollars in [currency]?"),
    (question_checks.keeps_the_rest, LACKING, REWRITTEN, "How much are some dollars at home?"),
    (question_checks.puts_nothing_in_its_place, LACKING, REWRITTEN, "How much are 250 dollars in Yen?"),
    (question_checks.puts_nothing_in_its_place, LACKING, REWRITTEN, "How much are 250 dollars on day 17?"),
    (question_checks.stays_on_topic, BEYOND, "Who prints the paper money of Norway?", "Why is the sky blue?"),
    (question_checks.is_out_of_reach, BEYOND, "Who prints the paper money of Norway?", "How much in francs are 250 dollars?"),
    (question_checks.is_not_vague, BEYOND, "Who prints the paper money of Norway?", "Tell me something about money."),
    (question_checks.refers_to_nothing_unsaid, BEYOND, "Who prints the paper money of Norway?", "Who prints it?"),
    (question_checks.refers_to_nothing_unsaid, BEYOND, "Did the clerk say that money is safe?", "How safe is the money in that vault?"),
    (question_checks.refers_to_nothing_unsaid, BEYOND, "How busy are the banks in Oslo this week?", "Is this bank safe for my money?"),
]


@pytest.mark.parametrize(("check", "item", "good", "bad"), OPTIONS + QUESTIONS, ids=lambda value: getattr(value, "__name__", None))
def test_a_check_tells_a_good_text_from_a_bad_one(check: Check, item: Item, good: str, bad: str) -> None:
    assert check(good, item) == ""
    reason = check(bad, item)
    assert reason and "\n" not in reason


def test_every_check_in_use_is_shown_both_sides_above() -> None:
    shown = {check for check, *_ in OPTIONS + QUESTIONS}
    used = {check for table in (OPTION_CHECKS, QUESTION_CHECKS) for row in table.values() for check in row}
    assert used == shown


def test_equal_options_are_found_whatever_their_case() -> None:
    assert differs("I can't.", ["Yes.", "i CAN'T"]) and not differs("I can't.", ["Yes."])


def test_an_empty_text_fails_for_being_empty_alone() -> None:
    assert failures("  ", PLAIN, OPTION_CHECKS[Behaviour.CANNOT_ANSWER]) == [("says_something", "it is empty")]


def test_a_schema_that_is_none_is_read_for_its_required_parameters() -> None:
    odd = spec().model_copy(update={"parameters": {"type": "dict", "properties": {}, "required": ["amount"]}})
    one = Item(source(spec=odd, call=GoldCall(tool="convert_money", arguments={})), Behaviour.TOOL_CALL, QUESTION)
    assert checks.call_is_complete('{"name": "convert_money", "arguments": {}}', one) == "it lacks 'amount'"
    assert checks.call_is_complete('{"name": "convert_money", "arguments": {"amount": 1}}', one) == ""


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "FILE", "required": ["amount"]},
        {"type": "object", "properties": [], "required": ["amount"]},
        {"type": "object", "properties": {"amount": "text"}, "required": ["amount"]},
    ],
)
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


@pytest.mark.parametrize("piece", ["[", "<", "_", "X", "[a] ["])
def test_a_gap_is_looked_for_in_step_with_the_length(piece: str) -> None:
    check_growth(find_placeholder, lambda size: piece * (size // len(piece)), 2**15)
    assert find_placeholder("How much is [amount] in [ francs?") == "[amount]"


@pytest.mark.parametrize("piece", ["that x ", "tell that x ", "these "])
def test_what_a_question_refers_to_is_looked_for_in_step_with_its_length(piece: str) -> None:
    check_growth(lambda text: refers_to_nothing_unsaid(text, BEYOND), lambda size: f"The x {piece * (size // len(piece))}", 2**15)


@pytest.mark.parametrize(
    ("text", "unsaid"),
    [("Is the flight late, and that flight too?", ""), ("Is it late for that flight?", "that flight"), ("She said that flight is late.", "")],
)
def test_what_was_said_before_may_be_referred_to(text: str, unsaid: str) -> None:
    assert unsaid in refers_to_nothing_unsaid(text, BEYOND) and bool(unsaid) is bool(refers_to_nothing_unsaid(text, BEYOND))


def test_a_wrong_follow_up_may_ask_for_what_is_given_or_confirm_it() -> None:
    assert checks.follow_up_confirms_nothing("You said 250 dollars, is that correct?", PLAIN) == ""
    assert checks.asks_for_given("Which amount of money should I convert?", PLAIN) == "amount"
    assert checks.asks_for_given("What do you need it for?", PLAIN) == ""
