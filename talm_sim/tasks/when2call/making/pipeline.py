"""Make rows from a source question: every text is written, checked, kept or given up with its reasons."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from talm_sim.common.digests import derive_seed
from talm_sim.scenarios.making.outcome import Made
from talm_sim.scenarios.making.prompts import WrittenText
from talm_sim.tasks.when2call.making.item_checks import OPTION_CHECKS, Check, FaultKind, differs, failures, read_fault
from talm_sim.tasks.when2call.making.items import Item, rows_of, tool_call_text
from talm_sim.tasks.when2call.making.question_checks import QUESTION_CHECKS
from talm_sim.tasks.when2call.making.sources import SourceQuestion
from talm_sim.tasks.when2call.making.splitting import mentions_value
from talm_sim.tasks.when2call.making.writers import TOOL_USES, Writer
from talm_sim.types import Behaviour, JsonObject, Missing, MissingKind

_WRITTEN = (Behaviour.DIRECT, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)
"""Behaviours whose option is written; the tool call is the gold call."""
_GOLDS = (Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A text that was rejected or could not be had.

    Attributes:
        item: Gold behaviour of the item the text was for.
        text_of: `question`, or the behaviour of the option.
        check: Name of the check it failed; `written` where there was no whole text to check.
        question: The question it answers, for an option.
        attempt: Which attempt it was, from 1.
    """

    source: str
    item: str
    text_of: str
    check: str
    reason: str
    text: str
    question: str = ""
    attempt: int = 1


@dataclass(slots=True, kw_only=True)
class ItemOutcome(Made):
    """The outcome of one source question.

    Attributes:
        not_tried: Gold behaviour to the reason why no item of it was tried.
        given_up: Gold behaviours whose item was given up.
        judged: How many of its items the judge answered on (`read`), and how many of its answers could not be read (`unreadable`).
    """

    tool_use: str = ""
    not_tried: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    judged: dict[str, int] = field(default_factory=dict)

    @property
    def summary_text(self) -> str:
        """How many items were made."""
        made = len({row["correct_answer"] for row in self.rows})
        return self.dropped or f"{made} item{'' if made == 1 else 's'}, {len(self.given_up)} given up"


async def make_items(
    source: SourceQuestion, writer: Writer, *, seed: int, attempts: int = 1, every: bool = True, unable: str = "removed"
) -> ItemOutcome:
    """Make the items of one source question (When2Call, section 2.2)."""
    outcome = ItemOutcome(source=source.id, digest=source.digest)
    label = await writer.tool_use(source)
    if label.problem:
        outcome.dropped = f"why it needs a tool is not clear: {label.problem}"
        return outcome
    if label.text not in TOOL_USES:
        outcome.dropped = "it needs no tool"
        return outcome
    outcome.tool_use = label.text
    maker = _Maker(source, writer, outcome, attempts, seed)
    golds = [(gold, False) for gold in _GOLDS if gold is not Behaviour.CANNOT_ANSWER or unable != "removed"]
    golds += [(Behaviour.CANNOT_ANSWER, True)] if unable != "written" else []
    for gold, removed in golds:
        item = Item(source, gold, source.question, removed=True) if removed else await maker.item(gold)
        if item is None:
            continue
        options = await maker.options(item)
        rows = list(rows_of(item, options, writer=writer.name, tool_use=label.text, seed=seed, every=every)) if options else []
        if options is None or not await maker.judge(item, options, rows):
            outcome.given_up.append(gold.value)
        else:
            outcome.rows += rows
    return outcome


