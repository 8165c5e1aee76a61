"""The metrics of task `talm`: pass rate, awareness, unexpected outcomes, skips, interaction and asking, by group.

The definitions are those of Fail-TaLMs' published scorer, which the paper's text gives more coarsely; with them the published outputs give
the paper's Tables 1 and 2. One differs: for no-tools the scorer counts as unexpected only ties (`win_rate` exactly 1) over all answers,
although wins pass as well. Here an unexpected outcome is what the word says: passed without tools, failed with them, over the pairs judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from talm_sim.judges.stats import average_of_rates, share, share_of_counts
from talm_sim.tasks.acting.person_faults import PERSON_MEASURES, person_measures, person_notes
from talm_sim.tasks.base import RunView
from talm_sim.tasks.talm.ask_scores import AskScores, total_ask_scores
from talm_sim.tasks.talm.blockers import BlockerScores, ask_f1_interval
from talm_sim.tasks.talm.groups import AVERAGED, GROUPS, ORDER, UNKNOWN
from talm_sim.tasks.talm.reactions import MEASURES, behaviour_measures
from talm_sim.tasks.talm.rows import PUBLISHED_UNEXPECTED
from talm_sim.types import Measure, Rate, Row, Summary
from talm_sim.types.measures import Better
from talm_sim.types.written_figures import decimal, interval

HEADS = {"pass_rate": "Passed", "awareness": "Noticed", "unexpected": "Unexpected", "skip": "Skipped", "interaction": "Asked a person"}
"""Head of a rate's column, in the order of a table's columns."""
PRINTED = {"pass_rate": "PR", "awareness": "Aware", "unexpected": "Unexp", "skip": "Skip", "interaction": "Inter"}
"""The paper's names of them."""
BLOCKERS: Mapping[str, tuple[str, str, str, str]] = {
    "question_precision": ("On target", "blocker_questions", "questions_decided", "questions that were about what is missing"),
    "blocker_recall": ("Asked for", "blockers_asked", "blockers", "missing things that a person can supply and that were asked for"),
    "coverage_before_answer": ("Before answer", "blockers_before_answer", "blockers", "asked for before answering"),
    "coverage_before_write": ("Before writing", "blockers_before_write", "writing_blockers", "asked for before the first writing call"),
    "asked_again": ("Repeated", "questions_again", "questions", "repeated questions"),
    "asked_given": ("Needless", "questions_given", "questions_compared", "questions whose answer is in the request"),
}
"""Columns about questions and what is missing, after Ask-F1: head, the counts of a row that are divided, and meaning."""
_ASKING = "questions"
"""Title of their table; its n is the number of blockers that a person can lift."""
FURTHER = (*MEASURES, "ask_f1", *BLOCKERS, *PERSON_MEASURES, "appropriate", "rule_agrees", PUBLISHED_UNEXPECTED)
"""Names of the measures that a group has only where they apply."""
_BETTER: Mapping[str, Better] = {"pass_rate": "higher", "awareness": "higher"}
_BETTER_IN: Mapping[str, Mapping[str, Better]] = {
    "perfect": {"unexpected": "lower", "skip": "lower"},
    "replaceable": {"unexpected": "lower"},
}
"""Of a group: where nothing is missing or a person can help, a No is needless; elsewhere a reader may take it for caution."""
_ABOUT = {
    "pass_rate": "passed",
    "awareness": "noticed that something is missing (perfect: that nothing is)",
    "unexpected": "passed although something was missing, or needlessly said No",
    "skip": "declined before trying",
    "interaction": "asked the person, of the episodes not skipped",
}
"""What each rate counts, for a reader who has the table alone."""


