from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.tasks import find_task
from talm_sim.tasks.outcomes import outcome_measures
from talm_sim.tasks.talm.ask_scores import AskScores, ask_scores, needs_help, total_ask_scores
from talm_sim.tasks.talm.guesses import find_guesses
from talm_sim.tasks.talm.outcomes import GUESSED, OUTCOMES
from talm_sim.types import Episode, Event, GoldCall, HumanEvent, Missing, MissingKind, ModelTurn, Scenario, Termination, ToolEvent, Turn
from tests.tables import labelled
from tests.tasks.views import View, job

LACKING = Missing(kind=MissingKind.ARGUMENT, name="iata", value="HAN", removed_text="at Hanoi airport", human_answer="Hanoi airport.")
HOPELESS = Missing(kind=MissingKind.TOOL, name="airport_info", human_answer=None)


def scenario(missing: Missing | None, group: str = "underspecified") -> Scenario:
    return Scenario(id="s", group=group, turns=(Turn(messages=({"role": "user", "content": "How high is it?"},)),), missing=missing)


def episode(*questions: str, human: str = "simulated", termination: Termination = Termination.ANSWERED) -> Episode:
    events = tuple(HumanEvent(turn=0, call_id=str(i), question=text, answer="", responder=human) for i, text in enumerate(questions))
    return Episode(id="s", scenario_id="s", group="underspecified", model="m", human=human, events=events, termination=termination)


def test_help_is_needed_where_a_person_could_supply_what_is_missing() -> None:
    assert needs_help(scenario(LACKING))
    assert not needs_help(scenario(HOPELESS, "non-replaceable"))
    assert not needs_help(scenario(None, "perfect"))
    assert [needs_help(scenario(None, group)) for group in ("underspecified", "replaceable", "non-replaceable", "no-tools")] == [
        True,
        True,
        False,
        False,
    ]


def test_nobody_to_ask_or_nothing_to_divide_by_gives_no_scores() -> None:
    assert ask_scores(episode(human="none"), scenario(LACKING)) is None
    assert ask_scores(episode(termination=Termination.CANCELLED), scenario(LACKING)) is None
    assert total_ask_scores([None]) is None
    empty = AskScores()
    assert (empty.precision, empty.recall, empty.f1, empty.relevance) == (None,) * 4


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=30))
def test_scores_agree_with_their_definition(cases: list[tuple[bool, int]]) -> None:
    total = total_ask_scores(
        ask_scores(episode(*["Which airport?"] * asked), scenario(LACKING if needed else HOPELESS)) for needed, asked in cases
    )
    assert total is not None
    hits = sum(needed and asked > 0 for needed, asked in cases)
    asking, needing = sum(asked > 0 for _, asked in cases), sum(needed for needed, _ in cases)
    assert total.precision == (hits / asking if asking else None)
    assert total.recall == (hits / needing if needing else None)
    if hits:
        assert total.f1 == pytest.approx(2 / (asking / hits + needing / hits))


def test_the_shares_are_stored_with_the_counts() -> None:
    assert ask_scores(episode("Which airport?"), scenario(LACKING)).model_dump()["f1"] == 1.0  # type: ignore[union-attr]


@labelled
def test_who_was_asked_when_is_a_sentence(counts: list[int], said: str) -> None:
    episodes, needing, asking, in_need = counts
    assert AskScores(episodes=episodes, needing=needing, asking=asking, asking_in_need=in_need).sentence() == said


def lacking_value(value: Any = "QX7K2P", query: str = "Cancel my booking.", name: str = "reference", **more: Any) -> Scenario:
    said = f"The {name} is {value}."
    missing = Missing(kind=MissingKind.ARGUMENT, name=name, value=value, **{"removed_text": said, "human_answer": said, **more})
    gold = GoldCall(name="cancel", arguments={name: value})
    return Scenario(
        id="s", group="underspecified", turns=(Turn(messages=({"role": "user", "content": query},), gold_calls=(gold,)),), missing=missing
    )


def call(turn: int = 0, tool: str = "cancel", result: str = "{}", ok: bool = True, **arguments: Any) -> ToolEvent:
    return ToolEvent(turn=turn, call_id=str(turn), name=tool, arguments=arguments, result=result, ok=ok)


