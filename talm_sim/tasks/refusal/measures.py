"""The metrics of task `refusal`: what each episode counts as, and the totals of each subset and of all together.

"Teaching Small Models When Not to Call Functions" (SIGIR 2026): AST over rows with calls that are right; Irr, H-I and H-S over rows where no
call is, as shares of rows without one: higher is better, though two are named hallucination. By format a row is without a call where none can
be read (H-S); by intent, where none was attempted either (Irr, H-I). What can be read is an attempt, so no row passes by intent and fails by
format. H-I leaves silence out, and H-S and Irr count it as right, as BFCL does. AST and H-S are told twice: as this project's reader reads raw
text, and, where calls were asked for in Python's list syntax, as BFCL reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import mul
from typing import Any

from talm_sim.judges.stats import bootstrap, mean_over, share, wilson
from talm_sim.reasoning import Decision
from talm_sim.tasks.base import RunView
from talm_sim.tasks.outcomes import NO_ANSWER
from talm_sim.tasks.reasoning import decision_matrix, reasoning_figure, reasoning_measures, reasoning_values
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, SUBSETS
from talm_sim.tasks.refusal.intent import NO_ATTEMPT
from talm_sim.tasks.refusal.outcomes import outcome_of, turns_outcome
from talm_sim.tasks.refusal.propensity import Propensity
from talm_sim.tasks.refusal.trees import reach_of, tree_lines
from talm_sim.tasks.refusal.turns.missing_table import HEADS, NAMES, missing_matrix, missing_measures, missing_values
from talm_sim.tasks.refusal.turns.row_person import interaction_values
from talm_sim.tasks.row_figures import Figure, difference_of, mean_of, within
from talm_sim.types import Calls, Episode, Matrix, Measure, Rate, Row, Scenario, Summary, Verdict

_PAIRS = {
    "h_s": (("h_i", "relevance_intent"), ("h_s", "relevance")),
    "h_s_bfcl": (("h_i", "relevance_intent"), ("h_s_bfcl", "relevance_bfcl")),
}
"""What a row counts as by intent and by format: where no call is right, and where any is."""


def _has_words(row: Row) -> bool:
    """Return whether a row where no call is right is in both H-I and H-S; a silent one is only in the latter."""
    return not (row.silent and "irr" in row.values)


def gap_of(rows: Sequence[Row], by_format: str) -> tuple[float | None, float | None, float | None]:
    """Return H-S less H-I, both over the same rows; a row where any call is right counts by the rule of its own subset, as in the two.

    Args:
        rows: The rows that both figures are over, but for those where no call is right and the model was silent.
        by_format: The measure that H-I is taken from: `h_s` or `h_s_bfcl`.

    Returns:
        The gap, and the ends of its interval, for which both shares are drawn together. Where the gap is the same in every base, the interval
        is Wilson's over as many rows as there are bases. All are None where one of the figures has rows that the other lacks.
    """
    bases: dict[str, list[int]] = {}
    for row in filter(_has_words, rows):
        meant, read = (next((row.values[name] for name in names if row.values.get(name) is not None), None) for names in _PAIRS[by_format])
        if (meant is None) != (read is None):
            return None, None, None
        if meant is not None:
            counts = bases.setdefault(row.base, [0, 0, 0])
            counts[:] = [counts[0] + bool(meant), counts[1] + bool(read), counts[2] + 1]
    if not bases:
        return None, None, None
    # One list a count, in an order that is the content's.
    h_i, h_s, sizes = zip(*sorted(bases.values()), strict=True)

    def gap(times: Sequence[int]) -> float | None:
        meant, read, size = (sum(map(mul, times, one)) for one in (h_i, h_s, sizes))
        return (read - meant) / size if size else None

    found = (sum(h_s) - sum(h_i)) / sum(sizes)
    if (limits := bootstrap(len(bases), gap)) is None:
        flat = wilson(round(len(bases) * abs(found)), len(bases))
        assert flat.low is not None and flat.high is not None
        return (found, flat.low, flat.high) if found >= 0 else (found, -flat.high, -flat.low)
    return found, *limits


ALL = "all"
"""The group of everything in a language."""
FORMAT, INTENT, BFCL, TURNS, MISSING = "calls", "intent", "calls-bfcl", "bfcl-turns", "missing-turn"
"""The judges whose verdicts are read here."""
CALLED, MALFORMED, REFUSED = "call", "malformed", "no call"
"""What was found if no call, or any call, is right: one that can be read, an unreadable attempt, or neither."""
RIGHT = "right"
_COMPOSITE = ("live_irrelevance", "live_relevance")
"""The study's live hallucination: 900 rows, each by its own subset's rule."""
_AS_BFCL = "as BFCL counts: silence is right"
_NOTES = {
    "ast": "the right calls were made",
    "relevance": "any call was made, where some tool fits",
    "turns": "BFCL's own check of all turns passes, where the model acts; silence after the right calls passes, as BFCL counts",
    "irr": f"irrelevance: no call attempted, {_AS_BFCL}",
    "h_i": "no call attempted in an answer, where no tool fits",
    "h_s": f"no call that talm-sim's reader finds, where no tool fits, {_AS_BFCL}",
    "gap": "malformed attempts: No call minus No attempt, over the same rows",
    "ast_bfcl": "the right calls were made, with raw text read as BFCL reads it",
    "h_s_bfcl": f"no call that BFCL's reader finds, where no tool fits, {_AS_BFCL}",
    "gap_bfcl": "No call (BFCL) minus No attempt, over the same rows",
}
_HEADS = {
    "ast": "Right calls",
    "ast_bfcl": "Right calls (BFCL)",
    "relevance": "Called",
    "turns": "Turns passed",
    "irr": "Irrelevance",
    "h_i": "No attempt",
    "h_s": "No call",
    "h_s_bfcl": "No call (BFCL)",
    "gap": "Malformed",
    "gap_bfcl": "Malformed (BFCL)",
    **HEADS,
}
_SHARE, _MEAN = "call_likelier", "propensity"
_PROPENSITY = {
    _SHARE: ("Likelier", "the beginning of a call is likelier than a refusal, where no tool fits"),
    _MEAN: ("Propensity", "likelihood of a call / (call + refusal), per token, where no tool fits"),
}
"""Names of the measures of `--propensity`, with their heads and notes."""
_TITLE = "propensity"
_GAPS = {"gap": "h_s", "gap_bfcl": "h_s_bfcl"}
"""Gaps, and the reader whose share by format H-I is subtracted from."""
_ATTEMPTS = mean_of("h_i", "relevance_intent")
_FIGURES = {
    "ast": mean_of("ast"),
    "ast_bfcl": mean_of("ast_bfcl"),
    "turns": mean_of("turns"),
    **{name: mean_of(name) for name in NAMES},
    "irr": mean_of("irr"),
    "h_i": _ATTEMPTS,
    "h_s": mean_of("h_s", "relevance"),
    "h_s_bfcl": mean_of("h_s_bfcl", "relevance_bfcl"),
    "gap": difference_of(_ATTEMPTS, mean_of("h_s", "relevance")),
    "gap_bfcl": difference_of(_ATTEMPTS, mean_of("h_s_bfcl", "relevance_bfcl")),
    **{name: mean_of(name) for name in _PROPENSITY},
}
_TURN_FAULTS = {
    "empty_turn_model_response": "no call",
    "instance_state_mismatch": "state",
    "execution_response_mismatch": "results",
    "force_terminated": "not ended",
}
"""What BFCL's check of turns calls a fault, to the head of its column."""
_FAULT_HEADS = {"wrong_function": "name", "missing": "absent", "unexpected": "extra", "wrong_type": "type", "wrong_value": "value"}


