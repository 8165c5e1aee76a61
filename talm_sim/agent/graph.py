"""The LangGraph state machine of task `talm`.

    START -> assess -> Send(human)*, Send(approval)* and Send(tool)* -> think -> Send(human)* ... -> END
                ^----------- answered, and the user says more -----------|

`assess` tells the model what the user says next, and before the last time asks the awareness questions. It and `think` let the model take
turns, and run their calls, until the episode ends, the model answers, or a person comes in: a step of the graph costs as much as a request
from a recording, and its checkpoint is needed only where an episode may pause.

A call that a person approves first is sent to `approval`; once all of its turn are decided, those that may run are run. A call that ended with
questions of its tool's is made again once `form` has the answers to them.

Where the tool `Finish` is offered, its call is the answer. A turn without a call then is a question to the person, if it asks one in words and
there is a person, or is answered by a reminder; and the text of the last turn that a limit allows is the answer.

Every node is async: a sync one costs a thread hop. Nodes say where to go (`Command`): conditional edges cost nearly half of the speed.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypedDict, TypeVar, cast, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from talm_sim.agent.context import FORESEEN, EpisodeContext, failure_state
from talm_sim.agent.finishing import close_calls, limit_reached, refuse_finish
from talm_sim.agent.open_requests import person_of_call
from talm_sim.agent.prompts import Prompts
from talm_sim.agent.waiting_calls import PausedCall, SentCall, ask_question, ask_request, waiting_calls
from talm_sim.common.digests import derive_seed
from talm_sim.common.json_values import leaves
from talm_sim.language.asking import asking_sentences
from talm_sim.models.base import ASK_HUMAN, GenerationSettings
from talm_sim.models.endings import read_text_calls
from talm_sim.models.wire_messages import STATE
from talm_sim.models.yes_no import YES_NO_IDK, read_yes_no
from talm_sim.scenarios.dialogue import as_dicts, as_messages, is_said, request_text
from talm_sim.tools_env.asking_tools import Again, CallPaused, asking_person
from talm_sim.types import (
    FINISH,
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Event,
    HumanEvent,
    JsonObject,
    ModelTurn,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
    ToolSpec,
    Turn,
    UnparsableCall,
    Usage,
)

T = TypeVar("T")


def _keep_first(old: T | None, new: T | None) -> T | None:
    return new if old is None else old


class State(TypedDict, total=False):
    """The state of an episode that a checkpoint keeps."""

    messages: Annotated[list[AnyMessage], operator.add]
    awareness: list[AwarenessAnswer]
    model_turns: Annotated[list[ModelTurn], operator.add]
    events: Annotated[list[Event], operator.add]
    answer: str
    values: JsonObject | None
    paused: Annotated[list[PausedCall], operator.add]
    termination: Annotated[Termination | None, _keep_first]
    error: Annotated[str | None, _keep_first]
    injected: str


_Next = str | list[Send]
"""What comes after a turn: a node, or a task for each call."""

_REDUCERS = {name: hint.__metadata__[0] for name, hint in get_type_hints(State, include_extras=True).items() if hasattr(hint, "__metadata__")}


def _merge(state: Any, update: Any) -> State:
    """Return a state with an update, merged as the graph would merge it between two steps."""
    merged = {**state, **update}
    for name in state.keys() & update.keys() & _REDUCERS.keys():
        merged[name] = _REDUCERS[name](state[name], update[name])
    return cast("State", merged)


@dataclass(frozen=True, slots=True)
class TalmRules:
    """The rules of a run's episodes.

    Attributes:
        questions: Group to the awareness questions it is asked; an absent group is asked none.
        awareness_alone: Whether an episode ends after its awareness questions.
        rounds: Questions in words that a person replies to, where the tool `Finish` is offered.
        retries: Times that an awareness question is asked again after an answer that cannot be read; at temperature 0 it is not, as the answer
            would be the same.
        steps: Turns with calls that an episode may take in one turn of the user's; None if `turn_limit` counts all turns instead.
        system: Whether the system says how to act, before all else.
        text_calls: Whether calls in a text are read where the provider reported none.
        answered_turn: The number of the user's turn that ends with a person's answer, and not with the agent's; None if a scenario has none.
    """

    prompts: Prompts
    questions: Mapping[str, tuple[AwarenessKind, ...]]
    turn_limit: int = 5
    token_limit: int | None = None
    awareness_alone: bool = False
    rounds: int = 5
    retries: int = 0
    steps: int | None = None
    text_calls: bool = False
    system: bool = True
    answered_turn: Callable[[Scenario], int | None] = lambda scenario: None


class _Nodes:
    """The nodes of one run's graph."""

    def __init__(self, rules: TalmRules) -> None:
        self._rules = rules

    async def assess(self, state: State, runtime: Runtime[EpisodeContext]) -> Command[str]:
        """Take what the user says next, and play; the last time, first ask each awareness question in a conversation of its own.

        A No to any skips the rest.
        """
        context = runtime.context
        number = _user_turn(state, context, self._rules.answered_turn)
        said = _new_words(state, context.scenario.user_turns[number])
        update: Any = {"messages": [*([] if number else self._system(context)), *said]}
        if number == len(context.scenario.user_turns) - 1:
            try:
                before = state.get("messages", ())[len(self._system(context)) :]
                update |= await self._ask_awareness(context, request_text(as_dicts([*before, *said])), context.shown(number))
            except FORESEEN as err:
                update = failure_state(err)
        return await self._play(_merge(state, update), update, runtime)

    def _system(self, context: EpisodeContext) -> list[AnyMessage]:
        """Return what precedes the first words of the user."""
        prompts = self._rules.prompts
        return [SystemMessage(prompts.system_for(tools=bool(context.offered), finish=context.finishes))] if self._rules.system else []

    async def _ask_awareness(self, context: EpisodeContext, request: str, tools: Sequence[ToolSpec]) -> State:
        settings, prompts = replace(context.settings, choices=YES_NO_IDK), self._rules.prompts
        retries = self._rules.retries if settings.temperature != 0 else 0

        async def ask(kind: AwarenessKind) -> AwarenessAnswer:
            question = prompts.awareness_question(kind, request, [tool for tool in tools if tool.name != FINISH])
            usage, unread = Usage(), list[str]()
            while True:
                told = [SystemMessage(prompts.awareness_system), HumanMessage(question)]
                turn = await context.model.generate(told, (), _settings_of_try(settings, len(unread)))
                value, usage = read_yes_no(turn.text), usage + turn.usage
                if value is not AwarenessValue.UNPARSED or len(unread) == retries:
                    return AwarenessAnswer(kind=kind, value=value, question=question, raw=turn.raw_text, usage=usage, unread=tuple(unread))
                unread.append(turn.raw_text)

        answers = list(await asyncio.gather(*map(ask, self._rules.questions.get(context.scenario.group, ()))))
        skipped = any(answer.value is AwarenessValue.NO for answer in answers)
        end = Termination.ASSESSED if self._rules.awareness_alone else None
        return {"awareness": answers, "termination": Termination.SKIPPED if skipped else end}

    async def think(self, state: State, runtime: Runtime[EpisodeContext]) -> Command[str]:
        """Play on from what a person said, which may have ended a turn of the user's, or what was called meanwhile."""
        turns = state.get("model_turns", ())
        if turns and turns[-1].user_turn < _user_turn(state, runtime.context, self._rules.answered_turn):
            return await self.assess(state, runtime)
        return await self._play(state, State(), runtime)

    async def _play(self, state: State, update: State, runtime: Runtime[EpisodeContext]) -> Command[str]:
        """Generate turns, and run their calls, until an answer or an end, or until a person comes in; `update` is what `state` has new."""
        context = runtime.context
        while not state.get("termination"):
            found, then = await self._take_turn(state, context)
            for one in (found, *(await _run_calls(then, runtime) if _runs_here(then, context) else ())):
                state, update = _merge(state, one), _merge(update, one)
            if then != "think" and not _runs_here(then, context):
                return Command(update=update, goto=then)
        return Command(update=update, goto=END)

    async def _take_turn(self, state: State, context: EpisodeContext) -> tuple[State, _Next]:
        """Generate one turn: calls, or an answer; return it, and what comes next. Calls that were approved, or paused, come before it."""
        if context.tools is not None and (context.tools.guarded or context.forms is not None) and (waiting := waiting_calls(state)):
            return {}, waiting
        try:
            update: Any = await self._generate(state, context)
        except FORESEEN as err:
            update = failure_state(err)
        return (update, END) if update.get("termination") else self._go_on(state, update, context)

    async def _generate(self, state: State, context: EpisodeContext) -> State:
        number, before = _user_turn(state, context, self._rules.answered_turn), state.get("model_turns", [])
        turn = await context.generate(state["messages"], shown := context.shown(number))
        turn = read_text_calls(turn, shown, len(before)) if self._rules.text_calls else turn
        said = len(context.scenario.user_turns[number].messages) + (0 if number else len(self._system(context)))
        begins = not before or context.answer_in(before[-1]) is not None
        added = prompt_text(state["messages"][-said:]) if begins else added_text(state["messages"])
        turn = _refuse_huge_numbers(turn).model_copy(update={"raw_prompt": turn.raw_prompt or added, "user_turn": number})
        turns, last = [*before, turn], number == len(context.scenario.user_turns) - 1
        update: State = {"model_turns": [turn], "messages": [as_message(turn)]}
        if (answer := context.answer_in(turn)) is not None and last:
            return update | {"answer": answer, "values": context.values_in(turn), "termination": Termination.ANSWERED}
        rules = self._rules
        counted = None if rules.steps is None else [one for one in turns if one.user_turn == number and not _is_text(one)]
        end = limit_reached(turns, state.get("awareness", []), rules.steps or rules.turn_limit, rules.token_limit, counted)
        if end is None:
            return update
        return update | {"answer": turn.text if last and _is_text(turn) else "", "termination": end}

    def _go_on(self, state: State, update: State, context: EpisodeContext) -> tuple[State, _Next]:
        """Return a turn that does not end the episode, and what comes after it."""
        turn, number = update["model_turns"][0], len(state.get("model_turns", []))
        if context.answer_in(turn) is not None:
            return {**update, "messages": [*update["messages"], *close_calls(turn)]}, "assess"
        if not _is_text(turn):
            return update, _calls(turn, number, context)
        replies = sum(isinstance(event, HumanEvent) and event.by == "words" for event in state.get("events", ()))
        asked = asking_sentences(turn.text) if context.human and replies < self._rules.rounds else ()
        if asked:
            question = ToolCall(id=f"words-{replies + 1}", name=ASK_HUMAN, arguments={"question": "\n".join(asked)})
            return update, [Send("human", SentCall(call=question, turn=number, in_words=True))]
        reminder = HumanMessage(self._rules.prompts.reminder)
        reminded = turn.model_copy(update={"reminded": True})
        return {**update, "model_turns": [reminded], "messages": [*update["messages"], reminder]}, "think"


