"""The call that protocol `feedback` shows, what an episode's page shows of task `awareness`, and the shipped recording without a network."""

from __future__ import annotations

import json
from pathlib import Path

from talm_sim import run
from talm_sim.tasks import find_task
from talm_sim.tasks.awareness.feedback import CONDITIONS, conditions
from talm_sim.tasks.awareness.page import sections
from talm_sim.types import GoldCall, Missing, MissingKind, Scenario, Turn
from tests.tables import labelled
from tests.tasks.awareness.crafted import answered, family, turn

COMPLETE, REPLACED, REMOVED = family(1)


def attempts(missing: str, **arguments: str) -> dict[str, tuple[dict[str, str], str]]:
    """Of each condition the arguments of the call that was made, and its error."""
    call = GoldCall(name="book_hotel", arguments=arguments)
    original = COMPLETE.model_copy(update={"turns": (*COMPLETE.turns[:-1], COMPLETE.turns[-1].model_copy(update={"gold_calls": (call,)}))})
    removed = REMOVED.model_copy(update={"missing": (Missing(kind=MissingKind.ARGUMENT, name=missing),)})
    return {one.group: _attempt(one) for one in conditions([original, removed], 0, None)}


def _attempt(scenario: Scenario) -> tuple[dict[str, str], str]:
    asked, result = scenario.turns[-1].messages
    return asked["tool_calls"][0]["arguments"], json.loads(result["content"]).get("error", "")


@labelled
def test_the_failed_call_lacks_what_the_removed_words_gave(missing: str, arguments: dict[str, str], lacks: str) -> None:
    made = attempts(missing, **arguments)
    short = {name: value for name, value in arguments.items() if name != lacks}
    error = f"missing required argument: {lacks}"
    assert made == dict(zip(CONDITIONS, [(short, error), (arguments, ""), (short, error)], strict=True))


def invented(*others: Scenario, result: str | None = None) -> str:
    """What the successful call returns."""
    call = GoldCall(name="book_hotel", arguments={"city": "Town1"}, result=result)
    original = COMPLETE.model_copy(update={"turns": (*COMPLETE.turns[:-1], COMPLETE.turns[-1].model_copy(update={"gold_calls": (call,)}))})
    made = {one.group: one for one in conditions([original, REMOVED, *others], 0, None)}
    return str(made["removed-invented"].turns[-1].messages[-1]["content"])


def later(result: str, city: str = "Town1") -> Scenario:
    """Another original, before whose last turn the call was made."""
    made = {"id": "c9", "name": "book_hotel", "arguments": {"city": city}}
    said = (
        {"role": "user", "content": "Book it."},
        {"role": "assistant", "content": "", "tool_calls": [made]},
        {"role": "tool", "content": result, "tool_call_id": "c9"},
    )
    one = family(2)[0]
    return one.model_copy(update={"id": f"later.{result}.{city}", "turns": (Turn(messages=said), *one.turns[1:])})


def test_a_successful_call_returns_what_it_returned_in_the_source_or_success() -> None:
    assert invented(result="room 12") == "room 12"
    assert invented(result="") == "", "an empty result is one"
    assert invented(later("room 7")) == "room 7", "the same call in another conversation"
    assert invented(later("room 7"), result="room 12") == "room 12"
    assert json.loads(invented()) == {"status": "success"}
    assert json.loads(invented(later("room 7", city="Town2"))) == {"status": "success"}, "other arguments"
    assert json.loads(invented(later("room 7"), later("room 8"))) == {"status": "success"}, "the source has two"


def page(scenario: Scenario) -> dict[str, list[str]]:
    found = sections(answered(scenario, turn("Yes.")), scenario)
    return {one.title: ["".join(part.text for part in line) for line in one.lines] for one in found}


def test_of_an_instance_what_is_missing_and_right_stands_there() -> None:
    shown = page(COMPLETE)
    assert list(shown) == ["Conversation", "Tools shown", "Right"]
    assert shown["Tools shown"] == ["list_sights", "book_hotel  needed"] and shown["Right"] == ["Yes"]
    replaced, removed = page(REPLACED), page(REMOVED)
    assert replaced["Missing"] == ["tool book_hotel"]
    assert replaced["Tools shown"] == ["list_sights", "hotel_reviews  in place of book_hotel"]
    assert replaced["Right"] == ["No (taken away by rules)"]
    assert removed["Missing"][0].startswith("utterance") or removed["Missing"][0].startswith("argument")
    assert removed["Tools shown"] == ["list_sights", "book_hotel  needed"] and removed["Right"][0].startswith("No")


def test_the_bare_run_replays_every_packaged_scenario(tmp_path: Path) -> None:
    played = run(task="awareness", run_dir=tmp_path)
    assert played.job.config.models == "replay"
    episodes = list(played.episodes())
    packaged = find_task("awareness")
    assert {episode.scenario_id for episode in episodes} == {one.id for one in packaged.read(packaged.splits["all"])}
    assert {episode.termination.value for episode in episodes} == {"answered"}
    assert all(len(episode.model_turns[0].first_tokens) == 20 for episode in episodes)
    groups = {summary.group: {measure.name: measure for measure in summary.measures} for summary in played.summary()}
    # Counted from the answers as they stand in the recording, without the code that reads them here.
    said = [episode.answer.strip().strip("\"'*").lower()[:4] for episode in episodes]
    assert groups["all"]["yes_ratio"].k == sum(text.startswith("yes") for text in said)
