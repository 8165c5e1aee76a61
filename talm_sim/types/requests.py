"""The types of what an agent puts to a person besides a question: a call to approve, or a form; and of what the person decides."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from talm_sim.types.base import FrozenModel, JsonObject

Declined = Literal["", "idk", "skip", "timeout", "limit"]
"""Why there is no answer; empty where there is one."""

Action = Literal["approve", "edit", "reject", "respond", "accept", "decline", "cancel"]
"""What a person decides: the first four about a call, `respond` being an answer in its place; the last three about a form."""


class Approval(FrozenModel):
    """A tool call that waits for a person before it runs."""

    kind: Literal["approval"] = "approval"
    name: str
    """The tool's name."""
    arguments: JsonObject = Field(default_factory=dict)
    allowed: tuple[Action, ...] = ("approve", "edit", "reject", "respond")
    """The decisions that whoever asks can take."""
    description: str = ""
    """What whoever asks says of the call, as text."""
    repeatable: bool = Field(default=False, exclude_if=lambda repeatable: not repeatable)
    """Whether the call may be made twice, because it only reads or what it changes is the episode's own: to an agent that starts again, an
    approval or an edit is then given again. Of any other call the person is asked anew, as it may have run already."""
    parameters: JsonObject = Field(default_factory=dict, exclude_if=lambda schema: not schema)
    """JSON Schema that the arguments of an edited call must fit; empty where whoever asks gives none."""
    whole: JsonObject = Field(default_factory=dict, exclude_if=lambda schema: not schema)
    """The one they must fit in its place, where `parameters` says less."""
    same_tool: bool = Field(default=False, exclude_if=lambda same: not same)
    """Whether an edited call must be of the same tool."""
    may_have_run: bool = Field(default=False, exclude_if=lambda may: not may)
    """Whether the person is asked anew because a process was killed after they approved the call, so that it may have run."""

    @property
    def text(self) -> str:
        """The request in words."""
        written = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments.items())
        return f"Allow {self.name}({written})?"


class Form(FrozenModel):
    """Values that a tool asks of a person while it runs, each described by a JSON Schema (MCP elicitation, form mode)."""

    kind: Literal["form"] = "form"
    message: str
    """What the values are for, as text."""
    fields: JsonObject = Field(default_factory=dict)
    """JSON Schema of the values: an object whose properties are texts, numbers, booleans or choices."""
    source: str = ""
    """Who asks: the tool source's name."""

    @property
    def text(self) -> str:
        """The request in words."""
        return self.message


PersonRequest = Annotated[Approval | Form, Field(discriminator="kind")]


class Decision(FrozenModel):
    """What a person decided about an approval or a form."""

    action: Action
    name: str = Field(default="", exclude_if=lambda name: not name)
    """The tool to call, where the call was edited."""
    arguments: dict[str, Any] | None = Field(default=None, exclude_if=lambda given: given is None)
    """The arguments to call it with, where the call was edited."""
    message: str = Field(default="", exclude_if=lambda text: not text)
    """Why it was rejected, or what is said in the call's place."""
    content: dict[str, Any] | None = Field(default=None, exclude_if=lambda given: given is None)
    """The values of a form that was accepted."""

    @property
    def text(self) -> str:
        """The decision in words."""
        if self.action == "edit":
            return f"edit: {self.name}({json.dumps(self.arguments or {}, ensure_ascii=False)})"
        if self.action == "accept":
            return f"accept: {json.dumps(self.content or {}, ensure_ascii=False)}"
        return f"{self.action}: {self.message}" if self.message else self.action
