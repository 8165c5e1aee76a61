"""Tasks `refusal` and `when2call` with a model that thinks first: how it is asked, what is refused, and what is measured."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from talm_sim import run
from talm_sim.cli import main
from talm_sim.cli.report.comparison import comparison_lines
from talm_sim.common.digests import derive_seed
from talm_sim.comparison.compare import Comparison, Difference
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.stats import score_interval
from talm_sim.models.base import GenerationSettings
from talm_sim.reasoning import Decision, draw_form, find_form
from talm_sim.scenarios.item_tools import tool_name
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import find_task
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.open_job import Recorded
from talm_sim.tasks.reasoning import ask_for_thought, reasoning_values, thought_text
from talm_sim.tasks.refusal.prompts import asking
from talm_sim.tasks.refusal.tool_wording import load_wording
from talm_sim.tasks.when2call.scores import DECISIONS
from talm_sim.types import Calls, Choice, Episode, Measure, ModelTurn, Scenario, Usage
from tests.tasks.refusal.crafted import answered, case
from tests.tasks.views import job

KINDS = ("none", "free", "form", "random")


class Completing:
    """A text model that notes its prompts and answers with a given text."""

    name, chat_template = "test/text", "{{ tools }}{{ messages }}"

    def __init__(self, answer: str) -> None:
        self.answer, self.prompts = answer, list[str]()

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        self.prompts.append(prompt)
        return ModelTurn(raw_text=self.answer, text=self.answer.strip())

    async def score(self, prompt: str, options: Any) -> Any:
        return [prompt, *options]

    def render_chat(self, messages: Any, tools: Any) -> str:
        return "\n".join(f"{one['role']}: {one['content']}" for one in messages) + "\nassistant:\n"


class Chatting:
    """A model that takes messages alone."""

    name = "test/chat"

    async def generate(self, messages: Any, tools: Any, settings: Any) -> ModelTurn:
        return ModelTurn()


async def ask(kind: str, answer: str, scenario: Scenario, seed: int = 5) -> tuple[str, ModelTurn]:
    """The prompt of a scenario and the turn that an answer to it becomes."""
    model = Completing(answer)
    given: Any = model
    wanted = ask_for_thought(asking(given, "chat", load_wording()), job("refusal", reasoning=kind), given)
    turn = await wanted.ask(given, scenario, GenerationSettings(seed=seed), ())
    assert turn is not None
    return model.prompts[0], turn


# --- how the model is asked -----------------------------------------------------------------------------------------------------------------


async def test_without_reasoning_prompts_and_recordings_are_as_they_were() -> None:
    prompt, turn = await ask("none", "task_summary: a\ndecision: call\n\nNo.", case("a"))
    assert prompt == "user: What time is it in Hue?\nassistant:\n"
    assert turn.answered is None and "answered" not in turn.model_dump()
    for task, more in (("refusal", {}), ("when2call", {"mode": "judge"})):
        assert "reasoning" not in find_task(task).key(job(task, **more))
        keys = {recording_key(job(task, reasoning=kind, **more)) for kind in KINDS}
        assert len(keys) == len(KINDS)


@pytest.mark.parametrize("kind", ["free", "form"])
async def test_what_asks_for_thought_follows_the_request(kind: str) -> None:
    prompt, turn = await ask(kind, "task_summary: a\ndecision: call\n\nNo.", case("a"))
    assert prompt == f"user: What time is it in Hue?\n\n{thought_text(job('refusal', reasoning=kind))}\nassistant:\n"
    assert (turn.answered == "No.") == (kind == "form")


async def test_a_drawn_form_is_begun_and_becomes_part_of_the_thought() -> None:
    scenario = case("a")
    prompt, turn = await ask("random", " it is so\n\nNo.", scenario)
    drawn = draw_form(Random(derive_seed(5, "reasoning form")), scenario.query, [tool_name(tool) for tool in scenario.shown_tools])
    assert prompt.endswith("\nwhy:") and f"\ndecision: {drawn['decision']}\n" in prompt
    assert turn.raw_prompt == prompt and turn.raw_text == " it is so\n\nNo."
    assert find_form(turn.reasoning).fields == {**drawn, "why": "it is so"}
    assert (turn.answered, turn.text) == ("No.", "No.")
    other, _ = await ask("random", "", scenario, seed=6)
    assert other != prompt


def test_a_users_text_replaces_ours_and_may_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text('[refusal]\nform = ""\n[when2call]\nfree = "Think."\n', encoding="utf-8")
    assert thought_text(job("refusal", reasoning="form", prompts=file)) == ""
    assert thought_text(job("refusal", reasoning="free", prompts=file)).startswith("Think first")
    assert thought_text(job("when2call", reasoning="free", prompts=file)) == "Think."
    assert load_wording(file) == load_wording()
    file.write_text('[when2call]\nfrom = "Think."\n', encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"unknown key 'when2call.from'. Did you mean 'form'"):
        thought_text(job("when2call", reasoning="form", prompts=file))


# --- what is refused ------------------------------------------------------------------------------------------------------------------------


def test_an_answer_that_cannot_be_begun_is_refused() -> None:
    given: Any = Chatting()
    with pytest.raises(PrerequisiteError, match=r"--reasoning random: begins the model's answer, which test/chat does not allow"):
        ask_for_thought(asking(given, "chat", load_wording()), job("refusal", reasoning="random"), given)


@pytest.mark.parametrize(
    ("options", "said"),
    [({}, "--reasoning form: given answers are scored"), ({"mode": "judge", "tool_format": "constrained"}, "leaves no place for thought")],
)
def test_there_must_be_a_place_for_thought(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        find_task("when2call").settle(job("when2call", reasoning="form", **options), Recorded(None, {}, known=False))  # type: ignore[arg-type]


# --- what is measured -----------------------------------------------------------------------------------------------------------------------


def thinking(reasoning: str, **turn: Any) -> Episode:
    return answered(case("a")).model_copy(update={"model_turns": (ModelTurn(reasoning=reasoning, **turn),)})


def test_a_form_is_compared_with_what_is_right_and_what_was_done() -> None:
    episode = thinking("task_summary: a\ndecision: defer", raw_text="task_summary: a\ndecision: defer\n\nNo.", answered="No.")
    values, labels = reasoning_values("form", episode, {Decision.DEFER}, {Decision.ANSWER})
    assert values == {"form_read": True, "fields_missing": 8, "decision_right": True, "decision_followed": False}
    assert labels == {"decision": "defer"}
    assert reasoning_values("none", episode, set(), set()) == ({}, {})


def test_tokens_of_thought_are_the_part_of_the_text_that_is_thought() -> None:
    half = {"usage": Usage(output_tokens=40)}
    inside = thinking("abcd", raw_text="<think>abcd</think>" + "x" * 19, **half)
    assert reasoning_values("free", inside, set(), None)[0] == {"reasoning_tokens": 20}
    apart = thinking("y" * 30, raw_text="x" * 10, **half)
    assert reasoning_values("free", apart, set(), None)[0] == {"reasoning_tokens": 30}
    begun = thinking("task_summary: a\nwhy: b", raw_text=" b\n\n" + "x" * 4, answered="x" * 4, **half)
    assert reasoning_values("random", begun, set(), None)[0]["reasoning_tokens"] == 20
    assert "reasoning_tokens" not in reasoning_values("free", thinking("a", usage=Usage(uncounted=1)), set(), None)[0]


@pytest.mark.parametrize("task", ["refusal", "when2call"])
def test_drawn_decisions_are_right_as_often_as_by_chance(task: str) -> None:
    """Over all packaged rows, with the seeds of a run's episodes; each row's chance is known."""
    scenarios = find_task(task).read(find_task(task).groups("all"))
    right = chance = 0.0
    for scenario in scenarios:
        drawn = draw_form(Random(derive_seed(derive_seed(0, scenario.id, 1), "reasoning form")), scenario.query, ["a", "b"])
        if isinstance(scenario.target, Calls):
            called = scenario.target.expected != "none"
            right, chance = right + ((drawn["decision"] == "call") == called), chance + (0.25 if called else 0.75)
        elif isinstance(scenario.target, Choice):
            right, chance = right + (drawn["decision"] == DECISIONS[scenario.target.gold]), chance + 0.25
    low, high = score_interval(right / len(scenarios), len(scenarios))
    assert low <= chance / len(scenarios) <= high


# --- whole runs -----------------------------------------------------------------------------------------------------------------------------

PLAYED = [("oracle", kind) for kind in KINDS] + [("eager", "none"), ("eager", "form")]
MODES: dict[str, dict[str, Any]] = {"refusal": {}, "when2call": {"mode": "judge"}}
OWN = {"reasoning_tokens", "form_read", "decision_right", "decision_followed", "fields_missing"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], StoredRun]:
    """Runs by task, control and kind of reasoning; each has one scenario per group."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        (task, control, kind): run(
            task=task, model=f"sim/{control}", reasoning=kind, limit="1", run_dir=folder, run_id=f"{task}-{control}-{kind}", **MODES[task]
        )
        for task in MODES
        for control, kind in PLAYED
    }


