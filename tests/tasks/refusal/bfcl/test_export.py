"""`export bfcl`: the files are where BFCL's evaluator looks, and it decides on every row as our judge with its checker does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.open_job import Exported
from talm_sim.tasks.refusal.bfcl import SINGLE_TURN as ALL, load_bfcl
from talm_sim.tasks.refusal.bfcl.export import export_bfcl
from talm_sim.tasks.refusal.call_checks.calls_judge import tools_of
from talm_sim.tasks.refusal.call_checks.official import load_official
from talm_sim.types import Calls, Episode, ModelTurn, Scenario, Source, Termination, ToolCall, Turn, Usage
from tests.tasks.refusal.call_checks.made_outputs import BfclRow, outputs_of
from tests.tasks.refusal.crafted import answered, calls, case
from tests.tasks.views import View, job

EVALUATE = Path(__file__).with_name("evaluate.py")
MODELS = {True: "hf/google/gemma-3-1b-it", False: "openai/gpt-4o-2024-11-20"}
FOLDERS = {True: "google_gemma-3-1b-it", False: "gpt-4o-2024-11-20-FC"}
REFUSED = ("", "I cannot do that.", "]] }} ~", "[", "[f(a=1", "[f(a=1)]", "f(a=1)", "[f(a)]", '{"name": "f"', "<think>[f(a=1)]</think>No.")
OF_ROWS = {"v4": 12, "v3": 2_000}
"""Rows of each category; v3 takes whole categories only."""
SUBSETS = {"v4": tuple(ALL), "v3": ("simple_java", "simple_javascript", "live_parallel", "live_relevance")}


def lines(made: Exported, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made.files[file].splitlines()]


def view(items: Sequence[Scenario], episodes: Sequence[Episode] | None = None, **options: Any) -> View:
    kept = [answered(one, "[world.clock(city='Hue')]") for one in items] if episodes is None else episodes
    return View(job("refusal", **options), kept, items)


def test_files_are_where_the_evaluator_looks_for_them() -> None:
    items = [case("live_irrelevance_0-0-0", "live_irrelevance"), case("simple_java_1", "simple_java", calls(city="Hue"))]
    made = export_bfcl(view(items, template="pythonic", model="hf/google/gemma-3-1b-it"))
    live, java = (
        "google_gemma-3-1b-it/live/BFCL_v4_live_irrelevance_result.json",
        "google_gemma-3-1b-it/non_live/BFCL_v4_simple_java_result.json",
    )
    assert list(made.files) == [live, java]
    assert lines(made, live) == [
        {"id": "live_irrelevance_0-0-0", "result": "[world.clock(city='Hue')]", "input_token_count": 0, "output_token_count": 0}
    ]
    assert made.notes[1] == "some categories have fewer rows than BFCL v4: add --partial-eval"


def test_v3_has_other_names_and_an_id_twice() -> None:
    items = [
        one.model_copy(update={"source": Source(name="BFCL v3")})
        for one in (case("java_1", "simple_java", calls(city="Hue")), case("live_relevance_3-3-0_2", "live_relevance", Calls(expected="any")))
    ]
    made = export_bfcl(view(items, template="pythonic", model="hf/a/b"))
    assert list(made.files) == ["a_b/BFCL_v3_java_result.json", "a_b/BFCL_v3_live_relevance_result.json"]
    assert lines(made, "a_b/BFCL_v3_live_relevance_result.json")[0]["id"] == "live_relevance_3-3-0"


def test_a_translation_has_a_folder_per_language_and_bfcls_ids() -> None:
    items = [
        case(f"irrelevance_1_{language}", language=language).model_copy(update={"source": Source(name="rows.jsonl")})
        for language in ("vi", "th")
    ]
    made = export_bfcl(view(items, bfcl_version="v3", model="vllm//models/mine"))
    assert list(made.files) == [f"{language}/mine-FC/BFCL_v3_irrelevance_result.json" for language in ("vi", "th")]
    assert lines(made, "vi/mine-FC/BFCL_v3_irrelevance_result.json")[0]["id"] == "irrelevance_1"


def test_calls_are_written_as_native_ones_and_thoughts_are_left_out() -> None:
    items = [case(f"irrelevance_{number}") for number in range(3)]
    turns = (
        ModelTurn(raw_text='<think>hm</think><tool_call>{"name": "world.clock", "arguments": {"city": "Huế"}}</tool_call>'),
        ModelTurn(tool_calls=(ToolCall(id="1", name="world.clock", arguments={"city": 1}),), usage=Usage(uncounted=1)),
        ModelTurn(raw_text="<think>hm</think>I cannot."),
    )
    episodes = [answered(one).model_copy(update={"model_turns": (turn,)}) for one, turn in zip(items, turns, strict=True)]
    found = lines(export_bfcl(view(items, episodes, template="injected", model="openai/m")), "m-FC/non_live/BFCL_v4_irrelevance_result.json")
    assert [json.loads(found[0]["result"][0]["world_clock"]), found[1]["result"]] == [{"city": "Huế"}, [{"world_clock": '{"city": 1}'}]]
    assert found[2]["result"].strip() == "I cannot."
    assert "input_token_count" in found[0] and "input_token_count" not in found[1]


def test_what_is_no_answer_to_a_row_is_left_out_and_counted() -> None:
    items = [case("irrelevance_1"), case("irrelevance_2"), case("own", "removed")]
    episodes = [answered(items[0]), answered(items[1], end=Termination.INFRASTRUCTURE_ERROR), answered(items[2])]
    made = export_bfcl(view(items, episodes, model="hf/m"))
    assert [line["id"] for line in lines(made, "m-FC/non_live/BFCL_v4_irrelevance_result.json")] == ["irrelevance_1"]
    assert "2 episodes left out: ended in an error, or no row of BFCL" in made.notes
    with pytest.raises(PrerequisiteError, match="no finished answer to a row of BFCL; run one with --subset or --bfcl"):
        export_bfcl(view(items, episodes[1:], model="hf/m"))


def test_a_multi_turn_row_has_its_steps_by_turn_and_one_that_was_ended_has_fewer_turns() -> None:
    said = Turn(messages=({"role": "user", "content": "Go on."},))
    item = case("multi_turn_base_0", "multi_turn_base")
    item = item.model_copy(update={"turns": (said,) * 2, "target": {"type": "bfcl_turns", "gold": [[], []]}, "shown_tools": ()})
    called = ModelTurn(raw_text="[ls()]", tool_calls=(ToolCall(id="1", name="ls", arguments={"all": True}),), user_turn=0)
    turns = (called, ModelTurn(raw_text="Done.", user_turn=0), ModelTurn(raw_text="<think>x</think>No.", user_turn=1))
    found = {}
    for template, end in (("chat", Termination.ANSWERED), ("pythonic", Termination.ANSWERED), ("chat", Termination.TURN_LIMIT)):
        episode = answered(item).model_copy(update={"model_turns": turns, "termination": end})
        made = export_bfcl(view([item], [episode], template=template, model="hf/m"))
        ((file, _),) = made.files.items()
        found[template, end] = lines(made, file)[0]
        assert file.endswith("/multi_turn/BFCL_v4_multi_turn_base_result.json")
    native = [[[{"ls": '{"all": true}'}], "Done."], ["No."]]
    assert found["chat", Termination.ANSWERED] == {"id": "multi_turn_base_0", "result": native}
    assert found["pythonic", Termination.ANSWERED]["result"] == [["[ls()]", "Done."], ["No."]]
    assert found["chat", Termination.TURN_LIMIT]["result"] == native[:1]


@pytest.fixture(params=["v4", "v3"])
def published(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A version of BFCL, and the folder it was installed into."""
    try:
        load_official()
    except PrerequisiteError as err:
        pytest.skip(str(err))
    for name in ("dotenv", "overrides"):
        pytest.importorskip(name, reason="scripts/bfcl.sh installs what the evaluator imports")
    return request.param, request.getfixturevalue(f"bfcl_{request.param}")


