"""Compare two runs: for each measure the difference over the same scenarios, its interval and its test, and the scenarios that flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from talm_sim.comparison.compared_rows import COSTS, WEIGHTS, Side, find_side
from talm_sim.comparison.differences import (
    LEVEL,
    Flips,
    Paired,
    difference_of,
    labelling_judges,
    list_flips,
    pair_rows,
    select_exposed,
    share_of_common_calls,
)
from talm_sim.comparison.person_differences import PeopleDifference, compare_people
from talm_sim.comparison.worth_of_asking import Gain, Gap, find_gap, list_gains
from talm_sim.errors import NotComparableError, PrerequisiteError, did_you_mean, on_command_line
from talm_sim.judges.paired import correct_by_holm
from talm_sim.store.people.kept_verdicts import is_of_people
from talm_sim.store.tidy_tables import frame
from talm_sim.tasks import find_task
from talm_sim.types import FrozenModel, Measure
from talm_sim.types.pages import html_table
from talm_sim.types.written_figures import format_figure

if TYPE_CHECKING:
    import pandas

    from talm_sim.store.stored_run import StoredRun

__all__ = ["SELECTED", "Comparison", "Difference", "Flips", "compare", "compare_sides"]

SELECTED = "both: {} (selected)"
"""Title of the table over the pairs in which both met what a judge labels, such as a fault."""
_MOST_NOT_SCORED = 0.05
Verdict = Literal["", "improved", "regressed", "differs"]


class Difference(FrozenModel):
    """The change of one measure of one group from the first run to the second."""

    group: str
    measure: Measure
    """Its name, head and meaning; its value is not of the pairs."""
    pairs: int | None
    """Scenarios with a value on both sides; None of a derived group, whose scenarios are those of others."""
    first: float | None
    """The first run's value over the pairs; epochs of a scenario are averaged first."""
    second: float | None
    difference: float | None
    """The second less the first."""
    low: float | None = None
    """Lower end of the 95 % interval of the difference."""
    high: float | None = None
    p: float | None = None
    """Two-sided p value; None where the difference is not tested."""
    exact: bool = True
    """Whether the test counts all cases; else it draws them."""
    corrected: float | None = None
    """The p value, corrected for the tests of its table (Holm)."""
    verdict: Verdict = ""
    """`improved` and `regressed` where the corrected p value is below .05 and the measure says what is better; else `differs`."""
    noise: float | None = None
    """The largest difference of two epochs of one run; None where neither run was repeated whole."""
    undecided: tuple[float, float] | None = None
    """Shares of undecided episodes, where the two sides' differ by more than 5 points."""
    ends: tuple[tuple[float, float], tuple[float, float]] | None = None
    """Then the difference and its p value if the first's passed and the second's failed, and the other way round."""
    can_be_undone: bool = False
    """Whether these can turn the difference, or make it one that chance explains."""

    @property
    def ratio(self) -> float | None:
        """The second value divided by the first; None of a measure whose values are not compared so, or without a first value."""
        return self.second / self.first if self.measure.by_ratio and self.first and self.second is not None else None

    @property
    def within_noise(self) -> bool:
        """Whether two epochs of one run differ by as much."""
        return self.noise is not None and self.difference is not None and abs(self.difference) <= self.noise


