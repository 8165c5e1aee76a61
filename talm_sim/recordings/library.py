"""Libraries of recordings: an unpacked tree, or zips of one, shipped with the package or given by the user.

An unpacked tree contains

    tools/specs.json                                      the tools as they were when recorded
    tools/<group>/<scenario>.json                         tool traffic, shared by all runs
    <model>/<group>/<scenario>/<epoch>-<vote>-<digest>.json   one conversation of a model
    <model>/<group>/<scenario>/<epoch>-<digest>.human.json    the human answers within it
    <model>/<digest>.settings.json                        the settings that this digest is of
    <model>/<field>.left_out.json                         a field that its server refused, so that no request has it
    <model>/<digest>.ignored.json                         a pattern of what is ignored of prompts
    <model>/requests.json                                 protocol and room for thought, if not the plain ones

and a packed one `tools/<group>.zip` and `<model>/<group>.zip` with the same names inside, below the group. `/` in a model's name becomes
`--`. If a task has its own folder, a model's conversations are in `<model>/<folder>/<group>`, as groups of two tasks may share a name.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field

from talm_sim.common.digests import digest
from talm_sim.common.ignored_parts import IgnoredParts
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.request_facts import RequestFacts
from talm_sim.recordings.archive import Archive, open_archive
from talm_sim.recordings.packing import LEFT_OUT, REQUESTS, SETTINGS, SPECS, TOOLS
from talm_sim.recordings.player import Player, playing
from talm_sim.recordings.redaction import Redactor
from talm_sim.recordings.shared_files import lock_folder, read_text, write_atomically
from talm_sim.types import Decision, Declined, Route, ToolSpec, Usage

if TYPE_CHECKING:
    from talm_sim.recordings.tape import Tape

_TAPES_KEPT = 512
_LIVE_TOOLS = "To call the tools instead: TALM_SIM_TOOLS=live"
_LONGEST_NAME = 120


class RecordedAnswer(BaseModel):
    """A human answer in a recorded conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: int
    """Number of the question within the episode, counted from 1; forms that tools ask for are counted apart."""
    question_digest: str
    question: str
    answer: str
    declined: Declined = ""
    responder: str
    """Who answered during the recording."""
    appropriate: bool | None = None
    """Whether they marked the question as appropriate; None where they did not mark it."""
    name: str = Field(default="", exclude_if=lambda name: not name)
    """What they call themselves; empty where they gave no name."""
    decision: Decision | None = Field(default=None, exclude_if=lambda decision: decision is None)
    """What was decided about a call to approve or a form; None for a question."""

    @property
    def is_form(self) -> bool:
        """Whether it answers a form."""
        return self.decision is not None and self.decision.action in ("accept", "decline", "cancel")


class Recording(BaseModel):
    """The description of one packed recording."""

    model: str
    """Name of the model, or `tools`."""
    group: str
    licence: str
    command: str
    created: str
    files: int
    bytes: int


class _Place(NamedTuple):
    """Where a file is: in the folder of a group, or in the zip of that name."""

    folder: str
    group: str
    inner: str

    def __str__(self) -> str:
        return f"{self.folder}/{self.group}/{self.inner}"


def shipped_cassettes() -> Path:
    """Return the directory of the shipped recordings: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "cassettes"
    return inside if inside.is_dir() else package.parent / "cassettes"


def model_folder(model: str) -> str:
    """Return the folder name of a model's recordings."""
    return "".join(char if char.isalnum() or char in "._-" else "--" if char == "/" else "_" for char in model)


