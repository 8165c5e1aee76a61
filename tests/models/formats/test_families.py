"""Families whose calls begin with a mark of their own: what they write is read, what is cut off is flagged, and long texts take no longer."""

from __future__ import annotations

import pytest

from talm_sim.models.formats import FORMATS, CallToWrite, read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import ToolCall
from tests.growth import check_growth
from tests.models.formats.families import CASES, TOOLS, WRITTEN
from tests.tables import labelled

LONG = 2**17
HOSTILE = (
    "[f(a=",
    '{"a":',
    '{"name": "f", "arguments": {"a": ',
    "<tool_call>[f(a=b b ",
    "<|tool_call>call:f{a:[[[",
    "\n<code>f(a=1",
    "u'x' ",
    "\\",
)
CHANNELS = ("<|channel|>analysis<|message|>", "<|inner_prefix|><|tools_prefix|>", "<think></think>", "[/THINK]a")


def parts(written: str) -> list[tuple[str, dict[str, object]]]:
    return [(call.name, dict(call.arguments)) for call in read_calls(written, TOOLS).calls]


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("family", sorted(WRITTEN))
def test_what_a_familys_own_template_writes_is_read_back_equal(family: str, case: str) -> None:
    read = read_calls(split_reasoning(WRITTEN[family][case])[0], TOOLS)
    assert [(call.name, call.arguments) for call in read.calls] == [*CASES[case]]
    assert (read.text, read.unparsable, read.form) == ("", (), family)


@pytest.mark.parametrize("case", ["one", "nested", "quotes"])
@pytest.mark.parametrize("family", sorted(WRITTEN))
def test_a_call_that_is_cut_off_anywhere_is_flagged_and_never_executed(family: str, case: str) -> None:
    """Behind the tool's name each cut is told, until the arguments are whole; before it, nothing may stand there yet that only calls have."""
    written, (whole,) = WRITTEN[family][case], CASES[case]
    named = written.index(whole[0]) + len(whole[0])
    for end in range(len(written)):
        read = read_calls(written[:end], TOOLS)
        assert [(call.name, call.arguments) for call in read.calls] in ([], [whole]), written[:end]
        if end > named + 1 and not read.calls:
            assert [call.name for call in read.unparsable] == [whole[0]] or read.unparsable[0].name == "unknown", written[:end]


def test_two_calls_of_which_the_second_is_cut_off_are_one_call_and_one_that_cannot_be_read() -> None:
    for family in WRITTEN:
        written = FORMATS[family].write([CallToWrite(name, arguments) for name, arguments in CASES["parallel"]])
        read = read_calls(written[: written.index("Zürich") + 3], TOOLS)
        assert len(read.unparsable) == 1, family
        assert all(call == ToolCall(id=call.id, name="get_fare", arguments={"to": "Bern", "seats": 2}) for call in read.calls), family


@pytest.mark.parametrize("family", sorted(WRITTEN))
def test_many_calls_are_read_in_linear_time(family: str) -> None:
    unit = WRITTEN[family]["nested"] + "\n"
    check_growth(lambda text: read_calls(text, TOOLS), lambda size: unit * (size // len(unit)), LONG)


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    check_growth(lambda text: read_calls(text, [{"name": "f", "parameters": {}}]), lambda size: unit * (size // len(unit)), LONG)


@pytest.mark.parametrize("unit", CHANNELS)
def test_hostile_channels_are_parted_in_linear_time(unit: str) -> None:
    check_growth(split_reasoning, lambda size: unit * (size // len(unit)), LONG)


@labelled
def test_thoughts_answers_and_calls_are_parted(written: str, text: str, thought: str, calls: int) -> None:
    said, thoughts = split_reasoning(written)
    read = read_calls(said)
    assert (read.text, thoughts, [(call.name, call.arguments) for call in read.calls]) == (text, thought, [("f", {"a": 1})] * calls)


@labelled
def test_what_only_looks_like_a_familys_call_is_text(written: str) -> None:
    read = read_calls(written, [{"name": "list_stations", "parameters": {}}])
    assert (read.text, read.calls, read.unparsable) == (written, (), ())


def test_a_line_with_the_name_of_a_shown_tool_calls_it_whatever_the_name() -> None:
    assert parts('get_fare\n{"to": "Bern"}') == [("get_fare", {"to": "Bern"})]
    read = read_calls('search\n{"q": "x"}', [{"name": "search"}])
    assert [(call.name, call.arguments) for call in read.calls] == [("search", {"q": "x"})]


def test_a_line_with_a_name_that_no_word_looks_like_calls_it_though_it_was_not_shown() -> None:
    for name in ("Api_get", "getFare", "math.gcd"):
        assert [call.name for call in read_calls(f'{name}\n{{"a": 1}}', TOOLS).calls] == [name]
    broken = read_calls('get_odds\n{"n": 20, "p": 1/6}', TOOLS)
    assert ([call.name for call in broken.unparsable], broken.calls) == (["get_odds"], ())


def test_command_rs_tool_that_answers_directly_is_no_call() -> None:
    written = 'Action:\n```json\n[{"tool_name": "directly-answer", "parameters": {}}]```'
    assert read_calls(written).calls == ()