class Comparison(FrozenModel):
    """A run compared with another."""

    first: str
    second: str
    labels: tuple[str, str]
    """The model of each, and what the task says of the run."""
    pairs: int
    """Scenarios that both have."""
    not_scored: int = 0
    """Pairs without a scored episode in one run or both; they are left out."""
    first_only: tuple[str, ...] = ()
    """Scenarios that the first run alone has; they are left out."""
    second_only: tuple[str, ...] = ()
    translated: dict[str, str] = Field(default_factory=dict)
    """Runs of different languages: the first run's scenario to the second's that says the same; empty if both have the same scenarios."""
    differences: tuple[Difference, ...]
    flips: tuple[Flips, ...] = ()
    flips_by: str = ""
    """Head of the measure that the flips are of; empty where they are of whether an episode succeeded."""
    gap: Gap | None = None
    """Between a group that lacks nothing and one that lacks something; None unless two such groups are compared."""
    gains: tuple[Gain, ...] = ()
    """What a person at hand adds, by group; empty unless one of the two runs had one."""
    selected: dict[str, int] = Field(default_factory=dict)
    """What both met, such as a fault or a refusal, to the number of pairs in which both did; empty where nothing was labelled in both."""
    common_calls: tuple[int, int] | None = None
    """Tool calls that both made, and those that either made; None where nothing was labelled in both, or a baseline does not know."""
    people: PeopleDifference | None = None
    changed: dict[str, tuple[str, str]]
    """What differs between the two: an option, a text or the tools, to what each run has."""
    warnings: tuple[str, ...] = ()

    def difference(self, measure: str, group: str | None = None) -> Difference | None:
        """Return the difference of a measure in a group; by default, in the first that has it."""
        return next((one for one in self.differences if one.measure.name == measure and group in (None, one.group)), None)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record per group and measure."""
        found = []
        for one in self.differences:
            record = one.model_dump(exclude={"measure"})
            group = record.pop("group")
            about = {"measure": one.measure.name, "better": one.measure.better}
            ratio = {} if one.ratio is None else {"ratio": one.ratio}
            found.append({"first_run": self.first, "second_run": self.second, "group": group, **about, **record, **ratio})
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_records` as a pandas frame."""
        return frame(self.to_records())

    def _repr_html_(self) -> str:
        heads = dict.fromkeys(("group", "measure", "pairs", self.first, self.second, "difference", "95 %", "p", "p (Holm)", ""), "")
        rows = []
        for one in self.differences:
            shown = [format_figure(one.measure.model_copy(update={"value": value})) for value in (one.first, one.second, one.difference)]
            interval = "" if one.low is None else f"{one.low:.2f} to {one.high:.2f}"
            tests = ["" if p is None else f"{p:.3f}" for p in (one.p, one.corrected)]
            rows.append([one.group, one.measure.head, "" if one.pairs is None else f"{one.pairs:,}", *shown, interval, *tests, one.verdict])
        first, second = (f"{name} ({label})" for name, label in zip((self.first, self.second), self.labels, strict=True))
        size = f"{self.pairs:,} scenarios" + (f", {self.not_scored:,} of them not scored" if self.not_scored else "")
        kinds = [name for name in Flips.model_fields if name != "group"]
        flips = [[one.group, *(f"{len(getattr(one, kind)):,}" for kind in kinds)] for one in self.flips]
        scenarios = f"scenarios by {self.flips_by}" if self.flips_by else "scenarios"
        parts = [f"<p>{escape(f'{second} against {first}: {size}')}</p>", html_table(heads, rows)]
        parts += [html_table({scenarios: "", **{kind.replace("_", " "): "" for kind in kinds}}, flips)] if flips else []
        return "".join(parts) + "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings)

    def __repr__(self) -> str:
        said = ", ".join(f"{one.group} {one.measure.name} {one.verdict}" for one in self.differences if one.verdict)
        return f"Comparison({self.first!r}, {self.second!r}, {self.pairs} pairs{f': {said}' if said else ''})"


