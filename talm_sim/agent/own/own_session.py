"""Record and limit one episode of the user's own agent, and let it wait: everything it does passes through here."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

from langchain_core.messages import BaseMessage

from talm_sim.agent.approvals import approved_call, settle_approval
from talm_sim.agent.context import FORESEEN, EpisodeContext, failure_state
from talm_sim.agent.finishing import limit_reached
from talm_sim.agent.graph import added_text, prompt_text
from talm_sim.agent.open_requests import OpenRequests, person_of_call
from talm_sim.agent.own.agent_rules import AgentRules
from talm_sim.agent.own.own_texts import clean_messages, clean_request, read_call, with_states
from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.config import RESULT_LIMIT
from talm_sim.foreign.loop import abandon_loop_of, on_loop, running_loop, wait_on_loop, was_loop_given_up
from talm_sim.foreign.threads import Work
from talm_sim.foreign.time import ForeignClock
from talm_sim.models.parsing import replace_surrogates
from talm_sim.recordings import current_player, playing
from talm_sim.scenarios.tool_names import match_name
from talm_sim.tools_env.asking_tools import AskPerson, asking_person
from talm_sim.tools_env.handed_answers import PlayedCall
from talm_sim.tools_env.perturbations import ModelRequestError
from talm_sim.types import (
    Decision,
    Event,
    Form,
    HumanEvent,
    JsonObject,
    ModelTurn,
    Origin,
    PersonRequest,
    Termination,
    ToolCall,
    ToolEvent,
    ToolSpec,
    UnparsableCall,
)

T = TypeVar("T")
Asked = Literal["tool", "words", "interrupt", "policy", "elicitation"]
"""How a question was asked: `HumanEvent.by`."""
_TOGETHER_S = 0.005
"""Seconds that a question's neighbours are waited for: what an agent asks at once is put at once."""
_MOST_STOPS = 100
"""How often an agent is told that its episode has ended: one that catches that forever is held where it is."""


class AgentStopped(BaseException):
    """The episode has ended: whatever the agent still does is ignored. No `except Exception` of the agent's catches this."""


