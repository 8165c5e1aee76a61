"""The environment: the tools one episode can reach, with perturbations and recording.

A call passes validate -> perturbation.before -> HTTP or cassette -> perturbation.after -> result. Recordings lie below the perturbations, so
one recording serves every ablation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema
import requests

from talm_sim.digests import canonical_json
from talm_sim.errors import PrerequisiteError, ToolError, did_you_mean
from talm_sim.recordings import Player
from talm_sim.schemas import validator_of
from talm_sim.tools_env.client import ToolClient, build_request
from talm_sim.tools_env.clock import Clock, RealClock
from talm_sim.tools_env.perturbations import Outcome, Perturbation, open_perturbations
from talm_sim.types import Origin, PerturbationLog, Scenario, ToolCall, ToolEvent, ToolSpec, UnparsableCall

__all__ = ["Environment", "EpisodeTools", "validate_arguments"]

MAX_RESULT_CHARS = 8_000
"""A longer tool result is cut before the model sees it (Fail-TaLMs' pipeline cuts as well)."""


class Environment:
    """The tools of a run.

    Args:
        specs: Every tool there is, by name.
        client: Sends the calls.
        perturb: Perturbations of the whole run, as written on the command line; a scenario's own come first.
        seed: Seed of the perturbations' chances.
        clock: Waits for slow and stuck tools.
    """

    def __init__(
        self, specs: Mapping[str, ToolSpec], client: ToolClient, *, perturb: tuple[str, ...] = (), seed: int = 0, clock: Clock | None = None
    ) -> None:
        self.specs = specs
        self.client = client
        self.perturb = perturb
        self.seed = seed
        self.clock = clock or RealClock()
        for perturbation in open_perturbations(perturb, seed=seed, episode=""):
            if perturbation.tool and perturbation.tool not in specs:
                raise PrerequisiteError(
                    f"--perturb {perturbation.spec}: no tool '{perturbation.tool}'.{did_you_mean(perturbation.tool, specs)}"
                )

    def open(
        self, scenario: Scenario, *, epoch: int = 1, player: Player | None = None, state: Mapping[str, tuple[int, int]] | None = None
    ) -> EpisodeTools:
        """Open the tools of one episode.

        Args:
            scenario: Names the tools and its own perturbations.
            epoch: Counts from 1; perturbations draw other chances in each.
            player: The scenario's tool recording; None for purely live calls.
            state: What `EpisodeTools.state` returned when the episode paused.

        Raises:
            PrerequisiteError: The scenario names a tool that is not there.
        """
        unknown = [name for name in scenario.tools if name not in self.specs]
        if unknown:
            raise PrerequisiteError(f"scenario {scenario.id}: no tool '{unknown[0]}'.{did_you_mean(unknown[0], self.specs)}")
        perturbations = open_perturbations(scenario.perturbations + self.perturb, seed=self.seed, episode=f"{scenario.id}@{epoch}")
        tools = [self.specs[name] for name in scenario.tools]
        for perturbation in perturbations:
            tools = perturbation.narrow(tools)
        for perturbation in perturbations:
            if state and str(perturbation.spec) in state:
                perturbation.armed, perturbation.fired = state[str(perturbation.spec)]
        return EpisodeTools(tools, self.client, perturbations, player, self.clock)


class EpisodeTools:
    """The tools of one episode; made by `Environment.open`."""

    def __init__(
        self, tools: list[ToolSpec], client: ToolClient, perturbations: list[Perturbation], player: Player | None, clock: Clock
    ) -> None:
        self.tools = tools
        self._by_name = {tool.name: tool for tool in tools}
        self._client = client
        self._perturbations = perturbations
        self._watching = [perturbation for perturbation in perturbations if perturbation.watches_calls]
        self._player = player
        self._clock = clock

    async def call(self, call: ToolCall | UnparsableCall, turn: int) -> ToolEvent:
        """Execute one call. The model's mistakes and the tools' failures come back as events with `ok` False.

        Args:
            call: What the model wrote.
            turn: Index of the model turn.

        Raises:
            CassetteMissError: In replay, the call was not recorded.
            ProviderError: The live tools cannot be reached.
        """
        started = time.perf_counter()
        arguments = call.arguments if isinstance(call, ToolCall) else {}
        origin, status, fired = Origin.PERTURBED, None, None
        try:
            spec = self._check(call)
            outcome, origin, fired = await self._reach(spec, arguments)
            status = outcome.status
            result, error = _read(outcome), ""
        except ToolError as err:
            result, error = canonical_json({"error": str(err)}), err.code
        return ToolEvent(
            turn=turn,
            call_id=call.id,
            name=call.name,
            arguments=arguments,
            result=result,
            ok=not error,
            status=status,
            error=error,
            perturbation=fired.log() if fired else None,
            origin=origin,
            elapsed_ms=(time.perf_counter() - started) * 1e3,
        )

    def _check(self, call: ToolCall | UnparsableCall) -> ToolSpec:
        if call.name not in self._by_name:
            raise ToolError(f"There is no tool '{call.name}'.", "unknown_tool")
        if isinstance(call, UnparsableCall):
            raise ToolError(f"The arguments could not be read: {call.reason}.", "unparsable_arguments")
        spec = self._by_name[call.name]
        validate_arguments(spec, call.arguments)
        return spec

    async def _reach(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> tuple[Outcome, Origin, Perturbation | None]:
        """Send a checked call through the perturbations and the wire; return also the first perturbation that fired."""
        firing = self._fire(spec.name)
        first = firing[0] if firing else None
        for perturbation in firing:
            damage = await perturbation.before(self._clock)
            if damage is not None:
                return damage, Origin.PERTURBED, perturbation
        try:
            response, origin = await self._client.send(build_request(spec, arguments), self._player)
        except requests.Timeout:
            return Outcome(None, error="timeout"), Origin.LIVE, first
        outcome = Outcome(response.status, response.body)
        for perturbation in firing:
            outcome = await perturbation.after(outcome)
        return outcome, origin, first

    def _fire(self, tool: str) -> list[Perturbation]:
        """Decide which perturbations fire on a call; where one answers in the tool's place, no other can land, so none counts as fired."""
        answering = next((one for one in self._watching if one.answers and one.applies(tool)), None)
        return [answering] if answering else [one for one in self._watching if not one.answers and one.applies(tool)]

    def logs(self) -> tuple[PerturbationLog, ...]:
        """What each perturbation did."""
        return tuple(perturbation.log() for perturbation in self._perturbations)

    def state(self) -> dict[str, tuple[int, int]]:
        """Armed and fired counts, to be kept while the episode waits for a human."""
        return {str(perturbation.spec): (perturbation.armed, perturbation.fired) for perturbation in self._perturbations}


def validate_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> None:
    """Check arguments against the tool's JSON Schema.

    Raises:
        ToolError: They do not fit; the message says which argument and why.
    """
    error = jsonschema.exceptions.best_match(_validator(canonical_json(spec.parameters)).iter_errors(arguments))
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path)
        raise ToolError(f"Invalid arguments{' at ' + where if where else ''}: {error.message}", "invalid_arguments")


@lru_cache(maxsize=512)
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    return validator_of(json.loads(schema))


def _read(outcome: Outcome) -> str:
    """What the model is shown of a tool's answer.

    Raises:
        ToolError: No answer came, the answer is an error, or it cannot be read.
    """
    if outcome.error:
        raise ToolError("The tool did not answer in time." if outcome.error == "timeout" else "The connection was reset.", outcome.error)
    assert outcome.status is not None
    try:
        value = json.loads(outcome.body)
    except ValueError:
        raise ToolError(f"The tool answered with a broken body: {_cut(outcome.body.decode(errors='replace'), 200)}", "malformed_body") from None
    if not 200 <= outcome.status < 300:
        detail = value.get("detail", value) if isinstance(value, dict) else value
        text = _cut(detail if isinstance(detail, str) else canonical_json(detail), 500)
        wait = f" Retry after {outcome.retry_after:g} s." if outcome.retry_after is not None else ""
        raise ToolError(f"HTTP {outcome.status}: {text}.{wait}", f"http_{outcome.status}")
    return _cut(canonical_json(value), MAX_RESULT_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... [{len(text) - limit} characters cut]"
