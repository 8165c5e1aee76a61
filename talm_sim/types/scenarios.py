"""The types of what is asked: scenarios, what is missing from them, and what a correct episode shows."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    Tag,
    TypeAdapter,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from talm_sim.types.base import FrozenModel
from talm_sim.types.tools import GoldCall, ToolCall


class Fact(FrozenModel):
    """One fact a correct answer states."""

    name: str
    value: str | int | float | bool
    accepted: tuple[str, ...] = ()
    """Other names of the same fact. Spellings that follow from the value (`7 April`, `1,204 km`, `F-362`) need none."""
    unit: str = ""
    """What the value is measured in (`km`, `MeV`), or its currency (`NOK`); an answer in another unit is converted."""
    asks: tuple[str, ...] = ()
    """Words of the request, or others for them, that the fact answers: a value beside those of another fact is not this one."""
    complete: StrictBool = False
    """Whether the facts with the same `asks` are a whole list, so that another item beside them is wrong."""
    call: int | None = None
    """Index of the gold call whose result holds the fact; None for a fact without a call."""
    pointer: str = ""
    """JSON pointer (RFC 6901) to the value in that call's result."""

    @field_validator("asks")
    @classmethod
    def _asks_words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(one.strip() for one in value):
            raise ValueError("must not contain an empty text")
        return value

    @model_validator(mode="after")
    def _measures_a_number(self) -> Fact:
        if self.unit and isinstance(self.value, str) and not any(sign.isdigit() for sign in self.value):
            raise ValueError(f"`unit` is for numbers, and the value is '{self.value[:40]}'")
        return self


class Facts(FrozenModel):
    """Target of task `talm`: all of `required` are in the final answer."""

    type: Literal["facts"] = "facts"
    required: tuple[Fact, ...]


class Behaviour(StrEnum):
    """What a model can do with a request (When2Call, section 2.1); the names are those of the published data."""

    DIRECT = "direct"
    """Answers from what it knows: always wrong here, as every request needs a tool."""
    TOOL_CALL = "tool_call"
    REQUEST_FOR_INFO = "request_for_info"
    """Asks the user for what is missing."""
    CANNOT_ANSWER = "cannot_answer"
    """Says that it is unable to answer with the tools it has."""


