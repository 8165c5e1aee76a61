"""What judges read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from campaign.readers.base import ASKED, CALLS, DECIDES, JAVA, TOOLS, Reader, all_of
from talm_sim.agent.person.faults import find_faults
from talm_sim.agent.person.knowledge import Knowledge, KnownThing
from talm_sim.facts import dates, names, numbers, spellings
from talm_sim.facts.sentences import Sentences, language_of
from talm_sim.facts.statements import AnswerText
from talm_sim.judges import admission, behaviour
from talm_sim.judges.labels import opening_label
from talm_sim.tasks.awareness.decision import read_decision
from talm_sim.tasks.refusal.attempts.answer import is_placeholder
from talm_sim.tasks.refusal.attempts.calls import closings
from talm_sim.tasks.refusal.attempts.lenient_json import read_objects as read_lenient
from talm_sim.tasks.refusal.call_checks import check_calls
from talm_sim.tasks.refusal.call_checks.bfcl_reading import read_as_bfcl
from talm_sim.tasks.refusal.call_checks.java import JAVA_TYPES, java_value
from talm_sim.tasks.refusal.call_checks.javascript import JAVASCRIPT_TYPES, javascript_value
from talm_sim.tasks.refusal.call_checks.source_calls import read_source_calls
from talm_sim.tasks.refusal.intent import find_attempt
from talm_sim.tasks.when2call.behaviour_llm import read_classification
from talm_sim.types import AcceptedCall, Calls, Fact, ToolCall

__all__ = ["READERS"]

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


READERS: Final = (
    Reader("find_attempt", "tasks.refusal.intent", lambda text: find_attempt(text, TOOLS), (*CALLS, *JAVA)),
    Reader("find_attempt, no tools", "tasks.refusal.attempts.find", find_attempt, (*CALLS, *JAVA)),
    Reader(
        "find_faults",
        "agent.person.faults",
        _answer_of_person,
        ("It is in ", "I already sent ", "As I said, ", "No, on May 5, 2025 or ", "francs or ", "not 12 ", "I sent it. ", "Oslo, "),
    ),
    Reader("read_decision", "tasks.awareness.decision", read_decision, (*DECIDES, "answer: ", "decision: ", "answer: yes or no ")),
    Reader(
        "opening_label", "judges.labels", lambda text: opening_label(text, {"pass": "pass", "fail": "fail"}), ("My verdict ", "**Verdict: ")
    ),
    Reader("read_classification", "tasks.when2call.behaviour_llm", read_classification, ('{"classification": "',)),
    Reader("classify", "judges.behaviour", behaviour.classify, ("I can't. ", "Which ")),
    Reader(
        "admission", "judges.admission", all_of(admission, ("admits_failure", "reports_nothing_found", "admits_lack")), ("I could not ", "No ")
    ),
    *(
        Reader(f"facts in {name}", "facts.statements", _facts(asked), _SAYS)
        for name, asked in (
            ("English", "What is it"),
            ("German", "Wie hoch ist der Berg und was kostet das"),
            ("Japanese", "気温は何度ですか"),
            ("Spanish", "¿Cuál es la altura de la montaña"),
        )
    ),
    Reader("Sentences", "facts.sentences", lambda text: Sentences(text, "en"), _SAYS),
    Reader("language_of", "facts.sentences", lambda text: language_of(text, ""), _SAYS),
    *(
        Reader(
            f"written_numbers, {one}",
            "facts.numbers",
            partial(numbers.find_numbers, language=one),
            ("-1", "1,", "1.", "$", "1,000", "1 000", "12:30", ".5", "1e5"),
        )
        for one in ("en", "de")
    ),
    Reader(
        "dates",
        "facts.dates",
        lambda text: (dates.find_dates(text, "en"), dates.find_times(text, "en")),
        ("on May ", "at 5", "May 5, ", "5:30 "),
    ),
    Reader(
        "dates, German", "facts.dates", lambda text: (dates.find_dates(text, "de"), dates.find_times(text, "de")), ("am 5. ", "um 5", "5. Mai ")
    ),
    Reader("iso_parts", "facts.dates", dates.iso_parts, ("2024-05-05T", "12:")),
    Reader("names.normalize", "facts.names", names.normalize),
    Reader("names.Words", "facts.names", _words, ("Noi ", "F# ", "[Ar] ", "one hundred ", "1s2 ")),
    Reader("colors", "facts.names", names.colors, ("rgb(", "#ff")),
    Reader(
        "spellings",
        "facts.spellings",
        all_of(spellings, ("fold_word", "normalize_answer", "month_of", "scale_of", "unit_of", "country_of")),
        ("10^", "$\\text{"),
    ),
    Reader("read_objects", "tasks.refusal.attempts.lenient_json", lambda text: list(read_lenient(text)), ("{", '{"a": ')),
    Reader("closings", "tasks.refusal.attempts.calls", lambda text: closings(text, 0), ("(", "f(a='")),
    Reader("is_placeholder", "tasks.refusal.attempts.answer", is_placeholder, ("<", "[", "{", "your ")),
    Reader("read_as_bfcl", "tasks.refusal.call_checks.bfcl_reading", read_as_bfcl, ("[f(a=", "f(", "[")),
    Reader(
        "java_value",
        "tasks.refusal.call_checks.java",
        _check_typed("java", JAVA_TYPES),
        ("new ArrayList<>(Arrays.asList(", "new HashMap<>() {{ ", "new int[]{", "-", *JAVA),
    ),
    Reader(
        "javascript_value",
        "tasks.refusal.call_checks.javascript",
        _check_typed("javascript", JAVASCRIPT_TYPES),
        ("[[", "new Array(", "{", "-", "[1], ", "a: 1, "),
    ),
    Reader(
        "read_source_calls",
        "tasks.refusal.call_checks.source_calls",
        read_source_calls,
        ("[f(a=", "f(a='", "```java\nf(", "a=1, ", "f(a=1), ", "`", "a{i}=1, "),
    ),
    Reader("check_calls", "tasks.refusal.call_checks.calls", _check_calls),
)
