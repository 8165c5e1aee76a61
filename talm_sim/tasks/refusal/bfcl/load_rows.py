"""Load BFCL's rows from its own files, or from the JSONL of a translation of the single-turn ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.scenarios.jsonl import numbered_lines
from talm_sim.tasks.refusal.bfcl.find_data import (
    answers_of,
    bfcl_folder,
    data_version,
    find_installed_data,
    find_package,
    is_own,
    subset_file,
)
from talm_sim.tasks.refusal.bfcl.rows import FileRow, read_line, scenario_of
from talm_sim.tasks.refusal.bfcl.subsets import MULTI_TURN, REPEATED_IDS, SINGLE_TURN, SUBSETS, V3_NAMES, Subset, Version, rows_of
from talm_sim.tasks.refusal.bfcl.turn_rows import turns_scenario
from talm_sim.tools_env.sources.bfcl.apis import read_specs
from talm_sim.types import Scenario, Source

_URL = "https://gorilla.cs.berkeley.edu/leaderboard.html"
_TRANSLATED = "bfcl_single_turn_{}.jsonl"
_NEW_NAMES = {old: new for new, old in V3_NAMES.items()}


@dataclass(frozen=True, slots=True)
class LoadedBfcl:
    """The rows of BFCL that were asked for.

    Attributes:
        version: Version of the data; None if a translation's files do not show it.
        notes: Notes on them: row counts that are not BFCL's, and ground truths that are faulty as published.
    """

    scenarios: tuple[Scenario, ...]
    version: Version | None
    notes: tuple[str, ...] = ()


def load_bfcl(path: Path | None, subsets: Sequence[str], languages: Sequence[str] = ("en",)) -> LoadedBfcl:
    """Read BFCL's rows from one of the places that docs/refusal.md names; a `path` of None is the installed package's data."""
    for name in subsets:
        if name not in SUBSETS:
            raise PrerequisiteError(f"subset '{name}': there is no such subset of BFCL's data.{did_you_mean(name, SUBSETS)}")
    wanted = [SUBSETS[name] for name in dict.fromkeys(subsets)]
    languages = tuple(dict.fromkeys(languages))
    if path is None:
        return _read_bfcl_files(find_installed_data(), wanted, languages)
    if is_own(path) or (not path.is_file() and not any(path.glob(_TRANSLATED.format("*")))):
        return _read_bfcl_files(bfcl_folder(path), wanted, languages)
    files = [path / _TRANSLATED.format(language) for language in languages] if path.is_dir() else [path]
    return _read_translation(path, files, wanted, languages)


def _read_bfcl_files(folder: Path, subsets: Sequence[Subset], languages: Sequence[str]) -> LoadedBfcl:
    version = data_version(folder)
    for language in languages:
        if language != "en":
            raise PrerequisiteError(f"{folder}: BFCL's own rows are English, not '{language}'; give a translation's JSONL with --bfcl.")
    source = Source(name=f"BFCL {version}", licence="Apache-2.0", url=_URL)
    scenarios: list[Scenario] = []
    notes: list[str] = []
    for subset in subsets:
        file = subset_file(folder, subset, version)
        truths = _index_by_id(answers_of(file)) if subset.expected in ("calls", "turns") else {}
        ids = _Ids()
        specs = read_specs(find_package(folder)) if subset.name in MULTI_TURN else {}
        for line in _lines(file):
            if subset.name in MULTI_TURN:
                scenarios.append(turns_scenario(line, truths.get(line.row["id"]), subset, ids.scenario_id(line, "en"), specs, source))
                continue
            scenario, known = scenario_of(line, truths.get(line.row["id"]), subset, ids.scenario_id(line, "en"), "en", source)
            scenarios.append(scenario)
            notes += [f"{scenario.id}: the published ground truth {known}"] if known else []
    return LoadedBfcl(tuple(scenarios), version, (*_count_notes(scenarios, subsets, languages, version), *notes))


def _read_translation(path: Path, files: Sequence[Path], subsets: Sequence[Subset], languages: Sequence[str]) -> LoadedBfcl:
    """Read the rows of a translation; those of other subsets and languages are checked and skipped."""
    found: list[Scenario] = []
    notes: list[str] = []
    ids = _Ids()
    for file in files:
        for line in _lines(file):
            subset, language = _subset_of(line), line.row.get("language")
            if not isinstance(language, str) or not language:
                raise line.fault("language: missing or not text; write the question's language, for example vi.")
            name = ids.scenario_id(line, language)
            english = ids.english_id(line, language, name)
            source = Source(name=file.name) if english == name else Source(name=file.name, base=english, translation_of=english)
            scenario, known = scenario_of(line, line, subset, name, language, source)
            found.append(scenario)
            notes += [f"{scenario.id}: the published ground truth {known}"] if known and subset in subsets and language in languages else []
    if not found:
        raise PrerequisiteError(f"{path}: contains no row; write one BFCL row per line.")
    version = _version_by_rows(found)
    there = Counter((scenario.group, scenario.language) for scenario in found)
    for language in languages:
        for subset in subsets:
            if not there[subset.name, language]:
                raise PrerequisiteError(f"{path}: has no row of subset {subset.name} in language {language}; leave it out.")
    order = [(subset.name, language) for subset in subsets for language in languages]
    chosen = sorted((one for one in found if (one.group, one.language) in order), key=lambda one: order.index((one.group, one.language)))
    return LoadedBfcl(tuple(chosen), version, (*_count_notes(chosen, subsets, languages, version), *notes))


def _lines(file: Path) -> Iterable[FileRow]:
    for where, text in numbered_lines(file):
        yield read_line(where, text)


def _index_by_id(file: Path) -> dict[str, FileRow]:
    found: dict[str, FileRow] = {}
    for line in _lines(file):
        if (other := found.get(line.row["id"])) is not None:
            raise line.fault(f"id: '{line.row['id']}' is also used in {other.where}; ids must be unique.")
        found[line.row["id"]] = line
    return found


class _Ids:
    """The ids of a source's scenarios, each used once."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def scenario_id(self, line: FileRow, language: str) -> str:
        """Return the scenario's id: the row's, with the language at its end unless it is English."""
        published = str(line.row["id"]).removesuffix(f"_{language}")
        name = published if language == "en" else f"{published}_{language}"
        if name in self._seen and published in REPEATED_IDS:
            name = f"{name}_2"
        if name in self._seen:
            raise line.fault(f"id: '{line.row['id']}' is also used in {self._seen[name]}; ids must be unique.")
        self._seen[name] = line.where
        return name

    @staticmethod
    def english_id(line: FileRow, language: str, name: str) -> str:
        """Return the id of the same row of BFCL in English, given the scenario's id."""
        published = str(line.row["id"]).removesuffix(f"_{language}")
        return name if language == "en" else published + name.removeprefix(f"{published}_{language}")


