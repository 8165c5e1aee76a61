from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from talm_sim.judges.base import JudgeContext
from talm_sim.judges.reference import ReferenceJudge, is_gold_call
from talm_sim.types import Episode, Fact, Facts, GoldCall, Missing, MissingKind, Scenario, Target, Termination, ToolEvent, Turn

ELEVATION = Fact(name="elevation", value=39)
NAME = Fact(name="name", value="Noi Bai")
CALL = GoldCall(name="airport_info", arguments={"iata": "HAN", "limit": 1})


def scenario(target: Target | None = None, *calls: GoldCall) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "How high is Hanoi airport?"},), gold_calls=calls)
    return Scenario(id="s", group="perfect", turns=(turn,), target=target)


def event(ok: bool = True, name: str = "airport_info", **arguments: object) -> ToolEvent:
    return ToolEvent(turn=0, call_id="1", name=name, arguments=arguments or {"iata": " han ", "limit": 1.0, "extra": [1]}, ok=ok)


def episode(answer: str, *events: ToolEvent, termination: Termination = Termination.ANSWERED) -> Episode:
    return Episode(id="s", scenario_id="s", group="perfect", model="m/m", events=events, answer=answer, termination=termination)


async def test_a_full_answer_with_its_calls_passes() -> None:
    verdict = await ReferenceJudge(JudgeContext())(episode("Noi Bai, 39 ft.", event()), scenario(Facts(required=(ELEVATION, NAME)), CALL))
    assert verdict.value is True
    assert verdict.judge == "reference" and verdict.judge_config_digest
    assert verdict.explanation == "all facts (2) are in the answer and all gold calls (1) were made"


async def test_the_explanation_names_everything_that_lacks() -> None:
    verdict = await ReferenceJudge(JudgeContext())(episode("It is 40 ft.", event(ok=False)), scenario(Facts(required=(ELEVATION, NAME)), CALL))
    assert verdict.value is False
    assert verdict.explanation == (
        "fact 'elevation' (39) is not in the answer; fact 'name' (Noi Bai) is not in the answer; "
        "gold call airport_info(iata='HAN', limit=1) was made and failed"
    )


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([], "was not made"),
        ([("http_500", 500)], "was made and failed (http_500)"),
        ([("http_500", 500)] * 3, "was made 3 times and failed each time (http_500)"),
        ([("http_500", 500), ("timeout", None), ("http_500", 500)], "was made 3 times and failed each time (http_500, timeout)"),
    ],
)
def test_a_gold_call_that_was_made_and_failed_is_told_from_one_that_was_not(events: list[tuple[str, int | None]], said: str) -> None:
    other = ToolEvent(turn=0, call_id="o", name="airport_info", arguments={"iata": "SGN", "limit": 1}, ok=False, error="http_404")
    made = [event(ok=False).model_copy(update={"error": error, "status": status}) for error, status in events]
    value, explanation = ReferenceJudge(JudgeContext()).judge(episode("39", other, *made), scenario(Facts(required=()), CALL))
    assert (value, explanation) == (False, f"gold call airport_info(iata='HAN', limit=1) {said}")


@pytest.mark.parametrize(
    ("answer", "events"),
    [("Noi Bai, 39 ft.", ()), ("Noi Bai, 39 ft.", (event(ok=False),)), ("Noi Bai", (event(),)), ("", (event(),))],
)
async def test_a_lacking_call_or_fact_fails(answer: str, events: tuple[ToolEvent, ...]) -> None:
    assert (await ReferenceJudge(JudgeContext())(episode(answer, *events), scenario(Facts(required=(ELEVATION, NAME)), CALL))).value is False


def test_each_of_equal_gold_calls_is_to_be_made() -> None:
    twice, judge = scenario(Facts(required=()), CALL, CALL), ReferenceJudge(JudgeContext())
    judged = [judge.judge(episode("39", *[event()] * made), twice) for made in (1, 2)]
    assert judged[0] == (False, "gold call airport_info(iata='HAN', limit=1) was made 1 of 2 times") and judged[1][0] is True


