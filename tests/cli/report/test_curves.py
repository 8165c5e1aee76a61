"""Curves on a screen, in Markdown and on a page: the same figures everywhere."""

from __future__ import annotations

import pytest

from talm_sim.cli.report.curves import bin_names, curve_lines, curve_table, curve_title
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.markdown import markdown
from talm_sim.cli.report.result_table import table_lines
from talm_sim.types import Curve, Series, Summary
from tests.cli.pages.written import Seen, page_of

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)
HISTOGRAM = Curve(
    name="p",
    title="P(Yes)",
    x="P(Yes)",
    y="instances",
    edges=EDGES,
    series=(Series(name="complete", values=(0, 1, 2, 12345)), Series(name="incomplete", values=(40, 0, 1, 0))),
)
RELIABILITY = Curve(
    name="r",
    title="reliability",
    kind="reliability",
    x="mean P(Yes)",
    y="share complete",
    edges=EDGES,
    series=(
        Series(name="share complete", values=(0.0, 0.5, None, 1.0)),
        Series(name="mean P(Yes)", values=(0.0, 0.3, None, 0.9)),
        Series(name="n", values=(3, 4, 0, 5)),
    ),
)
BLOCK = Block("test/model", [Summary(group="replaced", n=12, total=12, curves=(HISTOGRAM, RELIABILITY))])


def text(curve: Curve, group: str = "") -> list[str]:
    return [line.plain for line in curve_lines(curve, group)]


@pytest.mark.parametrize("curve", [HISTOGRAM, RELIABILITY], ids=lambda curve: curve.kind)
def test_a_screen_shows_a_line_a_bin_in_80_columns(curve: Curve) -> None:
    lines = text(curve, "replaced")
    assert lines[0] == "" and lines[1] == f"  {curve_title(curve)}, replaced"
    assert [line.split()[0] for line in lines[3:7]] == bin_names(curve) == [".00–.25", ".25–.50", ".50–.75", ".75–1.00"]
    assert [line.split() for line in lines[3:7]] == list(curve_table(curve)) and max(map(len, lines)) <= 80


def test_markdown_has_the_same_table() -> None:
    assert list(curve_table(HISTOGRAM))[3] == [".75–1.00", "12,345", "0"]
    written = markdown([BLOCK])
    assert "| .75–1.00 | 12,345 | 0 |" in written and "| .50–.75 | – | – | 0 |" in written
    histogram, reliability = Seen(page_of([BLOCK])).index["blocks"][0]["parts"][0]["curves"]
    assert histogram["rows"] == list(curve_table(HISTOGRAM)) and reliability["kind"] == "reliability"
    assert histogram["series"][0] == ["complete", [0, 1, 2, 12345]] and reliability["series"][1][1] == [0.0, 0.3, None, 0.9]
    assert any("P(Yes): instances" in line.plain for line in table_lines([BLOCK]))


def test_data_has_every_value_by_bin() -> None:
    record = BLOCK.summaries[0].record()
    assert [record[f"p_complete_{place}"] for place in range(1, 5)] == [0, 1, 2, 12345]
    assert [record[f"r_share_complete_{place}"] for place in range(1, 5)] == [0.0, 0.5, None, 1.0]
