"""Needed tools swapped, and words removed by rules."""

from collections import Counter

from talm_sim.retrieval import Embedder
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.loaded import complete_scenario, tool_names
from talm_sim.tasks.awareness.making.manipulation import replace_all
from talm_sim.tasks.awareness.making.pool import Pool, api_of, pool_of
from talm_sim.tasks.awareness.making.remove import remove_by_rules
from talm_sim.tasks.awareness.making.replace import Skipped, replace_tools
from talm_sim.types import MissingKind, Scenario, Source, YesNo
from tests.tasks.awareness.making.made import BALANCE, STOCK, TOKEN, Words, asked, tool

WORDS: Embedder = Words()
SHARES = tool("QueryShares", "Stock price of a company on a day", ["code"])
HISTORY = tool("QueryHistory", "What happened on a date in the past", ["date"])


def pool_with(*tools: dict[str, object]) -> Pool:
    return pool_of([asked("Hi", tools=tools)], WORDS)


def test_the_nearest_api_that_cannot_serve_takes_the_place() -> None:
    scenario = asked("What was SQ on 1 March?", tools=(BALANCE, STOCK), token="")
    scenario = scenario.model_copy(update={"target": YesNo(gold="yes", relevant=("QueryStock",))})
    changed = replace_tools(scenario, pool_with(TOKEN, SHARES, HISTORY, STOCK, BALANCE))
    assert isinstance(changed, Scenario)
    # SHARES does the same; STOCK and BALANCE are its own.
    assert tool_names(changed) == ("QueryBalance", "QueryHistory")
    assert isinstance(changed.target, YesNo)
    assert (changed.target.gold, changed.target.swapped, changed.target.made_by) == ("no", {"QueryStock": "QueryHistory"}, "rules")
    assert (changed.id, changed.group, changed.source.base) == ("mine.1.replaced", "replaced", "mine.1")
    assert [(one.kind, one.name) for one in changed.missing] == [(MissingKind.TOOL, "QueryStock")]
    assert changed.turns == scenario.turns


def test_two_needed_apis_never_get_the_same_substitute() -> None:
    scenario = complete_scenario(
        "s", [{"role": "user", "content": "Both?"}], [STOCK, SHARES], ["QueryStock", "QueryShares"], Source(name="made")
    )
    changed = replace_tools(scenario, pool_with(STOCK, SHARES, HISTORY, TOKEN))
    assert isinstance(changed, Scenario)
    assert tool_names(changed) == ("QueryHistory", "GetUserToken")


def test_an_api_of_the_same_tool_name_or_reach_is_no_substitute() -> None:
    needed = tool("A_find", "Find a song", tool="A", api="find")
    pool = pool_with(
        needed,
        tool("A_other", "Unlike it", tool="a", api="other"),
        tool("B_find", "Unlike it too", tool="B", api="Find"),
        tool("C_look", "A search engine", tool="C", api="look"),
    )
    assert replace_tools(asked("Sing", tools=(needed,)), pool) == Skipped("mine.1", "no API of the pool is both another one and irrelevant")


def swaps_of(scenarios: list[Scenario]) -> Counter[tuple[str, str]]:
    made: Counter[tuple[str, str]] = Counter()
    for one in replace_all(scenarios, pool_of(scenarios, WORDS)).values():
        assert isinstance(one, Scenario) and isinstance(one.target, YesNo)
        made.update(one.target.swapped.items())
    return made


def asked_for(needed: dict[str, object], times: int, name: str) -> list[Scenario]:
    return [asked("Hi", tools=(needed,)).model_copy(update={"id": f"{name}.{number}"}) for number in range(times)]


def test_no_swap_is_more_than_a_twentieth_of_all() -> None:
    """A model could learn a frequent one: beyond that the next nearest tool takes the place, then the next."""
    others = [tool(f"Tool{number}", f"Word{number}") for number in range(20)]
    scenarios = [
        *asked_for(HISTORY, 80, "often"),
        *(one for number, other in enumerate(others) for one in asked_for(other, 6, f"rare{number}")),
    ]
    made = swaps_of(scenarios)
    assert made.total() == len(scenarios) == 200 and max(made.values()) == 10
    often = {instead: times for (needed, instead), times in made.items() if needed == "QueryHistory"}
    assert set(often.values()) == {10} and len(often) == 8
    nearest = [api.name for api, _ in pool_of(scenarios, WORDS).nearest(api_of(scenarios[0].shown_tools[0], scenarios[0]))]
    assert list(often) == [name for name in nearest if name != "QueryHistory"][:8]
    assert swaps_of(scenarios) == made


def test_the_words_of_an_argument_are_removed_everywhere() -> None:
    scenario = asked("Price of SQ, please.", "On which day?", "The price of SQ on March 14th, 2022.", stock_code="SQ", date="2022-03-14")
    found = [remove_by_rules(scenario, seed) for seed in range(9)]
    made = {one.missing[0].name: one for one in found if isinstance(one, Scenario)}
    assert set(made) == {"stock_code", "date"}
    changed = made["stock_code"]
    assert [message["content"] for turn in changed.turns for message in turn.messages] == [
        "Price, please.",
        "On which day?",
        "The price on March 14th, 2022.",
    ]
    assert [(one.kind, one.value, one.removed_text) for one in changed.missing] == [(MissingKind.ARGUMENT, "SQ", "of SQ ... of SQ")]
    assert isinstance(changed.target, YesNo)
    assert (changed.group, changed.target.gold, changed.target.made_by, changed.source.base) == ("removed", "no", "rules", "mine.1")
    assert check_manipulated(scenario, changed) == []
    assert remove_by_rules(scenario, 5) == remove_by_rules(scenario, 5)


def reason(scenario: Scenario) -> str:
    found = remove_by_rules(scenario, 1)
    assert isinstance(found, Skipped)
    return found.reason


def test_why_nothing_is_removed() -> None:
    broken = "cutting the words of its arguments leaves broken sentences"
    known = "its arguments can still be read elsewhere in the conversation"
    assert reason(asked("SQ", stock_code="SQ")) == broken
    assert reason(asked("What is the price of SQ?", "Of SQ? When?", "Now.", stock_code="SQ")) == known
    assert reason(asked("Price of SQ?", stock_code="AMZN", unknown="SQ")) == "the user says none of its arguments outright"
    assert reason(asked("Price of SQ?", unknown="SQ")) == "its calls require no argument"
    assert reason(asked("Price of SQ?")) == "its calls have no arguments"
    plain = asked("Price of SQ?", stock_code="SQ")
    without = plain.turns[-1].model_copy(update={"gold_calls": ()})
    assert reason(plain.model_copy(update={"turns": (without,)})) == "it has no gold arguments"
    result = {"role": "tool", "content": "{}", "tool_call_id": "c"}
    ended = plain.turns[-1].model_copy(update={"messages": (*plain.turns[-1].messages, result)})
    assert reason(plain.model_copy(update={"turns": (ended,)})) == "it ends with a result, not with the user"
