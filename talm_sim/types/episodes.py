"""The types of what happened: everything a judge may need to know of one agent run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from talm_sim.types.base import FrozenModel, JsonObject
from talm_sim.types.pages import render_episode
from talm_sim.types.requests import Decision, Declined, PersonRequest
from talm_sim.types.tools import FINISH, ToolCall, UnparsableCall


class Usage(FrozenModel):
    """Tokens of one generation, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    uncounted: int = 0
    """Generations without a credible count from the server."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class TokenLogprob(FrozenModel):
    """A token that a model might write at some place, and how likely it is there."""

    token: str
    """Its text; what is not valid UTF-8 in it becomes U+FFFD."""
    logprob: float = Field(le=0.0, allow_inf_nan=False)
    """Natural logarithm of its probability."""


class AwarenessKind(StrEnum):
    """Which awareness question was asked."""

    INFORMATION = "information"
    TOOL = "tool"


class AwarenessValue(StrEnum):
    """A parsed answer to an awareness question. Anything not clearly one of the three is `unparsed`."""

    YES = "yes"
    NO = "no"
    IDK = "idk"
    UNPARSED = "unparsed"


class AwarenessAnswer(FrozenModel):
    """The agent's answer to one awareness question (Fail-TaLMs, section 4.2)."""

    kind: AwarenessKind
    value: AwarenessValue
    question: str = ""
    """What the agent was asked; empty in an imported run."""
    raw: str = ""
    usage: Usage = Usage()
    """Of all tries."""
    unread: tuple[str, ...] = ()
    """The agent's earlier answers to the question, which could not be read, so that it was asked again."""


class Precision(FrozenModel):
    """How log-probabilities were computed: in half precision a score depends on what was computed beside it."""

    dtype: str
    """Type of the model's numbers: float32, bfloat16, float16, ..."""
    batch_size: int
    """Most questions that were computed together."""
    attention: str
    """Implementation of attention, as the model's library names it."""

    @property
    def half(self) -> bool:
        """Whether its numbers have 16 bits."""
        return self.dtype in {"bfloat16", "float16"}


class PerturbationLog(FrozenModel):
    """What one perturbation did to one call, or in a whole episode."""

    name: str
    """As it was written."""
    armed: int = 0
    """Calls, tools or generations that it watched."""
    fired: int = 0
    """Those of them that it hit."""
    seen: int = 0
    """Hits that the agent met: the changed result, tool list or error was in a prompt that was sent. A result that a later perturbation wiped
    out, that lies beyond the cut of a long result, or after which no prompt came was not seen. Of an agent whose model is not known, it is what
    the agent's code was given."""
    place: int = Field(default=0, exclude_if=lambda place: not place)
    """Its place among the perturbations of the episode, from 0."""
    not_applicable: int = Field(default=0, exclude_if=lambda number: not number)
    """Calls, tools or generations that do not have what it damages; they are not armed."""
    withheld: bool = Field(default=False, exclude_if=lambda withheld: not withheld)
    """Of one call: whether it is not applicable because the tool may change data, and the run does not let faults repeat such calls."""
    injected: str | None = Field(default=None, exclude_if=lambda text: text is None)
    """Of one call or generation: what it put in place of the answer, as text that the model or the agent would read; None where it did not
    fire. Of an episode: the error that it last injected in place of an answer of the model; None where it injected none."""
    replaced: str | None = Field(default=None, exclude_if=lambda text: text is None)
    """Of one call or generation: the text that `injected` replaced; None where the tool was never called, or the model never asked."""


