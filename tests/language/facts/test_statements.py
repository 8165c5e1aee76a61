from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.language.facts.asserted import language_of
from talm_sim.language.facts.claims import gives_other, read_last
from talm_sim.language.facts.names import Words, normalize, places_of
from talm_sim.language.facts.statements import AnswerText
from talm_sim.types import Fact
from tests.growth import check_growth


def states(answer: str, value: str | int | float | bool, *accepted: str, name: str = "fact") -> bool:
    return AnswerText(answer).states(Fact(name=name, value=value, accepted=accepted))


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("It is called **Noi Bai International Airport**.", "Noi Bai International Airport"),
        ("it is called noi bai international airport", "Noi Bai International Airport"), ("O\u2019Hare is its name", "O'Hare"),
        ("In Sao Paulo", "São Paulo"), ("In São Paulo", "Sao Paulo"), ("the “well known” one", "well-known"), ("H₂O is water", "H2O"),
        ("the chord C#", "C#"), ("the colour is `#FF8800`.", "#ff8800"), ("code E11.9 it is", "E11.9"), ("use v1.2.3.", "1.2.3"),
        ("15.2km away", "15.2 km"), ("1,234 people", "1234 people"), ("Chopin's work", "Chopin"), ("the zip code is 10115", "10115"),
        ("it costs 2.5", "2.50"), ("on February 10, 2024", "2024-02-10"), ("on 10 February 2024 at 6:05 AM", "2024-02-10T06:05:00"),
        ("the sun rises at 5:42", "05:42"), ("agent 007 reporting", "007"), ("the mark is ♟", "♟"), ("Die Straße", "strasse"),
    ],
)  # fmt: skip
def test_a_text_fact_stands(answer: str, value: str) -> None:
    assert states(answer, value)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Parisian life", "Paris"), ("In Hanoi", "Noi"), ("the chord C", "C#"), ("the chord C#m7", "C#"), ("17.5", "17"), ("10115", "1011"),
        ("on 10 February", "2024-02-10"), ("on February 10, 2024", "2024-02-10T06:05:00"), ("", "Paris"), ("anything", ""),
        ("anything", "   "), ("Bai Noi", "Noi Bai"),
    ],
)  # fmt: skip
def test_a_text_fact_does_not_stand(answer: str, value: str) -> None:
    assert not states(answer, value)


def test_accepted_spellings_count() -> None:
    assert states("They use the euro.", "EUR", "euro", "€")
    assert states("It costs 5 €.", "EUR", "€")
    assert states("There are seven.", 7, "seven")
    assert not states("They use the dong.", "EUR", "euro", "€")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Yes, it is.", True), ("That is true.", True), ("No.", False), ("10 February is a public holiday in Viet Nam.", True),
        ("10 February is not a public holiday.", False), ("10 February isn't a public holiday.", False),
        ("Yes, I looked it up. It isn\u2019t a public holiday.", False),
    ],
)  # fmt: skip
def test_a_truth_is_read_from_its_sentence_or_a_bare_yes_or_no(answer: str, value: bool) -> None:
    assert states(answer, value, name="is_public_holiday")
    assert not states(answer, not value, name="is_public_holiday")


@pytest.mark.parametrize("answer", ["Yes and no.", "It rains.", ""])
def test_a_truth_that_is_not_said_stands_neither_way(answer: str) -> None:
    assert not states(answer, True, name="is_public_holiday")
    assert not states(answer, False, name="is_public_holiday")


def test_numbers_stand_by_value_and_a_truth_is_no_number() -> None:
    assert states("Its elevation is 39 feet", 39)
    assert not states("1", True)