def _refuse_huge_numbers(turn: ModelTurn) -> ModelTurn:
    """Return a turn in which calls with a whole number beyond 64 bits are unreadable: no checkpoint keeps one."""
    huge = [call for call in turn.tool_calls if any(isinstance(one, int) and not -(2**63) <= one < 2**64 for _, one in leaves(call.arguments))]
    if not huge:
        return turn
    why = "a whole number of more than 64 bits; write it as a text"
    refused = (UnparsableCall(id=one.id, name=one.name, raw=json.dumps(one.arguments, ensure_ascii=False), reason=why) for one in huge)
    kept = tuple(call for call in turn.tool_calls if call not in huge)
    return turn.model_copy(update={"tool_calls": kept, "unparsable_calls": (*turn.unparsable_calls, *refused)})


def _settings_of_try(settings: GenerationSettings, earlier: int) -> GenerationSettings:
    """Return the settings of a try after so many `earlier` ones: each draws by a seed of its own."""
    return settings if settings.seed is None or not earlier else replace(settings, seed=derive_seed(settings.seed, "again", earlier))


def _is_text(turn: ModelTurn) -> bool:
    """Return whether a turn calls no tool."""
    return not (turn.tool_calls or turn.unparsable_calls)


def _calls(turn: ModelTurn, number: int, context: EpisodeContext) -> list[Send]:
    """Return one task for each call, the human's apart from the tools'."""
    sends = [Send("tool", SentCall(call=call, turn=number)) for call in turn.unparsable_calls]
    for call in turn.tool_calls:
        request = None if context.tools is None or context.question_in(call) else context.tools.approval_of(call)
        if request is not None:
            sends.append(Send("approval", SentCall(call=call, turn=number, request=request)))
        else:
            sends.append(Send("human" if context.question_in(call) else "tool", SentCall(call=call, turn=number)))
    return sends


