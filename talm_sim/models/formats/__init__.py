"""Formats of tool calls, one for each family of models. One table writes them, one reader reads them all.

`FORMATS` are the families by name; `read_calls` reads what a model wrote, whichever it is. What is written with a format is read back as it
was, given the shown tools: of formats that drop a value's type (`qwen3-coder`, `glm`) the schema decides it.

From the lowest layer up:

- `literals.py` writes and reads values as JSON and Python do
- `base.py` says what a format is
- `shown.py` looks up the types of arguments in the shown tools
- `families/` holds a file for each family whose calls begin with a mark of their own
- `known_formats.py` is the table of formats by name
- `python_calls.py` finds calls in Python's syntax
- `readers.py` reads calls, one reader for each way in which they begin
- `reader.py` separates the calls of a text from its words
"""

from __future__ import annotations

from talm_sim.models.formats.base import CallToWrite, Format
from talm_sim.models.formats.known_formats import FORMATS, format_of_template
from talm_sim.models.formats.literals import json_text, python_text
from talm_sim.models.formats.reader import ParsedText, read_calls

__all__ = ["FORMATS", "CallToWrite", "Format", "ParsedText", "format_of_template", "json_text", "python_text", "read_calls"]