@given(st.text(max_size=100))
def test_normal_form_is_stable(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert once.startswith(" ") and once.endswith(" ")


WORDS = st.lists(st.text("bcdfghäüßé", min_size=1, max_size=8), min_size=1, max_size=4)
"""No word of a language, which could deny, ask or correct something."""
AROUND = st.text(" \t\n.,;:()*", max_size=20)
"""What neither asks nor quotes: a question states nothing, and a quotation says what others said."""


@given(WORDS, AROUND, AROUND)
def test_a_text_stands_in_any_answer_that_holds_it_as_words(words: list[str], before: str, after: str) -> None:
    value = " ".join(words)
    assert states(f"{before} {value}, {after}", value)
    assert states(f"{before} **{value.upper()}** {after}", value)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_answer_and_any_value_can_be_compared(answer: str, value: str) -> None:
    assert states(answer, value) in (True, False)


SUNRISE, SUNSET = Fact(name="sunrise", value="05:12"), Fact(name="sunset", value="21:20")


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("The sun rises at 05:12.", True), ("The sun rises at 05:12, not at 05:30.", True), ("It is not 04:50 but 05:12.", True),
        ("There is no doubt that it rises at 05:12.", True), ("I couldn't reach the first server, but the sun rises at 05:12.", True),
        ("Although I could not confirm the forecast, it rises at 05:12.", True), ("It is 05:12. Is that what you wanted?", True),
        ("The sun does not rise at 05:12; it rises at 04:50.", False), ("05:12 is not the right time.", False),
        ("I'm unable to confirm whether it is 05:12.", False), ("It may be 05:12, but I cannot verify that.", False), ("Is it 05:12?", False),
        ("It is 05:12 or 05:20.", False), ("05:12, 05:20, 05:31", False), ("It rises at 05:12. Correction: at 04:50.", False),
        ("It sets at 05:12.", False), ("It sets at 05:12 and rises at 21:20.", False), ("It rises at 05:12 and sets at 21:20.", True),
    ],
)  # fmt: skip
def test_what_a_sentence_says_of_a_value_decides(answer: str, stated: bool) -> None:
    assert AnswerText(answer, "When does the sun rise and set?", (SUNRISE, SUNSET)).states(SUNRISE) is stated


@pytest.mark.parametrize(
    ("answer", "request_text", "stated"),
    [
        ("On 26 September 2026.", "When is full moon?", True),
        ("On 26 September.", "When is full moon in 2026?", True),
        ("In 2026, it is on 26 September.", "When is full moon?", True),
        ("On 26 September.", "When is full moon?", False),
        ("On 26 September 2027.", "When is full moon in 2026?", False),
        ("In 2027, it is on 26 September.", "When is full moon in 2026?", False),
    ],
)
def test_another_year_never_passes(answer: str, request_text: str, stated: bool) -> None:
    # An accepted spelling of old files that has no year gives none away.
    fact = Fact(name="full_moon", value="2026-09-26", accepted=("26 September", "September 26"))
    assert AnswerText(answer, request_text, (fact,)).states(fact) is stated


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("Cameroon and Chad.", True), ("Kamerun und Tschad.", True), ("Cameroon, Chad and Nigeria.", False),
        ("Cameroon and Chad, but not Nigeria.", True), ("Cameroon.", False), ("They are:\n\n- Cameroon\n- Chad\n- Nigeria\n\nMore?", False),
        ("1. Cameroon\n2. Nigeria\n3. Chad", False), ("- Cameroon\n- Chad\n\nNigeria is farther away.", True),
    ],
)  # fmt: skip
def test_of_a_whole_list_no_other_item_may_stand_in_the_answer(answer: str, stated: bool) -> None:
    facts = tuple(Fact(name=name, value=name, asks=("neighbour",), complete=True) for name in ("Cameroon", "Chad"))
    assert all(AnswerText(answer, "Name them.", facts).states(fact) for fact in facts) is stated
    loose = tuple(fact.model_copy(update={"complete": False}) for fact in facts)
    assert all(AnswerText(answer, "Name them.", loose).states(fact) for fact in loose) is (answer != "Cameroon.")


@pytest.mark.parametrize(
    ("answer", "value"),
    [("It is minus 3 °C.", -3), ("Negative 3.", -3), ("Minus three degrees.", -3), ("10 minus 3 leaves 7.", 3), ("Three degrees.", 3)],
)
def test_a_minus_may_be_written_out(answer: str, value: int) -> None:
    said = {number: AnswerText(answer).states(Fact(name="t", value=number)) for number in (value, -value)}
    assert said == {value: True, -value: False}


def test_a_quantity_of_the_request_is_no_answer_when_it_is_said_again() -> None:
    fact = Fact(name="celsius", value=1204.44, unit="°C")
    assert not AnswerText("You have 2,200 °F.", "What are 2,200 °F in Celsius?", (fact,)).states(fact)
    assert AnswerText("2,200 °F are 1,204.44 °C.", "What are 2,200 °F in Celsius?", (fact,)).states(fact)


def test_equal_values_in_two_units_are_one() -> None:
    fact = Fact(name="height", value=324, unit="m")
    assert AnswerText("324 m or 1,063 ft", "", (fact,)).states(fact)
    assert not AnswerText("324 m or 330 m", "", (fact,)).states(fact)


