"""The package's own check of a multi-turn row: what it is given, and what its answer becomes."""

from __future__ import annotations

import ast
import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import ProviderError
from talm_sim.judges.base import JudgeContext
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, load_bfcl
from talm_sim.tasks.refusal.turns.turns_judge import REFUSED_CALL, BfclTurnsJudge, call_text, steps_of
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.types import Episode, ModelTurn, Scenario, Termination, ToolCall, UnparsableCall, Verdict
from tests.simulated_apis import make_package

walled = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
Call = tuple[str, dict[str, Any]]


def episode(scenario: Scenario, *turns: list[Call], end: Termination = Termination.ANSWERED) -> Episode:
    """One that makes calls in each turn of the user's, then answers it."""
    made: list[ModelTurn] = []
    for number, calls in enumerate(turns):
        found = tuple(ToolCall(id=f"{number}-{place}", name=name, arguments=given) for place, (name, given) in enumerate(calls))
        made += [ModelTurn(tool_calls=found, user_turn=number)] if calls else []
        made.append(ModelTurn(raw_text="Done.", text="Done.", user_turn=number))
    return Episode(id=scenario.id, scenario_id=scenario.id, group=scenario.group, model="test/model", model_turns=tuple(made), termination=end)


@given(st.sampled_from(["cd", "exec", "__import__('os').system", "cd); exit("]), st.dictionaries(st.text(), JSON, max_size=3))
def test_a_text_is_the_call_itself_or_that_of_no_function(name: str, arguments: dict[str, Any]) -> None:
    text = call_text(ToolCall.model_construct(id="1", name=name, arguments=arguments), ["cd", "ls"])
    if text != REFUSED_CALL:
        read = ast.parse(text, mode="eval").body
        assert isinstance(read, ast.Call) and isinstance(read.func, ast.Name) and read.func.id == name == "cd"
        assert not read.args and {one.arg: ast.literal_eval(one.value) for one in read.keywords} == arguments
    plain = name == "cd" and all(key.isidentifier() and key.isascii() for key in arguments)
    if plain and not any(one in json.dumps(arguments) for one in ("NaN", "Infinity")):
        assert text != REFUSED_CALL or any(key in ("if", "None", "True", "as", "in", "is", "or") for key in arguments)


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, Scenario]:
    make_package(tmp_path)
    return {one.group.removeprefix("multi_turn_"): one for one in load_bfcl(tmp_path, MULTI_TURN).scenarios}


def judge(folder: Path) -> BfclTurnsJudge:
    return BfclTurnsJudge(JudgeContext(options=SimpleNamespace(bfcl=folder)))


A: Call = ("touch", {"file_name": "a"})
B: Call = ("touch", {"file_name": "b"})
LIST: Call = ("ls", {})


def test_steps_are_the_calls_of_each_turn_and_a_strange_call_is_none_of_the_row(rows: dict[str, Scenario]) -> None:
    run = episode(rows["base"], [A, ("system", {"command": "id"}), ("ask_human", {"question": "?"})], [])
    broken = ModelTurn(unparsable_calls=(UnparsableCall(id="x", name="ls", raw="{", reason="cut off"),), user_turn=1)
    run = run.model_copy(update={"model_turns": (*run.model_turns, broken)})
    assert steps_of(run, rows["base"]) == [[["touch(file_name='a')", REFUSED_CALL]], [[REFUSED_CALL]]]


@walled
async def test_the_check_decides_and_its_error_is_the_label(tmp_path: Path, rows: dict[str, Scenario]) -> None:
    asked, row = judge(tmp_path), rows["base"]
    cases = [
        (episode(row, [A], [B, LIST]), True, ""),
        (episode(row, [A], [("cd", {"folder": "touch (b)"}), B]), True, ""),
        (episode(row, [A], []), False, "empty_turn_model_response"),
        (episode(row, [A], [A]), False, "instance_state_mismatch"),
        (episode(row, [A], [B], end=Termination.TURN_LIMIT), False, "force_terminated"),
        (episode(row, [A], [B], end=Termination.INFRASTRUCTURE_ERROR), None, ""),
    ]
    said: list[Verdict] = [await asked(run, row) for run, _, _ in cases]
    assert [(one.value, one.label) for one in said] == [(value, label) for _, value, label in cases]
    assert "nothing in turn 1" in said[2].explanation and "ended in turn_limit" in said[4].explanation


@walled
async def test_calls_that_take_the_check_too_long_fail(tmp_path: Path, rows: dict[str, Scenario], monkeypatch: pytest.MonkeyPatch) -> None:
    asked, slow = judge(tmp_path), episode(rows["base"], [A], [B, ("wait", {"seconds": 600})])
    monkeypatch.setattr("talm_sim.tasks.refusal.turns.turns_judge._SECONDS", 4)
    said = await asked(slow, rows["base"])
    assert (said.value, said.label) == (False, "force_terminated") and "right calls alone can be checked" in said.explanation
    monkeypatch.setattr("talm_sim.tasks.refusal.turns.turns_judge._SECONDS", 0)
    with pytest.raises(ProviderError, match="it was stopped"):  # not even those
        await asked(slow, rows["base"])


@walled
async def test_a_call_that_would_run_code_runs_nothing(tmp_path: Path, rows: dict[str, Scenario]) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w')"
    strange: list[Call] = [
        (f"touch(file_name={code}) or touch", {}),
        (code.removesuffix(")").replace("(", "", 1), {}),
        ("touch", {f"file_name={code}, x": 1}),
        ("touch", {"file_name": f"' + str({code}) + '"}),
    ]
    for call in strange:
        await judge(tmp_path)(episode(rows["base"], [call], [B]), rows["base"])
    assert not mark.exists()
    assert [call_text(ToolCall(id="1", name=name, arguments=given), rows["base"].tools) for name, given in strange[:3]] == [REFUSED_CALL] * 3


@walled
async def test_right_calls_pass_and_a_missing_turn_with_invented_calls_passes_as_well(bfcl_v4: Path) -> None:
    if find_spec("mpmath") is None and not (bfcl_v4 / "mpmath").is_dir():
        pytest.skip("mpmath is not installed (scripts/bfcl.sh)")
    asked = judge(bfcl_v4)
    rows = [one for one in load_bfcl(bfcl_v4, MULTI_TURN).scenarios if one.id.endswith("_7")]
    assert len(rows) == 4
    for row in rows:
        gold = [[(call.name, dict(call.arguments)) for call in turn.gold_calls] for turn in row.turns]
        invented = [calls or [(f"no_such_function_{number}", {}) for number in range(3)] for calls in gold]
        assert [(await asked(episode(row, *calls), row)).value for calls in (gold, invented)] == [True, True]
        assert (await asked(episode(row, *gold[:-1], []), row)).label == "empty_turn_model_response"