def _subset_of(line: FileRow) -> Subset:
    if not isinstance(name := line.row.get("subset"), str):
        raise line.fault("subset: missing or not text; write the name of BFCL's subset, for example live_irrelevance.")
    if (subset := SUBSETS.get(_NEW_NAMES.get(name, name))) is None or subset.name not in SINGLE_TURN:
        raise line.fault(f"subset: '{name}' is not one of BFCL's single-turn subsets.{did_you_mean(name, SUBSETS)}")
    category = line.row.get("test_category")
    if isinstance(category, str) and SUBSETS.get(_NEW_NAMES.get(category, category), subset) is not subset:
        raise line.fault(f"test_category: is '{category}', and subset is '{name}'; correct one of them.")
    return subset


def _version_by_rows(scenarios: Sequence[Scenario]) -> Version | None:
    """Return the version of a translation, whose files do not name it: the one whose number of live_irrelevance rows every language has."""
    subset = SUBSETS["live_irrelevance"]
    counts = set(Counter(scenario.language for scenario in scenarios if scenario.group == subset.name).values())
    versions: tuple[Version, ...] = ("v3", "v4")
    return next((version for version in versions if counts == {rows_of(subset, version)}), None)


def _count_notes(
    scenarios: Sequence[Scenario], subsets: Sequence[Subset], languages: Sequence[str], version: Version | None
) -> tuple[str, ...]:
    """Say which subsets do not have as many rows as BFCL's."""
    counts = Counter((scenario.group, scenario.language) for scenario in scenarios)
    notes: list[str] = []
    for subset in subsets:
        right = {rows_of(subset, version)} if version else {subset.rows, subset.rows_v3 or subset.rows}
        notes += [
            f"{subset.name} ({language}): {counts[subset.name, language]:,} rows, where BFCL {version or 'v3 or v4'} has "
            f"{' or '.join(f'{number:,}' for number in sorted(right))}"
            for language in languages
            if counts[subset.name, language] not in right
        ]
    return tuple(notes)
