"""Can the right answer be told from form alone? Balanced accuracy of a logistic regression on length, final mark, first and last word.

    scripts/form_check.py            over the packaged items of tasks when2call, awareness and refusal: questions, and options each alone

Items made of one source are never in training and test at once. At chance, the form says nothing.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from talm_sim.common.digests import digest
from talm_sim.tasks import find_task
from talm_sim.types import Calls, Choice, Scenario, YesNo

FOLDS = 5
_STEPS, _RATE, _SHRINK = 300, 0.5, 1e-3
_RARE = 2
"""Words that fewer texts begin or end with are one feature."""

Features = dict[str, float]


def balanced_accuracy_of_form(texts: Sequence[str], labels: Sequence[str], sources: Sequence[str]) -> float:
    """Return how well a classifier that sees form alone tells labels apart, over folds by source: the mean of the classes' recalls.

    Args:
        texts: The texts.
        labels: The right answer of each.
        sources: What each was made of.
    """
    return balanced_accuracy_of(_features(texts), labels, sources)


def balanced_accuracy_of(features: Sequence[Features], labels: Sequence[str], sources: Sequence[str]) -> float:
    """Return the same of other features than those of a text."""
    classes = sorted(set(labels))
    folds = [int(digest(source), 16) % FOLDS for source in sources]
    hits: Counter[str] = Counter()
    for fold in range(FOLDS):
        train = [place for place, one in enumerate(folds) if one != fold]
        weights = {name: _train([features[place] for place in train], [labels[place] == name for place in train]) for name in classes}
        for place in (place for place, one in enumerate(folds) if one == fold):
            scores = {name: _score(features[place], weight) for name, weight in weights.items()}
            hits[labels[place]] += max(classes, key=lambda name: scores[name]) == labels[place]
    return sum(hits[name] / labels.count(name) for name in classes) / len(classes)


def _features(texts: Sequence[str]) -> list[Features]:
    words = [re.findall(r"[\w']+", text.casefold()) or [""] for text in texts]
    lengths = [math.log(1 + len(text)) for text in texts]
    middle = sum(lengths) / len(lengths)
    spread = math.sqrt(sum((one - middle) ** 2 for one in lengths) / len(lengths)) or 1.0
    begins, ends = Counter(said[0] for said in words), Counter(said[-1] for said in words)
    found: list[Features] = []
    for text, said, length in zip(texts, words, lengths, strict=True):
        first = said[0] if begins[said[0]] >= _RARE else "..."
        last = said[-1] if ends[said[-1]] >= _RARE else "..."
        size = (length - middle) / spread
        found.append({"": 1.0, "length": size, "length2": size * size, f"^{first}": 1.0, f"{last}$": 1.0, f"mark {text.strip()[-1:]}": 1.0})
    return found


def _train(features: Sequence[Features], right: Sequence[bool]) -> Features:
    """Fit one class against the others, both with equal weight."""
    share = sum(right) / len(right)
    if share in (0.0, 1.0):
        return {"": math.inf if share else -math.inf}
    weight = Features()
    for _ in range(_STEPS):
        slope: dict[str, float] = {}
        for one, is_right in zip(features, right, strict=True):
            chance = 1 / (1 + math.exp(-max(-30.0, min(30.0, _score(one, weight)))))
            step = (chance - is_right) * (0.5 / share if is_right else 0.5 / (1 - share)) / len(features)
            for name, value in one.items():
                slope[name] = slope.get(name, 0.0) + step * value
        for name, value in slope.items():
            weight[name] = weight.get(name, 0.0) * (1 - _RATE * _SHRINK) - _RATE * value
    return weight


def _score(one: Features, weight: Features) -> float:
    return sum(value * weight.get(name, 0.0) for name, value in one.items())


def label_of(item: Scenario) -> str:
    """Return an item's right answer: the behaviour, Yes or No, a call or none."""
    target = item.target
    if isinstance(target, Choice):
        return str(target.gold)
    return target.gold if isinstance(target, YesNo) else target.expected if isinstance(target, Calls) else ""


def measures(items: Sequence[Scenario]) -> Iterator[tuple[str, float, float]]:
    """Yield what was looked at, the balanced accuracy, and chance."""
    labels, sources = [label_of(item) for item in items], [item.base.split(".")[0] for item in items]
    chance = 1 / len(set(labels))
    yield "question", balanced_accuracy_of_form([item.query for item in items], labels, sources), chance
    options = [{str(one.behaviour): one.text for one in item.target.options} for item in items if isinstance(item.target, Choice)]
    for behaviour in sorted({name for one in options for name in one}):
        accuracy = balanced_accuracy_of_form([one.get(behaviour, "") for one in options], labels, sources)
        yield f"option {behaviour}", accuracy, chance


def main() -> int:
    """Print a line for each task and part."""
    for task in ("when2call", "awareness", "refusal"):
        found = find_task(task)
        for what, accuracy, chance in measures(found.read(found.splits["all"])):
            print(f"{task}, {what}: {accuracy:.2f} (chance {chance:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
