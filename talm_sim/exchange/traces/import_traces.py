"""Import the traces of an agent that ran elsewhere as a run: each becomes an episode of the scenario that it belongs to.

A file has them in any form: spans, or messages of any framework; as one document, one per line, or a session with a message per line.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.common.plain_files import LARGEST_DATA, LARGEST_DOCUMENT, read_bytes
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, format_names, line_to_copy
from talm_sim.exchange.traces.blocks import text_of
from talm_sim.exchange.traces.framework_messages import find_messages, is_message, named_scenario, read_trace, trace_of
from talm_sim.exchange.traces.read_spans import SpanReader, is_observation
from talm_sim.exchange.traces.trace import Trace
from talm_sim.exchange.traces.traced_episodes import episode_of, scenario_of
from talm_sim.scenarios.jsonl import numbered_lines, parse
from talm_sim.store.files.database import TooLargeError, check_size
from talm_sim.store.files.manifest import check_name, dataset_digest, describe_run
from talm_sim.store.files.records import write_episode
from talm_sim.store.files.sealing import insert_row
from talm_sim.store.files.store import create_run
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import AgentOptions, find_task, job_of
from talm_sim.tasks.registry import known_scenarios
from talm_sim.types import FINISH, Episode, Scenario, Termination, ToolSpec

_ABOUT: Final = "traces of an agent that ran elsewhere"
_MODELS: Final = "traces/several"
"""Model of a run whose traces are of several models; each episode names its own."""
_GIVE = "give OTLP/JSON spans, or messages of a framework"
_SESSION: Final = ("sessionId", "session_id", "thread_id", "conversation_id", "conversationId")
_TOO_LONG: Final = f"its texts are longer than {LARGEST_DOCUMENT >> 20} MiB, which is more than a run keeps of an episode"
_LIMITS: Final = {"nested too deeply", "a number is too long"}
_OTHER_SIGNALS = {"resourceLogs": "logs", "resourceMetrics": "metrics", "resourceProfiles": "profiles"}


@dataclass(slots=True)
class Matching:
    """The scenario that each trace belongs to.

    Attributes:
        scenarios: The scenario of each trace; None for one that belongs to none.
        by_id: How many name theirs.
        by_request: How many ask what one scenario asks.
        unknown: Ids that are named and that no scenario has.
        shared: How many ask what several scenarios ask.
        reworded: How many name a scenario and ask something else than it does.
    """

    scenarios: list[Scenario | None] = field(default_factory=list)
    by_id: int = 0
    by_request: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    shared: int = 0
    reworded: int = 0

    @property
    def unmatched(self) -> int:
        """How many belong to no scenario."""
        return self.scenarios.count(None)


@dataclass(frozen=True, slots=True)
class ImportedTraces:
    """A run that was imported.

    Attributes:
        not_scored: How many episodes enter no rate, by their termination.
        unanswered: How many tool calls have no result in their trace.
    """

    run: StoredRun
    file: TraceFile
    matching: Matching
    not_scored: Counter[Termination]
    unanswered: int


def import_traces(
    file: Path,
    run_dir: Path = Path("runs"),
    *,
    task: str = "talm",
    split: str = "all",
    scenarios: Path | None = None,
    run_id: str | None = None,
    command: str = "",
) -> ImportedTraces:
    """Import a file of traces as one run.

    A trace belongs to the scenario that its attribute or metadata `talm_sim.scenario.id` names, else to the one scenario whose first message
    of the user is its own. The others become episodes of scenarios without a target. Several traces of a scenario are its epochs.
    """
    found_task = find_task(task)
    try:
        found_task.groups(split)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--split: {err}") from None
    name = run_id or f"traces-{re.sub(r'[^A-Za-z0-9._-]+', '-', file.stem)}"
    check_name(name, "--run-id")
    read = read_traces(file)
    known = known_scenarios(found_task, split, scenarios)
    matching = _match_traces(read.traces, known)
    used, episodes = _episodes(read, matching, task)
    matching = matching if len(episodes) == len(matching.scenarios) else _match_traces(read.traces, known)
    notes = {"imported": _ABOUT, **_facts(file, read, matching, len(episodes))}
    place = run_dir / name
    if not place.exists():
        _write(_config(episodes, task, split, place), place, used, episodes, notes, command)
    elif ((kept := StoredRun(place).manifest).notes, kept.dataset_digest) != (notes, dataset_digest(used)):
        delete = line_to_copy("talm-sim", "runs", "delete", str(place))
        raise PrerequisiteError(f"{place}: is another run than {file} makes now; choose a --run-id, or delete it with: {delete}")
    ends = Counter(episode.termination for episode in episodes if not episode.termination.completed)
    unanswered = sum(map(_unanswered, episodes))
    return ImportedTraces(StoredRun(place), read, matching, ends, unanswered)


def _match_traces(traces: Sequence[Trace], scenarios: Sequence[Scenario]) -> Matching:
    """Find the scenario of each trace, by the id that it names, else by what its user asks first."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    by_request: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        by_request.setdefault(_request(scenario), []).append(scenario)
    found = Matching()
    for trace in traces:
        request = trace.request.strip()
        asked = by_request.get(request, []) if request else []
        if trace.scenario:
            named = by_id.get(trace.scenario)
            found.scenarios.append(named)
            found.by_id += named is not None
            found.reworded += named is not None and _request(named) != request
            found.unknown.update([trace.scenario] if named is None else [])
        else:
            found.scenarios.append(asked[0] if len(asked) == 1 else None)
            found.by_request += len(asked) == 1
            found.shared += len(asked) > 1
    return found


