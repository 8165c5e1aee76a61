"""The environment: the tools one episode can reach, with perturbations and recording.

A call passes validate -> perturbation.before -> source or cassette -> perturbation.after -> result. Recordings are below the
perturbations, so one recording serves every ablation.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.recordings import Player
from talm_sim.schemas import NotChecked, Schema
from talm_sim.tools_env.clock import Clock, RealClock, VirtualClock
from talm_sim.tools_env.perturbations import Call, Outcome, Perturbation, open_perturbations
from talm_sim.tools_env.routes import TOO_LARGE, fill_path
from talm_sim.tools_env.toolbox import Tools, ToolSession
from talm_sim.types import Event, Origin, PerturbationLog, Scenario, ToolCall, ToolEvent, ToolSpec, UnparsableCall

__all__ = ["Environment", "EpisodeTools", "read_answer", "validate_arguments"]

log = logging.getLogger(__name__)

_UNCOUNTED = ("unknown_tool", "unparsable_arguments", "invalid_arguments")
"""Errors of calls that were never made."""
_NO_ANSWER = {
    "timeout": "The tool did not answer in time.",
    "connection_reset": "The connection was reset.",
    TOO_LARGE: "The tool's answer is larger than 4 MB and was not read.",
}
MAX_RESULT_CHARS = 8_000
"""A longer tool result is cut before the model sees it (Fail-TaLMs' pipeline cuts as well)."""


class Environment:
    """The tools of a run.

    Args:
        tools: Every tool there is.
        perturb: Perturbations of the whole run, as written on the command line; a scenario's own come first.
        seed: Seed of the perturbations' chances.
        clock: Makes what waits, in one call, for slow and stuck tools.
    """

    def __init__(
        self,
        tools: Tools,
        *,
        perturb: tuple[str, ...] = (),
        seed: int = 0,
        clock: Callable[[], Clock] = RealClock,
    ) -> None:
        self.tools = tools
        self.perturb = perturb
        self.seed = seed
        self.clock = clock
        self.kept: dict[str, ToolSession] = {}
        """What waiting episodes keep of their own, by episode."""
        for perturbation in open_perturbations(perturb, seed=seed, episode=""):
            tool = perturbation.options.tool
            if tool and tool not in self.specs:
                raise PrerequisiteError(f"--perturb {perturbation.spec}: {self.tools.explain_unknown(tool)}")

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, by name."""
        return self.tools.specs

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
        unknown = [name for name in scenario.tools if name not in self.specs]
        if unknown:
            raise PrerequisiteError(f"scenario {scenario.id}: {self.tools.explain_unknown(unknown[0])}")
        episode = f"{scenario.id}@{epoch}"
        perturbations = open_perturbations(scenario.perturbations + self.perturb, seed=self.seed, episode=episode)
        tools = [self.specs[name] for name in scenario.tools]
        for perturbation in perturbations:
            tools = perturbation.narrow(tools, self.specs)
            perturbation.seen = perturbation.fired
        opened = EpisodeTools(self, tools, perturbations, player, episode)
        if state:
            opened.restore(state)
        return opened

    async def aclose(self) -> None:
        """Close what waiting episodes have of their own."""
        kept, self.kept = list(self.kept.values()), {}
        await asyncio.gather(*(session.aclose() for session in kept))


class EpisodeTools:
    """The tools of one episode; made by `Environment.open`.

    Attributes:
        tools: The tools that the agent can see.
    """

    def __init__(
        self, environment: Environment, tools: list[ToolSpec], perturbations: list[Perturbation], player: Player | None, episode: str
    ) -> None:
        self.tools = tools
        self._by_name = {tool.name: tool for tool in tools}
        self._environment = environment
        self._perturbations = perturbations
        self._watching = [perturbation for perturbation in perturbations if perturbation.watches_calls]
        self._player = player
        self._episode = episode
        self._calls = 0
        self._slept: dict[int, float] = {}
        self._session = environment.tools.open(episode)

    def knows(self, name: str) -> bool:
        """Whether there is a tool of this name, visible or not."""
        return name in self._environment.specs

    @property
    def slept(self) -> float:
        """Seconds of pretended waiting so far: calls of one turn wait together, turns one after the other."""
        return sum(self._slept.values())

    async def call(self, call: ToolCall | UnparsableCall, turn: int) -> ToolEvent:
        """Execute one call. The model's mistakes and the tools' failures come back as events with `ok` False.

        Args:
            call: What the model wrote.
            turn: Index of the model turn.

        Raises:
            CassetteMissError: In replay, the call was not recorded.
            ProviderError: The live tools cannot be reached.
        """
        started, slept = time.perf_counter(), 0.0
        arguments = call.arguments if isinstance(call, ToolCall) else {}
        origin, status = Origin.PERTURBED, None
        logs: tuple[PerturbationLog, ...] = ()
        try:
            spec = self._check(call)
        except ToolError as err:
            result, error = _refused(err)
        else:
            numbered = self._make_call(spec, arguments)
            outcome, origin, logs = await self._send(numbered)
            status, slept = outcome.status, numbered.clock.slept
            self._slept[turn] = max(slept, self._slept.get(turn, 0.0))
            result, error = _render_outcome(outcome)
        return ToolEvent(
            turn=turn,
            call_id=call.id,
            name=call.name,
            arguments=arguments,
            result=result,
            ok=not error,
            status=status,
            error=error,
            perturbations=logs,
            origin=origin,
            elapsed_ms=(time.perf_counter() - started + slept) * 1e3,
        )

    def _check(self, call: ToolCall | UnparsableCall) -> ToolSpec:
        if call.name not in self._by_name:
            raise ToolError(f"There is no tool '{call.name}'.", "unknown_tool")
        if isinstance(call, UnparsableCall):
            raise ToolError(f"The arguments could not be read: {call.reason}.", "unparsable_arguments")
        spec = self._by_name[call.name]
        validate_arguments(spec, call.arguments)
        fill_path(self._environment.tools.routes[call.name], call.arguments)
        return spec

    def _make_call(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Call:
        self._calls += 1
        return Call(spec, arguments, self._calls, self._environment.specs, self._environment.clock(), self._episode)

    async def _send(self, call: Call) -> tuple[Outcome, Origin, tuple[PerturbationLog, ...]]:
        """Send a checked call through the perturbations and the wire; return also what each perturbation that watched it did.

        If one answers in the tool's place, no other can take effect, so none is armed.
        """
        hits = _Hits(call, self._watching)
        for one in self._watching:
            if one.answers and hits.fires(one):
                waits = call.clock.waits
                damage = await one.before(call)
                if damage is not None:
                    return damage, Origin.PERTURBED, hits.logs([one])
                if call.clock.waits == waits:
                    hits.note_passed(one)
        for one in self._watching:
            if not one.answers:
                hits.fires(one)
        try:
            response, origin = await self._session.call(call.spec.name, call.arguments, self._player)
        except TimeoutError:
            return Outcome(None, error="timeout"), Origin.LIVE, hits.logs([])
        outcome, seen = await hits.damage(Outcome.of(response))
        return outcome, origin, hits.logs(seen)

    def logs(self) -> tuple[PerturbationLog, ...]:
        """Return what each perturbation did."""
        return tuple(perturbation.log() for perturbation in self._perturbations)

    def state(self) -> dict[str, Any]:
        """Return counts, as JSON, to be kept while the episode waits for a human."""
        counts = [[one.armed, one.fired, one.seen] for one in self._perturbations]
        return {"calls": self._calls, "counts": counts, "changes": self._session.changes}

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
        for perturbation, counts in zip(self._perturbations, state["counts"], strict=True):
            perturbation.armed, perturbation.fired, perturbation.seen = counts

    @property
    def is_watched(self) -> bool:
        """Whether a perturbation counts the calls."""
        return bool(self._watching)

    def recall(self, events: Iterable[Event]) -> None:
        """Count the calls of a process that ended before it could keep `state`; only the events show what happened."""
        calls = [event for event in events if isinstance(event, ToolEvent)]
        self._calls = max(self._calls, sum(event.error not in _UNCOUNTED for event in calls))
        for one in self._watching:
            logs = [log for event in calls for log in event.perturbations if log.name == str(one.spec)]
            if sum(str(other.spec) == str(one.spec) for other in self._watching) == 1 and len(logs) > one.armed:
                one.armed, one.fired, one.seen = (sum(getattr(log, count) for log in logs) for count in ("armed", "fired", "seen"))


class _Hits:
    """What the perturbations of an episode do to one call."""

    def __init__(self, call: Call, watching: list[Perturbation]) -> None:
        self._call = call
        self._watching = watching
        self._fired: dict[Perturbation, bool] = {}

    def fires(self, one: Perturbation) -> bool:
        """Arm a perturbation if the call concerns it, and return whether it fires."""
        armed = one.armed
        fires = one.concerns(self._call) and one.applies(self._call.spec.name)
        if one.armed > armed:
            self._fired[one] = fires
        return fires

    def note_passed(self, one: Perturbation) -> None:
        """Note that a perturbation did not answer in the tool's place after all."""
        self._fired[one] = one.let_through()

    async def damage(self, outcome: Outcome) -> tuple[Outcome, list[Perturbation]]:
        """Let the firing perturbations damage the answer; return also those whose change is still there in what the model will read."""
        firing = [one for one in self._watching if self._fired.get(one)]
        if not firing:
            return outcome, []
        chain = [outcome]
        for one in firing:
            chain.append(await one.after(self._call, chain[-1]))
        texts = [_render_outcome(one) for one in chain]
        changing = [place for place in range(len(firing)) if texts[place] != texts[place + 1]]
        seen = [
            firing[place]
            for place in changing
            if place == changing[-1] or texts[-1] != _render_outcome(await self._outcome_without(place, firing, chain))
        ]
        return chain[-1], seen

    async def _outcome_without(self, place: int, firing: list[Perturbation], chain: list[Outcome]) -> Outcome:
        """Return the outcome without the perturbation at `place`; nothing is waited for a second time."""
        call, outcome = replace(self._call, clock=VirtualClock()), chain[place]
        for later in firing[place + 1 :]:
            outcome = await later.after(call, outcome)
        return outcome

    def logs(self, seen: list[Perturbation]) -> tuple[PerturbationLog, ...]:
        """Return what each perturbation that watched the call did to it; count what was `seen`."""
        for one in seen:
            one.seen += 1
        fired = self._fired
        return tuple(
            PerturbationLog(name=str(one.spec), armed=1, fired=int(fired[one]), seen=int(one in seen)) for one in self._watching if one in fired
        )


def validate_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> None:
    """Check arguments against the tool's JSON Schema. What cannot be checked passes: it is not known to be the model's mistake.

    Raises:
        ToolError: The arguments do not fit; the message says which one and why.
    """
    schema = canonical_json(spec.parameters)
    try:
        error = _schema(schema).fault(arguments)
    except NotChecked as err:
        _warn_unchecked(spec.name, schema, str(err))
        return
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path)
        raise ToolError(f"Invalid arguments{' at ' + where if where else ''}: {_cut(error.message, MAX_RESULT_CHARS)}", "invalid_arguments")