class CassetteLibrary:
    """All recordings below one root.

    Args:
        root: Directory to read and write; the shipped recordings by default, which are only read.
        folder: Folder of a task's conversations below each model's; empty if they are in the model's own.
    """

    def __init__(self, root: Path | None = None, folder: str = "") -> None:
        self._named = root or shipped_cassettes()
        self.root = self._named.absolute()  # an agent may move to another directory
        self._folder = folder
        self._redactor = Redactor()
        self.ignored = IgnoredParts()
        """What is ignored of prompts, see `ignored_in`."""
        self._open: WeakValueDictionary[str, Tape] = WeakValueDictionary()
        self._kept: OrderedDict[str, Tape] = OrderedDict()

    def open_tools(self, scenario_id: str, group: str, mode: Traffic) -> Player:
        """Open a scenario's tool recording."""
        place = _Place(TOOLS, _safe_file_name(group), f"{_safe_file_name(scenario_id)}.json")
        tape = self._tape(place)
        # The last ones used stay parsed, because the next epoch and the next run play them again.
        self._kept[str(place)] = tape
        self._kept.move_to_end(str(place))
        if len(self._kept) > _TAPES_KEPT:
            self._kept.popitem(last=False)
        return Player(tape, mode, _LIVE_TOOLS)

    def open_model(self, model: str, scenario_id: str, group: str, epoch: int, vote: int, digest: str, mode: Traffic) -> Player:
        """Open one conversation of a model; vote 0 is the agent's, 1 and up are a judge's."""
        return Player(self._tape(self._conversation(model, scenario_id, group, epoch, vote, digest)), mode)

    @contextmanager
    def conversation(
        self, model: str, scenario_id: str, group: str, epoch: int, vote: int, digest: str, mode: Traffic | None
    ) -> Iterator[Player | None]:
        """Play or record the model traffic of the block as one conversation; new traffic is saved at the end, even after a failure.

        Yields:
            Its player; None if the traffic is live.
        """
        if mode is None or mode is Traffic.LIVE:
            yield None
            return
        player = self.open_model(model, scenario_id, group, epoch, vote, digest, mode)
        try:
            with playing(player):
                yield player
        finally:
            player.save()

    def has_tools(self, groups: Iterable[str]) -> bool:
        """Return whether tool traffic is recorded for each of `groups`."""
        return all(self._has(TOOLS, group) for group in groups)

    def has_model(self, model: str, groups: Iterable[str]) -> bool:
        """Return whether conversations of `model` are recorded for each of `groups`."""
        return all(self._has(self._conversations(model), group) for group in groups)

    def models(self) -> list[str]:
        """List the models that have recordings."""
        folders = self.root.iterdir() if self.root.is_dir() else ()
        return sorted(folder.name.replace("--", "/") for folder in folders if folder.is_dir() and folder.name != TOOLS)

    def has_conversation(self, model: str, scenario_id: str, group: str, epoch: int, digest: str) -> bool:
        """Return whether an agent's conversation is recorded."""
        place = self._conversation(model, scenario_id, group, epoch, 0, digest)
        archive = self._archive(place)
        return (self.root / str(place)).is_file() or (archive is not None and archive.read(place.inner) is not None)

    def recorded_usage(self, model: str, conversations: Iterable[tuple[str, str]], digest: str) -> list[Usage] | None:
        """Return the tokens of each recorded request of some conversations, as the server counted them; None if one is not recorded."""
        from talm_sim.recordings.tape import Tape  # not at the top: what is live needs no vcrpy, which imports much

        found: list[Usage] = []
        for scenario, group in conversations:
            name, text = self._read(self._conversation(model, scenario, group, 1, 0, digest))
            if text is None:
                return None
            found += Tape(name, text, redactor=self._redactor).usages()
        return found

    def settings(self, model: str) -> dict[str, dict[str, Any]]:
        """Return the settings of the recorded conversations of `model`, by the digest in their names; old recordings do not have them."""
        found = {}
        for path in sorted((self.root / model_folder(model)).glob(f"*{SETTINGS}")):
            try:
                found[path.name.removesuffix(SETTINGS)] = dict(json.loads(read_text(path)))
            except (ValueError, TypeError, RecursionError):
                raise PrerequisiteError(f"{path}: not a readable list of settings; delete it, or restore it.") from None
        return found

    def save_settings(self, model: str, digest: str, settings: Mapping[str, Any]) -> None:
        """Save, once, the settings that conversations with this digest were recorded with."""
        path = self.root / model_folder(model) / f"{_safe_file_name(digest)}{SETTINGS}"
        if not path.is_file():
            write_atomically(path, (json.dumps(settings, indent=1, ensure_ascii=False) + "\n").encode())

    def read_facts(self, model: str, facts: RequestFacts, *, replayed: bool) -> None:
        """Add how the recorded requests of `model` were made, so that others are made alike.

        Args:
            model: Its name.
            facts: What they are added to.
            replayed: Whether there must be recordings; those that do not say it were made without room for thought, in chat's protocol.
        """
        folder = self.root / model_folder(model)
        facts.left_out |= {path.name.removesuffix(LEFT_OUT) for path in folder.glob(f"*{LEFT_OUT}")}
        path = folder / REQUESTS
        if path.is_file():
            try:
                said = json.loads(read_text(path))
                facts.room, facts.api = int(said["room"]), "responses" if said["api"] == "responses" else "chat"
            except (ValueError, TypeError, LookupError, RecursionError):
                raise PrerequisiteError(f"{path}: not readable; restore it.") from None
        elif replayed or any(folder.glob("*/")):
            facts.room, facts.api = 0, "chat"

    def save_facts(self, model: str, facts: RequestFacts) -> None:
        """Save them; each field that is left out has a file of its own, so that two recordings are merged as any files are."""
        folder = self.root / model_folder(model)
        for name in list(facts.left_out):
            if not (folder / f"{name}{LEFT_OUT}").is_file():
                write_atomically(folder / f"{name}{LEFT_OUT}", b"{}\n")
        room = 0 if facts.told else facts.room
        if (room or facts.api == "responses") and not (folder / REQUESTS).is_file():
            write_atomically(folder / REQUESTS, f"{json.dumps({'api': facts.api, 'room': room})}\n".encode())

    def tools(self, *, person: bool = False) -> dict[str, tuple[ToolSpec, Route]]:
        """Return the tools as they were when recorded, and how their calls are stored; empty if there are none.

        Args:
            person: Whether the run has a person: of a tool that was recorded with one whom it may ask, and without, which of the two is meant.
        """
        known = self._recorded_tools()
        return {name: known.get((name, person)) or known[name, not person] for name, _ in known}

    def _recorded_tools(self) -> dict[tuple[str, bool], tuple[ToolSpec, Route]]:
        """Return the recorded tools by name, and by whether they may ask a person."""
        found: dict[tuple[str, bool], tuple[ToolSpec, Route]] = {}
        for name, text in self._spec_files():
            try:
                for entry in json.loads(text):
                    route = Route.model_validate({key: value for key, value in entry.items() if key in Route.model_fields})
                    found[entry["name"], route.asks] = ToolSpec.model_validate(entry), route
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                raise PrerequisiteError(f"{name}: not a readable list of tools; delete it and record again, or restore it.") from None
        return found

    def tool_specs(self) -> dict[str, ToolSpec]:
        """Return the tools as they were shown when recorded; see `tools`."""
        return {name: spec for name, (spec, _) in self.tools().items()}

    def save_tools(self, specs: Mapping[str, ToolSpec], routes: Mapping[str, Route]) -> None:
        """Add tools to those beside their recordings, with their parameters in the order in which models see them."""
        loose = self.root / TOOLS / SPECS
        with lock_folder(loose.parent):
            known = self._recorded_tools() if loose.is_file() else {}
            known |= {(name, routes[name].asks): (spec, routes[name]) for name, spec in specs.items()}
            dumped = [_entry(spec, route) for _, (spec, route) in sorted(known.items())]
            write_atomically(loose, (json.dumps(dumped, indent=1) + "\n").encode())

    def human_answers(self, model: str, scenario_id: str, group: str, epoch: int, digest: str) -> list[RecordedAnswer]:
        """Return the human answers of one recorded conversation, in the order of the questions."""
        name, text = self._read(self._human(model, scenario_id, group, epoch, digest))
        if text is None:
            return []
        try:
            return [RecordedAnswer.model_validate(answer) for answer in json.loads(text)]
        except (ValueError, TypeError, RecursionError):
            raise PrerequisiteError(f"{name}: not a readable list of human answers; delete it and record again, or restore it.") from None

    def save_human_answers(self, model: str, scenario_id: str, group: str, epoch: int, digest: str, answers: Sequence[RecordedAnswer]) -> None:
        """Write the human answers of one conversation, without secrets."""
        text = self._redactor.text(json.dumps([answer.model_dump() for answer in answers], indent=1, ensure_ascii=False))
        write_atomically(self.root / str(self._human(model, scenario_id, group, epoch, digest)), f"{text}\n".encode())

    def describe(self) -> list[Recording]:
        """Describe each packed recording."""
        found = []
        for path in sorted(self.root.rglob("*.zip")):
            archive = open_archive(path)
            facts: dict[str, Any] = {key: str(archive.index.get(key, "")) for key in ("model", "group", "licence", "command", "created")}
            found.append(Recording(**facts, files=len(archive.names()), bytes=path.stat().st_size))
        return found

    def _conversations(self, model: str) -> str:
        """Return the folder with the groups of a model's conversations."""
        return f"{model_folder(model)}/{self._folder}" if self._folder else model_folder(model)

    def _conversation(self, model: str, scenario_id: str, group: str, epoch: int, vote: int, digest_: str) -> _Place:
        return _Place(
            self._conversations(model), _safe_file_name(group), f"{_safe_file_name(scenario_id)}/{epoch}-{vote}-{_safe_file_name(digest_)}.json"
        )

    def _human(self, model: str, scenario_id: str, group: str, epoch: int, digest_: str) -> _Place:
        return _Place(
            self._conversations(model), _safe_file_name(group), f"{_safe_file_name(scenario_id)}/{epoch}-{_safe_file_name(digest_)}.human.json"
        )

    def _tape(self, place: _Place) -> Tape:
        """Return the tape at a place; one in use is shared, so that additions of parallel episodes are merged."""
        from talm_sim.recordings.tape import Tape  # not at the top, as above

        key = str(place)
        if (tape := self._open.get(key)) is None:
            name, text = self._read(place)
            ignored = None if place.folder == TOOLS else self.ignored
            tape = self._open[key] = Tape(name, text, path=self.root / key, redactor=self._redactor, ignored=ignored)
        return tape

    def _has(self, folder: str, group: str) -> bool:
        place = self.root / folder / _safe_file_name(group)
        return place.is_dir() or place.with_name(f"{place.name}.zip").is_file()

    def _archive(self, place: _Place) -> Archive | None:
        path = self.root / place.folder / f"{place.group}.zip"
        return open_archive(path) if path.is_file() else None

    def _read(self, place: _Place) -> tuple[str, str | None]:
        """Return the displayed name and the content of a file; unpacked ones come first, as they are newer."""
        path, name = self.root / str(place), str(self._named / str(place))
        if path.is_file():
            return name, read_text(path)
        if (archive := self._archive(place)) is None:
            return name, None
        name, data = f"{archive.path}:{place.inner}", archive.read(place.inner)
        return name, None if data is None else _decode(name, data)

    def _spec_files(self) -> list[tuple[str, str]]:
        loose = self.root / TOOLS / SPECS
        if loose.is_file():
            return [(str(loose), read_text(loose))]
        found: dict[bytes, str] = {}
        for path in sorted((self.root / TOOLS).glob("*.zip")):
            if (data := open_archive(path).read(SPECS)) is not None:
                found.setdefault(data, f"{path}:{SPECS}")  # the groups of one recording have the same list
        return [(name, _decode(name, data)) for data, name in found.items()]


def _safe_file_name(name: str) -> str:
    """Return an id as a file name: ids come from users' files, and different ones must stay different."""
    safe = quote(name, safe="@")
    safe = "%2E" + safe[1:] if safe.startswith(".") else safe or "%"
    return safe if len(safe) <= _LONGEST_NAME else f"{safe[:_LONGEST_NAME]}%{digest(name)}"


def _entry(spec: ToolSpec, route: Route) -> dict[str, Any]:
    """Return a tool as it is stored: its description and its route, in one object."""
    shown = spec.model_dump(mode="json", exclude={"human_replaceable_reason", "is_record"})
    replaceable = shown.pop("human_replaceable")
    reached = route.model_dump(mode="json", exclude={name for name in ("header", "state", "reads", "asks") if not getattr(route, name)})
    return {**shown, **reached, "human_replaceable": replaceable}


def _decode(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{name}: not a readable recording (not UTF-8); restore it.") from None
