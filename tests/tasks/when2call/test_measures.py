from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.stats import bootstrap, wilson
from talm_sim.tasks.paper.published import PublishedTable, published
from talm_sim.tasks.when2call.measures import labels_of
from talm_sim.tasks.when2call.scored import OptionScore, Scored
from talm_sim.tasks.when2call.scores import BEHAVIOURS, Counts, class_scores, confusion, macro_f1, macro_f1_interval
from talm_sim.types import (
    UNPARSED,
    Behaviour,
    Choice,
    Episode,
    Measure,
    Option,
    Precision,
    Rate,
    Scenario,
    Summary,
    Termination,
    Turn,
    Verdict,
)
from tests.tables import labelled
from tests.tasks.views import View, check_summaries, job

DIRECT, CALL, ASK, CANNOT = BEHAVIOURS
PUBLISHED = [published("when2call", number) for number in range(14, 20)]
"""The confusion matrices the paper prints whole: Tables 14 to 19."""
LABELS = st.sampled_from([*BEHAVIOURS, UNPARSED])
LOGPROB, JUDGED = job("when2call"), job("when2call", mode="judge")
HALLUCINATIONS = ("tool", "answer", "parameter")


def counts_of(table: PublishedTable) -> Counts:
    return tuple(tuple(int(value or 0) for value in row.values.values()) for row in table.rows)


def scenario(name: str, gold: Behaviour, *, tools: bool = True) -> Scenario:
    options = tuple(Option(behaviour=one, text=f"{one.value} text") for one in BEHAVIOURS)
    turn = Turn(messages=({"role": "user", "content": "What now?"},))
    target = Choice(gold=gold, options=options)
    return Scenario(id=name, task="when2call", group=gold.value, turns=(turn,), shown_tools=('{"name": "t"}',) if tools else (), target=target)


def scored(
    name: str,
    logprobs: Sequence[float],
    sizes: Sequence[int] = (1, 1, 1, 1),
    end: Termination = Termination.ANSWERED,
    epoch: int = 1,
    precision: Precision | None = None,
) -> Episode:
    scores = tuple(OptionScore(behaviour=b, logprob=lp, tokens=1, size=size) for b, lp, size in zip(BEHAVIOURS, logprobs, sizes, strict=True))
    kept = Scored(option_scores=scores, precision=precision).model_dump(mode="json")
    return Episode(
        id=name if epoch == 1 else f"{name}@{epoch}",
        scenario_id=name,
        group="g",
        epoch=epoch,
        model="m/m",
        details=kept if end is Termination.ANSWERED else {},
        termination=end,
    )


def chose(name: str, behaviour: Behaviour, epoch: int = 1) -> Episode:
    return scored(name, [0.0 if one is behaviour else -1.0 for one in BEHAVIOURS], epoch=epoch)


@pytest.mark.parametrize(("dtype", "said"), [("bfloat16", True), ("float32", False)])
def test_rows_that_half_precision_does_not_settle_are_counted(dtype: str, said: bool) -> None:
    precision = Precision(dtype=dtype, batch_size=8, attention="sdpa")
    episodes = [
        scored("a", [-1.0, -2.1, -9.0, -9.0], precision=precision),
        scored("b", [-1.0, -2.3, -9.0, -9.0], precision=precision),
    ]
    items = [scenario("a", DIRECT), scenario("b", DIRECT)]
    [summary] = View(LOGPROB, episodes, items).summaries()
    assert (summary.facts["dtype"], summary.facts["batch_size"], summary.facts["attention"]) == (dtype, "8", "sdpa")
    line = "1 of 2 rows are decided by less than 1.2 nat, by which a score in bfloat16 can move"
    assert any(note.startswith(line) and "-M dtype=float32" in note and "-M batch_size=1" in note for note in summary.notes) is said


def free(name: str, end: Termination = Termination.ANSWERED) -> Episode:
    return Episode(id=name, scenario_id=name, group="g", model="m/m", answer="text", termination=end)


