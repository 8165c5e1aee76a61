"""The transcript of an episode: its parts hold each step once, and nothing that a reader can tell apart is folded."""

from __future__ import annotations

from hypothesis import given, strategies as st

from talm_sim.store.transcripts import Asked, Call, Transcript, fold_turns, make_transcript
from talm_sim.types import (
    FINISH,
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    HumanEvent,
    ModelTurn,
    PerturbationLog,
    Termination,
    ToolCall,
    ToolEvent,
    UnparsableCall,
)
from talm_sim.types.steps import steps_of

NAMES = st.sampled_from(["find", "count", "ask_human", FINISH])
TEXTS = st.sampled_from(["", "Paris.", "Let me look.", "No"])


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    """An episode with calls that are executed, left, unreadable or repeated, and questions, in any order."""
    turns: list[ModelTurn] = []
    events: list[ToolEvent | HumanEvent] = []
    for index in range(draw(st.integers(0, 4))):
        calls = []
        for number, name in enumerate(draw(st.lists(NAMES, max_size=3))):
            call = ToolCall(
                id=f"{index}-{number}", name=name, arguments={"final_answer": "Paris."} if name == FINISH else {"place": number % 2}
            )
            calls.append(call)
            if name == "ask_human":
                events.append(HumanEvent(turn=index, call_id=call.id, question="Where?", answer="Here.", responder="simulated"))
            elif name != FINISH and draw(st.booleans()):
                events.append(ToolEvent(turn=index, call_id=call.id, name=name, arguments=call.arguments, result="{}", ok=draw(st.booleans())))
        broken = [UnparsableCall(id="x", name="find", raw="{", reason="malformed")] * draw(st.integers(0, 2))
        turns.append(ModelTurn(text=draw(TEXTS), tool_calls=tuple(calls), unparsable_calls=tuple(broken)))
    kind, value = AwarenessKind.TOOL, AwarenessValue.YES
    asked = [AwarenessAnswer(kind=kind, value=value, raw="Yes", unread=("Hm",) * draw(st.integers(0, 2)))] * draw(st.integers(0, 1))
    known = {"awareness": tuple(asked), "model_turns": tuple(turns), "events": tuple(events), "answer": draw(TEXTS)}
    return Episode.model_validate({"id": "e", "scenario_id": "e", "group": "g", "model": "m/m", "termination": Termination.ANSWERED, **known})


def numbers(one: Transcript) -> list[int]:
    parts = [part for turn in one.turns for part in (turn, *turn.broken, *turn.events, *turn.left)]
    return sorted([*one.awareness_steps, *one.answer_steps, *(number for part in parts for number in part.steps)])


@given(episodes())
def test_every_step_is_in_one_part(episode: Episode) -> None:
    one = make_transcript(episode, None, [])
    assert numbers(one) == list(range(1, 1 + len(list(steps_of(episode)))))


@given(episodes())
def test_a_part_holds_the_steps_of_what_it_shows(episode: Episode) -> None:
    steps = dict(enumerate(steps_of(episode), 1))
    for turn in make_transcript(episode, None, []).turns:
        for part in (*turn.events, *turn.left):
            whats = [steps[number].what for number in part.steps]
            if isinstance(part, Call):
                shown = ["call", "result"] if part.executed else ["call"]
                assert whats == [f"turn {turn.number}: {what} of {part.name}" for what in shown]
            else:
                assert whats[-2:] == [f"turn {turn.number}: question", f"turn {turn.number}: reply"]


@given(episodes())
def test_folded_turns_are_all_turns_in_their_order(episode: Episode) -> None:
    turns = make_transcript(episode, None, []).turns
    folded = list(fold_turns(turns))
    assert [turn for alike in folded for turn in alike] == list(turns)
    assert all(turn.text == alike[0].text and len(turn.events) == len(alike[0].events) for alike in folded for turn in alike)
    assert all(len(alike) == 1 for alike in folded if alike[0].answers)


def call(*logs: PerturbationLog) -> Call:
    event = ToolEvent(turn=0, call_id="1", name="find", result="{}", ok=True, perturbations=logs)
    turn = ModelTurn(tool_calls=(ToolCall(id="1", name="find", arguments={}),))
    known = {"model_turns": (turn,), "events": (event,), "termination": Termination.ANSWERED}
    one = make_transcript(Episode.model_validate({"id": "e", "scenario_id": "e", "group": "g", "model": "m/m", **known}), None, [])
    (made,) = one.turns[0].events
    assert isinstance(made, Call)
    return made


def test_a_fault_says_whether_it_was_seen() -> None:
    logs = (
        PerturbationLog(name="a", armed=1, fired=1, seen=1, injected="x", replaced="y"),
        PerturbationLog(name="b", armed=1, fired=1, injected="x"),
        PerturbationLog(name="c", armed=1),
        PerturbationLog(name="d", not_applicable=1),
        PerturbationLog(name="e", not_applicable=1, withheld=True),
    )
    found = [(fault.name, fault.outcome, fault.replaced) for fault in call(*logs).faults]
    assert found == [("a", "seen", "y"), ("b", "unseen", None), ("c", "missed", None), ("d", "not_applicable", None), ("e", "withheld", None)]


def test_a_question_without_an_answer_says_why() -> None:
    event = HumanEvent(turn=0, call_id="1", question="Where?", answer="", responder="simulated", declined="idk")
    known = {"model_turns": (ModelTurn(text="?"),), "events": (event,), "termination": Termination.ANSWERED}
    one = make_transcript(Episode.model_validate({"id": "e", "scenario_id": "e", "group": "g", "model": "m/m", **known}), None, [])
    (asked,) = one.turns[0].events
    assert isinstance(asked, Asked)
    assert (asked.who, asked.reply, asked.declined) == ("the simulated person", "does not know", True)
