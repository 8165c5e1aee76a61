"""The metrics of task `awareness`: what each episode counts as, and the totals of a manipulation's instances and their originals.

"Can Tool-augmented Large Language Models be Aware of Incomplete Conditions?", section 4 and appendix B: accuracy, and F1 with No as positive
class. An answer that cannot be read, or did not come, is wrong: it is neither a Yes nor a No.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from talm_sim.common.kappa import kappa
from talm_sim.judges.stats import share
from talm_sim.models.formats import read_calls
from talm_sim.models.formats.literals import BrokenError
from talm_sim.models.formats.python_calls import CALL_LIST, read_list
from talm_sim.models.formats.readers import read_alone
from talm_sim.models.parsing import split_reasoning
from talm_sim.models.yes_no import yes_no_chances, yes_probability
from talm_sim.tasks.awareness import chances
from talm_sim.tasks.awareness.data import COMPLETE, MANIPULATED
from talm_sim.tasks.awareness.feedback import CONDITIONS
from talm_sim.tasks.awareness.intervals import f1, f1_interval
from talm_sim.tasks.awareness.making.loaded import tool_names
from talm_sim.tasks.awareness.outcomes import outcome_of
from talm_sim.tasks.awareness.protocols import IMPLICIT, Protocol, decision_of, explicit_turns, manipulation_shown
from talm_sim.tasks.base import RunView
from talm_sim.tasks.outcomes import NO_ANSWER
from talm_sim.tasks.row_figures import Figure, mean_of, ratio_of, within
from talm_sim.types import UNPARSED, Episode, Matrix, Measure, ModelTurn, Row, Scenario, Summary, Verdict, YesNo


def makes_call(turn: ModelTurn, tools: Collection[str] = ()) -> bool:
    """Tell whether a turn makes a call by the rule of this module.

    >>> makes_call(ModelTurn(text="[GetToday()]")), makes_call(ModelTurn(text="I could call GetToday() for you."))
    (True, False)
    """
    if turn.tool_calls or turn.unparsable_calls:
        return True
    text = split_reasoning(turn.text or turn.raw_text)[0]
    read = read_calls(text)
    return bool(read.calls or read.unparsable) or _in_brackets(text) or any(_fills(line, tools) for line in text.splitlines())


def _in_brackets(text: str) -> bool:
    at = 0
    while opened := CALL_LIST.search(text, at):
        try:
            read_list(text, opened.start())
        except BrokenError as err:
            at = max(err.at, opened.end())
        else:
            return True
    return False


def _fills(line: str, tools: Collection[str]) -> bool:
    found = read_alone(line)
    return found is not None and any(one.name in tools for one in found.found)


ALL = "all"
"""The group of everything, if there is more than one manipulation."""
_LABELS = ("yes", "no", UNPARSED)
_JUDGE = "explanation"
_MEANS = frozenset({"accuracy", "yes_ratio", "unreadable", chances.SHARE, chances.MASS})


def rows(run: RunView) -> Iterator[Row]:
    """Return what each finished episode counts as, in the order of the plan.

    Values: `accuracy`; `yes_ratio`; `unreadable`; `asked_again`; where the model tells them `p_yes` (Yes / (Yes + No)), `p_yes_token` (Yes
    alone) and `yes_no_mass` (Yes + No); of the implicit protocols `agreement` with the explicit answer; of the explanation protocol
    `explanation`, where an incomplete instance was rightly answered No and that was judged.
    Labels: `gold`, `said`, `kind` (what was done to the instance), `source`; of the implicit protocols `explicit`; of the few-shot protocol
    `shown`, the manipulation that the examples show.
    """
    items = {one.id: (one, one.target) for one in run.scenarios() if isinstance(one.target, YesNo)}
    whole = _overall_group({one.group for one, _ in items.values()})
    verdicts = {one.episode_id: one for one in run.verdicts() if one.judge == _JUDGE}
    protocol = run.job.options.protocol  # once, because a stored run reads its job from the file
    for episode in run.episodes():
        if episode.scenario_id in items:
            scenario, target = items[episode.scenario_id]
            yield _row(episode, scenario, target, protocol, whole, verdicts.get(episode.id))


def summarize(rows: Sequence[Row], run: RunView) -> list[Summary]:
    """Add up the rows: for each manipulation its instances with their originals, also by source, then all."""
    ordered = sorted(rows, key=lambda row: row.episode)
    if run.job.options.protocol == "feedback":
        of = {name: [row for row in ordered if row.group == name] for name in CONDITIONS}
        return [_summary(name, own, run, derived=False, detailed=False) for name, own in of.items() if own]
    kinds = {row.labels["kind"] for row in rows}
    whole = _overall_group(kinds)
    found: list[Summary] = []
    for name in [one for one in MANIPULATED if one in kinds and one != whole]:
        found += _with_sources(name, _of_kind(ordered, name), run, derived=True)
    found += _with_sources(whole, ordered, run, derived=False)
    return found


def figure(group: str, measure: str) -> Figure | None:
    """Return how a measure of a manipulation, of one of its sources or of all instances is computed; None if it is not one of the table's."""
    own = {"f1": ratio_of(_f1_parts), "auroc": chances.area_figure}.get(measure)
    own = own or (mean_of(measure) if measure in _MEANS else None)
    kind, comma, source = group.partition(", ")
    if own is None or kind not in MANIPULATED:
        return own

    def select(rows: Sequence[Row]) -> list[Row]:
        return [row for row in _of_kind(rows, kind) if not comma or (row.labels["source"] or "no source") == source]

    return within(select, own)