def _request(scenario: Scenario) -> str:
    """Return what a scenario's user says first."""
    said = (message["content"] for turn in scenario.turns for message in turn.messages if message["role"] == "user")
    return str(next(said, "")).strip()


def _episodes(read: TraceFile, matching: Matching, task: str) -> tuple[list[Scenario], list[Episode]]:
    """Return the scenarios that the traces belong to, and their episodes in planned order, without those that no run can keep."""
    epochs: Counter[str] = Counter()
    used: dict[str, Scenario] = {}
    taken = {scenario.id for scenario in matching.scenarios if scenario is not None}
    episodes = []
    traces, read.traces = read.traces, []
    for number, (trace, matched) in enumerate(zip(traces, matching.scenarios, strict=True), 1):
        name = f"trace-{number}"
        while name in taken:
            name += "-unmatched"
        scenario = matched or scenario_of(trace, task, name)
        episode = episode_of(trace, scenario, epochs[scenario.id] + 1)
        try:
            for kept in (episode, scenario):
                check_size(kept.model_dump_json().encode())
        except TooLargeError as err:
            read.too_large.append(f"{trace.where}: {err}")
            continue
        used.setdefault(scenario.id, scenario)
        epochs[scenario.id] += 1
        episodes.append(episode)
        read.traces.append(trace)
    if not episodes:
        raise _nothing_read(Path(), read)
    # Whoever is asked once could be asked in each episode.
    human = "recorded" if any(episode.human_events for episode in episodes) else "none"
    return list(used.values()), [episode.model_copy(update={"human": human}) for episode in episodes]


def _unanswered(episode: Episode) -> int:
    """Count the calls without a result; a call of `Finish` has none."""
    done = {(event.turn, event.call_id) for event in episode.events}
    made = [(number, call.id, call.name) for number, turn in enumerate(episode.model_turns) for call in turn.tool_calls]
    made += [(number, call.id, call.name) for number, turn in enumerate(episode.model_turns) for call in turn.unparsable_calls]
    return sum(name != FINISH and (number, call_id) not in done for number, call_id, name in made)