def verdict(name: str, label: str, judge: str = "behaviour") -> Verdict:
    return Verdict(episode_id=name, judge=judge, value=True, label=label)


def summary(view: View) -> Summary:
    (found,) = view.summaries()
    return found


def measure(found: Summary, name: str) -> Measure:
    one = found.measure(name)
    assert one is not None
    return one


def rate(found: Summary, name: str) -> Rate:
    return measure(found, name).rate()


def hallucinations(found: Summary) -> dict[str, Rate]:
    return {name: rate(found, f"{name}_hallucination") for name in HALLUCINATIONS}


def matrix_of(found: Summary) -> Counts:
    (matrix,) = found.matrices
    assert (matrix.name, matrix.rows, matrix.columns[:4]) == ("confusion", tuple(map(str, BEHAVIOURS)), tuple(map(str, BEHAVIOURS)))
    assert len(matrix.heads) == len(matrix.columns) and all(len(head) <= 9 for head in matrix.heads)
    return matrix.counts


@pytest.mark.parametrize("table", PUBLISHED[:2], ids=lambda table: f"table {table.table}")
def test_a_published_matrix_is_met_again_through_the_summary(table: PublishedTable) -> None:
    matrix = counts_of(table)
    cells = [(gold, chosen) for i, gold in enumerate(BEHAVIOURS) for j, chosen in enumerate(BEHAVIOURS) for _ in range(matrix[i][j])]
    asked, said = {gold: scenario("0", gold) for gold in BEHAVIOURS}, {chosen: chose("0", chosen) for chosen in BEHAVIOURS}
    scenarios = [asked[gold].model_copy(update={"id": str(number)}) for number, (gold, _) in enumerate(cells)]
    episodes = [said[chosen].model_copy(update={"id": str(number), "scenario_id": str(number)}) for number, (_, chosen) in enumerate(cells)]
    found = summary(View(LOGPROB, episodes, scenarios))
    assert matrix_of(found) == matrix and found.n == found.total == 3652
    results = published("when2call", 12)
    assert f"{measure(found, 'macro_f1').value:.3f}" == f"{results.share(results.row(table.rows[0].keys[0]), 'F1'):.3f}"
    assert rate(found, "accuracy") == wilson(sum(matrix[i][i] for i in range(4)), 3652)
    assert rate(found, "parameter_hallucination") == wilson(matrix[2][1], 1062)
    assert rate(found, "answer_hallucination") == wilson(sum(row[0] for row in matrix), 3652)
    assert rate(found, "tool_hallucination").n == 0, "none of these rows is without tools"
    assert Summary.model_validate_json(found.model_dump_json()) == found


def test_the_two_argmaxes_and_the_ties_go_to_the_first_option() -> None:
    rows = [scenario(name, gold) for name, gold in (("a", DIRECT), ("b", CANNOT), ("c", CALL))]
    episodes = [
        scored("a", [-4, -4, -8, -8], [2, 1, 1, 1]),  # a tie: the first; by byte -2, -4, -8, -8
        scored("b", [-3, -2, -9, -6], [3, 1, 1, 12]),  # by byte -1, -2, -9, -0.5
        scored("c", [-9, -1, -1, -1], [1, 2, 1, 2]),  # both tie, and take the first that is best
    ]
    view = View(LOGPROB, episodes, rows)
    found = summary(view)
    assert found.facts == {"unparsed": 0, "mode": "logprob", "judge": None} and found.matrices[0].columns == tuple(map(str, BEHAVIOURS))
    assert matrix_of(found) == ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0))
    assert rate(found, "accuracy") == wilson(2, 3)
    assert rate(found, "accuracy_norm") == wilson(3, 3)
    assert [row.labels for row in view.rows()] == [
        {"gold": "direct", "chosen": "direct", "chosen_per_byte": "direct"},
        {"gold": "cannot_answer", "chosen": "tool_call", "chosen_per_byte": "cannot_answer"},
        {"gold": "tool_call", "chosen": "tool_call", "chosen_per_byte": "tool_call"},
    ]
    assert [(row.values["accuracy"], row.values["accuracy_norm"]) for row in view.rows()] == [(True, True), (False, True), (True, True)]


