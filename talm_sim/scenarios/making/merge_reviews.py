"""Merge two people's decisions on the same entries: how far they agree, and what is left to settle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from talm_sim.common.kappa import kappa
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.scenarios.making.review import Entry, Part, Review, ReviewDecision, Reviewer, open_review, review_file
from talm_sim.scenarios.making.state import write_lines

_UNNAMED = "no name"
"""Name of a reviewer without `--name`."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two people agree on what both decided.

    Attributes:
        kappa: Cohen's kappa of keep and drop; None if it has no value.
    """

    names: tuple[str, str]
    n: int
    agreed: int
    kappa: float | None


class Merge:
    """What several people decided on the same entries, and what was settled where they do not agree.

    Attributes:
        agreed: Key to the entry and the decision on which all agree who decided.
        undecided: Entries that fewer than two of them decided on.
        disputed: The others, to be settled.
    """

    def __init__(self, place: Path, reviewer: Reviewer, reviews: Mapping[str, Review]) -> None:
        self._reviews = reviews
        self._reviewer = reviewer
        self._kept = review_file(place, "kept")
        first = next(iter(reviews.values()))
        self.undecided: list[Entry] = []
        self.agreed: dict[str, tuple[Entry, ReviewDecision]] = {}
        disputed: list[Entry] = []
        for entry in first.entries:
            said = {name: one for name, review in reviews.items() if (one := review.decision(entry)) is not None}
            if len(said) < 2:
                self.undecided.append(entry)
            elif len({one.kept_as for one in said.values()}) == 1:
                self.agreed[entry.key] = entry, next(iter(said.values()))
            else:
                disputed.append(_disputed_entry(entry, said))
        self.disputed = Review(disputed, reviewer, review_file(place, "settled"), self._kept, " and ".join(reviews))

    def agreements(self) -> Iterator[Agreement]:
        """Return how far each two of them agree."""
        for names in combinations(self._reviews, 2):
            one, other = (self._reviews[name] for name in names)
            both = [(a.decision, b.decision) for entry in one.entries if (a := one.decision(entry)) and (b := other.decision(entry))]
            agreed = sum(a == b for a, b in both)
            yield Agreement((names[0], names[1]), len(both), agreed, kappa(both))

    def kept_lines(self) -> Iterator[Mapping[str, Any]]:
        """Return the lines of what all kept, or what was settled to be kept."""
        for entry, said in self.agreed.values():
            if said.decision == "keep":
                yield from self._reviewer.edited(entry, said.texts, " and ".join(self._reviews)) if said.texts else entry.rows
        yield from self.disputed.kept_lines()

    def write_kept(self) -> Path:
        """Write them to `kept.jsonl`; returns the file."""
        write_lines(self._kept, self.kept_lines())
        return self._kept


def open_merge(place: Path, reviewer: Reviewer, *, rejected: bool = False) -> Merge:
    """Open the decisions of all who reviewed a place."""
    start = review_file(place, "review").name.removesuffix(".jsonl")
    files = sorted(path.name.removesuffix(".jsonl") for path in review_file(place, "review").parent.iterdir() if path.suffix == ".jsonl")
    names = [name.removeprefix(start).removeprefix("-") for name in files if name == start or name.startswith(f"{start}-")]
    if len(names) < 2:
        fix = f"let each of two do so: {line_to_copy('talm-sim', 'scenarios', 'review', str(place), '--name', 'NAME')}"
        raise PrerequisiteError(f"{place}: {'one person' if names else 'nobody'} reviewed it; {fix}")
    return Merge(place, reviewer, {name or _UNNAMED: open_review(place, reviewer, rejected=rejected, name=name) for name in names})


def _disputed_entry(entry: Entry, said: Mapping[str, ReviewDecision]) -> Entry:
    """Return an entry with what each said of it; the first text that one of them gave it is proposed."""
    told = [Part(f"{name} said", _format_decision(one)) for name, one in said.items()]
    texts = next((one.texts for one in said.values() if one.decision == "keep" and one.texts), {})
    return replace(entry, parts=(*entry.parts, *told), texts=texts)


def _format_decision(said: ReviewDecision) -> str:
    if said.decision == "drop":
        return f"drop{': ' if said.reason else ''}{said.reason}"
    return "; ".join(["keep", *(f"{name} as: {text}" for name, text in said.texts.items())])