def _runs_here(then: _Next, context: EpisodeContext) -> bool:
    """Return whether all that comes next are calls for which no person is needed, not even within one."""
    return isinstance(then, list) and context.forms is None and all(one.node == "tool" for one in then)


async def _run_calls(calls: _Next, runtime: Runtime[EpisodeContext]) -> list[State]:
    """Run the calls of a turn at the same time; return what each adds, in the order of the calls."""
    tasks = [asyncio.create_task(_tool(one.arg, runtime)) for one in calls if isinstance(one, Send)]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


async def _tool(state: SentCall, runtime: Runtime[EpisodeContext]) -> State:
    tools, forms, again = runtime.context.tools, runtime.context.forms, state.get("again")
    assert tools is not None
    if state["call"].name == FINISH and runtime.context.finishes:
        return _told(refuse_finish(state["call"], state["turn"]))
    asked: list[Event] = []
    person = None if forms is None else person_of_call(forms, state["call"].id, state["turn"], asked.append)
    try:
        with asking_person(person):
            event = await tools.call(state["call"], state["turn"], Again(*again) if again else None, pauses=True)
    except CallPaused as err:
        return {"events": asked, "paused": [PausedCall(call=state["call"], turn=state["turn"], forms=[*err.forms], kept=err.kept)]}
    except FORESEEN as err:
        return _merge(failure_state(err), {"events": asked})
    return _told(event, asked)


