"""Parts of an episode's page that several tasks show."""

from __future__ import annotations

from collections.abc import Callable

from talm_sim.types import Line, Missing, Section

__all__ = ["missing_section", "shorten"]


def missing_section(*missing: Missing, more: Callable[[Missing], str] = lambda _: "") -> Section:
    """Return what was taken away, a line for each blocker, and a faint line below it with what `more` says of it."""
    lines: list[tuple[Line, ...]] = []
    for one in missing:
        removed = f" (removed: “{shorten(one.removed_text)}”)" if one.removed_text else ""
        lines.append((Line(text=f"{one.kind.value} {one.name}{removed}"),))
        lines += [(Line(text=said, style="faint"),)] if (said := more(one)) else []
    return Section(title="Missing", lines=tuple(lines))


def shorten(text: str, width: int = 200) -> str:
    """Return the text on one line of at most `width` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
