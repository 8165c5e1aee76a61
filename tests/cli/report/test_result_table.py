from __future__ import annotations

from io import StringIO

from hypothesis import given, settings, strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.result_table import table_lines
from talm_sim.types import Matrix, Measure, Summary
from tests.cli.summaries import COUNTS, HOSTILE, agents, choices, many_classes, struck, wide
from tests.tables import labelled


def shown(*blocks: Block) -> list[str]:
    found = [line.plain for line in table_lines(blocks)]
    assert [line for line in found if cell_len(line) > 80] == []
    return found


def test_each_run_is_whole_and_a_control_looks_otherwise() -> None:
    blocks = [
        Block("a/b, standalone", [agents(), agents("lacking", n=3, total=3)], ["both", "one"]),
        Block("sim/x", [agents()], ["both"], is_control=True),
    ]
    rates = [
        "  perfect                 4       .75       .75       .75         –       .75",
        "                       of 5   .30–.95   .30–.95   .30–.95             .30–.95",
    ]
    heads = [
        "                          n        PR     Aware     Unexp      Skip     Inter",
        "                            reference",
    ]
    assert shown(*blocks) == [
        *("a/b, standalone", *heads, *rates),
        "  lacking                 3      1.00      1.00      1.00         –      1.00",
        "                             .44–1.00  .44–1.00  .44–1.00            .44–1.00",
        *("  both", "  one", "", "sim/x", *heads, *rates, "  both"),
    ]
    assert "yellow" in str(next(line.style for line in table_lines(blocks) if line.plain == "sim/x"))


def test_heads_are_whole_words_on_as_many_lines_as_they_need() -> None:
    heads = ("Asked a person", "Unexpected", "Contradicted")
    found = agents().model_copy(update={"measures": tuple(Measure(name=head, head=head, value=0.5) for head in heads)})
    assert shown(Block("t", [found]))[1:3] == [
        "                                Asked a",
        "                          n      person  Unexpected Contradicted",
    ]


@labelled
def test_the_judge_of_a_column_is_named_where_all_agree(judges: tuple[str, str], said: str) -> None:
    below = shown(Block("t", [agents(by=by) for by in judges]))[2]
    assert below == " " * 27 + said.rjust(10) if said else below.startswith("  perfect")


def test_more_columns_go_on_below_with_the_same_groups() -> None:
    lines = shown(Block("t", [wide(8), wide(8, "second")], ["a note"]), Block("u", [agents()]))
    assert [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in {"n", "first", "second"}] == [
        "n",
        "first",
        "second",
    ] * 2 + ["n"]
    assert lines.index("t") == 0 and lines.index("u") > lines.index("  a note"), "each run is whole"
    assert "1,234,567" in "".join(lines)


def test_columns_of_part_of_the_episodes_stand_in_a_table_below_with_their_own_n() -> None:
    below = ["", "a tool failed             n        told     went_on"]
    row = ["  struck                  3         .33         .67", "                       of 4     .06–.79     .21–.94"]
    alone = shown(Block("t", [struck("struck"), struck("spared", n=0)], ["a note"]))
    assert alone[7:] == [*below, *row, "", "  a note"]


def test_lines_and_matrix_stand_below_the_row_of_their_run() -> None:
    assert shown(Block("hf/tiny", [choices()], ["template: default"])) == [
        "hf/tiny",
        "                          n         Acc    Acc-norm    macro F1",
        "  all                   104         .59           –         .48",
        "                     of 105     .49–.68                 .39–.57",
        "",
        "  hallucinations",
        "    tool       tool call where no tools are shown         –",
        "    answer     direct answer                            .06  .03–.12      6/104",
        "    parameter  tool call where information is missing   .34  .21–.51      12/35",
        "",
        "  gold \\ predicted     direct tool_call   request    cannot     F1",
        "  direct                   0         0         0         0     .00",
        "  tool_call                2        30         5         1     .67",
        "  request_for_info         0        12        20         3     .60",
        "  cannot_answer            4         9         7        11     .48",
        "",
        "  template: default",
    ]


