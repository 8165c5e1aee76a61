from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.language.about_missing import describe_missing, question_is_about, user_knowledge
from talm_sim.language.question_words import STOP, stem
from talm_sim.types import GoldCall, Missing, MissingKind, Scenario, ToolSpec, Turn
from tests.growth import check_growth


def argument(name: str, value: object, removed: str, answer: str | None = None) -> Missing:
    return Missing(kind=MissingKind.ARGUMENT, name=name, value=value, removed_text=removed, human_answer=answer)


IATA = argument("iata", "HAN", "at Hanoi airport", "I mean Hanoi airport.")
DATE = argument("date", "2024-02-10", "on 10 February 2024", "The 10th of February 2024.")
AMOUNT = argument("amount", 250, "250")
CURRENCY = argument("to_currency", "VND", "into Vietnamese dong", "Into Vietnamese dong, please.")
CODE = argument("code", "E11.9", "E11.9")
ELEMENT = argument("symbol", "Fe", "of iron")
TOOL = Missing(
    kind=MissingKind.TOOL,
    name="airport_info",
    human_answer="Its runway lies at 39 feet above sea level and the airport is called Noi Bai International.",
)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Which airport?", IATA),
        ("Which airport do you mean?", IATA),
        ("What is the IATA code of the airport?", IATA),
        ("Please provide the airport's IATA code.", IATA),
        ("Could you tell me the name of the airport you are interested in?", IATA),
        ("Do you mean Hanoi?", IATA),
        ("Airport?", IATA),
        ("I can help with that. Where is it?", IATA),
        ("From which airport are you departing, and on what date?", IATA),
        ("From which airport are you departing, and on what date?", DATE),
        ("When do you travel?", DATE),
        ("What day should I look up?", DATE),
        ("Could you specify the year and month?", DATE),
        ("How much do you want to convert?", AMOUNT),
        ("What amount should I use for the conversion?", AMOUNT),
        ("Which currency should I convert to?", CURRENCY),
        ("What's the target currency?", CURRENCY),
        ("Which code?", CODE),
        ("Please provide the code.", CODE),
        ("What is the first word?", argument("first", "Tchaikovsky", "'Tchaikovsky'")),
        ("Which element would you like to know about?", ELEMENT),
        ("Could you give me the elevation of the airport?", TOOL),
        ("What is the height of the runway above sea level?", TOOL),
    ],
)
def test_a_question_that_names_the_missing_thing_is_about_it(question: str, missing: Missing) -> None:
    assert question_is_about(question, missing)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Could you give more details?", IATA),
        ("What do you mean?", IATA),
        ("Can you clarify your request?", IATA),
        ("What additional information can you provide?", IATA),
        ("Please provide the missing information.", DATE),
        ("", IATA),
        ("???", IATA),
        ("Which unit should I use at the airport?", IATA),
        ("Should I use Celsius or Fahrenheit?", IATA),
        ("Which currency?", IATA),
        ("Which airport?", DATE),
        ("Which language should I answer in?", DATE),
        ("When do you travel?", CURRENCY),
        ("Which airport?", AMOUNT),
        ("Please tell me the unit for the airport's temperature.", DATE),
        ("Which code?", IATA),
        ("Could you give more details?", TOOL.model_copy(update={"name": "get_airport_details"})),
        ("What is your favourite colour?", TOOL),
        ("Did you really mean crates?", AMOUNT.model_copy(update={"human_answer": "Five crates."})),
    ],
)
def test_a_generic_or_unrelated_question_is_not(question: str, missing: Missing) -> None:
    assert not question_is_about(question, missing)


def test_the_tools_description_helps_where_the_name_says_nothing() -> None:
    missing = argument("q", "HAN", "HAN")
    assert not question_is_about("Which airport?", missing)
    assert question_is_about("Which airport?", missing, description="Airport to look up, by its IATA code.")


