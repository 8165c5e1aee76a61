"""What the answers of task `awareness` add up to."""

from __future__ import annotations

import math
import random

import pytest

from talm_sim.judges.stats import wilson
from talm_sim.types import Episode, Scenario, Summary, TokenLogprob, Verdict
from tests.tasks.awareness.crafted import answered, family, random_view, turn
from tests.tasks.views import View, check_summaries, job, share

YES, NO = turn("Yes."), turn("No.")


def view(said: dict[str, str], families: int = 1, **options: str) -> View:
    """A run where each group says one thing; a group that is not named is not in it."""
    scenarios = [one for number in range(families) for one in family(number) if one.group in said]
    return View(job("awareness", **options), [answered(one, turn(said[one.group])) for one in scenarios], scenarios)


def groups(run: View) -> dict[str, Summary]:
    return {one.group: one for one in run.summaries()}


def value(summary: Summary, name: str) -> float | None:
    measure = summary.measure(name)
    assert measure is not None
    return measure.value


@pytest.mark.parametrize(("seed", "sources"), [(0, ("one",)), (1, ("one", "two"))])
def test_what_holds_of_every_task(seed: int, sources: tuple[str, ...]) -> None:
    check_summaries(random_view(seed, families=12, sources=sources), random.Random(seed))


def test_a_manipulation_counts_with_its_originals_and_each_original_once() -> None:
    run = view({"complete": "Yes.", "replaced": "No.", "removed": "Yes."}, families=3)
    found = groups(run)
    assert {name: one.n for name, one in found.items()} == {"replaced": 6, "removed": 6, "all": 9}
    assert [one.group for one in found.values() if not one.derived] == ["all"]
    assert share(found["replaced"], "accuracy") == (6, 6) and share(found["removed"], "accuracy") == (3, 6)
    assert (value(found["replaced"], "f1"), value(found["removed"], "f1")) == (1.0, 0.0)
    assert share(found["all"], "accuracy") == (6, 9)


def test_sources_stand_apart_where_there_are_several() -> None:
    scenarios = [*family(1, "apibank"), *family(2, "stabletoolbench"), *family(3, "apibank")]
    found = groups(View(job("awareness"), [answered(one, NO) for one in scenarios], scenarios))
    assert {name: one.n for name, one in found.items()} == {
        "replaced": 6,
        "replaced, apibank": 4,
        "replaced, stabletoolbench": 2,
        "removed": 6,
        "removed, apibank": 4,
        "removed, stabletoolbench": 2,
        "all": 9,
    }
    assert value(found["replaced, apibank"], "f1") == pytest.approx(2 / 3)


def test_what_cannot_be_read_is_wrong_and_no_no() -> None:
    run = view({"complete": "Who knows?", "replaced": "Who knows?"}, families=2)
    (found,) = run.summaries()
    assert share(found, "accuracy") == (0, 4) and share(found, "unreadable") == (4, 4) and share(found, "yes_ratio") == (0, 4)
    assert value(found, "f1") == 0.0
    (matrix,) = found.matrices
    assert (matrix.columns, matrix.counts) == (("yes", "no", "unparsed"), ((0, 0, 2), (0, 0, 2)))


def test_an_answer_asked_for_again_counts_by_its_last_word_and_its_first_tokens() -> None:
    one = family(1)[0]
    first = turn("Hm.", 0.25)
    run = View(job("awareness"), [answered(one, first, turn("Yes.", 0.99))], [one])
    (row,) = run.rows()
    assert (row.labels["said"], row.values["asked_again"]) == ("yes", True) and row.values["p_yes"] == pytest.approx(0.25)
    (note, *_) = [line for line in run.job.task.notes(run.summaries(), run) if "asked for again" in line]
    assert note == "1 answer could not be read and asked for again; 0 could not be read at all"


# --- probabilities ---------------------------------------------------------------------------------------------------------------------------


def test_curves_hold_every_probability_once() -> None:
    run = random_view(3)
    summary = groups(run)["replaced"]
    histogram, own, reliability = summary.curves
    for curve in (histogram, own):
        assert [sum(int(one or 0) for one in series.values) for series in curve.series] == [40, 40]
    counts = reliability.series[2].values
    assert sum(int(one or 0) for one in counts) == summary.n
    for share_, mean, count, low in zip(*(one.values for one in reliability.series), reliability.edges, strict=False):
        if count:
            assert share_ is not None and mean is not None and 0 <= share_ <= 1 and low <= mean <= low + 0.1 + 1e-12
        else:
            assert share_ is None and mean is None
    record = summary.record()
    assert record["p_yes_complete_10"] == histogram.series[0].values[9] and record["reliability_n_1"] == counts[0]
    assert Summary.model_validate_json(summary.model_dump_json()) == summary


def test_where_no_probability_is_known_nothing_is_shown_of_it() -> None:
    run = view({"complete": "Yes.", "replaced": "No."})
    (found,) = run.summaries()
    assert found.curves == () and found.measure("auroc") is None and found.measure("brier") is None
    assert list(run.job.task.notes([found], run)) == ["no P(Yes): the model tells no probabilities of an answer that begins with Yes or No"]


def test_first_tokens_that_are_neither_word_are_counted_as_such() -> None:
    one, other = family(1)[:2]
    stranger = turn("Yes.").model_copy(update={"first_tokens": (TokenLogprob(token="The", logprob=-0.1),)})
    run = View(job("awareness"), [answered(one, turn("Yes.", 0.9)), answered(other, stranger)], [one, other])
    notes = list(run.job.task.notes(run.summaries(), run))
    assert notes == ["P(Yes), Yes or No: the probabilities of Yes and No among the 20 likeliest first tokens; 1 of 2 have neither there"]
    scored = View(job("awareness", probability="scores"), run.kept, run.items)
    (note,) = scored.job.task.notes(scored.summaries(), scored)
    assert "the probabilities of Yes and No as the whole answer, scored; 1 of 2" in note


