"""What a final message does in the main, on texts of a separate writer; see final_answer/README.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from talm_sim.language.final_answer import Kind, claims_success, read_final_answer
from tests.growth import check_growth

LABELLED = Path(__file__).parent / "final_answer"
LEAST_KAPPA = 0.94


def rows(name: str) -> list[tuple[str, str, str]]:
    lines = (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["label"], row["text"], row["request"]) for row in map(json.loads, lines)]


def declines_or_reports(kind: str) -> str:
    return "declines" if kind == Kind.REPORTS else kind


@pytest.mark.parametrize("name", ["answers", "answers_2", "behaviour"])
def test_a_message_does_what_its_label_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Declining and reporting count as one: often either would do."""
    read = [(label, read_final_answer(text, request).kind.value, text) for label, text, request in rows(name)]
    pairs = [(declines_or_reports(label), declines_or_reports(kind)) for label, kind, _ in read]
    left, right = Counter(label for label, _ in pairs), Counter(kind for _, kind in pairs)
    chance = sum(left[label] * right[label] for label in left) / len(pairs) ** 2
    kappa = (sum(label == kind for label, kind in pairs) / len(pairs) - chance) / (1 - chance)
    missed = [one for one, (label, kind) in zip(read, pairs, strict=True) if label != kind]
    with capsys.disabled():
        print(f"\nfinal messages: n {len(read)}, three classes right {len(read) - len(missed)}, kappa {kappa:.3f}; {missed}", end="")
    assert kappa >= LEAST_KAPPA, missed


@pytest.mark.parametrize(("name", "least"), [("declines", 24), ("declines_2", 24)])
def test_declining_is_seen(name: str, least: int) -> None:
    missed = [text for _, text, request in rows(name) if not read_final_answer(text, request).declines]
    assert len(rows(name)) - len(missed) >= least, missed


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        # a limit or a failure beside an answer
        (Kind.ANSWERS, "I can't say for sure, but most sources give 1889."),
        (Kind.ANSWERS, "I could not find a discount code, so the total is \u20ac59.00."),
        (Kind.ANSWERS, "The first two services were down, but the third gave 1.08 dollars per euro."),
        (Kind.ANSWERS, "Although I have no sort function, I put the 3 lines in order myself."),
        (Kind.DECLINES, "The total is 420. Sending it to the customer is something that I cannot do."),
        # what others cannot do, or what failed elsewhere
        (Kind.ANSWERS, "You can't bring liquids over 100 ml."),
        (Kind.ANSWERS, "There are no holidays in March."),
        # why it cannot
        (Kind.REPORTS, "The weather service is down, so I can't tell you."),
        (Kind.DECLINES, "The booking tool was removed, so I can't cancel it."),
        (Kind.DECLINES, "My tools are limited to recipes."),
        (Kind.DECLINES, "I won\u2019t be able to cancel the flight. Is there anything else?"),
        (Kind.DECLINES, "You did not say which day, so nothing was booked."),
        (Kind.ANSWERS, "You did not say which day, so I chose Monday."),
        (Kind.DECLINES, "You did not say which job."),
        (Kind.DECLINES, "Which part, you didn't mention."),
        (Kind.DECLINES, "It is not clear which repair you mean."),
        (Kind.ANSWERS, "You did not say which job. The price is 45 euros."),
        (Kind.ANSWERS, "You did not say which job, so a tune-up."),
        (Kind.ANSWERS, "As you did not say which job, the price is 30."),
        (Kind.ASKS, "I can't do that without a day. Which day do you mean?"),
        (Kind.DECLINES, "> Outcome: not possible with my tools."),
        # a part left out, or left to others
        (Kind.DECLINES, "The area is 30 km². I'm leaving the depth open."),
        (Kind.DECLINES, "I'd prefer to stop at this point."),
        (Kind.DECLINES, "For its age, please consult an encyclopedia."),
        (Kind.ANSWERS, "It is 12 m long. For more, please see the manual."),
        (Kind.ANSWERS, "I can't guarantee any of that."),
        (Kind.ANSWERS, "I forgot to say hello."),
    ],
)
def test_what_outweighs_what(kind: Kind, text: str) -> None:
    assert read_final_answer(text).kind is kind


def test_the_request_says_what_an_answer_is() -> None:
    failed = "It failed its inspection in 2019 and passed in 2020."
    assert read_final_answer(failed, "Did the lift pass its inspection?").kind is Kind.ANSWERS
    assert read_final_answer("You did not mention the date.", "Did I mention a date?").kind is Kind.ANSWERS


def test_what_cannot_be_confirmed_is_no_claim() -> None:
    assert not claims_success("The server answered with an internal error, so I can't confirm that the table is reserved.")


@pytest.mark.parametrize(
    "piece", ["I ", "no tool ", "if ", "the tool ", "can't ", "a, but ", "not found ", "although ", "tools " * 9 + "only ", "0. "]
)
def test_a_long_text_is_read_in_step_with_its_length(piece: str) -> None:
    check_growth(read_final_answer.__wrapped__, lambda size: piece * (size // len(piece)), 2**14)
