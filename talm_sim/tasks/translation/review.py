"""Review of translated scenarios of any task: what the user says, next to the English text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import json_lines
from talm_sim.scenarios.load import read_scenario
from talm_sim.scenarios.making.review import Entry, Part
from talm_sim.scenarios.making.runner import REPORT
from talm_sim.tasks.translation.checks import Translation, check_translation
from talm_sim.tasks.translation.languages import LANGUAGES
from talm_sim.tasks.translation.needed import needed_values
from talm_sim.tasks.translation.texts import line_of, replace_texts, user_texts
from talm_sim.types import Scenario

__all__ = ["ORIGINALS", "TranslationReviewer", "is_translation"]

ORIGINALS = "originals"
"""Key of a report: the id of each row to what its user says in English."""
_TEXTS = ("source", "reason", "before", "text")
_REASONS = (
    "it says something else",
    "something was added or left out",
    "it is unnatural or ungrammatical",
    "a name or a value is wrong",
    "it gives away what the user left open",
)


def is_translation(line: Any) -> bool:
    """Return whether a line of a scenario file is a translation of another scenario."""
    source = line.get("source") if isinstance(line, dict) else None
    return isinstance(source, dict) and bool(source.get("translation_of"))


class TranslationReviewer:
    """Rows with the same words are one entry."""

    question = "Keep it if it says the same as the English text, as a native speaker would say it."

    def entries(self, rows: Path, rejected: Path | None) -> list[Entry]:
        """See `Reviewer.entries`."""
        originals = _originals(rows.with_name(REPORT))
        entries: dict[str, Entry] = {}
        for where, line in json_lines(rows):
            if not is_translation(line):
                raise PrerequisiteError(f"{where}: is not a translation, as the lines before it; review the files one by one.")
            scenario = read_scenario(line, where, str(line.get("task", Scenario.model_fields["task"].default)))
            texts, before = user_texts(scenario), originals.get(scenario.original, [])
            key = digest([scenario.language, texts, before])
            if key in entries:
                entries[key] = replace(entries[key], rows=(*entries[key].rows, line))
            else:
                parts = (*_parts(texts, before), Part("Made by", scenario.source.name))
                entries[key] = Entry(key, scenario.id, parts, rows=(line,), reasons=_REASONS)
        return [*entries.values(), *(_read_rejected(rejected) if rejected else ())]

    def faults(self, entry: Entry, texts: Mapping[str, str]) -> list[str]:
        """Return what the checks say of other words."""
        scenarios = [Scenario.model_validate(line) for line in entry.rows]
        needed = needed_values(scenarios)
        found = []
        for part in entry.parts:
            if part.name in texts and scenarios:
                if part.before is None:
                    return ["the English text is not here (report.json has it), so the checks cannot compare"]
                language = scenarios[0].language
                if language in LANGUAGES:
                    found += check_translation(Translation(part.before, texts[part.name], language, needed))
        return [f"{one.check}: {one.words}" for one in found]

    def edited(self, entry: Entry, texts: Mapping[str, str], by: str) -> Iterable[Mapping[str, Any]]:
        """See `Reviewer.edited`; `source` says who edited."""
        for line in entry.rows:
            scenario = Scenario.model_validate(line)
            said = {text: texts.get(_name(number), text) for number, text in enumerate(user_texts(scenario), 1)}
            name = f"{scenario.source.name}, edited{f' by {by}' if by else ''}"
            source = scenario.source.model_copy(update={"name": name})
            yield line_of(replace_texts(scenario, said).model_copy(update={"source": source}))


def _parts(texts: Sequence[str], before: Sequence[str]) -> Iterator[Part]:
    """Yield each text next to the English one, if both have as many."""
    alike = len(texts) == len(before)
    for number, (text, english) in enumerate(zip_longest(texts, before if alike else ()), 1):
        yield Part(f"User {number}" if len(texts) > 1 else "User", text, english, _name(number))


def _name(number: int) -> str:
    return f"text {number}"


def _originals(report: Path) -> dict[str, list[str]]:
    """Return what the users say in English, by row; empty if there is no report."""
    try:
        found = json.loads(read_text(report, LARGEST_DATA))[ORIGINALS]
        return {str(name): [str(text) for text in texts] for name, texts in found.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _read_rejected(file: Path) -> Iterator[Entry]:
    seen = set()
    for where, one in json_lines(file):
        if not isinstance(one, dict) or not all(isinstance(one.get(key), str) for key in _TEXTS):
            raise PrerequisiteError(f"{where}: is not a rejected translation; restore the file, or leave out --rejected.")
        key = digest([one["source"], one["before"], one["text"]])
        if key not in seen:
            seen.add(key)
            yield Entry(key, one["source"], (Part("User", one["text"], one["before"]),), False, one["reason"], (), _REASONS)
