from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra report)")

from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.picture import picture
from talm_sim.errors import PrerequisiteError
from talm_sim.types import Curve, Measure, Series, Summary
from tests.cli.summaries import COUNTS, HOSTILE, agents, choices, choices_block, many_classes, wide


def texts(drawn: bytes | str) -> list[str]:
    root = ElementTree.fromstring(drawn)
    assert not any(element.tag.endswith("script") for element in root.iter())
    return ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]


def size(png: bytes) -> tuple[int, int]:
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def test_a_picture_holds_the_figures_and_is_the_same_every_time(tmp_path: Path) -> None:
    runs = [choices_block(HOSTILE + "\ufffe"), choices_block("hf/tiny", judged=True)]
    drawn = picture(Path("a.svg"), runs)
    assert drawn == picture(tmp_path / "b.SVG", runs)
    words = texts(drawn)
    assert "$x^2$" in "".join(words) and "hf/tiny" in words
    assert [str(cell) for cell in COUNTS[1]] == [text for text in words if text in {"2", "30", "5", "1"}][:4]
    assert picture(Path("a.png"), runs).startswith(b"\x89PNG")


def test_labels_are_broken_between_their_words() -> None:
    words = texts(picture(Path("a.svg"), [choices_block(judged=True)]))
    for text in ("tool call", "request", "for info", "(n = 37)", "unparsed", "tool call where information is", "missing"):
        assert text in words
    assert ".34 [.21–.51]  12 of 35" in words and words.count("hallucinations") == words.count("black lines: 95 % intervals") == 1


def test_runs_without_a_matrix_show_their_columns_group_by_group() -> None:
    words = texts(picture(Path("a.svg"), [Block("openai/x", [agents(), agents("lacking")]), Block("w", [wide(8)])]))
    assert {"openai/x", "w", "PR", ".75 [.30–.95]  3 of 4"} <= set(words)
    assert [one.partition(":")[0] for one in words if ": rates" in one] == ["perfect", "lacking"] and words.count("openai/x") == 1
    assert "Skip" not in words, "no group has it"
    assert ".50 [.40–.60]" in words, "a score has no counts"
    assert "tokens" not in words, "a number has no bar"


def test_many_classes_and_many_groups_are_drawn() -> None:
    wide_one, tall = size(picture(Path("a.png"), [Block("m", [many_classes()])]))
    assert wide_one > 2_000 and tall > 1_400
    assert texts(picture(Path("a.svg"), [Block("m", [many_classes(60)])])).count("predicted") == 0, (
        "of a matrix too large to be read only the rates are drawn"
    )


def test_many_groups_or_runs_are_a_grid_and_not_a_strip() -> None:
    for number in (4, 12, 60):
        for blocks in ([Block("m", [agents(str(n)) for n in range(number)])], [Block(f"run {n}", [agents()]) for n in range(number)]):
            wide_one, tall = size(picture(Path("a.png"), blocks))
            assert 0.2 < wide_one / tall < 3 and wide_one <= 4_000


def test_what_is_not_scored_is_counted_and_a_measure_is_explained_once() -> None:
    groups = [agents().model_copy(update={"group": name, "not_scored": {"replay_miss": 2}}) for name in ("one", "two")]
    words = texts(picture(Path("a.svg"), [Block("x", groups), Block("y", groups)]))
    assert sum(", 2 not scored)" in word for word in words) == 4
    note = next(one.note for one in agents().measures if one.note and one.value is not None)
    assert sum(note.startswith(word) for word in words if len(word) > 5) == 1


def test_more_groups_than_a_picture_holds_are_refused() -> None:
    many = Block("t", [agents(f"group {place}") for place in range(61)])
    with pytest.raises(PrerequisiteError, match=r"^--picture: 61 groups do not fit in one picture \(at most 60\); name fewer runs\.$"):
        picture(Path("a.png"), [many])


def test_a_value_outside_0_to_1_is_inside_the_axis() -> None:
    low = Measure(name="gap", head="Gap", kind="score", value=-0.4, low=-0.6, high=1.8)
    words = texts(picture(Path("a.svg"), [Block("m", [Summary(group=name, n=1, total=1, measures=(low,)) for name in "ab"])]))
    assert words.count("\N{MINUS SIGN}0.5") == words.count("1.5") == 2, "both axes have one scale"


@settings(max_examples=3, deadline=None)
@given(text=st.text(max_size=30))
@example(HOSTILE)
@example("漢字")
@example("$\\frac{")
@example("</desc>")
@example("--><script>")
@example("")
def test_any_word_is_drawn_as_text(text: str) -> None:
    (matrix,) = choices().matrices
    named = tuple(text + str(place) for place in range(4))
    rate = Measure(name="a", head=text, note=text, under=text, place="line", value=0.5, low=0.1, high=0.9)
    curve = Curve(name=text, title=text, x=text, y=text, edges=(0, 1), series=(Series(name=text, values=(1,)),))
    matrix = matrix.model_copy(update={"name": text, "rows": named, "columns": named})
    summary = Summary(group=text, n=1, total=1, measures=(rate,), matrices=(matrix,), curves=(curve,))
    assert texts(picture(Path("a.svg"), [Block(text, [summary, summary])]))


def test_what_cannot_be_drawn_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrerequisiteError, match=r"a\.gif: the name must end in \.png or \.svg"):
        picture(Path("a.gif"), [choices_block()])
    for nothing in ([], [Block("t", [])], [Block("t", [Summary(group="g", n=1, total=1)])]):
        with pytest.raises(PrerequisiteError, match="there is nothing to draw"):
            picture(Path("a.png"), nothing)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PrerequisiteError, match=r"pip install '.*\[report\]'"):
        picture(Path("a.png"), [choices_block()])
