"""Find whether there is a way out of a fault: proven by making the calls, or predicted after a run from its schedule and the scenario.

Both are one search through the real `Environment`, with the fault armed: the proof has the tools behind it, the prediction what is known of
their answers. What cannot be known without the tools is what a fault does to a part of an answer that the scenario does not name; a
prediction that is given the clean results knows that as well. What a fault gets that asks the tool again is never known: it is taken to strike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

from talm_sim.agent.humans import SimulatedResponder
from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import read_result
from talm_sim.config import RESULT_LIMIT
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpResponse
from talm_sim.scenarios.invention import invent
from talm_sim.tasks.acting.agent_controls import waves_of
from talm_sim.tasks.acting.recovery_search import Search, Way, error_in, is_said, question_for
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.tools_env.perturbations import PERTURBATIONS, PerturbationSpec, open_perturbations, parse_perturbation
from talm_sim.tools_env.routes import answer
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.tool_answers import is_cut
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Event, Fact, Facts, JsonObject, Route, Scenario, ToolCall, ToolEvent, ToolSpec

_T = TypeVar("_T")
AT_ONCE = 16
"""Pairs that are tried at the same time."""
_MOST_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class FaultWay:
    """The way out of one fault in one scenario.

    Attributes:
        fault: The perturbation, as it was written.
        why: Why the fault could not be tried; empty if it was.
    """

    scenario: str
    fault: str
    tool: str
    way: Way
    why: str = ""


def could_recover(
    scenario: Scenario,
    perturb: Sequence[str],
    place: int,
    *,
    seed: int,
    epoch: int,
    specs: Mapping[str, ToolSpec],
    human: str,
    answers: Mapping[str, Any] | None = None,
    responses: Mapping[str, JsonObject] | None = None,
    others: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    result_limit: int = RESULT_LIMIT,
) -> Way:
    """Return the way out of a fault that an episode had, without calling a tool; `.exists` says whether there was one.

    It is about the fault alone: of an agent that makes the gold calls, whatever the user left out. All of the run's perturbations are armed,
    as they were drawn for this episode, so that the same call again helps exactly where the schedule lets it through.

    Args:
        scenario: What the agent was asked.
        perturb: The perturbations of the run; the scenario's own come before them.
        place: The fault's place among all these, from 0, as in `PerturbationLog.place`.
        seed: The run's seed.
        epoch: The episode's, from 1.
        specs: The tools of the run, by name.
        human: Who could be asked: the run's responder, or `none`.
        answers: What tools answer without a fault, as `clean_answers` reads it from a run. For a gold call without one, an answer that holds
            its facts and nothing else stands in: enough for an error, not for a fault that changes a part of an answer.
        responses: JSON Schemas of the tools' answers, where they are known.
        others: As of `Environment`.
        result_limit: As of `Environment`.
    """
    known = _KnownAnswers(scenario, specs, answers or {}, responses or {})

    async def predict() -> Way:
        try:
            environment = Environment(
                Tools([known]), perturb=tuple(perturb), seed=seed, clock=VirtualClock, result_limit=result_limit, others=others, writing=True
            )
            return await _find_way(scenario, environment, place, epoch, human=human != "none")
        except PrerequisiteError:
            return Way.NOT_APPLICABLE

    return _run_to_end(predict)


def clean_answers(events: Iterable[Event]) -> dict[str, Any]:
    """Return what tools answered, or would have answered without the faults, by `call_key`; what is an error or was cut is not known."""
    found: dict[str, Any] = {}
    for event in events:
        if isinstance(event, ToolEvent):
            fired = [log for log in event.perturbations if log.fired and log.injected is not None]
            text = fired[0].replaced or "" if fired else event.result if event.ok else ""
            value = read_result(text) if text and not is_cut(text) else None
            if value is not None and not error_in(text):
                found.setdefault(call_key(event.name, event.arguments), value)
    return found


def _run_to_end(make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine that waits for nothing, also where an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    at_once = make()
    try:
        at_once.send(None)
    except StopIteration as end:
        return cast("_T", end.value)
    at_once.close()  # a fault of the user's waits
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(lambda: asyncio.run(make())).result()


def default_faults() -> tuple[list[str], dict[str, str]]:
    """Return every registered fault of tools with its default options; and those that have none or cannot be imported, with the reason."""
    found, left_out = [], {}
    for name in PERTURBATIONS.names():
        try:
            if PERTURBATIONS.get(name).family != "model":
                open_perturbations([name], seed=0, episode="")
                found.append(name)
        except PrerequisiteError as err:
            left_out[name] = str(err)
    return found, left_out


def gold_arguments(scenarios: Iterable[Scenario]) -> dict[str, list[Mapping[str, Any]]]:
    """Return each tool's arguments in the gold calls of some scenarios, each once, in a fixed order."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for scenario in scenarios:
        for call in scenario.gold_calls:
            found.setdefault(call.name, {}).setdefault(canonical_json(call.arguments), call.arguments)
    return {tool: [every[text] for text in sorted(every)] for tool, every in found.items()}