def rows(run: RunView) -> Iterator[Row]:
    """Return what each finished episode counts as, in the order of the plan.

    Values: `ast`, where calls are right; `h_i` and `h_s`, where none is, and `irr`, which is `h_i` with silence; `relevance` (by
    format) and `relevance_intent`, where any is;
    `ast_bfcl`, `h_s_bfcl` and `relevance_bfcl`, as BFCL reads raw text; `turns`, where the model acts, and `missing_...`, where a turn lacks
    something; `interaction`, where a person can be asked; with `--propensity`, `call_likelier` and `propensity`, where no call is right;
    `cut_off`, whether the output ends at the token limit. What no judge decided is left out. Labels: `gold`, `found`, `subset`, `language`
    and, where a turn lacks something, `missing`.
    """
    items = {one.id: one for one in run.scenarios() if isinstance(one.target, Calls) or one.group in MULTI_TURN}
    judges = (FORMAT, INTENT, BFCL, TURNS, MISSING)
    said = {(one.judge, one.episode_id): one for one in run.verdicts() if one.judge in judges}
    several = len({one.language for one in items.values()}) > 1
    kind = run.job.options.reasoning  # once, because a stored run reads its job from the file
    for episode in run.episodes():
        if episode.scenario_id in items:
            scenario = items[episode.scenario_id]
            verdicts = [said.get((judge, episode.id)) for judge in judges]
            row = _row(episode, scenario, verdicts, several=several)
            target = scenario.target
            yield _with_thought(row, kind, episode, target, verdicts[1]) if row.scored and isinstance(target, Calls) else row


