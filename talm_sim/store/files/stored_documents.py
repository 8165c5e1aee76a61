"""Read rows of a run's database as core types, one at a time, so that a run larger than the memory can be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError, field_validator

from talm_sim.errors import PrerequisiteError, format_names, line_to_copy, suggest_nearest
from talm_sim.store.files.database import DATABASE, check_stored, unpack
from talm_sim.store.files.sealing import rows
from talm_sim.types import Decision, Episode, Event, Measured, ModelTurn, PersonRequest, Scenario, Termination, Verdict

BLIND = "blind"
"""Key of the small fact about a run that says so; see `is_blind`."""
IGNORED = "ignored"
"""Fact about a run: how many requests had a part that recordings ignore, and of how many."""
LEFT_OUT = "left_out"
"""Fact about a run: by model, the fields that its servers refuse."""
MIXED = "mixed"
"""Key of the small fact that a session reached the tools otherwise than the run was begun with."""
REPLACEABLE = "replaceable"
"""Key of what is kept of the tools that a person can replace, by name."""

_TOLD = 1_000
"""Faults of a document of which the first is told: of more, the list alone would fill the memory."""
_T = TypeVar("_T", bound=BaseModel)
_V = TypeVar("_V")
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_REQUEST: TypeAdapter[PersonRequest] = TypeAdapter(PersonRequest)
_DECISION = TypeAdapter(Decision)


_Count = Annotated[int, Field(ge=0, le=2**53)]


class _PerturbedRecord(BaseModel):
    calls: _Count
    counts: list[Annotated[list[_Count], Field(min_length=3, max_length=4)]]


class _ModelFaultsRecord(BaseModel):
    number: _Count
    sent: dict[str, _Count]
    errors: dict[Annotated[str, Field(pattern=r"^[0-9]{1,4}$")], str] = {}
    previous: Annotated[dict[str, Any], AfterValidator(ModelTurn.model_validate)] | None = None


class _State(BaseModel):
    """`Waiting.state`, as far as an episode that goes on does not look for itself."""

    asks: dict[str, _Count] = {}
    perturbations: _PerturbedRecord | Annotated[dict[str, Any], Field(max_length=0)] = {}
    model_faults: _ModelFaultsRecord | Annotated[dict[str, Any], Field(max_length=0)] = {}
    played_tools: dict[str, _Count] = {}
    played_model: dict[str, _Count] = {}
    started_at: FiniteFloat = 0.0
    active_s: FiniteFloat = 0.0
    cut_off: list[str] = []


class WaitingBody(BaseModel):
    """The record of an episode that waits for a person."""

    state: dict[str, Any]
    """`Waiting.state`."""
    progress: list[dict[str, Any]]
    """`Question.progress`."""

    @field_validator("state")
    @classmethod
    def _of_an_episode(cls, state: dict[str, Any]) -> dict[str, Any]:
        _State.model_validate(state, strict=True)
        return state

    @field_validator("progress")
    @classmethod
    def _events(cls, progress: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for item in progress:
            if "type" in item:
                _EVENT.validate_python(item)
        return progress


def scenarios(conn: sqlite3.Connection) -> Iterator[Scenario]:
    """Yield the run's scenarios in order."""
    for _, scenario_id, _, body in rows(conn, "scenarios", "ORDER BY position"):
        yield scenario(body, scenario_id)


def episodes(conn: sqlite3.Connection, group: str | None = None, *, without: Set[str] = frozenset()) -> Iterator[Episode]:
    """Yield finished episodes, of one group or all, in the order of the plan: epoch by epoch, scenario by scenario."""
    which = "WHERE grp = ifnull(?, grp) ORDER BY epoch, position"
    if without:
        left = [name for (name,) in conn.execute(f"SELECT id FROM episodes {which}", (group,)) if name not in without]
        found: Iterable[tuple[Any, ...]] = (row for name in left for row in rows(conn, "episodes", "WHERE id = ?", (name,)))
    else:
        found = rows(conn, "episodes", which, (group,))
    for episode_id, *_, body in found:
        yield _parse(Episode, body, f"episode '{episode_id}'")


