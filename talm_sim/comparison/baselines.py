"""Check gates against a baseline: a measure misses its gate if it is worse than there, and not by chance."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from talm_sim.common.gate import Gate
from talm_sim.comparison.bounded_gates import GateResult, find_measures
from talm_sim.comparison.compared_rows import Side, text_digest
from talm_sim.errors import NotComparableError, OptionError
from talm_sim.judges.paired import correct_by_holm
from talm_sim.tasks import Job, find_task
from talm_sim.types import Measure, Scenario, Summary
from talm_sim.types.written_figures import format_figure

if TYPE_CHECKING:
    from talm_sim.comparison.compare import Difference

LEVEL = 0.05
"""A difference whose p value, corrected for the number of gates, is lower is not taken for chance."""
FEWEST_EPOCHS = 3
"""A baseline of fewer epochs is one draw, and a lucky one makes equal runs look worse."""
_Z, _Z_OF_POWER = NormalDist().inv_cdf(1 - LEVEL / 2), NormalDist().inv_cdf(0.8)
"""Of a two-sided test at this level, and of a power of .8, in standard errors."""


class Target(NamedTuple):
    """A measure of one group that must not be worse than the baseline's."""

    group: str
    measure: Measure


def find_targets(gates: Sequence[Gate], baseline: Side) -> list[Target]:
    """Return what gates without a bound are for; without such a gate, the measures by which episodes of the task succeed."""
    groups = {one.group: one.derived for one in baseline.columns}
    columns = [(one.group, one.measure) for one in baseline.columns]
    summaries = [
        Summary(group=group, n=0, total=0, derived=derived, measures=tuple(measure for of, measure in columns if of == group))
        for group, derived in groups.items()
    ]
    if not gates:
        return _success_targets(baseline, summaries)
    found: dict[tuple[str, str], Target] = {}
    for gate in gates:
        for summary, measure in find_measures(gate, summaries):
            if summary.derived:
                raise OptionError("--gate", f"'{gate.text}': group '{summary.group}' repeats other groups' episodes; name one of those.")
            if measure.better == "neither":
                bound = f"{gate.text}>=NUMBER or <=NUMBER"
                raise OptionError("--gate", f"'{gate.text}': nothing says whether more of {measure.name} is better; write {bound}.")
            found[summary.group, measure.name] = Target(summary.group, measure)
    return list(found.values())


def _success_targets(baseline: Side, summaries: Sequence[Summary]) -> list[Target]:
    """Return the measures by which episodes of the task succeed, in each group; of a task that names none, its headline measures."""
    task = find_task(baseline.task)
    figures = [text for one in task.headline.values() for text in ((one,) if isinstance(one, str) else one)]
    rows = [(one.group, measure) for one in summaries if not one.derived for measure in one.measures]
    known = [(group, one) for group, one in rows if one.value is not None and one.better != "neither"]
    found = [Target(group, one) for name in task.success for group, one in known if one.name == name]
    found = found or [Target(group, one) for group, one in known if f"{group}.{one.name}" in figures]
    if not found:
        raise OptionError("baseline", f"nothing says by which measure task {baseline.task} succeeds; name one: --gate MEASURE.")
    return found


def check_scenarios(baseline: Side, job: Job[Any], scenarios: Sequence[Scenario]) -> None:
    """Check, before a run, that it is of the baseline's task and scenarios."""
    if baseline.task != job.task.name:
        raise NotComparableError(f"baseline {baseline.name}: is of task {baseline.task}, the run of task {job.task.name}.")
    planned = {one.id: text_digest(one) for one in scenarios}
    if missing := [name for name in baseline.texts if name not in planned]:
        raise NotComparableError(
            f"baseline {baseline.name}: {len(missing):,} of its {len(baseline.texts):,} scenarios are not in the run, for example "
            f"'{missing[0]}'; run the same scenarios, or export the baseline again."
        )
    if other := [name for name, text in baseline.texts.items() if planned[name] != text]:
        raise NotComparableError(
            f"baseline {baseline.name}: {len(other):,} scenarios ask or accept something else now, for example '{other[0]}'; export the "
            "baseline again."
        )