def test_the_hallucination_rates_are_over_the_rows_they_are_about() -> None:
    rows = [
        (scenario("none-called", CANNOT, tools=False), CALL),
        (scenario("none-declined", CANNOT, tools=False), CANNOT),
        (scenario("some-called", CANNOT), CALL),
        (scenario("asked", ASK), ASK),
        (scenario("made-up", ASK), CALL),
        (scenario("made-up-too", ASK, tools=False), CALL),
        (scenario("said", CALL), DIRECT),
        (scenario("rightly-said", DIRECT), DIRECT),
    ]
    view = View(LOGPROB, [chose(row.id, label) for row, label in rows], [row for row, _ in rows])
    assert hallucinations(summary(view)) == {"tool": wilson(1, 2), "answer": wilson(1, 7), "parameter": wilson(2, 3)}
    valued = {
        row.episode: {name: row.values[key] for name in HALLUCINATIONS if (key := f"{name}_hallucination") in row.values} for row in view.rows()
    }
    assert valued == {
        "none-called": {"tool": True, "answer": False},
        "none-declined": {"tool": False, "answer": False},
        "some-called": {"answer": False},
        "asked": {"answer": False, "parameter": False},
        "made-up": {"answer": False, "parameter": True},
        "made-up-too": {"answer": False, "parameter": True},
        "said": {"answer": True},
        "rightly-said": {},
    }


def test_what_is_not_scored_is_counted_and_in_no_rate() -> None:
    ends = [Termination.CONTEXT_OVERFLOW, Termination.CONTEXT_OVERFLOW, Termination.INFRASTRUCTURE_ERROR]
    names = ["long", "longer", "broken"]
    rows = [scenario(name, CALL) for name in ("right", *names)]
    skipped = [scored(name, [0, 0, 0, 0], end=end) for name, end in zip(names, ends, strict=True)]
    view = View(LOGPROB, [chose("right", CALL), *skipped], rows)
    found = summary(view)
    assert (found.total, found.n) == (4, 1)
    assert found.not_scored == {"context_overflow": 2, "infrastructure_error": 1}
    assert rate(found, "accuracy") == wilson(1, 1)
    assert [(row.not_scored, row.values, row.labels) for row in view.rows()[1:]] == [(end.value, {}, {"gold": "tool_call"}) for end in ends]


def test_judge_mode_takes_the_llm_judge_and_says_how_far_the_rules_agree() -> None:
    rows = [scenario(name, gold) for name, gold in (("a", CALL), ("b", ASK), ("c", CANNOT), ("d", CANNOT))]
    verdicts = [
        *(verdict(name, label) for name, label in (("a", "tool_call"), ("b", "direct"), ("c", "cannot_answer"), ("d", "direct"))),
        *(verdict(name, label, "behaviour-llm") for name, label in (("a", "tool_call"), ("b", "request_for_info"), ("c", UNPARSED))),
    ]
    view = View(JUDGED, [free(row.id) for row in rows], rows, verdicts)
    found = summary(view)
    assert found.facts == {"unparsed": 1, "mode": "judge", "judge": "behaviour-llm"}
    assert found.matrices[0].columns == (*map(str, BEHAVIOURS), UNPARSED)
    assert matrix_of(found) == ((0, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1))
    assert rate(found, "accuracy") == wilson(2, 3) and measure(found, "accuracy_norm").n is None
    assert found.not_scored == {"not judged": 1}
    assert labels_of(view).notes == ("judge behaviour gives the same label to 1 of 3 answers",)
    assert labels_of(view).notes[0] in view.job.task.notes([found], view)
    scores = {name: measure(found, f"{name}_cannot_answer") for name in ("recall", "precision", "support")}
    assert {name: one.value for name, one in scores.items()} == {"recall": 0, "precision": None, "support": 1}
    assert [(one.place, one.under, one.kind) for one in scores.values()] == [
        ("matrix", "cannot_answer", "number"),
        ("matrix", "cannot_answer", "number"),
        ("hidden", "cannot_answer", "number"),
    ]
    assert [(row.labels.get("chosen"), row.labels["judge"], row.not_scored) for row in view.rows()] == [
        ("tool_call", "behaviour-llm", ""),
        ("request_for_info", "behaviour-llm", ""),
        (UNPARSED, "behaviour-llm", ""),
        (None, "behaviour-llm", "not judged"),
    ]
    assert not any("accuracy_norm" in row.values or "chosen_per_byte" in row.labels for row in view.rows())


