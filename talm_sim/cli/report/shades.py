"""Shades of a confusion matrix: one hue from light to dark, so that lightness alone is enough for colour-blind readers."""

from __future__ import annotations

__all__ = ["contrast", "shade"]

Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

_RAMP: tuple[Colour, ...] = ((240, 246, 252), (107, 161, 206), (8, 48, 107))
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)


def shade(share: float) -> tuple[Colour, Colour]:
    """Return the colour of a cell and that of its digits, whichever of black and white is read better on it.

    Args:
        share: 0 (lightest) to 1 (darkest).
    """
    place = min(max(share, 0.0), 1.0) * (len(_RAMP) - 1)
    index = min(int(place), len(_RAMP) - 2)
    low, high = _RAMP[index], _RAMP[index + 1]
    red, green, blue = (round(a + (b - a) * (place - index)) for a, b in zip(low, high, strict=True))
    back = (red, green, blue)
    return back, max((_BLACK, _WHITE), key=lambda front: contrast(back, front))


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2); text needs 4.5.

    >>> contrast((255, 255, 255), (0, 0, 0))
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    red, green, blue = ((part / 12.92) if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (value / 255 for value in colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
