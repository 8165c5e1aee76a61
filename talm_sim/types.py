"""The core types every room shares: frozen pydantic models, so an episode is one JSON document and can be scored again offline."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AwarenessAnswer",
    "AwarenessKind",
    "AwarenessValue",
    "Episode",
    "Event",
    "Fact",
    "Facts",
    "GoldCall",
    "HumanEvent",
    "JsonObject",
    "Missing",
    "MissingKind",
    "ModelTurn",
    "Origin",
    "PerturbationLog",
    "Rate",
    "Record",
    "Scenario",
    "Source",
    "Target",
    "Termination",
    "ToolCall",
    "ToolEvent",
    "ToolSpec",
    "Turn",
    "UnparsableCall",
    "Usage",
    "Verdict",
    "episode_id",
]

JsonObject = dict[str, Any]
"""A JSON object, as a JSON Schema or a call's arguments."""


class Record(BaseModel):
    """A frozen value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- what can be done -------------------------------------------------------------------------------------------------------------------
class ToolSpec(Record):
    """One tool as the model is told of it."""

    name: str
    """Unique within an environment; letters, digits and underscores."""
    category: str = ""
    description: str = ""
    parameters: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments, always of type object."""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = ""
    """Path below the tools' base address; `{name}` parts are filled from the arguments."""
    query: tuple[str, ...] = ()
    """Arguments that travel in the query string; what is neither there nor in the path is the JSON body's."""
    human_replaceable: bool = False
    """Whether a person can stand in for the tool with minimal effort (Fail-TaLMs, section 3.2)."""

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the arguments that must be given."""
        return tuple(self.parameters.get("required", ()))


class ToolCall(Record):
    """One call a model made, already parsed into an object of arguments."""

    id: str
    name: str
    arguments: JsonObject = Field(default_factory=dict)


class UnparsableCall(Record):
    """A call the model wrote that is no call: malformed JSON, or arguments that are not an object."""

    id: str
    name: str
    raw: str
    reason: str


class GoldCall(Record):
    """A call a correct solution makes."""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)


# --- what is asked ----------------------------------------------------------------------------------------------------------------------
class Fact(Record):
    """One fact a correct answer states."""

    name: str
    value: str | int | float | bool
    accepted: tuple[str, ...] = ()
    """Other spellings that count as the same fact."""
    call: int | None = None
    """Index of the gold call whose result holds the fact; None for a fact without a call."""
    pointer: str = ""
    """JSON pointer (RFC 6901) to the value in that call's result."""


class Facts(Record):
    """Target of task `talm`: all of `required` stand in the final answer."""

    type: Literal["facts"] = "facts"
    required: tuple[Fact, ...]


Target = Facts
"""What a correct episode shows. Tasks with other targets add theirs here, told apart by `type`."""


class MissingKind(StrEnum):
    """What was taken away from a scenario."""

    ARGUMENT = "argument"
    TOOL = "tool"


class Missing(Record):
    """What is missing from a scenario, and what a person would say if asked for it."""

    kind: MissingKind
    name: str
    """The argument's or tool's name."""
    value: Any = None
    """The removed argument value; None for a tool."""
    removed_text: str = ""
    """The words taken out of the query."""
    human_answer: str | None = None
    """A natural answer of a person asked for it; None where no person could help."""


class Turn(Record):
    """What the user says at once. A single query is one turn."""

    messages: tuple[dict[str, str], ...]
    """Chat messages, each with `role` and `content`."""
    gold_calls: tuple[GoldCall, ...] = ()


class Source(Record):
    """Where a scenario comes from."""

    name: str = ""
    base: str = ""
    """Id of the scenario this one was derived from (the paired `perfect` one); empty if it is its own base."""
    licence: str = ""
    url: str = ""


class Scenario(Record):
    """One task instance."""

    id: str
    task: str = "talm"
    group: str
    """Split, subset or category. For `talm`: perfect, underspecified, replaceable, non-replaceable, no-tools."""
    turns: tuple[Turn, ...] = Field(min_length=1)
    tools: tuple[str, ...] = ()
    """Names of the tools offered, before perturbations."""
    target: Target | None = None
    missing: Missing | None = None
    perturbations: tuple[str, ...] = ()
    """Perturbations that belong to the scenario, written as on the command line, e.g. `mask:tool=airport_info`."""
    language: str = "en"
    source: Source = Source()

    @property
    def query(self) -> str:
        """Text of the last user message of the first turn."""
        return next((m["content"] for m in reversed(self.turns[0].messages) if m["role"] == "user"), "")

    @property
    def gold_calls(self) -> tuple[GoldCall, ...]:
        """Gold calls of all turns, in order."""
        return tuple(call for turn in self.turns for call in turn.gold_calls)

    @property
    def base(self) -> str:
        """Id shared by a scenario and the variants derived from it."""
        return self.source.base or self.id


