"""Record people's decisions on what was made: keep or drop, with another text or a reason, one after the other, each on disk at once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from talm_sim.common.plain_files import LARGEST_DATA, read_bytes
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.making.run_maker import ITEMS, REJECTED
from talm_sim.scenarios.making.state import write_lines

Verdict = Literal["keep", "drop"]
_UNDONE = "undone"
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Part:
    """A text of an entry.

    Attributes:
        before: The original's text; None if it has no counterpart there.
        name: Name under which another text of it is kept; empty if it cannot be edited.
        right: Whether it is the right one of several.
    """

    label: str
    text: str
    before: str | None = None
    name: str = ""
    right: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry to decide on."""

    key: str
    title: str
    parts: tuple[Part, ...]
    passed: bool = True
    why: str = ""
    rows: tuple[Mapping[str, Any], ...] = ()
    reasons: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


class Reviewer(Protocol):
    """A task's view of the scenarios made for it."""

    @property
    def question(self) -> str:
        """What is decided of every entry."""

    def entries(self, rows: Path, rejected: Path | None) -> list[Entry]:
        """Return what there is to decide on, in a file of what was made and, if it is given, one of what the checks rejected."""

    def faults(self, entry: Entry, texts: Mapping[str, str]) -> list[str]:
        """Return what the automatic checks say of an entry with other texts."""

    def edited(self, entry: Entry, texts: Mapping[str, str], by: str) -> Iterable[Mapping[str, Any]]:
        """Return the entry's lines with other texts, marked as edited."""


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A person's decision on an entry, with the texts they gave it."""

    key: str
    decision: Verdict
    passed: bool
    reason: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def kept_as(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What two people must agree on: the verdict and, for entries to keep, the texts."""
        return self.decision, tuple(sorted(self.texts.items())) if self.decision == "keep" else ()


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """The progress of a review.

    Attributes:
        edited: Of the kept ones, those with another text.
        agreed: Decisions that say what the automatic checks said: passed and kept, or rejected and dropped.
        reasons: How often each reason was given for a drop, the commonest first.
    """

    entries: int
    kept: int
    dropped: int
    edited: int
    agreed: int
    reasons: Mapping[str, int]

    @property
    def decided(self) -> int:
        """Decisions made."""
        return self.kept + self.dropped


class Review:
    """Entries, and the decisions on them in a file of one JSON line each.

    Args:
        path: The file of decisions; later lines replace earlier ones on the same entry.
        kept: The file that the kept lines go to.
        by: Who decides; empty if no name was given.
    """

    def __init__(self, entries: Sequence[Entry], reviewer: Reviewer, path: Path, kept: Path, by: str = "") -> None:
        self.entries = tuple(entries)
        self.reviewer = reviewer
        self.path = path
        self._kept = kept
        self._by = by
        self._decisions = _decisions(path)

    def decision(self, entry: Entry) -> ReviewDecision | None:
        """Return the decision on an entry."""
        return self._decisions.get(entry.key)

    def decide(self, entry: Entry, verdict: Verdict, reason: str = "", texts: Mapping[str, str] | None = None) -> None:
        """Save a decision; it is on disk when this returns."""
        decision = ReviewDecision(entry.key, verdict, entry.passed, reason, dict(texts or {}))
        self._append({name: value for name, value in asdict(decision).items() if name != "texts" or value})
        self._decisions.pop(entry.key, None)
        self._decisions[entry.key] = decision

    def undo(self) -> Entry | None:
        """Take the last decision back; return its entry, or None if there is none."""
        entries = {entry.key: entry for entry in self.entries}
        if (last := next((key for key in reversed(self._decisions) if key in entries), None)) is None:
            return None
        self._append({"key": last, "decision": _UNDONE})
        del self._decisions[last]
        return entries[last]

    def waiting(self) -> list[Entry]:
        """Return the entries nobody has decided on."""
        return [entry for entry in self.entries if entry.key not in self._decisions]

    def summary(self) -> ReviewCounts:
        """Count the decisions on these entries."""
        made = [self._decisions[entry.key] for entry in self.entries if entry.key in self._decisions]
        kept = [one for one in made if one.decision == "keep"]
        agreed = sum((one.decision == "keep") is one.passed for one in made)
        given = [one.reason for one in made if one.decision == "drop" and one.reason]
        reasons = {reason: given.count(reason) for reason in sorted(set(given), key=lambda one: (-given.count(one), one))}
        return ReviewCounts(len(self.entries), len(kept), len(made) - len(kept), sum(bool(one.texts) for one in kept), agreed, reasons)

    def kept_lines(self) -> Iterable[Mapping[str, Any]]:
        """Return the lines of what a person kept, with the texts they gave it."""
        for entry in self.entries:
            if (said := self.decision(entry)) and said.decision == "keep":
                yield from self.reviewer.edited(entry, said.texts, self._by) if said.texts else entry.rows

    def write_kept(self) -> Path:
        """Write the kept lines to their file; return it."""
        write_lines(self._kept, self.kept_lines())
        return self._kept

    def _append(self, document: Mapping[str, Any]) -> None:
        line = json.dumps(document, ensure_ascii=False).encode(errors="replace")
        try:
            with open(self.path, "a+b") as file:
                file.seek(0, os.SEEK_END)
                if file.tell() and not _ends_with_newline(self.path):
                    file.write(b"\n")  # a line that a kill cut short stays one broken line
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as err:
            raise PrerequisiteError(f"{self.path}: cannot be written: {err.strerror}; free disk space and continue.") from None


def open_review(place: Path, reviewer: Reviewer, *, rejected: bool = False, name: str = "") -> Review:
    """Open the entries in a folder that `scenarios generate` wrote, or in a file of lines."""
    if name and not _NAME.fullmatch(name):
        raise PrerequisiteError(f"--name {name}: give a name of letters, digits, '.', '_' and '-'.")
    if not (entries := reviewer.entries(items_file(place), _rejected_file(place) if rejected else None)):
        raise PrerequisiteError(f"{items_file(place)}: contains no items to review.")
    end = f"-{name}" if name else ""
    return Review(entries, reviewer, review_file(place, f"review{end}"), review_file(place, f"kept{end}"), name)


def items_file(place: Path) -> Path:
    """Return the file of lines in a folder, or the file itself."""
    file = place / ITEMS if place.is_dir() else place
    if not file.is_file():
        if place.is_dir():
            raise PrerequisiteError(f"{place}: contains no {ITEMS}; make items first: talm-sim scenarios generate --out FOLDER")
        raise PrerequisiteError(f"{place}: there is no such folder or file; give the output of `scenarios generate --out`, or a JSONL file.")
    return file


def _rejected_file(place: Path) -> Path:
    if not place.is_dir():
        raise PrerequisiteError(f"{place}: --rejected needs the folder that `talm-sim scenarios generate` wrote.")
    return place / REJECTED


def review_file(place: Path, name: str) -> Path:
    """Return a file of a review: in the folder, or beside the file with its name before."""
    return place / f"{name}.jsonl" if place.is_dir() else place.with_name(f"{place.stem}.{name}.jsonl")


def _decisions(path: Path) -> dict[str, ReviewDecision]:
    """Return the decisions of a file by key, in the order they were made; a line that a kill cut short is skipped."""
    try:
        lines = read_bytes(path, LARGEST_DATA).split(b"\n") if path.is_file() else []
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read: {err.strerror}; fix its permissions.") from None
    found: dict[str, ReviewDecision] = {}
    for line in lines:
        try:
            document = json.loads(line)
            key, said = document["key"], document["decision"]
            decision = ReviewDecision(**document) if said in ("keep", "drop") else None
            if isinstance(key, str) and (decision or said == _UNDONE):
                found.pop(key, None)
            if isinstance(key, str) and decision and _are_texts(decision.texts):
                found[key] = decision
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
    return found


def _are_texts(texts: Any) -> bool:
    return isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())


def _ends_with_newline(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
