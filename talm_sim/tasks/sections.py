"""Parts of an episode's page that several tasks show."""

from __future__ import annotations

from talm_sim.types import Line, Missing, Section

__all__ = ["missing_section", "shorten"]


def missing_section(missing: Missing, *more: str) -> Section:
    """Return what was taken away, and faint lines below it."""
    removed = f" (removed: “{shorten(missing.removed_text)}”)" if missing.removed_text else ""
    first = (Line(text=f"{missing.kind.value} {missing.name}{removed}"),)
    return Section(title="Missing", lines=(first, *((Line(text=line, style="faint"),) for line in more)))


def shorten(text: str, width: int = 200) -> str:
    """Return the text on one line of at most `width` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
