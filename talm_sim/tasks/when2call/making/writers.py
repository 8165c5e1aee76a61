"""The writers of items' texts: one protocol for a model and for the rules that need none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from talm_sim.common.digests import derive_seed
from talm_sim.config import GEN, OPE, is_constrained, option
from talm_sim.models.base import Model
from talm_sim.models.parsing import replace_surrogates
from talm_sim.models.registry import in_process
from talm_sim.scenarios.making.options import MakingOptions
from talm_sim.scenarios.making.prompts import WriterPrompts, WrittenText, ask
from talm_sim.tasks.when2call.making.item_checks import judge_choices, judged_kinds
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.sources import SourceQuestion, tool_text
from talm_sim.types import Behaviour, Missing

_TOOL_USE = "Who decides whether a request needs a tool: the model, or the gold call (which every request has)."
_ORDER = ("model", "model_options", "tool_use", "labels", "prompts", "seed", "temperature", "top_p", "max_new_tokens", "attempts", "judge")
"""Of the settings, as the reports have them."""


class GenerateOptions(MakingOptions):
    """Everything that decides a making of items for task `when2call`."""

    not_asked: ClassVar = frozenset({"variants"})

    file: Path | None = option(
        None, OPE, "Scenarios with gold calls, or rows of When2Call, BFCL or xLAM-60k. Default: packaged.", flag="--from", metavar="FILE"
    )
    tool_use: Literal["model", "call"] = option("model", GEN, _TOOL_USE)
    tool_format: Literal["auto", "native", "constrained"] = option("auto", GEN, "How labels are read from answers.")
    unable: Literal["removed", "written", "both"] = option(
        "removed", GEN, "Requests that cannot be served: the tool is removed, another request is written, or both."
    )
    judge: Literal["none", "model"] = option("none", GEN, "Who looks for faults that rules cannot see: nobody, or the model.")
    variants: Literal["all", "one"] = option("all", GEN, "Rows per item: one for every set of tools, or one.")

    @property
    def constrained(self) -> bool:
        """Whether labels are decoded under a grammar; a model in this process writes them by itself, as it would have to be loaded twice."""
        return is_constrained(self.model, self.tool_format) and not in_process(self.model)

    def settings(self, wording: str = "") -> dict[str, Any]:
        """See `MakingOptions.settings`; `tool_use` is `call` where no model can say it, and `labels` stands for the tool format."""
        found = super().settings(wording)
        found |= {"tool_use": "call" if self.by_rules else self.tool_use, "labels": "constrained" if self.constrained else "plain"}
        found["judge"] = "none" if self.by_rules else self.judge
        return {name: found[name] for name in (*_ORDER, "unable", "variants")}


TOOL_USES = ("real_time", "database", "other")
"""Why a request needs a tool; `none` is a fourth label, with which it is dropped."""
_LABELS = {"public_data": "none", "calculator": "none", "specialized_tool": "other", "real_time": "real_time", "database": "database"}
"""The labels that a model is asked for (Table 9), and what each means: whether a tool is needed, and which of `TOOL_USES`."""
_LABEL = re.compile(r"public[ _-]?data|calculator|speciali[sz]ed[ _-]?tool|real[ _-]?time|database", re.IGNORECASE)
_LOOKS_UP = ("get", "find", "list", "check", "search", "lookup", "fetch")
_LEAD = re.compile(
    r"^(?:(?:a|the|your|my|new|here is (?:a|the|your)) )*(?:related |follow-up |rewritten )?(?:request|question|answer|response|label)"
    r"(?: it cannot serve| to the person)?\s*:\s*",
    re.IGNORECASE,
)


def tool_use_of_call(source: SourceQuestion) -> WrittenText:
    """Say why a request needs a tool, by its gold call: a tool whose name begins with get, find and the like has a database behind it.

    That it needs one is known here, for the call is part of the source. Real-time data cannot be told from a name.
    """
    return WrittenText("database" if source.spec.name.lower().startswith(_LOOKS_UP) else "other")


class Writer(Protocol):
    """Writes the texts of items. `attempt` counts from 0; a later one may try something else."""

    name: str
    """Who wrote: `source` of the rows."""

    async def tool_use(self, source: SourceQuestion) -> WrittenText:
        """Say why a request needs a tool: one of `TOOL_USES`, or `none`."""
        ...

    async def rewrite(self, source: SourceQuestion, missing: Missing, attempt: int) -> WrittenText:
        """Write the question without one of its values."""
        ...

    async def unanswerable(self, source: SourceQuestion, attempt: int) -> WrittenText:
        """Write a related question that the tool cannot answer."""
        ...

    async def option(self, behaviour: Behaviour, item: Item, attempt: int) -> WrittenText:
        """Write an answer to an item's question that shows `behaviour`; never a tool call, which comes from the gold call."""
        ...

    async def judge(self, item: Item, options: Mapping[Behaviour, str], tools: Sequence[str]) -> WrittenText | None:
        """Name the worst fault of meaning that an item has (`quality.judged_kinds`), as a JSON object; None where nobody judges."""
        ...

    async def aclose(self) -> None:
        """Release what the writer holds."""
        ...


