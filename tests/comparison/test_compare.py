"""Comparisons of sides made by hand: what is paired, drawn and tested, refused and warned of."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.cli.report.comparison import comparison_lines
from talm_sim.comparison.compare import Comparison, Difference, compare, compare_sides
from talm_sim.comparison.compared_rows import COSTS, Column, Side, find_side
from talm_sim.errors import NotComparableError, PrerequisiteError
from talm_sim.judges.paired import Cluster, correct_by_holm, difference_interval, newcombe_interval
from talm_sim.types import Measure, Row
from tests.runs.scripted import new_run
from tests.runs.sides import PASS, made_side, one_row, rows_of, write_baseline

T, F = True, False
BEFORE, AFTER = [F] * 12 + [T] * 8, [T] * 10 + [F] * 2 + [T] * 7 + [F]
"""Ten improve, one regresses."""


def found(first: Sequence[Row], second: Sequence[Row], measure: str = "pass_rate", **more: Any) -> Difference:
    difference = compare_sides(made_side(first), made_side(second, "b"), **more).difference(measure)
    assert difference is not None
    return difference


def numbers(one: Difference) -> dict[str, Any]:
    """All but the measure, whose value is of the whole run."""
    return one.model_dump(exclude={"measure"})


# --- pairs -----------------------------------------------------------------------------------------------------------------------------------


def test_pass_or_fail_at_one_epoch_is_mcnemars_exact_test() -> None:
    one = found(rows_of(*BEFORE), rows_of(*AFTER))
    assert (one.pairs, one.first, one.second, one.exact) == (20, 0.4, 0.85, True)
    assert one.difference == pytest.approx(0.45)
    assert one.p == one.corrected == pytest.approx(2 * sum(comb(11, k) for k in (0, 1)) / 2**11)
    assert one.verdict == "improved"
    clusters = [Cluster(after - before) for before, after in zip(BEFORE, AFTER, strict=True)]
    assert (one.low, one.high) == difference_interval(clusters)


def test_of_few_pairs_that_differ_the_interval_is_newcombes() -> None:
    one = found(rows_of(*[T] * 15, *[F] * 5), rows_of(*[T] * 12, *[F] * 8))
    assert (one.low, one.high) == newcombe_interval(12, 3, 0, 5)
    same = found(rows_of(T, T, F), rows_of(T, T, F))
    assert (same.low, same.high) == newcombe_interval(2, 0, 0, 1)
    assert (same.p, same.verdict) == (1.0, "")


def test_what_one_side_leaves_undecided_can_undo_a_difference() -> None:
    """Where the shares differ by over 5 points, a regression is called one only if it is one however the undecided episodes ended."""
    open_ = (PASS.model_copy(update={"undecided": 1}),)

    def against(*values: Any) -> Comparison:
        return compare_sides(made_side(rows_of(*[T] * 16, *[F] * 4)), made_side(rows_of(*values), "b", measures=open_))

    undone, stands = against(*[F] * 12, *[None] * 6, T, T), against(*[F] * 14, None, None, *[F] * 4)
    (one,), (other,) = undone.differences, stands.differences
    assert one.p is not None and one.p < 0.05 and one.ends is not None and one.ends[1][0] == pytest.approx(-0.4)
    assert (one.undecided, one.can_be_undone, one.verdict) == ((0, 0.3), True, "")
    assert (other.can_be_undone, other.verdict) == (False, "regressed")
    assert "undecided .00 and .30 (A, B)" in " ".join(line.plain.strip() for line in comparison_lines(undone))


def test_epochs_of_a_scenario_are_averaged_first() -> None:
    one = found(rows_of([T, F, F], [T, T, T], [F, F, F, F, F, F]), rows_of([T, T, F], [T, F, F], [T, F, F]))
    assert one.pairs == 3
    assert one.first == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert one.second == pytest.approx((2 / 3 + 1 / 3 + 1 / 3) / 3)
    assert one.p == 1.0, "1/3, -2/3 and 1/3 add up to 0"
    assert (one.exact, one.verdict) == (True, "")


def test_what_shares_a_base_changes_its_sign_and_is_drawn_together() -> None:
    def variants(value: bool) -> list[Row]:
        return [one_row(f"s{place}", value, base=f"base-{place % 4}") for place in range(12)]

    one = found(variants(F), variants(T))
    assert (one.pairs, one.difference) == (12, 1.0)
    assert one.p == 2 / 2**4, "four bases, not twelve scenarios"
    assert one.low is not None and one.high is not None and one.low < 1 == one.high
    mixed = [one_row(f"s{place}", place % 4 < 2, base=f"base-{place % 4}") for place in range(12)]
    assert found(variants(F), mixed).low == difference_interval([Cluster(3, 3), Cluster(3, 3), Cluster(0, 3), Cluster(0, 3)])[0]  # type: ignore[index]


def test_a_scenario_without_a_value_on_one_side_is_in_no_pair_of_that_measure() -> None:
    one = found(rows_of(T, T, None, F), rows_of(T, None, T, T))
    assert (one.pairs, one.first, one.second) == (2, 0.5, 1.0)


def test_pairs_that_are_not_scored_are_counted_and_left_out() -> None:
    missing = one_row("perfect-20", {}, not_scored="infrastructure_error")
    done = compare_sides(made_side([*rows_of(*BEFORE), one_row("perfect-20", T)]), made_side([*rows_of(*AFTER), missing], "b"))
    assert (done.pairs, done.not_scored) == (21, 1)
    assert done.differences[0].pairs == 20


def test_differences_that_are_all_alike_have_an_interval_with_a_width() -> None:
    one = found(rows_of(*[[F, F]] * 8), rows_of(*[[T, T]] * 8))
    assert one.low is not None and one.high is not None and one.low < one.high
    points = [Measure(name="points", head="Points", kind="score")]
    beyond = [made_side([one_row(f"s{place}", {"points": value}) for place in range(5)], measures=points) for value in (2.5, 3.5)]
    assert compare_sides(*beyond).differences[0].low is None, "no share"
    turns = [COSTS["model_turns"]]
    rows = [one_row(f"s{place}", {"model_turns": 3}) for place in range(5)]
    more = [one_row(f"s{place}", {"model_turns": 4}) for place in range(5)]
    number = compare_sides(made_side(rows, measures=turns), made_side(more, "b", measures=turns)).differences[0]
    assert (number.difference, number.low, number.high) == (1.0, None, None), "nothing says how wide it would be"


def test_common_leaves_out_and_counts_what_one_side_alone_has() -> None:
    first, second = made_side(rows_of(*BEFORE)), made_side(rows_of(*AFTER, T, T)[3:], "b")
    with pytest.raises(NotComparableError, match=r"17 scenarios are in both, 3 in the first alone, 2 in the second alone; add common=True"):
        compare_sides(first, second)
    done = compare_sides(first, second, common=True)
    assert (done.pairs, done.first_only, done.second_only) == (17, ("perfect-0", "perfect-1", "perfect-2"), ("perfect-20", "perfect-21"))
    assert numbers(done.differences[0]) == numbers(found(rows_of(*BEFORE)[3:], rows_of(*AFTER)[3:]))


# --- directions, verdicts and several tests --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "verdict", "back"), [("higher", "improved", "regressed"), ("lower", "regressed", "improved"), ("neither", "differs", "differs")]
)
def test_a_verdict_needs_to_know_what_is_better(better: Any, verdict: str, back: str) -> None:
    measures = [PASS.model_copy(update={"better": better})]
    sides = made_side(rows_of(*BEFORE), measures=measures), made_side(rows_of(*AFTER), "b", measures=measures)
    assert compare_sides(*sides).differences[0].verdict == verdict
    assert compare_sides(*reversed(sides)).differences[0].verdict == back


def test_the_tests_of_one_table_are_corrected_together_and_say_what_is_improved() -> None:
    names = [Measure(name=f"m{place}", head=f"M{place}", better="higher", under="" if place < 3 else "another table") for place in range(5)]
    draw = random.Random(6)

    def rows(shift: float) -> list[Row]:
        return [
            one_row(f"{group}-{place}", {one.name: draw.random() < shift for one in names}, group=group)
            for group in ("perfect", "no-tools")
            for place in range(30)
        ]

    done = compare_sides(made_side(rows(0.3), measures=names), made_side(rows(0.62), "b", measures=names))
    tables: dict[str, list[Difference]] = {}
    for one in done.differences:
        tables.setdefault(one.measure.under, []).append(one)
    assert {title: len(own) for title, own in tables.items()} == {"": 6, "another table": 4}
    for own in tables.values():
        assert [one.corrected for one in own] == correct_by_holm([one.p for one in own if one.p is not None])
    assert any(one.p is not None and one.p < 0.05 and not one.verdict for one in done.differences), "the corrected value decides"
    for one in done.differences:
        assert one.corrected is not None and (one.verdict == "improved") == (one.corrected < 0.05)


def test_groups_that_repeat_others_have_an_interval_but_no_test() -> None:
    groups = ("replaceable", "non-replaceable")

    def side(values: Sequence[bool], name: str) -> Side:
        made = made_side([*rows_of(*values, group=groups[0]), *rows_of(*values[:10], group=groups[1])], name)
        average = (sum(values) / len(values) + sum(values[:10]) / 10) / 2
        whole = Column(group="unavailable", derived=True, measure=PASS.model_copy(update={"value": average}))
        return made.model_copy(update={"columns": (whole, *made.columns)})

    done = compare_sides(side(BEFORE, "a"), side(AFTER, "b"))
    one = done.difference("pass_rate", "unavailable")
    assert one is not None and (one.pairs, one.p, one.corrected, one.verdict) == (None, None, None, "")
    assert one.first == pytest.approx(0.2)
    assert one.second == pytest.approx(0.925)
    assert one.low is not None and one.high is not None and one.low < 0.725 < one.high
    assert [each.group for each in done.differences if each.p is not None] == list(groups)


def test_a_measure_that_is_no_mean_and_has_no_figure_is_printed_alone() -> None:
    measures = [Measure(name="odd", head="Odd", kind="score", value=0.25)]
    rows = [one_row(f"s{place}", {}) for place in range(6)]
    first, second = made_side(rows, measures=measures), made_side(rows, "b", measures=[measures[0].model_copy(update={"value": 0.75})])
    one = compare_sides(first, second).differences[0]
    assert (one.first, one.second, one.difference, one.low, one.p, one.verdict) == (0.25, 0.75, 0.5, None, None, "")
    more = made_side([*rows, one_row("s9", {})], "b", measures=[measures[0]])
    assert compare_sides(first, more, common=True).differences == (), "the values are of the whole runs, and these are not compared"


# --- flips -----------------------------------------------------------------------------------------------------------------------------------


def test_flips_name_every_scenario_once() -> None:
    done = compare_sides(made_side(rows_of(F, T, T, F, [T, F], [T, F])), made_side(rows_of(T, F, T, F, [T, T], [F, T]), "b"))
    (flips,) = done.flips
    assert flips.model_dump() == {
        "group": "perfect",
        "improved": ("perfect-0", "perfect-4"),
        "regressed": ("perfect-1",),
        "both_passed": ("perfect-2",),
        "both_failed": ("perfect-3",),
        "as_often": ("perfect-5",),
    }


def test_with_a_measure_of_people_the_flips_and_pairs_are_of_their_verdicts() -> None:
    # A sample's share is weighted, so it is not the mean of the rows.
    people = Measure(name="person", head="People", under="people", value=0.9)
    ann = people.model_copy(update={"name": "person:ann", "head": "ann"})
    before, after = [T, T, F, None, T], [F, T, None, None, T]
    first, second = (
        made_side(
            [one_row(f"s{n}", {"pass_rate": succeeded, "person": said}) for n, said in enumerate(values)], name, measures=(PASS, people, ann)
        )
        for name, values, succeeded in (("a", before, F), ("b", after, T))
    )
    done = compare_sides(first, second, measures=["person"])
    (difference,) = done.differences
    assert (difference.pairs, done.pairs, done.flips_by) == (3, 5, "People"), "pairs that both have a verdict"
    (flips,) = done.flips
    assert (flips.improved, flips.regressed, flips.both_passed, flips.both_failed) == ((), ("s0",), ("s1", "s4"), ())
    lines = [line.plain for line in comparison_lines(done)]
    assert "flips by: People" in lines and "  regressed: s0" in lines
    assert compare_sides(first, second, measures=["person", "person:ann"]).flips == (), "of several, the pass judge's would mislead"
    whole = compare_sides(first, second)
    assert (whole.flips_by, len(whole.flips[0].improved)) == ("", 5)


# --- across groups ---------------------------------------------------------------------------------------------------------------------------

MEASURES = (PASS, Measure(name="awareness", head="Aware"), *COSTS.values())


def two_groups() -> Side:
    rows = []
    for group, passes, turns in (("perfect", [T] * 9 + [F], 2), ("underspecified", [F] * 8 + [T] * 2, 5)):
        rows += [
            one_row(f"{group}-{place}", {"pass_rate": one, "awareness": one, "model_turns": turns + place % 2}, group=group, base=f"b{place}")
            for place, one in enumerate(passes)
        ]
    return made_side(rows, measures=MEASURES)


def test_a_measure_that_means_something_else_in_the_other_group_is_refused_by_name() -> None:
    with pytest.raises(PrerequisiteError, match="measures: 'awareness' means something else in 'perfect' than in 'underspecified'; ") as caught:
        compare_sides(two_groups(), two_groups(), groups=("perfect", "underspecified"), measures=["awareness"])
    assert "across groups, compare pass_rate, model_turns, tool_calls, tokens" in str(caught.value)
    with pytest.raises(PrerequisiteError, match="name a group of both or of none: a:GROUP a:GROUP"):
        compare_sides(two_groups(), two_groups(), groups=("perfect", ""))
    with pytest.raises(PrerequisiteError, match=r"there is no 'pas_rate' in these runs\. Did you mean 'pass_rate'\?"):
        compare_sides(two_groups(), two_groups(), measures=["pas_rate"])


# --- refusals and warnings -------------------------------------------------------------------------------------------------------------------

FIRST = made_side(rows_of(*BEFORE))


def other(**changes: Any) -> Side:
    return made_side(rows_of(*AFTER), "b", **changes)


REFUSED: dict[str, tuple[Side, str]] = {
    "task": (other(task="refusal"), "a.jsonl and b.jsonl: are of different tasks (talm, refusal); compare runs of one task."),
    "nothing in common": (made_side(rows_of(T, start=50)), "have no scenario in common; run both on the same scenarios."),
    "another set": (made_side(rows_of(*AFTER)[1:]), "19 scenarios are in both, 1 in the first alone, 0 in the second alone; add --common"),
    "two texts": (
        other(texts={row.scenario: "text" if row.scenario != "perfect-3" else "new" for row in FIRST.rows}),
        "1 scenarios of one id ask or accept something else, for example 'perfect-3'; run both on the same file.",
    ),
    "judge": (
        other(judges={"llm": "v1"}, judged={"llm": ("perfect",)}),
        "were judged by others (reference; llm); use the same: talm-sim judge RUN --judge NAME",
    ),
    "judge's version": (other(judges={"reference": "v2"}), "judge 'reference' had other rules, another model or other instructions; "),
    "scoring option": (other(scoring={"exact": True}), "differ in --exact (False, True); judge one again: talm-sim judge RUN --exact X."),
    "not scored": (
        made_side([*rows_of(*AFTER[:18]), *(one_row(f"perfect-{place}", {}, not_scored="replay_miss") for place in (18, 19))]),
        "2 of 20 pairs are not scored (replay_miss: 2); more than 5 % would decide the difference: play these episodes again",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("common", [False, True])
def test_what_cannot_be_compared_is_refused_in_one_line(
    name: str, common: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    side, line = REFUSED[name]
    files = write_baseline(FIRST, Path("a.jsonl")), write_baseline(side, Path("b.jsonl"))
    code = main(["compare", *files, *(["--common"] if common else [])])
    out, err = capsys.readouterr()
    if common and name == "another set":
        assert (code, err) == (0, "") and "19 pairs; left out: 1 scenarios in A alone" in out
    else:
        assert (code, out) == (3, "")
        assert err.startswith("talm-sim: error: ") and line in err and err.count("\n") == 1


def test_a_judge_of_groups_that_are_not_compared_does_not_matter() -> None:
    rows = [*rows_of(*BEFORE), *rows_of(T, F, group="no-tools")]
    more = made_side(rows, judges={"reference": "v1", "preference": "v1"}, judged={"reference": ("perfect",), "preference": ("no-tools",)})
    assert compare_sides(more, other(), common=True).pairs == 20
    with pytest.raises(NotComparableError, match=r"judged by others \(preference, reference; reference\)"):
        compare_sides(more.model_copy(update={"judged": {"reference": ("perfect",), "preference": ("perfect",)}}), other(), common=True)


def test_an_unfinished_run_is_refused_with_the_command_that_finishes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new_run(Path("runs"), 5, name="half")
    write_baseline(FIRST, Path("a.jsonl"))
    assert main(["compare", "a.jsonl", "half"]) == 3
    assert capsys.readouterr().err == "talm-sim: error: runs/half: 5 of 5 episodes are not finished: talm-sim resume runs/half\n"


def said_by(first: Side, second: Side) -> str:
    return "\n".join(compare_sides(first, second).warnings)


def test_what_else_differs_is_said() -> None:
    settings = {"model": "sim/other", "seed": 1, "template": "hermes", "tools_from": ["a", "b"], "model_options": {"top_p": "0.9"}}
    second = other(settings=settings, version="2")
    done = compare_sides(FIRST, second)
    assert done.changed == {
        "model": ("sim/some", "sim/other"),
        "seed": ("0", "1"),
        "template": ("none", "hermes"),
        "tools_from": ("none", "a b"),
        "model_options": ("none", "top_p=0.9"),
        "talm-sim": ("1", "2"),
    }
    assert "any of them may be why: model, seed, template, tools_from, model_options, talm-sim" in "\n".join(done.warnings)
    assert "more than one thing" not in said_by(FIRST, other())


def test_two_epochs_of_one_run_say_what_is_noise() -> None:
    assert "how much two runs of the same agent differ is unknown, as neither was repeated whole: --epochs 3 shows it" in said_by(
        FIRST, other()
    )
    first = made_side(rows_of(*[[T, F]] * 5, *[[T, T]] * 5, *[[F, F]] * 10))
    done = compare_sides(first, made_side(rows_of(*[[T, T]] * 2, *[[T, F]] * 3, *[[T, T]] * 5, *[[F, F]] * 10), "b"))
    one = done.differences[0]
    assert (one.noise, one.within_noise) == (0.25, True)
    assert one.difference == pytest.approx(0.05)
    assert done.warnings == ("no larger than the difference between two epochs of one run: perfect PR",)
    larger = compare_sides(first, made_side(rows_of(*[[T, T]] * 18, *[[F, F]] * 2), "b"))
    assert (larger.warnings, larger.differences[0].within_noise) == ((), False)


def test_one_scenario_that_was_repeated_is_no_measure_of_noise() -> None:
    done = compare_sides(made_side(rows_of(*BEFORE)), made_side(rows_of(*AFTER[:-1], [T, F]), "b"))
    assert done.differences[0].noise is None
    assert any("unknown" in line for line in done.warnings)


# --- baselines -------------------------------------------------------------------------------------------------------------------------------


def test_a_baseline_compares_as_its_run_does(tmp_path: Path) -> None:
    first, second = made_side(rows_of(*BEFORE, 0.25)), other(settings={"seed": 1}, version="2")
    file = write_baseline(first, tmp_path / "base.jsonl")
    side, group = find_side(file)
    assert group == "" and side.model_copy(update={"name": "a", "version": "1"}) == first.model_copy(update={"version": "1"})
    expected, got = (compare_sides(one, second, common=True).model_dump() for one in (first, side))
    assert {**got, "first": "a", "changed": None, "warnings": None} == {**expected, "changed": None, "warnings": None}
    assert compare(file, file).differences[0].p == 1.0


HEADER, *LINES = list(FIRST.lines())
DAMAGED: dict[str, tuple[Callable[[], list[str]], int, str]] = {
    "empty": (list, 2, ":1: is not JSON"),
    "no baseline": (lambda: ['{"id": "x"}'], 2, ":1: is not the first line of a baseline; make one with: talm-sim export baseline RUN"),
    "later": (lambda: [json.dumps({**json.loads(HEADER), "format": 3}), *LINES], 3, "is of format 3, which a later talm-sim writes"),
    "no task": (lambda: [HEADER.replace('"task"', '"tusk"'), *LINES], 2, ":1: is damaged (ta"),
    "cut off": (lambda: [HEADER, *LINES[:3], LINES[3][:40]], 2, ":5: is not JSON; restore the file, or export the baseline again."),
    "word": (lambda: [HEADER, LINES[0].replace('"epoch": 1', '"epoch": "one"'), *LINES[1:]], 2, ":2: is damaged (row.epoch"),
    "twice": (lambda: [HEADER, *LINES, LINES[4]], 2, "names an episode twice"),
    "other text": (lambda: [HEADER, *LINES, LINES[0].replace(".perfect", ".x").replace('"text": "text"', '"text": "x"')], 2, "two texts"),
    "not a number": (lambda: [HEADER, LINES[0].replace("false", "NaN"), *LINES[1:]], 2, ":2: is damaged (NaN is not a number)"),
    "infinite": (lambda: [HEADER, LINES[0].replace("false", "1e999"), *LINES[1:]], 2, ":2: is damaged (a number is too large)"),
    "endless": (lambda: [HEADER, LINES[0].replace("false", "9" * 400), *LINES[1:]], 2, ":2: is damaged (a number is too large)"),
    "deep": (lambda: [HEADER, "[" * 100_000], 2, ":2: is not JSON"),
    "escape": (lambda: ["\x1b[31mred"], 2, ":1: is not JSON"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_baseline_is_refused_with_its_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines, code, said = DAMAGED[name]
    Path("base.jsonl").write_text("\n".join(lines()) + "\n", encoding="utf-8")
    assert main(["compare", "base.jsonl", "base.jsonl"]) == code
    err = capsys.readouterr().err
    assert err.startswith("talm-sim: error: base.jsonl") and said in err and err.count("\n") == 1 and "\x1b" not in err


@pytest.mark.parametrize("name", ["no-such", "no-such:perfect", "x" * 5_000, "nul\0", ":", "a.jsonl:imperfect", "."])
def test_a_name_that_is_no_run_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_baseline(FIRST, Path("a.jsonl"))
    assert main(["compare", "a.jsonl", name]) == 2
    err = capsys.readouterr().err
    assert err.startswith("talm-sim: error: ") and err.count("\n") == 1


def test_a_comparison_is_data(tmp_path: Path) -> None:
    done = compare_sides(FIRST, other())
    assert Comparison.model_validate_json(done.model_dump_json()) == done
    (record,) = done.to_records()
    assert (record["first_run"], record["second_run"], record["group"], record["measure"]) == ("a", "b", "perfect", "pass_rate")
    assert (record["better"], record["pairs"], record["verdict"]) == ("higher", 20, "improved")
    page = compare_sides(made_side(rows_of(*BEFORE), "<script>"), other())._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