def test_many_classes_are_numbered_and_go_on_below() -> None:
    lines = shown(Block("t", [many_classes()]))
    assert "  gold \\ predicted       1      2      3      4      5      6      7" in lines
    assert "  gold \\ predicted       8      9     10     11     12     13     F1" in lines
    assert "  12 class_number…     18     21     24     27  1,200     33     .90" in lines
    assert "1\N{NO-BREAK SPACE}class_number_0, 2\N{NO-BREAK SPACE}class_number_1," in "".join(
        lines
    ) and "13\N{NO-BREAK SPACE}unparsed" in "".join(lines)


def test_no_text_of_a_run_steers_the_terminal_or_styles_the_screen() -> None:
    (matrix,) = choices().matrices
    named = tuple(HOSTILE + str(place) for place in range(4))
    said = choices().model_copy(
        update={
            "group": HOSTILE,
            "measures": tuple(
                one.model_copy(update={"head": HOSTILE, "note": HOSTILE, "under": HOSTILE, "by": HOSTILE}) for one in choices().measures
            ),
            "matrices": (matrix.model_copy(update={"name": HOSTILE, "rows": named, "columns": named, "heads": ()}),),
        }
    )
    text = "\n".join(shown(Block(HOSTILE, [said, said], [HOSTILE, "[bold]note[/bold]"])))
    assert not set("\x1b\x00\u202e") & set(text)
    assert "[bold]note[/bold]" in text


def test_shade_is_only_in_colour() -> None:
    def printed(colour: bool) -> str:
        console = Console(file=StringIO(), force_terminal=colour, color_system="truecolor" if colour else None, width=80, markup=False)
        for line in table_lines([Block("t", [choices(((0, 0, 0, 0), (0, 9, 0, 0), *COUNTS[2:]))])]):
            console.print(line, soft_wrap=True)
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    assert "48;2;8;48;107" in printed(True), "the cell that holds its whole row is the darkest"
    assert "\x1b" not in printed(False)


words = st.text(max_size=40) | st.sampled_from(["", HOSTILE, "漢字" * 30, "☁\ufe0f" * 50, "x" * 200])
number = st.none() | st.floats(-1e12, 1e12) | st.floats(0, 1)
count = st.integers(0, 10**12)


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    rows, columns = draw(st.lists(words, max_size=4)), draw(st.lists(words, max_size=14))
    counts = tuple(tuple(draw(st.lists(count, min_size=len(columns), max_size=len(columns)))) for _ in rows)
    heads = draw(st.sampled_from(((), tuple(column[:9] for column in columns))))
    return Matrix(name=draw(words), rows=tuple(rows), columns=tuple(columns), counts=counts, heads=heads)


@st.composite
def summaries(draw: st.DrawFn) -> Summary:
    tables = tuple(draw(st.lists(matrices(), max_size=2)))
    unders = [row for table in tables for row in table.rows] or [""]
    measures = [
        Measure(
            name=str(place),
            head=draw(words),
            kind=draw(st.sampled_from(("rate", "score", "number"))),
            place=draw(st.sampled_from(("column", "column", "line", "matrix", "hidden"))),
            under=draw(words | st.sampled_from(unders)),
            value=draw(number | count),
            low=draw(number),
            high=draw(number),
            k=draw(st.none() | count),
            n=draw(st.none() | count),
            note=draw(words),
            by=draw(words),
        )
        for place in range(draw(st.integers(0, 10)))
    ]
    return Summary(group=draw(words), n=draw(count), total=draw(count), measures=tuple(measures), matrices=tables)


@settings(max_examples=60, deadline=None)
@given(blocks=st.lists(st.builds(Block, words, st.lists(summaries(), max_size=2), st.lists(words, max_size=2), st.booleans()), max_size=2))
def test_no_line_is_wider_than_the_screen(blocks: list[Block]) -> None:
    for line in table_lines(blocks):
        assert isinstance(line, Text)
        assert cell_len(line.plain) <= 80 and "\n" not in line.plain, line.plain