def episode(conn: sqlite3.Connection, episode_id: str) -> Episode | None:
    """Return one finished episode; None if it is not finished or unknown."""
    for *_, body in rows(conn, "episodes", "WHERE id = ?", (episode_id,)):
        return _parse(Episode, body, f"episode '{episode_id}'")
    return None


def crashed(conn: sqlite3.Connection) -> list[Episode]:
    """Return the finished episodes whose agent failed on its own, and not by an injected fault, in the order of the plan."""
    found = rows(conn, "episodes", "WHERE termination = ? ORDER BY epoch, position", (Termination.AGENT_ERROR,))
    return [episode for episode_id, *_, body in found if (episode := _parse(Episode, body, f"episode '{episode_id}'")).crashed]


def why_not_there(conn: sqlite3.Connection, episode_id: str, run: str) -> str:
    """Return why an episode cannot be read, and what to do about it."""
    if conn.execute("SELECT 1 FROM waiting WHERE episode_id = ?", (episode_id,)).fetchone():
        return f"episode '{episode_id}' is waiting for a person; see: {line_to_copy('talm-sim', 'answer', run)}"
    if conn.execute("SELECT 1 FROM attempts WHERE episode_id = ?", (episode_id,)).fetchone():
        return f"episode '{episode_id}' is not finished; continue with: {line_to_copy('talm-sim', 'resume', run)}"
    known = [row[0] for row in conn.execute("SELECT id FROM episodes ORDER BY epoch, position")]
    hint = f" Finished episodes: {format_names(known, 3)}." if known else " No episode is finished yet."
    return f"no episode '{episode_id}'.{suggest_nearest(episode_id, known) or hint}"


def verdicts(conn: sqlite3.Connection, judges: Sequence[tuple[str, str]]) -> Iterator[Verdict]:
    """Yield verdicts of the given judges, each named with its config digest, judge by judge in the order of the episodes' ids."""
    for judge, digest in judges:
        which = "WHERE judge = ? AND judge_config_digest = ? ORDER BY episode_id"
        for episode_id, *_, body in rows(conn, "verdicts", which, (judge, digest)):
            yield _parse(Verdict, body, f"verdict '{judge}' of '{episode_id}'")


def verdict(conn: sqlite3.Connection, episode_id: str, judge: str, judge_config_digest: str) -> Verdict | None:
    """Return one judge's verdict on one episode; None if it has not judged it."""
    which = "WHERE episode_id = ? AND judge = ? AND judge_config_digest = ?"
    for *_, body in rows(conn, "verdicts", which, (episode_id, judge, judge_config_digest)):
        return _parse(Verdict, body, f"verdict '{judge}' of '{episode_id}'")
    return None


def verdicts_under(conn: sqlite3.Connection, judge_config_digest: str, *judges: str, episode: str | None = None) -> Iterator[Verdict]:
    """Yield verdicts of one config digest by any of some judges, each a name or a pattern with `*`, in the order of the episodes' ids."""
    any_of = " OR ".join(["judge GLOB ?"] * len(judges))
    which, values = ("", ()) if episode is None else ("episode_id = ? AND ", (episode,))  # which the index finds
    which = f"WHERE {which}judge_config_digest = ? AND ({any_of}) ORDER BY episode_id, judge"
    for episode_id, judge, *_, body in rows(conn, "verdicts", which, (*values, judge_config_digest, *judges)):
        yield _parse(Verdict, body, f"verdict '{judge}' of '{episode_id}'")


def read_waiting(body: bytes, episode_id: str) -> WaitingBody:
    """Read what is kept of an episode that waits."""
    return _parse(WaitingBody, body, f"waiting episode '{episode_id}'")


