"""What judges read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from campaign.readers.base import ASKED, TOOLS, Reading
from talm_sim.agent.person.faults import find_faults
from talm_sim.agent.person.knowledge import Knowledge, KnownThing
from talm_sim.judges.prompts import opening_label
from talm_sim.language.facts import dates, names, numbers
from talm_sim.language.facts.asserted import Sentences, language_of
from talm_sim.language.facts.statements import AnswerText
from talm_sim.tasks.refusal.attempts.direct_calls import closings
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from talm_sim.tasks.refusal.attempts.objects import read_objects as read_lenient
from talm_sim.tasks.refusal.call_checks import check_calls
from talm_sim.tasks.refusal.call_checks.java import JAVA_TYPES, java_value
from talm_sim.tasks.refusal.call_checks.javascript import JAVASCRIPT_TYPES, javascript_value
from talm_sim.types import AcceptedCall, Calls, Fact, ToolCall

_FACTS: Final = tuple(
    Fact(name=name, value=value, **more)
    for name, value, more in (
        ("elevation", 12, {"unit": "m"}),
        ("day", "2024-05-05", {}),
        ("airport", "Noi Bai", {}),
        ("chord", "F# A C E", {}),
        ("is_open", True, {}),
        ("countries", "Gabon", {"complete": True}),
        ("latitude", -12.5, {}),
    )
)


def _facts(language: str) -> Callable[[str], object]:
    def read(text: str) -> None:
        said = AnswerText(text, f"{language} in 2024?", _FACTS)
        for fact in _FACTS:
            said.find_claim(fact)

    return read


def _check_typed(syntax: str, types: Iterable[str]) -> Callable[[str], object]:
    convert = java_value if syntax == "java" else javascript_value

    def read(text: str) -> None:
        for declared in types:
            convert(text, declared, "integer")
            convert(text, declared, "String" if syntax == "java" else "string")

    return read


def _check_calls(text: str) -> None:
    accepted = AcceptedCall(name="f", arguments={"city": ["Hanoi", [1, 2], {"a": "b"}]})
    check_calls([ToolCall(id="1", name="f", arguments={"city": text})], Calls(expected="calls", accepted=(accepted,)), TOOLS)


def _words(text: str) -> None:
    spoken = names.Words(text)
    for value in ("Noi Bai", "F# A C E", "C++", "a"):
        names.places_of(value, text, spoken)
    names.find_spelled_number(1234, spoken, ("zero", "one", "two"))


def _answer_of_person(text: str) -> None:
    known = Knowledge("What are 40 euros on May 5, 2024?", (KnownThing(ASKED, "", (Fact(name="to_currency", value="francs"),), "In francs."),))
    find_faults(text, ["Which currency?", text], known, [text])


_SAYS: Final = ("The elevation is 12 m. ", "It is on May 5, 2024 at ", "Hier sind die Länder: Gabon, ", "Não sei. ", "気温は")


READ: Final[Reading] = {
    "tasks.refusal.intent: find_attempt": lambda text: find_attempt(text, TOOLS),
    "tasks.refusal.intent: find_attempt without tools": find_attempt,
    "agent.person.faults: find_faults": _answer_of_person,
    "judges.prompts: opening_label": lambda text: opening_label(text, {"pass": "pass", "fail": "fail"}),
    **{
        f"language.facts.statements: facts in {name}": _facts(asked)
        for name, asked in (
            ("English", "What is it"),
            ("German", "Wie hoch ist der Berg und was kostet das"),
            ("Japanese", "気温は何度ですか"),
            ("Spanish", "¿Cuál es la altura de la montaña"),
        )
    },
    "language.facts.asserted: Sentences": lambda text: Sentences(text, "en"),
    "language.facts.asserted: language_of": lambda text: language_of(text, ""),
    **{f"language.facts.numbers: written_numbers, {one}": partial(numbers.find_numbers, language=one) for one in ("en", "de")},
    "language.facts.dates: dates": lambda text: (dates.find_dates(text, "en"), dates.find_times(text, "en")),
    "language.facts.dates: dates, German": lambda text: (dates.find_dates(text, "de"), dates.find_times(text, "de")),
    "language.facts.names: names.Words": _words,
    "tasks.refusal.attempts.objects: read_objects": lambda text: list(read_lenient(text)),
    "tasks.refusal.attempts.direct_calls: closings": lambda text: closings(text, 0),
    "tasks.refusal.call_checks.java: java_value": _check_typed("java", JAVA_TYPES),
    "tasks.refusal.call_checks.javascript: javascript_value": _check_typed("javascript", JAVASCRIPT_TYPES),
    "tasks.refusal.call_checks.all_calls: check_calls": _check_calls,
}
