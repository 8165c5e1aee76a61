"""Make multiple-choice items for task `when2call` from scenarios with gold calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import json_lines, parse
from talm_sim.scenarios.load import load_scenarios
from talm_sim.scenarios.making.outcome import DroppedSource, count_sources
from talm_sim.scenarios.making.prompts import WriterPrompts, load_writer_prompts
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, Maker, OpenModel
from talm_sim.tasks.registry import find_task, read_line
from talm_sim.tasks.when2call.making import (
    GenerateOptions,
    ItemOutcome,
    ModelWriter,
    RuleWriter,
    SourceQuestion,
    Writer,
    make_items,
    source_questions,
)
from talm_sim.tasks.when2call.making.item_checks import RULES_VERSION
from talm_sim.tasks.when2call.making.items import MANY
from talm_sim.tasks.when2call.making.other_rows import is_other_row, read_other_rows
from talm_sim.tasks.when2call.making.review import ItemReviewer
from talm_sim.tasks.when2call.published import TASK, LineKind, kind_of
from talm_sim.types import Behaviour, Scenario

_GOLDS = (Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)


def _make_report(
    sources: Sequence[SourceQuestion], dropped: Sequence[DroppedSource], outcomes: Mapping[str, ItemOutcome], begun: FixedSettings, writer: str
) -> dict[str, Any]:
    """Count what became of `sources`."""
    done, counts = count_sources(sources, outcomes)
    rows = [row for outcome in done for row in outcome.rows]
    rejected = [one for outcome in done for one in outcome.rejected]
    return {
        "sources": {
            **counts,
            "dropped": _count_values(outcome.dropped for outcome in done if outcome.dropped),
            "not_derived": [{"id": one.id, "reason": one.reason} for one in dropped],
        },
        "items": {
            gold.value: {
                "made": len({row["source_id"] for row in rows if row["correct_answer"] == gold.value}),
                "rejected": sum(gold.value in outcome.given_up for outcome in done),
                "not_tried": _count_values(outcome.not_tried[gold.value] for outcome in done if gold.value in outcome.not_tried),
            }
            for gold in _GOLDS
        },
        "rows": {
            "total": len(rows),
            "correct_answer": _count_values(row["correct_answer"] for row in rows),
            "tools_shown": _count_values("2+" if len(row["tools"]) > 1 else str(len(row["tools"])) for row in rows),
            "tool_use": _count_values(row["tool_use"] for row in rows),
        },
        "judged": {name: sum(outcome.judged.get(name, 0) for outcome in done) for name in ("read", "unreadable")},
        "rejected_texts": {
            "total": len({(one["source"], one["item"], one["text_of"], one["attempt"]) for one in rejected}),
            "why": [
                {"item": item, "text_of": text_of, "check": check, "count": count}
                for (item, text_of, check), count in sorted(
                    Counter((one["item"], one["text_of"], one["check"]) for one in rejected).items(), key=lambda entry: (-entry[1], entry[0])
                )
            ],
        },
        "licence": _licence(sources),
        "provenance": {"writer": writer, "command": begun.command, "rules": begun.rules, **begun.settings},
    }


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _licence(sources: Sequence[SourceQuestion]) -> str:
    names = sorted({source.licence or "none stated" for source in sources})
    return f"{', '.join(names)} (source questions); what a model wrote is subject to that model's terms"


PROMPTS = "talm_sim.tasks.when2call.making"
"""The package whose `prompts.toml` holds the wordings."""
_GROUPS = ("perfect", "underspecified")


class ItemMaker(Maker[GenerateOptions, SourceQuestion, ItemOutcome]):
    """Makes up to three items of each source question, shown with no, one and many tools (When2Call, section 2.2)."""

    options_model = GenerateOptions
    outcome = ItemOutcome
    rules = RULES_VERSION
    noun: ClassVar = "source question"
    reviewer: ClassVar = ItemReviewer()

    def __init__(self, options: GenerateOptions) -> None:
        super().__init__(options)
        self._prompts: WriterPrompts | None = None if options.by_rules else load_writer_prompts(PROMPTS, options.prompts)
        self.wording = self._prompts.digest if self._prompts else ""
        self._all: Sequence[SourceQuestion] = ()
        self._writer: Writer | None = None

    def load(self) -> Sequence[SourceQuestion]:
        """Take the scenarios apart; see `source_questions`."""
        from talm_sim.world.described import built_in_tools  # not at the top: it opens the service

        if (file := self.options.file) is not None and is_other_row(_first_line(file)):
            found, self.dropped = read_other_rows(local_file(file))
        else:
            found, self.dropped = source_questions(_scenarios(file), built_in_tools().specs)
        self._all = found
        return self._all

    def open(self, sources: Sequence[SourceQuestion], open_model: OpenModel) -> None:
        """Open the writer and, if labels are decoded under a grammar, a second model for these."""
        if self._prompts is None:
            self._writer = RuleWriter(self._all, self.options.seed)
            return
        model = open_model()
        labeller = open_model(constrained=True) if self.options.constrained else model
        self._writer = ModelWriter(model, labeller, self._prompts, self.options)

    async def make(self, source: SourceQuestion) -> ItemOutcome:
        """Write and check its items."""
        assert self._writer is not None
        options = self.options
        return await make_items(
            source, self._writer, seed=options.seed, attempts=options.attempts, every=options.variants == "all", unable=options.unable
        )

    def bound(self, source: SourceQuestion) -> Bound:
        """Count a label, two questions, and for each of three items three answers; all may be written twice, and each attempt anew."""
        if self._prompts is None:
            return Bound()
        told = max(max_tokens_of(*texts.values()) for texts in self._prompts.texts.values())
        written = 2 * self.options.max_new_tokens
        asked = told + max(max_tokens_of(source.question), written) + max_tokens_of(source.spec.model_dump_json())
        texts = 2 + 9
        requests = 2 * (texts * self.options.attempts + (self.options.tool_use == "model"))
        if self.options.judge == "model":
            requests += 2 * 3
            asked += sum(max_tokens_of(spec.model_dump_json()) for spec in source.others[:MANY])
        # A text that is cut off is written once more with twice as many tokens.
        return Bound(0, requests, requests * asked, requests // 2 * (self.options.max_new_tokens + written))

    def report(self, sources: Sequence[SourceQuestion], outcomes: Mapping[str, ItemOutcome], begun: FixedSettings) -> dict[str, Any]:
        """See `make_report`."""
        assert self._writer is not None
        return _make_report(sources, self.dropped, outcomes, begun, self._writer.name)

    def listings(self, report: Mapping[str, Any]) -> list[Listing]:
        """Return items by right answer, and the checks that texts failed."""
        rows = [
            {"item": name, "made": str(item["made"]), "rejected": str(item["rejected"]), "not_tried": str(sum(item["not_tried"].values()))}
            for name, item in report["items"].items()
        ]
        why = [
            {"count": str(one["count"]), "item": one["item"], "text_of": one["text_of"], "check": one["check"]}
            for one in report["rejected_texts"]["why"]
        ]
        return [
            (rows, {"item": "Right answer", "made": "Items made", "rejected": "Given up", "not_tried": "Not tried"}),
            (why, {"count": "Texts", "item": "Item", "text_of": "Text", "check": "Failed check"}),
        ]

    def notes(self, report: Mapping[str, Any]) -> list[str]:
        """Say what could not be split, how many rows there are, and what was dropped."""
        lost = len(report["sources"]["not_derived"])
        shown = report["rows"]["tools_shown"]
        parts = ", ".join(f"{number:,} with {name} tool{'' if name == '1' else 's'}" for name, number in shown.items()) or "none"
        read, unreadable = report["judged"]["read"], report["judged"]["unreadable"]
        by_judge = f"the judge answered on {read + unreadable:,} items; {unreadable:,} of its answers could not be read, and rejected nothing"
        return [
            *([by_judge] if read + unreadable else []),
            *([f"{lost:,} scenario{'' if lost == 1 else 's'} could not be split"] if lost else []),
            f"{report['rows']['total']:,} rows: {parts}; {report['rejected_texts']['total']:,} texts rejected",
            *(f"dropped {number}: {reason}" for reason, number in report["sources"]["dropped"].items()),
        ]

    async def aclose(self) -> None:
        """Close the writer's models."""
        if self._writer is not None:
            await self._writer.aclose()


def _scenarios(file: Path | None) -> list[Scenario]:
    """Return the scenarios with gold calls: plain ones, or multiple-choice items, as the first line of `file` shows."""
    if file is None:
        return find_task("talm").read(_GROUPS)
    first = _first_line(file)
    if kind_of(first) is LineKind.ROW or _is_item(first):
        return find_task(TASK).read((Behaviour.TOOL_CALL.value,), file)
    return load_scenarios(_GROUPS, file, task="talm", hub_file=find_task(TASK).hub_file, read=read_line)


def _first_line(file: Path) -> Any:
    """Return the first value of a file, a line or a whole list."""
    local = local_file(file, find_task(TASK).hub_file)
    if local.suffix == ".json" and (text := read_text(local, LARGEST_DATA, "utf-8-sig").lstrip()).startswith("["):
        try:
            return parse(text)
        except ValueError as err:
            raise PrerequisiteError(f"{file}: not JSON ({err}); give the collection's own file.") from None
    return next(json_lines(local), ("", None))[1]


def _is_item(line: Any) -> bool:
    target = line.get("target") if isinstance(line, dict) else None
    return isinstance(target, dict) and target.get("type") == "choice"
