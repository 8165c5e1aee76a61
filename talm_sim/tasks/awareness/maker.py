"""Make scenarios for task `awareness`: take complete ones, and manipulate them so that the tools shown cannot serve (section 3.2).

The complete ones are the package's own of task `talm`, or those of a file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.item_tools import required_of, spec_of
from talm_sim.scenarios.jsonl import parse
from talm_sim.scenarios.load import read_scenario
from talm_sim.scenarios.making.outcome import DroppedSource, count_sources
from talm_sim.scenarios.making.prompts import ASKED_AGAIN, WriterPrompts, load_writer_prompts
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.awareness.making.apibank import load_apibank
from talm_sim.tasks.awareness.making.loaded import TASK, LoadedSource, SourceProblem, complete_scenario, fault_in
from talm_sim.tasks.awareness.making.manipulation import (
    GROUPS,
    REMOVAL,
    SERVING,
    ManipulateOptions,
    ManipulationOutcome,
    Manipulator,
    Original,
    values_of,
)
from talm_sim.tasks.awareness.making.pool import Pool, pool_of
from talm_sim.tasks.awareness.making.remove import BY_PEOPLE, make_removed_scenario
from talm_sim.tasks.awareness.making.review import ManipulationReviewer
from talm_sim.tasks.awareness.making.serving import Serving
from talm_sim.tasks.awareness.making.study import load_study
from talm_sim.tasks.awareness.making.toolbench import load_toolbench
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, OpenModel, WritingMaker
from talm_sim.tasks.registry import find_task
from talm_sim.types import Fact, Scenario, ToolSpec


def _count_manipulated(
    sources: Sequence[Original],
    dropped: Sequence[DroppedSource],
    outcomes: Mapping[str, ManipulationOutcome],
    begun: FixedSettings,
    writer: str,
    manipulated: int = 0,
) -> dict[str, Any]:
    """Count the outcomes of `sources`."""
    done, counts = count_sources(sources, outcomes)
    rows = [row for outcome in done for row in outcome.rows]
    rejected = [one for outcome in done for one in outcome.rejected]
    return {
        "sources": {
            **counts,
            "manipulated": manipulated,
            "not_usable": [{"where": one.id, "reason": one.reason} for one in dropped],
        },
        "manipulations": {group: _of_group(group, done, rows) for group in str(begun.settings["manipulation"]).split(",") if group in GROUPS},
        "rejected": _count_by_check((group, check) for _, group, check in {(one["source"], one["group"], one["check"]) for one in rejected}),
        "to_read": _count_by_check((group, check) for outcome in done for group, checks in outcome.to_read.items() for check in checks),
        "for_a_person": [
            {"id": f"{outcome.source}.{group}", "words": "; ".join(f"{check}: {words}" for check, words in checks.items())}
            for outcome in done
            for group, checks in outcome.to_read.items()
        ],
        "rows": {"total": len(rows), **_count_values(row["group"] for row in rows)},
        "licence": ", ".join(sorted({row.get("source", {}).get("licence") or "none stated" for row in rows})),
        "provenance": {"writer": writer, "command": begun.command, "rules": begun.rules, **begun.settings},
    }


def _of_group(group: str, done: Sequence[ManipulationOutcome], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kept = sum(row["group"] == group for row in rows)
    rejected = sum(group in outcome.given_up for outcome in done)
    skipped = _count_values(outcome.skipped[group] for outcome in done if group in outcome.skipped)
    return {
        "made": kept + rejected,
        "rejected": rejected,
        "kept": kept,
        "to_read": sum(group in one.to_read for one in done),
        "skipped": skipped,
    }


def _count_by_check(found: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    counted = sorted(Counter(found).items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"group": group, "check": check, "count": count} for (group, check), count in counted]


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda entry: (-entry[1], entry[0])))


_PROMPTS = "talm_sim.tasks.awareness.making"
"""The package whose `prompts.toml` holds the wordings."""
_SOURCES = {"api-bank": load_apibank, "toolbench": load_toolbench, "study": load_study}
_TOLD = 5
"""How many unusable parts of a source are named at the terminal; the report has all."""


class ManipulationMaker(WritingMaker[ManipulateOptions, Original, ManipulationOutcome]):
    """Replaces the needed tools by near ones, or removes words of the user's, and checks each result by the criteria of appendix A.2."""

    options_model = ManipulateOptions
    outcome = ManipulationOutcome
    rules = 5
    reviewer: ClassVar = ManipulationReviewer()

    def __init__(self, options: ManipulateOptions) -> None:
        super().__init__(options)
        self._prompts: WriterPrompts | None = None if options.by_rules else load_writer_prompts(_PROMPTS, options.prompts)
        self.wording = self._prompts.digest if self._prompts else ""
        self._manipulated = 0
        self._all: Sequence[Original] = ()
        self._removed: Mapping[str, Scenario] | None = None
        self._asked: Mapping[str, Sequence[Fact]] = {}
        self._longest = 0
        self._manipulator: Manipulator | None = None

    def load(self) -> Sequence[Original]:
        """Read the source; broken parts of it are counted."""
        loaded = _load_source(self.options.file)
        self.dropped = [DroppedSource(one.where, one.fault) for one in loaded.problems]
        self._all = [Original(one) for one in loaded.scenarios if one.group == "complete"]
        self._removed = loaded.removed
        self._asked = loaded.asked
        self._manipulated = len(loaded.scenarios) - len(self._all)
        self._longest = max((max_tokens_of(text) for one in self._all for text in one.scenario.shown_tools), default=0)
        return self._all

    def open(self, sources: Sequence[Original], open_model: OpenModel) -> None:
        """Embed the tools of the whole source, even beyond the limit, and call those that can be called; open the model."""
        self._model = None if self._prompts is None else open_model()
        if "replaced" not in self.options.groups:
            self._manipulator = self._manipulate(None)
        elif not self._asked:
            self._manipulator = self._manipulate(self._pool(None))
        else:
            with ThreadPoolExecutor(1) as apart:  # from the event loop of the caller
                self._manipulator = apart.submit(self._replace_by_calls).result()

    def _replace_by_calls(self) -> Manipulator:
        """Replace tools while they can be called: every swap and its check are made here, and each answer is kept."""
        from talm_sim.tools_env.caller import ToolCaller  # not at the top: it opens the service

        with ToolCaller() as call:
            return self._manipulate(self._pool(Serving(call, call.specs, self._asked, [one.scenario for one in self._all])))

    def _pool(self, serving: Serving | None) -> Pool:
        from talm_sim.retrieval import find_embedder  # not at the top: removing words needs no embeddings

        return pool_of((one.scenario for one in self._all), find_embedder(self.options.embedder), serving)

    def _manipulate(self, pool: Pool | None) -> Manipulator:
        originals = [one.scenario for one in self._all]
        return Manipulator(self.options, originals, pool, self._model, self._prompts, self._removed)

    async def make(self, source: Original) -> ManipulationOutcome:
        """Manipulate the scenario in each way asked for."""
        assert self._manipulator is not None
        return await self._manipulator.make(source)

    def bound(self, source: Original) -> Bound:
        """Count one request per attempt for removed words, and one for replaced tools; each once more if it is cut off."""
        if self._prompts is None:
            return Bound()
        read, most = max_tokens_of(*values_of(source.scenario).values()), self.options.max_new_tokens
        shown = source.scenario.shown_tools
        bound = Bound()
        for group, step, tries in (("removed", REMOVAL, self.options.attempts), ("replaced", SERVING, 1)):
            if group in self.options.groups:
                told = max_tokens_of(*(text for name, part in self._prompts.texts.items() if name.startswith(step) for text in part.values()))
                # Any tool of the source may replace a needed one.
                tools = max_tokens_of(*shown) + len(shown) * self._longest if group == "replaced" else 0
                one = Bound(0, ASKED_AGAIN, ASKED_AGAIN * (told + read + tools), (1 + ASKED_AGAIN) * most)
                bound += one.times(tries)
        return bound

    def report(self, sources: Sequence[Original], outcomes: Mapping[str, ManipulationOutcome], begun: FixedSettings) -> dict[str, Any]:
        """See `count_manipulated`."""
        return _count_manipulated(
            sources, self.dropped, outcomes, begun, "rules" if self._model is None else self._model.name, self._manipulated
        )

    def listings(self, report: Mapping[str, Any]) -> list[Listing]:
        """Return what was made, rejected and kept of each manipulation; the checks it failed; what a person must read."""
        rows = [
            {"group": group, **{key: f"{found[key]:,}" for key in ("made", "rejected", "kept", "to_read")}, "skipped": f"{_sum(found):,}"}
            for group, found in report["manipulations"].items()
        ]
        heads = {
            "group": "Manipulation",
            "made": "Made",
            "rejected": "Rejected",
            "kept": "Kept",
            "to_read": "To be reviewed",
            "skipped": "Skipped",
        }
        by_check = {"group": "Manipulation", "count": "Scenarios"}
        return [
            (rows, heads),
            (report["rejected"], {**by_check, "check": "Failed check"}),
            (report["to_read"], {**by_check, "check": "For a person to decide"}),
        ]

    def notes(self, report: Mapping[str, Any]) -> list[str]:
        """Report why scenarios were skipped, what could not be used, and the licence of what was made."""
        unusable, manipulated = report["sources"]["not_usable"], report["sources"]["manipulated"]
        left = [f"{manipulated:,} manipulated rows of the source left out: only originals are manipulated"] if manipulated else []
        more = [f"... and {len(unusable) - _TOLD:,} more; the report has them"] if len(unusable) > _TOLD else []
        return [
            *left,
            *(
                f"{group}: {number:,} skipped: {reason}"
                for group, found in report["manipulations"].items()
                for reason, number in found["skipped"].items()
            ),
            *(f"not usable: {one['where']}: {one['reason']}" for one in unusable[:_TOLD]),
            *more,
            f"{report['rows']['total']:,} rows; licence: {report['licence'] or 'none'}",
        ]


