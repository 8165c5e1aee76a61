"""Tool source `phrases`: each text file of a folder is a tool that fills in its blanks, as `--tools-from phrases:FOLDER,lang=de`."""

import string
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from talm_sim import PrerequisiteError, ToolSpec
from talm_sim.extend import HttpResponse, NotTaken, SourceOptions, SourceRequest, answer, failure, posted, register_tool_source


class Phrases:
    """The text files of a folder."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.files = {file.stem: file for file in sorted(folder.glob("*.txt"))}
        self.specs = {tool: self.spec(tool) for tool in self.files}
        self.routes = posted(name, self.specs)
        self.responses = {tool: {"type": "object", "required": ["text"]} for tool in self.files}
        self.not_taken: list[NotTaken] = []

    def spec(self, tool: str) -> ToolSpec:
        """Return the specification of one tool, which a model is told."""
        blanks = [name for _, name, _, _ in string.Formatter().parse(self.files[tool].read_text(encoding="utf-8")) if name]
        parameters = {"type": "object", "properties": {name: {"type": "string"} for name in blanks}, "required": blanks}
        return ToolSpec(name=tool, category=self.name, description=f"Write the phrase '{tool}'.", parameters=parameters)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Fill in the blanks."""
        try:
            return answer({"text": self.files[tool].read_text(encoding="utf-8").format(**arguments)})
        except OSError as err:
            return failure(500, f"The phrase cannot be read: {err.strerror}.")

    async def aclose(self) -> None:
        """Hold nothing."""


class PhrasesOptions(SourceOptions):
    """Options of the source."""

    lang: str = Field("", description="Take the phrases of one language, from the subfolder of this name.")


@register_tool_source("phrases", options=PhrasesOptions)
async def open_phrases(request: SourceRequest) -> Phrases:
    """Open a folder."""
    folder = Path(request.place, request.options.lang)
    if not list(folder.glob("*.txt")):
        raise PrerequisiteError("the folder holds no text file.")
    return Phrases(request.name, folder)