def summarize(rows: Sequence[Row], run: RunView) -> list[Summary]:
    """Add up the rows by group; `unavailable` is the plain average of its halves if both are there.

    Returns:
        Summaries in the order of the paper's tables; groups this task does not know follow by name.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    found = {name: _summary(name, group, own=run.job.options.agent is not None or run.imported) for name, group in groups.items()}
    average, halves = AVERAGED
    if all(half in found for half in halves):
        found[average] = _average(*(found[half] for half in halves))
    return [found[name] for name in sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))]


def asking_of(rows: Iterable[Row]) -> AskScores | None:
    """Return the counts of asking for help, added up; None if nobody could be asked."""
    return total_ask_scores(
        AskScores(**{name: row.values.get(name, 0) for name in AskScores.model_fields})
        for row in rows
        if row.scored and "questions" in row.values
    )


def _summary(name: str, group: Sequence[Row], *, own: bool) -> Summary:
    scored = [row for row in group if row.scored]
    judge = next((row.labels["pass_judge"] for row in scored if "pass_judge" in row.labels), None)
    notes = list(_notes(scored, judge, own=own))
    with_human = any(row.labels["human"] != "none" for row in scored)
    rates = {
        "pass_rate": share(scored, "pass_rate") if judge else None,
        "awareness": _rate_or_none(share(scored, "awareness")),
        "unexpected": _rate_or_none(share(scored, "unexpected")),
        "skip": share(scored, "skip") if _skips(name, scored) else None,
        "interaction": share(scored, "interaction") if with_human else None,
    }
    asking = asking_of(scored)  # over whole episodes, only in data: a table's are over questions and missing things
    asked = asking if asking is not None and (asking.needing or asking.asking) else None
    by_episodes = {f"asking_{share}": getattr(asked, share) for share in ("precision", "recall", "f1")} if asked else {}
    return Summary.of(
        name,
        group,
        facts={"unparsed": sum(row.labels.get("said") == "unparsed" for row in scored), "pass_judge": judge, **by_episodes},
        measures=(*_measures(name, rates, judge if scored else "", _undecided(scored)), *_further_measures(scored)),
        notes=tuple(notes),
    )


def _further_measures(scored: Sequence[Row]) -> Iterator[Measure]:
    yield from behaviour_measures(scored)
    yield from _blocker_measures(scored)
    yield from person_measures(scored)
    yield from _mark_measures(scored)
    yield from _published(scored)


def _skips(group: str, scored: Sequence[Row]) -> bool:
    """Return whether an episode of a group can be skipped: with tools, and with a question that may be answered with No."""
    return GROUPS.get(group, UNKNOWN).has_tools and (not scored or any("skip" in row.values for row in scored))


def _undecided(scored: Sequence[Row]) -> int:
    return sum(row.values.get("pass_rate") is None for row in scored)


def _measures(group: str, rates: Mapping[str, Rate | None], judge: str | None, undecided: int) -> tuple[Measure, ...]:
    by = {"pass_rate": "no judge" if judge is None else judge}
    better = {**_BETTER, **_BETTER_IN.get(group, {})}
    return tuple(
        Measure.of(rate, name, HEADS[name], undecided=open_, note=_ABOUT[name], by=by.get(name, ""), better=better.get(name, "neither"))
        for name, rate in rates.items()
        for open_ in [undecided if name == "pass_rate" else 0]
    )


def _blockers_of(rows: Iterable[Row]) -> BlockerScores:
    """Return the counts of questions and things missing, added up."""
    scored = [row for row in rows if row.scored and "blockers" in row.values]
    return BlockerScores(**{name: sum(int(row.values.get(name) or 0) for row in scored) for name in BlockerScores.model_fields})


def _blocker_measures(scored: Sequence[Row]) -> Iterator[Measure]:
    """Yield the columns about questions and what is missing; none if neither was there."""
    found = _blockers_of(scored)
    if not found.blockers and not found.questions_decided:
        return
    episodes = sum(bool(row.values.get("blockers") or row.values.get("questions_decided") or row.values.get("questions")) for row in scored)
    low, high = ask_f1_interval(scored) or (None, None)
    yield Measure(
        name="ask_f1",
        head="Ask-F1",
        kind="score",
        under=_ASKING,
        value=found.ask_f1,
        low=low,
        high=high,
        n=episodes,
        episodes=episodes,
        note="harmonic mean of On target and Asked for (HiL-Bench)",
        better="higher",
    )
    for name, (head, part, whole, about) in BLOCKERS.items():
        rate = share_of_counts(scored, part, whole)
        better: Better = "lower" if name in {"asked_again", "asked_given"} else "higher"
        if rate.n or name != "coverage_before_write":
            yield Measure.of(rate if rate.n else None, name, head, episodes=episodes, under=_ASKING, note=about, better=better)


def _mark_measures(scored: Sequence[Row]) -> Iterable[Measure]:
    """Return measures of the marks that a person gave to questions, and of how often the rule agrees."""
    if (asking := asking_of(scored)) is not None and asking.marked:
        about, left = "questions, as the person marked them", asking.marked - asking.compared
        yield _line(share_of_counts(scored, "appropriate", "marked"), "appropriate", about, "of the marked questions")
        rest = f"; {left} not compared, as what is missing is not known" if left else ""
        yield _line(share_of_counts(scored, "agreeing", "compared"), "rule_agrees", about, f"the rule for relevance agrees{rest}")


def _published(scored: Sequence[Row]) -> Iterable[Measure]:
    """Return the published scorer's own count of unexpected successes without tools, if the outputs were imported."""
    rate = share(scored, PUBLISHED_UNEXPECTED)
    if rate.n:
        yield _line(
            rate, PUBLISHED_UNEXPECTED, "Unexpected by the published scorer", "only ties (win_rate 1) that failed with tools, over all answers"
        )


def _line(rate: Rate, name: str, under: str, note: str) -> Measure:
    return Measure.of(rate, name, name.replace("_", " "), place="line", under=under, note=note)


def _rate_or_none(rate: Rate) -> Rate | None:
    """Return the rate; None if no row has a value, for example for a question that was not asked."""
    return rate if rate.n else None