class AgentSession:
    """The record of what an agent has done so far, and the limits on what it may still do.

    Between two stretches, while a person is awaited, the agent's work pauses, and whatever it starts waits at the gate.
    """

    def __init__(self, name: str, rules: AgentRules) -> None:
        self.turns: list[ModelTurn] = []
        self.events: list[Event] = []
        self.remarks: Counter[str] = Counter()
        self.ended: dict[str, Any] | None = None
        self.fatal: BaseException | None = None
        self.work = Work()
        self.gone = asyncio.Event()
        self.hide = Hider.from_environment(credentials_in_environment(), measured=True)
        self.loop = asyncio.get_running_loop()
        self.context: EpisodeContext
        self._player: Any = None
        self.rules = rules
        self._clock = ForeignClock(self.work, rules.seconds)
        self._timing: asyncio.Task[None] | None = None
        self._busy = 0
        self._stops = 0
        self._injected_errors = 0
        self._open = OpenRequests(name, self._notify_change)
        self.user_turn = 0
        self.values: JsonObject | None = None
        self._heard = ""
        self._answering = 0
        self._gate, self._changed = asyncio.Event(), asyncio.Event()

    @property
    def rounds(self) -> int:
        """Questions in plain words that the person replies to; none once the agent has taken its turns, or where it is offered nobody."""
        return self.rules.rounds if self.context.human and len(self.turns) < self.rules.turns else 0

    def name_of_tool(self, own: str) -> str:
        """Return the name here of a tool that the agent's graph calls so, visible to the agent or not; empty if there is none."""
        names = self.context.tools.names if self.context.tools is not None else ()
        found = match_name(own, names)
        return found if found in names else ""

    def may_call_again(self, name: str) -> bool:
        """Return whether a tool may be called twice; of one that is the agent's own, nobody knows."""
        return self.context.tools is not None and self.context.tools.may_call_again(name)

    def text(self, text: str) -> str:
        """Return a text of the agent's in a form that may be kept: without secrets, and without what no file can store."""
        return self.hide.text(replace_surrogates(text))

    # --- the run's side ---------------------------------------------------------------------------------------------------------------

    async def run_until_pause(self, context: EpisodeContext, replies: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Let the agent continue until it ends or waits for a person; return the state of the episode."""
        self.context, self._player = context, current_player.get()
        for asked in self._asked:
            asked.notify = self._notify_change
            asked.answer(replies)
        self._gate.set()
        self._start_timer()
        await self._pause_or_end()
        self._gate.clear()
        if self.fatal is not None:
            raise self.fatal
        state = {"model_turns": list(self.turns), "events": list(self.events), "remarks": dict(self.remarks)}
        if self.ended is not None:
            self._gate.set()  # whatever waits there must learn that it has ended
            return {**state, **self.ended}
        self._start_timer(waiting=True)
        return {**state, "__interrupt__": [one for asked in self._asked for one in asked.interrupts()]}

    @property
    def _asked(self) -> tuple[OpenRequests, ...]:
        """What the agent asks, and what the tools that it has called ask."""
        return (self._open,) if self.context.forms is None else (self._open, self.context.forms)

    def _start_timer(self, *, waiting: bool = False) -> None:
        if self._timing is not None:
            self._timing.cancel()
        self._timing = asyncio.create_task(self._enforce_time_limit(waiting))

    async def _enforce_time_limit(self, waiting: bool) -> None:
        try:
            await self._clock.run_out(waiting=waiting)
            place = await self._clock.place()
        except Exception as err:
            self.break_off(err)
            raise
        error = f"the agent took more than {self.rules.seconds:g} s (agent_timeout)"
        self.stop(Termination.AGENT_ERROR, f"{error}; {place}" if place else error)
        await abandon_loop_of(self.work)

    async def _pause_or_end(self) -> None:
        while not (self.ended or self.fatal):
            self._changed.clear()
            if any(self._asked) and not self._busy:
                await asyncio.sleep(_TOGETHER_S)
                if any(self._asked) and not self._busy:
                    return
            elif not (self.ended or self.fatal):
                await self._changed.wait()

    def stop(self, end: Termination, error: str = "", traceback: str = "", injected: str = "") -> None:
        """End the episode; the first termination counts."""
        if self.ended is None:
            self.ended = {"termination": end, "error": self.text(error), "traceback": self.text(traceback), "injected": injected}
        self._notify_change()

    def close(self) -> None:
        """End the episode because nobody waits for it any more."""
        self.stop(Termination.CANCELLED)
        self.work.over = True
        if self._timing is not None:
            self._timing.cancel()

    def finish(self, answer: str) -> None:
        """End the episode with the agent's answer."""
        if self.ended is None:
            self.ended = {"termination": Termination.ANSWERED, "answer": self.text(answer), "values": self.values}
        self._notify_change()

    def break_off(self, error: BaseException) -> None:
        """End the run with what the user must fix, or with a bug; or restart the episode if its loop was given up."""
        self.fatal = self.fatal or error
        self._notify_change()

    # --- the agent's side -------------------------------------------------------------------------------------------------------------

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Execute a request from a thread without an event loop."""
        if running_loop() is not None:
            work.close()
            raise RuntimeError("called without await on the event loop; use ainvoke there")
        try:
            self._stop_if_ended()
        except AgentStopped:
            work.close()
            raise
        return wait_on_loop(work, self.loop)

    async def play(self, name: str, arguments: Any, call_id: str | None) -> PlayedCall | HumanEvent:
        """Execute a tool call, or put a question to the person."""
        return await self._run_for_agent(self._call(name, arguments, call_id))

    async def refuse(self, name: str, arguments: Any, call_id: str | None, why: str) -> None:
        """Record a call whose arguments the agent's own tool has refused, so that nothing was called."""
        await self._run_for_agent(self._refuse(name, arguments, call_id, why))

    async def ask(self, asked: str | PersonRequest, call_id: str, turn: int, by: Asked) -> HumanEvent:
        """Put a question, a call to approve or a form to the person, and wait for the answer."""
        return await self._run_for_agent(self._ask(asked, call_id, turn, by))

    async def ask_in_words(self, question: str, message: str) -> str:
        """Put to the person what the agent's message asks, and return the reply."""
        message = self.text(message)
        if self.turns[-1].text != message:  # its models said something else last: the person answers what the user is shown
            self.note(ModelTurn(raw_text=message, text=message))
        return (await self.ask(question, f"words-{self._open.number + 1}", len(self.turns) - 1, "words")).answer

    def note_input(self, messages: Sequence[BaseMessage]) -> None:
        """Record what the agent is told next; the first turn that follows shows it, unless that turn says itself what it was told."""
        self._heard, self._answering = self.text(prompt_text(messages)), len(self.turns)  # type: ignore[arg-type]

    def note_answer(self, message: str) -> None:
        """Record the agent's message to the user; if a model's turn ended in a text, that is the message."""
        if len(self.turns) == self._answering or self.turns[-1].tool_calls:
            message = self.text(message)
            self.note(ModelTurn(raw_text=message, text=message))

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], asked: Mapping[str, Any]) -> ModelTurn:
        """Let the model that was handed over take a turn, with what the agent asks of it (`talm_sim.models.asked`)."""
        return await self._run_for_agent(self._generate(messages, tools, asked))

    def remark(self, what: str) -> None:
        """Count something that readers of the episode should know; see `Episode.remarks`."""
        self.remarks[what] += 1

    async def _run_for_agent(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            self._stop_if_ended()
        except AgentStopped:
            work.close()
            if self._stops > _MOST_STOPS:
                await asyncio.sleep(math.inf)
            raise
        return await on_loop(work, self.loop)

    def _stop_if_ended(self) -> None:
        """Tell the agent that its episode has ended; hold its thread if it ignores that, unless the thread is the caller's own."""
        if not (self.ended or self.fatal):
            return
        self._stops += 1
        if self._stops > _MOST_STOPS and (running_loop() is None or was_loop_given_up()):
            threading.Event().wait()
        raise AgentStopped

    async def _refuse(self, name: str, arguments: Any, call_id: str | None, why: str) -> None:
        await self._enter()
        call, turn = self._assign_turn(read_call(name, arguments, call_id, self.hide))
        said = {"result": self.text(why)[:RESULT_LIMIT], "ok": False, "error": "invalid_arguments", "origin": Origin.PERTURBED}
        self.events.append(ToolEvent(turn=turn, call_id=call.id, name=call.name, arguments=getattr(call, "arguments", {}), **said))

    async def _call(self, name: str, arguments: Any, call_id: str | None) -> PlayedCall | HumanEvent:
        await self._enter()
        call, turn = self._assign_turn(read_call(name, arguments, call_id, self.hide))
        question = self.context.question_in(call) if isinstance(call, ToolCall) else ""
        if question:
            return await self._ask(question, call.id, turn, "tool")
        assert self.context.tools is not None
        request = self.context.tools.approval_of(call) if isinstance(call, ToolCall) else None
        if request is not None:
            decided = await self._ask(request, call.id, turn, "policy")
            if (approved := approved_call(decided)) is None:
                return decided
            call = approved
        with asking_person(None if self.context.forms is None else self._person_of(self.context.forms, call.id, turn)):
            played = await self._track(self.context.tools.play(call, turn))
        self.events.append(played.event)
        return played

    def _person_of(self, forms: OpenRequests, call_id: str, turn: int) -> AskPerson:
        """Return how a tool asks the person while a call of it runs; meanwhile the call keeps nothing busy."""
        ask, waiting = person_of_call(forms, call_id, turn, self.events.append), 0

        async def ask_idle(form: Form) -> Decision:
            nonlocal waiting
            self._busy -= not waiting  # several forms of one call are one that waits
            waiting += 1
            try:
                return await ask(clean_request(form, self.hide))
            finally:
                waiting -= 1
                self._busy += not waiting

        return ask_idle

    async def _ask(self, asked: str | PersonRequest, call_id: str, turn: int, by: Asked) -> HumanEvent:
        await self._enter()
        kept = self.text(asked) if isinstance(asked, str) else clean_request(asked, self.hide)
        reply = await self._open.put(kept)
        question, request = (kept, None) if isinstance(kept, str) else (kept.text, kept)
        event = HumanEvent(turn=turn, call_id=call_id, question=question, by=by, request=request, **reply)
        event = settle_approval(event) if by == "policy" else event
        self.events.append(event)
        return event

    async def _generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], asked: Mapping[str, Any]) -> ModelTurn:
        await self._enter()
        context, messages = self.context, with_states(clean_messages(messages), self.turns)
        with playing(self._player):
            turn = await self._track(context.generate(messages, tools, asked))
        turn = turn.model_copy(update={"raw_prompt": turn.raw_prompt or self.text(added_text(list(messages)))})  # type: ignore[arg-type]
        self.note(turn)
        return turn

    def note(self, turn: ModelTurn) -> None:
        """Record a model turn; one that calls tools beyond a limit is the last."""
        # The input of a model begins after the last of its messages, and those of the scenario may include one.
        told = self._heard if self._heard.endswith(turn.raw_prompt) else turn.raw_prompt
        self.turns.append(turn.model_copy(update={"raw_prompt": told, "user_turn": self.user_turn}))
        self._heard = ""
        if (turn.tool_calls or turn.unparsable_calls) and (end := limit_reached(self.turns, (), self.rules.turns, self.rules.tokens)):
            self.stop(end)

    def check(self) -> None:
        """Check, before a model is asked, that the agent may still take a turn."""
        # A turn in which the model failed by an injected fault is one, too: an agent may retry it forever.
        if self.ended is None and self.fatal is None and len(self.turns) + self._injected_errors >= self.rules.turns:
            self.stop(Termination.TURN_LIMIT)
        self._stop_if_ended()

    async def _enter(self) -> None:
        await self._gate.wait()
        if self.ended or self.fatal:
            raise AgentStopped

    async def _track(self, work: Coroutine[Any, Any, T]) -> T:
        self._busy += 1
        try:
            done = await work
        except ModelRequestError:  # the agent's own code may deal with it
            self._injected_errors += 1
            if not (self.ended or self.fatal):
                raise
        except FORESEEN as err:
            ends = failure_state(err)
            self.stop(ends["termination"], ends["error"])
        except Exception as err:  # ours, not the agent's: it must not be swallowed as data
            self.break_off(err)
        finally:
            self._busy -= 1
            self._notify_change()
        if self.ended or self.fatal:
            raise AgentStopped
        return done

    def _assign_turn(self, call: ToolCall | UnparsableCall) -> tuple[ToolCall | UnparsableCall, int]:
        """Return the call with its id and its turn; a call that no seen turn made is a separate one."""
        done = {(event.turn, event.call_id) for event in self.events}
        for place in range(len(self.turns) - 1, -1, -1):
            calls: tuple[ToolCall | UnparsableCall, ...] = self.turns[place].tool_calls + self.turns[place].unparsable_calls
            for made in calls:
                same = made.id == call.id if call.id else _is_same_call(made, call)
                if same and (place, made.id) not in done:
                    return call.model_copy(update={"id": made.id}), place
        call = call.model_copy(update={"id": call.id or f"call-{len(self.events) + 1}"})
        known = {"tool_calls": (call,)} if isinstance(call, ToolCall) else {"unparsable_calls": (call,)}
        self.note(ModelTurn(stop="tool_calls", **known))
        if self.ended:
            raise AgentStopped
        return call, len(self.turns) - 1

    def _notify_change(self) -> None:
        with suppress(RuntimeError):  # the run may be over
            self.loop.call_soon_threadsafe(self._changed.set)


def _is_same_call(made: ToolCall | UnparsableCall, call: ToolCall | UnparsableCall) -> bool:
    return made.name == call.name and getattr(made, "arguments", None) == getattr(call, "arguments", None)


CURRENT: ContextVar[AgentSession | None] = ContextVar("talm_sim_agent_session", default=None)
"""The episode that the running code belongs to."""
