from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.language.about_missing import user_knowledge
from talm_sim.scenarios.load import load_scenarios, read_scenario, select
from talm_sim.tasks import find_task
from talm_sim.types import Scenario

read = partial(load_scenarios, task="talm", data=find_task("talm").data)


def _line(ident: str, group: str = "perfect", **fields: Any) -> str:
    query = fields.pop("query", "How?")
    return json.dumps(
        {"id": ident, "group": group, "turns": [{"messages": [{"role": "user", "content": query}]}], **fields}, ensure_ascii=False
    )


def _file(directory: Path, *lines: str) -> Path:
    file = directory / "mine.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_at_least_sixty_scenarios_of_each_group_are_packaged() -> None:
    counts = {group: len(read([group])) for group in ("perfect", "underspecified", "no-tools", "replaceable", "non-replaceable")}
    of_both = counts.pop("replaceable"), counts.pop("non-replaceable")
    assert min(*counts.values(), sum(of_both)) >= 60 and min(of_both) >= 0.4 * sum(of_both)


def test_packaged_files_are_read_once_and_again_when_they_change(tmp_path: Path) -> None:
    file = tmp_path / "perfect.jsonl"
    seen: list[str] = []

    def read_line(line: Any, where: str, task: str) -> Scenario:
        seen.append(line["id"])
        return read_scenario(line, where, task)

    def ids() -> list[str]:
        return [one.id for one in load_scenarios(["perfect"], task="talm", data=tmp_path, read=read_line)]

    file.write_text(_line("a"), encoding="utf-8")
    assert (ids(), ids(), seen) == (["a"], ["a"], ["a"])
    file.write_text(f"{_line('a')}\n{_line('b')}", encoding="utf-8")
    assert (ids(), seen) == (["a", "b"], ["a", "a", "b"])
    file.write_text("no JSON", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(PrerequisiteError, match=r"perfect\.jsonl:1: "):
            ids()


def test_groups_come_in_the_order_asked_for_and_limits_hold_for_each(tmp_path: Path) -> None:
    file = _file(tmp_path, _line("a"), _line("b", "no-tools"), "", _line("c"), _line("d"), _line("e", "no-tools"))
    assert [one.id for one in read(["no-tools", "perfect"], file)] == ["b", "e", "a", "c", "d"]
    assert [one.id for one in read(["perfect", "no-tools"], file, "1")] == ["a", "b"]
    assert [one.id for one in read(["perfect", "no-tools"], file, "2-3")] == ["c", "d", "e"]


def test_line_separators_inside_a_string_do_not_break_a_line(tmp_path: Path) -> None:
    (scenario,) = read(["perfect"], _file(tmp_path, _line("a", query="one\u2028two\u0085three")))
    assert scenario.query == "one\u2028two\u0085three"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "b",', r"mine\.jsonl:3: not JSON \(.*\)"),
        ("[]", r"mine\.jsonl:3: is not a JSON object"),
        (json.dumps({"id": "b", "group": "perfect"}), r"mine\.jsonl:3: turns: is missing"),
        (_line("b", colour="red"), r"mine\.jsonl:3: colour: there is no such key"),
        (_line("b", target={"type": []}), r"mine\.jsonl:3: target: needs a `type`"),
        (_line("b", target={"value": "x"}), r"mine\.jsonl:3: target: needs a `type`"),
        (
            _line("b", target={"type": "facts"}),
            r"mine\.jsonl:3: target\.facts\.required: is missing; correct this field: see talm-sim scenarios show --format",
        ),
        (
            _line("b", target={"type": "facts", "required": [{"name": "n", "value": 1, "complete": "yes"}]}),
            r"mine\.jsonl:3: target\.facts\.required\.0\.complete: ",
        ),
        (
            _line("b", target={"type": "facts", "required": [{"name": "n", "value": 1, "asks": [" "]}]}),
            r"mine\.jsonl:3: target\.facts\.required\.0\.asks: must not contain an empty text",
        ),
        (
            _line("b", target={"type": "facts", "required": [{"name": "n", "value": "Hanoi", "unit": "km"}]}),
            r"mine\.jsonl:3: target\.facts\.required\.0: `unit` is for numbers, and the value is 'Hanoi'",
        ),
        (_line("a"), r"mine\.jsonl:3: id 'a' is also used on line 1; ids must be unique\."),
        (_line(""), r"mine\.jsonl:3: id: must not be empty; correct this field"),
        (_line(" \n"), r"mine\.jsonl:3: id: must not be empty; correct this field"),
        (
            _line("b", turns=[{"messages": [{"role": "user"}]}]),
            r"mine\.jsonl:3: turns\.0\.messages: message 0 has no `content`; correct this field",
        ),
        (
            _line("b", turns=[{"messages": [{"role": "user", "content": "a"}, {"content": "b"}]}]),
            r"mine\.jsonl:3: turns\.0\.messages: message 1 has no `role`; correct this field",
        ),
    ],
)
def test_a_broken_line_is_named_even_in_another_group(tmp_path: Path, line: str, message: str) -> None:
    file = _file(tmp_path, _line("a"), _line("x", "no-tools"), line)
    with pytest.raises(PrerequisiteError, match=message) as caught:
        read(["no-tools"], file)
    assert "\n" not in str(caught.value)