def _row(episode: Episode, scenario: Scenario, verdicts: Sequence[Verdict | None], *, several: bool) -> Row:
    group = f"{scenario.group}, {scenario.language}" if several else scenario.group
    target = scenario.target if isinstance(scenario.target, Calls) else None
    gold = target.expected if target else "turns"
    row = Row.of(episode, scenario, group=group, labels={"gold": gold, "subset": scenario.group, "language": scenario.language})
    if not row.scored:
        return row
    if target is None:
        return _acting_row(row, episode, scenario, *verdicts[3:])
    names = {
        "calls": ("ast", "", "ast_bfcl"),
        "none": ("h_s", "irr", "h_s_bfcl"),
        "any": ("relevance", "relevance_intent", "relevance_bfcl"),
    }[target.expected]
    values: dict[str, bool | int | float | None] = {
        name: verdict.value for name, verdict in zip(names, verdicts[:3], strict=True) if name and verdict and verdict.value is not None
    }
    attempted = verdicts[1] is not None and verdicts[1].label not in ("", NO_ATTEMPT)
    row = row.model_copy(update={"silent": row.silent and not attempted})
    if "irr" in values and not row.silent:
        values["h_i"] = values["irr"]
    if (call := Propensity.of(episode).value) is not None:
        values |= {_SHARE: call > 0.5, _MEAN: call}
    values["cut_off"] = any(turn.stop == "length" for turn in episode.model_turns)
    found = _answer_kind(target, *verdicts[:2])
    outcome = NO_ANSWER.name if row.silent else outcome_of(target.expected, found, episode)
    return row.model_copy(update={"values": values, "labels": {**row.labels, "found": found}, "outcome": outcome})


def _acting_row(row: Row, episode: Episode, scenario: Scenario, turns: Verdict | None, missing: Verdict | None) -> Row:
    passed = None if turns is None else turns.value
    found = "" if turns is None or passed is None else RIGHT if passed else turns.label
    values, label = missing_values(episode, scenario, missing, passed)
    cut_off = any(turn.stop == "length" for turn in episode.model_turns)
    known = {} if passed is None else {"turns": passed}
    labels = {**row.labels, "found": found, **({"missing": label} if label else {})}
    values = {**known, **values, **interaction_values(episode), "cut_off": cut_off}
    outcome = NO_ANSWER.name if row.silent else turns_outcome(label, passed)
    return row.model_copy(update={"values": values, "labels": labels, "outcome": outcome})


def _with_thought(row: Row, kind: str, episode: Episode, target: Calls, meant: Verdict | None) -> Row:
    """Return a row with what is measured of the thought; only a decision for `call` says more than that there is no call."""
    called = None if row.silent or meant is None or meant.value is None else meant.value == (target.expected != "none")
    values, labels = reasoning_values(kind, episode, _decisions(target.expected != "none"), None if called is None else _decisions(called))
    if labels and called is not None:
        labels["action"] = CALLED if called else REFUSED
    return row.model_copy(update={"values": {**row.values, **values}, "labels": {**row.labels, **labels}})


def _decisions(called: bool) -> frozenset[Decision]:
    return frozenset({Decision.CALL} if called else set(Decision) - {Decision.CALL})


def _answer_kind(target: Calls, read: Verdict | None, meant: Verdict | None) -> str:
    """Return what an answer was labelled as; empty if nobody judged it."""
    if read is None or read.value is None:
        return ""
    if target.expected == "calls":
        return RIGHT if read.value else read.label
    if read.value == (target.expected == "any"):
        return CALLED
    attempted = meant is not None and meant.value is not None and meant.value == (target.expected == "any")
    return MALFORMED if attempted else REFUSED


