"""Pass rate reads every message that answers the last turn: a question that was only taken for one costs nothing."""

from __future__ import annotations

from talm_sim.judges.user_messages import messages_to_user

from talm_sim.judges.base import JudgeContext
from talm_sim.judges.prompts import messages_to_user
from talm_sim.judges.reference import ReferenceJudge
from talm_sim.types import Episode, Fact, Facts, HumanEvent, ModelTurn, Scenario, Termination, Turn

FIRST, SECOND = "How high is the airport?", "And the runway?"


def scenario(*requests: str) -> Scenario:
    turns = tuple(Turn(messages=({"role": "user", "content": text},)) for text in requests)
    return Scenario(id="s", group="perfect", turns=turns, target=Facts(required=(Fact(name="height", value=39),)))


def episode(*said: tuple[int, str], asked: tuple[tuple[int, str], ...] = ()) -> Episode:
    """Its turns as (user turn, said), and its questions as (turn, how)."""
    turns = tuple(ModelTurn(user_turn=heard, text=text) for heard, text in said)
    events = tuple(HumanEvent(turn=turn, call_id="q", question="?", answer="a", responder="r", by=by) for turn, by in asked)
    end = Termination.ANSWERED
    return Episode(id="s", scenario_id="s", group="perfect", model="m", model_turns=turns, events=events, answer=said[-1][1], termination=end)


async def test_a_fact_beside_a_question_that_was_replied_to_is_in_the_answer() -> None:
    talked = episode((0, "It is 39 m. Is that the one you mean?"), (0, "Fine."), asked=((0, "words"),))
    assert messages_to_user(talked, scenario(FIRST)) == ("It is 39 m. Is that the one you mean?", "Fine.")
    assert (await ReferenceJudge(JudgeContext())(talked, scenario(FIRST))).value is True


async def test_what_was_said_beside_a_call_is_not() -> None:
    for by in ("tool", "interrupt"):
        talked = episode((0, "It is 39 m, I guess."), (0, "Fine."), asked=((0, by),))
        assert (await ReferenceJudge(JudgeContext())(talked, scenario(FIRST))).value is False


def test_of_several_turns_the_last_one_s_messages_count() -> None:
    said = ((0, "It is 39 m. Which runway?"), (0, "Good."), (1, "Which one?"), (1, "2 km."))
    talked = episode(*said, asked=((0, "words"), (2, "words")))
    assert messages_to_user(talked, scenario(FIRST, SECOND)) == ("Which one?", "2 km.")


async def test_of_several_messages_the_last_that_says_something_of_a_fact_decides() -> None:
    for last, passes in (("Fine.", True), ("I looked again: the height is 41 m.", False), ("The height is not 39 m.", False)):
        talked = episode((0, "The height is 39 m. Is that what you mean?"), (0, last), asked=((0, "words"),))
        assert (await ReferenceJudge(JudgeContext())(talked, scenario(FIRST))).value is passes, last
    talked = episode((0, "The height is 41 m, right?"), (0, "The height is 39 m."), asked=((0, "words"),))
    assert (await ReferenceJudge(JudgeContext())(talked, scenario(FIRST))).value is True