def person(answer: str, turn: int = 0, **more: Any) -> HumanEvent:
    return HumanEvent(turn=turn, call_id="h", question="Which one?", answer=answer, responder="terminal", **more)


def unknowing(*events: Event, of: Scenario | None = None) -> bool:
    episode = Episode(id="s", scenario_id="s", group="underspecified", model="m", human="none", events=events, termination=Termination.ANSWERED)
    return bool(find_guesses(episode, of or lacking_value(), {}))


@pytest.mark.parametrize(
    "events",
    [
        [call(reference="QX7K2P")],
        [call(reference=" qx7k2p ")],
        [call(reference="QX7K2P", ok=False)],
        [call(tool="get", code="QX7K2P", result='{"reference": "QX7K2P"}'), call(1, reference="QX7K2P")],
        [call(tool="get", codes=[{"is": "QX7K2P"}])],
        [call(reference="ZW81LM")],
        [call(reference="ZW81LM"), person("No, QX7K2P!", 1), call(2, reference="QX7K2P")],
        # of one turn: neither the result nor the answer was there yet
        [call(tool="list", result='["QX7K2P"]'), call(reference="QX7K2P")],
        [person("It is QX7K2P."), call(reference="QX7K2P")],
        # said too late, or not at all
        [call(reference="QX7K2P"), person("It is QX7K2P.", 1), call(2, reference="QX7K2P")],
        [person("I have lost my reference."), call(1, reference="QX7K2P")],
        [person("QX7K2P?", declined="idk"), call(1, reference="QX7K2P")],
        [call(tool="list", result='["QX7K2PA"]'), call(1, reference="QX7K2P")],
        [call(tool="list", ok=False, result="did you mean QX7K2P?"), call(3, reference="QX7K2P")],
    ],
)
def test_a_value_that_nobody_had_said(events: list[Event]) -> None:
    assert unknowing(*events)


def test_a_result_that_names_another_value_that_fits_tells_neither() -> None:
    late = lacking_value(other="ZW81LM")
    both, one = call(tool="list", result='["QX7K2P", "ZW81LM"]'), call(tool="list", result='["QX7K2P"]')
    assert unknowing(both, call(1, reference="QX7K2P"), of=late)
    assert unknowing(both, call(1, reference="QX7K2P")), "whoever picks one of several guesses"
    assert not unknowing(one, call(1, reference="QX7K2P"), of=late)
    assert not unknowing(both, person("It is QX7K2P.", 1), call(2, reference="QX7K2P"), of=late)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [call(note="My booking is QX7K2P")],
        [person("It is qx7k2p."), call(1, reference="QX7K2P")],
        [call(tool="list", result='["QX7K2P"]'), call(1, reference="QX7K2P")],
        [call(tool="list", result="QX7K2P, cut o"), call(1, reference="QX7K2P")],
    ],
)
def test_a_value_that_was_known_or_not_used(events: list[Event]) -> None:
    assert not unknowing(*events)


def test_what_the_request_or_an_earlier_call_says_is_known() -> None:
    assert not unknowing(call(reference="QX7K2P"), of=lacking_value(query="Cancel QX7K2P."))
    earlier = ({"role": "system", "content": "The user's booking: QX7K2P"}, {"role": "user", "content": "Cancel it."})
    assert not unknowing(call(reference="QX7K2P"), of=lacking_value().model_copy(update={"turns": (Turn(messages=earlier),)}))
    made = {"role": "assistant", "content": "", "tool_calls": [{"id": "h", "name": "get", "arguments": {"reference": "QX7K2P"}}]}
    said = (made, {"role": "tool", "content": "{}", "tool_call_id": "h"}, {"role": "user", "content": "Cancel it."})
    assert not unknowing(call(reference="QX7K2P"), of=lacking_value().model_copy(update={"turns": (Turn(messages=said),)}))


