"""Which free answers make a call, wherever it stands and in whatever form."""

from __future__ import annotations

import pytest

from talm_sim.tasks.awareness.called import makes_call
from talm_sim.types import ModelTurn, UnparsableCall
from tests.growth import check_growth
from tests.tasks.awareness.answers import turn

TOOLS = ("GetToday", "book_hotel")


@pytest.mark.parametrize(
    "text",
    [
        "[F(a='b')]",
        "[ApiName(key1='value1', key2='value2',)]",
        "[GetToday()]",
        "Sure, I will look: [GetToday()] One moment.",
        "I'll book it.\n[book_hotel(city='Rome', night='2025-05-01')]",
        "First [this] and [that(], then [GetToday()]",
        "<think>Do I know the city? Yes.</think>[book_hotel(city='Rome')]",
        "GetToday()",
        "Let me see:\nGetToday()\nOne moment.",
        '{"name": "book_hotel", "arguments": {"city": "Rome"}}',
        '<tool_call>{"name": "book_hotel", "arguments": {"city": "Rome"}}</tool_call>',
        "[book_hotel('Rome')]",
    ],
)
def test_a_written_call_is_a_call(text: str) -> None:
    assert makes_call(ModelTurn(raw_text=text, text=text), TOOLS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which city?",
        "Which city do you mean [Rome (Italy)]?",
        "I could call GetToday() if you named a date.",
        "Let me see:\nfetch()\nis not what I have.",
        "<think>[GetToday()] would not serve.</think>I cannot do that.",
        "See [the list](https://example.org/list).",
        "[]",
    ],
)
def test_a_word_about_calls_is_none(text: str) -> None:
    assert not makes_call(ModelTurn(raw_text=text, text=text), TOOLS)


def test_a_call_in_the_providers_form_is_one_also_where_it_cannot_be_read() -> None:
    broken = UnparsableCall(id="c", name="book_hotel", raw="{", reason="cut off")
    assert makes_call(turn("", calls=True)) and makes_call(ModelTurn(unparsable_calls=(broken,)))


@pytest.mark.parametrize("piece", ["[f(", "[f(a=", "[f(a=1), ", "f()\n"])
def test_it_grows_with_the_text_alone(piece: str) -> None:
    check_growth(lambda text: makes_call(ModelTurn(text=text)), lambda size: piece * size, 2000)
