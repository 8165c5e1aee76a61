"""Families whose calls begin with a mark of their own: one file for related families, with their writers and readers.

From the lowest layer up:

- `base.py` is what the readers of families share
- `gemma.py` is the format of Gemma 4 and FunctionGemma
- `harmony.py` is the format of gpt-oss
- `invoke.py` has XML-like tags: Anthropic, MiniMax M2, Step 3, DeepSeek V3.2
- `lists.py` has lists of JSON objects: Command R, Command A, Apertus
- `named.py` has calls whose tool is named in words: GLM-4 9B, logs
- `pythonic.py` has calls in Python's syntax between tags: OLMo 3, SmolLM3
- `section_tokens.py` has sections of special tokens: DeepSeek V3, Kimi K2
"""

from __future__ import annotations

from talm_sim.models.formats.families import gemma, harmony, invoke, lists, named, pythonic, section_tokens as sections
from talm_sim.models.formats.families.base import Opening

__all__ = ["OPENINGS"]

OPENINGS: tuple[Opening, ...] = (
    *harmony.OPENINGS,
    *gemma.OPENINGS,
    *invoke.OPENINGS,
    *sections.OPENINGS,
    *lists.OPENINGS,
    *pythonic.OPENINGS,
    *named.OPENINGS,
)
"""How their calls begin, and what reads them; a mark that contains another one comes before it."""