def test_controls_think_and_score_as_they_do_without(runs: dict[tuple[str, str, str], StoredRun]) -> None:
    for (task, control, kind), one in runs.items():
        for row, before in zip(one.rows(), runs[task, control, "none"].rows(), strict=True):
            assert {name: value for name, value in row.values.items() if name not in OWN} == before.values
            if kind == "form":
                assert row.values["form_read"] and row.values["decision_followed"] and not row.values["fields_missing"]
                assert row.values["decision_right"] or control != "oracle"
        thoughts = [episode.model_turns[0].reasoning for episode in one.episodes()]
        assert all(thoughts) == (kind != "none")
        assert any("task_summary" in text for text in thoughts) == (kind in ("form", "random"))


@pytest.mark.parametrize("task", MODES)
def test_decisions_are_counted_against_actions(task: str, runs: dict[tuple[str, str, str], StoredRun]) -> None:
    one = runs[task, "eager", "form"]
    [matrix] = [one for one in find_task(task).summarize(one.rows(), one)[-1].matrices if one.name == "decisions"]
    assert matrix.rows == ("call", "defer", "clarify", "answer", "unread")
    [called] = [count for count, action in zip(matrix.counts[0], matrix.columns, strict=True) if action in ("call", "tool_call")]
    assert called == sum(map(sum, matrix.counts)) == 3