def compare(
    first: str | Path | StoredRun,
    second: str | Path | StoredRun,
    *,
    common: bool = False,
    measures: Sequence[str] = (),
    run_dir: Path = Path("runs"),
    seed: int = 0,
) -> Comparison:
    """Compare a run with another one: the second against the first.

    Pairs are scenarios of one id, group and text. Epochs of a scenario are averaged first, and scenarios of one base are drawn together. If
    both names end in a group (`RUN:perfect`, `RUN:underspecified`), scenarios of the two groups are paired by their base instead, over the
    measures that mean the same in both.

    Args:
        first: A run, its name or directory, or a baseline's file.
        second: What is compared with it.
        common: Whether to compare the scenarios that both have, and leave out the others; else the sets must be the same.
        measures: Names of the measures; all columns by default.
        run_dir: Directory of the runs.
        seed: Seed of the intervals, and of the tests that draw.

    Raises:
        NotComparableError: They are runs of other tasks, judges or scoring options, or of other scenarios; or one is not finished, or more
            than 5 % of the pairs are not scored.
        PrerequisiteError: There is no such run, group or measure.
    """
    one, group = find_side(first, run_dir)
    other, other_group = find_side(second, run_dir)
    return compare_sides(one, other, common=common, measures=measures, groups=(group, other_group), seed=seed)


def compare_sides(
    first: Side, second: Side, *, common: bool = False, measures: Sequence[str] = (), groups: tuple[str, str] = ("", ""), seed: int = 0
) -> Comparison:
    """Compare two sides; see `compare`."""
    across = all(groups)
    _check_alike(first, second, groups if across else None)
    if any(groups) and not across:
        raise PrerequisiteError(f"name a group of both or of none: {first.name}:GROUP {second.name}:GROUP.")
    paired = pair_rows(first, second, groups if across else None)
    _check_sets(paired, common=common or across)
    left = [pair for pair in paired.pairs if not pair.scored]
    if len(left) > _MOST_NOT_SCORED * len(paired.pairs):
        raise NotComparableError(
            f"{len(left):,} of {len(paired.pairs):,} pairs are not scored ({_reasons(left)}); more than 5 % would decide the difference: "
            "play these episodes again (talm-sim resume RUN), or judge them."
        )
    wanted = _wanted_columns(first, second, across=across, measures=measures, groups=groups)
    found = [one for group, derived, measure in wanted if (one := difference_of(paired, group, measure, derived=derived, seed=seed))]
    titles = _labelled(first, second)
    found = [one for one in found if not titles or one["measure"].under not in titles.values()]
    selected = {}
    for judge in sorted(labelling_judges(first) & labelling_judges(second), key=[*titles].index):
        exposed = select_exposed(paired, judge)
        selected[titles[judge]] = len(exposed.pairs)
        found += [
            {**one, "measure": one["measure"].model_copy(update={"under": SELECTED.format(titles[judge])})}
            for group, derived, measure in wanted
            if not derived
            and measure.under in {"", titles[judge]}
            and (one := difference_of(exposed, group, measure, derived=False, seed=seed))
        ]
    differences = _with_verdicts([Difference(**one) for one in found])
    of_people = bool(measures) and all(is_of_people(measure) for *_, measure in wanted)
    judged = next((measure for *_, measure in wanted), None) if of_people and len(measures) == 1 else None
    asked = {measure.name for *_, measure in wanted if is_of_people(measure)}
    people = [name for name, side in (("A", first), ("B", second)) if asked & {one.measure.name for one in side.columns}]
    return Comparison(
        first=first.name + (f":{groups[0]}" if across else ""),
        second=second.name + (f":{groups[1]}" if across else ""),
        labels=(first.label, second.label),
        pairs=len(paired.pairs),
        not_scored=len(left),
        first_only=paired.first_only,
        second_only=paired.second_only,
        translated=paired.translated,
        differences=tuple(differences),
        flips=tuple(list_flips(paired, judged)) if judged or not of_people else (),
        flips_by=judged.head if judged else "",
        gap=find_gap(paired, groups, found) if across else None,
        gains=() if across else tuple(list_gains(paired)),
        selected=selected,
        common_calls=share_of_common_calls(paired) if selected else None,
        people=compare_people(paired),
        changed=_changes(first, second),
        warnings=tuple(_warnings(first, second, _changes(first, second), differences, people)),
    )


