"""Make tools from documents: a model's draft is compared with itself, then tried in the sandbox, and written where it is kept."""

from __future__ import annotations

import ast
import json
import re
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
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.making.options import RULES, MakingOptions
from talm_sim.scenarios.making.outcome import Made
from talm_sim.scenarios.making.prompts import ASKED_AGAIN, ask, load_writer_prompts
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, WritingMaker

_TOOLS, _CODE, _TESTS = "tools", "api.py", "api_test.py"
_BLOCK = re.compile(r"^```[ \t]*(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
_TEST = "test_"


class BuildOptions(MakingOptions):
    """Options of `talm-sim tools build`."""

    file: Path | None = option(..., OPE, "Documentation of a tool, or a folder of such files.", metavar="DOC")
    model: ModelName = option(..., GEN, "Model that writes the tools.", metavar="P/N")
    max_new_tokens: int = option(2048, GEN, "Maximum tokens per draft; doubled once if cut off.", metavar="N", ge=1)
    network: Literal["on", "off"] = option("on", GEN, "Whether the tests reach the network.", metavar="on|off")
    trust: bool = option(False, OPE, "Run the model's code, in a sandbox.")


@dataclass(frozen=True, slots=True)
class Document:
    """The documentation of one tool."""

    id: str
    text: str

    @property
    def digest(self) -> str:
        """Equal documents have equal digests."""
        return digest(self.text)


class ToolMaker(WritingMaker[BuildOptions, Document, Made]):
    """Has a model draft a tool from each document, and keeps those that run, pass their tests and are described rightly.

    This is Fail-TaLMs, section 3.1. What is kept is a tool folder, `--tools-from fail-talms:OUT/tools`.
    """

    options_model = BuildOptions
    outcome = Made
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

    async def make(self, source: Document) -> Made:
        """Ask for drafts until one is kept, at most as often as there are attempts."""
        assert self._model is not None
        outcome = Made(source=source.id, digest=source.digest)
        for attempt in range(self.options.attempts):
            seed = derive_seed(self.options.seed, source.id, attempt)
            written = await ask(self._model, self._prompts.messages("draft", document=source.text), self.options, seed)
            try:
                if written.problem:
                    raise _DraftError(written.problem)
                draft = _read_draft(written.text)
                slowest = await _try(draft, network=self.options.network == "on")
                outcome.rows.append(self._keep(draft, source) | {"slowest_s": round(slowest, 2)})
                break
            except _DraftError as err:
                outcome.rejected.append({"document": source.id, "attempt": attempt + 1, "reason": str(err), "text": written.text})
        return outcome

    def bound(self, source: Document) -> Bound:
        """Count a request per attempt, once more if it is cut off."""
        told = max_tokens_of(*self._prompts.texts["draft"].values(), source.text)
        most = self.options.max_new_tokens
        return Bound(0, ASKED_AGAIN, ASKED_AGAIN * told, (1 + ASKED_AGAIN) * most).times(self.options.attempts)

    def report(self, sources: Sequence[Document], outcomes: Mapping[str, Made], begun: Any) -> dict[str, Any]:
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

    def _keep(self, draft: _Draft, source: Document) -> dict[str, Any]:
        folder = self.options.out / _TOOLS / (draft.category or "built") / draft.name
        if folder.exists() and not _is_of(folder, source):
            raise _DraftError(f"metadata: another document's tool is also named {draft.name}")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((_CODE, draft.code), (_TESTS, draft.tests), ("document.txt", source.text)):
            (folder / name).write_text(text, encoding="utf-8")
        folder.with_suffix(".json").write_text(json.dumps(draft.metadata, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return {"document": source.id, "tool": draft.name, "functions": list(draft.functions), "tests": len(draft.test_names)}


def _is_of(folder: Path, source: Document) -> bool:
    file = folder / "document.txt"
    return file.is_file() and read_text(file, LARGEST_SETTINGS) == source.text


async def _try(draft: _Draft, *, network: bool) -> float:
    """Run a draft's tests in the sandbox, and have its folder read as any tool folder is; return the seconds of the slowest test."""
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
            raise _DraftError(f"metadata: {err}") from None
        for refused in (*(f"{one.tool}: {one.reason}" for one in read.not_taken), *(f"{name}: {why}" for name, why in read.described.items())):
            raise _DraftError(f"metadata: {refused}")
        # In one file: the sandbox calls the code `api`, and the tests find it there under that name.
        (folder / _TESTS).write_text(f"{draft.code}\n\n{draft.tests}", encoding="utf-8")
        for name in draft.test_names:
            begun = time.monotonic()
            answer = await sandbox.call_in_sandbox(folder / _TESTS, name, {}, seconds=sandbox.SECONDS, network=network)
            slowest = max(slowest, time.monotonic() - begun)
            if answer.status != 200:
                raise _DraftError(f"{name}: {_error_in(answer.body)}")
    return slowest


def _error_in(body: bytes) -> str:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    said = found.get("detail") or found.get("error") if isinstance(found, dict) else None
    return " ".join(str(said or body.decode(errors="replace")).split())[:300]


class _DraftError(ValueError):
    """Why a draft is not kept."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A tool as a model drafted it."""

    name: str
    category: str
    metadata: dict[str, Any]
    code: str
    tests: str
    functions: tuple[str, ...]
    test_names: tuple[str, ...]


def _read_draft(text: str) -> _Draft:
    """Read a draft from a model's answer; nothing of it is run."""
    blocks = _BLOCK.findall(text if text.endswith("\n") else text + "\n")
    python = [body for _, body in blocks if _is_python(body)]
    tests = next((body for body in python if _test_names(body)), None)
    code = next((body for body in python if body is not tests and not _test_names(body)), None)
    if code is None or tests is None:
        raise _DraftError(f"its answer has no block of {'Python code' if code is None else 'tests'} that can be read")
    metadata = next((found for language, body in blocks if (found := _object_in(body)) is not None), None)
    if metadata is None:
        raise _DraftError("its answer has no block of metadata: a JSON object with an 'api_list'")
    if not isinstance(name := metadata.get("tool_name"), str) or not _NAME.fullmatch(name):
        raise _DraftError(f"metadata: tool_name: {str(name)[:80]!r} is not a name of letters, digits and underscores")
    functions = _check_metadata(metadata["api_list"], code)
    used = {node.id for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Attribute)}
    for function in functions:
        if function not in used:
            raise _DraftError(f"tests: none calls {function}")
    category = metadata.get("category_name")
    return _Draft(
        name, category if isinstance(category, str) and _NAME.fullmatch(category) else "", metadata, code, tests, functions, _test_names(tests)
    )


def _is_python(text: str) -> bool:
    try:
        return any(isinstance(node, ast.FunctionDef) for node in ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _test_names(text: str) -> tuple[str, ...]:
    return tuple(node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith(_TEST))


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("api_list"), list) and found["api_list"] else None


def _check_metadata(described: list[Any], code: str) -> tuple[str, ...]:
    """Compare what the metadata say of each function with its code; return the functions' names."""
    defined = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    names: list[str] = []
    for number, one in enumerate(described, 1):
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise _DraftError(f"metadata: entry {number} of api_list has no name")
        name = one["name"]
        if name in names:
            raise _DraftError(f"metadata: {name} is described twice")
        if not str(one.get("description") or "").strip():
            raise _DraftError(f"metadata: {name} has no description")
        if name not in defined:
            raise _DraftError(f"metadata: {name} is not in the code")
        for kind, taken in zip(("required", "optional"), _parameters(defined[name]), strict=True):
            said = {str(parameter.get("name")) for parameter in one.get(f"{kind}_parameters") or () if isinstance(parameter, dict)}
            if said != taken:
                differing = ", ".join(sorted(said ^ taken))
                raise _DraftError(f"metadata: {name}: the {kind} parameters are not those of the code ({differing[:120]})")
        names.append(name)
    return tuple(names)


def _parameters(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Return the names of a function's required and optional parameters."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        raise _DraftError(f"code: {function.name} takes arguments that have no name of their own")
    plain = [one.arg for one in given.args]
    required = {*plain[: len(plain) - len(given.defaults)]}
    required |= {one.arg for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None}
    return required, {*plain, *(one.arg for one in given.kwonlyargs)} - required