def test_a_form_stands_in_tables_records_and_episodes(runs: dict[tuple[str, str, str], StoredRun], capsys: pytest.CaptureFixture[str]) -> None:
    one = runs["refusal", "oracle", "form"]
    assert main(["report", str(one.path), "--all"]) == 0
    said = capsys.readouterr().out
    assert "control: sim/oracle, reasoning form" in said and "decision \\ action" in said and "Missing: fields" in said
    assert {record["reasoning"] for record in one.to_records()} == {"form"}
    assert main(["report", str(runs["refusal", "oracle", "none"].path), "--all"]) == 0
    said = capsys.readouterr().out
    assert "decision" not in said and "reasoning" not in said
    assert main(["show", f"{one.path}:calendar-01.removed"]) == 0
    said = capsys.readouterr().out
    assert "thinks: task_summary: On which date" in said
    assert said.index("why: nothing shown is used") < said.index("answers: I cannot do that with what I have.") < said.index("Verdicts")


def test_a_comparison_says_how_many_times_as_much_was_thought() -> None:
    measure = Measure(name="reasoning_tokens", head="Thought", kind="number", under="reasoning", note="tokens of thought", by_ratio=True)
    known = {"group": "all", "pairs": 2, "difference": -60.0}
    half = Difference(measure=measure, first=120.0, second=60.0, **known)
    assert half.ratio == 0.5
    assert Difference(measure=measure, first=0.0, second=60.0, **known).ratio is None
    assert Difference(measure=measure.model_copy(update={"by_ratio": False}), first=120.0, second=60.0, **known).ratio is None
    one = Comparison(first="a", second="b", labels=("free", "form"), pairs=2, differences=(half,), changed={})
    assert "tokens of thought, B / A: all .50" in "\n".join(line.plain for line in comparison_lines(one))
    assert one.to_records()[0]["ratio"] == 0.5
