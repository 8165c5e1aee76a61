"""Our checks against those of the installed `bfcl-eval` (scripts/bfcl.sh): the same verdict on every answer."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import JudgeContext
from talm_sim.tasks.refusal.call_checks import CallFault, CheckResult, check_calls
from talm_sim.tasks.refusal.call_checks.calls_judge import calls_of
from talm_sim.tasks.refusal.call_checks.official import BfclOfficialJudge, Official, load_official
from talm_sim.types import Calls, Episode, ModelTurn, Scenario, ToolCall
from tests.tasks.refusal.call_checks.made_outputs import AST_SUBSETS, REFUSAL_SUBSETS, BfclRow, Output, outputs_of, read_rows
from tests.tasks.refusal.call_checks.test_calls_judge import CLOCK, RIGHT, row

SEED = 12
LEAST_OUTPUTS = 20_000
FAULTS = {
    "wrong_count": CallFault.COUNT,
    "wrong_func_name": CallFault.FUNCTION,
    "missing_required": CallFault.MISSING,
    "missing_optional": CallFault.MISSING,
    "unexpected_param": CallFault.UNEXPECTED,
}


@pytest.fixture(scope="module")
def official() -> Official:
    try:
        return load_official()
    except PrerequisiteError as err:
        pytest.skip(str(err))


@pytest.fixture(scope="module")
def data(official: Official) -> Path:
    spec = importlib.util.find_spec("bfcl_eval")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "data"


def theirs(official: Official, row: BfclRow, output: Output) -> tuple[bool, str]:
    """What the official checker says of the calls, by its category's own way."""
    calls = [{name: arguments} for name, arguments in output.calls]
    said = official.check(row.functions, calls, row.ground_truth, official.languages(row.syntax), row.subset, "talm-sim")
    return said["valid"], "" if said["valid"] else said["error_type"].split(":")[-1]


def ours(output: Output, target: Calls) -> CheckResult:
    return check_calls([ToolCall(id="1", name=name, arguments=arguments) for name, arguments in output.calls], target, output.row.functions)


@pytest.mark.parametrize("subset", AST_SUBSETS)
def test_the_verdict_is_the_official_one_on_every_answer(subset: str, official: Official, data: Path) -> None:
    different, faults = [], []
    for one in read_rows(data, subset):
        target = one.target
        for output in outputs_of(one, SEED):
            right, error = theirs(official, one, output)
            checked = ours(output, target)
            if checked.outcome != right:
                different.append((one.id, output.mutation, output.calls, checked, error))
            if error in FAULTS and checked.error is not FAULTS[error]:
                faults.append((one.id, output.mutation, output.calls, checked, error))
    assert not different, f"{len(different)} differ, as {different[:3]}"
    assert not faults, f"{len(faults)} name another fault, as {faults[:3]}"


def test_there_are_enough_answers_and_they_pass_and_fail(data: Path) -> None:
    rows = [one for subset in AST_SUBSETS for one in read_rows(data, subset)]
    outputs = [output for one in rows for output in outputs_of(one, SEED)]
    assert len(outputs) >= LEAST_OUTPUTS
    passed = sum(ours(output, output.row.target).outcome for output in outputs[::10])
    assert 0.2 < passed / len(outputs[::10]) < 0.6


def _episode(text: str) -> Episode:
    return Episode(id="e", scenario_id="s", group="g", model="m/m", model_turns=(ModelTurn(raw_text=text),), termination="answered")


@pytest.mark.parametrize("subset", ["simple_java", "simple_javascript"])
def test_source_code_gives_the_verdict_of_the_official_parser_but_for_its_defects(subset: str, official: Official, data: Path) -> None:
    different = set()
    for one in read_rows(data, subset):
        for output in outputs_of(one, SEED):
            said, _, _ = official.judge(_episode(output.text), one.target, one.functions, pythonic=True)
            checked = check_calls(calls_of(_episode(output.text), one.functions, one.syntax), one.target, one.functions)
            if said is not None and checked.outcome != said:
                different.add(output.text)
    # the parser leaves out what stands in `{{ ... }}`: a filled map is empty to it
    assert all("{{" in text for text in different)
    assert bool(different) == (subset == "simple_java")


REFUSALS = ("", "I cannot do that.", "]] }} ~", "[", "[f(a=1", '{"name": "f"', "Which city do you mean?")


@pytest.mark.parametrize("subset", REFUSAL_SUBSETS)
def test_with_no_or_any_call_due_both_go_by_whether_there_is_one(subset: str, official: Official, data: Path) -> None:
    for one in list(read_rows(data, subset))[:200]:
        called = f"[{one.functions[0]['name']}()]" if one.functions else "[f()]"
        for text, calls in [(called, True), *((text, False) for text in REFUSALS)]:
            checked = check_calls(calls_of(_episode(text), one.functions, "python"), one.target, one.functions)
            assert checked.outcome == official.judge(_episode(text), one.target, one.functions)[0] == (calls == (subset == "live_relevance"))


async def test_an_answer_on_which_their_checker_raises_is_not_judged(official: Official) -> None:
    scenario: Scenario = row(RIGHT, {**CLOCK, "parameters": {"properties": {"city": {"type": "object"}}, "required": []}})
    verdict = await BfclOfficialJudge(JudgeContext())(_episode("[clock(city='Hanoi')]"), scenario)
    assert (verdict.value, verdict.explanation) == (None, "not judged: bfcl-eval raised KeyError: 'object'")


@pytest.fixture
def _without_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in sys.modules if name.split(".")[0] in {"bfcl_eval", "tree_sitter"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bfcl_eval", None)
    load_official.cache_clear()
    yield
    load_official.cache_clear()


@pytest.mark.usefixtures("_without_it")
def test_without_the_package_one_line_says_what_to_install() -> None:
    with pytest.raises(PrerequisiteError, match=r"pip install --no-deps bfcl-eval==\S+ tree-sitter==") as caught:
        BfclOfficialJudge(JudgeContext())
    assert "\n" not in str(caught.value)
