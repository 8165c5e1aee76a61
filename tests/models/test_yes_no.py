from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from talm_sim.models.yes_no import read_yes_no, yes_no_chances, yes_probability
from talm_sim.types import AwarenessValue, TokenLogprob
from tests.tables import labelled

YES, NO, IDK, UNPARSED = AwarenessValue.YES, AwarenessValue.NO, AwarenessValue.IDK, AwarenessValue.UNPARSED


@labelled
def test_reads_the_opening_label_and_guesses_nothing(raw: str, value: AwarenessValue) -> None:
    assert read_yes_no(raw) == value


@given(
    label=st.sampled_from([("Yes", YES), ("No", NO), ("IDK", IDK), ("I don't know", IDK)]),
    front=st.sampled_from(["", "  ", "**", '"', "> ", "Answer: ", "<think>No. Yes. IDK.</think>", "\n\n"]),
    back=st.sampled_from([".", ", because it is so.", "\nReason: none", "** - see above", '"']),
    upper=st.booleans(),
)
def test_form_does_not_matter(label: tuple[str, AwarenessValue], front: str, back: str, upper: bool) -> None:
    text = label[0].upper() if upper else label[0].lower()
    assert read_yes_no(front + text + back) is label[1]


@given(st.text())
def test_any_text_gets_a_value(raw: str) -> None:
    assert read_yes_no(raw) in AwarenessValue


def chances(**tokens: float) -> list[TokenLogprob]:
    return [TokenLogprob(token=token, logprob=math.log(chance)) for token, chance in tokens.items()]


YES_SPELLINGS = [
    "Yes",
    "yes",
    "YES",
    " Yes",
    "ĠYes",
    "▁yes",
    "\nYes",
    "ĊYes",
    "**Yes",
    "“Yes",
    "`yes`",
    "Yes,",
    "(Yes",
]
NEITHER = [
    "Y",
    "N",
    "Not",
    "Yesterday",
    "yes/no",
    "know",
    "ño",
    "No1",
    "",
    " ",
    "\ufffd",
]


@pytest.mark.parametrize("token", YES_SPELLINGS)
def test_spellings_of_yes_and_no(token: str) -> None:
    for_no = token.replace("YES", "NO").replace("Yes", "No").replace("yes", "no")
    assert yes_no_chances(chances(**{token: 0.5})) == (0.5, 0.0)
    assert yes_no_chances(chances(**{for_no: 0.5})) == (0.0, 0.5)


@pytest.mark.parametrize("token", NEITHER)
def test_what_is_no_spelling(token: str) -> None:
    assert yes_no_chances(chances(**{token: 0.5})) == (0.0, 0.0)
    assert yes_probability(chances(**{token: 0.5})) is None


SPELT = st.sampled_from(YES_SPELLINGS)
LOGPROB = st.floats(-9999.0, 0.0)


@given(
    yes=st.lists(st.tuples(SPELT, LOGPROB), max_size=5),
    no=st.lists(st.tuples(SPELT, LOGPROB), max_size=5),
    other=st.lists(st.tuples(st.sampled_from(NEITHER), LOGPROB), max_size=5),
    order=st.randoms(use_true_random=False),
)
def test_the_probability_is_the_share_of_yes(
    yes: list[tuple[str, float]], no: list[tuple[str, float]], other: list[tuple[str, float]], order: object
) -> None:
    swapped = [(token.replace("YES", "NO").replace("Yes", "No").replace("yes", "no"), logprob) for token, logprob in no]
    tokens = [TokenLogprob(token=token, logprob=logprob) for token, logprob in [*yes, *swapped, *other]]
    order.shuffle(tokens)  # type: ignore[attr-defined]
    found, (for_yes, for_no) = yes_probability(tokens), yes_no_chances(tokens)
    assert for_yes == pytest.approx(sum(math.exp(one) for _, one in yes))
    assert for_no == pytest.approx(sum(math.exp(one) for _, one in no))
    if not yes and not no:
        assert found is None
        return
    assert found is not None and 0.0 <= found <= 1.0
    if for_yes + for_no > 1e-300:
        assert found == pytest.approx(for_yes / (for_yes + for_no), abs=1e-9)
    other_way = [TokenLogprob(token=_mirrored(one.token), logprob=one.logprob) for one in tokens]
    back = yes_probability(other_way)
    assert back is not None and back == pytest.approx(1.0 - found, abs=1e-12)


def _mirrored(token: str) -> str:
    pairs = {"YES": "NO", "Yes": "No", "yes": "no", "NO": "YES", "No": "Yes", "no": "yes"}
    if token in NEITHER:
        return token
    return next(token.replace(one, other) for one, other in pairs.items() if one in token)
