"""What the answers of task `refusal` add up to."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from talm_sim.judges.stats import wilson
from talm_sim.tasks import find_task
from talm_sim.tasks.refusal.measures import gap_of
from talm_sim.types import Calls, Row, Scenario, Source, Summary, Termination
from tests.tasks.refusal.crafted import answered, calls, case, said
from tests.tasks.views import View, check_summaries, job, share

NONE, ANY = Calls(expected="none"), Calls(expected="any")
RIGHT = calls(city="Hue")


def view(outcomes: Sequence[tuple[str, Calls, bool | None, bool | None]], **options: str) -> View:
    """A run of rows, each with its subset, its target, and what the judges of format and of intent say of it."""
    items = [case(f"{group}_{number}", group, target) for number, (group, target, _, _) in enumerate(outcomes)]
    pairs = list(zip(items, outcomes, strict=True))
    read = [said(one, "calls", value, "" if value else "count") for one, (_, _, value, _) in pairs]
    meant = [said(one, "intent", value, "tag", "a call is attempted (tag): <tool_call>") for one, (_, _, _, value) in pairs]
    return View(job("refusal", **options), [answered(one) for one in items], items, [*read, *meant])


def group(run: View, name: str) -> Summary:
    return next(one for one in run.summaries() if one.group == name)


def value(summary: Summary, name: str) -> float | int | None:
    measure = summary.measure(name)
    assert measure is not None, name
    return measure.value


def note(summary: Summary, name: str) -> str:
    measure = summary.measure(name)
    assert measure is not None, name
    return measure.note


def test_a_malformed_attempt_is_a_refusal_by_format_and_none_by_intent() -> None:
    run = view([("irrelevance", NONE, True, True), ("irrelevance", NONE, True, False), ("irrelevance", NONE, False, False)])
    summary = group(run, "irrelevance")
    assert share(summary, "h_s") == (2, 3)
    assert share(summary, "h_i") == (1, 3)
    assert value(summary, "gap") == pytest.approx(1 / 3)
    assert summary.facts["malformed"] == 1
    assert [one.labels["found"] for one in run.rows()] == ["no call", "malformed", "call"]


def limits(summary: Summary, name: str) -> tuple[float, float]:
    measure = summary.measure(name)
    assert measure is not None and measure.low is not None and measure.high is not None, name
    return measure.low, measure.high


def test_the_gap_has_an_interval_and_its_two_figures_are_drawn_together() -> None:
    """Apart, a gap of .2 between two shares of 40 rows could be chance; row by row it is eight malformed attempts of 40."""
    rows = [("irrelevance", NONE, True, True)] * 20 + [("irrelevance", NONE, True, False)] * 8 + [("irrelevance", NONE, False, False)] * 12
    summary = group(view(rows), "irrelevance")
    low, high = limits(summary, "gap")
    assert (low, high) == pytest.approx((0.08, 0.33), abs=0.03) and value(summary, "gap") == pytest.approx(0.2)
    assert "gap_low" in summary.record()


@pytest.mark.parametrize(("meant", "gap"), [(True, 0.0), (False, 1.0)])
def test_a_gap_that_is_the_same_everywhere_is_as_sure_as_so_many_rows(meant: bool, gap: float) -> None:
    summary = group(view([("irrelevance", NONE, True, meant)] * 12), "irrelevance")
    rate = wilson(int(12 * gap), 12)
    assert value(summary, "gap") == gap and limits(summary, "gap") == (rate.low, rate.high)


def test_a_gap_below_zero_has_an_interval_around_it() -> None:
    """BFCL reads calls where ours reads none."""
    rows = [row(f"q{number}", h_i=True, h_s_bfcl=False) for number in range(6)]
    value, low, high = gap_of(rows, "h_s_bfcl")
    assert value == -1.0 and low is not None and high is not None and low == -1.0 < high < -0.5


def row(base: str, **values: bool) -> Row:
    return Row(episode=base, scenario=base, base=base, group="g", labels={"gold": "none"}, values=dict(values))


def test_the_studys_live_hallucination_counts_each_row_by_its_own_rule() -> None:
    outcomes = [("live_irrelevance", NONE, True, False)] * 3 + [("live_relevance", ANY, False, True), ("live_relevance", ANY, True, True)]
    whole = group(view(outcomes), "all")
    assert share(whole, "h_s") == (4, 5), "three without a call, and one of two with any"
    assert share(whole, "h_i") == (2, 5), "all three attempted a call; both attempted one where any is right"
    assert value(whole, "gap") == pytest.approx(2 / 5), "over the same five rows as the two figures beside it"
    alone = group(view(outcomes), "live_irrelevance")
    assert (share(alone, "h_i"), value(alone, "gap")) == ((0, 3), 1.0), "live_irrelevance stands alone beside it"


def test_what_was_not_run_has_no_value() -> None:
    whole = group(view([("live_irrelevance", NONE, True, True), ("irrelevance", NONE, True, True)]), "all")
    assert share(whole, "irr") == (1, 1)
    assert value(whole, "h_i") is None and value(whole, "h_s") is None and value(whole, "gap") is None
    assert whole.measure("ast") is None
    assert value(whole, "v4_overall") is None and "not run" in note(whole, "v4_overall")


def test_overall_scores_are_of_subsets_that_were_run_whole() -> None:
    outcomes = [("irrelevance", NONE, True, True)] * 240 + [("live_irrelevance", NONE, True, True)] * 884
    whole = group(view([*outcomes, ("live_relevance", ANY, True, True)]), "all")
    assert value(whole, "v4_total_irrelevance") == 1.0
    part = group(view(outcomes[:-879]), "all")
    assert value(part, "v4_total_irrelevance") is None
    assert note(part, "v4_total_irrelevance") == "incomplete: 245 of 1,124 rows"
    assert note(part, "v4_overall") == "19 subsets not run, 1 in part"
    unjudged = group(view([("irrelevance", NONE, None, True), *outcomes[1:]]), "all")
    assert note(unjudged, "v4_total_irrelevance") == "incomplete: 1,123 of 1,124 rows"


@pytest.mark.parametrize(
    ("source", "rows", "whole"), [("BFCL v3", 882, True), ("BFCL v4", 882, False), ("a.jsonl", 882, True), ("", 881, False)]
)
def test_all_rows_are_those_of_the_datas_version(source: str, rows: int, whole: bool) -> None:
    run = view([("irrelevance", NONE, True, True)] * 240 + [("live_irrelevance", NONE, True, True)] * rows)
    run.items = [one.model_copy(update={"source": Source(name=source)}) for one in run.items]
    assert (value(group(run, "all"), "v4_total_irrelevance") == 1.0) == whole


def test_faults_stand_in_a_matrix() -> None:
    run = view([("simple_python", RIGHT, True, True), ("simple_python", RIGHT, False, True), ("irrelevance", NONE, True, False)])
    made, refused = group(run, "all").matrices
    assert (made.rows, made.columns[:2], made.counts[0][:2]) == (("simple_python",), ("right", "count"), (1, 1))
    assert (refused.rows, refused.columns, refused.counts) == (("irrelevance",), ("no call", "malformed", "call"), ((0, 1, 0),))


def test_our_own_groups_add_up_without_bfcls_sums() -> None:
    run = view([("fitting", RIGHT, True, True), ("removed", NONE, True, False), ("unrelated", NONE, True, True)])
    whole = group(run, "all")
    assert share(whole, "ast") == (1, 1) and share(whole, "h_i") == (1, 2) and share(whole, "h_s") == (2, 2)
    assert not whole.measures_in("line") and whole.measure("irr") is None
    assert [one.group for one in run.summaries()] == ["fitting", "removed", "unrelated", "all"]


def test_cut_off_outputs_and_prompts_over_the_context_are_counted() -> None:
    items = [case(name) for name in "abc"]
    episodes = [answered(items[0], "<tool", "length"), answered(items[1]), answered(items[2], end=Termination.CONTEXT_OVERFLOW)]
    verdicts = [said(one, judge, True) for one in items[:2] for judge in ("calls", "intent")]
    run = View(job("refusal", max_new_tokens="128"), episodes, items, verdicts)
    (summary,) = run.summaries()
    assert (summary.n, summary.total, summary.not_scored, summary.facts["cut_off"]) == (2, 3, {"context_overflow": 1}, 1)


def test_notes_quote_malformed_attempts_and_say_which_way_is_up() -> None:
    run = view([("irrelevance", NONE, True, False)] * 5 + [("irrelevance", NONE, True, True)])
    notes = list(run.job.task.notes(run.summaries(), run))
    assert "Irrelevance, No attempt and No call are shares of rows without a call: higher is better" in notes
    assert "5 malformed attempts: meant as a call, and none can be read" in notes
    assert sum(note.endswith("a call is attempted (tag): <tool_call>") for note in notes) == 3


def test_what_bfcl_reads_stands_in_columns_of_its_own() -> None:
    items = [case("a", "live_irrelevance"), case("b", "live_irrelevance"), case("c", "live_relevance", ANY), case("d", "simple_python", RIGHT)]
    read, meant, bfcl = (True, True, False, False), (True, False, True, True), (False, True, True, True)
    verdicts = [
        said(one, judge, value)
        for judge, values in (("calls", read), ("intent", meant), ("calls-bfcl", bfcl))
        for one, value in zip(items, values, strict=True)
    ]
    run = View(job("refusal", template="pythonic"), [answered(one) for one in items], items, verdicts)
    live, whole = group(run, "live_irrelevance"), group(run, "all")
    assert (share(live, "h_s"), share(live, "h_i"), share(live, "h_s_bfcl")) == ((2, 2), (1, 2), (1, 2))
    assert (value(live, "gap"), value(live, "gap_bfcl")) == (0.5, 0.0)
    assert (share(group(run, "simple_python"), "ast"), share(group(run, "simple_python"), "ast_bfcl")) == ((0, 1), (1, 1))
    assert (share(whole, "h_s"), share(whole, "h_s_bfcl"), share(whole, "ast_bfcl")) == ((2, 3), (2, 3), (1, 1))
    assert live.facts["bfcl_only"] == 1
    assert "Gap(BFCL): BFCL reads a call in 1 output where no call is attempted (arguments without names)" in run.job.task.notes(
        run.summaries(), run
    )


@pytest.mark.parametrize(("template", "judges"), [("pythonic", 3), ("injected", 2), ("auto", 2)])
def test_bfcls_reader_is_asked_where_calls_are_a_list_in_pythons_syntax(template: str, judges: int) -> None:
    run = job("refusal", template=template)
    assert run.task.judges(run) == ("calls", "intent", "calls-bfcl")[:judges]
    assert run.task.calls_as(run) == ("pythonic" if judges == 3 else "")
    whole = group(view([("removed", NONE, True, True), ("fitting", RIGHT, True, True)], template=template), "all")
    assert value(whole, "h_s_bfcl") is None and value(whole, "ast_bfcl") is None, "columns without a value"


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_the_rows_alone(seed: int) -> None:
    draw = random.Random(seed)
    kinds = [("simple_python", RIGHT), ("irrelevance", NONE), ("live_irrelevance", NONE), ("live_relevance", ANY), ("removed", NONE)]
    outcomes = [(*draw.choice(kinds), draw.choice([True, False, None]), draw.choice([True, False, None])) for _ in range(60)]
    check_summaries(view(outcomes), draw)


def test_paper_rows_stand_beside_bfcls_rows_only() -> None:
    task = find_task("refusal")
    own: list[Scenario] = [case("a", "removed")]
    assert task.beside(View(job("refusal"), (), own)) is None
    beside = task.beside(View(job("refusal"), (), [case("b", language="th"), case("c", language="vi")]))
    assert beside is not None
    rows = beside.rows(["all, th", "all, vi"]).rows
    figures = {(row.model, row.group): row.values for row in rows}
    assert beside.compared == "run here: 1 row in th, 1 row in vi (BFCL v4); the models are the paper's"
    assert figures["Gemma-3-1B", "all, th"] == {"ast_bfcl": 0.09, "irr": 0.30, "h_i": 0.45, "h_s_bfcl": 0.74}
