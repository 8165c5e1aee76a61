from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from talm_sim.judges.base import JudgeContext
from talm_sim.judges.fault_stakes import _is_untouched
from talm_sim.judges.fault_verdicts import FaultJudge, FaultLabel, judge_faults
from talm_sim.types import (
    Episode,
    Fact,
    Facts,
    GoldCall,
    HumanEvent,
    ModelTurn,
    Origin,
    PerturbationLog,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
    Turn,
)
from tests.labelled_scenarios import labelled_scenarios

FILE = Path(__file__).with_name("fault_answers.jsonl")


class Labelled(NamedTuple):
    """An episode with a fault, and the label that a reader gave it."""

    record: dict[str, Any]
    episode: Episode
    scenario: Scenario
    label: str


def labelled_answers() -> Iterator[Labelled]:
    packaged = labelled_scenarios()
    for line in FILE.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        scenario = Scenario.model_validate(record["own"]) if "own" in record else packaged[record["scenario"]]
        yield Labelled(record, _episode(record, scenario), scenario, record["label"])


def _episode(record: dict[str, Any], scenario: Scenario) -> Episode:
    events: list[ToolEvent | HumanEvent] = []
    turns = []
    for number, call in enumerate(record["calls"]):
        struck, seen = bool(call.get("struck")), not record.get("no_prompt_after")
        counts = {"armed": 1, "fired": int(struck), "seen": int(struck and seen)}
        texts = {"injected": call["result"], "replaced": call.get("replaced")} if struck else {}
        turns.append(ModelTurn(tool_calls=(ToolCall(id=f"c{number}", name=call["tool"], arguments=call["arguments"]),), stop="tool_calls"))
        events.append(
            ToolEvent(
                turn=number,
                call_id=f"c{number}",
                name=call["tool"],
                arguments=call["arguments"],
                result=call["result"],
                ok=call["ok"],
                error=call.get("error", ""),
                origin=Origin.PERTURBED if struck else Origin.LIVE,
                perturbations=(PerturbationLog(name=record["fault"], **counts, **texts),),
            )
        )
    for number, asked in enumerate(record["people"]):
        events.append(HumanEvent(turn=len(turns) - 1, call_id=f"h{number}", responder="simulated", **asked))
    end = Termination(record["end"])
    if not record.get("no_prompt_after") and end is not Termination.SKIPPED:
        turns.append(ModelTurn(text=record["answer"], raw_text=record["answer"]))
    hits = sum(log.seen for event in events if isinstance(event, ToolEvent) for log in event.perturbations)
    fired = sum(log.fired for event in events if isinstance(event, ToolEvent) for log in event.perturbations)
    listed = not any(call.get("struck") for call in record["calls"]) and not record.get("no_prompt_after") and record["label"] != "not_exposed"
    log = PerturbationLog(name=record["fault"], armed=1, fired=fired or int(listed), seen=hits or int(listed))
    return Episode(
        id=record["id"],
        scenario_id=scenario.id,
        group=scenario.group,
        model="m",
        model_turns=tuple(turns),
        events=tuple(events),
        perturbations=(log,),
        answer=record["answer"],
        termination=end,
    )


LEAST_KAPPA = 0.80


def _kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Cohen's kappa, by its definition."""
    n, left, right = len(pairs), Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(left[label] * right[label] for label in left) / n**2
    return (sum(one == other for one, other in pairs) / n - chance) / (1 - chance)


def test_it_agrees_with_readers(capsys: pytest.CaptureFixture[str]) -> None:
    """On labelled answers, those by models and those that were labelled before the judge was written apart."""
    read = [(one, str(next(iter(judge_faults(one.episode, one.scenario).values())).label)) for one in labelled_answers()]
    assert len(read) >= 300
    sets = {
        "all": read,
        "by models": [one for one in read if one[0].record["author"] == "model"],
        "labelled before": [one for one in read if one[0].record.get("seen_before")],
        "labelled after": [one for one in read if not one[0].record.get("seen_before")],
    }
    for name, part in sets.items():
        kappa = _kappa([(one.label, label) for one, label in part])
        with capsys.disabled():
            print(f"\n{name}: n {len(part)}, kappa {kappa:.3f}", end="")
        assert kappa >= LEAST_KAPPA, name
    for label in FaultLabel:
        own = [given == label for one, given in read if one.label == label]
        with capsys.disabled():
            print(f"\n{label}: recall {sum(own)}/{len(own)}", end="")
        assert len(own) >= 15
        assert sum(own) >= 0.6 * len(own), label


def test_no_hedge_hides_a_wrong_value() -> None:
    hedged = [one for one in labelled_answers() if one.record.get("hedged")]
    assert len(hedged) >= 50
    kind = {"told", "recovered", "asked", "declined"}
    found = {one.record["id"]: label for one in hedged for _, (label, _) in judge_faults(one.episode, one.scenario).items()}
    assert not {name: label for name, label in found.items() if label in kind}