class Option(FrozenModel):
    """One answer of a multiple-choice item."""

    behaviour: Behaviour
    text: str = Field(min_length=1)
    """What the model would write. A tool call is `{"name": ..., "arguments": {...}}`, which a template puts into the model's own form."""

    @field_validator("text")
    @classmethod
    def _refuse_empty(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("an option must not be empty")
        return value


class Choice(FrozenModel):
    """Target of task `when2call`: the behaviour that is right, and an answer of each kind to choose from."""

    type: Literal["choice"] = "choice"
    gold: Behaviour
    options: tuple[Option, ...] = Field(min_length=2)
    """One per behaviour, in the order of the data: the first of two equally likely ones is chosen."""
    tool_use: str = ""
    """Why the request needs a tool (section 2.2): `real_time`, `database` or `other`; empty if it was not classified."""
    target_tool: str = ""
    """JSON text of the tool that fits the request, whether or not enough is known to call it; empty where none is shown."""
    original_query: str = ""
    """What the source asked, before something was left out of it; empty if nothing was."""
    original_tools: tuple[str, ...] | None = None
    """What the source showed, before the fitting tool was taken away; None if none was."""

    @model_validator(mode="after")
    def _check_options(self) -> Choice:
        kinds = [option.behaviour for option in self.options]
        if len(set(kinds)) != len(kinds):
            raise ValueError("two options show the same behaviour")
        if self.gold not in kinds:
            raise ValueError(f"no option shows the gold behaviour {self.gold.value}")
        return self

    def text_of(self, behaviour: Behaviour) -> str | None:
        """Return the option that shows `behaviour`; None if there is none."""
        return next((option.text for option in self.options if option.behaviour is behaviour), None)


class YesNo(FrozenModel):
    """Target of task `awareness`: whether the request can be served with the tools shown, and what was done so that it cannot."""

    type: Literal["servable"] = "servable"
    gold: Literal["yes", "no"]
    relevant: tuple[str, ...] = Field(min_length=1)
    """Names of the tools the request needs, including those that were taken away."""
    swapped: dict[str, str] = Field(default_factory=dict)
    """Name of a needed tool to the name of the one shown in its place; empty if there is none."""
    made_by: str = ""
    """Who took something away: a model's name, or `rules`; empty for an original."""


class AcceptedCall(FrozenModel):
    """A call that is right, with every value that counts as right."""

    name: str
    arguments: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    """Each argument's accepted values; an empty text among them says that the argument may be left out, as BFCL writes it."""


class Calls(FrozenModel):
    """Target of task `refusal`: the calls that are right, that there be one, or that there be none."""

    type: Literal["calls"] = "calls"
    expected: Literal["calls", "any", "none"]
    """`calls`: those of `accepted`, in any order; `any`: at least one, whichever; `none`: no call at all, as no tool shown fits."""
    accepted: tuple[AcceptedCall, ...] = ()
    syntax: Literal["python", "java", "javascript"] = "python"
    """The language whose types the tools' parameters are written in."""
    cannot_answer: str = Field(default="", exclude_if=lambda text: not text)
    """How a refusal would be worded, where no call is right; `--propensity` compares it with a call. Empty for the listed refusals."""
    thought: str = Field(default="", exclude_if=lambda text: not text)
    """The thought that precedes the right answer in training rows, with its marks; no model is shown it, and no judge reads it."""


def _target_type(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(kind, str):
        return None
    return kind if kind in {"facts", "choice", "servable", "calls"} else "other"


Target = Annotated[
    Annotated[Facts, Tag("facts")]
    | Annotated[Choice, Tag("choice")]
    | Annotated[YesNo, Tag("servable")]
    | Annotated[Calls, Tag("calls")]
    | Annotated[dict[str, Any], Tag("other")],
    Discriminator(_target_type, custom_error_type="target_type", custom_error_message="needs a `type`, a text that says what it is"),
]
"""What a correct episode shows, by `type`. A target of an unknown type is kept as its JSON object, which its task reads."""


class MissingKind(StrEnum):
    """What was taken away from a scenario."""

    ARGUMENT = "argument"
    TOOL = "tool"
    UTTERANCE = "utterance"
    """Part of what the user said, whichever arguments it gave."""


class Missing(FrozenModel):
    """A blocker: one thing that is missing from a scenario, and what a person would say if asked for it."""

    kind: MissingKind
    name: str
    """The argument's or tool's name."""
    value: Any = None
    """The removed argument value; None for a tool."""
    removed_text: str = ""
    """The words taken out of the query."""
    human_answer: str | None = None
    """A natural answer of a person asked for it; None if no person could help."""
    other: Any = None
    """Set where the gap shows only after a call: another value that fits. The tool's answer without the argument names both."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out `other` where it is not set: the digest of a scenario is the one it always had."""
        written: dict[str, Any] = write(self)
        return written if self.other is not None else {name: value for name, value in written.items() if name != "other"}


_CALLS: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(tuple[ToolCall, ...])


class Turn(FrozenModel):
    """What the user says at once, and everything up to the next time. A single query is one turn; a dialogue has several."""

    messages: tuple[dict[str, Any], ...]
    """Chat messages, each with `role` (`user`, `assistant`, `tool` or `system`) and `content`, a text. An assistant's calls are in
    `tool_calls`, each `{"id", "name", "arguments"}`; a tool's result names its call in `tool_call_id`. A turn that ends with the
    assistant is answered already; one that ends with the user is the agent's to answer.
    """
    gold_calls: tuple[GoldCall, ...] = ()
    """The tool calls of a right answer to this turn."""
    tools_added: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Those of the scenario's `tools` that the model is shown from this turn on. Called by name before, they run all the same."""

    @field_validator("messages")
    @classmethod
    def _of_somebody(cls, value: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        for number, message in enumerate(value):
            for key in ("role", "content"):
                if key not in message:
                    raise ValueError(f"message {number} has no `{key}`")
                if not isinstance(message[key], str):
                    raise ValueError(f"message {number}: `{key}` is not text")
            if not isinstance(message.get("tool_call_id", ""), str):
                raise ValueError(f"message {number}: `tool_call_id` is not text")
            _CALLS.validate_python(message.get("tool_calls", ()))
        return value


class Source(FrozenModel):
    """Where a scenario comes from."""

    name: str = ""
    base: str = ""
    """Id of the scenario this one was derived from (the paired `perfect` one); empty if it is its own base."""
    unchanged: bool = False
    """Whether nothing was taken away from that one, although its data set says that something was."""
    translation_of: str = Field(default="", exclude_if=lambda found: not found)
    """Id of the scenario in another language that this one says the same as; empty if it is not a translation."""
    licence: str = ""
    url: str = ""


class Scenario(FrozenModel):
    """One task instance."""

    id: str
    task: str = "talm"
    group: str
    """Split, subset or category. For `talm`: perfect, underspecified, replaceable, non-replaceable, no-tools. For `when2call`: the gold
    behaviour. For `awareness`: complete, replaced, removed."""
    turns: tuple[Turn, ...] = Field(min_length=1)
    tools: tuple[str, ...] = ()
    """Names of the environment's tools offered, before perturbations, those that a later turn adds included."""
    start: dict[str, Any] = Field(default_factory=dict, exclude_if=lambda start: not start)
    """What the episode's own tools start from, in the form of their source; empty for tools that start the same way everywhere."""
    shown_tools: tuple[str, ...] = ()
    """Tools that come with the scenario and are shown, never executed: each is the JSON text of a specification, unchanged because
    prompts contain it.
    """
    target: Target | None = None
    missing: tuple[Missing, ...] = ()
    """The blockers: all that is missing, each with its own answer. A file has none as null, one as its object, several as a list."""
    perturbations: tuple[str, ...] = ()
    """Perturbations that belong to the scenario, written as on the command line, e.g. `mask:tool=airport_info`."""
    alternatives: dict[str, tuple[GoldCall, ...]] = Field(default_factory=dict, exclude_if=lambda found: not found)
    """Tool to other calls of offered tools that give its facts as well."""
    language: str = "en"
    source: Source = Source()

    @field_validator("id")
    @classmethod
    def _names_it(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value

    @field_validator("missing", mode="before")
    @classmethod
    def _list_missing(cls, value: Any) -> Any:
        if value is None:
            return ()
        return value if isinstance(value, list | tuple) else (value,)

    @field_serializer("missing")
    def _write_missing(self, missing: tuple[Missing, ...]) -> Missing | list[Missing] | None:
        """Write as few brackets as suffice: the digest of a scenario with one blocker, or none, is the one it always had."""
        return [*missing] if len(missing) > 1 else missing[0] if missing else None

    @property
    def query(self) -> str:
        """What the user said last."""
        said = (message["content"] for turn in reversed(self.turns) for message in reversed(turn.messages) if message["role"] == "user")
        return next(said, "")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that it requires; none where its target is another."""
        return self.target.required if isinstance(self.target, Facts) else ()

    @property
    def gold_calls(self) -> tuple[GoldCall, ...]:
        """Gold calls of all turns, in order."""
        return tuple(call for turn in self.turns for call in turn.gold_calls)

    @property
    def user_turns(self) -> tuple[Turn, ...]:
        """The messages before each of the agent's answers: the turn it answers, after earlier turns that are already answered."""
        found: list[Turn] = []
        messages: list[dict[str, Any]] = []
        gold_calls: list[GoldCall] = []
        added: list[str] = []
        for number, turn in enumerate(self.turns, 1):
            messages += turn.messages
            gold_calls += turn.gold_calls
            added += turn.tools_added
            if number == len(self.turns) or not messages or messages[-1]["role"] != "assistant":
                # Each turn was validated already.
                found.append(Turn.model_construct(messages=tuple(messages), gold_calls=tuple(gold_calls), tools_added=tuple(added)))
                messages, gold_calls, added = [], [], []
        return tuple(found)

    @property
    def base(self) -> str:
        """Id shared by a scenario, the variants derived from it, and their translations."""
        return self.source.base or self.id

    @property
    def base_in_language(self) -> str:
        """Id of the scenario that this one was derived from, in this one's language: a translation `ID.vi` belongs to `BASE.vi`."""
        return self.base + self.id.removeprefix(self.original) if self.source.translation_of else self.base

    @property
    def original(self) -> str:
        """Id shared by a scenario and its translations; those of its variants have others."""
        return self.source.translation_of or self.id
