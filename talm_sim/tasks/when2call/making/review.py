"""Review multiple-choice items: an item with all its sets of tools, or a text that the checks rejected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.item_tools import describe_tool, spec_of
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.making.review import Entry, Part
from talm_sim.tasks.when2call.making.item_checks import OPTION_CHECKS, differs, failures
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.question_checks import question_checks
from talm_sim.tasks.when2call.making.sources import SourceQuestion, tool_spec
from talm_sim.tasks.when2call.published import read_rows, row_of
from talm_sim.types import Behaviour, GoldCall, Missing, MissingKind

_ANSWERS = (Behaviour.DIRECT, Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)
_TEXTS = ("source", "item", "text_of", "check", "reason", "text", "question")
_QUESTION = "question"


_REASONS = (
    "another answer is also right",
    "the right answer is wrong",
    "the question does not need a tool",
    "the question is unclear or unnatural",
    "the follow-up asks for what is given",
    "the follow-up asks for something else than what is missing",
    "what was left out can still be read",
    "the wrong answers give themselves away",
    "it is not good English",
)
"""The faults of the paper's appendix A, and two of whole items."""


class ItemReviewer:
    """Shows items for review; rows that differ only in the tools they show are one entry."""

    question = "Keep it if the right answer is right and no other answer is."

    def entries(self, rows: Path, rejected: Path | None) -> list[Entry]:
        """See `Reviewer.entries`."""
        entries: dict[str, Entry] = {}
        for row in (row_of(scenario) for scenario in read_rows(rows)):
            key = digest([row["source_id"], row["question"], row["correct_answer"], row["answers"]])
            if key in entries:
                entries[key] = replace(entries[key], rows=(*entries[key].rows, row))
            else:
                entries[key] = Entry(
                    key, f"{row['source_id']}, right answer: {row['correct_answer']}", tuple(_parts(row)), rows=(row,), reasons=_REASONS
                )
        return [*entries.values(), *(_read_rejected(rejected) if rejected else ())]

    def faults(self, entry: Entry, texts: Mapping[str, str]) -> list[str]:
        """Return what the checks say of the new texts; for a row that names no call and tool, say that they cannot be made."""
        if not entry.rows:
            return []
        return faults_of_row(self._replace_texts(entry.rows[0], texts), texts)

    def edited(self, entry: Entry, texts: Mapping[str, str], by: str) -> Iterable[Mapping[str, Any]]:
        """See `Reviewer.edited`; `source` says who edited."""
        for row in entry.rows:
            yield self._replace_texts(row, texts) | {"source": f"{row['source']}, edited{f' by {by}' if by else ''}"}

    @staticmethod
    def _replace_texts(row: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        answers = {name: texts.get(name, text) for name, text in row["answers"].items()}
        return {**row, "question": texts.get(_QUESTION, row["question"]), "answers": answers}


def faults_of_row(row: Mapping[str, Any], names: Iterable[str] = (_QUESTION, *_ANSWERS)) -> list[str]:
    """Return what the checks say of texts of a row: of those named, by default of all."""
    return [reason for _, reason in alarms_of_row(row, names)]


def alarms_of_row(row: Mapping[str, Any], names: Iterable[str] = (_QUESTION, *_ANSWERS)) -> list[tuple[str, str]]:
    """Return name and reason of every check that a text of a row fails."""
    if (item := item_of(row)) is None:
        return [("readable", "the row does not say which tool it was made for, so the checks cannot look at it")]
    found: list[tuple[str, str]] = []
    for name in names:
        text = row["question"] if name == _QUESTION else row["answers"][name]
        checks = question_checks(item) if name == _QUESTION else OPTION_CHECKS[Behaviour(name)]
        others = [] if name == _QUESTION else [other for kind, other in row["answers"].items() if kind != name]
        found += failures(text, item, checks) + [("differs", same) for same in [differs(text, others)] if same]
    return found


def _parts(row: Mapping[str, Any]) -> Iterable[Part]:
    yield Part("Question", row["question"], row.get("orig_question"), name=_QUESTION)
    yield Part("Tool", describe_tool(row.get("target_tool") or next(iter(row.get("orig_tools") or row["tools"]), "none")))
    if row.get("held_out_param"):
        yield Part("Left out", row["held_out_param"])
    for kind in _ANSWERS:
        name = "" if kind is Behaviour.TOOL_CALL else kind.value
        yield Part(kind.value, row["answers"][kind.value], name=name, right=kind.value == row["correct_answer"])


def item_of(row: Mapping[str, Any]) -> Item | None:
    """Return the item a row was written from, as far as the checks look at it; None where the row does not say which tool it calls."""
    tools = [row.get("target_tool"), *(row.get("orig_tools") or ()), *row["tools"]]
    try:
        call = GoldCall.model_validate({"name": (said := json.loads(row["answers"]["tool_call"]))["name"], "arguments": said["arguments"]})
        specs = [tool_spec(spec_of(text)) for text in tools if text]
        spec = next(one for one in specs if one.name == call.name)
    except (ValueError, LookupError, TypeError, StopIteration):
        return None
    held = row.get("held_out_param")
    missing = Missing(kind=MissingKind.ARGUMENT, name=held, value=call.arguments.get(held)) if held else None
    source = SourceQuestion(row.get("source_id", ""), row.get("orig_question") or row["question"], call, spec)
    gold = Behaviour(row["correct_answer"])
    # The published data and ours name the first request of one that was written anew; where there is none, the tool was removed.
    removed = gold is Behaviour.CANNOT_ANSWER and not row.get("orig_question")
    return Item(source, gold, row["question"], missing, removed)


def _read_rejected(file: Path) -> list[Entry]:
    entries: dict[str, Entry] = {}
    for where, one in json_lines(file):
        if not isinstance(one, dict) or not all(isinstance(one.get(name), str) for name in _TEXTS):
            raise PrerequisiteError(f"{where}: is not a rejected text; restore the file, or leave out --rejected.")
        if not one["text"].strip() or one["check"] == "written":
            continue
        key = digest([one["source"], one["item"], one["text_of"], one["text"]])
        why = f"{entries[key].why}; {one['reason']}" if key in entries else one["reason"]
        parts = (*((Part("Question", one["question"]),) if one["question"] else ()), Part(f"Text ({one['text_of']})", one["text"]))
        entries[key] = Entry(key, f"{one['source']}, {one['text_of']} of the item {one['item']}", parts, False, why, reasons=_REASONS)
    return list(entries.values())