async def test_a_skipped_episode_fails_and_an_unfinished_one_is_not_judged() -> None:
    target = scenario(Facts(required=(ELEVATION,)))
    assert (await ReferenceJudge(JudgeContext())(episode("", termination=Termination.SKIPPED), target)).value is False
    verdict = await ReferenceJudge(JudgeContext())(episode("39", termination=Termination.REPLAY_MISS), target)
    assert verdict.value is None and not verdict.left_open and "replay_miss" in verdict.explanation


async def test_the_verdict_says_that_the_rules_left_the_answer_open() -> None:
    verdict = await ReferenceJudge(JudgeContext())(episode("elevation 39. elevation: 40.", event()), scenario(Facts(required=(ELEVATION,))))
    assert verdict.value is None and verdict.left_open and verdict.explanation.startswith("undecided: fact 'elevation' (39)")


async def test_a_scenario_without_facts_is_not_applicable() -> None:
    verdict = await ReferenceJudge(JudgeContext())(episode("39"), scenario(None))
    assert verdict.value is None and verdict.explanation.startswith("not applicable")


@pytest.mark.parametrize(
    ("gold", "made", "same"),
    [
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, False),
        ({"n": True}, {"n": True}, True),
        ({"n": 1}, {"n": "1"}, False),
        ({"s": "Ha Noi"}, {"s": "  ha noi "}, True),
        ({"l": ["A", 1]}, {"l": ["a", 1.0]}, True),
        ({"l": ["A", 1]}, {"l": ["a"]}, False),
        ({"d": {"k": "V"}}, {"d": {"k": "v"}}, True),
        ({"d": {"k": "V"}}, {"d": {"k": "v", "x": 1}}, False),
        ({"n": None}, {"n": None}, True),
        ({"n": None}, {}, False),
        ({}, {"anything": 1}, True),
    ],
)
def test_arguments_compare_by_value(gold: dict[str, object], made: dict[str, object], same: bool) -> None:
    call = ToolEvent(turn=0, call_id="1", name="t", arguments=made, ok=True)
    assert is_gold_call(scenario(None, GoldCall(name="t", arguments=gold)), 0, call) is same


KRONA = GoldCall(name="rate", arguments={"currency": "krona", "country": "Iceland"})


@pytest.mark.parametrize(
    ("made", "result", "same"),
    [
        ({"currency": "ISK"}, '{"rate": 90.31, "listed": true}', True),
        ({"currency": "ISK"}, '{"rate": 90.32, "listed": true}', False),
        ({"currency": "ISK"}, '{"rate": 90.31}', False),
        ({"currency": "ISK"}, "not JSON", False),
        ({"currency": "krona", "country": "ICELAND"}, "{}", True),
    ],
)
def test_a_value_may_be_written_otherwise_where_the_call_returns_the_facts(made: dict[str, object], result: str, same: bool) -> None:
    facts = (Fact(name="rate", value=90.31, call=0, pointer="/rate"), Fact(name="listed", value=True, call=0, pointer="/listed"))
    call = ToolEvent(turn=0, call_id="1", name="rate", arguments=made, ok=True, result=result)
    asked = scenario(Facts(required=facts), KRONA)
    assert is_gold_call(asked, 0, call) is same
    value, _ = ReferenceJudge(JudgeContext()).judge(episode("Yes, it is listed, at 90.31.", call), asked)
    assert value is same
    assert not is_gold_call(scenario(Facts(required=facts[1:]), KRONA), 0, call.model_copy(update={"arguments": {}})), "true is no proof"
    missing = asked.model_copy(update={"missing": (Missing(kind=MissingKind.ARGUMENT, name="currency", value="krona"),)})
    assert is_gold_call(missing, 0, call) is ("country" in made), "a guess is not the user's value"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_a_call_holds_its_own_arguments_whatever_else_it_holds(gold: dict[str, object], more: dict[str, object]) -> None:
    made = ToolEvent(turn=0, call_id="1", name="t", arguments=more | gold, ok=True)
    asked = scenario(Facts(required=()), GoldCall(name="t", arguments=gold))
    assert is_gold_call(asked, 0, made) and not is_gold_call(asked, 0, made.model_copy(update={"name": "u"}))
    judge = ReferenceJudge(JudgeContext())
    assert judge.judge(episode("", made), asked)[0] is True
    assert judge.judge(episode("", made.model_copy(update={"ok": False})), asked)[0] is False


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5, unique=True))
def test_an_answer_passes_exactly_when_every_fact_stands(values: list[int]) -> None:
    target = scenario(Facts(required=tuple(Fact(name=f"f{v}", value=v) for v in values)))
    judge = ReferenceJudge(JudgeContext())
    assert judge.judge(episode(" and ".join(map(str, values))), target)[0] is True
    assert judge.judge(episode(" and ".join(map(str, values[1:]))), target)[0] is False