def _facts(file: Path, read: TraceFile, matching: Matching, number: int) -> dict[str, str]:
    """Return what a reader of the run should know, as notes."""
    sha256 = hashlib.sha256(read_bytes(file, LARGEST_DATA)).hexdigest()
    notes = {
        "traces": f"{number:,} from {file.name} (sha256 {sha256[:16]})",
        "scenarios": f"{matching.by_id:,} by id, {matching.by_request:,} by request, {matching.unmatched:,} without one",
    }
    left = [f"{len(read.silent):,} traces without messages"] if read.silent else []
    left += [f"{len(read.too_large):,} traces above a limit"] if read.too_large else []
    left += [f"{read.unread.total():,} items of other kinds"] if read.unread else []
    return notes | ({"not read": ", ".join(left)} if left else {})


def _config(episodes: Sequence[Episode], task: str, split: str, place: Path) -> RunConfig:
    models = {episode.model for episode in episodes}
    model = models.pop() if len(models) == 1 else _MODELS
    epochs = max(episode.epoch for episode in episodes)
    config = RunConfig(task=task, split=split, model=model, run_dir=place.parent, run_id=place.name, epochs=epochs)
    job = job_of(config)
    job = job.task.for_traces(job)
    return (job.having(human=episodes[0].human) if isinstance(job.options, AgentOptions) else job).config


def _write(config: RunConfig, place: Path, used: Sequence[Scenario], episodes: Sequence[Episode], notes: dict[str, str], command: str) -> None:
    positions = {scenario.id: position for position, scenario in enumerate(used)}

    def fill(conn: sqlite3.Connection) -> None:
        for episode in episodes:
            write_episode(conn, episode, positions[episode.scenario_id])
        insert_row(conn, "meta", "total", json.dumps(len(episodes)))

    manifest = describe_run(config, used, command=command, notes=notes)
    create_run(place.parent, place.name, manifest, used, _specs(used), fill=fill)


def _specs(used: Sequence[Scenario]) -> list[ToolSpec]:
    """Return the built-in tools that the scenarios name; what other tools do is not known here."""
    named = {name for scenario in used for name in scenario.tools}
    named |= {one.name for scenario in used for one in scenario.missing}
    if not any(scenario.tools for scenario in used):
        return []
    from talm_sim.world.described import built_in_tools  # not at the top: it opens the service

    specs: dict[str, Any] = dict(built_in_tools().specs)
    return [specs[name] for name in sorted(named & specs.keys())]


@dataclass(slots=True)
class TraceFile:
    """The content of a file of traces.

    Attributes:
        unread: How many spans, lines of a session, or documents of another signal, are not read, by kind.
        silent: Places of traces whose spans contain no messages, so that nothing can be judged.
        too_large: Places of traces that are above a limit, each with what it says.
    """

    traces: list[Trace]
    unread: Counter[str] = field(default_factory=Counter)
    silent: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)


def read_traces(file: Path) -> TraceFile:
    """Read a file's traces; credentials are hidden in all that is read."""
    hide = Hider(credentials_in_environment())
    read, spans, sessions = TraceFile([]), SpanReader(), dict[str, list[tuple[Any, str]]]()
    others: list[tuple[Any, str]] = []
    for where, raw in _documents(file, read.too_large):
        if _is_too_large(raw, where):
            read.too_large.append(f"{where}: {_TOO_LONG}")
            continue
        value = hide.value(raw)
        if isinstance(value, dict) and ("resourceSpans" in value or "scopeSpans" in value):
            spans.add(value, where)
        elif isinstance(value, dict) and (signals := _OTHER_SIGNALS.keys() & value.keys()):
            read.unread.update(_OTHER_SIGNALS[signal] for signal in signals)
        elif is_message(value) or (isinstance(value, dict) and "role" in value and "messages" not in value):
            is_said = True not in (value.get("isSidechain"), value.get("isMeta"))  # by this agent, not by one in a tool or by nobody
            if is_said:
                sessions.setdefault(text_of(value, _SESSION), []).append((value, where))
            read.unread += {} if is_said else Counter(["sidechain or meta"])
        else:
            others += [(one, place) for one, place in _listed(value, where) if not (is_observation(one) and spans.add_observations(one, place))]
    # Lines of a session that are no messages tell of it; anything else is refused.
    is_left = [bool(sessions) and isinstance(one, dict) and find_messages(one) is None for one, _ in others]
    found = [read_trace(*other) for other, left in zip(others, is_left, strict=True) if not left]
    about = next((one for (one, _), left in zip(others, is_left, strict=True) if left and named_scenario(one) and len(sessions) == 1), None)
    found += [trace_of(messages, messages[0][1], about) for messages in sessions.values()]
    found += list(spans.traces())
    read.silent = spans.silent
    read.unread += spans.unread + Counter(
        str(one.get("type") or "without a type") for (one, _), left in zip(others, is_left, strict=True) if left
    )
    for trace in found:
        fits = sum(len(one.text) + len(one.reasoning) for one in trace.said) <= LARGEST_DOCUMENT
        (read.traces.append(trace) if fits else read.too_large.append(f"{trace.where}: {_TOO_LONG}"))
    if not read.traces:
        raise _nothing_read(file, read)
    return read


