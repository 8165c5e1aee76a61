"""BFCL's overall scores as lines below a table; what was not run is said, and never filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from talm_sim.tasks.refusal.trees import Node, Reach, TreeVersion, score_tree
from talm_sim.types import Measure, Rate

__all__ = ["tree_lines"]


def tree_lines(version: TreeVersion, rates: Mapping[str, Rate], reach: Mapping[str, Reach]) -> Iterator[Measure]:
    """The scores that subsets add up to, from the overall one down; the subsets themselves are rows of the table.

    Args:
        version: Of the leaderboard.
        rates: The pass rate of each subset that was run.
        reach: How much of each of them was run.
    """
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