@pytest.mark.parametrize("pythonic", [True, False])
def test_the_evaluator_decides_as_our_judge_with_its_checker(pythonic: bool, published: tuple[str, Path], tmp_path: Path) -> None:
    version, folder = published
    loaded = load_bfcl(folder, SUBSETS[version]).scenarios
    items = [one for name in SUBSETS[version] for one in [one for one in loaded if one.group == name][: OF_ROWS[version]]]
    episodes = [answer(one, number, pythonic=pythonic) for number, one in enumerate(items)]
    made = export_bfcl(view(items, episodes, model=MODELS[pythonic], template="pythonic" if pythonic else "chat"))
    for name, text in made.files.items():
        assert isinstance(text, str)
        file = tmp_path / "result" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, str(EVALUATE), str(tmp_path / "result"), str(tmp_path / "score"), version],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    theirs = dict(decisions(tmp_path / "score" / FOLDERS[pythonic], tmp_path / "result" / FOLDERS[pythonic]))
    official = load_official()
    ours: dict[str, list[bool | None]] = {}
    for item, episode in zip(items, episodes, strict=True):
        assert isinstance(item.target, Calls)
        value, _, _ = official.judge(episode, item.target, tools_of(item), pythonic=pythonic)
        ours.setdefault(item.id.removesuffix("_2") if item.id == "live_relevance_3-3-0_2" else item.id, []).append(value)
    different = {name: (said, theirs[name]) for name, said in ours.items() if sorted(map(bool, said)) != sorted(theirs[name])}
    # handlers for native calls take `a_b` for the function `a.b`
    underscored = {item.id for item, episode in zip(items, episodes, strict=True) if writes_underscores(item, episode)}
    assert {name for name in different if different[name] == ([False], [True])} == underscored == different.keys()
    assert bool(underscored) != pythonic
    assert len(theirs) == len(ours) and {True, False} == {one for said in theirs.values() for one in said}