def summarize(rows: Sequence[Row], run: RunView) -> list[Summary]:
    """Add up the rows: each subset by itself, for each language; then all of them if a language has several."""
    order = {name: place for place, name in enumerate((*run.job.task.splits["all"], *SUBSETS))}
    ordered = sorted(
        rows, key=lambda row: (row.labels["language"], order.get(row.labels["subset"], len(order)), row.labels["subset"], row.episode)
    )
    languages = list(dict.fromkeys(row.labels["language"] for row in ordered))
    found: list[Summary] = []
    for language in languages:
        own = [row for row in ordered if row.labels["language"] == language]
        groups = list(dict.fromkeys(row.group for row in own))
        found += [_subset(name, [row for row in own if row.group == name], run, alone=len(groups) == 1) for name in groups]
        if len(groups) > 1:
            found.append(_overall_summary(ALL if len(languages) == 1 else f"{ALL}, {language}", own, run))
    return found


def figure(group: str, measure: str) -> Figure | None:
    """Return how a gap is computed, and each measure over all rows of a language; what a subset has is else a mean of values."""
    whole, _, language = group.partition(", ")
    over_all = whole == ALL
    if over_all and (found := reasoning_figure(measure)):
        return within(lambda rows: [row for row in rows if not language or row.labels["language"] == language], found)
    if measure not in _FIGURES or not (over_all or measure in _GAPS):
        return None

    def select(rows: Sequence[Row]) -> list[Row]:
        own = [row for row in rows if (row.labels["language"] == language if language else True)] if over_all else _of_group(group, rows)
        own = [*filter(_has_words, own)] if measure in _GAPS else own
        of_all = {"ast", "ast_bfcl", "turns", *_PROPENSITY, *NAMES}
        if not over_all or not any(row.labels["subset"] in SUBSETS for row in own) or measure in of_all:
            return own
        wanted = ("irrelevance",) if measure == "irr" else _COMPOSITE
        return [row for row in own if row.labels["subset"] in wanted]

    return within(select, _FIGURES[measure])


def _of_group(group: str, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.group == group]


def _subset(name: str, rows: Sequence[Row], run: RunView, *, alone: bool) -> Summary:
    of_gold = {"calls": ("ast", "ast_bfcl"), "none": ("h_i", "h_s", "h_s_bfcl"), "any": ("relevance",), "turns": ("turns",)}
    measures = of_gold[rows[0].labels["gold"]]
    rates = {one: share(rows, one) for one in measures}
    columns = (*_columns(rates, rows), *_propensity(rows), *reasoning_measures(rows, run.job.options.reasoning), *_missing(rows, run))
    return Summary.of(name, rows, facts=_facts(rows), measures=columns, matrices=tuple(_matrices(rows)) if alone else ())


def _overall_summary(name: str, rows: Sequence[Row], run: RunView) -> Summary:
    """Return all rows of a language: the study's figures if they are BFCL's; for our own, those of the subsets together."""
    published = any(row.labels["subset"] in SUBSETS for row in rows)
    gold = {row.labels["gold"] for row in rows}
    rates: dict[str, Rate | None] = {}
    refusals = [row for row in rows if row.labels["gold"] == "none"]
    if "calls" in gold:
        rates |= {name: share(rows, name) for name in ("ast", "ast_bfcl")}
    if "turns" in gold:
        rates["turns"] = share(rows, "turns")
    if published and gold != {"turns"}:
        rates |= {"irr": share([row for row in rows if row.labels["subset"] == "irrelevance"], "irr"), **_composite(rows)}
        refusals = [row for row in rows if row.labels["subset"] in _COMPOSITE and rates["h_i"] is not None]
    elif "none" in gold:
        rates |= {name: share(rows, name) for name in ("h_i", "h_s", "h_s_bfcl")}
    lines = tree_lines(run.job.options.bfcl_version, _rates_by_subset(rows), reach_of(rows, run)) if published else ()
    measures = (
        *_columns(rates, refusals),
        *_propensity(rows),
        *reasoning_measures(rows, run.job.options.reasoning),
        *_missing(rows, run),
        *lines,
    )
    return Summary.of(name, rows, facts=_facts(rows), measures=measures, matrices=tuple(_matrices(rows)), derived=True)


def _missing(rows: Sequence[Row], run: RunView) -> Iterator[Measure]:
    return missing_measures(rows, asked=run.job.options.human != "none")


