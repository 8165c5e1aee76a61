"""Families whose calls begin with a mark of their own: one file for related families, with their writers and readers."""

from __future__ import annotations

from talm_sim.models.formats.families import gemma, harmony, invoke, lists, named, pythonic
from talm_sim.models.formats.families import section_tokens as sections
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