def _nothing_read(file: Path, read: TraceFile) -> PrerequisiteError:
    if read.too_large:
        return PrerequisiteError(f"{read.too_large[0]}.")
    if read.silent:
        hint = "let the agent's instrumentation capture content (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
        return PrerequisiteError(f"{read.silent[0]}: no span contains a message, as in all {len(read.silent):,} traces of the file; {hint}.")
    kinds = format_names([f"{kind[:40]} ({number:,})" for kind, number in read.unread.most_common()], 6) if read.unread else ""
    return PrerequisiteError(f"{file}: contains no trace{f', only these kinds: {kinds}' if kinds else ''}; {_GIVE}.")


def _is_too_large(value: Any, where: str) -> bool:
    """Return whether a document's messages alone are more than a run keeps of an episode; it is then not looked at further."""
    waiting, size = [value], 0
    while waiting and size <= LARGEST_DOCUMENT:
        one = waiting.pop()
        size += len(one) if isinstance(one, str) else 0
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    if size <= LARGEST_DOCUMENT or find_messages(value) is None:
        return False
    return sum(len(one.text) for one in read_trace(value, where).said) > LARGEST_DOCUMENT


def _listed(value: Any, where: str) -> Iterator[tuple[Any, str]]:
    """Yield each trace in a document: a list of messages is one, a list of anything else one per entry."""
    if isinstance(value, list) and not any(map(is_message, value)):
        for number, one in enumerate(value, 1):
            yield one, f"{where}, entry {number}"
    else:
        yield value, where


def _documents(file: Path, too_large: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its place: one per line if the first line is a value, else the whole file.

    A line that is nested too deeply is noted as too large.
    """
    if not (lines := list(numbered_lines(file, _GIVE))):
        raise PrerequisiteError(f"{file}: is empty; {_GIVE}.")
    try:
        parse(lines[0][1])
    except ValueError as err:
        if len(lines) == 1:
            raise PrerequisiteError(f"{lines[0][0]}: not JSON ({err}).") from None
        if str(err) not in _LIMITS:
            yield str(file), _whole(file, "\n".join(line for _, line in lines), [where for where, _ in lines])
            return
    for where, line in lines:
        try:
            yield where, parse(line)
        except ValueError as err:
            if str(err) not in _LIMITS:
                raise PrerequisiteError(f"{where}: not JSON ({err}); write one trace per line.") from None
            too_large.append(f"{where}: {err}")


def _whole(file: Path, text: str, places: list[str]) -> Any:
    try:
        return parse(text)
    except ValueError as err:
        try:
            json.loads(text)
        except json.JSONDecodeError as fault:
            raise PrerequisiteError(f"{places[min(fault.lineno, len(places)) - 1]}: not JSON ({err}).") from None
        except (ValueError, RecursionError):
            pass
        raise PrerequisiteError(f"{file}: not JSON ({err}).") from None