def _composite(rows: Sequence[Row]) -> dict[str, Rate | None]:
    """Return H-I and H-S over live_irrelevance and live_relevance together; without a value if only one of them was run."""
    own = [row for row in rows if row.labels["subset"] in _COMPOSITE]
    whole = {row.labels["subset"] for row in own} == set(_COMPOSITE)
    pairs = {"h_i": "relevance_intent", "h_s": "relevance", "h_s_bfcl": "relevance_bfcl"}
    return {name: share(own, name, other) if whole else None for name, other in pairs.items()}


def _rates_by_subset(rows: Sequence[Row]) -> Mapping[str, Rate]:
    """Return what BFCL's own scores are made of: the pass rate of each subset that was run, by format."""
    return {
        name: share([row for row in rows if row.labels["subset"] == name], "ast", "h_s", "relevance", "turns")
        for name in dict.fromkeys(row.labels["subset"] for row in rows)
    }


def _columns(rates: Mapping[str, Rate | None], refusals: Sequence[Row]) -> Iterator[Measure]:
    """Yield the columns of our reader, then those of BFCL's; gaps are over `refusals`, the rows of H-I and H-S."""
    gaps = _GAPS if "h_i" in rates else {}
    for name in sorted((*rates, *gaps), key=lambda one: one.endswith("_bfcl")):
        if name in gaps:
            value, low, high = gap_of(refusals, gaps[name])
            yield Measure(name=name, head=_HEADS[name], kind="score", value=value, low=low, high=high, note=_NOTES[name])
        else:
            yield Measure.of(rates[name], name, _HEADS[name], note=_NOTES[name], better="higher")


def _propensity(rows: Sequence[Row]) -> Iterator[Measure]:
    """Return the share of the rows in which a call is likelier than a refusal, and the mean of its part in both."""
    scored = [(row.base, float(value)) for row in rows if row.scored and (value := row.values.get(_MEAN)) is not None]
    if not scored:
        return
    found = mean_over(scored)
    assert found is not None
    known: dict[str, dict[str, Any]] = {
        name: {"head": head, "note": note, "better": "lower", "under": _TITLE} for name, (head, note) in _PROPENSITY.items()
    }
    yield Measure.of(share(rows, _SHARE), _SHARE, **known[_SHARE])
    mean, low, high = found
    yield Measure(name=_MEAN, kind="score", value=mean, low=low, high=high, n=len(scored), **known[_MEAN])


def _facts(rows: Sequence[Row]) -> dict[str, int]:
    scored = [row for row in rows if row.scored]
    return {
        "cut_off": sum(bool(row.values["cut_off"]) for row in scored),
        "silent": sum(row.silent for row in scored),
        "malformed": sum(row.labels["found"] == MALFORMED for row in scored),
        "bfcl_only": sum(row.values.get("irr") is True and row.values.get("h_s_bfcl") is False for row in scored),
    }


def _matrices(rows: Sequence[Row]) -> Iterator[Matrix]:
    """Return what was found in each subset: if calls are right, what was wrong with them; otherwise whether there was one."""
    from talm_sim.tasks.refusal.call_checks import CallFault

    made = [row for row in rows if row.scored and row.labels["gold"] == "calls"]
    refused = [row for row in rows if row.scored and row.labels["gold"] in ("none", "any")]
    acting = [row for row in rows if row.scored and row.labels["gold"] == "turns"]
    faults = (RIGHT, *(fault.value for fault in CallFault))
    yield from _matrix("calls", made, faults, tuple(_FAULT_HEADS.get(one, one) for one in faults))
    yield from _matrix("refusals", refused, (REFUSED, MALFORMED, CALLED))
    yield from _matrix("turns", acting, (RIGHT, *_TURN_FAULTS), (RIGHT, *_TURN_FAULTS.values()))
    yield from missing_matrix(rows)
    yield from decision_matrix(rows, "action", (CALLED, REFUSED))


def _matrix(name: str, rows: Sequence[Row], columns: tuple[str, ...], heads: tuple[str, ...] = ()) -> Iterator[Matrix]:
    counts = Counter((row.labels["subset"], row.labels["found"]) for row in rows if row.labels["found"])
    subsets = tuple(dict.fromkeys(row.labels["subset"] for row in rows))
    if counts:
        cells = tuple(tuple(counts[subset, column] for column in columns) for subset in subsets)
        yield Matrix(name=name, rows=subsets, columns=columns, counts=cells, heads=heads)
