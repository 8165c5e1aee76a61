"""Marks by which families of models begin a call, beside those that many families share."""

from __future__ import annotations

import re

__all__ = ["FAMILY_MARKS", "LINED"]

_NAME = r"[^\W\d][\w.-]{0,255}"
_IDENTIFIER = r"(?-i:(?!\S*\.json\b)[A-Za-z][A-Za-z0-9]{0,255}(?:[._]\w|(?<=[a-z0-9])[A-Z])[\w.-]{0,255})"
FAMILY_MARKS = "|".join(
    (
        r"<\uff5cDSML\uff5c(?:function_calls|tool_calls|invoke)\b[^<>\n]{0,256}>",  # DeepSeek V3.2
        r"<minimax:tool_call>|<\|(?:START_ACTION|tools_prefix|python_start)\|>",  # MiniMax M2, Command R7B, Apertus, Llama 4
        r"(?m:^)Action:\s*```(?:json)?\s*(?=\[\s*\{\s*\"tool_name\")",  # Command R
        rf"\u273fFUNCTION\u273f[ \t]*:[ \t]*{_NAME}",  # Qwen-Agent
        rf"<\|recipient\|>[ \t]*(?!all\b){_NAME}|\A\s*{_NAME}[ \t]*\n<\|content\|>(?=\s*\{{)",  # Functionary v2
        rf"(?m:^)[ \t]*Call:[ \t]*{_NAME}\((?=[^\n]{{0,2000}}<bot_end>)",  # NexusRaven
        rf"\A\s*{_NAME}[ \t]*\n\s*```python\s+tool_call\(",  # ChatGLM 3
        rf"\A\s*{_IDENTIFIER}[ \t]*\n(?=\s*\{{\s*[\"}}])",  # GLM-4 9B
        rf"(?m:^)<code>\s*{_NAME}\((?=\)|\s*\w+\s*=(?!=))",  # SmolLM3
    )
)
"""Source of a regular expression, which ignores case except where it says so."""
LINED = re.compile(rf"\s*({_NAME})[ \t]*\n\s*\{{")
"""The beginning of a turn in which GLM-4 9B calls a shown tool, whatever its name."""