@lru_cache(maxsize=512)
def _schema(schema: str) -> Schema:
    return Schema(json.loads(schema))


@lru_cache(maxsize=512)
def _warn_unchecked(tool: str, schema: str, why: str) -> None:
    """Say once that arguments of a tool were not checked."""
    log.warning("tool %s: arguments were only partly checked against its schema: %s", tool, why)


def _render_outcome(outcome: Outcome) -> tuple[str, str]:
    """Return what the model is shown of a tool's answer, and the reason code if that is an error."""
    try:
        return read_answer(outcome), ""
    except ToolError as err:
        return _refused(err)


def _refused(err: ToolError) -> tuple[str, str]:
    return canonical_json({"error": str(err)}), err.code


def read_answer(outcome: Outcome) -> str:
    """Return what the model is shown of a tool's answer.

    Raises:
        ToolError: No answer came, the answer is an error, or it cannot be read.
    """
    if outcome.error:
        raise ToolError(_NO_ANSWER.get(outcome.error, outcome.error), outcome.error)
    assert outcome.status is not None
    try:
        value = json.loads(outcome.body)
        text = canonical_json(value)
        text.encode()  # JSON can contain half a character, and nothing else can
    except (ValueError, RecursionError):
        raise ToolError(f"The tool answered with a broken body: {_cut(outcome.body.decode(errors='replace'), 200)}", "malformed_body") from None
    if not 200 <= outcome.status < 300:
        detail = value.get("detail", value) if isinstance(value, dict) else value
        told = _cut(detail if isinstance(detail, str) else canonical_json(detail), 500)
        wait = f" Retry after {outcome.retry_after:g} s." if outcome.retry_after is not None else ""
        raise ToolError(f"HTTP {outcome.status}: {told}.{wait}", f"http_{outcome.status}")
    return _cut(text, MAX_RESULT_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... [{len(text) - limit} characters cut]"