class ModelTurn(FrozenModel):
    """One generation."""

    raw_prompt: str = ""
    """What this turn added to the conversation, as text or JSON; the whole prompt is these joined."""
    raw_text: str = ""
    """What the model wrote, unchanged."""
    text: str = ""
    """`raw_text` without reasoning and without tool-call markup."""
    reasoning: str = ""
    answered: str | None = Field(default=None, exclude_if=lambda text: text is None)
    """What it wrote after a reasoning form, unchanged, or nothing where it wrote only thought; None where `raw_text` contains its answer."""
    tool_calls: tuple[ToolCall, ...] = ()
    unparsable_calls: tuple[UnparsableCall, ...] = ()
    logprobs: tuple[float, ...] | None = None
    """Natural-log probability of each generated token, where the provider gives them."""
    first_tokens: tuple[TokenLogprob, ...] = ()
    """The likeliest first tokens, likeliest first; asked for by `GenerationSettings.alternatives`, and empty where the provider gives none."""
    stop: Literal["stop", "length", "tool_calls", "refusal"] = "stop"
    unknown_end: str = Field(default="", exclude_if=lambda word: not word)
    """The provider's word for why it ended, where talm-sim does not know it; "none" where the provider gave none."""
    calls_from_text: bool = Field(default=False, exclude_if=lambda read: not read)
    """Whether its calls were read from its text, as its provider reported none."""
    provider_state: JsonObject | None = Field(default=None, exclude_if=lambda state: state is None, repr=False)
    """What its provider wants back with it, as it came: the model's name under `model`, and its signed or encrypted thought. Nobody else is
    shown it."""
    usage: Usage = Usage()
    user_turn: int = 0
    """Which of the scenario's `user_turns` it belongs to, from 0: how often the agent had answered before."""
    reminded: bool = False
    """Whether it called nothing though only a call of `Finish` ends the episode, and a reminder answered it."""
    perturbations: tuple[PerturbationLog, ...] = Field(default=(), exclude_if=lambda logs: not logs)
    """Those of the model that watched this generation, or did not apply to it, in the order given; their counts are of it alone."""

    @property
    def written(self) -> str:
        """What it wrote as its answer, with thinking tags and tool-call markup, but without a reasoning form: what judges read."""
        return self.raw_text if self.answered is None else self.answered

    @property
    def is_silent(self) -> bool:
        """Whether it holds nothing to act on: no call, no attempt at one, and no text but thought."""
        said = self.text if self.answered is None else self.answered
        return not (self.tool_calls or self.unparsable_calls or said.strip())

    @property
    def final_answer(self) -> str | None:
        """The answer that its call of `Finish` gives, a value that is no text as JSON; None where it makes no such call."""
        given = (call.arguments.get("final_answer") for call in self.tool_calls if call.name == FINISH)
        answer = next((one for one in given if one is not None), None)
        return answer if answer is None or isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    @property
    def said(self) -> str:
        """What it says to the user: the answer that its call of `Finish` gives, else its text."""
        return self.text if self.final_answer is None else self.final_answer


class Origin(StrEnum):
    """Where a tool result came from."""

    LIVE = "live"
    RECORDED = "recorded"
    PERTURBED = "perturbed"
    """No request was made: a perturbation or the argument check answered."""


class ToolEvent(FrozenModel):
    """One executed tool call, successful or not."""

    type: Literal["tool"] = "tool"
    turn: int
    """Index of the model turn that made the call."""
    call_id: str
    name: str
    arguments: JsonObject = Field(default_factory=dict)
    result: str = ""
    """What the model was shown, as JSON text."""
    ok: bool
    """Whether a readable 2xx answer reached the model."""
    status: int | None = None
    """HTTP status; None where no answer came (timeout, reset) or no request was made."""
    error: str = ""
    """Why `ok` is False: `unknown_tool`, `invalid_arguments`, `timeout`, `connection_reset`, `http_404`, `malformed_body`,
    `answer_too_large`, `not_executable` (the tool is only described), ..."""
    perturbations: tuple[PerturbationLog, ...] = ()
    """Those that watched this call, or did not apply to it, in the order given; their counts are of this call alone."""
    called_as: str = Field(default="", exclude_if=lambda name: not name)
    """The name that the model wrote, where a perturbation had renamed the tool; empty otherwise."""
    origin: Origin = Origin.LIVE
    writes: bool = Field(default=False, exclude_if=lambda writes: not writes)
    """Whether the call may have changed data: its tool is not declared to only read. Traces and older episodes do not say so."""
    state_before: str = Field(default="", exclude_if=lambda digest: not digest)
    """Digest of the state of the episode's own tools before the call; empty where their source does not give one."""
    state_after: str = Field(default="", exclude_if=lambda digest: not digest)
    """The same after it: the call changed the state where the two differ."""
    elapsed_ms: float = 0.0

    @property
    def mistaken(self) -> bool:
        """Whether it failed by the agent's own mistake, so that it never reached its tool."""
        return self.error in _OWN_MISTAKES

    @property
    def broken(self) -> bool:
        """Whether the tool failed, or its answer was damaged and read."""
        return (not self.ok and not self.mistaken) or any(log.seen for log in self.perturbations)