def _labelled(first: Side, second: Side) -> dict[str, str]:
    """Return the judges that label things on any side, each with the title of the table of its labels."""
    judges = labelling_judges(first) | labelling_judges(second)
    columns = [column.measure for column in (*first.columns, *second.columns)]
    found = {judge: next((one.under for one in columns if one.name.startswith(f"{judge}_")), "") for judge in sorted(judges)}
    return {judge: title for judge, title in found.items() if title}


def _check_alike(first: Side, second: Side, groups: tuple[str, str] | None) -> None:
    """Refuse sides whose values mean different things. A judge counts if it gave a verdict in a group that is compared."""
    names = f"{first.name} and {second.name}"
    if first.task != second.task:
        raise NotComparableError(f"{names}: are of different tasks ({first.task}, {second.task}); compare runs of one task.")
    if len(set(forms := [side.settings.get("answer", "words") for side in (first, second)])) > 1:
        raise NotComparableError(f"{names}: differ in --answer ({', '.join(forms)}), so other things were graded; run both with one.")
    shared = set(groups or {row.group for row in first.rows} & {row.group for row in second.rows})
    one, other = first.judges_of(shared), second.judges_of(shared)
    # Only where something was perturbed is there anything to label.
    alone = (one.keys() ^ other.keys()) & (labelling_judges(first) | labelling_judges(second))
    one, other = ({name: version for name, version in each.items() if name not in alone} for each in (one, other))
    if one.keys() != other.keys():
        judges = [", ".join(sorted(each)) or "none" for each in (one, other)]
        same = " --judge ".join(sorted(one.keys() & other.keys())) or "NAME"
        raise NotComparableError(f"{names}: were judged by others ({judges[0]}; {judges[1]}); use the same: talm-sim judge RUN --judge {same}")
    for judge, version in one.items():
        if other[judge] != version:
            raise NotComparableError(
                f"{names}: judge '{judge}' had other rules, another model or other instructions; judge both again: talm-sim judge RUN. "
                "If they differ even then, the judge reads other files for each, such as two versions of a benchmark: they cannot be compared."
            )
    for option in sorted(first.scoring.keys() | second.scoring.keys()):
        if (values := [side.scoring.get(option) for side in (first, second)])[0] != values[1]:
            flag = option.replace("_", "-")
            raise NotComparableError(f"{names}: differ in --{flag} ({values[0]}, {values[1]}); judge one again: talm-sim judge RUN --{flag} X.")


def _check_sets(paired: Paired, *, common: bool) -> None:
    first, second = paired.first.name, paired.second.name
    if paired.other_texts:
        raise NotComparableError(
            f"{first} and {second}: {len(paired.other_texts):,} scenarios of one id ask or accept something else, for example "
            f"'{paired.other_texts[0]}'; run both on the same file."
        )
    if not paired.pairs:
        raise NotComparableError(f"{first} and {second}: have no scenario in common; run both on the same scenarios.")
    if (paired.first_only or paired.second_only) and not common:
        raise NotComparableError(
            f"{first} and {second}: {len(paired.pairs):,} scenarios are in both, {len(paired.first_only):,} in the first alone, "
            f"{len(paired.second_only):,} in the second alone; add {_option('common')} to compare those in both."
        )


def _option(name: str) -> str:
    if on_command_line.get():
        return f"--{name}"
    return {"common": "common=True", "measure": "measures"}[name]


def _reasons(pairs: Iterable[Any]) -> str:
    counts = Counter(reason for pair in pairs for reason in pair.reasons)
    return ", ".join(f"{reason}: {number:,}" for reason, number in counts.most_common())


