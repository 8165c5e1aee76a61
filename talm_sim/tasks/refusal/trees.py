"""Compute BFCL's overall scores from the pass rates of its subsets: a tree for each version of the leaderboard.

What the leaderboards compute (v3 and v4: generate_leaderboard_csv of bfcl-eval 2025.6.16 and 2026.3.23; v2: that of August 2024):

    v4  overall = 10 % non_live + 10 % live + 10 % irrelevance + 30 % multi_turn + 40 % agentic
        non_live = mean of simple, multiple, parallel, parallel_multiple; simple = mean of Python, Java and JavaScript
        live = the four live subsets with ground truths, weighted by their rows; live_relevance is shown, and counts nowhere
        irrelevance = mean of irrelevance and live_irrelevance
        multi_turn = mean of its four subsets; agentic = mean of web_search (mean of 2) and memory (mean of 3)
    v3  overall = mean of non_live, live and multi_turn
        non_live = as in v4, with irrelevance as a fifth; live = all six live subsets, weighted by their rows
    v2  overall = mean of ten: simple, multiple, parallel, parallel_multiple, each the mean of its non-live and its live half; the same four
        executed; irrelevance as in v4; live_relevance

Both packages put 0 where a subset was not run, and so print an overall score for any part of the benchmark. Here a node whose subsets were not
all run, each with all of its rows, has no value. The agentic and the executed subsets are not run by this task, so v4's and v2's overall
scores have no value here; v2's executed subsets are in no data of v3 or v4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, NamedTuple

from talm_sim.judges.stats import pool_rates
from talm_sim.tasks.base import RunView
from talm_sim.tasks.refusal.bfcl import SUBSETS
from talm_sim.tasks.refusal.bfcl.subsets import Version, rows_of
from talm_sim.types import FrozenModel, Measure, Rate, Row, Scenario

TreeVersion = Literal["v2", "v3", "v4"]
Rule = Literal["subset", "mean", "rows", "weights"]


class Reach(NamedTuple):
    """The rows of a subset that have an outcome, out of all."""

    judged: int
    """Number of its rows that have an outcome."""
    rows: int
    """Number of all its rows."""


_UNKNOWN: Mapping[str, Reach] = {}


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts that a score is computed from.

    Attributes:
        name: Its name; a subset's if it has no parts.
        rule: `subset`: what was measured; `mean`: every part counts the same; `rows`: every row counts the same; `weights`: by `weights`.
        parts: The scores it is computed from.
        weights: Weight of each part, in percent.
    """

    name: str
    rule: Rule = "subset"
    parts: tuple[Shape, ...] = ()
    weights: tuple[int, ...] = ()


class Node(FrozenModel):
    """A score of the tree."""

    name: str
    rule: Rule
    value: float | None
    """Share from 0 to 1; None if a subset it needs was not run, or not with all of its rows."""
    rate: Rate | None = None
    """The rate of its rows with an interval; None if rows do not count the same, or none were run."""
    missing: tuple[str, ...] = ()
    """The subsets it needs that were not run."""
    partial: tuple[str, ...] = ()
    """The subsets it needs that were run with only some of their rows."""
    reach: Reach | None = None
    """Total over the subsets it needs; None if it is not known of all of them."""
    weight: int | None = None
    """Percent it has in the node above; None if that has no weights."""
    parts: tuple[Node, ...] = ()

    @property
    def state(self) -> Literal["scored", "incomplete", "not run"]:
        """Whether it has a value and, if not, whether any of the subsets it needs was run."""
        if not self.missing and not self.partial:
            return "scored"
        if not self.parts:
            return "incomplete" if self.partial else "not run"
        return "not run" if all(part.state == "not run" for part in self.parts) else "incomplete"


def _evaluate(shape: Shape, rates: Mapping[str, Rate], weight: int | None = None, *, reach: Mapping[str, Reach] = _UNKNOWN) -> Node:
    """Compute a score and all below it."""
    if shape.rule == "subset":
        return _leaf(shape.name, rates.get(shape.name), weight, reach.get(shape.name))
    weights: tuple[int | None, ...] = shape.weights or (None,) * len(shape.parts)
    parts = tuple(_evaluate(part, rates, share, reach=reach) for part, share in zip(shape.parts, weights, strict=True))
    missing = tuple(dict.fromkeys(name for part in parts for name in part.missing))
    partial = tuple(dict.fromkeys(name for part in parts for name in part.partial))
    reached = [part.reach for part in parts if part.reach is not None]
    rate = None
    if shape.rule == "rows" and not missing and not partial:
        rate = pool_rates(part.rate for part in parts if part.rate is not None)
    return Node(
        name=shape.name,
        rule=shape.rule,
        value=None if missing or partial else rate.value if rate else _mean(parts),
        rate=rate,
        missing=missing,
        partial=partial,
        reach=Reach(sum(one.judged for one in reached), sum(one.rows for one in reached)) if len(reached) == len(parts) else None,
        weight=weight,
        parts=parts,
    )


def score_tree(version: TreeVersion, rates: Mapping[str, Rate], reach: Mapping[str, Reach] = _UNKNOWN) -> Node:
    """Compute the overall score of a version of the leaderboard, and all below it."""
    return _evaluate(TREES[version], rates, reach=reach)


def _leaf(name: str, rate: Rate | None, weight: int | None, reach: Reach | None) -> Node:
    run = rate is not None and rate.n > 0
    whole = run and (reach is None or reach.judged >= reach.rows)
    return Node(
        name=name,
        rule="subset",
        value=rate.value if rate and whole else None,
        rate=rate if run else None,
        missing=() if run else (name,),
        partial=(name,) if run and not whole else (),
        reach=reach,
        weight=weight,
    )