_OWN_MISTAKES = frozenset({"unknown_tool", "invalid_arguments", "unparsable_arguments"})


class HumanEvent(FrozenModel):
    """One thing that was put to the person, and the answer: a question, a call to approve, or a form."""

    type: Literal["human"] = "human"
    turn: int
    call_id: str
    question: str
    """What was asked; of a call to approve or a form, the same in words."""
    answer: str
    """The words of the answer; of a call to approve or a form, the decision in words."""
    responder: str
    """Who answered: terminal, recorded, simulated, queue, ..."""
    name: str = Field(default="", exclude_if=lambda name: not name)
    """What the person who answered calls themselves; empty where they gave no name."""
    request: PersonRequest | None = Field(default=None, exclude_if=lambda request: request is None)
    """The call to approve, or the form; None for a question."""
    decision: Decision | None = Field(default=None, exclude_if=lambda decision: decision is None)
    """What was decided about it; None for a question."""
    by: Literal["tool", "words", "interrupt", "policy", "elicitation"] = "tool"
    """How it was asked: by a call of `ask_human`, in the words of a message, by an interrupt of the agent's own graph, by the run's rule that
    a person approves such calls, or by a tool while it ran."""
    declined: Declined = ""
    """`idk`: the person does not know; `skip`: the person does not want to answer; `timeout`: nobody answered in time; `limit`: nobody was
    asked, as a limit of questions was reached."""
    appropriate: bool | None = None
    """Whether the person marked the question as appropriate; None where they did not mark it."""
    asked_at: float = 0.0
    """Unix time in seconds."""
    answered_at: float = 0.0

    @property
    def kind(self) -> Literal["question", "approval", "form"]:
        """What was put to the person."""
        return "question" if self.request is None else self.request.kind

    @property
    def unanswered(self) -> bool:
        """Whether nobody answered: in time, or because a limit of questions was reached."""
        return self.declined in ("timeout", "limit")


Event = Annotated[ToolEvent | HumanEvent, Field(discriminator="type")]


class Termination(StrEnum):
    """Why an episode ended. Errors are data, never a score of 0."""

    ANSWERED = "answered"
    SKIPPED = "skipped"
    ASSESSED = "assessed"
    """Ended after the awareness questions, as the run was told to."""
    TURN_LIMIT = "turn_limit"
    TOKEN_LIMIT = "token_limit"
    CONTEXT_OVERFLOW = "context_overflow"
    BLOCKED = "blocked"
    """The provider withheld what the model said, or refused the request by its content."""
    CANCELLED = "cancelled"
    REPLAY_MISS = "replay_miss"
    AGENT_ERROR = "agent_error"
    TOOL_ERROR = "tool_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"

    @property
    def completed(self) -> bool:
        """Whether the agent's behaviour, not our machinery or the model's size, decided the end; only such episodes enter a rate."""
        return self not in _NOT_SCORED

    @property
    def failed(self) -> bool:
        """Whether the run did not do what it should have."""
        return self in _FAILED


_FAILED = frozenset({Termination.REPLAY_MISS, Termination.INFRASTRUCTURE_ERROR})
_NOT_SCORED = _FAILED | {Termination.BLOCKED, Termination.CANCELLED, Termination.CONTEXT_OVERFLOW}


def episode_id(scenario_id: str, epoch: int) -> str:
    """Return the id of a scenario's episode in an epoch: `<scenario>` for the first one, `<scenario>@<epoch>` for later ones."""
    return scenario_id if epoch == 1 else f"{scenario_id}@{epoch}"


