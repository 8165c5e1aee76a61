from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.tasks.talm.asking import AskScores, ask_scores, needs_help, total_ask_scores
from talm_sim.tasks.talm.blockers import BlockerScores
from talm_sim.tasks.talm.measures import asking_sentence
from talm_sim.types import Episode, HumanEvent, Missing, MissingKind, Scenario, Termination, Turn

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


def test_a_question_in_need_counts_and_its_relevance_is_told() -> None:
    scores = ask_scores(episode("Which airport?", "What is your name?"), scenario(LACKING))
    assert scores == AskScores(episodes=1, needing=1, asking=1, asking_in_need=1, questions=2, questions_in_need=2, relevant_questions=1)
    assert (scores.precision, scores.recall, scores.f1, scores.relevance, scores.questions_per_episode) == (1.0, 1.0, 1.0, 0.5, 2.0)


def test_a_question_without_need_costs_precision_and_silence_in_need_costs_recall() -> None:
    total = total_ask_scores(
        [
            ask_scores(episode("Which airport?"), scenario(LACKING)),
            ask_scores(episode(), scenario(LACKING)),
            ask_scores(episode("Which airport?"), scenario(None, "perfect")),
            ask_scores(episode("Which airport?"), scenario(HOPELESS, "non-replaceable")),
        ]
    )
    assert total is not None
    assert (total.precision, total.recall, total.f1) == (1 / 3, 1 / 2, 0.4)
    assert total.relevance == 1.0


def test_an_imported_question_counts_without_its_relevance() -> None:
    scores = ask_scores(episode("Which airport?"), scenario(None))
    assert scores is not None
    assert (scores.recall, scores.relevance) == (1.0, None)


def test_nobody_to_ask_or_no_finished_episode_gives_no_scores() -> None:
    assert ask_scores(episode(human="none"), scenario(LACKING)) is None
    assert ask_scores(episode(termination=Termination.CANCELLED), scenario(LACKING)) is None
    assert total_ask_scores([None]) is None


def test_shares_without_a_denominator_are_none() -> None:
    empty = AskScores()
    assert (empty.precision, empty.recall, empty.f1, empty.relevance, empty.questions_per_episode) == (None,) * 5


def test_the_description_counts() -> None:
    unnamed = Missing(kind=MissingKind.ARGUMENT, name="q", value="HAN", human_answer="HAN")
    plain = ask_scores(episode("Which airport?"), scenario(unnamed))
    described = ask_scores(episode("Which airport?"), scenario(unnamed), ["Airport to look up."])
    assert plain is not None and plain.relevance == 0
    assert described is not None and described.relevance == 1


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
    assert total.questions_per_episode == sum(asked for _, asked in cases) / len(cases)


def test_the_shares_are_stored_with_the_counts() -> None:
    assert ask_scores(episode("Which airport?"), scenario(LACKING)).model_dump()["f1"] == 1.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((80, 72, 8, 8), "asked in 8 of the 72 episodes that needed it and in no other"),
        ((80, 72, 11, 8), "asked in 8 of the 72 episodes that needed it and in 3 of the 8 others"),
        ((72, 72, 8, 8), "asked in 8 of the 72 episodes that needed it"),
        ((72, 72, 0, 0), "asked in none of the 72 episodes that needed it"),
        ((3, 1, 1, 1), "asked in the one episode that needed it and in no other"),
        ((80, 72, 0, 0), "asked in none of the 72 episodes that needed it, nor in any other"),
        ((80, 72, 3, 0), "asked in none of the 72 episodes that needed it, but in 3 of the 8 others"),
        ((3, 2, 2, 1), "asked in 1 of the 2 episodes that needed it and in the one other"),
        ((3, 1, 0, 0), "not asked in the one episode that needed it, nor in any other"),
        ((1, 1, 0, 0), "not asked in the one episode that needed it"),
        ((5, 0, 2, 0), "asked in 2 of the 5 episodes, none of which needed it"),
        ((1, 0, 0, 0), "not asked in the one episode, which did not need it"),
    ],
)
def test_who_was_asked_when_is_a_sentence(counts: tuple[int, int, int, int], said: str) -> None:
    episodes, needing, asking, in_need = counts
    assert AskScores(episodes=episodes, needing=needing, asking=asking, asking_in_need=in_need).sentence() == said


@pytest.mark.parametrize(
    ("decided", "about", "said"),
    [
        (1, 0, "the one question was not about what was missing"),
        (1, 1, "the one question was about what was missing"),
        (2, 0, "none of 2 questions were about what was missing"),
        (2, 1, "1 of 2 questions was about what was missing"),
        (5, 3, "3 of 5 questions were about what was missing"),
    ],
)
def test_how_many_questions_were_about_it_is_a_sentence(decided: int, about: int, said: str) -> None:
    asked = AskScores(episodes=5, needing=5, asking=5, asking_in_need=5, questions=decided)
    sentence = asking_sentence(asked, BlockerScores(questions_decided=decided, blocker_questions=about))
    assert sentence == f"asked in 5 of the 5 episodes that needed it; {said}"
