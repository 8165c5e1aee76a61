"""Read an episode's person for its row, and sum up the simulated people of a run for a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from talm_sim.judges.stats import share
from talm_sim.tasks.acting.standing_in import hidden_tools
from talm_sim.types import Episode, HumanEvent, Measure, Row, Scenario, ToolSpec
from talm_sim.types.written_figures import decimal, interval

if TYPE_CHECKING:
    from talm_sim.agent.person.knowledge import Knowledge
    from talm_sim.agent.person.read_person import ReadAnswer

_TITLE = "the simulated person"
_HEADS = {
    "person_fault": ("Faulty", "the person contradicted a fact, claimed something false or gave away what was not asked"),
    "person_contradiction": ("Contradicted", "gave another value in place of one that the person knows"),
    "person_false_claim": ("Claimed falsely", "claimed to have done, said or known what no fact says"),
    "person_leak": ("Gave away", "gave something missing that no question was about"),
    "persons_failure": ("Person's fault", "failures in which the person was at fault"),
    "pass_rate_sound": ("Passed, sound person", "passed, of the episodes without such a fault"),
}
PERSON_MEASURES = tuple(_HEADS)
"""Names of the columns."""
_FAULTS = {"person_contradictions": "contradiction", "person_false_claims": "false claim", "person_leaks": "leak"}
_KINDS = {"contradiction": "person_contradiction", "false_claim": "person_false_claim", "leak": "person_leak"}


def read_person(episode: Episode, scenario: Scenario, specs: Mapping[str, ToolSpec], perturb: Sequence[str]) -> list[ReadAnswer]:
    """Read the answers of an episode's person."""
    from talm_sim.agent.person.knowledge import knowledge_of  # not at the top: a run without people needs no facts
    from talm_sim.agent.person.read_person import read_answers

    if not episode.questions:
        return []
    hidden, broken = hidden_tools([*specs.values()], perturb), [event for event in episode.tool_events if event.broken]

    @cache
    def known(failed: frozenset[str]) -> Knowledge:
        return knowledge_of(scenario, specs, stands_in={*hidden, *failed} if perturb or failed else None)

    def known_at(question: HumanEvent) -> Knowledge:
        earlier = {id(event) for event in episode.events[: next(i for i, one in enumerate(episode.events) if one is question)]}
        return known(frozenset(event.name for event in broken if id(event) in earlier))

    return list(read_answers(episode, known_at))


def person_values(read: Sequence[ReadAnswer]) -> dict[str, bool | int]:
    """Return what the answers of an episode count as; empty without any.

    Counts of answers: `person_answers`, `person_words` (their words), `person_told` (missing things given), `person_at_once` (answers that
    give two or more, or one unasked), `person_pushed_back`. Of a simulated person also `person_faulty` and the answers with each kind of
    fault; and whether there was one.
    """
    from talm_sim.agent.person.read_person import is_simulated

    if not read:
        return {}
    values: dict[str, bool | int] = {
        "person_answers": len(read),
        "person_words": sum(one.words for one in read),
        "person_told": sum(len(one.told) for one in read),
        "person_at_once": sum(len(one.told) > 1 or one.unasked for one in read),
        "person_pushed_back": sum(one.pushes_back for one in read),
    }
    if not all(is_simulated(one.event.responder) for one in read):
        return values
    kinds = [{fault.kind for fault in one.faults} for one in read]
    counts = {kind: sum(kind in found for found in kinds) for kind in _KINDS}
    values |= {"person_faulty": sum(map(bool, kinds)), "person_fault": any(kinds)}
    values |= {f"{name}s": counts[kind] for kind, name in _KINDS.items()}
    return values | {name: bool(counts[kind]) for kind, name in _KINDS.items()}


def passing_values(values: Mapping[str, bool | int], passed: bool | None) -> dict[str, bool]:
    """Return whose an episode's failure was, and whether it passed if its simulated person made no fault."""
    if passed is None or "person_fault" not in values:
        return {}
    faulty = bool(values["person_fault"])
    return ({} if passed else {"persons_failure": faulty}) | ({} if faulty else {"pass_rate_sound": passed})


def person_measures(scored: Sequence[Row]) -> Iterator[Measure]:
    """Return the columns about simulated people; none where a rule answered and made no fault."""
    if not _is_shown(scored):
        return
    for name, (head, about) in _HEADS.items():
        rate = share(scored, name)
        better = "higher" if name == "pass_rate_sound" else "lower"
        yield Measure.of(rate if rate.n else None, name, head, under=_TITLE, note=about, better=better)


def person_notes(scored: Sequence[Row]) -> Iterator[str]:
    """Say how many answers were faulty, whose the failures were, and which episodes these are."""
    simulated = [row for row in scored if "person_fault" in row.values]
    answers, faulty = (sum(int(row.values[name] or 0) for row in simulated) for name in ("person_answers", "person_faulty"))
    if not _is_shown(scored):
        if answers:
            yield "the simulated person made no mistake"
        return
    counts = {word: sum(int(row.values.get(name) or 0) for row in scored) for name, word in _FAULTS.items()}
    kinds = ", ".join(f"{number} with a {word}" for word, number in counts.items() if number)
    yield f"person: {faulty} of {answers} answers faulty ({decimal(faulty / answers)}){f': {kinds}' if kinds else ''}"
    failures = share(scored, "persons_failure")
    sound = share(scored, "pass_rate_sound")
    if faulty and failures.n:
        rate = f"; passed without the episodes of a faulty person {decimal(sound.value)} [{interval(sound)}]" if sound.n else ""
        theirs = sum(bool(row.values.get("persons_failure")) for row in scored)
        yield f"{theirs} of {failures.n} failures were the person's{rate}"
    if named := [row.episode for row in scored if row.values.get("person_fault")]:
        rest = f" and {len(named) - 5:,} more" if len(named) > 5 else ""
        yield f"faulty person in {', '.join(named[:5])}{rest}"


def persona_note(human: str, persona: str) -> Iterator[str]:
    """Say who plays the person, and which faults were asked for."""
    from talm_sim.agent.person.model_person import ASKED_FOR, named_model

    if model := named_model(human):
        kind = ASKED_FOR.get(persona, "").replace("_", " ")
        wanted = f", which asks for a {kind}" if kind else ""
        yield f"the person is played by {model}{'' if persona == 'none' else f', persona {persona}{wanted}'}"


def _is_shown(scored: Sequence[Row]) -> bool:
    return any("person_fault" in row.values and (row.values["person_fault"] or ":" in row.labels.get("human", "")) for row in scored)
