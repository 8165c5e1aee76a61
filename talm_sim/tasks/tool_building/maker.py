"""Makes tools from documents: each draft is tried in the sandbox, and written where it is kept."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from talm_sim.common.digests import derive_seed, digest
from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.config import GEN, OPE, ModelName, option
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Model
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.making.asking import ASKED_AGAIN, ask
from talm_sim.scenarios.making.options import RULES, MakingOptions
from talm_sim.scenarios.making.outcome import Outcome
from talm_sim.scenarios.making.prompts import load_writer_prompts
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, Maker, OpenModel
from talm_sim.tasks.tool_building.draft import Draft, DraftError, read_draft

__all__ = ["BuildOptions", "ToolMaker"]

_TOOLS, _CODE, _TESTS = "tools", "api.py", "api_test.py"


class BuildOptions(MakingOptions):
    """Options of `talm-sim tools build`."""

    file: Path | None = option(..., OPE, "Documentation of a tool, or a folder of such files.", metavar="DOC")
    model: ModelName = option(..., GEN, "Model that writes the tools.", metavar="P/N")
    max_new_tokens: int = option(2048, GEN, "Maximum tokens per draft; doubled once if cut off.", metavar="N", ge=1)
    network: Literal["on", "off"] = option("on", GEN, "Whether the tests reach the network.", metavar="on|off")
    trust: bool = option(False, OPE, "Run the model's code, in a sandbox.")


@dataclass(frozen=True, slots=True)
class Document:
    """The documentation of one tool.

    Attributes:
        id: The file's name without its ending.
        text: What it says.
    """

    id: str
    text: str

    @property
    def digest(self) -> str:
        """Equal documents have equal digests."""
        return digest(self.text)


class ToolMaker(Maker[BuildOptions, Document, Outcome]):
    """Has a model draft a tool from each document, and keeps those that run, pass their tests and are described rightly.

    This is Fail-TaLMs, section 3.1. What is kept is a tool folder, `--tools-from fail-talms:OUT/tools`.
    """

    options_model = BuildOptions
    outcome = Outcome
    rules = 1
    noun = "document"

    def __init__(self, options: BuildOptions) -> None:
        from talm_sim.tools_env.sources.sandbox import check_sandbox  # not at the top: a help page needs none

        super().__init__(options)
        if options.model == RULES:
            raise PrerequisiteError(f"--model {RULES}: writes scenarios by rules; name a model that can write code.")
        if not options.trust:
            raise PrerequisiteError("tools build runs code that the model writes; add --trust to run it in a sandbox: 1 GiB, 10 s per test.")
        check_sandbox(())
        self._prompts = load_writer_prompts("talm_sim.tasks.tool_building", options.prompts)
        self.wording = self._prompts.digest
        self._model: Model | None = None

    def load(self) -> Sequence[Document]:
        """Read the documents: one file, or each of a folder."""
        place = self.options.file
        assert place is not None
        files = sorted(one for one in place.iterdir() if one.is_file() and not one.name.startswith(".")) if place.is_dir() else [place]
        found: dict[str, Document] = {}
        for file in files:
            try:
                document = Document(file.stem, read_text(file, LARGEST_SETTINGS))
            except OSError as err:
                raise PrerequisiteError(f"{file}: cannot be read: {err.strerror}.") from None
            except ValueError as err:
                raise PrerequisiteError(f"{file}: is not plain text ({type(err).__name__}); save the documentation as text.") from None
            if document.id in found:
                raise PrerequisiteError(f"{file}: another document is also named '{document.id}'; rename one of them.")
            found[document.id] = document
        return [*found.values()]

    def open(self, sources: Sequence[Document], open_model: OpenModel) -> None:
        """Open the model."""
        self._model = open_model()

    async def make(self, source: Document) -> Outcome:
        """Ask for drafts until one is kept, at most as often as there are attempts."""
        assert self._model is not None
        outcome = Outcome(source=source.id, digest=source.digest)
        for attempt in range(self.options.attempts):
            seed = derive_seed(self.options.seed, source.id, attempt)
            written = await ask(self._model, self._prompts.messages("draft", document=source.text), self.options, seed)
            try:
                if written.problem:
                    raise DraftError(written.problem)
                draft = read_draft(written.text)
                slowest = await _try(draft, network=self.options.network == "on")
                outcome.rows.append(self._keep(draft, source) | {"slowest_s": round(slowest, 2)})
                break
            except DraftError as err:
                outcome.rejected.append({"document": source.id, "attempt": attempt + 1, "reason": str(err), "text": written.text})
        return outcome

    def bound(self, source: Document) -> Bound:
        """Count a request per attempt, once more if it is cut off."""
        told = max_tokens_of(*self._prompts.texts["draft"].values(), source.text)
        most = self.options.max_new_tokens
        return Bound(0, ASKED_AGAIN, ASKED_AGAIN * told, (1 + ASKED_AGAIN) * most).times(self.options.attempts)

    def report(self, sources: Sequence[Document], outcomes: Mapping[str, Outcome], begun: Any) -> dict[str, Any]:
        """Add what was kept and what was not, with the last reason."""
        report = super().report(sources, outcomes, begun)
        known = [outcomes[source.id] for source in sources if source.id in outcomes]
        report["tools"] = [
            {
                "document": one.source,
                "tool": one.rows[0]["tool"] if one.rows else "",
                "functions": one.rows[0]["functions"] if one.rows else [],
                "kept": bool(one.rows),
                "reason": "" if one.rows else one.rejected[-1]["reason"] if one.rejected else one.failed,
            }
            for one in known
        ]
        return report

    def listings(self, report: Mapping[str, Any]) -> list[Listing]:
        """Return a line for every document."""
        rows = [
            {
                "document": one["document"],
                "kept": "kept" if one["kept"] else "not kept",
                "what": ", ".join(one["functions"]) if one["kept"] else one["reason"],
            }
            for one in report["tools"]
        ]
        return [(rows, {"document": "Document", "kept": "Result", "what": "Functions, or the reason"})]

    def notes(self, report: Mapping[str, Any]) -> list[str]:
        """Say how the tools are used."""
        kept = any(one["kept"] for one in report["tools"])
        network = "" if self.options.network == "off" else ",network=on"
        return [f"use them: --tools-from fail-talms:{self.options.out / _TOOLS}{network} --trust"] if kept else []

    async def aclose(self) -> None:
        """Close the model."""
        if self._model is not None:
            await self._model.aclose()

    def _keep(self, draft: Draft, source: Document) -> dict[str, Any]:
        folder = self.options.out / _TOOLS / (draft.category or "built") / draft.name
        if folder.exists() and not _is_of(folder, source):
            raise DraftError(f"metadata: another document's tool is also named {draft.name}")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((_CODE, draft.code), (_TESTS, draft.tests), ("document.txt", source.text)):
            (folder / name).write_text(text, encoding="utf-8")
        folder.with_suffix(".json").write_text(json.dumps(draft.metadata, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return {"document": source.id, "tool": draft.name, "functions": list(draft.functions), "tests": len(draft.test_names)}


def _is_of(folder: Path, source: Document) -> bool:
    file = folder / "document.txt"
    return file.is_file() and read_text(file, LARGEST_SETTINGS) == source.text


async def _try(draft: Draft, *, network: bool) -> float:
    """Run a draft's tests in the sandbox, and have its folder read as any tool folder is; return the seconds of the slowest test.

    Raises:
        DraftError: A test fails or takes too long, or the description of a function cannot be shown to a model.
    """
    from talm_sim.tools_env.sources import sandbox  # not at the top: a help page needs none
    from talm_sim.tools_env.sources.fail_talms import ToolFolder

    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="talm-tool-") as place:
        folder = Path(place) / "built" / draft.name
        folder.mkdir(parents=True)
        folder.with_suffix(".json").write_text(json.dumps(draft.metadata), encoding="utf-8")
        (folder / _CODE).write_text(draft.code, encoding="utf-8")
        try:
            read = ToolFolder("built", Path(place))
        except PrerequisiteError as err:
            raise DraftError(f"metadata: {err}") from None
        for refused in (*(f"{one.tool}: {one.reason}" for one in read.not_taken), *(f"{name}: {why}" for name, why in read.described.items())):
            raise DraftError(f"metadata: {refused}")
        # In one file: the sandbox calls the code `api`, and the tests find it there under that name.
        (folder / _TESTS).write_text(f"{draft.code}\n\n{draft.tests}", encoding="utf-8")
        for name in draft.test_names:
            begun = time.monotonic()
            answer = await sandbox.call_in_sandbox(folder / _TESTS, name, {}, seconds=sandbox.SECONDS, network=network)
            slowest = max(slowest, time.monotonic() - begun)
            if answer.status != 200:
                raise DraftError(f"{name}: {_error_in(answer.body)}")
    return slowest


def _error_in(body: bytes) -> str:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    said = found.get("detail") or found.get("error") if isinstance(found, dict) else None
    return " ".join(str(said or body.decode(errors="replace")).split())[:300]