def read_request(kind: str, text: str, episode_id: str) -> PersonRequest | None:
    """Read the call to approve or the form that an episode waits on; None for a question."""
    if kind == "question":
        return None
    what = f"{kind} of '{episode_id}'"
    request = _parse_text(_REQUEST, text, what)
    if request.kind != kind:
        raise PrerequisiteError(f"{DATABASE}: {what} is damaged: it is a request of kind {request.kind}; restore the file from a copy.")
    return request


def read_decision(text: str, episode_id: str) -> Decision | None:
    """Read what was decided about it; None where a question was answered."""
    return _parse_text(_DECISION, text, f"decision of '{episode_id}'") if text else None


def scenario(body: bytes, scenario_id: str) -> Scenario:
    """Read one scenario."""
    return _parse(Scenario, body, f"scenario '{scenario_id}'")


def judges(conn: sqlite3.Connection) -> list[tuple[str, str]] | None:
    """Return the judges the run was last judged with, each with its config digest; None if it was not judged yet."""
    return meta(conn, "judges", list[tuple[str, str]])


def failed_verdicts(conn: sqlite3.Connection) -> dict[str, int]:
    """Count the failed verdicts of the judges that last judged the run, by judge; leave out those without any."""
    query = "SELECT count(*) FROM verdicts WHERE judge = ? AND judge_config_digest = ? AND failed"
    found = {judge: conn.execute(query, (judge, digest)).fetchone()[0] for judge, digest in judges(conn) or ()}
    return {judge: number for judge, number in found.items() if number}


def imported_judges(conn: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the judges whose verdicts came with an imported run and cannot be made again here; none for a run of our own."""
    return meta(conn, "imported_judges", list[tuple[str, str]]) or []


def measures(conn: sqlite3.Connection) -> dict[str, Measured]:
    """Return the measures of the run's `judges` by name, as declared when they judged; those of an imported run declare nothing."""
    return meta(conn, "measures", dict[str, Measured]) or {}


def meta(conn: sqlite3.Connection, key: str, kind: type[_V]) -> _V | None:
    """Return a small fact about the run, which is a `kind`; None if it is not set."""
    try:
        for _, value in rows(conn, "meta", "WHERE key = ?", (key,)):
            check_stored(value.encode(errors="replace"), f"'{key}'")
            return TypeAdapter(kind).validate_json(value)
        return None
    except ValidationError as err:
        raise PrerequisiteError(f"{DATABASE}: '{key}' is damaged: {_summarize_fault(err)}; restore the file from a copy.") from None


def is_blind(conn: sqlite3.Connection) -> bool:
    """Return whether people who answer the run's questions are not shown what the user knows; it holds for all sessions after a blind one."""
    return meta(conn, BLIND, bool) or False


def _parse_text(kind: TypeAdapter[_V], text: str, what: str) -> _V:
    check_stored(text.encode(errors="replace"), what)
    try:
        return kind.validate_json(text)
    except ValidationError as err:
        raise PrerequisiteError(f"{DATABASE}: {what} is damaged: {_summarize_fault(err)}; restore the file from a copy.") from None


def _parse(kind: type[_T], body: bytes, what: str) -> _T:
    try:
        return kind.model_validate_json(unpack(body, what))
    except ValidationError as err:
        raise PrerequisiteError(f"{DATABASE}: {what} is damaged: {_summarize_fault(err)}; restore the file from a copy.") from None


def _summarize_fault(err: ValidationError) -> str:
    if err.error_count() > _TOLD:
        return f"{err.error_count():,} faults"
    first = err.errors()[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def started_episodes(conn: sqlite3.Connection) -> list[str]:
    """Return the ids of the episodes that were ever begun, sorted."""
    rows = conn.execute("SELECT id FROM episodes UNION SELECT episode_id FROM attempts UNION SELECT episode_id FROM waiting ORDER BY 1")
    return [row[0] for row in rows]
