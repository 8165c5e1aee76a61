"""Every kind of damage to a scenario is found, and nothing else is reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.build_scenarios import build_scenarios
from talm_sim.scenarios.problems import Problem
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.types import Facts, GoldCall, Missing, MissingKind, Scenario, Turn
from tests.tasks.talm.making.toy import SEED, SPECS, call_toy, write_seed

Damage = Callable[[Scenario], Scenario]
NON_REPLACEABLE = SEED.replace('tool = "get_height"\nhuman_answer = "It lies {height:,} feet up."', 'tool = "add_up"')


@pytest.fixture
def sound(tmp_path: Path) -> dict[str, Scenario]:
    """One scenario of each group."""
    second = NON_REPLACEABLE.replace("La Paz (LPB)", "Hanoi (HAN)").replace("La Paz, LPB", "Hanoi, HAN").replace('"LPB"', '"HAN"')
    for old, new in (
        ("do 17 and 26 make", "is the sum of 18 and 27"),
        ("first = 17, second = 26", "first = 18, second = 27"),
        ("-three", "-five"),
    ):
        second = second.replace(old, new)
    (tmp_path / "trinkets.toml").write_text(second, encoding="utf-8")
    groups = build_scenarios(write_seed(tmp_path), SPECS, call_toy)
    return {scenario.id: scenario for scenarios in groups.values() for scenario in scenarios}


def _check(scenarios: dict[str, Scenario]) -> list[Problem]:
    return check_scenarios(list(scenarios.values()), SPECS, call_toy, packaged=True)


def _set(**fields: Any) -> Damage:
    return lambda scenario: scenario.model_copy(update=fields)


def _query(old: str, new: str) -> Damage:
    def change(scenario: Scenario) -> Scenario:
        assert old in scenario.query
        turn = scenario.turns[0].model_copy(update={"messages": ({"role": "user", "content": scenario.query.replace(old, new)},)})
        return scenario.model_copy(update={"turns": (turn,)})

    return change


def _gold(*calls: GoldCall) -> Damage:
    return lambda scenario: scenario.model_copy(update={"turns": (scenario.turns[0].model_copy(update={"gold_calls": calls}),)})


def _fact(index: int, **fields: Any) -> Damage:
    def change(scenario: Scenario) -> Scenario:
        assert isinstance(scenario.target, Facts)
        facts = list(scenario.target.required)
        facts[index] = facts[index].model_copy(update=fields)
        return scenario.model_copy(update={"target": Facts(required=tuple(facts))})

    return change


def _missing(**fields: Any) -> Damage:
    def change(scenario: Scenario) -> Scenario:
        (missing,) = scenario.missing
        return scenario.model_copy(update={"missing": (missing.model_copy(update=fields),)})

    return change


def _source(**fields: Any) -> Damage:
    return lambda scenario: scenario.model_copy(update={"source": scenario.source.model_copy(update=fields)})


HEIGHT = GoldCall(name="get_height", arguments={"code": "LPB"})
SUM = GoldCall(name="add_up", arguments={"first": 17, "second": 26})
MISSING = Missing(kind=MissingKind.TOOL, name="add_up")
PERFECT, UNDER = "toys-01", "toys-01.underspecified"
REPLACEABLE, NON, NONE = "toys-01.replaceable", "trinkets-01.non-replaceable", "toys-01.no-tools"


def test_sound_scenarios_have_no_problems(sound: dict[str, Scenario]) -> None:
    assert {scenario.group for scenario in sound.values()} == {"perfect", "underspecified", "replaceable", "non-replaceable", "no-tools"}
    assert _check(sound) == []


@pytest.mark.parametrize(
    ("name", "damage", "what"),
    [
        # identity
        (PERFECT, _set(group="impossible"), "group 'impossible' is unknown"),
        (PERFECT, _set(id="trinkets-01"), "its id is used more than once"),
        (NONE, _query("How high, in feet, is the airport of La Paz (LPB), and what do 17 and 26 make?", " "), "it has no query"),
        (PERFECT, _source(licence=""), "it names no licence"),
        (PERFECT, _source(base="toys-01"), "a perfect scenario is its own base"),
        (PERFECT, _source(url="https://x/?api_key=abcdefgh1234"), "it holds what looks like a secret ('api_key=...')"),
        (PERFECT, _query("make?", "make? sk-" + "a1b2" * 5), "it holds what looks like a secret ('sk-a1b2a...')"),
        (PERFECT, _set(target=None), "it has no facts to find in an answer"),
        # tools and gold calls
        (PERFECT, _set(tools=("get_height", "add_up", "fly")), "there is no tool 'fly'"),
        (PERFECT, _set(tools=("add_up",)), "gold call 'get_height' is not among its tools"),
        (PERFECT, _gold(HEIGHT.model_copy(update={"arguments": {"code": "LA PAZ"}}), SUM), "gold call 'get_height': 'LA PAZ' is too long"),
        (PERFECT, _gold(HEIGHT.model_copy(update={"arguments": {"code": "XXX"}}), SUM), "gold call failed: No airport 'XXX'."),
        (PERFECT, _gold(HEIGHT, SUM, SUM), "no fact needs gold call 'add_up'"),
        (NONE, _set(tools=("add_up",)), "a no-tools scenario offers tools or has gold calls"),
        # facts
        (PERFECT, _fact(0, value=13356), "fact 'height' is 13356, the tool says 13355"),
        (PERFECT, _fact(0, value="13355"), "fact 'height' is '13355', the tool says 13355"),
        (PERFECT, _fact(0, pointer="/metres"), "fact 'height': there is nothing at '/metres'"),
        (PERFECT, _fact(0, call=7), "fact 'height' belongs to call 7, which does not exist"),
        (PERFECT, _fact(0, name="sum"), "two facts are called 'sum'"),
        (PERFECT, _fact(1, value=17, pointer="/terms/0"), "its query already holds the fact 'sum' (17)"),
        (PERFECT, _fact(1, accepted=("LA PAZ",)), "its query already holds the fact 'sum' (43)"),
        (PERFECT, _fact(1, value=True, accepted=()), "fact 'sum' is only True"),
        (PERFECT, _fact(1, value="?!"), "fact 'sum' has no words"),
        # underspecified
        (UNDER, _set(missing=()), "it does not say which argument is missing"),
        (UNDER, _missing(name="first"), "no gold call has first = 'LPB'"),
        (UNDER, _missing(value="HAN"), "no gold call has code = 'HAN'"),
        (UNDER, _missing(removed_text=" "), "it does not say which text was removed for 'code'"),
        (UNDER, _missing(removed_text="of Lima"), "the removed text 'of Lima' is not in the original query"),
        (UNDER, _query("airport", "airport (lpb)"), "the removed value can be recovered from the query ('LPB')"),
        (UNDER, _query("airport", "airport of LA PAZ"), "the removed value can be recovered from the query ('Paz')"),
        (UNDER, _missing(human_answer=None), "no human answer is given for 'code'"),
        (UNDER, _missing(human_answer="The one in the mountains."), "the human answer for 'code' does not contain the removed value"),
        (UNDER, _set(perturbations=("http-500",)), "it is also perturbed"),
        (UNDER, _query("How high", "I am off to see my old aunt tomorrow: how high"), "its query differs from the original (9 words added"),
        (UNDER, _query("How high, in feet, is the airport, and w", "W"), "its query differs from the original (0 words added, 8 dropped)"),
        (UNDER, _query("the airport,", "the airport of La Paz (LPB),"), "nothing was removed from the query"),
        (UNDER, _set(tools=("add_up", "get_height")), "its gold calls or tools are not its base's"),
        # unavailable
        (REPLACEABLE, _set(missing=()), "it does not say which tool is missing"),
        (REPLACEABLE, _set(perturbations=()), "it masks nothing but misses 'get_height'"),
        (REPLACEABLE, _set(perturbations=("mask:tool=get_height", "http-500")), "it masks ['get_height'] but misses 'get_height'"),
        (REPLACEABLE, _set(tools=("add_up",)), "the missing tool 'get_height' is not among its tools"),
        (REPLACEABLE, _gold(HEIGHT, SUM), "a gold call uses the missing tool 'get_height'"),
        (REPLACEABLE, _gold(), "its gold calls are not its base's without the masked tool"),
        (REPLACEABLE, _set(group="non-replaceable"), "'get_height' is replaceable, the group says non-replaceable"),
        (REPLACEABLE, _missing(human_answer="Quite high."), "the human answer does not contain the fact 'height' (13355)"),
        (REPLACEABLE, _query("How high", "Tell me how high"), "its query is not its base's"),
        (NON, _missing(human_answer="45"), "a person is given an answer that no person could know"),
        (NON, _set(group="replaceable"), "'add_up' is non-replaceable, the group says replaceable"),
        # variants against their base
        (NONE, _source(base="toys-99"), "its base 'toys-99' does not exist"),
        (NONE, _fact(0, value=4), "its facts are not its base's"),
        (NONE, _query("17", "19"), "its query is not its base's"),
        (NONE, lambda one: one.model_copy(update={"missing": (MISSING,)}), "nothing is missing in this group, yet `missing` is set"),
    ],
)
def test_damage_is_found(sound: dict[str, Scenario], name: str, damage: Damage, what: str) -> None:
    damaged = damage(sound[name])
    problems = _check(sound | {name: damaged})
    assert [problem for problem in problems if problem.scenario == damaged.id and problem.what.startswith(what)], problems
    assert all(problem.fix for problem in problems)


def test_every_fact_within_reach_means_nothing_is_missing(sound: dict[str, Scenario]) -> None:
    damaged = _fact(0, call=0, pointer="/sum")(sound[REPLACEABLE])
    assert "every fact can still be found" in [problem.what for problem in _check(sound | {REPLACEABLE: damaged})]


def test_two_scenarios_of_a_group_that_ask_the_same_are_both_named(sound: dict[str, Scenario]) -> None:
    other = _query("How high", "how  HIGH")(sound[PERFECT]).model_copy(update={"id": "toys-02"})
    named = [problem.scenario for problem in _check(sound | {"toys-02": other}) if "asks the same" in problem.what]
    assert set(named) == {"toys-02", PERFECT}


def test_a_users_own_scenarios_keep_no_house_rules(sound: dict[str, Scenario]) -> None:
    specs = SPECS | {"add_up": SPECS["add_up"].model_copy(update={"category": "sums"})}
    mine = sound[PERFECT].model_copy(update={"source": sound[PERFECT].source.model_copy(update={"licence": ""})})
    assert check_scenarios([mine], specs, call_toy) == []
    assert {problem.what for problem in check_scenarios([mine], specs, call_toy, packaged=True)} == {
        "it names no licence",
        "its tools belong to several categories",
    }


def _said_before(text: str) -> Damage:
    """The same, behind an earlier turn that was answered."""
    earlier = Turn(messages=({"role": "user", "content": "Good morning."}, {"role": "assistant", "content": text}))
    return lambda scenario: scenario.model_copy(update={"turns": (earlier, *scenario.turns)})


@pytest.mark.parametrize(
    ("name", "said", "what"),
    [
        (PERFECT, "It makes 43.", "its query already holds the fact 'sum' (43)"),
        (UNDER, "You fly to LPB.", "the removed value can be recovered from the query ('LPB')"),
        (REPLACEABLE, "Good morning!", "its query is not its base's"),
    ],
)
def test_earlier_turns_are_looked_at_too(sound: dict[str, Scenario], name: str, said: str, what: str) -> None:
    problems = _check(sound | {name: _said_before(said)(sound[name])})
    assert what in [problem.what for problem in problems if problem.scenario == name], problems


def test_a_call_of_the_last_turn_needs_a_fact_and_one_of_an_earlier_turn_does_not(sound: dict[str, Scenario]) -> None:
    perfect = sound[PERFECT]
    assert isinstance(perfect.target, Facts)
    asked = [
        Turn(messages=({"role": "user", "content": text},), gold_calls=(call,))
        for text, call in (("How high?", HEIGHT), ("And 17 and 26?", SUM))
    ]
    for left, problems in ((1, []), (0, ["no fact needs gold call 'add_up'"])):
        long = perfect.model_copy(update={"turns": tuple(asked), "target": Facts(required=(perfect.target.required[left],))})
        assert [problem.what for problem in check_scenarios([long], SPECS, call_toy)] == problems


def test_a_dialogue_is_sound_and_another_that_ends_alike_is_no_second_one(sound: dict[str, Scenario]) -> None:
    mine = [_said_before(said)(sound[PERFECT]).model_copy(update={"id": said}) for said in ("Good morning!", "Good evening!")]
    assert check_scenarios(mine, SPECS, call_toy) == []
    assert len(check_scenarios([mine[0], mine[0].model_copy(update={"id": "again"})], SPECS, call_toy)) == 2


SEVERAL = Missing(kind=MissingKind.ARGUMENT, name="first", value=17, removed_text="17", human_answer="The first is 17.")
LACKS_BOTH = "How high, in feet, is the airport, and what do some number and 26 make?"


def _of_several(under: Scenario, *more: Missing, query: str = LACKS_BOTH) -> Scenario:
    turn = under.turns[0].model_copy(update={"messages": ({"role": "user", "content": query},)})
    return under.model_copy(update={"turns": (turn,), "missing": (*under.missing, *more)})


def _what(scenarios: dict[str, Scenario], changed: Scenario) -> list[str]:
    return [one.what for one in _check(scenarios | {changed.id: changed})]


def test_several_arguments_may_be_missing_and_each_is_checked(sound: dict[str, Scenario]) -> None:
    under = sound[UNDER]
    assert _what(sound, _of_several(under, SEVERAL)) == []
    assert _what(sound, _of_several(under, SEVERAL, SEVERAL)) == ["the argument 'first' is missing 2 times"]
    assert _what(sound, _of_several(under, SEVERAL.model_copy(update={"human_answer": "17, and I mean La Paz, LPB."}))) == [
        "the human answer for 'first' also says the code"
    ]
    assert _what(sound, _of_several(under, SEVERAL.model_copy(update={"value": 18}))) == ["no gold call has first = 18"]
    assert _what(sound, _of_several(under, SEVERAL, query=under.query)) == ["the removed value can be recovered from the query ('17')"]
    assert _what(sound, _of_several(under, SEVERAL.model_copy(update={"kind": MissingKind.TOOL}))) == [
        "it does not say which argument is missing"
    ]


def test_several_tools_may_be_masked(sound: dict[str, Scenario]) -> None:
    specs = SPECS | {"add_up": SPECS["add_up"].model_copy(update={"human_replaceable": True})}
    masked = sound[REPLACEABLE]
    facts = tuple(fact.model_copy(update={"call": None, "pointer": ""}) for fact in masked.target.required)  # type: ignore[union-attr]
    adding = Missing(kind=MissingKind.TOOL, name="add_up", human_answer="They make 43.")
    both = masked.model_copy(
        update={
            "turns": (masked.turns[0].model_copy(update={"gold_calls": ()}),),
            "target": Facts(required=facts),
            "missing": (*masked.missing, adding),
            "perturbations": (*masked.perturbations, "mask:tool=add_up"),
        }
    )

    def what(changed: Scenario) -> list[str]:
        return [one.what for one in check_scenarios([sound[PERFECT], changed], specs, call_toy)]

    assert what(both) == []
    half = both.model_copy(update={"perturbations": masked.perturbations})
    assert what(half) == ["it masks ['get_height'] but misses 'get_height', 'add_up'"]
    silent = adding.model_copy(update={"human_answer": None})
    assert what(both.model_copy(update={"missing": (*masked.missing, silent)})) == [
        "no human answer is given for 'add_up'",
        "the human answer does not contain the fact 'sum' (43)",
    ]