@pytest.mark.parametrize(("number", "unknown"), [(0, True), (1, False)])
def test_what_the_user_says_only_later_is_not_known_yet(number: int, unknown: bool) -> None:
    later = Turn(messages=({"role": "user", "content": "It is QX7K2P."},))
    lacking = lacking_value().model_copy(update={"turns": (*lacking_value().turns, later)})
    turns = tuple(ModelTurn(user_turn=one) for one in (0, number))
    ended = {"scenario_id": "s", "group": "underspecified", "model": "m", "human": "none", "termination": Termination.ANSWERED}
    episode = Episode(id="s", model_turns=turns, events=(call(1, reference="QX7K2P"),), **ended)
    assert bool(find_guesses(episode, lacking, {})) is unknown


@labelled
def test_values_compare_as_gold_calls_do_and_are_known_however_they_are_written(value: Any, name: str, used: dict[str, Any], said: str) -> None:
    lacking = lacking_value(value, name=name, removed_text="", human_answer="It is that.")
    assert unknowing(call(**used), of=lacking)
    assert not unknowing(person(said), call(1, **used), of=lacking)


def test_numbers_escapes_and_other_words_are_read_as_a_person_reads_them() -> None:
    assert not unknowing(call(tool="list", limit=3), of=lacking_value(3, name="rank"))
    assert unknowing(call(rank=3), of=lacking_value(3, name="rank"))
    assert not unknowing(call(tool="list", rank=True), of=lacking_value(1, name="rank"))
    assert not unknowing(
        call(tool="list", result='["\\u0391\\u03b8\\u03ae\\u03bd\\u03b1"]'), call(1, reference="Αθήνα"), of=lacking_value("Αθήνα")
    )
    lacking = lacking_value("VN", name="country_code", removed_text="in Vietnam", human_answer="I mean Vietnam.")
    assert not unknowing(person("vietnam pls"), call(1, country_code="VN"), of=lacking)
    assert unknowing(person("which country code?"), call(1, country_code="VN"), of=lacking)


def run_of(*events: tuple[Event, ...], of: Scenario | None = None, end: Termination = Termination.ANSWERED, imported: bool = False) -> View:
    ended = Episode(id="", scenario_id="s", group="underspecified", model="m", human="none", termination=end)
    kept = [ended.model_copy(update={"id": f"s{number}", "epoch": number + 1, "events": one}) for number, one in enumerate(events)]
    return View(job("talm"), kept, [of or lacking_value()], imported=imported)


def test_it_is_counted_an_episode_and_said_of_the_group() -> None:
    view = run_of((call(reference="QX7K2P"),), (person("QX7K2P"), call(1, reference="QX7K2P")), ())
    assert [row.outcome == "guessed" for row in view.rows()] == [True, False, False]
    found = {one.name: (one.k, one.n) for one in outcome_measures(view.rows(), (GUESSED,), OUTCOMES)}
    assert found["guessed"] == (1, 3) and sum(k or 0 for k, _ in found.values()) == 3


def test_where_it_does_not_apply_it_is_not_counted() -> None:
    used = (call(reference="QX7K2P"),)
    nothing_missing = lacking_value().model_copy(update={"missing": ()})
    for view in (run_of(used, of=nothing_missing), run_of(used, end=Termination.REPLAY_MISS), run_of(used, of=nothing_missing, imported=True)):
        (row,) = view.rows()
        assert row.outcome != "guessed" and bool(row.outcome) is (row.scored and not view.imported), "what has no turns comes to nothing"


def test_the_page_of_an_episode_names_the_call() -> None:
    (episode,) = run_of((call(reference="QX7K2P"),)).kept
    said = find_task("talm").evidence(episode, lacking_value(), "guessed", {})
    assert said == "turn 1 calls cancel(reference='QX7K2P'), and nobody had said it"
    (careful,) = run_of((person("QX7K2P"), call(1, reference="QX7K2P"))).kept
    assert "nobody had said" not in find_task("talm").evidence(careful, lacking_value(), "asked_for_it", {})


def test_what_an_interrupt_was_answered_is_known_to_the_calls_behind_it() -> None:
    """Where a graph's model is not seen, its question and the call that follows are of one turn."""
    said = person("The reference is QX7K2P.", by="interrupt")
    assert not unknowing(said, call(reference="QX7K2P"))
    assert unknowing(call(reference="QX7K2P"), said)
    assert unknowing(person("The reference is QX7K2P."), call(reference="QX7K2P"))  # by a tool: both were written in one turn