def _wanted_columns(
    first: Side, second: Side, *, across: bool, measures: Sequence[str], groups: tuple[str, str]
) -> list[tuple[str, bool, Measure]]:
    """Return the group, whether it is derived, and the measure of each line."""
    found: dict[tuple[str, str], tuple[str, bool, Measure]] = {}
    for column in sorted((*first.columns, *second.columns), key=lambda one: one.measure.name in COSTS):  # these come last
        found.setdefault((column.group, column.measure.name), (column.group, column.derived, column.measure))
    known = list(dict.fromkeys(name for _, name in found))
    for name in measures:
        if name not in known:
            raise PrerequisiteError(f"{_option('measure')}: there is no '{name}' in these runs.{did_you_mean(name, known)}")
    if not across:
        return [one for one in found.values() if one[2].name in (measures or known)]
    alike = [*find_task(first.task).success, *COSTS]
    for name in measures:
        if name not in alike:
            raise PrerequisiteError(
                f"{_option('measure')}: '{name}' means something else in '{groups[0]}' than in '{groups[1]}'; "
                f"across groups, compare {', '.join(alike)}."
            )
    here = {one[2].name: one[2] for one in found.values() if one[0] in groups}
    return [(f"{groups[0]} to {groups[1]}", False, here[name]) for name in measures or alike if name in here]


def _with_verdicts(differences: Sequence[Difference]) -> list[Difference]:
    """Correct the p values of each table for their number, and say what the tests say."""
    corrected: dict[int, float] = {}
    for title in dict.fromkeys(one.measure.under for one in differences):
        tested = [(place, one.p) for place, one in enumerate(differences) if one.measure.under == title and one.p is not None]
        corrected |= zip((place for place, _ in tested), correct_by_holm([p for _, p in tested]), strict=True)
    found = []
    for place, one in enumerate(differences):
        p = corrected.get(place)
        verdict: Verdict = ""
        if p is not None and p < LEVEL and one.difference and not one.can_be_undone:
            better = {"higher": one.difference > 0, "lower": one.difference < 0}.get(one.measure.better)
            verdict = "differs" if better is None else "improved" if better else "regressed"
        found.append(one.model_copy(update={"corrected": p, "verdict": verdict}))
    return found


def _changes(first: Side, second: Side) -> dict[str, tuple[str, str]]:
    """Return what differs between two sides, but for how their scenarios were chosen."""
    found = {}
    for name in dict.fromkeys((*first.settings, *second.settings)):
        if name == WEIGHTS and not (name in first.settings and name in second.settings):
            continue  # of one of the two, nobody knows
        one, other = (_as_text(side.settings.get(name)) for side in (first, second))
        # A baseline of format 1 does not know its language.
        if one != other and not (name == "language" and "none" in (one, other)):
            found[name] = (one, other)
    if first.version != second.version:
        found["talm-sim"] = (first.version, second.version)
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, Mapping):
        value = [f"{name}={one}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    return "none" if value in (None, "", {}) else str(value)


def _warnings(first: Side, second: Side, changed: dict[str, Any], found: Sequence[Difference], people: Sequence[str]) -> Iterable[str]:
    for name, measure in COSTS.items():
        unknown = [letter for letter, side in zip("AB", (first, second), strict=True) if all(row.values.get(name) is None for row in side.rows)]
        if len(unknown) == 1:
            yield f"{measure.head} are not compared: {unknown[0]} reports none"
    if len(people) == 2 and any(is_of_people(one.measure) for one in found):
        yield "People: the rates that people's labels give, which A and B have; over samples, the difference is not tested"
    elif people:
        yield f"people's labels are not compared: {'a verdict of A or B has none' if len(people) == 2 else f'only {people[0]} has some'}"
    if len(changed) > 1:
        yield f"more than one thing differs, and any of them may be why: {', '.join(changed)}"
    if all(one.noise is None for one in found):
        yield "how much two runs of the same agent differ is unknown, as neither was repeated whole: --epochs 3 shows it"
    if close := [f"{one.group} {one.measure.head}" for one in found if one.difference and one.within_noise]:
        yield f"no larger than the difference between two epochs of one run: {', '.join(close)}"