def _f1_parts(row: Row) -> tuple[float, float]:
    """Return what a row adds to both sums of the F1 of No."""
    if not row.scored:
        return 0, 0
    gold, said = row.labels["gold"] == "no", row.labels["said"] == "no"
    return 2 * (gold and said), 2 * (gold and said) + (gold != said)


def _overall_group(kinds: set[str]) -> str:
    """Return the group with every row: the only manipulation, or all."""
    done = kinds - {COMPLETE}
    return (done or {COMPLETE}).pop() if len(done) < 2 else ALL


def _of_kind(rows: Sequence[Row], kind: str) -> list[Row]:
    """Return the instances of one manipulation and their originals, each once; in few-shot runs only those shown examples of it."""
    bases = {row.base for row in rows if row.labels["kind"] == kind}
    originals = {one.scenario for one in rows if one.labels["kind"] == COMPLETE and one.labels.get("shown", kind) == kind}
    return [row for row in rows if row.labels["kind"] == kind or (row.scenario in originals and row.base in bases)]


def _with_sources(name: str, rows: Sequence[Row], run: RunView, *, derived: bool) -> Iterator[Summary]:
    sources = sorted({row.labels["source"] for row in rows})
    yield _summary(name, rows, run, derived=derived, detailed=name != ALL)
    for source in sources if len(sources) > 1 and name != ALL else ():
        own = [row for row in rows if row.labels["source"] == source]
        yield _summary(f"{name}, {source or 'no source'}", own, run, derived=True, detailed=False)


def _row(episode: Episode, scenario: Scenario, target: YesNo, protocol: Protocol, whole: str, verdict: Verdict | None) -> Row:
    labels = {"gold": target.gold, "kind": scenario.group, "source": scenario.source.name}
    if shown := manipulation_shown(scenario):
        labels["shown"] = shown
    row = Row.of(episode, scenario, group=scenario.group if protocol == "feedback" else whole, labels=labels)
    if not row.scored:
        return row
    turns = explicit_turns(protocol, episode.model_turns)
    explicit = decision_of(turns[-1]).said if turns else UNPARSED
    said = explicit
    values: dict[str, Any] = {}
    silent = row.silent
    if protocol in IMPLICIT:
        free = episode.model_turns[0]
        silent, called = row.silent or free.is_silent, makes_call(free, tool_names(scenario))
        said = UNPARSED if silent else "yes" if called else "no"
        values |= {} if silent else {"agreement": said == explicit}
        labels["explicit"] = explicit
    values |= {"accuracy": said == target.gold, "yes_ratio": said == "yes", "unreadable": explicit == UNPARSED, "asked_again": len(turns) > 1}
    chance = yes_probability(turns[0].first_tokens) if turns else None
    if chance is not None:
        yes, no = yes_no_chances(turns[0].first_tokens)
        values |= {chances.SHARE: chance, chances.OWN: yes, chances.MASS: yes + no}
    if protocol == "explanation" and verdict is not None and verdict.value is not None:
        values["explanation"] = verdict.value
    outcome = NO_ANSWER.name if silent else outcome_of(target.gold, said)
    return row.model_copy(update={"values": values, "labels": {**labels, "said": said}, "outcome": outcome, "silent": silent})