def writes_underscores(scenario: Scenario, episode: Episode) -> bool:
    """Whether the answer is right but for a name with underscores where the function's has dots."""
    assert isinstance(scenario.target, Calls)
    names = sorted(one.name for one in scenario.target.accepted)
    made = sorted(call.name for turn in episode.model_turns for call in turn.tool_calls)
    return made != names and sorted(name.replace(".", "_") for name in made) == sorted(name.replace(".", "_") for name in names)


def answer(scenario: Scenario, number: int, *, pythonic: bool) -> Episode:
    """One of the ways to answer a row, right or wrong, another one for each row."""
    assert isinstance(scenario.target, Calls)
    if scenario.target.expected != "calls":
        return answered(scenario, REFUSED[number % len(REFUSED)])
    truth = [{one.name: {name: [*values] for name, values in one.arguments.items()}} for one in scenario.target.accepted]
    ways = list(outputs_of(BfclRow(scenario.id, scenario.group, tools_of(scenario), truth), 7))
    chosen = ways[number % len(ways)] if number % 3 else ways[0]
    if pythonic:
        return answered(scenario, chosen.text)
    made = tuple(ToolCall(id=str(place), name=name, arguments=arguments) for place, (name, arguments) in enumerate(chosen.calls))
    return answered(scenario).model_copy(update={"model_turns": (ModelTurn(tool_calls=made),)})


def decisions(scores: Path, results: Path) -> Iterator[tuple[str, list[bool]]]:
    """What the evaluator decided on each row: it lists the wrong ones."""
    found: dict[str, list[bool]] = {}
    for file in results.rglob("*_result.json"):
        (score,) = scores.rglob(file.name.replace("_result", "_score"))
        head, *wrong = map(json.loads, score.read_text(encoding="utf-8").splitlines())
        ids = [json.loads(line)["id"] for line in file.read_text(encoding="utf-8").splitlines()]
        assert (head["total_count"], head["correct_count"]) == (len(ids), len(ids) - len(wrong))
        failed = [one["id"] for one in wrong]
        for name in dict.fromkeys(ids):
            found[name] = [False] * failed.count(name) + [True] * (ids.count(name) - failed.count(name))
    yield from found.items()
