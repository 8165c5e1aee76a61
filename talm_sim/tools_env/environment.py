"""The environment: the tools one episode can reach, with perturbations and recording.

A call passes validate -> perturbation.before -> source or cassette -> perturbation.after -> result. Recordings are below the
perturbations, so one recording serves every ablation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import read_result
from talm_sim.config import RESULT_LIMIT
from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.recordings import Player
from talm_sim.tools_env.argument_check import validate_arguments
from talm_sim.tools_env.asking_tools import Again, CallPaused, PersonClock, call_in_rounds
from talm_sim.tools_env.clock import Clock, RealClock
from talm_sim.tools_env.handed_answers import PlayedCall
from talm_sim.tools_env.perturbations import Call, Outcome, Perturbation, ReadAnswer, narrow_tools, open_perturbations
from talm_sim.tools_env.routes import NOT_EXECUTABLE, fault_of, fill_path, states_of
from talm_sim.tools_env.sources.base import NativeTool
from talm_sim.tools_env.strikes import Strikes
from talm_sim.tools_env.tool_answers import read_answer, refusal_text
from talm_sim.tools_env.toolbox import Tools, ToolSession
from talm_sim.types import Approval, Event, Origin, PerturbationLog, Scenario, ToolCall, ToolEvent, ToolSpec, UnparsableCall

log = logging.getLogger(__name__)

_UNCOUNTED = ("unknown_tool", "unparsable_arguments", "invalid_arguments")
"""Errors of calls that were never made."""


class Environment:
    """The tools of a run.

    Args:
        tools: Every tool there is.
        perturb: Perturbations of the whole run, as written on the command line; a scenario's own come first.
        seed: Seed of the perturbations' chances.
        clock: Makes what waits, in one call, for slow and stuck tools.
        result_limit: Characters of a tool's result that the model reads.
        others: Tool to the arguments with which gold calls of any scenario call it, in a fixed order: where wrong records come from.
        writing: Whether faults may also let calls of tools that may change data through, and repeat them.
        approve: The tools that a person approves each call of.
        examples: Whether the tools' schemas keep their examples, which are values to guess with.
    """

    def __init__(
        self,
        tools: Tools,
        *,
        perturb: tuple[str, ...] = (),
        seed: int = 0,
        clock: Callable[[], Clock] = RealClock,
        result_limit: int = RESULT_LIMIT,
        others: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        writing: bool = False,
        approve: frozenset[str] = frozenset(),
        examples: bool = True,
    ) -> None:
        self.tools = tools
        self.specs: Mapping[str, ToolSpec] = tools.specs if examples else {name: _without_examples(one) for name, one in tools.specs.items()}
        """The tools, by name."""
        self.perturb = perturb
        self.seed = seed
        self.clock = clock
        self.result_limit = result_limit
        self.others = others or {}
        self.writing = writing
        self.approve = approve
        self.kept: dict[str, ToolSession] = {}
        """What waiting episodes keep of their own, by episode."""
        for perturbation in open_perturbations(perturb, seed=seed, episode=""):
            if (tool := perturbation.options.tool) and (why := self._explain_refusal(perturbation, tool)):
                raise PrerequisiteError(f"--perturb {perturbation.spec}: {why}")

    def _explain_refusal(self, perturbation: Perturbation, tool: str) -> str:
        """Say why a perturbation of one tool can never fire; empty where it may."""
        if tool not in self.specs:
            return self.tools.explain_unknown(tool)
        lacks = perturbation.lacks(self.specs[tool], self.tools.response_schema(tool), self.others.get(tool, ()))
        if lacks:
            return f"not applicable, as {tool} has {lacks}; choose another tool or fault."
        if perturbation.watches_calls and not perturbation.answers and not self.may_repeat(tool):
            return f"{tool} may change data, and this fault lets its calls through; add --writing, or declare it read-only."
        return ""

    def may_repeat(self, tool: str) -> bool:
        """Return whether a fault may let a call through, so that the agent may repeat it: it changes nothing, or the user allows it."""
        return self.writing or self.tools.only_reads(tool)

    def open(self, scenario: Scenario, *, epoch: int = 1, player: Player | None = None, state: Mapping[str, Any] | None = None) -> EpisodeTools:
        """Open the tools of one episode.

        Args:
            scenario: Names the tools and its own perturbations.
            epoch: Counts from 1; perturbations draw other chances in each.
            player: The scenario's tool recording; None for purely live calls.
            state: What `EpisodeTools.state` returned when the episode paused.

        Raises:
            PrerequisiteError: The scenario names a tool that does not exist.
        """
        if unknown := [name for name in scenario.tools if name not in self.specs]:
            raise PrerequisiteError(f"scenario {scenario.id}: {self.tools.explain_unknown(unknown[0])}")
        episode = f"{scenario.id}@{epoch}"
        perturbations = open_perturbations(scenario.perturbations + self.perturb, seed=self.seed, episode=episode)
        tools = narrow_tools(perturbations, [self.specs[name] for name in scenario.tools], self.specs)
        opened = EpisodeTools(self, tools, perturbations, player, episode, scenario.start)
        if state:
            opened.restore(state)
        return opened

    async def aclose(self) -> None:
        """Close what waiting episodes have of their own."""
        kept, self.kept = list(self.kept.values()), {}
        await asyncio.gather(*(session.aclose() for session in kept))


def _without_examples(spec: ToolSpec) -> ToolSpec:
    def walk(schema: Any) -> Any:
        if isinstance(schema, list):
            return [walk(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        kept = {key: value for key, value in schema.items() if key not in {"example", "examples"}}
        return {key: {name: walk(one) for name, one in value.items()} if key == "properties" else walk(value) for key, value in kept.items()}

    return spec.model_copy(update={"parameters": walk(spec.parameters)})


class EpisodeTools:
    """The tools of one episode; made by `Environment.open`."""

    def __init__(
        self,
        environment: Environment,
        tools: list[ToolSpec],
        perturbations: list[Perturbation],
        player: Player | None,
        episode: str,
        start: Mapping[str, Any],
    ) -> None:
        self.tools = tools
        self._by_name = {tool.name: tool for tool in tools}
        self._environment = environment
        self.perturbations = perturbations
        self._player = player
        self._episode = episode
        self._calls = 0
        self._made: Counter[str] = Counter()
        self._earlier: list[ReadAnswer] = []
        self._slept: dict[int, float] = {}
        self._session = environment.tools.open(episode, start)

    @property
    def names(self) -> Collection[str]:
        """Names of all tools, visible or not."""
        return {**self._environment.specs, **self._by_name}

    def may_call_again(self, name: str) -> bool:
        """Return whether a call of this tool may be made twice: it only reads, or changes what is the episode's own."""
        tools = self._environment.tools
        return name in tools.routes and (tools.only_reads(name) or bool(tools.routes[name].state))

    @property
    def slept(self) -> float:
        """Seconds of pretended waiting so far: calls of one turn wait together, turns one after the other."""
        return sum(self._slept.values())

    async def call(self, call: ToolCall | UnparsableCall, turn: int, again: Again | None = None, *, pauses: bool = False) -> ToolEvent:
        """Make a call as `play` does, and return what is kept of it."""
        return (await self.play(call, turn, again, pauses=pauses)).event

    async def play(self, call: ToolCall | UnparsableCall, turn: int, again: Again | None = None, *, pauses: bool = False) -> PlayedCall:
        """Execute one call. The model's mistakes and the tools' failures come back as events with `ok` False.

        Raises:
            CallPaused: The tool asks the person first, and the call `pauses`: it is to be made `again`. Else the person is asked at once.
            CassetteMissError: In replay, the call was not recorded.
            ProviderError: The live tools cannot be reached.
        """
        started, slept, person = time.perf_counter() - (again.kept["seconds"] if again else 0.0), 0.0, PersonClock()
        arguments: Mapping[str, Any] = call.arguments if isinstance(call, ToolCall) else {}
        origin, name, states = Origin.PERTURBED, call.name, ("", "")
        logs: tuple[PerturbationLog, ...] = ()
        writes, outcome, failed = False, None, None
        try:
            spec, arguments = self._check(call)
            name = spec.name
            writes = not self._environment.tools.only_reads(name)
            numbered = self._make_call(spec, arguments, call, again)
            try:
                with person.watch():
                    outcome, origin, logs, states = await self._send(numbered, again, pauses=pauses)
            except CallPaused as err:
                err.kept["seconds"] = time.perf_counter() - started - person.seconds + numbered.clock.slept
                raise
            finally:
                slept = numbered.clock.slept
                self._slept[turn] = max(slept, self._slept.get(turn, 0.0))
            result = read_answer(outcome, self._environment.result_limit)
            if self.perturbations:
                self._earlier.append(ReadAnswer(name, outcome.value, arguments))
        except ToolError as err:
            result, failed = refusal_text(err)[0], err
        event = ToolEvent(
            turn=turn,
            call_id=call.id,
            name=name,
            called_as="" if name == call.name else call.name,
            arguments=arguments,
            result=result,
            ok=failed is None,
            status=None if outcome is None else outcome.status,
            error="" if failed is None else failed.code,
            perturbations=logs,
            origin=origin,
            writes=writes,
            state_before=states[0],
            state_after=states[1],
            elapsed_ms=(time.perf_counter() - started - person.seconds + slept) * 1e3,
        )
        return PlayedCall(event, outcome, failed)

    @property
    def guarded(self) -> bool:
        """Whether calls of any tool wait for a person."""
        return bool(self._environment.approve)

    def approval_of(self, call: ToolCall) -> Approval | None:
        """Return what a person is asked about a call before it runs.

        None for one that waits for nobody, also because it would be refused all the same: its tool or its arguments are wrong.
        """
        environment = self._environment
        if not environment.approve:
            return None
        try:
            name = self._check(call)[0].name
        except ToolError:
            return None
        if name not in environment.approve:
            return None
        shown, again = self._by_name[call.name], self.may_call_again(name)
        asked: dict[str, Any] = {"description": shown.description, "parameters": shown.parameters, "whole": shown.whole}
        return Approval(name=call.name, arguments=call.arguments, repeatable=again, **asked)

    def _check(self, call: ToolCall | UnparsableCall) -> tuple[ToolSpec, Mapping[str, Any]]:
        """Return the tool that a call means and its arguments, if they fit the tool."""
        if call.name not in self._by_name:
            raise ToolError(f"There is no tool '{call.name}'.", "unknown_tool")
        if isinstance(call, UnparsableCall):
            raise ToolError(f"The arguments could not be read: {call.reason}.", "unparsable_arguments")
        name, arguments = self._translate(call.name, call.arguments)
        spec = self._by_name[call.name] if name == call.name else self._environment.specs[name]
        route = self._environment.tools.routes[name]
        if route.checks:
            validate_arguments(spec, arguments)
        fill_path(route, arguments)
        return spec, arguments

    def _translate(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        for one in reversed(self.perturbations):
            name, arguments = one.translate(name, arguments)
        return name, arguments

    def native(self, name: str) -> NativeTool | None:
        """Return the LangChain tool that the agent sees under a name; None for one that is no such tool."""
        real, tools = self.real_name(name), self._environment.tools
        found = tools.native(real)
        return found and found._replace(same=self._by_name.get(name) == tools.specs[real])

    def real_name(self, name: str) -> str:
        """Return the name that a tool has in its source, where a perturbation gave it the other one that the agent sees."""
        return self._translate(name, {})[0]

    def _make_call(self, spec: ToolSpec, arguments: Mapping[str, Any], written: ToolCall | UnparsableCall, again: Again | None) -> Call:
        """Give a call its number, and give the perturbations what they may need to damage it."""
        environment, clock, name = self._environment, self._environment.clock(), spec.name
        if again is None:
            self._calls += 1
            self._made.update((name, same := f"{name} {canonical_json(arguments)}"))
        number, of_tool, made = again.kept["numbers"] if again else (self._calls, self._made[name], self._made[same])
        changed = isinstance(written, ToolCall) and written.arguments != arguments

        async def send(others: Mapping[str, Any]) -> Outcome:
            response, _ = await call_in_rounds(lambda: self._session.call(name, others, self._player))
            return Outcome.of(response)

        return Call(
            spec,
            arguments,
            number,
            environment.specs,
            clock,
            self._episode,
            of_tool=of_tool,
            repeated=made - 1,
            written=written.arguments if changed and isinstance(written, ToolCall) else None,
            response=environment.tools.response_schema(name),
            others=environment.others.get(name, ()),
            earlier=[one for one in self._earlier if one.tool != name],
            send=send,
        )

    async def _send(
        self, call: Call, again: Again | None, *, pauses: bool
    ) -> tuple[Outcome, Origin, tuple[PerturbationLog, ...], tuple[str, str]]:
        """Send a checked call through the perturbations and the wire.

        Returns:
            The outcome, where it came from, what each perturbation that watched it did, and the state before and after it, if it is known.
        """
        environment = self._environment
        reads = environment.may_repeat(call.spec.name)
        strikes = Strikes(call, self.perturbations, environment.result_limit, reads=reads, logs=again.kept["logs"] if again else ())
        if again is None and (answer := await strikes.answer()) is not None:
            return answer, Origin.PERTURBED, strikes.logs(), ("", "")
        try:
            make = partial(self._session.call, call.spec.name, call.arguments, self._player)
            response, origin = await call_in_rounds(make, again, pauses=pauses)
        except CallPaused as err:
            numbers = (call.number, call.of_tool, call.repeated + 1)
            raise CallPaused(err.forms, err.kept | {"numbers": numbers, "logs": strikes.logs()}) from None
        except TimeoutError:
            return Outcome(None, error="timeout"), Origin.LIVE, strikes.logs(), ("", "")
        if fault_of(response) == NOT_EXECUTABLE:  # nothing came back that could be damaged
            return Outcome(None, error=NOT_EXECUTABLE), origin, strikes.logs(), ("", "")
        outcome = await strikes.damage(Outcome.of(response))
        return outcome, origin, strikes.logs(), states_of(response)

    def logs(self) -> tuple[PerturbationLog, ...]:
        """Return what each perturbation did to the list of tools and to the model; what it did to calls is in their events."""
        return tuple(one.log(place) for place, one in enumerate(self.perturbations))

    def state(self) -> dict[str, Any]:
        """Return counts, as JSON, to be kept while the episode waits for a human."""
        counts = [[one.armed, one.fired, one.seen, one.not_applicable] for one in self.perturbations]
        return {"calls": self._calls, "made": dict(self._made), "counts": counts, "changes": self._session.changes}

    def keep(self) -> None:
        """Keep what the episode has of its own while it waits for a human."""
        self._environment.kept[self._episode] = self._session

    async def aclose(self) -> None:
        """Close what the episode has of its own."""
        await self._session.aclose()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._session = self._environment.kept.pop(self._episode, self._session)
        self._session.changes = state.get("changes", "")
        self._calls = state["calls"]
        self._made = Counter(state["made"])
        for one, counts in zip(self.perturbations, state["counts"], strict=True):
            one.armed, one.fired, one.seen, one.not_applicable = counts

    def recall(self, events: Iterable[Event]) -> None:
        """Count the calls of a process that ended before it could keep `state`; only the events show what happened."""
        calls = [event for event in events if isinstance(event, ToolEvent) and event.error not in _UNCOUNTED]
        self._earlier = [
            ReadAnswer(event.name, read, event.arguments) for event in calls if event.ok and (read := read_result(event.result)) is not None
        ]
        if len(calls) > self._calls:
            self._calls = len(calls)
            self._made = Counter(key for event in calls for key in (event.name, f"{event.name} {canonical_json(event.arguments)}"))