def _mean(parts: tuple[Node, ...]) -> float:
    """Return the mean of parts that all have values, by their weights if they have any."""
    weights = [1 if part.weight is None else part.weight for part in parts]
    return fsum((part.value or 0.0) * weight for part, weight in zip(parts, weights, strict=True)) / sum(weights)


def _mean_of(name: str, *parts: Shape | str) -> Shape:
    return Shape(name, "mean", tuple(Shape(part) if isinstance(part, str) else part for part in parts))


def _rows_of(name: str, *subsets: str) -> Shape:
    return Shape(name, "rows", tuple(map(Shape, subsets)))


_LIVE_AST = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
_SIMPLE = _mean_of("simple", "simple_python", "simple_java", "simple_javascript")
_IRRELEVANCE = _mean_of("total_irrelevance", "irrelevance", "live_irrelevance")
_MULTI_TURN = _mean_of("multi_turn", "multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
_AGENTIC = _mean_of(
    "agentic",
    _mean_of("web_search", "web_search_base", "web_search_no_snippet"),
    _mean_of("memory", "memory_kv", "memory_vector", "memory_rec_sum"),
)
TREES: Mapping[TreeVersion, Shape] = {
    "v2": _mean_of(
        "overall",
        _mean_of("total_simple", _SIMPLE, "live_simple"),
        _mean_of("total_multiple", "multiple", "live_multiple"),
        _mean_of("total_parallel", "parallel", "live_parallel"),
        _mean_of("total_parallel_multiple", "parallel_multiple", "live_parallel_multiple"),
        _mean_of("simple_executed", "exec_simple", "rest"),
        "exec_multiple",
        "exec_parallel",
        "exec_parallel_multiple",
        _IRRELEVANCE,
        "live_relevance",
    ),
    "v3": _mean_of(
        "overall",
        _mean_of("non_live", _SIMPLE, "multiple", "parallel", "parallel_multiple", "irrelevance"),
        _rows_of("live", *_LIVE_AST, "live_irrelevance", "live_relevance"),
        _MULTI_TURN,
    ),
    "v4": Shape(
        "overall",
        "weights",
        (
            _mean_of("non_live", _SIMPLE, "multiple", "parallel", "parallel_multiple"),
            _rows_of("live", *_LIVE_AST),
            _IRRELEVANCE,
            _MULTI_TURN,
            _AGENTIC,
        ),
        (10, 10, 10, 30, 40),
    ),
}
"""The leaderboards' overall scores."""


def tree_lines(version: TreeVersion, rates: Mapping[str, Rate], reach: Mapping[str, Reach]) -> Iterator[Measure]:
    """Render the scores that subsets add up to, from the overall one down; the subsets themselves are rows of the table."""
    yield from _lines(score_tree(version, rates, reach), f"BFCL {version}, by format", version, 0)


def _lines(node: Node, title: str, key: str, depth: int) -> Iterator[Measure]:
    if not node.parts:
        return
    weight = "" if node.weight is None or node.state == "incomplete" else f"{node.weight} % of the score; "
    limits = {} if node.rate is None else {"low": node.rate.low, "high": node.rate.high}
    yield Measure(
        name=f"{key}_{node.name}",
        head=f"{'  ' * depth}{node.name.replace('_', ' ')}",
        kind="number" if node.rate is None else "score",
        place="line",
        under=title,
        value=node.value,
        better="higher",
        note=f"{weight}{_describe_node(node)}",
        **limits,
    )
    for part in node.parts if node.state != "not run" else ():
        yield from _lines(part, title, key, depth + 1)


def _describe_node(node: Node) -> str:
    if node.state == "not run":
        return "not run"
    if node.partial and node.reach:
        return f"incomplete: {node.reach.judged:,} of {node.reach.rows:,} rows"
    if node.partial:
        return f"{len(node.missing)} subsets not run, {len(node.partial)} in part"
    if node.missing:
        return f"incomplete: {len(node.missing)} of its subsets not run"
    return {"mean": "mean", "rows": "each row the same", "weights": "by these weights"}.get(node.rule, "")


_OUTCOMES = ("ast", "h_s", "relevance", "turns")
_VERSIONS: Mapping[str, Version] = {"BFCL v3": "v3", "BFCL v4": "v4"}
"""Version of the data, by the source that BFCL's own rows name."""


def reach_of(rows: Sequence[Row], run: RunView) -> dict[str, Reach]:
    """Count, for each subset, the rows that were judged.

    Args:
        rows: Those of one language.
        run: What they are of; a row that it planned and that has no outcome, or not in every epoch, is not counted.
    """
    languages = {row.labels["language"] for row in rows}
    planned = [one for one in run.scenarios() if one.group in SUBSETS and one.language in languages]
    judged = Counter(row.scenario for row in rows if row.scored and any(row.values.get(name) is not None for name in _OUTCOMES))
    outcomes = Counter(one.group for one in planned if judged[one.id] >= run.job.config.epochs)
    counts = Counter(one.group for one in planned)
    version = _version(planned, counts)
    return {name: Reach(outcomes[name], max(rows_of(subset, version), counts[name])) for name, subset in SUBSETS.items()}


def _version(planned: Sequence[Scenario], counts: Mapping[str, int]) -> Version:
    """Return the version of the data; for a translation, which does not name it, the one whose differing subsets' rows were planned."""
    named = {_VERSIONS.get(one.source.name) for one in planned}
    if len(named) == 1 and (version := named.pop()):
        return version
    irrelevance, relevance = (SUBSETS[name] for name in ("live_irrelevance", "live_relevance"))
    if counts[relevance.name] == rows_of(relevance, "v3"):
        return "v3"
    return "v3" if counts[irrelevance.name] == rows_of(irrelevance, "v3") and not counts[relevance.name] else "v4"