CUSTOMER = ("customer_id", "C-101", "Find a customer's record by e-mail address. The e-mail is ada@brook.test. What is the customer id?")
BOOKING = ("booking_id", "B-1", "List the bookings of a day. The day is 2025-03-10. What is the booking id?")
SLOT = ("slot_id", "S-14", "List the free slots of a day. The day is 2026-03-11. What is the slot id?")


@pytest.mark.parametrize(
    ("asked", "passes", "answer"),
    [
        *(
            (CUSTOMER, True, one)
            for one in (
                'Here is what I found: {"customer_id": "C-101", "name": "Ada Brook", "email": "ada@brook.test", "bike": "road"}',
                "{'customer_id': 'C-101', 'name': 'Ada Brook', 'email': 'ada@brook.test', 'bike': 'road'}",
                "customer id: C-101; name: Ada Brook; e-mail: ada@brook.test",
                "customer id: C-101\nname: Ada Brook\nemail: ada@brook.test\nbike: road",
                "- **Customer Id**: C-101\n- **Name**: Ada Brook\n- **Email**: ada@brook.test",
                "Customer: Ada Brook\nCustomer ID: C-101\nEmail: ada@brook.test",
                "| Field | Value |\n|---|---|\n| customer_id | C-101 |\n| name | Ada Brook |",
                "I found Ada Brook (customer ID: C-101), who rides a road bike.",
                "Ada Brook's customer id is C-101. Her e-mail is ada@brook.test.",
                "Ada Brook, C-101.",
                "Ada Brook (C-101) rides a road bike.",
                '{"ticket_id": "T-502", "customer_id": "C-101", "status": "ready for pickup"}',
            )
        ),
        (BOOKING, True, "There is one booking that day, B-1, a tune-up for Ben."),
        (SLOT, True, "slot id: S-14\nday: 2026-03-11\nhour: 15\nfree: True"),
        (("capital", "Paris", "What is the capital of the place in the North?"), True, "city: Lyon; capital: Paris; region: North"),
        (CUSTOMER, None, '{"customer_id": "C-102", "ticket_id": "C-101"}'),
        (CUSTOMER, None, '{"ticket_id": "C-101", "customer_id": null}'),
        (CUSTOMER, None, "name: C-101; customer id: C-102"),
        (CUSTOMER, None, '{"ticket_id": "C-101", "name": "Ada Brook"}'),
        (("elevation", 40, "How high is it?"), None, "elevation 39. elevation: 40."),
        (CUSTOMER, False, "customer id: C-102\nname: Ada Brook"),
    ],
)
def test_what_another_key_names_is_no_rival_and_no_answer(asked: tuple[str, object, str], passes: bool | None, answer: str) -> None:
    name, value, request = asked
    turn = Turn(messages=({"role": "user", "content": request},))
    target = Facts(required=(Fact.model_validate({"name": name, "value": value}),))
    found, why = ReferenceJudge(JudgeContext()).judge(episode(answer), Scenario(id="s", group="perfect", turns=(turn,), target=target))
    assert found is passes, why