async def prove_ways(
    tools: Tools,
    scenarios: Sequence[Scenario],
    faults: Sequence[str],
    *,
    writing: bool = False,
    seed: int = 0,
    on_begin: Callable[[int], None] = lambda total: None,
    on_proven: Callable[[FaultWay], None] = lambda found: None,
) -> list[FaultWay]:
    """Try every fault on every tool of each scenario's gold calls, by making the calls.

    Returns:
        One result for each scenario, fault and tool, in order.
    """
    others = gold_arguments(scenarios)
    pairs = [
        (scenario, fault, tool)
        for scenario in scenarios
        if isinstance(scenario.target, Facts) and scenario.gold_calls
        for fault in faults
        for tool in _struck_tools(scenario, fault)
    ]
    on_begin(len(pairs))
    environments: dict[str, Environment | str] = {}
    gate = asyncio.Semaphore(AT_ONCE)

    def open_environment(text: str) -> Environment | str:
        if text not in environments:
            try:
                environments[text] = Environment(tools, perturb=(text,), seed=seed, clock=VirtualClock, others=others, writing=writing)
            except PrerequisiteError as err:
                environments[text] = str(err)
        return environments[text]

    async def prove(scenario: Scenario, fault: str, tool: str) -> FaultWay:
        changing = [name for name in _called_tools(scenario) if name in tools.specs and not (writing or tools.only_reads(name))]
        environment = f"{changing[0]} may change data; add --writing" if changing else open_environment(_aim(fault, tool))
        if isinstance(environment, str):
            found = FaultWay(scenario.id, fault, tool, Way.NOT_APPLICABLE, environment)
        else:
            async with gate:
                found = await _prove(scenario, environment, fault, tool)
        on_proven(found)
        return found

    return list(await asyncio.gather(*(prove(*pair) for pair in pairs)))


async def _prove(scenario: Scenario, environment: Environment, fault: str, tool: str) -> FaultWay:
    try:
        way = await _find_way(scenario, environment, len(scenario.perturbations), 1, human=True)
    except (PrerequisiteError, ProviderError) as err:
        return FaultWay(scenario.id, fault, tool, Way.NOT_APPLICABLE, str(err))
    return FaultWay(scenario.id, fault, tool, way)


def _called_tools(scenario: Scenario) -> list[str]:
    calls = (*scenario.gold_calls, *(call for calls in scenario.alternatives.values() for call in calls))
    return list(dict.fromkeys(call.name for call in calls))


def _struck_tools(scenario: Scenario, fault: str) -> list[str]:
    """Return the tools of the gold calls that a fault may strike."""
    aimed = parse_perturbation(fault).options.get("tool")
    return [tool for tool in dict.fromkeys(call.name for call in scenario.gold_calls) if aimed in (None, "", tool)]


def _aim(fault: str, tool: str) -> str:
    """Return a fault that strikes one tool."""
    spec = parse_perturbation(fault)
    return str(PerturbationSpec(spec.name, {**spec.options, "tool": tool}))


async def _find_way(scenario: Scenario, environment: Environment, place: int, epoch: int, *, human: bool) -> Way:
    """Make the calls of the search with the environment's faults armed, and return the way to the facts that the one at `place` took away."""
    episode = environment.open(scenario, epoch=epoch)
    try:
        search = Search(scenario, episode.tools, waves_of(scenario))
        results: dict[str, str] = {}
        events: dict[str, ToolEvent] = {}
        for turn in range(_MOST_ROUNDS):
            if not (attempts := search.next(results)):
                break
            for one in attempts:
                call = ToolCall(id=one.key, name=one.name, arguments=one.arguments)
                events[one.key] = await episode.call(call, turn)
                results[one.key] = events[one.key].result
    finally:
        await episode.aclose()
    struck = [fact for fact in search.facts if _is_struck(fact, search, episode, events, place, environment.specs)]
    if not struck:
        return Way.NOT_NEEDED if _may_strike(episode, events, place) else Way.NOT_APPLICABLE
    silent = episode.perturbations[place].silent
    ways = [await _way_to(fact, search, results, environment, silent=silent, human=human) for fact in struck]
    return max(ways, key=list(Way).index)