PART = argument("part", "rear light", "The part is rear light.", "The part is rear light.")
JOB = argument("job", "wheel truing", "The job is wheel truing.", "The job is wheel truing.")
PERSON = argument("name", "Ben Okafor", "The name is Ben Okafor.", "The name is Ben Okafor.")
TOOLS = {
    "part": ("Say how many of a spare part are in stock.", 'The name of the part, e.g. "chain".'),
    "job": ("Give the price of a repair job in euros.", 'The job, e.g. "brake service".'),
    "name": ("Look up a customer by full name.", "The customer's full name."),
}


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Which part?", [PART]),
        ("Which spare part are you looking for?", [PART]),
        ("Please tell me which part you need.", [PART]),
        ("Which repair would you like a price for?", [JOB]),
        ("I need the full name, the part, the job or the date to look that up.", [PART, JOB, PERSON]),
        ("Please give me the day and the part.", [PART]),
        ("Which country code?", []),
        ("Which price do you mean?", []),
        ("How many do you need?", []),
    ],
)
def test_an_argument_is_also_what_its_tool_is_said_to_be_about_and_may_be_one_of_a_list(question: str, asked: list[Missing]) -> None:
    for missing in (PART, JOB, PERSON):
        said, described = TOOLS[missing.name]
        spec = ToolSpec(name="a", description=said, parameters={"properties": {missing.name: {"type": "string", "description": described}}})
        turn = Turn(messages=(), gold_calls=(GoldCall(name="a", arguments={missing.name: missing.value}),))
        scenario = Scenario(id="s", group="underspecified", turns=(turn,))
        assert question_is_about(question, missing, describe_missing(scenario, missing, {"a": spec})) == (missing in asked)


@given(st.text(max_size=80))
def test_any_text_is_judged_and_case_never_matters(text: str) -> None:
    ascii_text = text.encode("ascii", "ignore").decode()
    assert question_is_about(ascii_text.upper(), IATA) == question_is_about(ascii_text.lower(), IATA)


@given(st.lists(st.sampled_from(sorted(STOP)), max_size=8))
def test_words_that_say_nothing_are_about_nothing(words: list[str]) -> None:
    assert not question_is_about(" ".join(words) + "?", CURRENCY)


@pytest.mark.parametrize("word", ["cities", "boxes", "dates", "Hanoi's", "status", "is"])
def test_a_stem_is_its_own_stem(word: str) -> None:
    assert stem(stem(word)) == stem(word)


def test_the_tools_say_what_the_missing_thing_is() -> None:
    schema = {"type": "object", "properties": {"iata": {"type": "string", "description": "Code of the airport."}, "bare": {}}}
    specs = {"airport_info": ToolSpec(name="airport_info", description="Facts of an airport.", parameters=schema)}
    calls = (GoldCall(name="unknown", arguments={}), GoldCall(name="airport_info", arguments={"iata": "HAN"}))
    turn = Turn(messages=({"role": "user", "content": "How high is it?"},), gold_calls=calls)
    scenario = Scenario(id="s", group="underspecified", turns=(turn,))
    for missing, said in (
        (IATA, "Code of the airport."),
        (argument("bare", 1, "1"), ""),
        (argument("other", 1, "1"), ""),
        (TOOL, "Facts of an airport."),
        (Missing(kind=MissingKind.TOOL, name="unknown"), ""),
    ):
        assert describe_missing(scenario, missing, specs) == said


@pytest.mark.parametrize(
    ("missing", "knows"),
    [
        ((), ""),
        ((argument("amount", 2, ""), IATA, TOOL), f"the amount: 2\n{IATA.human_answer}\n{TOOL.human_answer}"),
        ((IATA, IATA.model_copy(update={"name": "icao"})), IATA.human_answer),
        (IATA.model_copy(update={"human_answer": "It's Hanoi, HAN. "}), "It's Hanoi, HAN."),
        (argument("start_date", "2025-01-06", "6 January 2025"), "the start date: 6 January 2025 (2025-01-06)"),
        (argument("start_date", "2025-01-06", "on 2025-01-06"), "the start date: on 2025-01-06"),
        (argument("amount", 86400, ""), "the amount: 86400"),
        (Missing(kind=MissingKind.TOOL, name="airport_info", human_answer="It lies at 39 feet."), "It lies at 39 feet."),
        (
            Missing(kind=MissingKind.TOOL, name="airport_info"),
            "The agent lacks the tool airport_info. You may do its work: say what it would find, if you know it or can find it out.",
        ),
    ],
)
def test_what_the_user_knows_is_said_in_words(missing: Missing | tuple[Missing, ...], knows: str) -> None:
    turn = Turn(messages=({"role": "user", "content": "How high is it?"},))
    assert user_knowledge(Scenario(id="s", group="g", turns=(turn,), missing=missing)) == knows


@pytest.mark.parametrize("piece", ["how many ", "tell ", "which is it and ", "know ", ";", ".:!"])
def test_a_long_question_is_read_in_step_with_its_length(piece: str) -> None:
    unit = argument("unit", "km", "in kilometres")
    check_growth(lambda question: question_is_about(f"{question}x", unit), lambda size: piece * (size // len(piece)), 2**15)


def test_what_is_asked_for_is_looked_for_in_sixty_words() -> None:
    unit = argument("unit", "km", "in kilometres")
    assert question_is_about(f"Which {'the ' * 59}kilometres?", unit)
    assert not question_is_about(f"Which {'the ' * 60}kilometres?", unit)