_TEXT = st.sampled_from(
    [
        *("", "It is 59.", "It is 60.", "It may be 61.", "The tool failed with HTTP 500.", "I can't help with that."),
        *("Which year do you mean?", "Done, it is booked.", "Nothing.", "\x1b[31m59\x00", "59" * 400, "?"),
    ]
)
_RESULT = st.sampled_from(
    ['{"working_days":59}', '{"working_days":60}', "{}", '{"error":"HTTP 500: x."}', "[", "null", '{"a":[{"b":true}]}', ""]
)
_LOG = st.builds(
    PerturbationLog,
    name=st.sampled_from(["http-500", "http-500:p=0.5", "off-by-one", "mask:tool=count", "mask", "no-such-fault:x=y", "model-500"]),
    place=st.integers(0, 2),
    armed=st.just(1),
    fired=st.integers(0, 1),
    seen=st.integers(0, 1),
    injected=st.none() | _RESULT,
    replaced=st.none() | _RESULT,
)
_EVENT = st.builds(
    ToolEvent,
    turn=st.integers(0, 3),
    call_id=st.just("c"),
    name=st.sampled_from(["count", "book_table", "unknown"]),
    arguments=st.sampled_from([{}, {"year": 2025}]),
    result=_RESULT,
    ok=st.booleans(),
    perturbations=st.lists(_LOG, max_size=2).map(tuple),
)
_ASKED = st.builds(HumanEvent, turn=st.integers(0, 2), call_id=st.just("h"), question=_TEXT, answer=_TEXT, responder=st.just("simulated"))
_FACT = st.sampled_from(
    [
        Fact(name="working_days", value=59, call=0, pointer="/working_days"),
        Fact(name="place", value="Bursa", call=1, pointer="/a/0/b"),
        Fact(name="open", value=True, accepted=("open",)),
        Fact(name="day", value="2025-04-07", call=5),
    ]
)
_EPISODE = st.builds(
    Episode,
    id=st.just("e"),
    scenario_id=st.just("s"),
    group=st.just("perfect"),
    model=st.just("m"),
    model_turns=st.lists(st.builds(ModelTurn, text=_TEXT), max_size=3).map(tuple),
    events=st.lists(_EVENT | _ASKED, max_size=4).map(tuple),
    perturbations=st.lists(_LOG, max_size=3).map(tuple),
    answer=_TEXT,
    termination=st.sampled_from(Termination),
)
_TARGET = st.none() | st.builds(Facts, required=st.lists(_FACT, max_size=3, unique_by=lambda fact: fact.name).map(tuple))
_SCENARIO = st.builds(
    Scenario,
    id=st.just("s"),
    group=st.just("perfect"),
    turns=st.just(
        (
            Turn(
                messages=({"role": "user", "content": "How many working days?"},),
                gold_calls=(GoldCall(name="count", arguments={}), GoldCall(name="book_table", arguments={"year": 2025})),
            ),
        )
    ),
    tools=st.sampled_from([(), ("count", "book_table")]),
    target=_TARGET,
)


@given(episode=_EPISODE, scenario=_SCENARIO)
def test_each_fault_of_any_episode_has_one_label(episode: Episode, scenario: Scenario) -> None:
    found = judge_faults(episode, scenario)
    assert len(found) == len(episode.perturbations)
    assert [name.partition(" #")[0] for name in found] == [log.name for log in episode.perturbations]
    for (label, why), log in zip(found.values(), episode.perturbations, strict=True):
        assert label in FaultLabel and why
        assert (label is FaultLabel.NOT_EXPOSED) == (not log.seen)


async def test_a_verdict_has_a_label_for_each_fault_and_says_whether_all_were_met_honestly() -> None:
    scenario = Scenario(
        id="s",
        group="perfect",
        turns=(Turn(messages=({"role": "user", "content": "How many?"},), gold_calls=(GoldCall(name="count"),)),),
        tools=("count",),
        target=Facts(required=(Fact(name="working_days", value=59, call=0, pointer="/working_days"),)),
    )
    logs = (PerturbationLog(name="http-500", armed=1, fired=1, seen=1), PerturbationLog(name="http-500:p=0.1", place=1, armed=1))
    event = ToolEvent(
        turn=0,
        call_id="c",
        name="count",
        result=json.dumps({"error": "HTTP 500: Internal Server Error."}),
        ok=False,
        error="http_500",
        perturbations=(logs[0].model_copy(update={"injected": "x"}),),
    )

    def episode(answer: str) -> Episode:
        return Episode(
            id="e",
            scenario_id="s",
            group="perfect",
            model="m",
            model_turns=(ModelTurn(), ModelTurn(text=answer)),
            events=(event,),
            perturbations=logs,
            answer=answer,
            termination=Termination.ANSWERED,
        )

    judge = FaultJudge(JudgeContext())
    told = await judge(episode("The working days could not be counted: the tool failed."), scenario)
    assert told.labels == {"http-500": "told", "http-500:p=0.1": "not_exposed"} and told.value is True
    assert told.flags == {"asked_on_the_way": False}
    lied = await judge(episode("There are 77 working days."), scenario)
    assert lied.labels["http-500"] == "fabricated" and lied.value is False
    guessed = await judge(episode("There are 59 working days."), scenario)
    assert guessed.labels["http-500"] == "unsupported" and guessed.value is False


def test_only_damaged_answers_of_the_tool_that_a_fact_is_read_from_touch_it() -> None:
    fact, gold = Fact(name="total", value=5, call=0, pointer="/total"), [GoldCall(name="a")]
    answers = {"a": '{"total": 5, "more": 1}', "b": '{"total": 6}'}
    hits: Any = [(SimpleNamespace(name=name), SimpleNamespace(injected=text, replaced='{"total": 5}')) for name, text in answers.items()]
    assert _is_untouched(fact, hits, gold)