def check_against(baseline: Side, side: Side, targets: Sequence[Target], *, common: bool = False) -> list[GateResult]:
    """Check a run against a baseline: a measure is missed if it is worse with p < .05, two-sided and corrected for the number of gates."""
    from talm_sim.comparison.compare import compare_sides  # not at the top: a run without a baseline compares nothing

    compared = compare_sides(baseline, side, common=common, measures=list(dict.fromkeys(one.measure.name for one in targets)))
    found = [compared.difference(one.measure.name, one.group) for one in targets]
    for one in found:
        if one is not None and one.p is None:
            raise OptionError("--gate", f"'{one.group}.{one.measure.name}': has no test; give it a bound instead.")
    values = [one.p for one in found if one is not None and one.p is not None]
    corrected = iter(correct_by_holm(values))
    return [_check(target, one, 1.0 if one is None else next(corrected), baseline) for target, one in zip(targets, found, strict=True)]


def _check(target: Target, found: Difference | None, p: float, baseline: Side) -> GateResult:
    name = f"{target.group}.{target.measure.name} against {baseline.name}"
    if found is None or found.difference is None:
        return GateResult(name, passed=False, found="no value, n 0")
    sign = -1 if target.measure.better == "higher" else 1
    worse = sign * found.difference > 0
    passed = not any(sign * size > 0 and chance < LEVEL for size, chance in ((found.difference, p), *(found.ends or ())))
    first, second = (format_figure(target.measure.model_copy(update={"value": value})) for value in (found.first, found.second))
    words = [f"{second} after {first}", f"difference {_signed(found.difference)}{_interval(found)}", f"p {_format_p(p)}", f"n {found.pairs:,}"]
    if found.ends and found.undecided:
        open_ = "undecided {:.0%} after {:.0%}".format(*reversed(found.undecided))
        words.append(f"{open_}: {_signed(found.ends[0][0])} to {_signed(found.ends[1][0])}")
    needed = _scenarios_to_decide(found) if worse else None
    if needed is not None and found.pairs is not None and needed > found.pairs:
        words.append(f"about {needed:,} would decide")
        if not passed and baseline.epochs < FEWEST_EPOCHS:
            words.append(f"the baseline has {baseline.epochs} epoch{'s' * (baseline.epochs > 1)} and may be a lucky draw")
    return GateResult(name, passed, ", ".join(words), found.second, found.low, found.high, found.pairs, p)


def _scenarios_to_decide(found: Difference) -> int | None:
    """Return how many scenarios, about, find a difference of this size in 80 of 100 comparisons; None if the interval does not say.

    The interval's width says how much the scenarios' differences vary, whatever the measure and however many epochs. Signs are flipped
    around 0, so that the test sees their mean square (Connor 1987, for paired shares).
    """
    if not found.difference or found.low is None or found.high is None or not found.pairs:
        return None
    size = abs(found.difference)
    variance = found.pairs * ((found.high - found.low) / (2 * _Z)) ** 2
    needed = ((_Z * sqrt(variance + size * size) + _Z_OF_POWER * sqrt(variance)) / size) ** 2 + 1 / size
    unit = int(10 ** max(0, floor(log10(needed)) - 1))
    return ceil(needed / unit) * unit


def _signed(value: float) -> str:
    text = f"{value:+.2f}".replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}")
    return text if any(digit in text for digit in "123456789") else text[1:]


def _interval(found: Difference) -> str:
    return "" if found.low is None or found.high is None else f" [{_signed(found.low)} to {_signed(found.high)}]"


def _format_p(p: float) -> str:
    return f"{p:.3f}".removeprefix("0") if p >= 0.001 else "< .001"
