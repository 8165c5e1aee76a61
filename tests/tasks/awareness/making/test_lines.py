"""Files of scenario lines, and the package's own scenarios."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import find_task
from talm_sim.tasks.awareness.making.lines import load_lines
from talm_sim.tasks.awareness.making.packaged import from_talm
from talm_sim.tools_env.service.described import built_in_tools
from tests.tasks.awareness.making.made import asked

GOOD = asked("What was SQ on 1 March?", stock_code="SQ", date="2022-03-01")


def line(**change: object) -> str:
    return json.dumps(json.loads(GOOD.model_dump_json()) | change)


def test_scenarios_come_back_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(f"{GOOD.model_dump_json()}\n\n{line(id='two')}\n", encoding="utf-8")
    loaded = load_lines(file)
    assert (loaded.scenarios[0], loaded.problems) == (GOOD, ())


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ("{", "not JSON (Expecting property name enclosed in double quotes at column 2); write one scenario per line."),
        (line(target={"type": "servable", "gold": "yes", "relevant": []}), "target.servable.relevant: "),
        (
            line(target={"type": "servable", "gold": "yes", "relevant": ["Else"]}),
            "target.relevant: 'Else' is needed, but not among the tools shown; ",
        ),
        (line(shown_tools=["{"]), "shown_tools.0: is not JSON text (Expecting property name enclosed in double quotes at column 2); "),
        (line(shown_tools=["[]"]), "shown_tools.0: names no tool; "),
        (line(shown_tools=[GOOD.shown_tools[0]] * 2), "shown_tools.1: 'QueryStock' is listed twice; "),
        (
            line(turns=[{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi."}]}]),
            "turns: the conversation ends with the assistant; ",
        ),
        (line(turns=[{"messages": [{"role": "assistant", "content": "Hi."}]}]), "turns: contains no user message; "),
        (line(task="talm"), "task: is 'talm', not 'awareness'; "),
        (line(), "id 'mine.1' is used twice; ids must be unique."),
    ],
)
def test_a_broken_line_is_named_and_the_rest_goes_on(tmp_path: Path, broken: str, fault: str) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(f"{GOOD.model_dump_json()}\n{broken}\n{line(id='three')}", encoding="utf-8")
    loaded = load_lines(file)
    assert [scenario.id for scenario in loaded.scenarios] == ["mine.1", "three"]
    (problem,) = loaded.problems
    assert str(problem).startswith(f"{file}:2: {fault}")
    assert "\n" not in str(problem)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        load_lines(tmp_path / "none.jsonl")
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(PrerequisiteError, match="is not UTF-8"):
        load_lines(tmp_path / "latin")


def test_the_packages_own_scenarios_are_complete_ones() -> None:
    perfect = find_task("talm").read(["perfect"])
    loaded = from_talm([*perfect, *find_task("talm").read(["underspecified"])], built_in_tools().specs)
    assert (len(loaded.scenarios), loaded.problems) == (len(perfect), ())
    first = loaded.scenarios[0]
    assert (first.id, first.gold_calls, first.source.licence) == (f"{perfect[0].id}.complete", perfect[0].gold_calls, "Apache-2.0")
    assert [problem.fault for problem in from_talm(perfect[:1], {}).problems] == [
        f"tools: there is no specification of '{perfect[0].tools[0]}'; correct the name."
    ]


ANY = st.recursive(
    st.none() | st.integers(0, 3) | st.text("a{", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "name", "messages"]), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["id", "task", "turns", "shown_tools", "target", "missing", "source", "else"]), ANY, max_size=3))
def test_whatever_stands_in_a_line_gives_a_scenario_or_a_named_problem(
    tmp_path_factory: pytest.TempPathFactory, change: dict[str, object]
) -> None:
    file = tmp_path_factory.mktemp("lines") / "mine.jsonl"
    file.write_text(line(**change), encoding="utf-8")
    loaded = load_lines(file)
    assert len(loaded.scenarios) + len(loaded.problems) == 1
    assert all(str(problem).startswith(f"{file}:1: ") and "\n" not in str(problem) for problem in loaded.problems)
