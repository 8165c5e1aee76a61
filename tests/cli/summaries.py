"""Summaries made by hand, of the shapes tasks have, for whoever shows them."""

from __future__ import annotations

from talm_sim.cli.report.layout import Block
from talm_sim.judges.stats import wilson
from talm_sim.types import Matrix, Measure, Summary

HOSTILE = '</h2><script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }} | \' " & \x1b[31mred\x00\u202e $x^2$ id="a" #010203'
CLASSES = ("direct", "tool_call", "request_for_info", "cannot_answer")
COUNTS = ((0, 0, 0, 0), (2, 30, 5, 1), (0, 12, 20, 3), (4, 9, 7, 11))
"""A matrix of four classes, the first of which has no rows."""
_SHORT = ("direct", "tool_call", "request", "cannot", "unparsed")


def agents(group: str = "perfect", *, n: int = 4, total: int = 5, by: str = "reference") -> Summary:
    """Five rates, one of which could not be had, as of task `talm`."""
    heads = {"pass_rate": "PR", "awareness": "Aware", "unexpected": "Unexp", "skip": "Skip", "interaction": "Inter"}
    measures = [
        Measure.of(
            None if name == "skip" else wilson(min(3, n), n), name, head, note=name.replace("_", " "), by=by if name == "pass_rate" else ""
        )
        for name, head in heads.items()
    ]
    return Summary(group=group, n=n, total=total, facts={"pass_judge": by}, measures=tuple(measures))


def struck(group: str = "perfect", *, n: int = 3) -> Summary:
    """The same, and two columns of a table below, over `n` of its episodes."""
    rates = {"told": wilson(min(1, n), n), "went_on": wilson(min(2, n), n)}
    below = [Measure.of(rate if n else None, name, name, note=f"{name}!", under="a tool failed") for name, rate in rates.items()]
    whole = agents(group)
    return whole.model_copy(update={"measures": (*whole.measures, *below)})


def choices(counts: tuple[tuple[int, ...], ...] = COUNTS) -> Summary:
    """Three columns, three lines and a matrix with figures beside it, as of task `when2call`; a fifth column holds the unparsed."""
    n = sum(map(sum, counts))
    right = sum(row[place] for place, row in enumerate(counts))
    words = ("tool call where no tools are shown", "direct answer", "tool call where information is missing")
    rates = {"tool": wilson(0, 0), "answer": wilson(min(6, n), n), "parameter": wilson(12, 35) if n else wilson(0, 0)}
    found = [
        Measure.of(wilson(right, n), "accuracy", "Acc"),
        Measure.of(None, "accuracy_norm", "Acc-norm"),
        Measure(name="macro_f1", head="macro F1", kind="score", value=0.48 if n else None, low=0.39 if n else None, high=0.57 if n else None),
    ]
    for (name, rate), note in zip(rates.items(), words, strict=True):
        found.append(Measure.of(rate, f"{name}_hallucination", name, place="line", under="hallucinations", note=note))
    for place, (label, row) in enumerate(zip(CLASSES, counts, strict=True)):
        support, taken, hits = sum(row), sum(other[place] for other in counts), row[place]
        figures = {"precision": hits / taken if taken else None, "recall": hits / support if support else None}
        for name, value in (figures | {"F1": 2 * hits / (support + taken) if support + taken else 0.0}).items():
            found.append(Measure(name=f"{name.lower()}_{label}", head=name, kind="number", place="matrix", under=label, value=value))
        found.append(Measure(name=f"support_{label}", head="n", kind="number", place="hidden", value=support))
    columns = (*CLASSES, "unparsed")[: len(counts[0])]
    matrix = Matrix(name="confusion", rows=CLASSES, columns=columns, counts=counts, heads=_SHORT[: len(columns)])
    return Summary(group="all", n=n, total=n + 1, facts={"mode": "logprob"}, measures=tuple(found), matrices=(matrix,))


def choices_block(title: str = "hf/tiny", *notes: str, judged: bool = False) -> Block:
    """A run of them, ready to be shown."""
    counts = tuple((*row, place) for place, row in enumerate(COUNTS)) if judged else COUNTS
    return Block(title, [choices(counts)], notes)


def wide(number: int, group: str = "first", head: str = "Own{}") -> Summary:
    """As many columns: rates whose intervals are as broad as they come, a score, a count."""
    rates = [Measure.of(wilson(96, 96), f"m{place}", head.format(place), by="mine" if place == 0 else "") for place in range(number - 2)]
    score = Measure(name="f1", head="F1 of Yes", kind="score", value=0.5, low=0.4, high=0.6, by="another-judge")
    tokens = Measure(name="tokens", head="tokens", kind="number", value=1_234_567)
    return Summary(group=group, n=96, total=96, measures=(*rates, score, tokens))


def many_classes(number: int = 12) -> Summary:
    """A matrix of so many classes, with a column for the unparsed and F1 beside it."""
    names = tuple(f"class_number_{place}" for place in range(number))
    counts = tuple(tuple(1_200 if i == j else (7 * i + 3 * j) % 40 for j in range(number + 1)) for i in range(number))
    side = [Measure(name=f"f1_{name}", head="F1", kind="number", place="matrix", under=name, value=0.9) for name in names]
    matrix = Matrix(name="confusion", rows=names, columns=(*names, "unparsed"), counts=counts)
    total = sum(map(sum, counts))
    return Summary(group="all", n=total, total=total, measures=(Measure.of(wilson(5, 9), "right", "Right"), *side), matrices=(matrix,))
