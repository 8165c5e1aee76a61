"""What asks the user in words, and what does not: the rule is docs/numbers.md, the labelled set beside this file was labelled by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.language.asking import asking_sentences
from talm_sim.language.sentences import read_sentences
from tests.growth import check_growth

LABELLED = Path(__file__).parent / "asking"
SETS = ("before", "after", "later", "last")
PIECES = (
    *"?.!:;,*_`#>|-\"'()[]<\n \t\u201c\u201d\uff1f\u061f\u3002\U0001f600\u0000aA",
    *("1. ", "- ", "\n\n", "```\n", "---\n", "\r", "Which ", "you ", "please ", "provide ", "I need ", "the following: "),
    *("let me know ", "if ", "I assumed ", "Here is the email:\n", "</think>", "<br>"),
)
HOSTILE = (
    *("?", "a? ", "a?\n", "Please send:\n- a?\n", "I need ", '"', "' ?", "```\n", "[a](", "<a", "\n", "1. ", "<think>"),
    *("Here is the email:\n\n", "please just " * 80 + ". ", "would you like or " * 50 + "? ", "a, I " * 180 + "? b. "),
)
"""One of each class: questions, lists, marks without an end, drafts, thoughts, and long sentences of one rule."""


class Rates(NamedTuple):
    """Precision and recall over texts: does it ask?"""

    precision: float
    recall: float


def rows(*names: str) -> list[dict[str, Any]]:
    return [json.loads(line) for name in names for line in (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def rates(pairs: Iterable[tuple[bool, bool]]) -> Rates:
    """Rates over pairs of what is right and what was said."""
    seen = list(pairs)
    right = seen.count((True, True))
    return Rates(right / (right + seen.count((False, True))), right / (right + seen.count((True, False))))


def test_precision_is_at_least_95_percent_and_recall_90(capsys: pytest.CaptureFixture[str]) -> None:
    labelled = rows(*SETS)
    said = {row["id"]: asking_sentences(row["text"]) for row in labelled}
    whole = rates((row["asks"], bool(said[row["id"]])) for row in labelled)
    wrong = [row["id"] for row in labelled if row["asks"] != bool(said[row["id"]])]
    with capsys.disabled():
        print(f"\nasking on {len(labelled)} answers: precision {whole.precision:.3f}, recall {whole.recall:.3f}; wrong: {wrong or 'none'}")
    assert whole.precision >= 0.95 and whole.recall >= 0.9, wrong


def test_the_sentences_that_ask_are_the_labelled_ones() -> None:
    pairs = {(row["id"], one) for row in rows(*SETS) for one in row["sentences"]}
    found = {(row["id"], one) for row in rows(*SETS) for one in asking_sentences(row["text"])}
    assert len(pairs & found) >= 0.95 * len(found) and len(pairs & found) >= 0.9 * len(pairs), pairs ^ found


@pytest.mark.bench_data
def test_published_answers_that_ask_are_told_from_those_that_do_not(bench_data: Path) -> None:
    """When2Call's gold is kinder to a question such as "Shall I proceed?", which it counts as an answer and we as a go-ahead."""
    lines = (bench_data / "when2call" / "when2call_sample.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [(kind, text) for row in map(json.loads, lines) for kind, text in row["answers"].items()]
    published = rates((kind == "request_for_info", bool(asking_sentences(text))) for kind, text in answers)
    assert len(answers) == 604 and published.precision >= 0.95 and published.recall >= 0.95, published


def examples(section: str) -> list[str]:
    page = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text(encoding="utf-8")
    part = page.split(f"### {section}\n")[1].split("\n#")[0]
    return [" ".join(found.split()) for found in re.findall(r'"([^"]+)"', part)]


def test_the_page_s_examples_are_what_the_rules_say() -> None:
    asks, others = examples("Asks"), examples("Does not ask")
    assert len(asks) >= 12 and len(others) >= 12
    assert [one for one in asks if not asking_sentences(one)] == [] == [one for one in others if asking_sentences(one)]


@pytest.mark.parametrize(
    "text, asking",
    [
        # what the rules of judge `behaviour` get wrong
        ("I can cancel it. Could you tell me the reference?", ["Could you tell me the reference?"]),
        ("Which reference? I assumed QX7K2P.", []),
        # an assumption answers, a promise does not
        ("Which date? I'll use today's.", []),
        ("Which date? I'll use it to look up the rate.", ["Which date?"]),
        ("Do you have an account? No problem if not.", ["Do you have an account?"]),
        # a line broken within a sentence, a sentence within a list, one said twice
        ("Could you tell me\nyour date of birth?", ["Could you tell me your date of birth?"]),
        ("- 12 °C in Bern\n- Which other city do you mean?", ["Which other city do you mean?"]),
        ("Which city?\n\n**Which city?**", ["Which city?"]),
        # the list ends where the text goes on, and a nested item belongs to it
        ("I need:\n\n1. a date\n   - with the year\n2. a city\n\nThank you.", ["I need: a date; with the year; a city"]),
        ("Please send me the details below.\n- Here is what I did.", ["Please send me the details below."]),
        # thoughts, code, quotations, tables, links
        ("<think>Which city? I should ask.</think>It is 12 °C.", []),
        ("~~~\nWhich city?\n~~~\n> Which date?\n| Which? |\n|---|", []),
        ("See [what is it?](https://example.org/?q=1) for more.", []),
        ("Which [city](https://example.org) do you mean?", ["Which city do you mean?"]),
        # drafts for somebody else, up to a ruled line or the last paragraph
        ("Here is the email:\n\n---\nWhen can you come?\n---\n\nWho should I send it to?", ["Who should I send it to?"]),
        ("Here is the email:\n\nHi Tom,\n\nwhen can you come?\n\nWho should I send it to?", ["Who should I send it to?"]),
        ("To write the email, I need:\n- the recipient", ["To write the email, I need: the recipient"]),
        # a request counts, whatever politeness follows in the same sentence
        ("Please provide the date, or let me know if you need help.", ["Please provide the date, or let me know if you need help."]),
        # too short to tell that it is English
        ("Anything else?", []),
        ("Done! Need more help?", []),
        ("Destination?", ["Destination?"]),
        # other languages: the questions at the end, and nothing else
        ("Welche Stadt? Hanoi hat 31 °C.", []),
        ("Gern! Welche Stadt? Und welcher Tag?", ["Welche Stadt?", "Und welcher Tag?"]),
        ("", []),
        ("?", []),
    ],
)
def test_what_asks(text: str, asking: list[str]) -> None:
    assert list(asking_sentences(text)) == asking


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text())
@settings(max_examples=300)
def test_what_is_returned_was_said_in_this_order_and_only_once(text: str) -> None:
    found = asking_sentences(text)
    assert len(set(found)) == len(found) and all(one == one.strip() and one for one in found)
    for one in found:
        said = iter(text)
        assert all(letter in said for letter in one if letter.isalnum()), one


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text())
def test_what_is_blotted_out_keeps_its_length(text: str) -> None:
    assert all("\n" not in one.text and one.text and len(one.text) == len(one.said) for one in read_sentences(text))


@given(st.lists(st.sampled_from(rows(*SETS)), min_size=1, max_size=4))
@settings(max_examples=100)
def test_code_and_thought_around_a_message_change_nothing(labelled: list[dict[str, Any]]) -> None:
    text = labelled[0]["text"]
    hidden = " ".join(row["text"] for row in labelled[1:] if "`" not in row["text"]).replace("\n", " ")
    assert asking_sentences(f"<think>{hidden}</think>{text}") == asking_sentences(text.strip())
    if "```" not in text:
        assert asking_sentences(f"```\n{hidden}\n```\n\n{text}") == asking_sentences(text)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_is_read_in_step_with_its_length(piece: str) -> None:
    check_growth(asking_sentences, lambda size: piece * (size // len(piece)), 2**17)