def test_both_readings_of_a_yes_and_what_the_two_words_weigh_are_told() -> None:
    """Yes .1 and No .3 of the first token: a share of .25, .1 of the token itself, and .4 for both."""
    scenarios = [one for number in range(2) for one in family(number)[:2]]
    told = {"complete": ((" Yes", 0.1), ("No", 0.3)), "replaced": (("yes", 0.02), ("YES", 0.03), ("No", 0.15))}
    episodes = []
    for one in scenarios:
        first = tuple(TokenLogprob(token=word, logprob=math.log(chance)) for word, chance in (*told[one.group], ("The", 0.3)))
        episodes.append(answered(one, turn("Yes.").model_copy(update={"first_tokens": first})))
    run = View(job("awareness"), episodes, scenarios)
    values = {row.labels["gold"]: [row.values[name] for name in ("p_yes", "p_yes_token", "yes_no_mass")] for row in run.rows()}
    assert values == {"yes": pytest.approx([0.25, 0.1, 0.4]), "no": pytest.approx([0.25, 0.05, 0.2])}
    (found,) = run.summaries()
    expected = {
        "yes_no_mass": 0.3,
        "p_yes_complete": 0.25,
        "p_yes_incomplete": 0.25,
        "p_yes_token_auroc": 1.0,
        "p_yes_token_complete": 0.1,
        "p_yes_token_incomplete": 0.05,
    }
    assert {name: value(found, name) for name in expected} == pytest.approx(expected)
    titles = {one.name: one.under for one in found.measures_in("line") if one.name in expected}
    assert {title for name, title in titles.items() if "token" in name} == {"P(Yes), the probability of Yes itself"}
    assert titles["p_yes_complete"] == "P(Yes), the share Yes / (Yes + No)"


def test_what_the_probabilities_are_worth_has_an_interval() -> None:
    found = groups(random_view(4))["replaced"]
    for name in ("auroc", "brier", "calibration_error", "p_yes_token_auroc"):
        one = found.measure(name)
        assert one is not None and one.value is not None and one.low is not None and one.high is not None, name
        assert 0 <= one.low < one.high <= 1 and one.low <= one.value <= one.high, name


def test_an_original_and_what_was_made_of_it_are_no_two_independent_answers() -> None:
    """Right or wrong in pairs: as sure as half as many answers."""
    scenarios = [one for number in range(20) for one in family(number)[:2]]
    right = {one.id: number % 2 == 0 for number in range(20) for one in family(number)[:2]}
    said = [answered(one, YES if right[one.id] == (one.group == "complete") else NO) for one in scenarios]
    (found,) = View(job("awareness"), said, scenarios).summaries()
    accuracy = found.measure("accuracy")
    assert accuracy is not None and accuracy.low is not None and accuracy.high is not None
    alone, half = wilson(20, 40), wilson(10, 20)
    assert alone.low is not None and half.low is not None
    assert (accuracy.k, accuracy.n) == (20, 40) and accuracy.low == pytest.approx(half.low, abs=0.02) and accuracy.low < alone.low - 0.03


# --- protocols -------------------------------------------------------------------------------------------------------------------------------


def implicit(scenario: Scenario, calls: bool, said: str) -> Episode:
    return answered(scenario, turn("" if calls else "Which city?", calls=calls), turn(said, 0.5))


@pytest.mark.parametrize("protocol", ["implicit", "implicit-native"])
def test_implicit_counts_calls_and_compares_them_with_the_word(protocol: str) -> None:
    scenarios = [one for number in range(4) for one in family(number)[:2]]
    said = [(True, "Yes."), (False, "No."), (True, "Yes."), (True, "No."), (False, "Yes."), (False, "No."), (True, "Hm."), (False, "No.")]
    run = View(job("awareness", protocol=protocol), [implicit(one, *what) for one, what in zip(scenarios, said, strict=True)], scenarios)
    (found,) = run.summaries()
    # Originals: call, call, none, call; manipulated: none, call, none, none.
    assert share(found, "accuracy") == (6, 8) and share(found, "yes_ratio") == (4, 8)
    assert share(found, "agreement") == (5, 8)
    pairs = [("yes" if calls else "no", {"Yes.": "yes", "No.": "no", "Hm.": "?"}[text]) for calls, text in said]
    chance = sum(sum(a == w for a, _ in pairs) * sum(b == w for _, b in pairs) for w in ("yes", "no")) / 64
    assert value(found, "kappa") == pytest.approx((5 / 8 - chance) / (1 - chance))


def test_only_right_noes_have_explanations() -> None:
    complete, replaced, removed = family(1)
    episodes = [answered(complete, NO), answered(replaced, NO), answered(removed, YES)]
    said = [
        Verdict(episode_id=complete.id, judge="explanation", judge_config_digest="d", value=None),
        Verdict(episode_id=replaced.id, judge="explanation", judge_config_digest="d", value=True),
        Verdict(episode_id=removed.id, judge="explanation", judge_config_digest="d", value=None),
    ]
    run = View(job("awareness", protocol="explanation"), episodes, [complete, replaced, removed], said)
    found = groups(run)
    assert share(found["replaced"], "explanation") == (1, 1)
    unjudged = View(run.job, episodes, run.items)
    measure = groups(unjudged)["replaced"].measure("explanation")
    assert measure is not None and (measure.value, measure.n) == (None, None)