def _is_struck(
    fact: Fact, search: Search, episode: EpisodeTools, events: Mapping[str, ToolEvent], place: int, specs: Mapping[str, ToolSpec]
) -> bool:
    """Return whether a fact rests on a gold call that a fault changed, or on a tool that it hid or changed."""
    event = events.get(str(fact.call))
    if event is not None and any(log.place == place and log.fired for log in event.perturbations):
        return True
    tool, aimed = search.tool_of(fact), episode.perturbations[place].options.tool
    if not episode.logs()[place].fired or (aimed and aimed != tool):
        return False
    offered = next((spec for spec in episode.tools if spec.name == tool), None)
    return tool in search.scenario.tools and offered != specs.get(tool)


def _may_strike(episode: EpisodeTools, events: Mapping[str, ToolEvent], place: int) -> bool:
    """Return whether a fault watched a tool or a call, and did not merely find that it does not apply."""
    return episode.logs()[place].armed > 0 or any(log.place == place and log.armed for event in events.values() for log in event.perturbations)


async def _way_to(fact: Fact, search: Search, results: Mapping[str, str], environment: Environment, *, silent: bool, human: bool) -> Way:
    if (way := search.way_to(fact, results)) is not None:
        # Nothing says that a silent fault's result is wrong: who makes the call again makes it to verify.
        return Way.READ if silent and way is Way.AGAIN else way
    tool = search.tool_of(fact)
    if human and tool:
        lost = [one for one in search.facts if search.tool_of(one) == tool and not search.is_found(one, results)]
        person = SimulatedResponder(search.scenario, environment.specs, stands_in=[tool])
        reply = await person(question_for(tool, lost), 1)
        if is_said(reply.answer, fact):
            return Way.ASK
    return Way.NONE


class _KnownAnswers:
    """The tools of a scenario: a gold call is answered as it was, or with its facts; any other call with other values of the same form.

    Args:
        answers: What tools really answered, by `call_key`.
        responses: JSON Schemas of the tools' answers, where they are known.
    """

    name = ""
    not_taken: Sequence[NotTaken] = ()

    def __init__(
        self, scenario: Scenario, specs: Mapping[str, ToolSpec], answers: Mapping[str, Any], responses: Mapping[str, JsonObject]
    ) -> None:
        self.specs = specs
        self.routes = _routes(tuple(specs))
        self.responses = responses
        self._answers = dict(answers)
        self._other: dict[str, Any] = {}
        for index, call in enumerate(scenario.gold_calls):
            own = [fact for fact in scenario.facts if fact.call == index]
            known = None if call.result is None else read_result(call.result)
            self._answers.setdefault(call_key(call.name, call.arguments), _document(own) if known is None else known)
            self._other.setdefault(call.name, _document([fact.model_copy(update={"value": invent({}, fact.value)}) for fact in own]))
            for other in scenario.alternatives.get(call.name, ()):
                self._answers.setdefault(call_key(other.name, other.arguments), {fact.name: fact.value for fact in own})

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Answer a call."""
        return answer(self._answers.get(call_key(tool, arguments), self._other.get(tool, {})))

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


@lru_cache(maxsize=8)  # a run has the same tools for each of its faults
def _routes(tools: tuple[str, ...]) -> dict[str, Route]:
    return {name: Route(path=f"/{number}") for number, name in enumerate(tools)}


def call_key(tool: str, arguments: Mapping[str, object]) -> str:
    """Return a text that equal calls share."""
    return canonical_json([tool, arguments])


def _document(facts: Sequence[Fact]) -> Any:
    """Return the smallest JSON value that has each fact at its place."""
    document: Any = {}
    for fact in facts:
        document = _put(document, [part.replace("~1", "/").replace("~0", "~") for part in fact.pointer.split("/")[1:]], fact.value)
    return document


def _put(into: Any, path: Sequence[str], value: Any) -> Any:
    """Return a value with another one put in at a path, a number of which is a place in a list."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if first.isdecimal() and len(first) <= 4 and not (isinstance(into, dict) and into):
        items = list(into) if isinstance(into, list) else []
        items += [{} for _ in range(int(first) + 1 - len(items))]
        items[int(first)] = _put(items[int(first)], rest, value)
        return items
    fields = dict(into) if isinstance(into, dict) else {}
    fields[first] = _put(fields.get(first, {}), rest, value)
    return fields