def test_a_number_that_json_does_not_have_is_named(tmp_path: Path) -> None:
    file = _file(tmp_path, _line("a"), _line("b").replace('"How?"', "NaN"))
    with pytest.raises(PrerequisiteError, match=r"mine\.jsonl:2: not JSON \(NaN is not a JSON number\)"):
        read(["perfect"], file)


def test_a_group_that_no_split_would_run_is_refused(tmp_path: Path) -> None:
    file = _file(tmp_path, _line("a"), _line("b", "perfekt"))
    with pytest.raises(PrerequisiteError, match=r"mine\.jsonl:2: group: there is no 'perfekt'\. Did you mean 'perfect'\?"):
        find_task("talm").read(("perfect",), file)


def test_a_target_of_another_type_is_kept_as_it_stands(tmp_path: Path) -> None:
    """Its task reads it."""
    target = {"type": "yes-no", "gold": True, "why": {"tools": ["a"]}}
    (scenario,) = read(["perfect"], _file(tmp_path, _line("a", target=target)))
    assert scenario.target == target
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario


def test_chosen_are_groups_in_their_order_and_each_within_the_limit(tmp_path: Path) -> None:
    found = read(["perfect", "no-tools"], _file(tmp_path, _line("a"), _line("b", "no-tools"), _line("c")))
    assert [one.id for one in select(found, ("no-tools", "perfect"), "1")] == ["b", "a"]
    with pytest.raises(PrerequisiteError, match=r"^the packaged scenarios contain no scenario of group x within limit 1; choose another"):
        select(found, ("x",), "1")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"none\.jsonl: cannot be read: No such file"):
        read(["perfect"], tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9")
    with pytest.raises(PrerequisiteError, match=r"latin\.jsonl:1: is not UTF-8 text"):
        read(["perfect"], tmp_path / "latin.jsonl")


def test_nothing_left_to_run_is_an_error(tmp_path: Path) -> None:
    file = _file(tmp_path, _line("a"))
    with pytest.raises(PrerequisiteError, match="no scenario of group no-tools"):
        read(["no-tools"], file)
    with pytest.raises(PrerequisiteError, match="no scenario of group perfect within limit 2-3"):
        read(["perfect"], file, "2-3")


def test_a_group_that_is_not_packaged_is_said_without_a_path() -> None:
    with pytest.raises(
        PrerequisiteError, match=r"^the packaged scenarios of task when2call contain no scenario of group direct; choose another --split"
    ):
        find_task("when2call").read(("direct",))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["", "user", "facts", "choice", "argument", "mask"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(["role", "type", "name"]), inner, max_size=3),
    max_leaves=8,
)
DATA = files("talm_sim.tasks.talm") / "scenarios"
VALID: dict[str, Any] = json.loads((DATA / "underspecified.jsonl").read_text(encoding="utf-8").partition("\n")[0])


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Ways to every value within a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*above, key)
        yield from _places(one, (*above, key))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.sampled_from(sorted(_places(VALID), key=str)), value=ANY_JSON, how=st.sampled_from(["put", "drop", "add"]))
def test_whatever_stands_in_a_line_it_is_read_or_named(tmp_path: Path, place: tuple[Any, ...], value: Any, how: str) -> None:
    line = copy.deepcopy(VALID)
    holder: Any = line
    for key in place[:-1]:
        holder = holder[key]
    if how == "put" or isinstance(holder, list):
        holder[place[-1]] = value
    elif how == "drop":
        del holder[place[-1]]
    else:
        holder[str(value)[:40]] = value
    try:
        (scenario,) = read([str(line.get("group"))], _file(tmp_path, json.dumps(line)))
    except PrerequisiteError as err:
        assert len(str(err).splitlines()) == 1 and "mine.jsonl" in str(err), str(err)
        return
    assert (scenario.query, scenario.base, scenario.gold_calls, user_knowledge(scenario)) is not None
    assert Scenario.model_validate_json(scenario.model_dump_json()).id == scenario.id


def test_lines_that_begin_with_two_slashes_are_comments(tmp_path: Path) -> None:
    line = (files("talm_sim.tasks.talm") / "scenarios" / "perfect.jsonl").read_text(encoding="utf-8").split("\n")[0]
    file = tmp_path / "mine.jsonl"
    file.write_text(f"// mine: {{\n\n{line}\n  // more\n", encoding="utf-8")
    assert [one.id for one in read(["perfect"], file)] == [json.loads(line)["id"]]
    file.write_text("// one\n# two\n", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"mine\.jsonl:2: not JSON"):
        read(["perfect"], file)
    file.write_text("// nothing else\n", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match="is empty; write one scenario per line"):
        read(["perfect"], file)
