"""Colours of the web: the CSS names of webcolors (BSD-3-Clause), colour spaces, contrast and harmonies of coloraide (MIT)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot

if TYPE_CHECKING:
    from coloraide import Color

router = APIRouter()

HINT = "Give a CSS colour name such as goldenrod, or a hex code such as #daa520."
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")

Space = Literal["hsl", "hsv", "hwb", "lab", "lch", "oklch"]
CHANNELS: dict[Space, tuple[tuple[str, float, int], ...]] = {
    "hsl": (("hue", 1, 1), ("saturation_percent", 100, 1), ("lightness_percent", 100, 1)),
    "hsv": (("hue", 1, 1), ("saturation_percent", 100, 1), ("value_percent", 100, 1)),
    "hwb": (("hue", 1, 1), ("whiteness_percent", 100, 1), ("blackness_percent", 100, 1)),
    "lab": (("lightness", 1, 2), ("a", 1, 2), ("b", 1, 2)),
    "lch": (("lightness", 1, 2), ("chroma", 1, 2), ("hue", 1, 2)),
    "oklch": (("lightness", 1, 4), ("chroma", 1, 4), ("hue", 1, 2)),
}
"""Name, scale and decimals of each channel of a colour space."""

Harmony = Literal["complementary", "triadic", "split complementary", "analogous", "square"]
HARMONIES: dict[Harmony, str] = {
    "complementary": "complement",
    "triadic": "triad",
    "split complementary": "split",
    "analogous": "analogous",
    "square": "square",
}

COLOR = "CSS colour name or hex code."


@lru_cache(maxsize=1)
def _css_colors() -> dict[str, str]:
    """Hex codes of the CSS colours by name, in the order of the alphabet."""
    import webcolors  # type: ignore[import-untyped]

    return {name: str(webcolors.name_to_hex(name)) for name in sorted(webcolors.names("css3"))}


def _color(code: str) -> Color:
    from coloraide import Color

    return Color(code)


@lru_cache(maxsize=1)
def _named_colors() -> dict[str, Color]:
    """CSS colours by name; of two names for the same colour the first in the alphabet."""
    first = {code: name for name, code in reversed(_css_colors().items())}
    return {name: _color(code) for name, code in _css_colors().items() if first[code] == name}


def _hex(color: str) -> str:
    """The six-digit hex code of a colour name or of another form of hex code."""
    name = fold(color).replace(" ", "")
    digits = name.removeprefix("#")
    if len(digits) in (3, 6) and HEX_DIGITS.issuperset(digits):
        return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    if name not in _css_colors():
        raise not_found("colour", color, _css_colors(), HINT)
    return _css_colors()[name]


class CssColor(BaseModel):
    """A named colour of CSS."""

    name: str
    hex: str
    rgb: str
    also_called: list[str]


class NearestName(BaseModel):
    """The CSS name nearest to a colour."""

    color: str
    name: str
    name_hex: str
    difference: float
    exact: bool


class ConvertedColor(BaseModel):
    """A colour in another colour space."""

    color: str
    space: str
    channels: dict[str, float | None]


class Contrast(BaseModel):
    """How well text is told from its background, by WCAG 2.1."""

    foreground: str
    background: str
    ratio: float
    aa_normal_text: bool
    aa_large_text: bool
    aaa_normal_text: bool
    aaa_large_text: bool


class ColorHarmony(BaseModel):
    """A colour and those that go with it on the colour wheel."""

    color: str
    harmony: str
    others: list[str]


@router.get(
    "/names/{name}",
    operation_id="get_css_color",
    summary="Get the hex code and the red, green and blue values of a CSS colour name.",
    openapi_extra=person_can("A web designer finds it in the list of CSS colours, or in the colour picker of a browser."),
)
async def get_css_color(
    name: Annotated[str, Path(description="Colour name of CSS.", examples=["goldenrod"], min_length=3, max_length=30)],
) -> CssColor:
    plain = fold(name).replace(" ", "")
    if plain not in _css_colors():
        raise not_found("CSS colour", name, _css_colors(), "Only the 147 colour names of CSS 3 are known.")
    code = _css_colors()[plain]
    return CssColor(
        name=plain,
        hex=code,
        rgb=", ".join(str(value) for value in bytes.fromhex(code[1:])),
        also_called=[other for other, its in _css_colors().items() if other != plain and its == code],
    )


@router.get(
    "/nearest-name",
    operation_id="find_nearest_color_name",
    summary="Find the CSS colour name that looks nearest to a hex code, by the CIEDE2000 colour difference.",
    openapi_extra=person_can("A person compares the colour with a chart of the named colours."),
)
async def find_nearest_color_name(
    color: Annotated[str, Query(description="Hex code of the colour.", examples=["#d8a31e"], max_length=30)],
) -> NearestName:
    code = _hex(color)
    wanted = _color(code)
    differences = {name: wanted.delta_e(named, method="2000") for name, named in _named_colors().items()}
    name = min(differences, key=differences.__getitem__)
    name_hex = _css_colors()[name]
    return NearestName(color=code, name=name, name_hex=name_hex, difference=round(differences[name], 2), exact=name_hex == code)


@router.get(
    "/conversion",
    operation_id="convert_color",
    summary="Convert a colour to HSL, HSV, HWB, CIE Lab, CIE LCh or OKLCh.",
    openapi_extra=person_cannot("The formulas of colour spaces are too long for the head, and the answer is needed to two decimals."),
)
async def convert_color(
    color: Annotated[str, Query(description=COLOR, examples=["#daa520"], max_length=30)],
    space: Annotated[Space, Query(description="Colour space to convert to; lab and lch have white point D50.", examples=["hsl"])],
) -> ConvertedColor:
    code = _hex(color)
    coords = _color(code).convert(space).coords(nans=True)
    channels = {
        name: None if math.isnan(value) else round(value * scale, decimals) + 0.0
        for (name, scale, decimals), value in zip(CHANNELS[space], coords, strict=True)
    }
    return ConvertedColor(color=code, space=space, channels=channels)


@router.get(
    "/contrast",
    operation_id="check_color_contrast",
    summary="Compute the WCAG contrast ratio of text and background colours, and which accessibility levels it meets.",
    openapi_extra=person_cannot("No eye reads a ratio of luminances to two decimals."),
)
async def check_color_contrast(
    foreground: Annotated[str, Query(description=f"Text colour: {COLOR}", examples=["white"], max_length=30)],
    background: Annotated[str, Query(description=f"Background colour: {COLOR}", examples=["#777777"], max_length=30)],
) -> Contrast:
    text, behind = _hex(foreground), _hex(background)
    ratio = _color(text).contrast(_color(behind), method="wcag21")
    return Contrast(
        foreground=text,
        background=behind,
        ratio=round(ratio, 2),
        aa_normal_text=ratio >= 4.5,
        aa_large_text=ratio >= 3,
        aaa_normal_text=ratio >= 7,
        aaa_large_text=ratio >= 4.5,
    )


@router.get(
    "/harmony",
    operation_id="get_color_harmony",
    summary="Get the colours that go with a colour on the HSL colour wheel, such as its complementary or triadic ones.",
    openapi_extra=person_cannot("A turn of the colour wheel has to be computed for three channels."),
)
async def get_color_harmony(
    color: Annotated[str, Query(description=COLOR, examples=["#3366cc"], max_length=30)],
    harmony: Annotated[Harmony, Query(description="Which relation on the colour wheel.", examples=["complementary"])],
) -> ColorHarmony:
    code = _hex(color)
    found = [each.convert("srgb").to_string(hex=True) for each in _color(code).harmony(HARMONIES[harmony], space="hsl")]
    return ColorHarmony(color=code, harmony=harmony, others=[each for each in found if each != code])
