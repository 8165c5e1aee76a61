"""What a run and its workers tell each other: JSON documents over pipes, each behind its length."""

from __future__ import annotations

import struct
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from talm_sim.agent.asks import PendingQuestion
from talm_sim.agent.humans import HumanReply
from talm_sim.errors import PrerequisiteError, RefusedError, ToolsGoneError
from talm_sim.models.metering import Count
from talm_sim.runs.events import RequestRetried, ServersChanged, ToolsRestarted
from talm_sim.types import Episode, Event, ModelTurn, Verdict

__all__ = [
    "FROM_WORKER",
    "LENGTH",
    "TO_WORKER",
    "AskService",
    "Failed",
    "Finished",
    "FromWorker",
    "Logged",
    "Open",
    "Paused",
    "Play",
    "Ready",
    "ServiceAt",
    "Spent",
    "ToWorker",
    "Told",
    "Withdrawn",
    "WorkerError",
    "frame",
]

LENGTH: Final = struct.Struct(">Q")
"""What precedes each document: how many bytes it has."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)


class Open(_Message):
    """The first message to a worker: what the run is."""

    what: Literal["open"] = "open"
    config: str
    """The run's configuration, as JSON, with every automatic value decided."""
    created: str
    """When the run was created."""
    path: str
    """The run's directory."""
    modules: tuple[str, ...]
    """The user's modules, which the process that owns the run has imported."""
    service: str = ""
    """Address of the built-in tools; empty where the run has none."""
    import_path: tuple[str, ...]
    """Where the run finds modules."""
    python_path: str | None
    """PYTHONPATH as the run has it, for the processes that the user's code starts; None where it is not set."""
    log_level: int


class Play(_Message):
    """An episode to play, or to continue."""

    what: Literal["play"] = "play"
    number: int
    scenario: str
    """Its id: the worker reads the scenario from the run."""
    epoch: int
    attempt: int
    resume: dict[str, HumanReply] | None
    state: str | None
    """`Waiting.state`, as JSON."""


class ServiceAt(_Message):
    """The answer to `AskService`."""

    what: Literal["service"] = "service"
    number: int
    address: str
    died: str
    error: str = ""
    """Why there are no tools any more."""


class Ready(_Message):
    """The worker has opened all it needs."""

    what: Literal["ready"] = "ready"
    number: Literal[0] = 0


class Finished(_Message):
    """An episode is finished, and judged by the judges that need nothing else."""

    what: Literal["finished"] = "finished"
    number: int
    episode: Episode
    verdicts: tuple[Verdict, ...]


class Paused(_Message):
    """An episode waits for a person."""

    what: Literal["paused"] = "paused"
    number: int
    questions: tuple[PendingQuestion, ...]
    model_turns: tuple[ModelTurn, ...]
    events: tuple[Event, ...]
    state: str
    """`Waiting.state`, as JSON."""
    forms: bool
    """Whether a tool waits for the answer while a call of it runs."""
    held: bool
    """Whether only the worker can continue it."""


class WorkerError(RuntimeError):
    """A bug in a worker; the message is its traceback."""


class Failed(_Message):
    """An episode, or the opening (number 0), was ended by an error."""

    what: Literal["failed"] = "failed"
    number: int
    kind: str
    """Name of the error's class, of those that the user can fix; empty for any other."""
    text: str
    """The message of an error that the user can fix; the traceback of any other."""
    starts_again: bool = False
    """Whether the episode starts again: the user's code had blocked it."""

    def error(self) -> Exception:
        """Return the error, to be raised here."""
        if not self.kind:
            return WorkerError(self.text)
        return {RefusedError.__name__: RefusedError, ToolsGoneError.__name__: ToolsGoneError}.get(self.kind, PrerequisiteError)(self.text)


class Withdrawn(_Message):
    """A tool no longer waits for some forms."""

    what: Literal["withdrawn"] = "withdrawn"
    number: int
    """Of the `Paused`."""
    forms: tuple[str, ...]


class Spent(_Message):
    """What the models of the worker have been asked so far."""

    what: Literal["spent"] = "spent"
    counts: tuple[tuple[str, str, Count], ...]
    """Part, model and count."""


class Told(_Message):
    """An event that the run reports."""

    what: Literal["told"] = "told"
    event: RequestRetried | ServersChanged | ToolsRestarted


class Logged(_Message):
    """A line of the log."""

    what: Literal["logged"] = "logged"
    level: int
    logger: str
    text: str


class AskService(_Message):
    """The built-in tools do not answer; where are they?"""

    what: Literal["ask service"] = "ask service"
    number: int
    address: str


ToWorker = Annotated[Open | Play | ServiceAt, Field(discriminator="what")]
FromWorker = Annotated[
    Ready | Finished | Paused | Failed | Withdrawn | Spent | Told | Logged | AskService,
    Field(discriminator="what"),
]
TO_WORKER: TypeAdapter[ToWorker] = TypeAdapter(ToWorker)
FROM_WORKER: TypeAdapter[FromWorker] = TypeAdapter(FromWorker)


def frame(message: BaseModel) -> bytes:
    """Return a message as it is sent."""
    document = message.model_dump_json().encode()
    return LENGTH.pack(len(document)) + document