def _summary(name: str, rows: Sequence[Row], run: RunView, *, derived: bool, detailed: bool) -> Summary:
    scored = [row for row in rows if row.scored]
    protocol = run.job.options.protocol
    seed = run.job.config.seed
    low, high = f1_interval(_clusters(scored), seed) or (None, None)
    f1_no = Measure(name="f1", head="F1 of No", kind="score", value=_f1(scored), low=low, high=high, note="F1 of No", better="higher")
    own = (
        Measure.of(share(scored, "accuracy"), "accuracy", "Accuracy", note="right", better="higher"),
        # A condition has one right answer: an F1 over it would add nothing.
        *((f1_no,) if protocol != "feedback" else ()),
        Measure.of(share(scored, "yes_ratio"), "yes_ratio", "Said Yes", note="said Yes"),
        Measure.of(share(scored, "unreadable"), "unreadable", "Unreadable", note="neither Yes nor No; counted as wrong", better="lower"),
    )
    facts = {
        "protocol": protocol,
        "asked_again": sum(bool(row.values["asked_again"]) for row in scored),
        "with_p_yes": sum(chances.SHARE in row.values for row in scored),
    }
    if not detailed:
        return Summary.of(name, rows, facts=facts, measures=(*own, *_columns(protocol, scored, seed)), derived=derived)
    more = (*_protocol_measures(protocol, scored), *chances.lines(scored, seed))
    return Summary.of(
        name,
        rows,
        facts=facts,
        measures=(*own, *_columns(protocol, scored, seed), *more),
        matrices=(_matrix(scored),),
        curves=chances.curves(scored),
        derived=derived,
    )


def _columns(protocol: str, scored: Sequence[Row], seed: int) -> Iterator[Measure]:
    """Return what a table has further room for: how well P(Yes) separates the two and, for a condition, which has one of them, its mean."""
    yield from chances.mean_column(scored) if protocol == "feedback" else chances.columns(scored, seed)


def _f1(scored: Sequence[Row]) -> float | None:
    pairs = [(row.labels["gold"], row.labels["said"]) for row in scored]
    hits = pairs.count(("no", "no"))
    return f1(hits, sum(gold == "no" for gold, _ in pairs) - hits, sum(said == "no" for _, said in pairs) - hits)


def _clusters(scored: Sequence[Row]) -> list[tuple[int, int]]:
    """Return for each original and its manipulated instances the right Noes, and the missed and wrong ones together."""
    found: dict[str, tuple[int, int]] = {}
    for row in scored:
        hits, wrong = found.get(row.base, (0, 0))
        gold, said = row.labels["gold"] == "no", row.labels["said"] == "no"
        found[row.base] = hits + (gold and said), wrong + (gold != said)
    return list(found.values())


def _protocol_measures(protocol: str, scored: Sequence[Row]) -> Iterator[Measure]:
    if protocol in IMPLICIT:
        pairs = [(row.labels["said"], row.labels["explicit"]) for row in scored if "agreement" in row.values]
        about = "implicit and explicit answers"
        yield Measure.of(share(scored, "agreement"), "agreement", "agree", place="line", under=about, note="both are the same")
        yield Measure(name="kappa", head="kappa", kind="number", place="line", under=about, value=kappa(pairs), note="beyond chance (Cohen)")
    if protocol == "explanation":
        rate = share(scored, "explanation") if any("explanation" in row.values for row in scored) else None
        about = "explanations of a right No"
        yield Measure.of(rate, "explanation", "correct", place="line", under=about, note="judged to give the right reason", better="higher")


def _matrix(scored: Sequence[Row]) -> Matrix:
    pairs = [(row.labels["gold"], row.labels["said"]) for row in scored]
    columns = _LABELS if any(said == UNPARSED for _, said in pairs) else _LABELS[:2]
    counts = tuple(tuple(pairs.count((gold, said)) for said in columns) for gold in _LABELS[:2])
    return Matrix(name="said", rows=_LABELS[:2], columns=columns, counts=counts)