class Episode(FrozenModel):
    """One agent run over one scenario: everything a judge may ever need."""

    id: str
    """See `episode_id`."""
    scenario_id: str
    group: str
    epoch: int = 1
    attempt: int = 1
    model: str
    human: str = "none"
    """The responder the run was configured with."""
    tools: str = ""
    """How its tools were reached: `live`, `replay` or `record`; empty where it has none."""
    awareness: tuple[AwarenessAnswer, ...] = ()
    model_turns: tuple[ModelTurn, ...] = ()
    events: tuple[Event, ...] = ()
    perturbations: tuple[PerturbationLog, ...] = ()
    details: JsonObject = Field(default_factory=dict)
    """What its task alone keeps of it, as JSON; the task reads it."""
    answer: str = ""
    values: JsonObject | None = Field(default=None, exclude_if=lambda values: values is None)
    """What it gives for each fact, by name, where the run takes values in place of words; None where its answer is read as words."""
    termination: Termination
    error: str = ""
    traceback: str = ""
    """Where an own agent raised its error, without secrets and without the middle of a very long one; empty where it raised none."""
    injected: str = Field(default="", exclude_if=lambda name: not name)
    """The injected fault of the model that ended it, as it was written: a termination in `agent_error` that is no crash."""
    remarks: Mapping[str, int] = Field(default_factory=dict, exclude_if=lambda remarks: not remarks)
    """How often something happened that a reader should know: `cut` results of tools, turns with `calls from text`, turns that were
    `streamed` to an own agent, and `past NAME` for calls of a graph's own tool that the environment does not have."""
    usage: Usage = Usage()
    started_at: float = 0.0
    elapsed_s: float = 0.0

    def __repr__(self) -> str:
        turns, calls = len(self.model_turns), len(self.tool_events)
        return f"Episode({self.id!r}, {self.termination.value!r}, model={self.model!r}, {turns} model turns, {calls} tool calls)"

    def _repr_html_(self) -> str | None:
        return render_episode(self)

    @property
    def tool_events(self) -> tuple[ToolEvent, ...]:
        """Tool calls in the order they were made."""
        return tuple(event for event in self.events if isinstance(event, ToolEvent))

    @property
    def human_events(self) -> tuple[HumanEvent, ...]:
        """What was put to the person, in order: questions, calls to approve and forms."""
        return tuple(event for event in self.events if isinstance(event, HumanEvent))

    @property
    def questions(self) -> tuple[HumanEvent, ...]:
        """Questions to the person in the order they were asked; calls to approve and forms are none."""
        return tuple(event for event in self.human_events if event.request is None)

    @property
    def answered(self) -> bool:
        """Whether it ended with words to its user: an answer, or the text of the last turn that a limit allowed."""
        at_limit = self.termination in (Termination.TURN_LIMIT, Termination.TOKEN_LIMIT)
        return self.termination is Termination.ANSWERED or (at_limit and bool(self.answer.strip()))

    @property
    def gave_no_answer(self) -> bool:
        """Whether its last turn is silent: the model ended without a word, or was cut off before it said one.

        What an injected fault silenced is the fault's, and an agent that has words of its own answers with them.
        """
        last = self.model_turns[-1] if self.model_turns else None
        if last is None or not last.is_silent or any(log.injected is not None for log in last.perturbations):
            return False
        return self.answer.strip() in ("", last.written.strip())

    @property
    def crashed(self) -> bool:
        """Whether the agent failed on its own: it raised an error, took too long or returned nothing, and no injected fault was the cause."""
        return self.termination is Termination.AGENT_ERROR and not self.injected

    def watched_model(self, log: PerturbationLog) -> bool:
        """Return whether one of its perturbations watched generations of the model, and not tools."""
        return log.injected is not None or any(one.place == log.place for turn in self.model_turns for one in turn.perturbations)

    @property
    def saw_model(self) -> bool:
        """Whether the episode contains a model's generation; a plain function's turns have no tokens to count."""
        return self.usage != Usage()

    def awareness_of(self, kind: AwarenessKind) -> AwarenessValue | None:
        """Return the parsed answer to the question of `kind`; None if it was not asked."""
        return next((a.value for a in self.awareness if a.kind == kind), None)