def _told(event: ToolEvent, asked: Sequence[Event] = ()) -> State:
    return {"events": [*asked, event], "messages": [ToolMessage(event.result, tool_call_id=event.call_id, name=event.name)]}


def talm_graph(rules: TalmRules, checkpointer: BaseCheckpointSaver[Any] | None = None) -> CompiledStateGraph[State, EpisodeContext, Any, Any]:
    """Compile the graph of a run; with a `checkpointer` it can pause for a human."""
    nodes = _Nodes(rules)
    graph = StateGraph(State, EpisodeContext)
    after = ("tool", "human", "approval", "form", "assess", END)
    graph.add_node("assess", nodes.assess, destinations=after)
    graph.add_node("think", nodes.think, destinations=after)
    graph.add_node("tool", _tool)
    graph.add_node("human", ask_question)
    graph.add_node("approval", ask_request)
    graph.add_node("form", ask_request)
    graph.add_edge(START, "assess")
    for name in ("tool", "human", "approval", "form"):
        graph.add_edge(name, "think")
    return graph.compile(checkpointer=checkpointer)


def as_message(turn: ModelTurn) -> AIMessage:
    """Return a turn as a message of the conversation."""
    return AIMessage(
        turn.text,
        tool_calls=[{"id": call.id, "name": call.name, "args": call.arguments, "type": "tool_call"} for call in turn.tool_calls],
        invalid_tool_calls=[
            {"id": call.id, "name": call.name, "args": call.raw, "error": call.reason, "type": "invalid_tool_call"}
            for call in turn.unparsable_calls
        ],
        additional_kwargs={} if turn.provider_state is None else {STATE: turn.provider_state},
    )


def added_text(messages: Sequence[AnyMessage]) -> str:
    """Return the messages after the model's last one, as text: what a turn added to the prompt."""
    place = next((place for place in range(len(messages), 0, -1) if isinstance(messages[place - 1], AIMessage)), 0)
    return prompt_text(messages[place:])


def prompt_text(messages: Sequence[AnyMessage]) -> str:
    """Return messages as text, each after the name of its speaker."""
    return "\n\n".join("\n".join((f"[{message.type}] {message.text}", *_calls_in(message))) for message in messages)


def _calls_in(message: AnyMessage) -> Iterator[str]:
    for call in message.tool_calls if isinstance(message, AIMessage) else ():
        yield f"[call] {call['name']}({json.dumps(call['args'], ensure_ascii=False)})"


def _user_turn(state: Mapping[str, Any], context: EpisodeContext, answered: Callable[[Scenario], int | None]) -> int:
    """Return the number of the user's turn, from 0."""
    turns = state.get("model_turns", ())
    ends = answered(context.scenario)
    number = sum(context.answer_in(turn) is not None for turn in turns)
    if ends is None:
        return number
    return number + any(isinstance(event, HumanEvent) and turns[event.turn].user_turn == ends for event in state.get("events", ()))


def _new_words(state: Mapping[str, Any], turn: Turn) -> list[BaseMessage]:
    """Return what the user says in a turn; nothing if a person has just said it, as the answer to a question."""
    last = len(state.get("model_turns", ())) - 1
    answers = [event.answer for event in state.get("events", ()) if isinstance(event, HumanEvent) and event.turn == last]
    return [] if is_said(turn, answers) else as_messages(turn.messages)
