"""BFCL's reading of raw text against the decoder of the installed `bfcl-eval`."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import JudgeContext
from talm_sim.tasks.refusal.call_checks import check_calls
from talm_sim.tasks.refusal.call_checks.bfcl_reading import MOST_CHARACTERS, read_as_bfcl
from talm_sim.tasks.refusal.call_checks.calls_judge import BfclCallsJudge, CallsJudge
from talm_sim.tasks.refusal.call_checks.official import BfclOfficialJudge, Official, load_official
from talm_sim.types import Calls, Episode, ModelTurn, ToolCall
from tests.growth import check_growth
from tests.tasks.refusal.call_checks.made_outputs import AST_SUBSETS, REFUSAL_SUBSETS, SYNTAX, BfclRow, Call, read_rows, right_calls
from tests.tasks.refusal.call_checks.test_calls_judge import row

SEED = 23
ROWS = 200
PYTHON_SUBSETS = [one for one in AST_SUBSETS if one not in SYNTAX]
REFUSES = ("irrelevance", "live_irrelevance")
Decode = Callable[[str], list[dict[str, dict[Any, Any]]]]


def episode(text: str) -> Episode:
    return Episode(id="e", scenario_id="s", group="g", model="m/m", model_turns=(ModelTurn(raw_text=text),), termination="answered")


def read(text: str) -> list[tuple[str, dict[Any, Any]]]:
    return [(call.name, call.arguments) for call in read_as_bfcl(text)]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[f(a=1), m.g(b='x')]", [("f", {"a": 1}), ("m.g", {"b": "x"})]),
        ("[f(a=1)", [("f", {"a": 1})]),
        ("f(a=1)]", [("f", {"a": 1})]),
        ("f(a=1)", [("f", {"a": 1})]),
        ("```[f(a=1)]```", [("f", {"a": 1})]),
        ("```python\n[f(a=1)]\n```", []),
        ("Sure: [f(a=1)]", []),
        ("[f(a=1)]\nThat is the call.", []),
        ("f(a=1)\nf(a=2)", []),
        ("[f(a=1)] [f(a=2)]", []),
        ('[{"name": "f", "arguments": {"a": 1}}]', []),
        ("[f(1)]", [("f", {})]),
        ("[f(city)]", [("f", {})]),
        ("[f(a=true, b=null)]", [("f", {"a": "true", "b": "null"})]),
        ("[f(a=(1, 2))]", [("f", {"a": (1, 2)})]),
        ("[f(a=5-1, b=0.1/2, c=2**3)]", [("f", {"a": 4, "b": 0.05, "c": 8})]),
        ("[f(a=+5, b=not 5, c=~5)]", [("f", {"a": -5, "b": -5, "c": -5})]),
        ("[f(a='x' 'y')]", [("f", {"a": "xy"})]),
        ("[f(a=g(b=1), c=g(1), d=x[0])]", [("f", {"a": {"g": {"b": 1}}, "c": "g(1)", "d": "x[0]"})]),
        ("[f(a=1, # one\n b=2)]", [("f", {"a": 1, "b": 2})]),
        ("[f(a=...)]", [("f", {"a": "..."})]),
        ("[f(a='\\d')]", [("f", {"a": "\\d"})]),
        ("[]", []),
        ("", []),
        ("I cannot do that.", []),
        ("[f(a=b.c)]", []),
        ("[f(a={**b})]", []),
        ("[f(a={[1]: 2})]", []),
        ("[f(a=1/0)]", []),
        ("[f(a=-'x')]", []),
        ("[f(a=x + 1)]", []),
        ("[f(a=9**9**9)]", []),
        ("[f(a=1 << 99999999999)]", []),
        ("[f(a=__import__('os').getcwd() + 1)]", []),
        (f"[f(a={'(' * 5000})]", []),
        (f"[f(a={'-' * 50000}1)]", []),
        (f"[f(a='{'x' * MOST_CHARACTERS}')]", []),
    ],
)
def test_it_reads_what_bfcl_reads(text: str, calls: list[tuple[str, dict[Any, Any]]]) -> None:
    assert read(text) == calls


@given(
    st.lists(st.sampled_from([*"f(a=1)[]{}'\",.:*+-~<>|#\\\n x", "not ", "lambda: ", "[f(", "**", "e9"]), max_size=40).map("".join) | st.text()
)
def test_no_text_breaks_it(text: str) -> None:
    assert all(isinstance(call.name, str) and isinstance(call.arguments, dict) for call in read_as_bfcl(text))


@pytest.mark.parametrize("piece", ["f(a=1), ", "{1:"])
def test_it_takes_time_in_step_with_the_text(piece: str) -> None:
    check_growth(read_as_bfcl, lambda size: f"[f(a={piece * (size // len(piece))}", 2**13)


# The judges


READINGS = [
    # as it was written, then what our reader and BFCL's say of it
    ("[clock(city='hanoi')]", True, True),
    ("[clock(city='hanoi')", False, True),
    ("```python\n[clock(city='hanoi')]\n```", True, False),
    ('[{"name": "clock", "arguments": {"city": "hanoi"}}]', True, False),
    ("[clock('hanoi')]", False, False),
    ("<think>[clock(city='Hue')]</think>[clock(city='ha noi')]", True, True),
]


def _told(calls_as: str = "") -> JudgeContext:
    return JudgeContext(calls_as=calls_as)


@pytest.mark.parametrize(("text", "ours", "bfcls"), READINGS)
async def test_the_judges_differ_in_how_they_read_and_in_nothing_else(text: str, ours: bool, bfcls: bool) -> None:
    read = await CallsJudge(_told())(episode(text), row())
    assert read.value == ours
    assert (await BfclCallsJudge(_told("pythonic"))(episode(text), row())).value == bfcls


@pytest.mark.parametrize("arguments", [{"city": "Hanoi"}, {"city": "Hue"}])
async def test_calls_that_a_provider_reported_are_taken_as_they_are(arguments: dict[str, Any]) -> None:
    reported = ModelTurn(raw_text="[clock(city='Rome')]", tool_calls=(ToolCall(id="1", name="clock", arguments=arguments),))
    played = episode("").model_copy(update={"model_turns": (reported,)})
    assert (await BfclCallsJudge(_told("pythonic"))(played, row())).value == (arguments["city"] == "Hanoi")


async def test_where_calls_were_asked_for_otherwise_nothing_is_said() -> None:
    verdict = await BfclCallsJudge(_told())(episode("[clock(city='hanoi')]"), row())
    assert verdict.value is None and verdict.explanation.startswith("not applicable: calls were not asked for")
    java = row(Calls(expected="any", syntax="java"))
    assert (await BfclCallsJudge(_told("pythonic"))(episode("[clock(city='hanoi')]"), java)).value is None
    assert BfclCallsJudge(_told()).config_digest != BfclCallsJudge(_told("pythonic")).config_digest


@pytest.mark.parametrize(("text", "ours", "bfcls"), READINGS)
async def test_the_official_checker_judges_what_was_read_and_says_who_read_it(text: str, ours: bool, bfcls: bool, official: Official) -> None:
    for calls_as, value, head, reader in (("", ours, "BFCL*", "our reader"), ("pythonic", bfcls, "BFCL", "BFCL's reader")):
        judge = BfclOfficialJudge(_told(calls_as))
        assert (await judge(episode(text), row())).value == value
        assert judge.measure.head == head and judge.measure.about.endswith(f"read by {reader}")


# The installed decoder


@pytest.fixture(scope="module")
def official() -> Official:
    try:
        return load_official()
    except PrerequisiteError as err:
        pytest.skip(str(err))


@pytest.fixture(scope="module")
def decode(official: Official) -> Iterator[Decode]:
    """`default_decode_ast_prompting` as installed; its module is not left behind, as it takes others with it."""
    before = set(sys.modules)
    decoder = pytest.importorskip("bfcl_eval.model_handler.utils").default_decode_ast_prompting
    yield decoder
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture(scope="module")
def data(official: Official) -> Path:
    spec = importlib.util.find_spec("bfcl_eval")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "data"


def _written(calls: list[Call], quoted: Callable[[Any], str] = repr, between: str = ", ") -> str:
    return between.join(f"{name}({', '.join(f'{key}={quoted(value)}' for key, value in arguments.items())})" for name, arguments in calls)


def _summed(value: Any) -> str:
    return f"{value - 1} + 1" if type(value) is int else f"{value} * 1.0" if type(value) is float else repr(value)


def _halved(value: Any) -> str:
    return f"{value[:2]!r} {value[2:]!r}" if isinstance(value, str) else repr(value)


def _tupled(value: Any) -> str:
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def _constant(value: Any) -> str:
    return {"True": "true", "False": "false", "None": "null"}.get(repr(value), repr(value))


WAYS: Mapping[str, Callable[[list[Call]], str]] = {
    "right": lambda calls: f"[{_written(calls)}]",
    "no last bracket": lambda calls: f"[{_written(calls)}",
    "no first bracket": lambda calls: f"{_written(calls)}]",
    "no brackets": _written,
    "backticks": lambda calls: f"`{_written(calls)}`",
    "fence on the line": lambda calls: f"```[{_written(calls)}]```",
    "fence": lambda calls: f"```python\n[{_written(calls)}]\n```",
    "prose before": lambda calls: f"Here you are:\n[{_written(calls)}]",
    "prose behind": lambda calls: f"[{_written(calls)}]\nThat is all.",
    "sums": lambda calls: f"[{_written(calls, _summed)}]",
    "halved texts": lambda calls: f"[{_written(calls, _halved)}]",
    "tuples": lambda calls: f"[{_written(calls, _tupled)}]",
    "JSON's constants": lambda calls: f"[{_written(calls, _constant)}]",
    "JSON list": lambda calls: json.dumps([{"name": name, "arguments": arguments} for name, arguments in calls]),
    "one call a line": lambda calls: _written(calls, between="\n"),
    "a comment": lambda calls: f"[ # the calls\n{_written(calls)}]",
    "positional": lambda calls: "[" + ", ".join(f"{name}({', '.join(map(repr, given.values()))})" for name, given in calls) + "]",
    "parameter names": lambda calls: "[" + ", ".join(f"{name}({', '.join(given)})" for name, given in calls) + "]",
    "two lists": lambda calls: f"[{_written(calls[:1])}] [{_written(calls[1:])}]",
    "a wrong value": lambda calls: f"[{_written([(name, {key: 'wrong' for key in given}) for name, given in calls])}]",
    "an object around": lambda calls: f"{{{_written(calls)}}}",
    "words": lambda calls: "None of the functions can be used.",
}


def _answers(data: Path, subset: str) -> Iterator[tuple[BfclRow, str, str]]:
    rows = list(read_rows(data, subset))
    for one in random.Random(f"{SEED} {subset}").sample(rows, min(ROWS, len(rows))):
        calls = right_calls(one, random.Random(f"{SEED} {one.id}"))
        if not one.ground_truth:  # what the first function would take
            name, properties = (one.functions[0]["name"], one.functions[0]["parameters"]["properties"]) if one.functions else ("f", {"a": {}})
            calls = [(name, dict.fromkeys(properties, 1))]
        for way, write in WAYS.items():
            yield one, way, write(calls)


def _theirs(decode: Decode, official: Official, row: BfclRow, text: str) -> bool | None:
    """The verdict of an official run: None where its checker raises, which ends it."""
    try:
        calls = decode(text)
    except Exception:
        return row.subset in REFUSES
    if row.subset in REFUSAL_SUBSETS:
        return bool(calls) == (row.subset == "live_relevance")
    try:
        return bool(official.check(row.functions, calls, row.ground_truth, official.languages("python"), row.subset, "talm-sim")["valid"])
    except Exception:
        return None


@pytest.mark.parametrize("subset", [*PYTHON_SUBSETS, *REFUSAL_SUBSETS])
def test_the_verdict_is_that_of_an_official_run(subset: str, decode: Decode, official: Official, data: Path) -> None:
    different, passed = [], Counter[str]()
    for one, way, text in _answers(data, subset):
        theirs = _theirs(decode, official, one, text)
        ours = bool(check_calls(read_as_bfcl(text), one.target, one.functions).outcome)
        passed[way] += bool(theirs)
        if theirs is not None and ours != theirs:
            different.append((one.id, way, text, theirs))
    assert not different, f"{len(different)} differ, as {different[:3]}"
    refuses = subset in REFUSES
    assert (passed["right"], passed["words"]) == ((0, ROWS) if refuses else (passed["no last bracket"], 0)), "right ways pass or words do"
    assert refuses or passed["right"] > 0
