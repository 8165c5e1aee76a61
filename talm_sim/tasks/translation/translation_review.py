"""Review translated scenarios next to the English text: what the user says, and the values that its calls need."""

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
from talm_sim.scenarios.dialogue import as_text
from talm_sim.scenarios.jsonl import json_lines, short_form
from talm_sim.scenarios.load import read_scenario
from talm_sim.scenarios.making.review import Entry, Part
from talm_sim.scenarios.making.run_maker import REPORT
from talm_sim.tasks.translation.languages import LANGUAGES
from talm_sim.tasks.translation.translation_checks import NeededValue, Translation, check_translation
from talm_sim.types import Behaviour, Calls, Choice, Facts, Missing, Scenario


def needed_values(scenarios: Iterable[Scenario]) -> tuple[NeededValue, ...]:
    """Return the values of the right calls, of the facts of a right answer, and of what is missing; each once."""
    return tuple(dict.fromkeys(one for scenario in scenarios for one in _values_of(scenario) if one.value.strip()))


def _values_of(scenario: Scenario) -> Iterator[NeededValue]:
    if isinstance(target := scenario.target, Calls):
        for call in target.accepted:
            for name, accepted in call.arguments.items():
                yield from _accepted(name, accepted)
    elif isinstance(target, Facts):
        for fact in target.required:
            if isinstance(fact.value, str):
                yield NeededValue(fact.name, fact.value, fact.accepted)
    elif isinstance(target, Choice):
        yield from _named(_arguments_of(target.text_of(Behaviour.TOOL_CALL) or ""))
    for gold in scenario.gold_calls:
        yield from _named(gold.arguments)
    for missing in scenario.missing:
        yield from _named({missing.name: [missing.value, missing.other]})


def _accepted(name: str, values: tuple[Any, ...]) -> Iterator[NeededValue]:
    """Yield the values of one argument as BFCL writes them: the first is the gold one, and the others count as well."""
    if values and isinstance(values[0], str):
        yield NeededValue(name, values[0], tuple(one for one in values[1:] if isinstance(one, str) and one))
        return
    yield from (NeededValue(name, text) for text in _texts(values[:1]))


def _named(arguments: Mapping[str, Any]) -> Iterator[NeededValue]:
    yield from (NeededValue(name, text) for name, value in arguments.items() for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def _arguments_of(call: str) -> Mapping[str, Any]:
    """Return the arguments of a call that is written as JSON; none if it is something else."""
    try:
        found = json.loads(call)["arguments"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def user_texts(scenario: Scenario) -> list[str]:
    """Return what the user says, in order, each text once: messages first, then answers to questions."""
    return list(dict.fromkeys(text for text in (*_messages(scenario), *_answers(scenario)) if text.strip()))


def conversation_before(scenario: Scenario, text: str) -> str:
    """Return what was said before the user says a text, as lines that name the speaker; empty if it comes first."""
    messages = [message for turn in scenario.turns for message in turn.messages]
    place = next((place for place, one in enumerate(messages) if one["role"] == "user" and one["content"] == text), len(messages))
    return as_text(messages[:place])


def replace_texts(scenario: Scenario, said: Mapping[str, str]) -> Scenario:
    """Return the scenario with other words of the user's; a text without other words is left as it is."""

    def message_of(message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "content": said.get(message["content"], message["content"])} if message["role"] == "user" else message

    def missing_of(one: Missing) -> Missing:
        answer = one.human_answer
        return one if answer is None else one.model_copy(update={"human_answer": said.get(answer, answer)})

    turns = tuple(turn.model_copy(update={"messages": tuple(map(message_of, turn.messages))}) for turn in scenario.turns)
    return scenario.model_copy(update={"turns": turns, "missing": tuple(map(missing_of, scenario.missing))})


def _messages(scenario: Scenario) -> Iterator[str]:
    yield from (message["content"] for turn in scenario.turns for message in turn.messages if message["role"] == "user")


def _answers(scenario: Scenario) -> Iterator[str]:
    yield from (one.human_answer for one in scenario.missing if one.human_answer)


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
    """Shows translated rows for review; rows with the same words are one entry."""

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
            yield short_form(replace_texts(scenario, said).model_copy(update={"source": source}))


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