def _notes(scored: Sequence[Row], judge: str | None, *, own: bool) -> Iterable[str]:
    judged = [row for row in scored if row.values.get("pass_rate") is not None]
    left = _undecided(scored)
    if judge is None and scored:
        yield f"no pass rate ({scored[0].why['pass_rate']})"
    elif left and judge:
        passed = sum(bool(row.values["pass_rate"]) for row in judged)
        ends = f"{decimal(passed / len(scored))} if all of these failed, {decimal((passed + left) / len(scored))} if all passed"
        yield f"{left} of {len(scored)} episodes have no verdict of judge {judge}: passed is {ends}"
    raw = next((row.labels["raw_judge"] for row in scored if "raw_judge" in row.labels), None)
    if raw is not None:
        rate = share(scored, "raw_pass_rate")
        if rate.n:
            yield f"answers that pass by themselves {decimal(rate.value)} [{interval(rate)}] by judge {raw}"
    paired = [row for row in judged if row.values.get("unexpected") is not None]
    if paired and len(paired) < len(judged):
        yield f"unexpected is over the {len(paired)} of {len(judged)} episodes whose perfect pair was judged"
    if (asking := asking_of(scored)) is not None:
        yield _asking_sentence(asking, _blockers_of(scored))
    yield from _waiting_notes(scored)
    yield from person_notes(scored)
    if (in_words := sum("open_questions" in row.values for row in scored)) and not (own and asking):
        yield f"{in_words} of {len(scored)} episodes asked in plain text, and got no reply"


def _asking_sentence(asking: AskScores, found: BlockerScores) -> str:
    """Return in words who was asked when, and for what."""
    said = asking.sentence()
    if found.questions_decided:
        about = found.blocker_questions
        if found.questions_decided == 1:
            said += f"; the one question was {'' if about else 'not '}about what was missing"
        else:
            said += f"; {about or 'none'} of {found.questions_decided:,} questions {'was' if about == 1 else 'were'} about what was missing"
    undecided = asking.questions - found.questions_decided
    if undecided and found.questions_decided:
        said += f", which is not known of {undecided:,} more"
    elif undecided:
        said += f"; whether {_count(undecided, 'question')} {'was' if undecided == 1 else 'were'} about what was missing is not known"
    never = found.blockers - found.blockers_asked
    if never and asking.asking_in_need:
        said += f"; {never:,} of {_count(found.blockers, 'thing')} missing {'was' if never == 1 else 'were'} never asked for"
    return said


def _waiting_notes(scored: Sequence[Row]) -> Iterator[str]:
    if answers := sum(int(row.values.get("waited_answers") or 0) for row in scored):
        seconds = sum(float(row.values.get("waited_seconds") or 0) for row in scored)
        yield f"people answered {_count(answers, 'time')} in {seconds:,.0f} s, {seconds / answers:,.1f} s each from asking to answering"
    stood_in, in_json = (sum(int(row.values.get(name) or 0) for row in scored) for name in ("stand_ins", "stand_ins_in_json"))
    if stood_in:
        yield f"people stood in for a tool {_count(stood_in, 'time')}: {in_json:,} in JSON as it answers, {stood_in - in_json:,} in words"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _average(*halves: Summary) -> Summary:
    first, second = halves
    judges = sorted({half.facts["pass_judge"] for half in halves if half.facts["pass_judge"]})
    judge = " and ".join(judges) or None
    rates = {name: _average_of(first.measure(name), second.measure(name)) for name in HEADS}
    return Summary(
        group=AVERAGED[0],
        n=first.n + second.n,
        total=first.total + second.total,
        not_scored=dict(sorted((Counter(first.not_scored) + Counter(second.not_scored)).items())),
        facts={"unparsed": first.facts["unparsed"] + second.facts["unparsed"], "pass_judge": judge},
        measures=_average_ends(_measures(AVERAGED[0], rates, judge if first.n + second.n else "", 0), first, second),
        notes=(f"plain average of {' and '.join(AVERAGED[1])}",),
        derived=True,
    )


def _average_ends(measures: Sequence[Measure], first: Summary, second: Summary) -> tuple[Measure, ...]:
    """Return the measures, with the averages of the ranges that undecided episodes leave open."""
    one, other = (half.measure("pass_rate") for half in (first, second))
    if not (one and other and (one.undecided or other.undecided) and one.value is not None and other.value is not None):
        return tuple(measures)
    ends = {
        end: (getattr(one, end, None) or one.value * (one.undecided is None)) / 2
        + (getattr(other, end, None) or other.value * (other.undecided is None)) / 2
        for end in ("least", "most")
    }
    open_ = {"undecided": (one.undecided or 0) + (other.undecided or 0), **ends}
    return tuple(measure.model_copy(update=open_) if measure.name == "pass_rate" else measure for measure in measures)


def _average_of(first: Measure | None, second: Measure | None) -> Rate | None:
    one, other = (None if measure is None or measure.n is None else measure.rate() for measure in (first, second))
    return average_of_rates(one, other) if one and other else None