PIECES = ("39, 40, ", "A ", "5:12 10 February ", "not 39 or ")


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_answer_is_read_in_linear_time(piece: str) -> None:
    facts = (
        Fact(name="n", value=39, unit="ft"),
        Fact(name="d", value="2024-02-10"),
        Fact(name="t", value="05:12"),
        Fact(name="w", value="Noi Bai"),
        Fact(name="c", value="F362"),
        Fact(name="m", value="F# A C E"),
        Fact(name="g", value="Gabon", complete=True),
    )

    def read(answer: str) -> None:
        said = AnswerText(answer, "in 2024", facts)
        for fact in facts:
            said.find_claim(fact)

    check_growth(read, lambda size: piece * (size // len(piece)), 32_000)


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("They are more than three edits apart: it takes 6.", True),
        ("You asked whether it is more than three: it is 6.", True),
        ("It takes more than 6.", False),
        ("It takes 6. Is that what you wanted?", True),
        ("Was it on the 26. September? It takes 6.", True),
    ],
)
def test_bounds_and_questions_are_told_from_what_is_said(answer: str, stated: bool) -> None:
    assert states(answer, 6) is stated


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ('The line "Stone walls do not a prison make" dates from 1649.', True),
        ("The line \u201cStone walls do not a prison make\u201d dates from 1649.", True),
        ('"You see, but you do not observe" is of 1649.', True),
        ('"Perhaps I cannot confirm it" is the title, and the year is 1649.', True),
        ('1649 is the year of "It Is Not True", a novel.', True),
        ('It is from 1649, as in "What Is Enlightenment?"', True),
        ('The line "Stone walls do not a prison make" does not date from 1649.', False),
        ('"It does not date from 1649."', False),
        ('It is 5" wide, not 6" wide, and not 1649.', False),
        ('Is it "the year 1649"?', False),
        ("Is it from 1649?", False),
    ],
)
def test_the_words_of_a_quotation_deny_nothing(answer: str, stated: bool) -> None:
    assert states(answer, 1649) is stated


CHORD, TEMPO = Fact(name="chord_name", value="Abmaj7"), Fact(name="tempo", value="Adagio poco andante")
CODE, FILM = Fact(name="code_point", value="U+1FA80"), Fact(name="thirteenth_film", value="Practical Magic")
VERSION, LINGUIST = Fact(name="v8_version", value="10.1.124.8"), Fact(name="linguist_id", value=1042332086)


@pytest.mark.parametrize(
    ("found", "lost", "answer", "other"),
    [
        (CHORD, TEMPO, "chord name: Abmaj7\nThe rest could not be found.", False),
        (CHORD, TEMPO, "chord name: Abmaj7\ntempo: Presto\nThe rest could not be found.", True),
        (CODE, FILM, "code point: U+1FA80\nThe rest could not be found.", False),
        (CODE, FILM, "code point: U+1FA81\nThe rest could not be found.", True),
        (VERSION, LINGUIST, "v8 version: 10.1.124.8\nThe rest could not be found.", False),
        (VERSION, LINGUIST, "v8 version: 10.1.124.8\nID: 4711\nThe rest could not be found.", True),
    ],
)
def test_the_value_of_another_fact_is_not_given_for_the_one_that_is_lost(found: Fact, lost: Fact, answer: str, other: bool) -> None:
    text = AnswerText(answer, facts=(found, lost))
    assert gives_other(text, lost, is_no_claim=lambda clause: "could not" in clause) is other


@pytest.mark.parametrize("name", ["Good Friday", "Boxing Day", "Constitution Day", "F# A C E", "Bm7b5"])
def test_a_name_that_could_be_chords_by_its_letters_is_found_as_chords_are(name: str) -> None:
    text = f"It was {name}."
    assert [text[slice(*place)] for place in places_of(name, text, Words(text))] == [name]


def test_another_name_in_a_later_message_counts() -> None:
    fact = Fact(name="capital", value="Canberra")
    right, wrong, empty = (AnswerText(one, "", [fact]) for one in ("The capital is Canberra.", "The capital is Sydney.", "Bye."))
    assert [bool(read_last(fact, texts).claim) for texts in ([wrong, right], [right, empty], [right, wrong])] == [True, True, False]


def test_a_colour_that_was_said_before_is_no_other_one_and_letters_are_no_language() -> None:
    fact = Fact(name="color", value="#112233")
    assert not gives_other(AnswerText("It is #112233, not far from #ff0000."), fact, known="red is #ff0000")
    assert language_of("A, E, O: 12,005 m") == "en"
