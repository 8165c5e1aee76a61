"""Review manipulated scenarios: original and changed conversation and tools, against the study's criteria (A.2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.item_tools import describe_tool
from talm_sim.scenarios.jsonl import json_lines, short_form
from talm_sim.scenarios.load import read_scenario
from talm_sim.scenarios.making.review import Entry, Part
from talm_sim.scenarios.making.run_maker import REPORT
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.loaded import TASK
from talm_sim.tasks.awareness.making.written import replace_user_words
from talm_sim.types import Missing, MissingKind, Scenario, YesNo
from talm_sim.types.base import canonical_form

_SPEAKERS = {"user": "User", "assistant": "AI", "tool": "Result"}


_REASONS = {
    "replaced": ("a replacement tool can do it", "a tool that was not replaced can do it"),
    "removed": (
        "what was removed is not needed",
        "what was removed can still be read",
        "one request was removed, but another can still be served",
        "it is unnatural or ungrammatical",
        "it is the same as the original",
        "the user no longer has the last word",
    ),
}
"""Appendix A.2's two and five criteria, and that the removed value is gone."""


class ManipulationReviewer:
    """Shows each manipulated scenario beside the original that it was made from."""

    question = "Keep it if the tools listed cannot serve what the user now says."

    def entries(self, rows: Path, rejected: Path | None) -> list[Entry]:
        """See `Reviewer.entries`."""
        scenarios = {one.id: (one, line) for one, line in _scenarios(rows)}
        originals = {name: one for name, (one, _) in scenarios.items() if one.group == "complete"}
        doubts = _doubts(rows.with_name(REPORT))
        made = [(one, line) for one, line in scenarios.values() if one.group != "complete"]
        made.sort(key=lambda pair: pair[0].id not in doubts)  # what the checks left to a person comes first
        found = [self._entry(one, originals.get(one.source.base), line, doubts.get(one.id, "")) for one, line in made]
        return [*found, *(self._read_rejected(rejected, originals) if rejected else ())]

    def faults(self, entry: Entry, texts: Mapping[str, str]) -> list[str]:
        """Return what the checks say of other words of the user's; embeddings are not loaded for it."""
        original, changed = _pair_of(entry)
        if original is None:
            return ["the original is not in this file, so the checks cannot compare"]
        return [f"{one.check}: {one.words}" for one in check_manipulated(original, _replace_words(original, changed, texts, ""))]

    def edited(self, entry: Entry, texts: Mapping[str, str], by: str) -> Iterable[Mapping[str, Any]]:
        """See `Reviewer.edited`; `made_by` of the target says who edited."""
        original, changed = _pair_of(entry)
        return [*entry.rows[:-1], short_form(_replace_words(original, changed, texts, by))]

    def _entry(self, changed: Scenario, original: Scenario | None, line: Mapping[str, Any], doubt: str = "", why: str = "") -> Entry:
        target = changed.target
        facts = [Part("Needed", ", ".join(target.relevant))] if isinstance(target, YesNo) else []
        facts += [Part("Gone", "; ".join(map(_describe_missing, changed.missing)))] if changed.missing else []
        facts += [Part("Made by", target.made_by)] if isinstance(target, YesNo) and target.made_by else []
        facts += [Part("Look at", doubt)] if doubt else []
        parts = (*_conversation_parts(changed, original), *_tools(changed, original), *facts)
        lines = () if why else ((short_form(original), line) if original else (line,))
        key = digest([changed.id, [*map(canonical_form, changed.turns)], changed.shown_tools])
        return Entry(key, changed.id, parts, not why, why, lines, _REASONS.get(changed.group, ()))

    def _read_rejected(self, file: Path, originals: Mapping[str, Scenario]) -> list[Entry]:
        entries: dict[str, Entry] = {}
        for where, one in json_lines(file):
            if not isinstance(one, dict) or not isinstance(one.get("reason"), str):
                raise PrerequisiteError(f"{where}: is not a rejected scenario; restore the file, or leave out --rejected.")
            if one.get("scenario") is None:
                continue  # nobody can judge an answer that could not be read
            changed = read_scenario(one["scenario"], where, TASK)
            made = self._entry(changed, originals.get(changed.source.base), one["scenario"], why=one["reason"])
            before = entries.get(made.key)
            why = f"{before.why}; {one['reason']}" if before else one["reason"]
            entries[made.key] = replace(made, why=why)
        return list(entries.values())


def _doubts(report: Path) -> dict[str, str]:
    """Return, for each scenario's id, what the checks left to a person; empty if there is no report."""
    try:
        found = json.loads(read_text(report, LARGEST_DATA))["for_a_person"]
        return {str(one["id"]): str(one["words"]) for one in found}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def _scenarios(file: Path) -> Iterator[tuple[Scenario, Mapping[str, Any]]]:
    for where, line in json_lines(file):
        yield read_scenario(line, where, TASK), line


def _pair_of(entry: Entry) -> tuple[Scenario | None, Scenario]:
    *before, changed = (Scenario.model_validate(line) for line in entry.rows)
    return (before[0] if before else None), changed


def _replace_words(original: Scenario | None, changed: Scenario, texts: Mapping[str, str], by: str) -> Scenario:
    """Return the changed scenario with other words of the user's."""
    said = [message["content"] for turn in changed.turns for message in turn.messages if message["role"] == "user"]
    words = [texts.get(f"user {number}", text) for number, text in enumerate(said, 1)]
    target = changed.target
    before = target.made_by if isinstance(target, YesNo) else ""
    made = replace_user_words(original or changed, words, f"{before}, edited{f' by {by}' if by else ''}")
    return made.model_copy(update={"id": changed.id, "source": changed.source} | ({} if original else {"missing": changed.missing}))


def _conversation_parts(changed: Scenario, original: Scenario | None) -> Iterator[Part]:
    """Return the conversation, message by message, beside the original's."""
    now, before = _messages(changed), _messages(original) if original else []
    number = 0
    for (role, text), old in zip_longest(now, before, fillvalue=("", "")) if len(now) == len(before) else zip(now, now, strict=True):
        number += role == "user"
        name = f"user {number}" if role == "user" and changed.group == "removed" else ""
        yield Part(_SPEAKERS.get(role, role), text, old[1] if original else None, name)


def _messages(scenario: Scenario) -> list[tuple[str, str]]:
    """Return who said what; an assistant's calls count as what it says."""
    found = []
    for turn in scenario.turns:
        for message in turn.messages:
            calls = (f"{call['name']}({_arguments(call['arguments'])})" for call in message.get("tool_calls", ()))
            found.append((message["role"], " ".join(filter(None, (message["content"], *calls)))))
    return found


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def _tools(changed: Scenario, original: Scenario | None) -> Iterator[Part]:
    """Return the tools shown, each beside the one it replaces."""
    before = [describe_tool(text) for text in original.shown_tools] if original else []
    for number, text in enumerate(changed.shown_tools):
        yield Part("Tool", describe_tool(text), before[number] if len(before) == len(changed.shown_tools) else None)


def _describe_missing(missing: Missing) -> str:
    if missing.kind is MissingKind.TOOL:
        return f"tool {missing.name}"
    value = "" if missing.value is None else f" = {json.dumps(missing.value, ensure_ascii=False)}"
    words = f'; the words "{missing.removed_text}"' if missing.removed_text else ""
    return f"{missing.name}{value}{words}".removeprefix("; ")