class _Maker:
    """Writes and checks the texts of one source question."""

    def __init__(self, source: SourceQuestion, writer: Writer, outcome: ItemOutcome, attempts: int, seed: int) -> None:
        self._source = source
        self._writer = writer
        self._outcome = outcome
        self._attempts = attempts
        self._seed = seed

    async def item(self, gold: Behaviour) -> Item | None:
        """Return the item's question; None if there is none."""
        source = self._source
        if gold is Behaviour.TOOL_CALL:
            return await self._write_question(Item(source, gold, source.question), self._as_it_is)
        if gold is Behaviour.CANNOT_ANSWER:
            return await self._write_question(Item(source, gold, ""), lambda attempt: self._writer.unanswerable(source, attempt))
        if len(source.spec.required) < 2:
            self._outcome.not_tried[gold.value] = "its tool has fewer than two required parameters"
            return None
        if source.removal:
            return await self._write_question(Item(source, gold, "", source.removal.missing), self._packaged_question)
        missing = self._choose_missing()
        if missing is None:
            self._outcome.not_tried[gold.value] = "the question holds no required value to the letter, so none can be left out"
            return None
        return await self._write_question(Item(source, gold, "", missing), lambda attempt: self._writer.rewrite(source, missing, attempt))

    async def options(self, item: Item) -> dict[Behaviour, str] | None:
        """Return a text for each behaviour; None if one could not be had. All are tried, so that the report knows every fault."""
        call = tool_call_text(item.source)
        kept: dict[Behaviour, str] = {}
        if not self._passes_checks(item, Behaviour.TOOL_CALL.value, WrittenText(call), OPTION_CHECKS[Behaviour.TOOL_CALL], [], 0):
            return None
        kept[Behaviour.TOOL_CALL] = call
        for behaviour in _WRITTEN:
            for attempt in range(self._attempts):
                written = await self._writer.option(behaviour, item, attempt)
                if self._passes_checks(item, behaviour.value, written, OPTION_CHECKS[behaviour], list(kept.values()), attempt):
                    kept[behaviour] = written.text
                    break
        return kept if len(kept) == len(_WRITTEN) + 1 else None

    async def judge(self, item: Item, options: Mapping[Behaviour, str], rows: Sequence[JsonObject]) -> bool:
        """Return whether the judge finds no fault; an answer that cannot be read rejects nothing and is counted."""
        tools: Sequence[str] = max((row["tools"] for row in rows), key=len, default=[])
        written = await self._writer.judge(item, options, tools)
        if written is None:
            return True
        fault = None if written.problem else read_fault(written.text, item)
        judged = "unreadable" if fault is None else "read"
        self._outcome.judged[judged] = self._outcome.judged.get(judged, 0) + 1
        if not isinstance(fault, FaultKind):
            return True
        text_of, text = ("request_for_info", options[item.gold]) if fault.part == "follow-up" else ("question", item.question)
        reason = f"the {fault.part} {fault.about}, says the judge"
        one = Rejection(self._source.id, item.gold.value, text_of, fault.name, reason, text, item.question if text_of != "question" else "")
        self._outcome.rejected.append({name: getattr(one, name) for name in Rejection.__slots__})
        return False

    async def _write_question(self, blank: Item, write: Callable[[int], Awaitable[WrittenText]]) -> Item | None:
        for attempt in range(self._attempts):
            written = await write(attempt)
            item = Item(blank.source, blank.gold, written.text, blank.missing)
            if self._passes_checks(item, "question", written, QUESTION_CHECKS[blank.gold], [], attempt):
                return item
        self._outcome.given_up.append(blank.gold.value)
        return None

    def _passes_checks(
        self, item: Item, text_of: str, written: WrittenText, checks: Sequence[Check], others: Sequence[str], attempt: int
    ) -> bool:
        """Return whether a text passes all checks; note every one it fails."""
        if written.problem:
            found = [("written", written.problem)]
        else:
            found = failures(written.text, item, checks)
            same = differs(written.text, others) if written.text.strip() else ""
            found += [("differs", same)] if same else []
        for check, reason in found:
            asked = "" if text_of == "question" else item.question
            one = Rejection(self._source.id, item.gold.value, text_of, check, reason, written.text, asked, attempt + 1)
            self._outcome.rejected.append({name: getattr(one, name) for name in Rejection.__slots__})
        return not found

    def _choose_missing(self) -> Missing | None:
        """Choose a required value that the question has word for word, so that one can see whether it is gone."""
        source = self._source
        given = [
            name
            for name in source.spec.required
            if name in source.call.arguments and mentions_value(source.question, source.call.arguments[name])
        ]
        if not given:
            return None
        name = random.Random(derive_seed(self._seed, source.id, "left out")).choice(given)
        return Missing(kind=MissingKind.ARGUMENT, name=name, value=source.call.arguments[name])

    async def _as_it_is(self, attempt: int) -> WrittenText:
        return WrittenText(self._source.question)

    async def _packaged_question(self, attempt: int) -> WrittenText:
        assert self._source.removal is not None
        return WrittenText(self._source.removal.question)
