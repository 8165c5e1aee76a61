"""Agreement of people and judges on written runs: by hand, with weights and intervals by base; and the run's tables, gates and comparison."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from talm_sim.common.kappa import alpha, kappa
from talm_sim.comparison.compare import compare
from talm_sim.comparison.gate_set import check_gates
from talm_sim.judges.stats import wilson
from talm_sim.store.people.ballot import choose_question, find_people, open_ballot
from talm_sim.store.people.kept_verdicts import plain_share
from talm_sim.store.people.people_agreement import Agreement, agreements, rate_of
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Measure
from tests.store.people.judged import talm_run, when2call_run


def judge_all(run: StoredRun, name: str, share: float, *, seed: int = 0, size: int | None = None) -> dict[str, str]:
    """Let a person give the judge's label, or by chance another one."""
    question = choose_question(run)
    draw, labels = random.Random(seed), list(question.labels.values())
    said = {one.episode_id: one for one in run.verdicts()}
    with closing(open_ballot(run, question, name, size=size)) as ballot:
        right = {item: said[item].label or question.said[bool(said[item].value)] for item in sorted(ballot.items)}
        given = {
            item: label if draw.random() < share else draw.choice([one for one in labels if one != label]) for item, label in right.items()
        }
        ballot.give_all({item: (label, "") for item, label in given.items()})
    return given


def found(run: StoredRun) -> dict[str, Agreement]:
    run = load_run(run.path)
    people = find_people(run, choose_question(run))
    assert people is not None
    return {one.between[-1] if not one.people else "people": one for one in agreements(run, people)}


def measures(agreement: Agreement, run: StoredRun) -> dict[str, Measure]:
    return {one.name: one for one in agreement.summary(choose_question(run)).measures}


def test_two_people_and_a_judge_of_a_run_that_was_judged_whole(tmp_path: Path) -> None:
    run = talm_run(tmp_path)
    ann, bob = judge_all(run, "ann", 0.8), judge_all(run, "bob", 0.7, seed=1)
    of = found(run)
    assert [*of] == ["people", "reference"]
    shown = measures(of["people"], run)
    pairs = [(ann[one], bob[one]) for one in ann]
    agreed = sum(one == other for one, other in pairs)
    assert (shown["agreement"].k, shown["agreement"].n) == (agreed, 20) and shown["kappa"].value == pytest.approx(kappa(pairs), abs=1e-12)
    assert shown["kappa"].low is not None and shown["kappa"].high is not None
    assert shown["kappa"].low < (shown["kappa"].value or 0) < shown["kappa"].high
    passes = [*ann.values(), *bob.values()].count("pass")
    assert (shown["base_rate_people"].k, shown["base_rate_people"].n) == (passes, 40)
    assert "agreement_weighted" not in shown, "each stands for itself"
    both = {one: label for one, label in ann.items() if label == bob[one]}
    reference = {one.episode_id: "pass" if one.value else "fail" for one in run.verdicts()}
    shown = measures(of["reference"], run)
    assert shown["agreement"].k == sum(reference[one] == label for one, label in both.items()) and shown["agreement"].n == len(both)
    assert shown["kappa"].value == pytest.approx(kappa([(label, reference[one]) for one, label in both.items()]), abs=1e-12)
    assert shown["base_rate_judge"].k == sum(reference[one] == "pass" for one in both)


def test_three_people_have_an_alpha_also_where_one_has_judged_few(tmp_path: Path) -> None:
    run = when2call_run(tmp_path)
    said = [judge_all(run, "ann", 0.9), judge_all(run, "bob", 0.7, seed=1), dict(list(judge_all(run, "cy", 0.6, seed=2).items()))]
    of = found(run)
    shown = measures(of["people"], run)
    assert shown["alpha"].value == pytest.approx(alpha([[one[item] for one in said] for item in said[0]]), abs=1e-12)
    with closing(open_ballot(run, choose_question(run), "dee")) as ballot:
        ballot.give(ballot.items[0], "direct")
        first = ballot.items[0]
    shown = measures(found(run)["people"], run)
    items = [[*(one[item] for one in said), *(["direct"] if item == first else [])] for item in said[0]]
    assert shown["alpha"].value == pytest.approx(alpha(items), abs=1e-12) and shown["alpha"].n == 20
    judged = found(run)["behaviour"]
    (matrix,) = judged.summary(choose_question(run)).matrices
    assert sum(map(sum, matrix.counts)) == judged.n and matrix.rows == matrix.columns == (
        "direct",
        "tool_call",
        "request_for_info",
        "cannot_answer",
    )
    assert sum(matrix.counts[place][place] for place in range(4)) == judged.agreed