def test_judge_mode_by_the_rules_alone_and_by_nobody() -> None:
    rows = [scenario("a", CALL)]
    assert summary(View(JUDGED, [free("a")], rows, [verdict("a", "tool_call")])).facts["judge"] == "behaviour"
    view = View(JUDGED, [free("a")], rows, [Verdict(episode_id="a", judge="reference", value=True)])
    nobody = summary(view)
    assert (nobody.facts["judge"], nobody.n, labels_of(view).notes) == (None, 0, ("no judge has labelled these answers",))
    assert nobody.not_scored == {"not judged": 1}
    assert "no judge has labelled these answers" in view.job.task.notes([nobody], view)


def test_a_labelling_judge_of_ones_own_never_classifies() -> None:
    """It has a column of its own, whoever else labelled."""
    rows = [scenario("a", CALL)]
    alone = View(JUDGED, [free("a")], rows, [verdict("a", "tool_call", "aaa")])
    assert (summary(alone).facts["judge"], summary(alone).n, labels_of(alone).of) == (None, 0, {})
    beside = View(JUDGED, [free("a")], rows, [verdict("a", "tool_call", "aaa"), verdict("a", "direct")])
    assert (summary(beside).facts["judge"], matrix_of(summary(beside))[1][0]) == ("behaviour", 1)
    assert labels_of(beside).notes == ()


def test_a_label_that_is_no_behaviour_is_unparsed() -> None:
    view = View(JUDGED, [free("a")], [scenario("a", CALL)], [verdict("a", "call it"), verdict("gone", "direct")])
    assert [row.labels["chosen"] for row in view.rows()] == [UNPARSED]
    assert labels_of(view).of == {"a": UNPARSED}, "what was said of an episode that is not there is passed over"


def test_repeats_of_the_same_answers_leave_the_interval_of_macro_f1_as_it_is() -> None:
    rows = [scenario(name, CALL if name < "m" else ASK) for name in "abcmno"]
    chosen = dict(zip("abcmno", (CALL, CALL, ASK, ASK, CALL, ASK), strict=True))
    once = summary(View(LOGPROB, [chose(name, one) for name, one in chosen.items()], rows)).measure("macro_f1")
    episodes = [chose(name, one, epoch=epoch) for name, one in chosen.items() for epoch in (1, 2, 3)]
    found = summary(View(LOGPROB, episodes, rows))
    thrice = found.measure("macro_f1")
    assert once is not None and thrice is not None and once.low is not None
    assert (thrice.value, thrice.low, thrice.high) == pytest.approx((once.value, once.low, once.high))
    assert found.notes == () and found.n == 18


def test_the_interval_of_macro_f1_over_epochs_is_that_of_drawn_scenarios() -> None:
    draw = random.Random(5)
    cells: list[list[tuple[int, int]]] = []
    for _ in range(150):
        gold, sure = draw.randrange(4), draw.random() < 0.5
        cells.append([(gold, gold if sure or draw.random() < 0.2 else draw.randrange(4)) for _ in range(4)])

    def value(times: Sequence[int]) -> float | None:
        counts = Counter(cell for number, own in zip(times, cells, strict=True) for cell in own * number)
        return macro_f1(tuple(tuple(counts[i, j] for j in range(4)) for i in range(4)))

    counts = Counter(cell for own in cells for cell in own)
    matrix = tuple(tuple(counts[i, j] for j in range(4)) for i in range(4))
    drawn, found, plain = bootstrap(len(cells), value), macro_f1_interval(matrix, cells), macro_f1_interval(matrix)
    assert drawn is not None and found is not None and plain is not None
    assert found == pytest.approx(drawn, abs=0.01)
    assert plain[1] - plain[0] < 0.75 * (found[1] - found[0]), "as if all were independent"