class ModelWriter:
    """Has a chat model write, one short conversation a text.

    Args:
        labeller: Gives the label; the same model, constrained where it is too weak to keep to one.
        options: How it samples (appendix C: temperature 0.6, top-p 0.95); a text cut off at `max_new_tokens` is written once more with twice as
            many, every request derives its own seed, and with `tool_use` `call` the gold call says why a request needs a tool (a very small
            model answers anything).
    """

    def __init__(self, model: Model, labeller: Model, prompts: WriterPrompts, options: GenerateOptions) -> None:
        self.name = f"talm-sim, {model.name}"
        self._model = model
        self._labeller = labeller
        self._prompts = prompts
        self._options = options

    async def tool_use(self, source: SourceQuestion) -> WrittenText:
        """Ask for the label; see `Writer.tool_use`."""
        if self._options.tool_use == "call":
            return tool_use_of_call(source)
        written = await self._ask("tool_use", source.id, 0, {"question": source.question}, tuple(_LABELS))
        if written.problem:
            return written
        plain = {name.replace("_", ""): meant for name, meant in _LABELS.items()}
        found = {re.sub(r"[ _-]", "", match.lower()).replace("ised", "ized") for match in _LABEL.findall(written.text.split("Reason:")[0])}
        return WrittenText(plain[found.pop()]) if len(found) == 1 else WrittenText(written.text, "it names no label, or more than one")

    async def rewrite(self, source: SourceQuestion, missing: Missing, attempt: int) -> WrittenText:
        """Ask for the shorter question; see `Writer.rewrite`."""
        about = Item(source, Behaviour.REQUEST_FOR_INFO, "", missing).argument_description(missing.name)
        values = {"question": source.question, "parameter": _describe_missing(missing), "description": about}
        return await self._ask("rewrite", source.id, attempt, values)

    async def unanswerable(self, source: SourceQuestion, attempt: int) -> WrittenText:
        """Ask for a related question; see `Writer.unanswerable`."""
        return await self._ask(
            "unanswerable",
            source.id,
            attempt,
            {"question": source.question, "tool": tool_text(source.spec), "description": source.spec.description},
        )

    async def option(self, behaviour: Behaviour, item: Item, attempt: int) -> WrittenText:
        """Ask for an answer; see `Writer.option`. Only follow-up questions are written with the tool in sight."""
        where, asked = f"{item.source.id}/{item.gold.value}", {"question": item.question}
        if behaviour is not Behaviour.REQUEST_FOR_INFO:
            return await self._ask(behaviour.value, where, attempt, asked)
        if item.missing is None:
            return await self._ask("request_for_info_any", where, attempt, asked | {"tool": tool_text(item.source.spec)})
        lacks = {"parameter": item.missing.name.replace("_", " "), "description": item.argument_description(item.missing.name)}
        return await self._ask("request_for_info", where, attempt, asked | lacks)

    async def judge(self, item: Item, options: Mapping[Behaviour, str], tools: Sequence[str]) -> WrittenText | None:
        """Ask for the worst fault; see `Writer.judge`. A model that is held to labels names one of the item's faults or none."""
        if self._options.judge == "none" or not judged_kinds(item):
            return None
        values = {
            "tools": "\n".join(tools) or "(none)",
            "question": item.question,
            "answer": options[item.gold],
            "faults": "\n".join(f"{kind.name}: the {kind.part} {kind.about}" for kind in judged_kinds(item)),
        }
        where = f"{item.source.id}/{item.gold.value}{'/removed' if item.removed else ''}"
        seed = derive_seed(self._options.seed, "judge", where)
        return await ask(self._labeller, self._prompts.messages("judge", **values), self._options, seed, judge_choices(item))

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
        if self._labeller is not self._model:
            await self._labeller.aclose()

    async def _ask(self, step: str, where: str, attempt: int, values: dict[str, str], choices: tuple[str, ...] = ()) -> WrittenText:
        seed = derive_seed(self._options.seed, step, where, attempt)
        model = self._labeller if choices else self._model
        written = await ask(model, self._prompts.messages(step, **values), self._options, seed, choices)
        return WrittenText(_strip_label(written.text), written.problem)


def _describe_missing(missing: Missing) -> str:
    value = missing.value if isinstance(missing.value, str) else json.dumps(missing.value, ensure_ascii=False)
    return f"{missing.name.replace('_', ' ')}, here {value}"


def _strip_label(text: str) -> str:
    """Strip the label before a text and the quotation marks around it; return one line."""
    flat = _LEAD.sub("", " ".join(replace_surrogates(text).encode(errors="ignore").decode().split()))
    while len(flat) > 1 and (flat[0], flat[-1]) in {('"', '"'), ("\u201c", "\u201d"), ("'", "'"), ("`", "`")} and flat[0] not in flat[1:-1]:
        flat = flat[1:-1].strip()
    return flat