def test_a_sample_stands_for_its_run(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 120)
    judge_all(run, "ann", 1.0, size=50)
    run = load_run(run.path)
    shown = {(one.group, measure.name): measure for one in run.summary() for measure in one.measures}
    truth = {group: [one.value for one in run.verdicts() if one.episode_id.endswith(group)] for group in ("perfect", "underspecified")}
    for group, values in truth.items():
        person, own = shown[group, "person"], shown[group, "pass_rate"]
        assert person.kind == "score" and 15 < (person.n or 0) < 35, "more than every third judged one passed"
        assert person.value == pytest.approx(sum(map(bool, values)) / 60) == pytest.approx(own.value)
        assert person.low is not None and own.low is not None and person.low < own.low
        assert person.under == "people" and own.under == "" and shown[group, "person:ann"].place == "hidden"
    assert check_gates(run, ["perfect.person>=0.3", "person:ann<=0.5"])[0].passed
    strata = {row.labels["person_stratum"] for row in run.rows()}
    assert strata == {"passed", "failed"}


def test_compare_uses_the_labels_of_a_sample_only_where_both_have_them(tmp_path: Path) -> None:
    first, second, few, none = (talm_run(tmp_path, 120, name=name) for name in ("first", "second", "few", "none"))
    judge_all(first, "ann", 0.95, size=60)
    judge_all(second, "bob", 0.6, seed=2, size=60)
    question = choose_question(few)
    said = {one.episode_id: one.value for one in few.verdicts()}
    with closing(open_ballot(few, question, "ann", size=60)) as ballot:
        ballot.give_all({item: ("fail", "") for item in ballot.items if not said[item]})
    compared = compare(load_run(first.path), load_run(second.path))
    found = compared.difference("person", "perfect")
    assert found is not None and found.p is None and found.difference is not None and found.low is not None and found.high is not None
    assert found.low <= found.difference <= found.high and found.difference == pytest.approx((found.second or 0) - (found.first or 0))
    own = {one.group: one.measure("person") for one in load_run(first.path).summary()}["perfect"]
    assert own is not None and found.first == pytest.approx(own.value)
    assert any(one.startswith("People: the rates that people's labels give") for one in compared.warnings)
    for other, why in ((few, "a verdict of A or B has none"), (none, "only A has some")):
        compared = compare(load_run(first.path), load_run(other.path))
        assert compared.difference("person") is None and compared.difference("pass_rate") is not None
        assert any(one.endswith(why) for one in compared.warnings), compared.warnings
        assert not any("labels" in one for one in compare(first.path, other.path, measures=["pass_rate"]).warnings)
    rate, missing = rate_of(load_run(few.path), find_people(load_run(few.path), question) or pytest.fail())
    assert (rate.value, rate.n, missing) == (None, 40, ["passed"])


@pytest.mark.parametrize("repeated", [False, True])
def test_intervals_go_by_base(tmp_path: Path, repeated: bool) -> None:
    bases = [f"b-{n // 4 if repeated else n}" for n in range(40)]
    judged = [(base, int(base.removeprefix("b-")) % 2 == 0) for base in bases]
    found = plain_share(judged, "a", "A")
    plain = wilson(20, 40)
    assert found.value == 0.5 and found.low is not None and plain.low is not None
    assert (found.low < plain.low - 0.05) is repeated, "ten requests, of which each was judged four times, are ten"


def test_compare_takes_people_by_name(tmp_path: Path) -> None:
    first, second = talm_run(tmp_path, name="first"), talm_run(tmp_path, name="second")
    for run, share in ((first, 0.3), (second, 1.0)):
        judge_all(run, "ann", share)
        judge_all(run, "bob", 1.0, seed=9)
    compared = compare(load_run(first.path), load_run(second.path), measures=["person:ann", "person"])
    ann = compared.difference("person:ann", "perfect")
    assert ann is not None and ann.pairs == 10 and ann.p is not None and ann.low is not None
    assert ann.second == pytest.approx(0.4)
    alone = talm_run(tmp_path, name="alone")
    assert compare(load_run(first.path), alone).difference("pass_rate") is not None, "people's verdicts on one alone do not keep them apart"
