"""Fit the weights of `talm_sim/language/evidence.json`: what each mark of a final message says for asking and for declining.

    pip install "scikit-learn>=1.9,<2"
    TALM_SIM_BENCH_DATA=DIR python scripts/fit_evidence.py

It reads the labelled texts in `tests/`, and `when2call/when2call_sample.jsonl` in DIR. The fit is exact to the second decimal, which is what is
written, so that the same texts give the same file. Scikit-learn is no dependency of the package, which only adds the weights up.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from talm_sim.judges.reference import user_text  # noqa: E402
from talm_sim.language import final_answer  # noqa: E402
from talm_sim.language.evidence import marks  # noqa: E402
from talm_sim.types import Scenario  # noqa: E402
from tests.judges.test_behaviour import test_wordings_are_told_apart  # noqa: E402
from tests.labelled_scenarios import labelled_scenarios  # noqa: E402
from tests.language.test_final_answer import test_what_outweighs_what  # noqa: E402

WEIGHTS: Final = ROOT / "talm_sim" / "language" / "evidence.json"
TEXTS: Final = ROOT / "tests" / "language"
CLASSES: Final = ("answers", "asks", "declines")
REGULAR: Final = 0.16
"""The inverse strength of the regularization: about the least with which no set is read worse than by the first weights."""
LEAST: Final = 0.02
"""A mark that says less than this for either class is left out."""
RARE: Final = 15
"""A mark of wording that fewer texts than this show is left out."""
WORDING: Final = ("w:", "f:")
SETS: Final = (
    dict.fromkeys(("answers", "answers_2", "declines", "declines_2"), (1.5, 2))
    | dict.fromkeys(("behaviour", "behaviour_2", "first", "kinds", "ordinary"), (1, 1.4))
    | {"mixed": (1, 0.7)}
    | {"babble": (2, 2), "indirect": (0.6, 0)}
)
"""How much a text of each set counts, with its request and without."""
BEHAVIOUR: Final = {"request_for_info": "asks", "cannot_answer": "declines", "direct": "answers"}
FAULT: Final = {"told": "declines", "declined": "declines", "asked": "asks"} | dict.fromkeys(
    ("recovered", "unsupported", "fabricated", "propagated"), "answers"
)


class Text(NamedTuple):
    """A labelled text, and how much it counts with its request and without."""

    label: str
    request: str
    text: str
    counts: tuple[float, float]


def main() -> None:
    """Fit the weights, write them, and print how many texts of each set they read as labelled."""
    texts = [*_labelled(), *_faults(), *_questions(), *_when2call(), *_short_ones()]
    shown, labels, counts = [], [], []
    for one in texts:
        for request, count in zip((one.request, ""), one.counts, strict=True):
            shown.append(dict.fromkeys(_read_marks(one.text, request), 1))
            labels.append(one.label)
            counts.append(count)
    seen = Counter(mark for one in shown[::2] for mark in one)
    shown = [{mark: 1 for mark in one if not mark.startswith(WORDING) or seen[mark] >= RARE} for one in shown]
    names = DictVectorizer()
    model = LogisticRegression(C=REGULAR, max_iter=20_000, tol=1e-7)
    model.fit(names.fit_transform(shown), labels, sample_weight=counts)
    assert (*model.classes_,) == CLASSES
    answers, *others = model.coef_
    constant, *shifts = model.intercept_
    weights = {}
    for name, place in sorted(names.vocabulary_.items()):
        found = [float(one[place] - answers[place]) for one in others]
        if name == "all":
            found = [one + float(shift - constant) for one, shift in zip(found, shifts, strict=True)]
        if max(map(abs, found)) >= LEAST:
            weights[name] = [round(one, 2) for one in found]
    lines = (f"{json.dumps(name)}: {json.dumps(pair)}" for name, pair in weights.items())
    WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    right = sum(label == read for label, read in zip(labels, model.predict(names.transform(shown)), strict=True))
    print(f"{len(weights)} weights; of {len(texts)} texts, read with the request and without, {right} of {len(labels)} as labelled")


def _read_marks(text: str, request: str) -> set[str]:
    """Return the marks by which a text is read."""
    found: set[str] = set()

    def look(*told: Any) -> str:
        found.update(marks(*told))
        return "answers"

    with patch.object(final_answer, "weigh", look):
        final_answer.read_final_answer.__wrapped__(text, request)
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _labelled() -> Iterator[Text]:
    for name, counts in SETS.items():
        for row in _rows(TEXTS / "final_answer" / f"{name}.jsonl"):
            yield Text("declines" if row["label"] == "reports" else row["label"], row["request"], row["text"], counts)


def _faults() -> Iterator[Text]:
    """Yield answers after a fault: one that admits a part and gives the rest is neither."""
    for row in _rows(ROOT / "tests" / "judges" / "fault_answers.jsonl"):
        scenario = Scenario.model_validate(row["own"]) if "own" in row else labelled_scenarios()[row["scenario"]]
        label = FAULT.get(row["label"])
        parts = len(getattr(scenario.target, "required", ()) or ())
        if label and row["answer"].strip() and (parts <= 1 or label != "declines"):
            yield Text(label, user_text(scenario), row["answer"], (0.2, 0.2))


def _questions() -> Iterator[Text]:
    for name in ("after", "before", "last", "later"):
        yield from (Text("asks", "", row["text"], (0.2, 0.2)) for row in _rows(TEXTS / "asking" / f"{name}.jsonl") if row["asks"])


def _when2call() -> Iterator[Text]:
    """Yield the options of every other row; the others were held back to measure."""
    for row in _rows(Path(os.environ["TALM_SIM_BENCH_DATA"]) / "when2call" / "when2call_sample.jsonl")[::2]:
        for kind, text in row["answers"].items():
            if kind in BEHAVIOUR:
                yield Text(BEHAVIOUR[kind], row["question"], text, (0.5, 2))


def _short_ones() -> Iterator[Text]:
    """Yield what other tests hold."""
    count = (1, 5)
    for kind, text in _told(test_what_outweighs_what):
        yield Text("declines" if kind == "reports" else str(kind), "", text, count)
    for text, kind in _told(test_wordings_are_told_apart):
        yield Text(BEHAVIOUR[str(kind)], "", text, count)
    for row in _rows(ROOT / "tests" / "tasks" / "talm" / "tables" / "what_an_answer_admits.jsonl"):
        yield Text("declines" if row["lack"] or row["failure"] else "answers", "", row["answer"], count)
    for row in _rows(ROOT / "tests" / "tasks" / "refusal" / "turns" / "tables" / "offers_assumptions_and_what_was_overcome.jsonl"):
        if row["said"] != "asked":
            yield Text("declines" if row["said"] == "said_it_cannot" else "answers", "", row["text"], count)


def _told(test: Any) -> list[Any]:
    return test.pytestmark[0].args[1]  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