def test_a_label_without_a_column_is_refused() -> None:
    with pytest.raises(ValueError, match="unparsed"):
        confusion([CALL], [UNPARSED])
    with pytest.raises(ValueError):
        confusion([CALL], [])


@given(st.lists(st.floats(allow_nan=False, max_value=0), min_size=4, max_size=4), st.lists(st.integers(1, 9), min_size=4, max_size=4))
def test_the_first_of_the_likeliest_is_chosen(values: list[float], sizes: list[int]) -> None:
    episode = scored("a", values, sizes)
    by_byte = [value / size for value, size in zip(values, sizes, strict=True)]
    found = Scored.of(episode)
    assert (found.chosen, found.chosen_per_byte) == (BEHAVIOURS[values.index(max(values))], BEHAVIOURS[by_byte.index(max(by_byte))])
    assert (Scored.of(free("a")).chosen, Scored.of(free("a")).chosen_per_byte) == (None, None)


ENDS = st.sampled_from([Termination.ANSWERED, Termination.ANSWERED, Termination.CONTEXT_OVERFLOW, Termination.CANCELLED])
CASES = st.lists(st.tuples(st.sampled_from(BEHAVIOURS), LABELS, st.booleans(), ENDS, st.integers(0, 3)), max_size=30)


@settings(deadline=None)
@given(CASES, st.booleans(), st.randoms(use_true_random=False))
def test_every_number_is_that_of_the_rows_whatever_their_order(
    cases: list[tuple[Behaviour, str, bool, Termination, int]], judged: bool, shuffler: random.Random
) -> None:
    items, episodes, said = [], [], []
    for number, (gold, label, tools, end, second) in enumerate(cases):
        name = str(number)
        items.append(scenario(name, gold, tools=tools))
        logprobs = [0.0 if one == label else -1.0 for one in BEHAVIOURS]
        episodes.append(free(name, end) if judged else scored(name, logprobs, [second + 1, 1, 2, 3], end))
        if second:
            said.append(verdict(name, label, "behaviour" if second == 1 else "behaviour-llm"))
    view = View(JUDGED if judged else LOGPROB, episodes, items, said)
    check_summaries(view, shuffler)
    (found,), rows = view.summaries(), [row for row in view.rows() if row.scored]
    counted = confusion([Behaviour(row.labels["gold"]) for row in rows], [row.labels["chosen"] for row in rows], with_unparsed=judged)
    assert matrix_of(found) == counted
    macro, limits = measure(found, "macro_f1"), macro_f1_interval(counted)
    assert (macro.value, (macro.low, macro.high)) == (macro_f1(counted), limits or (None, None))
    for behaviour, scores in class_scores(counted).items():
        assert {name: measure(found, f"{name}_{behaviour}").value for name in ("precision", "recall", "f1", "support")} == scores.model_dump()


def test_the_interval_is_left_out_where_the_method_knows_no_spread() -> None:
    right = tuple(tuple(5 if i == j else 0 for j in range(4)) for i in range(4))
    assert macro_f1(right) == 1 and macro_f1_interval(right) is None
    assert macro_f1_interval(((0, 0, 0, 0),) * 4) is None


@labelled
def test_details_of_another_form_are_one_line(details: dict[str, object], fault: str) -> None:
    with pytest.raises(PrerequisiteError, match=rf"^episode 'a' is damaged: {fault}[^\n]*; restore the run from a copy\.$"):
        Scored.of(free("a").model_copy(update={"details": details}))
