"""The table of scenario groups: what each is asked, what counts as aware there, and what it lacks; and the sets of packaged scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from talm_sim.common.digests import digest
from talm_sim.types import AwarenessKind, AwarenessValue

CATEGORIES = ("calendar", "art", "finance", "geo", "language", "music", "science", "transportation", "weather")
"""The categories of `quick`, which come first among the packaged scenarios."""
QUICK = frozenset(f"{category}-{number:02}" for category in CATEGORIES for number in range(1, 9))
"""Perfect queries of `quick`, by id: the first of nine categories."""
SAMPLE = 300
"""Perfect queries of `sample`: the interval of a rate over them is at most .12 wide."""
_SEED = 0


def draw_sample(queries: Iterable[str]) -> frozenset[str]:
    """Draw the queries of `sample` by seed, so that most of them stay when the package grows."""
    return frozenset(sorted(queries, key=lambda query: digest([_SEED, query]))[:SAMPLE])


_YES, _NO, _IDK = AwarenessValue.YES, AwarenessValue.NO, AwarenessValue.IDK
_INFORMATION, _TOOL = AwarenessKind.INFORMATION, AwarenessKind.TOOL


@dataclass(frozen=True, slots=True)
class Group:
    """A scenario group (Fail-TaLMs, sections 3 and 4.2).

    Attributes:
        asked: Awareness questions it is asked before it acts.
        question: The question it is measured by; None if none is asked.
        aware: Answers to it that count as aware.
        unexpected: What is unexpected here: `success` (said Yes and passed), `refusal` (said No), or `unaided` (passed without tools, failed
            with them).
        needs_help: Whether it lacks something a person can supply, if the scenario itself does not say.
        has_tools: Whether its scenarios offer tools, so that there is tool traffic.
    """

    asked: tuple[AwarenessKind, ...] = ()
    question: AwarenessKind | None = None
    aware: frozenset[AwarenessValue] = frozenset()
    unexpected: str = ""
    needs_help: bool = False
    has_tools: bool = True


GROUPS = {
    "perfect": Group((_INFORMATION, _TOOL), _TOOL, frozenset({_YES}), "refusal"),
    "underspecified": Group((_INFORMATION,), _INFORMATION, frozenset({_IDK, _NO}), "success", needs_help=True),
    "replaceable": Group((_TOOL,), _TOOL, frozenset({_IDK}), "refusal", needs_help=True),
    "non-replaceable": Group((_TOOL,), _TOOL, frozenset({_IDK, _NO}), "success"),
    "no-tools": Group(unexpected="unaided", has_tools=False),
    "several-gaps": Group((_INFORMATION,), _INFORMATION, frozenset({_IDK, _NO}), "success", needs_help=True),
    # Nobody can say beforehand that something is missing, so nobody is asked.
    "late-gap": Group(needs_help=True),
}
"""The groups by name, in the order in which they are run: the paper's, then ours, with two or three gaps and with one that a tool reveals."""
ABOUT = {
    "perfect": "nothing is missing: every tool and every fact is there",
    "underspecified": "the user left out a fact that a call needs; a person could say it",
    "replaceable": "a tool is hidden whose work a person could do",
    "non-replaceable": "a tool is hidden, and nobody can do its work",
    "no-tools": "the same requests without any tool, from memory",
    "several-gaps": "two or three facts are left out (not in the paper)",
    "late-gap": "only a tool's result shows that a fact is missing (not in the paper)",
}
"""What the scenarios of each group are, in a line."""
BEYOND = ("several-gaps", "late-gap")
"""The groups that the paper does not have."""
UNKNOWN = Group()
"""The rates of an unknown group, which are those that every group has."""
AVERAGED = ("unavailable", ("replaceable", "non-replaceable"))
"""The group that is the plain average of two others, as the papers print it."""
SPLITS = {
    "perfect": ("perfect",),
    "underspecified": ("underspecified",),
    "unavailable": AVERAGED[1],
    "replaceable": ("replaceable",),
    "non-replaceable": ("non-replaceable",),
    "no-tools": ("no-tools",),
    "several-gaps": ("several-gaps",),
    "late-gap": ("late-gap",),
    "all": tuple(GROUPS),
}
PAPER = {
    "perfect": "Perfect",
    "underspecified": "Under-specified",
    "unavailable": "Unavailable tools",
    "replaceable": "replaceable",
    "non-replaceable": "non-replaceable",
    "no-tools": "No-tools",
}
"""Names of the groups in the paper's tables."""
ORDER = ("perfect", "underspecified", "unavailable", "replaceable", "non-replaceable", "no-tools", *BEYOND)
"""Groups in the order of the papers' tables, then ours."""
