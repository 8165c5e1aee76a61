"""Color tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


def test_css_color_knows_names_only(ask: Ask) -> None:
    assert "Did you mean 'goldenrod'?" in ask("get_css_color", 404, name="goldenrot")
    assert "147" in ask("get_css_color", 404, name="rebeccapurple")


@pytest.mark.parametrize(
    ("color", "name", "exact"),
    [("#daa520", "goldenrod", True), ("#d8a31e", "goldenrod", False), ("0FF", "aqua", True), ("#5f9fa1", "cadetblue", False)],
)
def test_nearest_name(ask: Ask, color: str, name: str, exact: bool) -> None:
    result = ask("find_nearest_color_name", color=color)
    assert (result["name"], result["exact"]) == (name, exact)
    assert (result["difference"] == 0) is exact


def test_a_color_that_is_neither_code_nor_name_is_not_found(ask: Ask) -> None:
    for wrong in ("#12345", "#gggggg", "notacolor"):
        assert f"No colour '{wrong}'." in ask("find_nearest_color_name", 404, color=wrong)


@pytest.mark.parametrize(
    ("color", "space", "channels"),
    [
        ("goldenrod", "hsl", {"hue": 42.9, "saturation_percent": 74.4, "lightness_percent": 49.0}),
        ("#daa520", "hsv", {"hue": 42.9, "saturation_percent": 85.3, "value_percent": 85.5}),
        ("red", "hwb", {"hue": 0.0, "whiteness_percent": 0.0, "blackness_percent": 0.0}),
        ("red", "lab", {"lightness": 54.29, "a": 80.8, "b": 69.89}),
        ("red", "lch", {"lightness": 54.29, "chroma": 106.84, "hue": 40.86}),
        ("#f00", "oklch", {"lightness": 0.628, "chroma": 0.2577, "hue": 29.23}),
    ],
)
def test_convert_color(ask: Ask, color: str, space: str, channels: dict[str, float]) -> None:
    assert ask("convert_color", color=color, space=space)["channels"] == channels


@pytest.mark.parametrize(
    ("foreground", "background", "ratio", "levels"),
    [
        ("black", "white", 21.0, (True, True, True, True)),
        ("white", "#767676", 4.54, (True, True, False, True)),
        ("white", "#777777", 4.48, (False, True, False, False)),
        ("yellow", "#fff", 1.07, (False, False, False, False)),
    ],
)
def test_contrast_is_that_of_the_accessibility_guidelines(
    ask: Ask, foreground: str, background: str, ratio: float, levels: tuple[bool, bool, bool, bool]
) -> None:
    result = ask("check_color_contrast", foreground=foreground, background=background)
    assert result["ratio"] == ratio
    assert tuple(result[name] for name in ("aa_normal_text", "aa_large_text", "aaa_normal_text", "aaa_large_text")) == levels


@pytest.mark.parametrize(
    ("color", "harmony", "others"),
    [
        ("red", "complementary", ["#00ffff"]),
        ("red", "triadic", ["#0000ff", "#00ff00"]),
        ("#3366cc", "complementary", ["#cc9933"]),
        ("red", "square", ["#00ffff", "#8000ff", "#80ff00"]),
        ("red", "analogous", ["#ff0080", "#ff8000"]),
        ("red", "split complementary", ["#0080ff", "#00ff80"]),
        ("gray", "complementary", []),
    ],
)
def test_harmonies_lie_on_the_color_wheel(ask: Ask, color: str, harmony: str, others: list[str]) -> None:
    assert sorted(ask("get_color_harmony", color=color, harmony=harmony)["others"]) == sorted(others)


def test_paintings_of_one_title_are_told_apart_by_their_artist(ask: Ask) -> None:
    several = ask("find_painting", title="The Deluge")["several"]
    assert several[0] == "The Deluge, Joseph Mallord William Turner, ?exhibited 1805, N00493" and len(several) == 4
    assert ask("find_painting", title="the deluge", artist="Turner")["acquired"] == 1856
    assert "Winifred Knights" in ask("find_painting", title="The Deluge", artist="Hokusai", status=404)
    assert "give more of the title" in ask("find_painting", title="the", status=422)


def test_a_size_of_two_standards_names_both(ask: Ask) -> None:
    assert ask("get_paper_size", size="b4")["several"] == ["B4 of ISO", "B4 of JIS"]
    assert ask("get_paper_size", size="B4", standard="JIS")["height_mm"] == 364
    assert ask("get_paper_size", size="Letter")["width_inches"] == 8.5
    assert "ISO and JIS" in ask("get_paper_size", size="B4", standard="ARCH", status=404)


def test_a_painter_of_several_works_needs_the_work(ask: Ask) -> None:
    assert len(ask("get_painting_palette", artist="Van Gogh")["several"]) == 3
    assert ask("get_painting_palette", artist="Van Gogh", work="first steps")["year"] == "1890"
    assert "28 painters" in ask("get_painting_palette", artist="Andy Warhol", status=404)


def test_a_pigment_has_many_names(ask: Ask) -> None:
    assert ask("get_pigment", pigment="pb 27") == ask("get_pigment", pigment="Berlin blue")
    assert "No pigment" in ask("get_pigment", pigment="unicorn blue", status=404)
