"""What a person says of items: keep or drop, one decision after the other, kept at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from talm_sim.digests import digest
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.making.runner import ITEMS, REJECTED
from talm_sim.scenarios.making.state import write_lines
from talm_sim.scenarios.when2call import read_rows, row_of

__all__ = ["Decision", "Entry", "Review", "Summary", "open_review"]

Verdict = Literal["keep", "drop"]
_ANSWERS = ("direct", "tool_call", "request_for_info", "cannot_answer")
_TEXTS = ("source", "item", "text_of", "check", "reason", "text", "question")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to decide on: an item with all its sets of tools, or a text that the checks rejected.

    Attributes:
        key: Names it; equal content has equal keys.
        title: What it is.
        parts: Label and text of what the person needs to see.
        passed: Whether the automatic checks let it pass.
        why: Why they did not.
        uuids: The rows it stands for.
    """

    key: str
    title: str
    parts: tuple[tuple[str, str], ...]
    passed: bool
    why: str = ""
    uuids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said of an entry."""

    key: str
    decision: Verdict
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """How far a review is.

    Attributes:
        entries: Things to decide on.
        kept: Decided to keep.
        dropped: Decided to drop.
        agreed: Decisions that say what the automatic checks said: passed and kept, or rejected and dropped.
        reasons: Reasons given for a drop, in the order they were given.
    """

    entries: int
    kept: int
    dropped: int
    agreed: int
    reasons: tuple[str, ...]

    @property
    def decided(self) -> int:
        """Decisions made."""
        return self.kept + self.dropped


class Review:
    """Entries, and the decisions on them in a file of one JSON line each.

    Args:
        entries: What to decide on.
        rows: Rows of the items, by uuid.
        path: The file of decisions; later lines replace earlier ones on the same entry.
    """

    def __init__(self, entries: Sequence[Entry], rows: Mapping[str, Mapping[str, Any]], path: Path) -> None:
        self.entries = tuple(entries)
        self.path = path
        self._rows = rows
        self._decisions: dict[str, Decision] = {one.key: one for one in _decisions(path)}

    def decision(self, entry: Entry) -> Decision | None:
        """What was said of an entry."""
        return self._decisions.get(entry.key)

    def decide(self, entry: Entry, verdict: Verdict, reason: str = "") -> None:
        """Note a decision; it is on disk when this returns.

        Raises:
            PrerequisiteError: The file cannot be written.
        """
        decision = Decision(entry.key, verdict, entry.passed, reason)
        line = json.dumps(asdict(decision), ensure_ascii=False).encode(errors="replace")
        try:
            with open(self.path, "a+b") as file:
                file.seek(0, os.SEEK_END)
                if file.tell() and not _ends_a_line(self.path):
                    file.write(b"\n")  # a line that a kill cut short stays one broken line
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as err:
            raise PrerequisiteError(f"{self.path}: cannot be written: {err.strerror}; free the place and go on.") from None
        self._decisions[entry.key] = decision

    def waiting(self) -> list[int]:
        """Places of the entries nobody has decided on."""
        return [place for place, entry in enumerate(self.entries) if entry.key not in self._decisions]

    def summary(self) -> Summary:
        """Count the decisions on these entries."""
        made = [self._decisions[entry.key] for entry in self.entries if entry.key in self._decisions]
        kept = sum(one.decision == "keep" for one in made)
        agreed = sum((one.decision == "keep") is one.passed for one in made)
        reasons = tuple(one.reason for one in made if one.decision == "drop" and one.reason)
        return Summary(len(self.entries), kept, len(made) - kept, agreed, reasons)

    def write_kept(self) -> Path:
        """Write the rows of the items that a person kept beside the decisions; returns the file."""
        keys = {entry.key for entry in self.entries if (one := self.decision(entry)) and one.decision == "keep"}
        path = self.path.with_name(self.path.name.replace("review", "kept"))
        write_lines(path, (self._rows[uuid] for entry in self.entries if entry.key in keys for uuid in entry.uuids))
        return path


def open_review(place: Path, *, rejected: bool = False) -> Review:
    """Open a folder that `scenarios generate` wrote, or a file of rows.

    Args:
        place: Folder or file.
        rejected: Whether the texts that the checks rejected are decided on, too: how far do checks and person agree?

    Raises:
        PrerequisiteError: There is nothing to review, or a file is broken.
    """
    folder = place.is_dir()
    file = place / ITEMS if folder else place
    if folder and not file.is_file():
        raise PrerequisiteError(f"{place}: holds no {ITEMS}; make items first: talm-sim scenarios generate --out FOLDER")
    rows = {scenario.id: row_of(scenario) for scenario in read_rows(file)}
    entries = list(_items(rows.values()))
    if rejected:
        if not folder:
            raise PrerequisiteError(f"{place}: --rejected needs the folder that `talm-sim scenarios generate` wrote.")
        entries += _rejected(place / REJECTED)
    if not entries:
        raise PrerequisiteError(f"{file}: holds no items to review.")
    return Review(entries, rows, place / "review.jsonl" if folder else place.with_name(f"{place.stem}.review.jsonl"))


def _items(rows: Iterable[Mapping[str, Any]]) -> Iterable[Entry]:
    """Rows that differ in the tools they show, and in nothing a person decides on, are one entry."""
    entries: dict[str, Entry] = {}
    for row in rows:
        key = digest([row["source_id"], row["question"], row["correct_answer"], row["answers"]])
        if key in entries:
            entries[key] = replace(entries[key], uuids=(*entries[key].uuids, row["uuid"]))
            continue
        parts = [("Question", row["question"])]
        if row.get("orig_question"):
            parts.append(("Made from", row["orig_question"]))
        parts.append(("Tool", row.get("target_tool") or next(iter(row.get("orig_tools") or row["tools"]), "none")))
        if row.get("held_out_param"):
            parts.append(("Left out", row["held_out_param"]))
        marks = ((name, "right: " if name == row["correct_answer"] else "") for name in _ANSWERS)
        parts += [(f"{mark}{name}", row["answers"][name]) for name, mark in marks]
        entries[key] = Entry(key, f"{row['source_id']}, right answer: {row['correct_answer']}", tuple(parts), True, uuids=(row["uuid"],))
    return entries.values()


def _rejected(file: Path) -> list[Entry]:
    entries: dict[str, Entry] = {}
    for where, one in json_lines(file):
        if not isinstance(one, dict) or not all(isinstance(one.get(name), str) for name in _TEXTS):
            raise PrerequisiteError(f"{where}: is no rejected text; restore the file, or leave out --rejected.")
        if not one["text"].strip() or one["check"] == "written":
            continue
        key = digest([one["source"], one["item"], one["text_of"], one["text"]])
        why = f"{entries[key].why}; {one['reason']}" if key in entries else one["reason"]
        parts = ((("Question", one["question"]),) if one["question"] else ()) + ((f"Text ({one['text_of']})", one["text"]),)
        entries[key] = Entry(key, f"{one['source']}, {one['text_of']} of the item {one['item']}", parts, False, why)
    return list(entries.values())


def _decisions(path: Path) -> Iterable[Decision]:
    """The decisions of a file; a line that a kill cut short is passed over."""
    try:
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read: {err.strerror}; mend its permissions.") from None
    for line in lines:
        try:
            decision = Decision(**json.loads(line))
        except (ValueError, TypeError, RecursionError):
            continue
        if decision.decision in ("keep", "drop") and isinstance(decision.key, str):
            yield decision


def _ends_a_line(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
