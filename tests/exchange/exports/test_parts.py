"""The parts of every export: clean texts, the order of times, and the messages of episodes that other tests do not have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from talm_sim.exchange.exports.exchanged_messages import conversation, system_text, target_texts
from talm_sim.exchange.exports.safe_texts import Cleaner, as_line
from talm_sim.exchange.exports.times import times_of
from talm_sim.types import Episode, GoldCall, HumanEvent, ModelTurn, Scenario, Termination, ToolEvent, Turn

SECRET = "hunter2-hunter2-hunter2"
ANY = st.text(st.characters(), max_size=40)  # with halves of characters
PLAIN = st.text(st.characters(codec="utf-8"), max_size=40).filter(lambda text: "://" not in text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | ANY, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner), max_leaves=8))
def test_every_value_becomes_one_line_that_other_programs_read(value: object) -> None:
    line = as_line(Cleaner().value(value))
    assert line.isascii() and line.isprintable() and len(line.splitlines()) == 1
    json.dumps(json.loads(line), ensure_ascii=False).encode()  # no half of a character is left


@given(PLAIN)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert Cleaner().value({text: [text]}) == {text: [text]}


def test_halves_of_a_character_are_put_together_or_replaced() -> None:
    assert Cleaner().text("a\ud83d\ude00b\ud800") == "a\U0001f600b\ufffd"


def test_credentials_of_the_environment_are_hidden_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    told = Cleaner().value({SECRET: [f"a {SECRET} b", json.dumps({"x": SECRET}), {"k": (SECRET,)}]})
    assert SECRET not in json.dumps(told) and json.dumps(told).count("REDACTED") == 4


def played(*turns: ModelTurn, events: tuple[ToolEvent | HumanEvent, ...] = (), **more: float) -> Episode:
    return Episode(id="s", scenario_id="s", group="g", model="m", termination=Termination.ANSWERED, model_turns=turns, events=events, **more)


EVENTS = st.lists(
    st.builds(ToolEvent, turn=st.integers(0, 4), call_id=st.just("c"), name=st.just("t"), ok=st.just(True), elapsed_ms=st.floats(0, 1e5))
    | st.builds(
        HumanEvent,
        turn=st.integers(0, 4),
        call_id=st.just("c"),
        question=st.just("?"),
        answer=st.just("!"),
        responder=st.just("terminal"),
        asked_at=st.floats(0, 3000),
        answered_at=st.floats(0, 3000),
    ),
    max_size=6,
)


@given(st.integers(0, 3), EVENTS, st.floats(0, 500), st.sampled_from([0.0, 1000.0]))
def test_times_are_in_order_and_within_the_episode(turns: int, events: list[ToolEvent | HumanEvent], elapsed: float, started: float) -> None:
    episode = played(*[ModelTurn()] * turns, events=tuple(events), elapsed_s=elapsed, started_at=started)
    times = times_of(episode, 500.0)
    assert times.whole.begin == (started or 500.0) and times.whole.end >= times.whole.begin + elapsed
    assert times.whole.measured == bool(started)
    assert len(times.turns) == turns and sorted(map(id, events)) == sorted(id(event) for event, _ in times.events)
    spans = [times.awareness, *times.turns, *(span for _, span in times.events)]
    assert all(times.whole.begin <= span.begin <= span.end <= times.whole.end for span in spans)
    begins = [span.begin for span in times.turns]
    assert begins == sorted(begins)
    for event, span in times.events:
        if isinstance(event, HumanEvent) and times.whole.begin <= event.asked_at <= event.answered_at:
            assert (span.begin, span.end, span.measured) == (event.asked_at, event.answered_at, True)
        elif isinstance(event, ToolEvent):
            assert span.end - span.begin == pytest.approx(event.elapsed_ms / 1000) and not span.measured
        assert all(span.begin >= times.turns[event.turn].end for _ in [0] if event.turn < turns and isinstance(event, ToolEvent))


def scenario(*turns: Turn) -> Scenario:
    return Scenario(id="s", group="g", turns=turns)


def said(text: str, **more: object) -> Turn:
    return Turn(messages=({"role": "user", "content": text, **more},))


def test_a_dialogue_is_told_in_order_with_the_agents_answers_between() -> None:
    call = {"id": "c", "name": "look_up", "arguments": {"q": 1}}
    before = Turn(
        messages=(
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "First?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "[1]", "tool_call_id": "c"},
            {"role": "assistant", "content": "One."},
        ),
        gold_calls=(GoldCall(name="look_up"),),
    )
    whole = scenario(before, said("Second?"), said("Third?"), said("Never said?"))
    question = HumanEvent(turn=0, call_id="w", question="Which?", answer="That.", responder="terminal", by="words")
    late = ToolEvent(turn=7, call_id="x", name="look_up", result="late", ok=False, error="timeout")
    episode = played(
        ModelTurn(text="Which?"),
        ModelTurn(text="Two.", reminded=True),
        ModelTurn(text="Two!", raw_prompt="[human] Call Finish."),
        ModelTurn(text="Three.", user_turn=1),
        events=(question, late),
    )
    told = [(message.role, message.text, message.turn) for message in conversation(episode, whole, acts=True)]
    assert told == [
        ("system", "Be brief.", None),
        ("user", "First?", None),
        ("assistant", "", None),
        ("tool", "[1]", None),
        ("assistant", "One.", None),
        ("user", "Second?", None),
        ("assistant", "Which?", 0),
        ("user", "That.", None),
        ("assistant", "Two.", 1),
        ("user", "Call Finish.", None),
        ("assistant", "Two!", 2),
        ("user", "Third?", None),
        ("assistant", "Three.", 3),
        ("tool", "late", None),
    ]
    assert [message.name for message in conversation(episode, whole, acts=True) if message.role == "tool"] == ["look_up", "look_up"]


def test_a_single_step_is_what_the_model_was_asked() -> None:
    asked = scenario(said("Yes or no?"))
    episode = played(ModelTurn(raw_prompt="Answer the question. Yes or no?", text="Hm."), ModelTurn(text="Yes."))
    told = [(message.role, message.text) for message in conversation(episode, asked, acts=False)]
    assert told == [("user", "Answer the question. Yes or no?"), ("assistant", "Hm."), ("user", "Yes or no?"), ("assistant", "Yes.")]
    assert [message.text for message in conversation(played(), asked, acts=False)] == ["Yes or no?"]
    assert [message.text for message in conversation(played(), None, acts=True)] == [""]
    imported = played().model_copy(update={"answer": "Yes."})
    assert [message.text for message in conversation(imported, asked, acts=True)] == ["Yes or no?", "Yes."]


@pytest.mark.parametrize(
    ("prompt", "system"),
    [
        ("[system] Be good.\n\nAnd brief.\n\n[human] Go?", "Be good.\n\nAnd brief."),
        ("[system] Be good.\n\n[human] Go?\n\n[human] Go?", "Be good.\n\n[human] Go?"),
        ("[system] Be good.\n\n[human] Else?", ""),
        ("<|im_start|>system\nBe good.<|im_end|>", ""),
        ("[human] Go?", ""),
        ("", ""),
    ],
)
def test_a_system_text_is_taken_only_where_it_is_certain(prompt: str, system: str) -> None:
    assert system_text(played(ModelTurn(raw_prompt=prompt)), scenario(said("Go?"))) == system


def test_a_target_of_any_task_is_texts() -> None:
    def texts(target: object) -> list[str]:
        return target_texts(Scenario.model_validate(scenario(said("?")).model_dump() | {"target": target}))

    assert texts(None) == [] == target_texts(None)
    assert texts({"type": "servable", "gold": "yes", "relevant": ["t"]}) == ["yes"]
    assert texts({"type": "facts", "required": [{"name": "mass", "value": 1.5, "unit": "GeV"}]}) == ["mass: 1.5 GeV"]
    assert texts({"type": "a stranger's", "required": ["x"], "more": None}) == ['"x"']
    assert texts({"type": "a stranger's", "order": "A-17"}) == ['{"order": "A-17"}']
