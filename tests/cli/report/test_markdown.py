from __future__ import annotations

import re

from hypothesis import given, settings, strategies as st

from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.markdown import markdown
from talm_sim.types import Measure
from tests.cli.summaries import HOSTILE, agents, choices_block


def test_each_run_stands_under_its_title() -> None:
    blocks = [Block("a/b", [agents(), agents("lacking", n=3, total=3)], ["a note"]), Block("sim/x", [agents(n=0, total=0)], ["a|b\nc"])]
    heads = ["", "| group | n | PR | Aware | Unexp | Skip | Inter |", "|---|---:|---:|---:|---:|---:|---:|"]
    assert markdown(blocks).splitlines() == [
        *("### a/b", *heads),
        "| perfect | 4 of 5 | .75 [.30–.95] | .75 [.30–.95] | .75 [.30–.95] | – | .75 [.30–.95] |",
        "| lacking | 3 | 1.00 [.44–1.00] | 1.00 [.44–1.00] | 1.00 [.44–1.00] | – | 1.00 [.44–1.00] |",
        *("", "- a note", "", "### sim/x", *heads),
        "| perfect | 0 | – | – | – | – | – |",
        *("", "- a\\|b c"),
    ]


def test_a_run_with_more_than_rows_stands_under_its_title() -> None:
    assert markdown([choices_block("m|x", "a note")]).splitlines() == [
        "### m\\|x",
        "",
        "| group | n | Acc | Acc-norm | macro F1 |",
        "|---|---:|---:|---:|---:|",
        "| all | 104 of 105 | .59 [.49–.68] | – | .48 [.39–.57] |",
        "",
        "| hallucinations | rate | k/n |",
        "|---|---:|---:|",
        "| tool call where no tools are shown | – | 0/0 |",
        "| direct answer | .06 [.03–.12] | 6/104 |",
        "| tool call where information is missing | .34 [.21–.51] | 12/35 |",
        "",
        "| gold \\\\ predicted | direct | tool_call | request_for_info | cannot_answer |",
        "|---|---:|---:|---:|---:|",
        "| direct | 0 | 0 | 0 | 0 |",
        "| tool_call | 2 | 30 | 5 | 1 |",
        "| request_for_info | 0 | 12 | 20 | 3 |",
        "| cannot_answer | 4 | 9 | 7 | 11 |",
        "",
        "- a note",
    ]


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=40) | st.just(HOSTILE))
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    named = agents(text).model_copy(update={"measures": (Measure(name="a", head=text, value=0.5),)})
    lines = markdown([Block(text, [named], [text])]).splitlines()
    cells = [re.sub(r"\\\\|\\\|", "", line).count("|") for line in lines[2:5]]
    assert cells == [4, 4, 4] and lines[5] == "" and len(lines) == 7
    assert not set("\x1b\x00\u202e") & set("".join(lines))


def test_foreign_text_is_no_html_no_link_and_no_picture() -> None:
    evil = "<img src=x onerror=alert(1)> ![p](https://evil.invalid/p.png) [l](http://evil.invalid) www.evil.invalid `a|b` *x* &lt;"
    (line,) = [line for line in markdown([Block("t", [agents()], [evil])]).splitlines() if line.startswith("- ")]
    assert "<" not in line and "&lt;img" in line and "&amp;lt;" in line
    assert not re.search(r"(?<!\\)[\[\]`*|]", line)
    assert "://" not in line.replace("\\://", "") and "www." not in line