def _sum(found: Mapping[str, Any]) -> int:
    return sum(found["skipped"].values())


def _load_source(file: Path | None) -> LoadedSource:
    if file is None:
        from talm_sim.world.described import built_in_tools  # not at the top: it opens the service

        talm = find_task("talm")
        return from_talm(talm.read(talm.splits["all"]), built_in_tools().specs)
    kind, colon, place = str(file).partition(":")
    if colon and kind in _SOURCES:
        if kind != "study" and not Path(place).exists():
            raise PrerequisiteError(f"--from {file}: there is no '{place}'; give the benchmark's folder.")
        return _SOURCES[kind](Path(place))
    return load_lines(local_file(file))


def load_lines(path: Path) -> LoadedSource:
    """Read a JSONL file of scenarios of task `awareness`, originals and manipulated ones."""
    try:
        text = read_text(path, LARGEST_DATA)
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read: {err.strerror}; give a JSONL file with one scenario per line.") from None
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{path}: is not UTF-8 text; save the file as UTF-8.") from None
    scenarios: dict[str, Scenario] = {}
    problems: list[SourceProblem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            if isinstance(one := _read(line, f"{path}:{number}"), Scenario) and one.id in scenarios:
                one = SourceProblem(f"{path}:{number}", f"id '{one.id}' is used twice; ids must be unique.")
            if isinstance(one, Scenario):
                scenarios[one.id] = one
            else:
                problems.append(one)
    return LoadedSource(tuple(scenarios.values()), tuple(problems))


def _read(line: str, where: str) -> Scenario | SourceProblem:
    try:
        scenario = read_scenario(parse(line), where, TASK)
    except ValueError as err:
        return SourceProblem(where, f"not JSON ({err}); write one scenario per line.")
    except PrerequisiteError as err:
        return SourceProblem(where, str(err).removeprefix(f"{where}: "))
    fault = fault_in(scenario)
    return SourceProblem(where, fault) if fault else scenario


def from_talm(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> LoadedSource:
    """Turn scenarios in which nothing is missing into scenarios of task `awareness`.

    Returns:
        One scenario for each perfect one, with the tools offered and all its gold calls, under the id `<id>.complete`; and for each of which
        a variant leaves nothing that can be served, that variant.
    """
    found: list[Scenario] = []
    removed: dict[str, Scenario] = {}
    asked: dict[str, tuple[Fact, ...]] = {}
    problems: list[SourceProblem] = []
    variants: defaultdict[str, list[Scenario]] = defaultdict(list)
    for one in scenarios:
        if one.group in _LEFT_OUT:
            variants[one.base].append(one)
    for scenario in (one for one in scenarios if one.group == "perfect"):
        where = f"scenario '{scenario.id}'"
        if unknown := [name for name in scenario.tools if name not in specs]:
            problems.append(SourceProblem(where, f"tools: there is no specification of '{unknown[0]}'; correct the name."))
            continue
        shown = [{key: getattr(specs[name], key) for key in ("name", "category", "description", "parameters")} for name in scenario.tools]
        said = [message for turn in scenario.turns for message in turn.messages]
        needed = [call.name for call in scenario.gold_calls]
        try:
            found.append(complete_scenario(f"{scenario.id}.complete", said, shown, needed, scenario.source, scenario.gold_calls))
        except ValueError as err:
            problems.append(SourceProblem(where, str(err)))
            continue
        asked[found[-1].id] = scenario.facts
        variant = next(filter(None, (_removed(found[-1], one) for one in variants[scenario.id])), None)
        if variant is not None:
            removed[found[-1].id] = variant
    return LoadedSource(tuple(found), tuple(problems), removed, asked)


_LEFT_OUT = ("several-gaps", "underspecified")
"""Groups of task `talm` in which a person left something out."""


def _removed(original: Scenario, variant: Scenario) -> Scenario | None:
    """Return the variant as a manipulation of the original; None if one of its calls can still be made."""
    required = {str(spec["name"]): required_of(spec) for spec in map(spec_of, original.shown_tools)}
    for call in original.gold_calls:
        lost = [one.name for one in variant.missing if call.arguments.get(one.name) == one.value]
        if not set(lost) & set(required[call.name]):
            return None
    (turn,) = original.turns
    said = turn.model_copy(update={"messages": variant.turns[-1].messages})
    return make_removed_scenario(original, (said,), variant.missing, BY_PEOPLE)
