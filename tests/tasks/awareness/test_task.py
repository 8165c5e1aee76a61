"""What task `awareness` loads, asks and refuses; and its controls, whose true values are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from talm_sim.agent.prompts import load_prompts
from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import Request, find_task
from talm_sim.tasks.awareness.feedback import CONDITIONS
from talm_sim.tasks.awareness.protocols import load_wording
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.shared import Shared
from talm_sim.types import ModelTurn, Scenario
from tests.tables import labelled
from tests.tasks.awareness.crafted import family, turn, write
from tests.tasks.views import job

TASK = find_task("awareness")
PROTOCOLS = ("zero-shot", "few-shot", "cot", "explanation", "implicit", "implicit-native", "completion", "feedback")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "mine.jsonl", [one for number in range(6) for one in family(number)])


def load(data: Path, **options: Any) -> list[Scenario]:
    return TASK.load(job("awareness", scenarios=data, **options))


def asked(data: Path, scenario: Scenario, turns: Sequence[ModelTurn] = (), **options: Any) -> Request | None:
    task: Any = TASK
    made = job("awareness", scenarios=data, **options)
    request: Request | None = task.then(scenario, made, turns) if turns else task.request(scenario, made)
    return request


def first(data: Path, scenario: Scenario, **options: Any) -> Request:
    request = asked(data, scenario, **options)
    assert request is not None
    return request


# --- instances -------------------------------------------------------------------------------------------------------------------------------


def test_a_limit_is_of_manipulated_ones_which_bring_their_originals(data: Path) -> None:
    assert [one.id for one in load(data, split="replaced", limit="2-3")] == ["trip-01", "trip-02", "trip-01.replaced", "trip-02.replaced"]
    ids = [one.id for one in load(data, limit=1)]
    assert ids == ["trip-00", "trip-00.replaced", "trip-00.removed"], "an original of two is there once"
    assert [one.id for one in load(data, split="complete", limit=2)] == ["trip-00", "trip-01"]
    assert len(load(data)) == 18


@labelled
def test_a_wrong_line_is_named_with_its_fix(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=message) as err:
        load(file)
    assert "\n" not in str(err.value)


# --- protocols -------------------------------------------------------------------------------------------------------------------------------


def test_the_question_holds_conversation_and_tools_to_the_letter(data: Path) -> None:
    removed = family(1)[2]
    request = first(data, removed)
    system, question = request.messages
    assert isinstance(system, SystemMessage) and isinstance(question, HumanMessage)
    assert 'API request: list_sights({"near": "here"})\nAPI result: ["a tower", "a bridge"]\nAI: There are' in question.text
    assert "User: Book me a room for 2025-05-01." in question.text
    assert all(one in question.text for one in removed.shown_tools)
    assert (request.choices, request.alternatives, request.tools) == (("Yes", "No"), 20, ())
    assert not {"complete", "removed", "missing", "Town1"} & set(question.text.replace('"', " ").split()), "nothing gives the answer away"


@pytest.mark.parametrize(("protocol", "alternatives"), [("few-shot", 20), ("completion", 20), ("cot", 0), ("explanation", 0)])
def test_first_tokens_are_asked_for_where_the_answer_begins_with_its_label(data: Path, protocol: str, alternatives: int) -> None:
    (scenario, *_) = load(data, protocol=protocol, split="replaced")
    request = first(data, scenario, protocol=protocol)
    assert request.alternatives == alternatives
    scored = first(data, scenario, protocol=protocol, probability="scores")
    words = {"completion": (" Yes", " No"), "few-shot": ("Yes", "No")}.get(protocol, ())
    assert (scored.alternatives, scored.scored) == (0, words)


@pytest.mark.parametrize("protocol", ["zero-shot", "cot", "explanation"])
def test_an_unreadable_answer_is_asked_for_once_more_in_the_same_conversation(data: Path, protocol: str) -> None:
    scenario = family(1)[0]
    before = first(data, scenario, protocol=protocol)
    again = asked(data, scenario, [turn("Which city?")], protocol=protocol)
    assert again is not None
    *same, answer, question = again.messages
    assert same == before.messages and answer == AIMessage("Which city?") and isinstance(question, HumanMessage)
    assert (again.choices, again.added) == (("Yes", "No"), question.text)
    assert asked(data, scenario, [turn("Hm."), turn("Hm.")], protocol=protocol) is None
    assert asked(data, scenario, [turn("No.")], protocol=protocol) is None


def test_implicit_asks_for_a_call_in_brackets_and_offers_no_tools(data: Path) -> None:
    scenario = family(1)[0]
    request = first(data, scenario, protocol="implicit")
    system, question = request.messages
    assert isinstance(system, SystemMessage) and isinstance(question, HumanMessage)
    assert "[ApiName(key1='value1', key2='value2')]" in system.text and 'begin with "[" and end with "]"' in system.text
    assert "User: Book me a room in Town1" in question.text and all(one in question.text for one in scenario.shown_tools)
    assert (request.tools, request.choices, request.alternatives) == ((), (), 0)
    apart = asked(data, scenario, [turn("[F(a='b')]")], protocol="implicit")
    assert apart is not None and list(apart.messages) == list(first(data, scenario).messages) and apart.alternatives == 20


def test_implicit_native_goes_on_with_the_conversation_then_asks_apart(data: Path) -> None:
    scenario = family(1)[0]
    request = first(data, scenario, protocol="implicit-native")
    kinds = [type(message) for message in request.messages]
    assert kinds == [SystemMessage, HumanMessage, AIMessage, ToolMessage, AIMessage, HumanMessage]
    assert [one.name for one in request.tools] == ["list_sights", "book_hotel"] and request.choices == ()
    apart = asked(data, scenario, [turn("", calls=True)], protocol="implicit-native")
    assert apart is not None and list(apart.messages) == list(first(data, scenario).messages) and apart.alternatives == 20
    assert asked(data, scenario, [turn("", calls=True), turn("No.")], protocol="implicit-native") is None
    again = asked(data, scenario, [turn("", calls=True), turn("Hm.")], protocol="implicit-native")
    assert again is not None and len(again.messages) == 4


def test_four_examples_of_other_originals_two_of_each_kind(data: Path) -> None:
    scenarios = load(data, protocol="few-shot", seed=3)
    for scenario in scenarios:
        shown, plain = scenario.turns[0].messages, scenario.turns[1:]
        ids = [str(one["from"]) for one in shown if "from" in one]
        assert len({name.partition(".")[0] for name in (*ids, scenario.id)}) == 5, "no original twice, nor its own"
        assert sorted(one["content"] for one in shown if one["role"] == "assistant") == ["No", "No", "Yes", "Yes"]
        assert plain == next(one.turns for one in family(int(scenario.base[-2:])) if one.group == scenario.group)
        request = first(data, scenario, protocol="few-shot")
        assert [type(one).__name__ for one in request.messages] == ["SystemMessage", *["HumanMessage", "AIMessage"] * 4, "HumanMessage"]
        assert "part" not in str(request.messages[-1].text)
    assert load(data, protocol="few-shot", seed=3) == scenarios != load(data, protocol="few-shot", seed=4)
    (one, *_) = load(data, protocol="few-shot", seed=3, limit=1)
    assert one in scenarios, "a limit changes no examples"


@pytest.mark.parametrize("split", ["all", "replaced", "removed"])
def test_examples_are_of_the_data_set_and_the_manipulation_under_test(tmp_path: Path, split: str) -> None:
    sources = {number: ("one", "two")[number % 2] for number in range(16)}
    file = write(tmp_path / "two.jsonl", [one for number, source in sources.items() for one in family(number, source)])
    scenarios = load(file, protocol="few-shot", split=split)
    manipulations = ("replaced", "removed") if split == "all" else (split,)
    assert len(scenarios) == 2 * 16 * len(manipulations), "each original once per manipulation"
    for scenario in scenarios:
        ids = [str(one["from"]) for one in scenario.turns[0].messages if "from" in one]
        assert {sources[int(name[5:7])] for name in ids} == {scenario.source.name}
        changed = [name.partition(".")[2] for name in ids if "." in name]
        under_test = next(name for name in manipulations if scenario.id.endswith(name) or len(manipulations) == 1)
        assert changed == [under_test] * 2
        assert scenario.base == scenario.id[:7]


def test_too_few_examples_are_said(tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl", [*family(1), *family(2)])
    with pytest.raises(
        PrerequisiteError,
        match="needs 2 originals and 2 replaced instances of other originals of data set 'crafted' as examples, and the data has 1;",
    ):
        load(file, protocol="few-shot")


def test_feedback_has_three_conditions_of_each_pair_and_the_failed_call_is_one(data: Path) -> None:
    scenarios = load(data, protocol="feedback", limit=2)
    assert [one.group for one in scenarios] == [name for name in CONDITIONS for _ in range(2)]
    of = {one.group: one for one in scenarios if one.base == scenarios[0].base}
    texts = {name: first(data, one, protocol="feedback").messages[-1].text for name, one in of.items()}
    calls = {name: text.partition("[Start of your call]")[2].partition("[End of your call]")[0].strip() for name, text in texts.items()}
    assert calls["removed-failed"] == calls["complete-failed"]
    assert (
        calls["removed-failed"] == 'API request: book_hotel({"night": "2025-05-01"})\nAPI result: {"error": "missing required argument: city"}'
    )
    town = f"Town{int(scenarios[0].base[-2:])}"
    assert f'"city": "{town}"' in calls["removed-invented"] and '"status": "success"' in calls["removed-invented"]
    said = {name: text.partition("[Start of your call]")[0] for name, text in texts.items()}
    assert town in said["complete-failed"] and town not in said["removed-failed"] + said["removed-invented"]
    assert "it failed" in texts["removed-failed"] and "it failed" not in texts["removed-invented"]
    assert load(data, protocol="feedback", seed=1) != load(data, protocol="feedback", seed=2)


def test_each_protocol_is_a_recording_of_its_own() -> None:
    keys = {recording_key(job("awareness", model="openai/gpt-4o", protocol=one)) for one in PROTOCOLS}
    assert len(keys) == len(PROTOCOLS)


def test_answers_are_free_unless_a_constrained_form_is_asked_for() -> None:
    for given, settled in (("auto", "native"), ("native", "native"), ("constrained", "constrained")):
        made = job("awareness", model="openai-api/vllm/smollm2-135m", tool_format=given)
        assert TASK.settle(made, None).config.tool_format == settled  # type: ignore[arg-type]


# --- wording ---------------------------------------------------------------------------------------------------------------------------------


def test_a_users_file_replaces_what_it_names_and_serves_task_talm_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[awareness]\ntool = "Can you?"\n[awareness.zero-shot]\nsystem = "Be brief."\n[agent]\nsystem = "Act."\n', encoding="utf-8")
    ours, theirs = load_wording(), load_wording(file)
    assert theirs["zero-shot"]["system"] == "Be brief." and theirs["cot"] == ours["cot"]
    talms = load_prompts(file, "talm", lambda: ["talm", "awareness"])
    assert (talms.awareness_tool, talms.system) == ("Can you?", "Act.")


# --- controls --------------------------------------------------------------------------------------------------------------------------------


TRUE = {"oracle": (1.0, 1.0), "eager": (0.5, 0.0), "cautious": (0.5, 2 / 3), "asker": (0.5, 2 / 3)}
"""Accuracy and F1 of each control."""


@pytest.mark.parametrize(
    ("control", "protocol"),
    [
        *(("oracle", name) for name in PROTOCOLS),
        *((control, name) for name in ("zero-shot", "feedback") for control in ("eager", "cautious", "asker")),
    ],
)
def test_the_controls_have_their_true_values(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], protocol: str, control: str
) -> None:
    accuracy, f1 = TRUE[control]
    words = ["run", "--task", "awareness", "--protocol", protocol, "--model", f"sim/{control}", "--scenarios", str(data), "--display", "json"]
    assert main([*words, "--run-dir", str(tmp_path / "runs")]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    found = {one["group"]: one for one in json.loads(last)["groups"]}
    if protocol == "feedback":
        right = {"oracle": (1, 1, 1), "eager": (0, 0, 1)}.get(control, (1, 1, 0))
        assert [found[name]["accuracy"] for name in CONDITIONS] == [*right]
        return
    for name in ("replaced", "removed"):
        assert (found[name]["accuracy"], found[name]["f1"]) == (accuracy, pytest.approx(f1))
        assert found[name]["unreadable"] == 0


async def test_a_chat_model_takes_no_text(data: Path) -> None:
    class Chat:
        name = "test/chat"

        async def generate(self, messages: Sequence[BaseMessage], tools: Any, settings: Any) -> ModelTurn:
            raise AssertionError

        async def aclose(self) -> None: ...

    class Holds(Shared):
        async def model(self, *_: Any) -> Any:
            return Chat()

    for options, message in (({"protocol": "completion"}, "cannot continue a text"), ({"probability": "scores"}, "cannot score given answers")):
        async with Holds() as shared, TASK.open(job("awareness", model="openai/gpt-4o", **options), shared) as opened:
            with pytest.raises(PrerequisiteError, match=f"model 'test/chat': {message}"):
                opened.check(family(1))
