"""BFCL's subsets: their files, how many rows they have, and which rows of them are faulty as published.

Names are those of BFCL v4 and of the study; v3 calls the three simple ones `simple`, `java` and `javascript`. Rows were counted in the files of
bfcl-eval 2026.3.23 (v4) and 2025.6.16 (v3). Either version has the study's 3,641: 550 simple, 200 multiple, 200 parallel, 200 parallel and
multiple, 240 irrelevance, 1,351 of the four live subsets with ground truths, and 900 of live_irrelevance with live_relevance. The four
multi-turn subsets, which the study left out, have 200 each; in their rows the model acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from talm_sim.types import FrozenModel

Version = Literal["v3", "v4"]


class Subset(FrozenModel):
    """A subset."""

    name: str
    expected: Literal["calls", "any", "none", "turns"]
    """What is right in all of its rows: the calls of the ground truth, any call, none, or what the calls of several turns come to."""
    rows: int
    """How many rows it has in v4."""
    rows_v3: int | None = None
    """How many rows it has in v3, if that is another number."""
    syntax: Literal["python", "java", "javascript"] = "python"

    @property
    def parallel(self) -> bool:
        """Whether several calls are right in each of its rows; otherwise one is, or none."""
        return "parallel" in self.name


SUBSETS: Mapping[str, Subset] = {
    subset.name: subset
    for subset in (
        Subset(name="simple_python", expected="calls", rows=400),
        Subset(name="simple_java", expected="calls", rows=100, syntax="java"),
        Subset(name="simple_javascript", expected="calls", rows=50, syntax="javascript"),
        Subset(name="multiple", expected="calls", rows=200),
        Subset(name="parallel", expected="calls", rows=200),
        Subset(name="parallel_multiple", expected="calls", rows=200),
        Subset(name="irrelevance", expected="none", rows=240),
        Subset(name="live_simple", expected="calls", rows=258),
        Subset(name="live_multiple", expected="calls", rows=1053),
        Subset(name="live_parallel", expected="calls", rows=16),
        Subset(name="live_parallel_multiple", expected="calls", rows=24),
        Subset(name="live_irrelevance", expected="none", rows=884, rows_v3=882),
        Subset(name="live_relevance", expected="any", rows=16, rows_v3=18),
        Subset(name="multi_turn_base", expected="turns", rows=200),
        Subset(name="multi_turn_miss_func", expected="turns", rows=200),
        Subset(name="multi_turn_miss_param", expected="turns", rows=200),
        Subset(name="multi_turn_long_context", expected="turns", rows=200),
    )
}
SINGLE_TURN = tuple(name for name, subset in SUBSETS.items() if subset.expected != "turns")
MULTI_TURN = tuple(name for name, subset in SUBSETS.items() if subset.expected == "turns")
"""Those in whose rows the model acts: turn by turn, with the simulated APIs of the package."""

V3_NAMES: Mapping[str, str] = {"simple_python": "simple", "simple_java": "java", "simple_javascript": "javascript"}
"""A subset's name in v3, if that is another one."""

REPEATED_IDS = frozenset({"live_relevance_3-3-0"})
"""Ids that two different rows of v3 share; the second row's gets `_2` here."""

KNOWN_FAULTS: Mapping[str, str] = {
    "simple_363": "names find_closest where the function is restaurant_search.find_closest, whose name is taken, as by BFCL's checker",
    "javascript_41": "names queue where the function is queue_1, whose name is taken, as by BFCL's checker",
    "parallel_multiple_12": "has a parameter permeability that its function has not; it may be left out, so the row can be passed",
    "parallel_multiple_26": "has a parameter type that its function has not; it may be left out, so the row can be passed",
    "live_parallel_9-5-0": "has a parameter operating_system0 that its function has not; it may be left out, so the row can be passed",
    "live_simple_106-63-0": "leaves its parameters auto_loan_payment_start and bank_hours_start no value that is right: no call passes the row",
    "live_simple_112-68-0": "leaves five of its parameters, such as get_balance_start, no value that is right: no call passes the row",
    "live_multiple_862-181-3": "demands a parameter journey_start_time that its function has not: no call passes the row",
    "live_multiple_964-207-0": "demands a parameter question that its function has not: no call passes the row",
}
"""Ground truths that do not fit their functions in the published files (some in v3 alone), by the row's id there, and what follows from it."""


def rows_of(subset: Subset, version: Version) -> int:
    """Return how many rows a subset has in a version of the data."""
    return subset.rows_v3 if version == "v3" and subset.rows_v3 is not None else subset.rows