# --- what happened ----------------------------------------------------------------------------------------------------------------------
class Usage(Record):
    """Tokens of one generation, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class ModelTurn(Record):
    """One generation."""

    raw_prompt: str = ""
    """What this turn added to the conversation, as text or JSON; the whole prompt is these joined."""
    raw_text: str = ""
    """What the model wrote, unchanged."""
    text: str = ""
    """`raw_text` without reasoning and without tool-call markup."""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    unparsable_calls: tuple[UnparsableCall, ...] = ()
    logprobs: tuple[float, ...] | None = None
    """Natural-log probability of each generated token, where the provider gives them."""
    stop: Literal["stop", "length", "tool_calls", "refusal"] = "stop"
    usage: Usage = Usage()


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


class AwarenessAnswer(Record):
    """The agent's answer to one awareness question (Fail-TaLMs, section 4.2)."""

    kind: AwarenessKind
    value: AwarenessValue
    raw: str = ""
    usage: Usage = Usage()


class PerturbationLog(Record):
    """What one perturbation did: `armed` counts the calls (or, for a mask, tools) it watched, `fired` those it hit."""

    name: str
    armed: int = 0
    fired: int = 0


class Origin(StrEnum):
    """Where a tool result came from."""

    LIVE = "live"
    RECORDED = "recorded"
    PERTURBED = "perturbed"
    """No request was made: a perturbation or the argument check answered."""


class ToolEvent(Record):
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
    """Why `ok` is False: `unknown_tool`, `invalid_arguments`, `timeout`, `connection_reset`, `http_404`, `malformed_body`, ..."""
    perturbation: PerturbationLog | None = None
    """The perturbation that fired on this call, if one did."""
    origin: Origin = Origin.LIVE
    elapsed_ms: float = 0.0


class HumanEvent(Record):
    """One question to the human and its answer."""

    type: Literal["human"] = "human"
    turn: int
    call_id: str
    question: str
    answer: str
    responder: str
    """Who answered: terminal, recorded, simulated, queue, ..."""
    declined: Literal["", "idk", "skip"] = ""
    """`idk`: the person does not know; `skip`: the person does not want to answer."""
    asked_at: float = 0.0
    """Unix time in seconds."""
    answered_at: float = 0.0


Event = Annotated[ToolEvent | HumanEvent, Field(discriminator="type")]


class Termination(StrEnum):
    """Why an episode ended. Errors are data, never a score of 0."""

    ANSWERED = "answered"
    SKIPPED = "skipped"
    TURN_LIMIT = "turn_limit"
    TOKEN_LIMIT = "token_limit"
    CONTEXT_OVERFLOW = "context_overflow"
    CANCELLED = "cancelled"
    REPLAY_MISS = "replay_miss"
    AGENT_ERROR = "agent_error"
    TOOL_ERROR = "tool_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"

    @property
    def completed(self) -> bool:
        """Whether the agent's behaviour, not our machinery, decided the end; only such episodes enter a rate."""
        return self not in _NOT_SCORED


_NOT_SCORED = frozenset({Termination.CANCELLED, Termination.REPLAY_MISS, Termination.INFRASTRUCTURE_ERROR})


def episode_id(scenario_id: str, epoch: int) -> str:
    """Id of a scenario's episode in an epoch: `<scenario>` for the first one, `<scenario>@<epoch>` for later ones."""
    return scenario_id if epoch == 1 else f"{scenario_id}@{epoch}"


class Episode(Record):
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
    awareness: tuple[AwarenessAnswer, ...] = ()
    model_turns: tuple[ModelTurn, ...] = ()
    events: tuple[Event, ...] = ()
    perturbations: tuple[PerturbationLog, ...] = ()
    answer: str = ""
    termination: Termination
    error: str = ""
    usage: Usage = Usage()
    started_at: float = 0.0
    elapsed_s: float = 0.0

    @property
    def tool_events(self) -> tuple[ToolEvent, ...]:
        """Tool calls in the order they were made."""
        return tuple(event for event in self.events if isinstance(event, ToolEvent))

    @property
    def human_events(self) -> tuple[HumanEvent, ...]:
        """Questions to the human in the order they were asked."""
        return tuple(event for event in self.events if isinstance(event, HumanEvent))

    def awareness_of(self, kind: AwarenessKind) -> AwarenessValue | None:
        """The parsed answer to the question of `kind`; None where it was not asked."""
        return next((a.value for a in self.awareness if a.kind == kind), None)


class Verdict(Record):
    """What one judge says of one episode."""

    episode_id: str
    judge: str
    judge_config_digest: str = ""
    value: bool | None
    """None: the judge does not apply to this episode, or could not decide (see `explanation`)."""
    votes: tuple[bool, ...] = ()
    explanation: str = ""


class Rate(Record):
    """A share with its Wilson 95 % interval; `value`, `low` and `high` are None for n = 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None
